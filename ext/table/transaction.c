/* SPDX-License-Identifier: MIT */
/*
** transaction.c - changes of keys, and when a table drains its logs.
*/
#include "../sqlite/sql.h"
#include "table.h"

#include <assert.h>

/* Writes a change of a key to the log. The rowid is also the number of rows, since a drain empties the
** log. A statement that writes many rows drains the log from time to time, so that no log gets too long
** for a drain; a drain that fails leaves them in the log. */
static int note(cuckoo_table *table, uint64_t hash, int64_t n, unsigned types)
{
    cuckoo_shadow *shadow = &table->paged.shadow;
    const cf_geometry *geometry = &table->paged.filter.geometry;
    sqlite3_int64 rowid = sqlite3_last_insert_rowid(shadow->db);
    types = cf_types_under(geometry->affinity, types) & ~(unsigned)geometry->key_types;
    table->net.current = false;
    int rc = cuckoo_log_write(shadow, hash, n, types);
    if (rc == SQLITE_OK)
        table->wrote = sqlite3_last_insert_rowid(shadow->db);
    sqlite3_set_last_insert_rowid(shadow->db, rowid);
    return rc == SQLITE_OK && table->wrote % CUCKOO_LONG_LOG == 0
               ? cuckoo_table_gave_up(table, cuckoo_table_drain(table, false))
               : rc;
}

/* ---- adding and deleting ---- */

/* Has a filter that may not grow fewer keys than slots? */
static int count_room(cuckoo_table *table, bool *room)
{
    const cf_filter *filter = &table->paged.filter;
    uint64_t slots = cf_geometry_slots(&filter->geometry) + filter->geometry.stash_size;
    int rc = cuckoo_table_net(table);
    *room = filter->occupied + table->net.changes.sums.used < slots;
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

/* ---- joining, and rolling back ---- */

/* Others may have committed before this transaction began. */
int cuckoo_table_joined(sqlite3_vtab *base)
{
    cuckoo_table *table = cuckoo_table_of(base);
    table->registry->events++;
    table->joined = true;
    table->returns_nothing = false;
    return SQLITE_OK;
}

/* Nothing tells whether the names of table and column are still saved. */
int cuckoo_table_rolled_back_to(sqlite3_vtab *base, int number)
{
    cuckoo_table *table = cuckoo_table_of(base);
    (void)number;
    table->registry->events++;
    table->follow.saved = false;
    return SQLITE_OK;
}

/* ---- the end ---- */

int64_t cuckoo_table_due(const cuckoo_table *table)
{
    const cuckoo_paged *paged = &table->paged;
    uint64_t more = paged->loaded ? paged->filter.occupied / 256 + paged->left / 4 : 0;
    more = more < CUCKOO_SHORT_LOG ? CUCKOO_SHORT_LOG : more < CUCKOO_LONG_LOG ? more : CUCKOO_LONG_LOG;
    return (int64_t)(paged->left + more);
}

/* A transaction that has written no row of a log must not commit anything: others could not write on what
** they have read. */
static bool is_due(const cuckoo_table *table)
{
    int64_t read = (int64_t)(table->net.own.rows + table->net.followed.rows);
    int64_t rows = table->wrote > read ? table->wrote : read;
    return table->wrote > 0 && rows >= cuckoo_table_due(table) && rows <= CUCKOO_MOST_LOGGED;
}

/* The rowid of the last row is the length of a log. */
int cuckoo_table_sync(cuckoo_table *table)
{
    int rc = SQLITE_OK;
    bool follows = cuckoo_table_follows(table);
    if (table->later || table->wrote == 0)
        return rc;
    if (follows)
        rc = cuckoo_shadow_integer(&table->paged.shadow, CUCKOO_LAST_LOGGED, NULL, &table->wrote);
    if (rc == SQLITE_OK && is_due(table))
        rc = cuckoo_table_drain(table, false);
    else if (rc == SQLITE_OK && follows)
        rc = cuckoo_table_note_rows(table);
    return cuckoo_table_gave_up(table, rc);
}

int cuckoo_table_committed(sqlite3_vtab *base)
{
    cuckoo_table *table = cuckoo_table_of(base);
    table->joined = false;
    table->wrote = 0;
    return SQLITE_OK;
}

int cuckoo_table_rolled_back(sqlite3_vtab *base)
{
    cuckoo_table_rolled_back_to(base, 0);
    return cuckoo_table_committed(base);
}
