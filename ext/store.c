/* SPDX-License-Identifier: MIT */
#include "store.h"

#include "errors.h"
#include "sql.h"
#include "watch.h"

#include <assert.h>
#include <string.h>

int cuckoo_store_new(sqlite3 *db, const char *schema, const char *table, cuckoo_store **made)
{
    cuckoo_store *store = sqlite3_malloc64(sizeof *store);
    *made = store;
    if (store == NULL)
        return SQLITE_NOMEM;
    memset(store, 0, sizeof *store);
    store->references = 1;
    return cuckoo_paged_init(&store->paged, db, schema, table);
}

void cuckoo_store_free(cuckoo_store *store)
{
    cuckoo_paged_free(&store->paged);
    cuckoo_deletes_free(&store->deletes);
    cuckoo_redo_free(&store->redo);
    cuckoo_follow_free(&store->follow);
    cuckoo_witness_free(&store->witness);
    sqlite3_free(store->later);
    sqlite3_free(store);
}

/* ---- what is in memory ---- */

bool cuckoo_store_pending(const cuckoo_store *store)
{
    return cuckoo_paged_pending(&store->paged) || store->deletes.n > 0 || store->redo.stale;
}

void cuckoo_store_forget(cuckoo_store *store)
{
    cuckoo_paged_forget(&store->paged);
    cuckoo_deletes_clear(&store->deletes);
    store->full = false;
}

void cuckoo_store_lose(cuckoo_store *store)
{
    /* When it is not joined, the error has ended the transaction already. */
    store->broken |= store->joined && cuckoo_store_pending(store);
    cuckoo_store_forget(store);
}

bool cuckoo_store_rolls_back(int rc)
{
    int code = rc & 0xff;
    return code == SQLITE_NOMEM || code == SQLITE_IOERR || code == SQLITE_INTERRUPT ||
           code == SQLITE_FULL;
}

int cuckoo_store_beyond_repair(int rc)
{
    return cuckoo_store_rolls_back(rc) ? rc : SQLITE_IOERR;
}

void cuckoo_store_doubt(cuckoo_store *store)
{
    store->fresh.known = store->follow.looked = false;
}

/* ---- using it ---- */

static int look_for_changes(cuckoo_store *store)
{
    bool stale;
    int rc =
        cuckoo_fresh_look(&store->fresh, &store->paged.shadow, store->joined && store->looked, &stale);
    if (rc == SQLITE_OK && (stale || store->created))
        cuckoo_store_forget(store);
    store->looked = rc == SQLITE_OK;
    store->steps = store->paged.shadow.steps;
    return rc;
}

int cuckoo_store_load(cuckoo_store *store, const char **why)
{
    cuckoo_shadow_no_damage(&store->paged.shadow);
    *why = "a trigger or a view on its shadow table uses it";
    if (store->paged.shadow.busy)
        return SQLITE_CORRUPT_VTAB;
    *why = store->later;
    if (store->later)
        return CUCKOO_NEWER;
    *why = "an earlier error has lost changes of this transaction: roll it back";
    if (store->broken)
        return SQLITE_IOERR;
    if (!store->joined && cuckoo_store_pending(store)) {
        cuckoo_store_forget(store); /* an error has ended the transaction during a change */
        cuckoo_redo_clear(&store->redo);
    }
    int rc = cuckoo_store_pending(store) ? SQLITE_OK : look_for_changes(store);
    return rc == SQLITE_OK ? cuckoo_store_recall(store, why) : rc;
}

const char *cuckoo_store_damage(const cuckoo_store *store)
{
    return cuckoo_shadow_why(&store->paged.shadow);
}

bool cuckoo_store_overtaken(const cuckoo_store *store)
{
    return !store->joined && store->looked &&
           cuckoo_fresh_overtaken(&store->fresh, &store->paged.shadow);
}

int cuckoo_store_end(cuckoo_store *store)
{
    int rc = cuckoo_paged_error(&store->paged);
    bool fits = rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB; /* rows of two times are no damage */
    if (store->steps != store->paged.shadow.steps && fits && cuckoo_store_overtaken(store))
        rc = SQLITE_LOCKED;
    if (rc != SQLITE_OK)
        cuckoo_store_lose(store);
    return rc;
}

void cuckoo_store_note_doubt(cuckoo_store *store)
{
    store->paged.doubt = store->paged.header_dirty = store->redo.partial = true;
}

int cuckoo_store_has(cuckoo_store *store, uint64_t hash, bool *has)
{
    assert(cuckoo_paged_is_loaded(&store->paged));
    *has = cf_contains(cuckoo_paged_reader(&store->paged), hash);
    return *has ? SQLITE_OK : cuckoo_waiting_has(&store->paged, hash, has);
}

uint64_t cuckoo_store_items(const cuckoo_store *store)
{
    uint64_t more = store->paged.filter.items + store->paged.adds.copies,
             less = store->paged.deletes.copies + store->deletes.n;
    return more > less ? more - less : 0;
}

/* ---- changing it ---- */

/* This add and a delete of the same key that waits cancel out: the copy that is
** there serves the new row. (Otherwise a key that is deleted and inserted again
** and again in one transaction would soon have too many copies to count.) If the
** key is not there, that delete has come before its own add, and goes on waiting. */
static int cancel(cuckoo_store *store, uint64_t hash, uint64_t value, bool *done)
{
    bool has;
    *done = false;
    if (store->deletes.n == 0 && store->paged.deletes.copies == 0)
        return SQLITE_OK;
    int rc = cuckoo_store_has(store, hash, &has);
    if (rc != SQLITE_OK || !has)
        return rc;
    *done = cuckoo_deletes_cancel(&store->deletes, hash, value);
    return *done ? rc : cuckoo_waiting_cancel(&store->paged, hash, value, done);
}

/* While more deletes wait than adds, they will make room. Then growing is not worth it, nor is
** another search after one that has failed. */
static cf_status place_until_room_comes(cuckoo_store *store, uint64_t hash, uint64_t value)
{
    if (store->full)
        return CF_FULL;
    cf_status status = cuckoo_waiting_place(&store->paged.filter, hash, value);
    store->full = status == CF_FULL;
    return status;
}

static int add_or_wait(cuckoo_store *store, uint64_t hash, uint64_t value, unsigned owed,
                       cf_status *status)
{
    cuckoo_paged *paged = &store->paged;
    bool done, room_comes = paged->adds.copies < paged->deletes.copies + store->deletes.n + owed;
    int rc = cancel(store, hash, value, &done);
    *status = CF_OK;
    if (rc != SQLITE_OK || done)
        return rc;
    *status = room_comes ? place_until_room_comes(store, hash, value)
                         : cuckoo_watched_add(paged->shadow.db, &paged->filter, hash, value);
    paged->header_dirty = true;
    if (*status == CF_NO_MEMORY || *status == CF_INTERRUPTED)
        return cuckoo_error_code(*status);
    if (*status == CF_OK || paged->rc != SQLITE_OK || (!paged->filter.geometry.growth && !room_comes))
        return SQLITE_OK;
    *status = CF_OK;
    return cuckoo_waiting_add(paged, hash, value);
}

int cuckoo_store_add(cuckoo_store *store, uint64_t hash, uint64_t value, unsigned owed,
                     cf_status *status)
{
    assert(cuckoo_paged_is_loaded(&store->paged));
    int rc = add_or_wait(store, hash, value, owed, status);
    if (rc == SQLITE_OK && *status == CF_OK)
        cuckoo_redo_add(&store->redo, owed ? CUCKOO_REDO_ADD_OWED : CUCKOO_REDO_ADD, hash, value);
    return rc;
}

int cuckoo_store_delete(cuckoo_store *store, uint64_t hash, uint64_t value)
{
    assert(cuckoo_paged_is_loaded(&store->paged));
    bool was = false;
    int rc = cuckoo_waiting_remove(&store->paged, hash, value, &was);
    if (rc == SQLITE_OK && !was) {
        cf_delete_value(&store->paged.filter, hash, value);
        store->room = store->paged.header_dirty = true;
    }
    if (rc == SQLITE_OK)
        cuckoo_redo_add(&store->redo, CUCKOO_REDO_DELETE, hash, value);
    return rc;
}

int cuckoo_store_delete_later(cuckoo_store *store, uint64_t hash, uint64_t value)
{
    int rc = cuckoo_deletes_push(&store->deletes, hash, value);
    if (rc == SQLITE_OK)
        cuckoo_redo_add(&store->redo, CUCKOO_REDO_DELETE_LATER, hash, value);
    if (rc == SQLITE_OK && cuckoo_deletes_many(&store->deletes))
        rc = cuckoo_waiting_flush(&store->paged, &store->deletes);
    return rc;
}

/* ---- changing it once more ---- */

static int redo_one(cuckoo_store *store, const cuckoo_redo_note *note)
{
    cf_status status = CF_OK;
    int rc = SQLITE_OK;
    switch ((cuckoo_redo_kind)note->kind) {
    case CUCKOO_REDO_ADD:
    case CUCKOO_REDO_ADD_OWED:
        rc = add_or_wait(store, note->hash, note->value, note->kind == CUCKOO_REDO_ADD_OWED, &status);
        break;
    case CUCKOO_REDO_DELETE:
        rc = cuckoo_store_delete(store, note->hash, note->value);
        break;
    case CUCKOO_REDO_DELETE_LATER:
        rc = cuckoo_store_delete_later(store, note->hash, note->value);
    }
    /* There was room before. */
    return rc == SQLITE_OK && status != CF_OK ? SQLITE_CORRUPT_VTAB : rc;
}

/* What was done again once is not kept as notes a second time, so that many statements that are
** rolled back do not repeat it. */
static int redo(cuckoo_store *store)
{
    cuckoo_paged *paged = &store->paged;
    int rc = SQLITE_OK;
    for (size_t i = store->redo.from; rc == SQLITE_OK && paged->rc == SQLITE_OK && i < store->redo.n;
         i++)
        rc = redo_one(store, &store->redo.note[i]);
    rc = cuckoo_first_error(rc, cuckoo_paged_error(paged));
    store->redo.stale = rc != SQLITE_OK;
    store->redo.partial = true;
    if (rc == SQLITE_OK)
        return rc;
    store->broken |= paged->rows_ahead; /* these would be written twice */
    cuckoo_store_forget(store);
    return rc;
}

int cuckoo_store_recall(cuckoo_store *store, const char **why)
{
    int rc = cuckoo_paged_load(&store->paged, why);
    if (rc != SQLITE_OK || !store->redo.stale)
        return rc;
    *why = "changes of this transaction cannot be made again";
    return redo(store);
}

/* ---- replacing it ---- */

/* A filter that is half replaced must not stay. */
static int replaced(cuckoo_store *store, int rc)
{
    if (rc == SQLITE_OK)
        cuckoo_redo_written(&store->redo);
    return rc != SQLITE_OK && store->paged.has_written ? cuckoo_store_beyond_repair(rc) : rc;
}

int cuckoo_store_replace(cuckoo_store *store, uint8_t *bytes, uint64_t length)
{
    assert(bytes != NULL && length > 0);
    cuckoo_deletes_clear(&store->deletes);
    return replaced(store, cuckoo_paged_replace(&store->paged, bytes, length));
}

int cuckoo_store_clear(cuckoo_store *store)
{
    assert(cuckoo_paged_is_loaded(&store->paged));
    cuckoo_deletes_clear(&store->deletes);
    return replaced(store, cuckoo_paged_clear(&store->paged));
}
