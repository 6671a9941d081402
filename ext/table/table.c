/* SPDX-License-Identifier: MIT */
/*
** table.c - lookups; and the rule that decides whether memory, a cache of the database, is still valid.
**
** Memory is still valid in two cases:
**
** - Nothing was uncommitted at the last use, nothing is now, and the data version of the database is the
**   same. The version is read inside a read transaction: outside of one SQLite does not know it.
** - The table is in the transaction that writes. Since the last use SQLite has reported no rollback, and
**   no table of this connection has written pages: the pages are valid. So are the logs, if the
**   connection has changed no row. (SQLite counts a row immediately, even if a trigger writes it:
**   sqlite3_total_changes.)
**
** In all other cases memory may be stale: the generation of the pages is compared. Logs that may have
** new rows are read on from their marks (log.h), which shows whether they are still the same logs.
**
** With a shared cache a read transaction does not keep others from committing before a table is read. So
** after a use that has read something the version is checked again. If it has changed, the use fails
** with SQLITE_LOCKED, for which users of a shared cache must be prepared anyway.
**
** Changes that this connection makes to the shadow tables by SQL, or by the incremental blob API, are
** not noticed. SQLite's defensive mode forbids the first.
*/
#include "table.h"

#include "../keys/column_rule.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <assert.h>
#include <string.h>

void cuckoo_table_forget(cuckoo_table *table)
{
    cuckoo_paged_forget(&table->paged);
    cuckoo_net_forget(&table->net);
}

/* ---- whether memory is still valid ---- */

static int compare(cuckoo_table *table)
{
    unsigned version;
    const cuckoo_registry *registry = table->registry;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    int rc = cuckoo_shadow_version(shadow, &version), changes = sqlite3_total_changes(shadow->db);
    /* `settled`: nothing of this database is uncommitted. The schema is looked up by name only if some
    ** database is written. */
    bool writes = table->joined || sqlite3_txn_state(shadow->db, NULL) == SQLITE_TXN_WRITE,
         settled = !writes || !cuckoo_shadow_in_transaction(shadow, true),
         pages_kept = !settled && table->joined && table->events == registry->events;
    bool same = settled ? table->version == version : pages_kept && changes == table->changes;
    table->version = rc == SQLITE_OK && settled ? (int64_t)version : -1;
    table->events = registry->events;
    table->changes = changes;
    table->paged.shadow.stepped = false;
    if (rc != SQLITE_OK || same)
        return rc;
    table->net.current = false;
    return pages_kept ? SQLITE_OK : cuckoo_paged_compare(&table->paged);
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
    bool fits = rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB; /* of two versions */
    if (table->paged.shadow.stepped && fits && cuckoo_table_overtaken(table))
        rc = SQLITE_LOCKED;
    table->paged.shadow.stepped = false;
    bool unwritten = table->paged.dirty && !table->paged.shadow.busy; /* by a drain that is running */
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

/* ---- use ---- */

bool cuckoo_table_is_told(int rc)
{
    return rc == SQLITE_ERROR || rc == SQLITE_MISMATCH || rc == SQLITE_CORRUPT_VTAB ||
           rc == CUCKOO_NEWER;
}

const char *cuckoo_table_damage(const cuckoo_table *table, int rc)
{
    bool told = cuckoo_table_is_told(rc) || (rc == SQLITE_TOOBIG && table->paged.shadow.damage);
    return told ? cuckoo_shadow_why(&table->paged.shadow) : sqlite3_errstr(rc);
}

/* The copies of a key in the pages; a saturated key may have any number. */
static int64_t copies_of(cuckoo_table *table, uint64_t hash)
{
    const cf_geometry *geometry = &table->paged.filter.geometry;
    uint64_t least = cf_count(cuckoo_paged_reader(&table->paged), hash),
             exact =
                 geometry->counter_bits ? UINT64_C(1) << geometry->counter_bits : geometry->max_copies;
    return least < exact ? (int64_t)least : INT64_MAX / 2;
}

/* The change of a key in the logs: added copies, or the latest time. */
static int64_t change_of(const cuckoo_table *table, uint64_t hash)
{
    return cuckoo_counts_get(&table->net.changes.counts, hash, 0);
}

/* The rows of a key, with rowids=on. */
static int count_rows(cuckoo_table *table, uint64_t hash, int64_t *n)
{
    cuckoo_rows rows = {0};
    int rc = cuckoo_rows_find(&table->net, &table->paged, hash, &rows);
    *n = (int64_t)rows.n;
    sqlite3_free(rows.at);
    return rc;
}

int cuckoo_table_most(cuckoo_table *table, uint64_t hash, int64_t *most)
{
    if (table->paged.shadow.rowids)
        return count_rows(table, hash, most);
    int rc = cuckoo_table_net(table);
    *most = rc == SQLITE_OK ? copies_of(table, hash) + change_of(table, hash) : 0;
    return cuckoo_first_error(rc, table->paged.rc);
}

int cuckoo_table_has_anew(cuckoo_table *table, uint64_t hash, bool *has)
{
    assert(table->paged.loaded);
    int64_t more = 0;
    if (table->paged.shadow.rowids) {
        int rc = count_rows(table, hash, &more);
        *has = more > 0;
        return rc;
    }
    if (!table->net.current || !cuckoo_net_is_empty(&table->net)) {
        int rc = cuckoo_table_net(table);
        more = rc == SQLITE_OK ? change_of(table, hash) : 0;
        *has = more > 0 &&
               (!table->paged.filter.geometry.epochs || cuckoo_ageing_is_live(&table->paged, more));
        if (rc != SQLITE_OK || *has)
            return rc;
    }
    *has = cf_contains(cuckoo_paged_reader(&table->paged), hash);
    if (more < 0 && *has)
        *has = copies_of(table, hash) + more > 0;
    return table->paged.rc; /* SQLite may have rolled back, and memory is empty */
}

/* ---- many uses in one ---- */

bool cuckoo_table_overtaken(const cuckoo_table *table)
{
    unsigned version;
    return table->version >= 0 && (cuckoo_shadow_version(&table->paged.shadow, &version) != SQLITE_OK ||
                                   table->version != version);
}

void cuckoo_table_calm(const cuckoo_table *table, cuckoo_calm *calm)
{
    sqlite3 *db = table->paged.shadow.db;
    *calm = (cuckoo_calm){.is = sqlite3_txn_state(db, NULL) == SQLITE_TXN_READ &&
                                sqlite3_txn_state(db, table->paged.shadow.schema) == SQLITE_TXN_READ,
                          .asks_content = table->asks_content,
                          .changes = sqlite3_total_changes(db)};
}

/* ---- the logs ---- */

int cuckoo_table_net(cuckoo_table *table)
{
    bool times = table->paged.filter.geometry.epochs != 0;
    int rc = cuckoo_net_read(&table->net, &table->paged, cuckoo_table_follows(table));
    return rc ? rc : cuckoo_changes_sum(&table->net.changes, times);
}

int cuckoo_table_rule(cuckoo_table *table, cf_geometry *rule)
{
    int rc = cuckoo_table_net(table);
    const cf_filter *filter = &table->paged.filter;
    *rule = filter->geometry;
    rule->key_types = (uint8_t)cf_types_with(filter, table->net.changes.types);
    return rc;
}

/* Keys of a table with epochs that are not in the pages. */
typedef struct ageing_keys {
    cuckoo_table *table;
    uint64_t n;
} ageing_keys;

static int count_key(void *context, uint64_t hash, int64_t row, int64_t time)
{
    (void)row;
    ageing_keys *keys = context;
    cuckoo_paged *paged = &keys->table->paged;
    keys->n += cuckoo_ageing_is_live(paged, time) && !cf_contains(cuckoo_paged_reader(paged), hash);
    return paged->rc;
}

static int ageing_items(cuckoo_table *table, uint64_t *items)
{
    ageing_keys keys = {.table = table};
    int rc = cuckoo_counts_walk(&table->net.changes.counts, count_key, &keys);
    *items = table->paged.filter.items + keys.n;
    return rc;
}

int cuckoo_table_items(cuckoo_table *table, uint64_t *items)
{
    int rc = cuckoo_table_net(table);
    if (rc == SQLITE_OK && table->paged.filter.geometry.epochs)
        return ageing_items(table, items);
    int64_t n = (int64_t)table->paged.filter.items + table->net.more;
    *items = n > 0 ? (uint64_t)n : 0;
    return rc;
}

/* ---- the transaction ---- */

/* Other connections may have committed before this transaction began. */
int cuckoo_table_joined(sqlite3_vtab *base)
{
    cuckoo_table *table = cuckoo_table_of(base);
    table->registry->events++;
    table->joined = true;
    table->returns_nothing = false;
    return SQLITE_OK;
}

/* After this nothing shows whether the names of table and column are still saved. */
int cuckoo_table_rolled_back_to(sqlite3_vtab *base, int number)
{
    cuckoo_table *table = cuckoo_table_of(base);
    (void)number;
    table->registry->events++;
    table->follow.saved = false;
    table->follow.cookie = 0;
    return SQLITE_OK;
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
