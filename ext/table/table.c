/* SPDX-License-Identifier: MIT */
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

/* ---- using it ---- */

bool cuckoo_table_is_told(int rc)
{
    return rc == SQLITE_ERROR || rc == SQLITE_MISMATCH || rc == SQLITE_CORRUPT_VTAB ||
           rc == CUCKOO_NEWER;
}

const char *cuckoo_table_damage(const cuckoo_table *table, int rc)
{
    return cuckoo_table_is_told(rc) ? cuckoo_shadow_why(&table->paged.shadow) : sqlite3_errstr(rc);
}

/* Copies of a key in the pages. From the largest number on that is counted, as many as there may be. */
static int64_t copies_of(cuckoo_table *table, uint64_t hash)
{
    const cf_geometry *geometry = &table->paged.filter.geometry;
    uint64_t least = cf_count(cuckoo_paged_reader(&table->paged), hash),
             exact =
                 geometry->counter_bits ? UINT64_C(1) << geometry->counter_bits : geometry->max_copies;
    return least < exact ? (int64_t)least : INT64_MAX / 2;
}

/* What the logs say of a key: copies that have come, or the latest time. */
static int64_t change_of(const cuckoo_table *table, uint64_t hash)
{
    return cuckoo_sums_of(&table->net.changes.sums, hash);
}

int cuckoo_table_most(cuckoo_table *table, uint64_t hash, int64_t *most)
{
    int rc = cuckoo_table_net(table);
    *most = rc == SQLITE_OK ? copies_of(table, hash) + change_of(table, hash) : 0;
    return cuckoo_first_error(rc, table->paged.rc);
}

int cuckoo_table_has_anew(cuckoo_table *table, uint64_t hash, bool *has)
{
    assert(table->paged.loaded);
    int64_t more = 0;
    if (!table->net.current || table->net.changes.n) {
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
    return table->paged.rc; /* SQLite may have rolled back, and nothing is in memory */
}

/* ---- many uses in one ---- */

bool cuckoo_table_overtaken(const cuckoo_table *table)
{
    unsigned version;
    return table->settled && (cuckoo_shadow_version(&table->paged.shadow, &version) != SQLITE_OK ||
                              version != table->version);
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

/* Keys of a table that ages which are in no page. */
typedef struct ageing_keys {
    cuckoo_table *table;
    uint64_t n;
} ageing_keys;

static int count_key(void *context, uint64_t hash, int64_t time)
{
    ageing_keys *keys = context;
    cuckoo_paged *paged = &keys->table->paged;
    keys->n += cuckoo_ageing_is_live(paged, time) && !cf_contains(cuckoo_paged_reader(paged), hash);
    return paged->rc;
}

static int ageing_items(cuckoo_table *table, uint64_t *items)
{
    ageing_keys keys = {.table = table};
    int rc = cuckoo_sums_walk(&table->net.changes.sums, count_key, &keys);
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

/* ---- the tables of a connection ---- */

cuckoo_registry *cuckoo_registry_new(sqlite3 *db)
{
    cuckoo_registry *registry = sqlite3_malloc64(sizeof *registry);
    if (registry)
        *registry = (cuckoo_registry){.shared = {1, cuckoo_registry_release}, .db = db, .refused = -1};
    return registry;
}

void cuckoo_registry_release(void *pointer)
{
    cuckoo_registry *registry = pointer;
    assert(registry == NULL || registry->shared.references > 0);
    if (registry == NULL || --registry->shared.references > 0)
        return;
    sqlite3_free(registry->why);
    sqlite3_free(registry);
}

bool cuckoo_list_is_named(const cuckoo_table *table, const char *schema, const char *name)
{
    return sqlite3_stricmp(table->paged.shadow.table, name) == 0 &&
           sqlite3_stricmp(table->paged.shadow.schema, schema) == 0;
}

void cuckoo_list_add(cuckoo_registry *registry, cuckoo_table *table)
{
    table->registry = registry;
    table->next = registry->first;
    registry->first = table;
    registry->shared.references++;
    registry->changes++;
}

static void free_table(cuckoo_table *table)
{
    cuckoo_paged_free(&table->paged);
    cuckoo_follow_free(&table->follow);
    cuckoo_net_forget(&table->net);
    sqlite3_free(table->later);
    sqlite3_free(table->called);
    sqlite3_free(table->base.zErrMsg);
    cuckoo_registry_release(table->registry);
    sqlite3_free(table);
}

void cuckoo_list_remove(cuckoo_table *table)
{
    cuckoo_table **at = &table->registry->first;
    for (; *at != table; at = &(*at)->next)
        assert(*at != NULL);
    *at = table->next;
    table->registry->changes++;
    table->released = true;
    if (table->uses == 0)
        free_table(table);
}

void cuckoo_list_keep(cuckoo_table *table)
{
    table->uses++;
}

void cuckoo_list_give(cuckoo_table *table)
{
    assert(table->uses > 0);
    if (--table->uses == 0 && table->released)
        free_table(table);
}
