/* SPDX-License-Identifier: MIT */
/*
** transaction.c - when a store writes what it has in memory, and when it forgets it.
*/
#include "sql.h"
#include "store.h"

#include <assert.h>

int cuckoo_store_flush(cuckoo_store *store)
{
    int rc = cuckoo_paged_pending(&store->paged) ? cuckoo_paged_write(&store->paged) : SQLITE_OK;
    store->why = rc;
    return rc;
}

/* The pages of a filter that follows a table may stay: they are not dirty, and the generation tells if
** they were written. Whether the names of table and column are saved nothing tells. */
static void forget(cuckoo_store *store)
{
    store->follow.saved = false;
    if (!cuckoo_store_follows(store) || cuckoo_paged_pending(&store->paged))
        cuckoo_paged_forget(&store->paged);
    cuckoo_undrained_forget(&store->undrained);
}

int cuckoo_store_changed(cuckoo_store *store, int rc)
{
    int rc2 = cuckoo_store_end(store);
    if (store->state.life == CUCKOO_BROKEN)
        return cuckoo_store_beyond_repair(rc2);
    rc = cuckoo_first_error(rc, rc2);
    if (rc != SQLITE_OK && store->state.part == CUCKOO_APART)
        forget(store); /* the error has ended the transaction */
    if (rc != SQLITE_OK)
        return rc;
    /* Commands change filters that follow a table at any time: lookups expect nothing dirty. */
    bool write = cuckoo_state_event(&store->state, CUCKOO_CHANGED) == CUCKOO_WRITE;
    return write || cuckoo_store_follows(store) ? cuckoo_store_flush(store) : rc;
}

/* ---- joining ---- */

void cuckoo_store_joined(cuckoo_store *store)
{
    if (store->state.part == CUCKOO_APART)
        store->looked = cuckoo_fresh_joined(&store->fresh, &store->paged.shadow);
    store->undrained.current = false;
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
    /* One of its own statements needs a savepoint, because of a trigger on a shadow table. To write
    ** now would run that statement within itself. */
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
    if (number >= store->opened)
        return;
    store->opened = number + 1;
    if (cuckoo_state_event(&store->state, CUCKOO_ROLLED_BACK_TO) == CUCKOO_FORGET)
        forget(store);
}

/* ---- the end ---- */

/* What others wrote to the log, and what was written where no TEMP trigger tells (touch.h), only lookups
** know. */
static bool is_due(const cuckoo_store *store)
{
    const cuckoo_undrained *undrained = &store->undrained;
    return store->drains != CUCKOO_DRAIN_LATER || undrained->olds > 0 ||
           undrained->rows >= CUCKOO_LONG_LOG;
}

/* Writes pages, after some keys without a place were tried. */
static int write(cuckoo_store *store)
{
    cuckoo_paged *paged = &store->paged;
    if (!cuckoo_paged_pending(paged))
        return SQLITE_OK;
    int rc = cuckoo_shadow_run(&paged->shadow, CUCKOO_WATCH_SCHEMA, NULL); /* notices an interrupt */
    rc = rc ? rc : cuckoo_waiting_try(paged, false);
    if (rc == SQLITE_OK)
        return cuckoo_store_flush(store);
    if (paged->has_written)
        cuckoo_store_lose(store);
    return rc;
}

/* COMMIT can be tried again after SQLITE_BUSY. Any other error rolls the transaction back; a write
** that is interrupted has done so already. */
static int sync_pages(cuckoo_store *store)
{
    store->paged.has_written = false;
    int rc = write(store);
    if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY)
        return rc;
    if (store->paged.has_written || store->state.life == CUCKOO_BROKEN)
        return cuckoo_store_beyond_repair(rc);
    return (rc & 0xff) == SQLITE_INTERRUPT ? SQLITE_BUSY : rc;
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
        store->why = is_due(store) ? cuckoo_store_drain(store) : SQLITE_OK;
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
    store->looked = store->undrained.current = false;
    store->drains = CUCKOO_DRAIN_LATER;
    store->opened = 0;
}
