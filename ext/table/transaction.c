/* SPDX-License-Identifier: MIT */
/*
** transaction.c - changes of keys: when they are pending, and when a table writes them.
*/
#include "../sqlite/sql.h"
#include "table.h"

#include <assert.h>

/* ---- what is pending ---- */

/* If the connection may not write to the log, better an error of INSERT than one of COMMIT. A drain that
** cannot be made just now leaves them to the log. */
static int note(cuckoo_table *table, uint64_t hash, int64_t n, unsigned types)
{
    types = cf_types_under(table->paged.filter.geometry.affinity, types);
    types &= ~(unsigned)table->paged.filter.geometry.key_types;
    if (table->part != CUCKOO_JOINED || table->shared)
        return cuckoo_table_log(table, hash, n, types);
    int rc = SQLITE_OK;
    sqlite3_stmt *write;
    if (table->pending.n == 0)
        rc = cuckoo_shadow_query(&table->paged.shadow, CUCKOO_WRITE_OWN, NULL, &write);
    rc = rc ? rc : cuckoo_changes_add(&table->pending, hash, n);
    table->pending.types |= rc == SQLITE_OK ? types : 0;
    uint64_t rows = table->pending.n + (table->pending.summed ? 0 : (uint64_t)table->wrote),
             most = table->pending.summed ? CUCKOO_LONG_LOG : CUCKOO_MOST_PENDING;
    if (rc != SQLITE_OK || rows <= most)
        return rc;
    rc = cuckoo_table_gave_up(table, cuckoo_table_drain(table, false));
    rc = rc == SQLITE_OK && table->pending.n ? cuckoo_table_put(table) : rc;
    if (rc != SQLITE_OK && table->pending.n > 0)
        table->pending.n--; /* this one, which cuckoo_table_put has not come to */
    return rc;
}

/* ---- adding and deleting ---- */

/* Has a filter that may not grow fewer keys than slots? */
static int count_room(cuckoo_table *table, bool *room)
{
    const cf_filter *filter = &table->paged.filter;
    uint64_t slots = cf_geometry_slots(&filter->geometry) + filter->geometry.stash_size;
    int rc = cuckoo_table_net(table);
    *room = filter->occupied + table->net.changes.sums.used + table->pending.sums.used < slots;
    return rc;
}

/* A drain tells how many slots they need. */
static int look_for_room(cuckoo_table *table, bool *room)
{
    int rc = count_room(table, room);
    if (rc != SQLITE_OK || *room)
        return rc;
    rc = cuckoo_table_gave_up(table, cuckoo_table_drain(table, false));
    return rc ? rc : count_room(table, room);
}

int cuckoo_table_add(cuckoo_table *table, uint64_t hash, unsigned types, cf_status *status)
{
    bool room = true;
    const cuckoo_paged *paged = &table->paged;
    assert(paged->loaded);
    int rc = paged->filter.geometry.growth ? SQLITE_OK : look_for_room(table, &room);
    *status = room ? CF_OK : CF_FULL;
    return rc != SQLITE_OK || !room
               ? rc
               : note(table, hash, paged->filter.geometry.epochs ? (int64_t)paged->now : 1, types);
}

int cuckoo_table_delete(cuckoo_table *table, uint64_t hash)
{
    return note(table, hash, -1, 0);
}

/* ---- joining ---- */

/* Another table of this name does not know what is pending. */
int cuckoo_table_connected(cuckoo_table *table)
{
    int rc = SQLITE_OK;
    cuckoo_table *other = cuckoo_list_other(table, NULL);
    table->shared = other != NULL;
    for (; rc == SQLITE_OK && other; other = cuckoo_list_other(table, other)) {
        other->shared = true;
        rc = cuckoo_table_put(other);
    }
    return rc;
}

int cuckoo_table_joined(sqlite3_vtab *base)
{
    cuckoo_table *table = cuckoo_table_of(base);
    if (table->part == CUCKOO_APART) {
        cuckoo_fresh_joined(table);
        table->part = cuckoo_table_is_within(table) ? CUCKOO_CREATED : CUCKOO_JOINED;
    }
    table->net.current = table->returns_nothing = false;
    return cuckoo_table_connected(table);
}

/* ---- savepoints ---- */

int cuckoo_table_savepoint(cuckoo_table *table, int number)
{
    assert(number >= 0);
    table->returns_nothing = false;
    /* A statement of the table on its shadow tables needs a savepoint: a drain, or because of a trigger
    ** on a shadow table. To write now would run a statement within itself. */
    if (table->paged.shadow.busy)
        return SQLITE_OK;
    if (table->opened > number)
        table->opened = number;
    int rc = cuckoo_table_put(table);
    if (rc == SQLITE_OK) {
        table->opened = number + 1;
        if (table->part == CUCKOO_CREATED && !cuckoo_table_is_within(table))
            table->part = CUCKOO_JOINED;
    }
    return rc;
}

int cuckoo_table_release(sqlite3_vtab *base, int number)
{
    cuckoo_table *table = cuckoo_table_of(base);
    if (table->opened > number)
        table->opened = number < 0 ? 0 : number;
    return SQLITE_OK;
}

/* The pages may stay: they are not dirty, and the generation tells if they were written. Nothing tells
** whether the names of table and column are still saved. */
static void read_again(cuckoo_table *table)
{
    table->follow.saved = table->compared = false;
    cuckoo_net_forget(&table->net);
    if (table->drained > table->wrote)
        table->wrote = table->drained; /* the log may be as long again */
}

static void take_back(cuckoo_table *table)
{
    table->rollbacks++;
    cuckoo_changes_free(&table->pending);
    read_again(table);
}

/* A drain may be taken back also by a savepoint of which the table was not told: SQLite opens one anew
** in the place of one that a function has rolled back while a statement was running. */
int cuckoo_table_rolled_back_to(sqlite3_vtab *base, int number)
{
    cuckoo_table *table = cuckoo_table_of(base);
    read_again(table);
    if (number >= table->opened)
        return SQLITE_OK;
    table->opened = number + 1;
    take_back(table);
    return SQLITE_OK;
}

/* ---- the end ---- */

/* The last row that this connection has written tells the length of a log. (cf_touch tells of those of
** triggers.) Rows that other connections wrote are known if a lookup has read them. A transaction that
** has changed nothing must not commit anything: others could not write on what they have read. */
static bool is_due(const cuckoo_table *table)
{
    bool writes = table->wrote > 0 || table->pending.n > 0 ||
                  sqlite3_total_changes(table->paged.shadow.db) != table->idle;
    uint64_t read = table->net.own.rows + table->net.followed.rows, wrote = (uint64_t)table->wrote,
             left = table->paged.left, least = table->paged.filter.occupied / 256 + left / 4;
    uint64_t rows = (wrote > read ? wrote : read) + table->pending.n;
    least = least < CUCKOO_SHORT_LOG  ? CUCKOO_SHORT_LOG
            : least < CUCKOO_LONG_LOG ? least
                                      : CUCKOO_LONG_LOG;
    return writes && rows >= left + least && rows <= CUCKOO_MOST_LOGGED;
}

/* What comes before the first write must not cost the transaction: COMMIT can be said again after
** SQLITE_BUSY. A statement that commits itself cannot. Nor can a transaction that SQLite has taken back,
** of which it tells no table before all of them have written. */
static int sync_pending(cuckoo_table *table)
{
    size_t n = table->pending.n;
    int rc = cuckoo_table_put(table), kind = rc & 0xff;
    bool before = table->pending.n == n && cuckoo_sql_running(table->paged.shadow.db, true) == 0 &&
                  cuckoo_shadow_in_transaction(&table->paged.shadow, true);
    return before && (kind == SQLITE_INTERRUPT || kind == SQLITE_READONLY || kind == SQLITE_AUTH)
               ? SQLITE_BUSY
               : rc;
}

int cuckoo_table_sync(cuckoo_table *table)
{
    if (table->later)
        return SQLITE_OK;
    int rc = is_due(table) ? SQLITE_OK : sync_pending(table);
    if (rc == SQLITE_OK && is_due(table))
        rc = cuckoo_table_gave_up(table, cuckoo_table_drain(table, false));
    else if (rc == SQLITE_OK && cuckoo_table_follows(table) && table->wrote > 0)
        rc = cuckoo_table_note_rows(table);
    return rc ? rc : sync_pending(table);
}

int cuckoo_table_committed(sqlite3_vtab *base)
{
    cuckoo_table *table = cuckoo_table_of(base);
    if (table->part != CUCKOO_APART)
        cuckoo_fresh_ended(table);
    table->part = CUCKOO_APART;
    table->looked = table->net.current = false;
    table->wrote = table->drained = 0;
    table->opened = 0;
    cuckoo_changes_free(&table->pending);
    return SQLITE_OK;
}

int cuckoo_table_rolled_back(sqlite3_vtab *base)
{
    take_back(cuckoo_table_of(base));
    return cuckoo_table_committed(base);
}
