/* SPDX-License-Identifier: MIT */
/*
** transaction.c - changes of keys: when they are pending, and when a store writes them.
*/
#include "../sqlite/sql.h"
#include "store.h"

#include "../../src/shape/geometry.h"

#include <assert.h>

/* ---- what is pending ---- */

/* The rowid is also the number of rows, since a drain empties the log. */
static int write_change(cuckoo_store *store, uint64_t hash, int64_t n)
{
    sqlite3 *db = store->paged.shadow.db;
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(db);
    store->net.current = false;
    cuckoo_list_tell(store, false);
    int rc = cuckoo_log_write(&store->paged.shadow, hash, n);
    if (rc == SQLITE_OK)
        store->wrote = sqlite3_last_insert_rowid(db);
    sqlite3_set_last_insert_rowid(db, rowid);
    return rc;
}

/* What was written is pending no more, also when a later row fails. */
static int write_pending(cuckoo_store *store)
{
    int rc = SQLITE_OK;
    size_t written = 0;
    cuckoo_pending *pending = &store->pending;
    for (; rc == SQLITE_OK && written < pending->n; written += rc == SQLITE_OK)
        rc = write_change(store, pending->change[written].hash, pending->change[written].n);
    if (rc == SQLITE_OK)
        cuckoo_pending_clear(pending);
    else if (pending->n > 0) /* SQLite may have taken all back, and told us */
        cuckoo_pending_shift(pending, written);
    return rc;
}

/* May the connection write to the log? Better an error of INSERT than one of COMMIT. */
static int prepare_log(cuckoo_store *store)
{
    sqlite3_stmt *write;
    return store->pending.n ? SQLITE_OK
                            : cuckoo_shadow_query(&store->paged.shadow, CUCKOO_WRITE_OWN, NULL, &write);
}

/* A drain that cannot be made just now leaves them to the log. */
static int note(cuckoo_store *store, uint64_t hash, int64_t n)
{
    if (store->part != CUCKOO_JOINED || store->shared)
        return write_change(store, hash, n);
    int rc = prepare_log(store);
    rc = rc ? rc : cuckoo_pending_add(&store->pending, hash, n);
    uint64_t rows = store->pending.n + (store->pending.summed ? 0 : (uint64_t)store->wrote),
             most = store->pending.summed ? CUCKOO_LONG_LOG : CUCKOO_MOST_PENDING;
    if (rc != SQLITE_OK || rows <= most)
        return rc;
    rc = cuckoo_store_gave_up(store, cuckoo_store_drain(store, false));
    rc = rc == SQLITE_OK && store->pending.n ? write_pending(store) : rc;
    if (rc != SQLITE_OK && store->pending.n > 0)
        store->pending.n--; /* this one, which write_pending has not come to */
    return rc;
}

/* The same, after an interrupt is noticed: only one that comes later takes the transaction back. */
static int put_pending(cuckoo_store *store)
{
    int rc = store->pending.n ? cuckoo_shadow_run(&store->paged.shadow, CUCKOO_WATCH_SCHEMA, NULL)
                              : SQLITE_OK;
    return rc ? rc : write_pending(store);
}

/* ---- adding and deleting ---- */

/* Has a filter that may not grow fewer keys than slots? */
static int count_room(cuckoo_store *store, bool *room)
{
    const cf_filter *filter = &store->paged.filter;
    uint64_t slots = cf_geometry_slots(&filter->geometry) + filter->geometry.spill_bound;
    int rc = cuckoo_store_net(store);
    *room = filter->occupied + store->net.sums.used + store->pending.sums.used < slots;
    return rc;
}

/* A drain tells how many slots they need. */
static int look_for_room(cuckoo_store *store, bool *room)
{
    int rc = count_room(store, room);
    if (rc != SQLITE_OK || *room)
        return rc;
    rc = cuckoo_store_gave_up(store, cuckoo_store_drain(store, false));
    return rc ? rc : count_room(store, room);
}

int cuckoo_store_add(cuckoo_store *store, uint64_t hash, cf_status *status)
{
    bool room = true;
    const cuckoo_paged *paged = &store->paged;
    assert(cuckoo_paged_is_loaded(paged));
    int rc = paged->filter.geometry.growth ? SQLITE_OK : look_for_room(store, &room);
    *status = room ? CF_OK : CF_FULL;
    return rc != SQLITE_OK || !room
               ? rc
               : note(store, hash, paged->filter.geometry.epochs ? (int64_t)paged->now : 1);
}

int cuckoo_store_delete(cuckoo_store *store, uint64_t hash)
{
    return note(store, hash, -1);
}

/* ---- joining ---- */

/* Another table of this name does not know what is pending. */
int cuckoo_store_connected(cuckoo_store *store)
{
    int rc = SQLITE_OK;
    cuckoo_store *other = cuckoo_list_other(store, NULL);
    store->shared = other != NULL;
    for (; rc == SQLITE_OK && other; other = cuckoo_list_other(store, other)) {
        other->shared = true;
        rc = put_pending(other);
    }
    return rc;
}

int cuckoo_store_joined(cuckoo_store *store)
{
    if (store->part == CUCKOO_APART) {
        store->looked = cuckoo_fresh_joined(&store->fresh, &store->paged.shadow);
        store->part = CUCKOO_JOINED;
    }
    store->net.current = false;
    return cuckoo_store_connected(store);
}

void cuckoo_store_created(cuckoo_store *store)
{
    store->part = CUCKOO_CREATED;
}

/* ---- savepoints ---- */

int cuckoo_store_savepoint(cuckoo_store *store, int number)
{
    assert(number >= 0);
    /* A statement of the store on its shadow tables needs a savepoint: a drain, or because of a trigger
    ** on a shadow table. To write now would run a statement within itself. */
    if (store->paged.shadow.busy)
        return SQLITE_OK;
    if (store->opened > number)
        store->opened = number;
    int rc = store->why = put_pending(store);
    if (rc == SQLITE_OK) {
        store->opened = number + 1;
        if (store->part == CUCKOO_CREATED)
            store->part = CUCKOO_JOINED;
    }
    return rc;
}

void cuckoo_store_release(cuckoo_store *store, int number)
{
    if (store->opened > number)
        store->opened = number < 0 ? 0 : number;
}

/* The pages may stay: they are not dirty, and the generation tells if they were written. Nothing tells
** whether the names of table and column are still saved. */
static void take_back(cuckoo_store *store)
{
    store->rollbacks++;
    store->follow.saved = store->compared = false;
    cuckoo_pending_clear(&store->pending);
    cuckoo_net_forget(&store->net);
}

void cuckoo_store_rolled_back_to(cuckoo_store *store, int number)
{
    store->net.current = false;
    if (number >= store->opened)
        return;
    store->opened = number + 1;
    take_back(store);
}

/* ---- the end ---- */

/* The last row that this connection has written tells the length of a log. (cf_touch tells of those of
** triggers.) Rows that other connections wrote are known if a lookup has read them. */
static bool is_due(const cuckoo_store *store)
{
    uint64_t read = store->net.own.rows + store->net.followed.rows, wrote = (uint64_t)store->wrote,
             left = store->paged.left, least = store->paged.filter.occupied / 256 + left / 4;
    uint64_t rows = (wrote > read ? wrote : read) + store->pending.n;
    least = least < CUCKOO_SHORT_LOG  ? CUCKOO_SHORT_LOG
            : least < CUCKOO_LONG_LOG ? least
                                      : CUCKOO_LONG_LOG;
    return rows >= left + least && rows <= CUCKOO_MOST_LOGGED;
}

/* What comes before the first write must not cost the transaction: COMMIT can be said again after
** SQLITE_BUSY. A statement that commits itself cannot. Nor can a transaction that SQLite has taken back,
** of which it tells no table before all of them have written. */
static int sync_pending(cuckoo_store *store)
{
    size_t n = store->pending.n;
    int rc = put_pending(store), kind = rc & 0xff;
    bool before = store->pending.n == n && cuckoo_sql_running(store->paged.shadow.db, true) == 0 &&
                  cuckoo_shadow_in_transaction(&store->paged.shadow, true);
    return before && (kind == SQLITE_INTERRUPT || kind == SQLITE_READONLY || kind == SQLITE_AUTH)
               ? SQLITE_BUSY
               : rc;
}

static int sync_store(cuckoo_store *store)
{
    int rc = is_due(store) ? SQLITE_OK : sync_pending(store);
    if (rc == SQLITE_OK && is_due(store))
        rc = cuckoo_store_gave_up(store, cuckoo_store_drain(store, false));
    else if (rc == SQLITE_OK && cuckoo_store_follows(store) && store->wrote > 0)
        rc = cuckoo_store_note_rows(store);
    return rc ? rc : sync_pending(store);
}

int cuckoo_store_sync(cuckoo_store *store)
{
    store->why = store->later ? SQLITE_OK : sync_store(store);
    return store->why;
}

void cuckoo_store_ended(cuckoo_store *store, bool back)
{
    if (store->part != CUCKOO_APART)
        cuckoo_fresh_committed(&store->fresh, &store->paged.shadow, store->looked);
    if (back)
        take_back(store);
    store->part = CUCKOO_APART;
    store->looked = store->net.current = false;
    store->wrote = 0;
    store->opened = 0;
    cuckoo_pending_clear(&store->pending);
}
