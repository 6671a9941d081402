/* SPDX-License-Identifier: MIT */
/*
** transaction.c - when a store writes what it has in memory, and when it forgets it.
*/
#include "sql.h"
#include "statements.h"
#include "store.h"

#include <assert.h>

int cuckoo_store_flush(cuckoo_store *store)
{
    const char *why;
    int rc = SQLITE_OK;
    if (cuckoo_store_pending(store)) {
        if (store->redo.stale)
            rc = cuckoo_store_recall(store, &why);
        if (rc == SQLITE_OK)
            rc = cuckoo_waiting_flush(&store->paged, &store->deletes);
        if (rc == SQLITE_OK)
            rc = cuckoo_paged_write(&store->paged);
        store->why = rc;
    }
    if (rc == SQLITE_OK)
        cuckoo_redo_written(&store->redo);
    return rc;
}

int cuckoo_store_changed(cuckoo_store *store, int rc)
{
    int rc2 = cuckoo_store_end(store);
    if (store->broken)
        return cuckoo_store_beyond_repair(rc2);
    rc = cuckoo_first_error(rc, rc2);
    if (rc != SQLITE_OK && !store->joined) {
        cuckoo_store_forget(store); /* the error has ended the transaction */
        cuckoo_redo_clear(&store->redo);
    }
    if (rc != SQLITE_OK)
        return rc;
    /* The transaction that it had joined has ended: the row that changed may be gone again. */
    if (!store->joined && store->follow.given_table)
        store->paged.doubt = store->paged.header_dirty = true;
    return store->created || !store->joined ? cuckoo_store_flush(store) : rc;
}

/* ---- savepoints ---- */

/* What was told belongs to the statement that has ended, unless this one runs within it. */
void cuckoo_store_begin_statement(cuckoo_store *store)
{
    bool within = (store->follow.current || store->witness.nested) &&
                  cuckoo_statements_nested(store->paged.shadow.db);
    if (within)
        store->witness.nested = true;
    else
        cuckoo_witness_clear(&store->witness);
}

/* Can everything in memory be noted instead of written? */
static bool may_note(const cuckoo_store *store)
{
    const cuckoo_redo *redo = &store->redo;
    return store->joined && !store->created && !redo->marked && !redo->partial && !redo->stale &&
           !store->paged.rows_ahead && cuckoo_statements_change_rows(store->paged.shadow.db);
}

/* A table of the same name may have heard of this savepoint already: SQLite tells it to each when
** that joins the transaction. */
static bool is_idle_mark(const cuckoo_redo *redo, int number)
{
    return redo->marked && redo->mark == number && redo->idle;
}

static int write_or_note(cuckoo_store *store, int number)
{
    if (!cuckoo_store_pending(store))
        return cuckoo_store_flush(store);
    if (is_idle_mark(&store->redo, number))
        return SQLITE_OK;
    if (!may_note(store))
        return cuckoo_store_flush(store);
    cuckoo_redo_set_mark(&store->redo, number);
    return SQLITE_OK;
}

/* From now on SQLite tells the store of every rollback. So it no longer counts as created. */
int cuckoo_store_savepoint(cuckoo_store *store, int number)
{
    assert(number >= 0);
    /* One of its own statements needs a savepoint, because of a trigger on a shadow table. To write
    ** now would run that statement within itself. */
    if (store->paged.shadow.busy)
        return SQLITE_OK;
    cuckoo_redo_release(&store->redo, number + 1);
    if (store->witness.nested)
        cuckoo_witness_set_mark(&store->witness, number);
    if (store->marks > number)
        store->marks = number;
    if (store->broken)
        return SQLITE_OK; /* rolling it back brings nothing back: for the store it never opened */
    int rc = store->dead ? SQLITE_OK : write_or_note(store, number);
    if (rc != SQLITE_OK)
        return rc;
    store->created = false;
    store->marks = number + 1;
    return rc;
}

/* A statement that was to be refused has ended well, or kept rows, and has told of none: these may
** be rows for which no trigger of ours has fired. */
static int doubt_refused(cuckoo_store *store)
{
    const char *why;
    store->follow.refused = 0;
    int rc = store->dead || store->broken ? SQLITE_OK : cuckoo_store_load(store, &why);
    if (rc == SQLITE_OK && !store->dead && !store->broken)
        cuckoo_store_note_doubt(store);
    store->broken |= rc != SQLITE_OK; /* the doubt must not be lost */
    return rc;
}

int cuckoo_store_release(cuckoo_store *store, int number)
{
    cuckoo_redo_release(&store->redo, number);
    cuckoo_witness_release(&store->witness, number);
    store->follow.current = false;
    if (store->marks > number)
        store->marks = number < 0 ? 0 : number;
    return store->follow.refused > number ? doubt_refused(store) : SQLITE_OK;
}

void cuckoo_store_rolled_back_to(cuckoo_store *store, int number)
{
    const cuckoo_redo *redo = &store->redo;
    store->follow.current = false;
    if (store->follow.refused > number)
        store->follow.refused = 0;
    cuckoo_witness_roll_back(&store->witness, number);
    if (number >= store->marks)
        return;
    store->marks = number + 1;
    if (is_idle_mark(redo, number) && !store->broken && store->paged.rc == SQLITE_OK)
        return; /* nothing has happened since */
    store->broken = false;
    cuckoo_store_forget(store);
    cuckoo_redo_roll_back(&store->redo, number);
}

bool cuckoo_store_keeps_notes(const cuckoo_store *store)
{
    return store->redo.marked && store->redo.kept > 0;
}

/* ---- the end ---- */

/* Keys that wait for a place are deleted first. After an error those that are left are in the list
** again. */
static int apply_delete(cuckoo_store *store, const cuckoo_delete *some)
{
    bool waits = true;
    uint64_t copies = some->copies;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && waits && copies > 0) {
        rc = cuckoo_waiting_remove(&store->paged, some->hash, some->value, &waits);
        copies -= rc == SQLITE_OK && waits;
    }
    if (rc == SQLITE_OK)
        cuckoo_waiting_delete(&store->paged, some->hash, some->value, copies);
    for (; rc != SQLITE_OK && copies > 0; copies--)
        store->broken |= cuckoo_deletes_push(&store->deletes, some->hash, some->value) != SQLITE_OK;
    return rc;
}

/* Applies deletes in memory. Each is taken out of the list as it is applied. */
static int apply_deletes(cuckoo_store *store)
{
    cuckoo_delete some;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && store->paged.rc == SQLITE_OK && cuckoo_deletes_pop(&store->deletes, &some))
        rc = apply_delete(store, &some);
    int rc2 = cuckoo_paged_error(&store->paged);
    if (rc2 != SQLITE_OK)
        cuckoo_store_lose(store);
    return cuckoo_first_error(rc, rc2);
}

enum { FEW = 16 /* keys that wait: tried at each commit that may have made room */ };

/* The same, after which some of the keys that wait may find a place: one for each delete. What this
** costs does not depend on how many wait. */
static int apply_and_place(cuckoo_store *store)
{
    uint64_t most = FEW + store->deletes.n;
    int rc = apply_deletes(store);
    if (rc != SQLITE_OK)
        return rc;
    rc = cuckoo_waiting_try(&store->paged, most, cf_add_value);
    if (rc == SQLITE_OK)
        return rc;
    cuckoo_store_lose(store); /* rows may have gone whose keys are in memory only */
    return cuckoo_store_beyond_repair(rc);
}

/* Applies deletes in rows, after which some of the keys that wait may find a place. If this fails
** before it has written anything, the rows still say everything. */
static int apply_in_rows(cuckoo_store *store)
{
    int rc = cuckoo_store_flush(store);
    if (rc != SQLITE_OK)
        return rc;
    store->paged.has_written = false;
    uint64_t most = FEW + store->paged.deletes.copies; /* each delete makes room for one key */
    rc = cuckoo_waiting_apply_deletes(&store->paged);
    if (rc == SQLITE_OK)
        rc = cuckoo_waiting_try(&store->paged, most, cf_add_value);
    if (rc == SQLITE_OK)
        return rc;
    cuckoo_store_forget(store);
    cuckoo_paged_error(&store->paged); /* else the next use would report it */
    /* This holds for SQLITE_BUSY, too: COMMIT must not be tried again. */
    return store->paged.has_written ? cuckoo_store_beyond_repair(rc) : rc;
}

static int sync_loaded(cuckoo_store *store)
{
    cuckoo_paged *paged = &store->paged;
    bool room = store->room || store->deletes.n > 0;
    int rc = paged->deletes.copies > 0        ? apply_in_rows(store)
             : paged->adds.copies > 0 && room ? apply_and_place(store)
                                              : apply_deletes(store);
    if (rc == SQLITE_OK && cuckoo_store_pending(store)) {
        rc = cuckoo_store_flush(store);
        if (rc == SQLITE_OK && store->follow.looked && !store->follow.fault && !store->follow.saved)
            rc = cuckoo_follow_save(&store->follow, &paged->shadow);
    }
    return rc;
}

/* COMMIT can be tried again after SQLITE_BUSY. Any other error rolls the transaction back; a write
** that is interrupted has done so already. */
int cuckoo_store_sync(cuckoo_store *store)
{
    const char *why;
    if (store->dead || store->later)
        return SQLITE_OK;
    store->why = SQLITE_ABORT;
    if (store->broken)
        return SQLITE_IOERR;
    store->paged.has_written = false;
    /* This statement writes nothing, and lets SQLite notice an
    ** interrupt before anything is written. */
    int rc = cuckoo_shadow_run(&store->paged.shadow, CUCKOO_WATCH_SCHEMA, NULL);
    if (rc == SQLITE_OK)
        rc = cuckoo_store_recall(store, &why);
    /* It cannot be read and was not changed; or SQLite has rolled back its creation without a word. */
    if ((rc == SQLITE_CORRUPT_VTAB || rc == CUCKOO_NEWER) && !cuckoo_store_pending(store))
        return SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = sync_loaded(store);
    store->why = rc;
    if (rc == SQLITE_OK)
        return rc;
    if ((rc & 0xff) == SQLITE_BUSY)
        return rc;
    if (store->paged.has_written || store->broken)
        return cuckoo_store_beyond_repair(rc);
    return (rc & 0xff) == SQLITE_INTERRUPT ? SQLITE_BUSY : rc;
}

int cuckoo_store_place_all(cuckoo_store *store)
{
    return cuckoo_waiting_try(&store->paged, UINT64_MAX, cuckoo_waiting_place);
}

void cuckoo_store_committed(cuckoo_store *store)
{
    if (store->joined)
        cuckoo_fresh_committed(&store->fresh, &store->paged.shadow, store->looked);
    store->joined = store->looked = store->created = store->room = store->full = false;
    store->follow.current = false;
    store->follow.refused = 0;
    store->marks = 0;
    cuckoo_redo_clear(&store->redo);
    cuckoo_witness_clear(&store->witness);
}

void cuckoo_store_rolled_back(cuckoo_store *store)
{
    store->broken = false;
    cuckoo_store_forget(store);
    cuckoo_store_committed(store);
}
