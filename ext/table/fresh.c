/* SPDX-License-Identifier: MIT */
/*
** fresh.c - is what a table has in memory, a cache of the database, still what the database says?
**
** Memory is still true in two cases:
**
** - Nothing was uncommitted at the last use, nothing is now, and the data version of the database is the
**   same. The version is looked at inside a read transaction: outside of one SQLite does not know it.
** - The table is in the transaction that writes. Since the last use SQLite has reported no rollback, no
**   table of this connection has written pages, and the connection has changed no row. (SQLite counts a
**   row that a trigger writes at once: sqlite3_total_changes.)
**
** Otherwise the generation of the pages is compared, and the logs are read on from their marks (log.h),
** which shows whether they are still the logs that were read.
**
** With a shared cache a read transaction does not keep others from committing before a table is read. So
** after a use that has read something the version is looked at again. If it has changed, the use fails
** with SQLITE_LOCKED, for which users of a shared cache have to be prepared anyway.
**
** Changes that this connection makes to the shadow tables by SQL, or by the incremental blob API, go
** unnoticed. SQLite's defensive mode forbids the first.
*/
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "table.h"

static int compare(cuckoo_table *table)
{
    unsigned version;
    const cuckoo_registry *registry = table->registry;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    int rc = cuckoo_shadow_version(shadow, &version), changes = sqlite3_total_changes(shadow->db);
    bool settled = !cuckoo_shadow_in_transaction(shadow, true),
         notified = !settled && table->joined && table->events == registry->events;
    bool same =
        settled ? table->settled && version == table->version : notified && changes == table->changes;
    table->version = version;
    table->settled = rc == SQLITE_OK && settled;
    table->events = registry->events;
    table->changes = changes;
    table->paged.shadow.stepped = false;
    if (rc != SQLITE_OK || same)
        return rc;
    table->net.current = false;
    return notified ? SQLITE_OK : cuckoo_paged_compare(&table->paged);
}

int cuckoo_table_load(cuckoo_table *table)
{
    char **damage = &table->paged.shadow.damage;
    sqlite3_free(*damage);
    *damage = NULL;
    if (table->paged.shadow.busy)
        return cuckoo_say(damage, SQLITE_CORRUPT_VTAB,
                          "a trigger or a view on its shadow table uses it");
    if (table->later)
        return cuckoo_say(damage, CUCKOO_NEWER, "%s", table->later);
    int rc = compare(table);
    return rc == SQLITE_OK ? cuckoo_paged_load(&table->paged) : rc;
}

int cuckoo_table_end(cuckoo_table *table)
{
    int rc = cuckoo_paged_error(&table->paged);
    bool fits = rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB; /* rows of two times are no damage */
    if (table->paged.shadow.stepped && fits && cuckoo_table_overtaken(table))
        rc = SQLITE_LOCKED;
    table->paged.shadow.stepped = false;
    bool unwritten = table->paged.dirty && !table->paged.shadow.busy; /* by a drain that goes on */
    if (rc != SQLITE_OK || unwritten)
        cuckoo_table_forget(table);
    return rc;
}

int cuckoo_table_end_work(cuckoo_table *table, int rc, char **message)
{
    int end = cuckoo_table_end(table);
    if (end == SQLITE_OK || cuckoo_sql_rolls_back(rc))
        return rc;
    sqlite3_free(*message);
    *message = NULL;
    return end;
}
