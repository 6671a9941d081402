/* SPDX-License-Identifier: MIT */
/*
** transaction.c - when a store writes what it has in memory, and when it forgets it; how it takes the
** rows of the log into the pages.
**
** A drain is right at any time. What fails before the first write is forgotten: the log stays, and the
** next drain takes it. So COMMIT does not fail when the database cannot be written just now (locks,
** PRAGMA query_only, an authorizer), nor when the filter is damaged.
*/
#include "../sqlite/sql.h"
#include "store.h"

#include <assert.h>

int cuckoo_store_flush(cuckoo_store *store)
{
    int rc = cuckoo_paged_pending(&store->paged) ? cuckoo_paged_write(&store->paged) : SQLITE_OK;
    store->why = rc;
    return rc;
}

/* The pages of a filter that follows a table may stay: they are not dirty, and the generation tells if
** they were written. Nothing tells whether the names of table and column are still saved. */
static void forget(cuckoo_store *store)
{
    store->follow.saved = false;
    if (!cuckoo_store_follows(store) || cuckoo_paged_pending(&store->paged))
        cuckoo_paged_forget(&store->paged);
    cuckoo_net_forget(&store->net);
}

int cuckoo_store_changed(cuckoo_store *store, int rc)
{
    int rc2 = cuckoo_store_end(store);
    if (store->state.life == CUCKOO_BROKEN)
        return cuckoo_store_beyond_repair(rc2);
    rc = cuckoo_first_error(rc, rc2);
    if (rc != SQLITE_OK && store->state.part == CUCKOO_APART)
        forget(store); /* the error has ended the transaction */
    if (rc != SQLITE_OK && !cuckoo_store_follows(store))
        return rc;
    /* Commands change filters that follow a table at any time, also when they fail in the end: lookups
    ** and drains expect nothing dirty. */
    bool write = cuckoo_state_event(&store->state, CUCKOO_CHANGED) == CUCKOO_WRITE;
    rc2 = write || cuckoo_store_follows(store) ? cuckoo_store_flush(store) : rc;
    if (rc != SQLITE_OK && rc2 != SQLITE_OK)
        cuckoo_store_lose(store);
    return cuckoo_first_error(rc, rc2);
}

/* ---- joining ---- */

void cuckoo_store_joined(cuckoo_store *store)
{
    if (store->state.part == CUCKOO_APART)
        store->looked = cuckoo_fresh_joined(&store->fresh, &store->paged.shadow);
    store->net.current = false;
    cuckoo_state_event(&store->state, CUCKOO_JOIN);
}

void cuckoo_store_created(cuckoo_store *store)
{
    cuckoo_state_event(&store->state, CUCKOO_JOIN);
    store->state.part = CUCKOO_CREATED;
}

/* ---- savepoints ---- */

int cuckoo_store_savepoint(cuckoo_store *store, int number)
{
    assert(number >= 0);
    /* A statement of the store on its shadow tables needs a savepoint, because of a trigger on a
    ** shadow table. To write now would run that statement within itself. */
    if (store->paged.shadow.busy)
        return SQLITE_OK;
    if (store->opened > number)
        store->opened = number;
    bool write = cuckoo_state_event(&store->state, CUCKOO_SAVEPOINT) == CUCKOO_WRITE;
    int rc = write ? cuckoo_store_flush(store) : SQLITE_OK;
    if (rc == SQLITE_OK && store->state.life != CUCKOO_BROKEN)
        store->opened = number + 1; /* rolling back a broken store to here brings nothing back */
    return rc;
}

void cuckoo_store_release(cuckoo_store *store, int number)
{
    if (store->opened > number)
        store->opened = number < 0 ? 0 : number;
}

void cuckoo_store_rolled_back_to(cuckoo_store *store, int number)
{
    store->net.current = false;
    if (number >= store->opened)
        return;
    store->opened = number + 1;
    if (cuckoo_state_event(&store->state, CUCKOO_ROLLED_BACK_TO) == CUCKOO_FORGET)
        forget(store);
}

/* ---- draining the log: in memory ---- */

/* Deletes so many copies. When one copy is sticky, or not there, so are the others. */
static void delete_copies(cuckoo_paged *paged, uint64_t hash, int64_t copies)
{
    cf_deleted deleted = CF_REMOVED;
    while (copies-- > 0 && deleted == CF_REMOVED)
        deleted = cf_delete_value(&paged->filter, hash, 0);
    paged->unmatched += deleted == CF_ABSENT && paged->rc == SQLITE_OK;
}

/* Notes a change of the list of keys without a place. */
static int note_wait(cuckoo_sums *waits, uint64_t hash, int64_t more)
{
    return cuckoo_sums_add(waits, hash, (int32_t)more) == SQLITE_OK ? SQLITE_OK : SQLITE_TOOBIG;
}

/* Where the changes go. */
typedef struct drain_into {
    cuckoo_paged *paged;
    cuckoo_sums waits; /* what is to be changed in the list of keys without a place, when all is known */
    bool room;         /* keys have gone */
} drain_into;

/* Keys without a place go first. */
static int take_away(drain_into *into, uint64_t hash, int64_t copies)
{
    int64_t wait = 0;
    int rc = cuckoo_unplaced_copies(into->paged, hash, NULL, &wait);
    if (wait > copies)
        wait = copies;
    delete_copies(into->paged, hash, copies - wait);
    into->room = true;
    return rc == SQLITE_OK && wait > 0 ? note_wait(&into->waits, hash, -wait) : rc;
}

static int bring(drain_into *into, uint64_t hash, int64_t copies)
{
    cf_status status = CF_OK;
    for (; copies > 0 && status == CF_OK && into->paged->rc == SQLITE_OK; copies--)
        status = cf_add_value(&into->paged->filter, hash, 0);
    if (status == CF_NO_MEMORY)
        return SQLITE_TOOBIG;
    return status == CF_OK ? SQLITE_OK : note_wait(&into->waits, hash, copies + 1);
}

static int change(void *context, uint64_t hash, int64_t more)
{
    drain_into *into = context;
    int rc = more < 0 ? take_away(into, hash, -more) : bring(into, hash, more);
    return cuckoo_first_error(rc, into->paged->rc);
}

/* ---- draining the log: in the database ---- */

/* When keys have gone, some keys without a place are tried. */
static int write_waits(const drain_into *into)
{
    int rc = SQLITE_OK;
    const cuckoo_sums *waits = &into->waits;
    for (size_t i = 0; rc == SQLITE_OK && i < waits->places; i++)
        if (waits->place[i].sum != 0)
            rc = cuckoo_unplaced_count(into->paged, waits->place[i].hash, 0, waits->place[i].sum);
    return rc == SQLITE_OK && into->room ? cuckoo_unplaced_try(into->paged, false) : rc;
}

/* A log that cannot be emptied has to be noticed before the first write. */
static int write_all(const drain_into *into)
{
    int rc = cuckoo_shadow_run(&into->paged->shadow, CUCKOO_CLAIM_LOG, NULL);
    rc = rc ? rc : write_waits(into);
    rc = rc ? rc : cuckoo_paged_write(into->paged);
    return rc == SQLITE_OK ? cuckoo_shadow_run(&into->paged->shadow, CUCKOO_EMPTY_LOG, NULL) : rc;
}

/* Loads the header, saves the names of table and column, and notes that the filter is not to be
** trusted. */
static int prepare_drain(cuckoo_store *store, bool *writes)
{
    const char *why;
    cuckoo_shadow *shadow = &store->paged.shadow;
    int rc = cuckoo_store_load(store, &why);
    rc = rc ? rc : cuckoo_follow_look(&store->follow, shadow);
    if (rc == SQLITE_OK && !store->follow.fault && !store->follow.saved) {
        *writes = true;
        rc = cuckoo_follow_save(&store->follow, shadow);
        *writes = rc != SQLITE_OK;
    }
    if (rc == SQLITE_OK && store->follow.lossy && store->paged.unmatched == 0) {
        store->paged.unmatched = 1; /* others may not see a TEMP trigger */
        store->paged.dirty = true;
    }
    return rc;
}

/* The code for an error. After the first write it must be one after which SQLite rolls back. If SQLite
** has rolled back already, COMMIT must not succeed. An interrupt does that to writes only. */
static int end_drain(cuckoo_paged *paged, int rc, bool writes)
{
    cuckoo_paged_forget(paged);
    cuckoo_paged_error(paged);
    if (cuckoo_sql_rolls_back(rc) && (writes || (rc & 0xff) != SQLITE_INTERRUPT))
        return rc;
    return paged->has_written ? SQLITE_IOERR : SQLITE_OK;
}

/* What was read of the log is forgotten in any case: it is in the pages now, or the drain has failed and
** reads it again. */
int cuckoo_store_drain(cuckoo_store *store)
{
    bool writes = false;
    cuckoo_paged *paged = &store->paged;
    drain_into into = {.paged = paged};
    paged->has_written = false;
    if (cuckoo_paged_pending(paged)) /* by a command that has failed: it is not needed */
        cuckoo_paged_forget(paged);
    int rc = prepare_drain(store, &writes);
    rc = rc ? rc : cuckoo_store_net(store);
    if (rc == SQLITE_OK && store->net.rows > 0) {
        paged->dirty = true;
        rc = cuckoo_net_walk(&store->net, change, &into);
        writes = rc == SQLITE_OK;
        rc = rc ? rc : write_all(&into);
        cuckoo_sums_free(&into.waits);
    }
    cuckoo_net_forget(&store->net);
    return rc == SQLITE_OK ? rc : end_drain(paged, rc, writes);
}

/* What is to be known of rows that were written, also when they are not drained yet: a table may be
** renamed, and made anew. */
static int note_rows(cuckoo_store *store)
{
    bool writes = false;
    cuckoo_paged *paged = &store->paged;
    paged->has_written = false;
    int rc = prepare_drain(store, &writes);
    if (rc == SQLITE_OK && cuckoo_paged_pending(paged)) {
        writes = true;
        rc = cuckoo_paged_write(paged);
    }
    return rc == SQLITE_OK ? rc : end_drain(paged, rc, writes);
}

/* ---- the end ---- */

/* cf_touch (touch.h) tells of the rows that this connection writes. It does not see rows that other
** connections wrote, and the net has them if a lookup has read the log. */
static bool is_due(const cuckoo_store *store)
{
    int64_t rows = store->wrote > (int64_t)store->net.rows ? store->wrote : (int64_t)store->net.rows,
            least = (int64_t)(store->paged.filter.occupied / 256);
    least = least < CUCKOO_SHORT_LOG  ? CUCKOO_SHORT_LOG
            : least < CUCKOO_LONG_LOG ? least
                                      : CUCKOO_LONG_LOG;
    return rows >= least && rows <= CUCKOO_MOST_LOGGED;
}

/* Writes pages, after some keys without a place were tried. *begun: it has come as far. */
static int write(cuckoo_store *store, bool *begun)
{
    cuckoo_paged *paged = &store->paged;
    if (!cuckoo_paged_pending(paged))
        return SQLITE_OK;
    int rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_WATCH_SCHEMA, NULL); /* notices an interrupt */
    *begun = rc == SQLITE_OK;
    rc = rc ? rc : cuckoo_unplaced_try(paged, false);
    if (rc == SQLITE_OK)
        return cuckoo_store_flush(store);
    if (paged->has_written)
        cuckoo_store_lose(store);
    return rc;
}

/* COMMIT can be tried again after SQLITE_BUSY. Any other error rolls the transaction back; a write
** that is interrupted has done so already, be it the first one. */
static int sync_pages(cuckoo_store *store)
{
    bool begun = false;
    store->paged.has_written = false;
    int rc = write(store, &begun);
    if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY)
        return rc;
    if (store->paged.has_written || store->state.life == CUCKOO_BROKEN)
        return cuckoo_store_beyond_repair(rc);
    return (rc & 0xff) == SQLITE_INTERRUPT && !begun ? SQLITE_BUSY : rc;
}

int cuckoo_store_sync(cuckoo_store *store)
{
    cuckoo_action action = cuckoo_state_event(&store->state, CUCKOO_SYNC);
    store->why = SQLITE_ABORT;
    if (action == CUCKOO_REFUSE)
        return SQLITE_IOERR;
    if (action == CUCKOO_NOTHING || store->later)
        return SQLITE_OK;
    if (!cuckoo_store_follows(store))
        store->why = sync_pages(store);
    else
        store->why = is_due(store)      ? cuckoo_store_drain(store)
                     : store->wrote > 0 ? note_rows(store)
                                        : SQLITE_OK;
    return store->why;
}

void cuckoo_store_ended(cuckoo_store *store, cuckoo_event event)
{
    assert(event == CUCKOO_COMMITTED || event == CUCKOO_ROLLED_BACK);
    if (store->state.part != CUCKOO_APART)
        cuckoo_fresh_committed(&store->fresh, &store->paged.shadow, store->looked);
    if (cuckoo_state_event(&store->state, event) == CUCKOO_FORGET)
        forget(store);
    if (store->state.part != CUCKOO_APART)
        return; /* other tables of this store are still to be told */
    store->looked = store->net.current = false;
    store->wrote = 0;
    store->watched = false;
    store->opened = 0;
}
