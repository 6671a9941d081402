/* SPDX-License-Identifier: MIT */
#include "store.h"

#include "../keys/column_rule.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <assert.h>
#include <string.h>

void cuckoo_store_forget(cuckoo_store *store)
{
    cuckoo_paged_forget(&store->paged);
    cuckoo_net_forget(&store->net);
}

/* ---- using it ---- */

/* Compares what is in memory with the database. Rows that this connection has changed by SQL do not
** change the generation: then all is forgotten. Other connections make a new one when they write. */
static int compare(cuckoo_store *store)
{
    cuckoo_stale stale;
    bool told = store->part != CUCKOO_APART && store->looked;
    bool anew = !store->compared;
    /* SQLite may not tell of rollbacks (fresh.h). And the generation does not tell if the log is that
    ** of before: the backup API may have put a copy in the place of the database, whose log has gone
    ** another way since it was made. */
    if (anew)
        cuckoo_net_forget(&store->net);
    int rc = cuckoo_fresh_look(&store->fresh, &store->paged.shadow, told, &stale);
    if (stale == CUCKOO_IS_STALE)
        cuckoo_store_forget(store);
    else if (rc == SQLITE_OK && (anew || stale == CUCKOO_MAY_BE_STALE))
        rc = cuckoo_paged_compare(&store->paged);
    store->net.current &= stale == CUCKOO_IS_FRESH && (store->part == CUCKOO_APART || store->told);
    store->looked = store->compared = rc == SQLITE_OK;
    store->steps = store->paged.shadow.steps;
    return rc;
}

/* While changes are pending, nobody else can have changed anything. */
int cuckoo_store_load(cuckoo_store *store, const char **why)
{
    sqlite3_free(store->paged.shadow.damage);
    store->paged.shadow.damage = NULL;
    *why = "a trigger or a view on its shadow table uses it";
    if (store->paged.shadow.busy)
        return SQLITE_CORRUPT_VTAB;
    *why = store->later;
    if (store->later)
        return CUCKOO_NEWER;
    *why = cuckoo_store_damage(store);
    if (store->part == CUCKOO_APART)
        cuckoo_pending_clear(&store->pending); /* an error has ended the transaction */
    int rc = store->pending.n && store->looked ? SQLITE_OK : compare(store);
    return rc == SQLITE_OK ? cuckoo_paged_load(&store->paged, why) : rc;
}

const char *cuckoo_store_damage(const cuckoo_store *store)
{
    return cuckoo_shadow_why(&store->paged.shadow);
}

/* Has another connection committed since the use began, outside of our own transaction? */
bool cuckoo_store_is_overtaken(const cuckoo_store *store)
{
    return store->part == CUCKOO_APART && store->looked &&
           cuckoo_fresh_overtaken(&store->fresh, &store->paged.shadow);
}

int cuckoo_store_end(cuckoo_store *store)
{
    int rc = cuckoo_paged_error(&store->paged);
    bool fits = rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB; /* rows of two times are no damage */
    if (store->steps != store->paged.shadow.steps && fits && cuckoo_store_is_overtaken(store))
        rc = SQLITE_LOCKED;
    store->steps = store->paged.shadow.steps;
    if (rc != SQLITE_OK)
        cuckoo_store_forget(store);
    return rc;
}

/* Copies of a key in the pages. From the largest number on that is counted, as many as there may be. */
static int64_t copies_of(cuckoo_store *store, uint64_t hash)
{
    const cf_geometry *geometry = &store->paged.filter.geometry;
    uint64_t least = cf_count(cuckoo_paged_reader(&store->paged), hash),
             exact = geometry->counter_bits ? UINT64_C(1) << geometry->counter_bits : geometry->cap;
    return least < exact ? (int64_t)least : INT64_MAX / 2;
}

/* What the logs, and what is pending, say of a key: copies that have come, or the latest time. */
static int64_t change_of(const cuckoo_store *store, uint64_t hash)
{
    int64_t logged = cuckoo_sums_of(&store->net.sums, hash),
            pending = cuckoo_sums_of(&store->pending.sums, hash);
    return !store->paged.filter.geometry.epochs ? logged + pending : logged > pending ? logged : pending;
}

int cuckoo_store_most(cuckoo_store *store, uint64_t hash, int64_t *most)
{
    int rc = cuckoo_store_net(store);
    *most = rc == SQLITE_OK ? copies_of(store, hash) + change_of(store, hash) : 0;
    return cuckoo_first_error(rc, store->paged.rc);
}

int cuckoo_store_has_anew(cuckoo_store *store, uint64_t hash, bool *has)
{
    assert(cuckoo_paged_is_loaded(&store->paged));
    int64_t more = 0;
    if (!store->net.current || store->net.sums.used || store->pending.n) {
        int rc = cuckoo_store_net(store);
        more = rc == SQLITE_OK ? change_of(store, hash) : 0;
        *has = more > 0 &&
               (!store->paged.filter.geometry.epochs || cuckoo_ageing_is_live(&store->paged, more));
        if (rc != SQLITE_OK || *has)
            return rc;
    }
    *has = cf_contains(cuckoo_paged_reader(&store->paged), hash);
    if (more < 0 && *has)
        *has = copies_of(store, hash) + more > 0;
    return store->paged.rc; /* SQLite may have rolled back, and nothing is in memory */
}

/* ---- many uses in one ---- */

void cuckoo_store_calm(const cuckoo_store *store, cuckoo_calm *calm)
{
    sqlite3 *db = store->paged.shadow.db;
    *calm = (cuckoo_calm){.is = sqlite3_txn_state(db, NULL) == SQLITE_TXN_READ &&
                                sqlite3_txn_state(db, store->paged.shadow.schema) == SQLITE_TXN_READ,
                          .asks_content = store->asks_content,
                          .changes = sqlite3_total_changes(db)};
}

/* ---- the logs ---- */

int cuckoo_store_net(cuckoo_store *store)
{
    int rc = cuckoo_net_read(&store->net, &store->paged, cuckoo_store_follows(store));
    return rc ? rc : cuckoo_pending_sum(&store->pending, &store->paged);
}

/* Keys of a table that ages which are in no page. */
typedef struct ageing_keys {
    cuckoo_store *store;
    const cuckoo_sums *beside; /* those that were counted already; NULL: there are none */
    uint64_t n;
} ageing_keys;

static int count_key(void *context, uint64_t hash, int64_t time)
{
    ageing_keys *keys = context;
    cuckoo_paged *paged = &keys->store->paged;
    bool counted = keys->beside && cuckoo_sums_of(keys->beside, hash) != 0;
    keys->n +=
        !counted && cuckoo_ageing_is_live(paged, time) && !cf_contains(cuckoo_paged_reader(paged), hash);
    return paged->rc;
}

static int ageing_items(cuckoo_store *store, uint64_t *items)
{
    ageing_keys keys = {.store = store};
    int rc = cuckoo_sums_walk(&store->net.sums, count_key, &keys);
    keys.beside = &store->net.sums;
    rc = rc ? rc : cuckoo_sums_walk(&store->pending.sums, count_key, &keys);
    *items = store->paged.filter.items + keys.n;
    return rc;
}

int cuckoo_store_items(cuckoo_store *store, uint64_t *items)
{
    int64_t n = 0;
    int rc = cuckoo_store_net(store);
    if (rc == SQLITE_OK && store->paged.filter.geometry.epochs)
        return ageing_items(store, items);
    for (size_t i = 0; i < store->pending.n; i++)
        n += store->pending.change[i].n;
    n += (int64_t)store->paged.filter.items + store->net.more;
    *items = n > 0 ? (uint64_t)n : 0;
    return rc;
}

int64_t cuckoo_store_latest(const cuckoo_store *store)
{
    int64_t pending = cuckoo_pending_latest(&store->pending);
    return pending > store->net.more ? pending : store->net.more;
}

/* ---- the tables of a connection ---- */

cuckoo_registry *cuckoo_registry_new(sqlite3 *db)
{
    cuckoo_registry *registry = sqlite3_malloc64(sizeof *registry);
    if (registry)
        *registry = (cuckoo_registry){.db = db, .references = 1};
    return registry;
}

void cuckoo_registry_release(void *pointer)
{
    cuckoo_registry *registry = pointer;
    assert(registry == NULL || registry->references > 0);
    if (registry == NULL || --registry->references > 0)
        return;
    sqlite3_free(registry->why);
    sqlite3_free(registry);
}

bool cuckoo_list_is_named(const cuckoo_store *store, const char *schema, const char *name)
{
    return sqlite3_stricmp(store->paged.shadow.table, name) == 0 &&
           sqlite3_stricmp(store->paged.shadow.schema, schema) == 0;
}

cuckoo_store *cuckoo_list_other(const cuckoo_store *store, const cuckoo_store *at)
{
    const cuckoo_shadow *shadow = &store->paged.shadow;
    cuckoo_store *next = at ? at->next : store->registry->first;
    while (next && (next == store || !cuckoo_list_is_named(next, shadow->schema, shadow->table)))
        next = next->next;
    return next;
}

void cuckoo_list_add(cuckoo_registry *registry, cuckoo_store *store)
{
    store->registry = registry;
    store->next = registry->first;
    registry->first = store;
    registry->references++;
    registry->changes++;
}

static void free_store(cuckoo_store *store)
{
    cuckoo_paged_free(&store->paged);
    cuckoo_follow_free(&store->follow);
    cuckoo_net_forget(&store->net);
    cuckoo_pending_free(&store->pending);
    sqlite3_free(store->later);
    sqlite3_free(store->called);
    sqlite3_free(store->base.zErrMsg);
    cuckoo_registry_release(store->registry);
    sqlite3_free(store);
}

void cuckoo_list_remove(cuckoo_store *store)
{
    cuckoo_store **at = &store->registry->first;
    for (; *at != store; at = &(*at)->next)
        assert(*at != NULL);
    *at = store->next;
    store->registry->changes++;
    store->released = true;
    if (store->uses == 0)
        free_store(store);
}

void cuckoo_list_keep(cuckoo_store *store)
{
    store->uses++;
}

void cuckoo_list_give(cuckoo_store *store)
{
    assert(store->uses > 0);
    if (--store->uses == 0 && store->released)
        free_store(store);
}

void cuckoo_list_tell(const cuckoo_store *store, bool pages)
{
    if (!store->shared)
        return;
    for (cuckoo_store *at = NULL; (at = cuckoo_list_other(store, at)) != NULL;) {
        at->net.current = false;
        at->compared &= !pages;
    }
}
