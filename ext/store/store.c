/* SPDX-License-Identifier: MIT */
#include "store.h"

#include "../keys/column_rule.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../sqlite/watch.h"

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
    cuckoo_follow_free(&store->follow);
    cuckoo_net_free(&store->net);
    sqlite3_free(store->later);
    sqlite3_free(store->called);
    sqlite3_free(store);
}

/* ---- what is in memory ---- */

static void forget_all(cuckoo_store *store)
{
    cuckoo_paged_forget(&store->paged);
    cuckoo_net_forget(&store->net);
}

void cuckoo_store_lose(cuckoo_store *store)
{
    if (cuckoo_paged_pending(&store->paged))
        cuckoo_state_event(&store->state, CUCKOO_LOST);
    forget_all(store);
}

int cuckoo_store_beyond_repair(int rc)
{
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_IOERR;
}

/* ---- using it ---- */

/* Compares what is in memory with the database. Rows that this connection has changed by SQL do not
** change the generation: then all is forgotten. Other connections make a new one when they write. */
static int compare(cuckoo_store *store)
{
    cuckoo_stale stale;
    bool told = store->state.part != CUCKOO_APART && store->looked;
    bool anew = cuckoo_state_event(&store->state, CUCKOO_USE) == CUCKOO_ANEW;
    /* SQLite may not tell of rollbacks (state.h). And the generation does not tell if the log is that
    ** of before: the backup API may have put a copy in the place of the database, whose log has gone
    ** another way since it was made. */
    if (anew)
        cuckoo_net_forget(&store->net);
    int rc = cuckoo_fresh_look(&store->fresh, &store->paged.shadow, told, &stale);
    if (stale == CUCKOO_IS_STALE)
        forget_all(store);
    else if (rc == SQLITE_OK && (anew || stale == CUCKOO_MAY_BE_STALE))
        rc = cuckoo_paged_compare(&store->paged);
    store->net.current &=
        stale == CUCKOO_IS_FRESH && (store->state.part == CUCKOO_APART || store->watched);
    store->looked = rc == SQLITE_OK;
    store->steps = store->paged.shadow.steps;
    if (rc != SQLITE_OK)
        cuckoo_state_event(&store->state, CUCKOO_DOUBT);
    return rc;
}

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
    *why = "an earlier error has lost changes of this transaction: roll it back";
    if (store->state.life == CUCKOO_BROKEN)
        return SQLITE_IOERR;
    if (store->state.part == CUCKOO_APART && cuckoo_paged_pending(&store->paged))
        cuckoo_store_lose(store); /* an error has ended the transaction during a change */
    int rc = cuckoo_paged_pending(&store->paged) ? SQLITE_OK : compare(store);
    return rc == SQLITE_OK ? cuckoo_paged_load(&store->paged, why) : rc;
}

const char *cuckoo_store_damage(const cuckoo_store *store)
{
    return cuckoo_shadow_why(&store->paged.shadow);
}

/* Has another connection committed since the use began, outside of our own transaction? */
bool cuckoo_store_is_overtaken(const cuckoo_store *store)
{
    return store->state.part == CUCKOO_APART && store->looked &&
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
        cuckoo_store_lose(store);
    return rc;
}

/* Copies of a key in the pages and in the list. From the largest number on that is counted, as many as
** there may be. */
static int copies_of(cuckoo_store *store, uint64_t hash, int64_t *copies)
{
    int64_t waits;
    cuckoo_paged *paged = &store->paged;
    const cf_geometry *geometry = &paged->filter.geometry;
    uint64_t least = cf_count(cuckoo_paged_reader(paged), hash),
             exact = geometry->counter_bits ? UINT64_C(1) << geometry->counter_bits : geometry->cap;
    int rc = cuckoo_unplaced_copies(paged, hash, NULL, &waits);
    *copies = least < exact ? (int64_t)least + waits : INT64_MAX / 2;
    return cuckoo_first_error(rc, paged->rc);
}

int cuckoo_store_most(cuckoo_store *store, uint64_t hash, int64_t *most)
{
    int rc = cuckoo_store_net(store);
    rc = rc ? rc : copies_of(store, hash, most);
    *most += cuckoo_sums_of(&store->net.sums, hash);
    return rc;
}

int cuckoo_store_has(cuckoo_store *store, uint64_t hash, bool *has)
{
    int64_t waits = 0, most;
    assert(cuckoo_paged_is_loaded(&store->paged));
    int rc = cuckoo_store_net(store);
    int32_t more = rc == SQLITE_OK ? cuckoo_sums_of(&store->net.sums, hash) : 0;
    *has = more > 0;
    if (rc != SQLITE_OK || *has)
        return rc;
    *has = cf_contains(cuckoo_paged_reader(&store->paged), hash);
    if (store->paged.rc != SQLITE_OK) /* SQLite may have rolled back, and nothing is in memory */
        return store->paged.rc;
    if (more < 0) {
        rc = cuckoo_store_most(store, hash, &most);
        *has = most > 0;
    } else if (!*has && store->paged.waits > 0) {
        rc = cuckoo_unplaced_copies(&store->paged, hash, NULL, &waits);
        *has = waits > 0;
    }
    return rc;
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

/* ---- the log ---- */

int cuckoo_store_net(cuckoo_store *store)
{
    return cuckoo_store_follows(store) ? cuckoo_net_read(&store->net, &store->paged) : SQLITE_OK;
}

int cuckoo_store_items(cuckoo_store *store, uint64_t *items)
{
    int rc = cuckoo_store_net(store);
    int64_t n = (int64_t)(store->paged.filter.items + store->paged.waits) + store->net.more;
    *items = n > 0 ? (uint64_t)n : 0;
    return rc;
}

/* ---- changing it ---- */

int cuckoo_store_add(cuckoo_store *store, uint64_t hash, cf_status *status)
{
    cuckoo_paged *paged = &store->paged;
    assert(cuckoo_paged_is_loaded(paged));
    int rc = paged->filter.geometry.epochs ? cuckoo_ageing_write(paged) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    *status = cuckoo_watched_add(paged->shadow.db, &paged->filter, hash, 0);
    if (paged->rc != SQLITE_OK) /* SQLite may have rolled back, and nothing is in memory */
        return paged->rc;
    paged->dirty = true;
    if (*status == CF_NO_MEMORY || *status == CF_INTERRUPTED)
        return cuckoo_error_code(*status);
    if (*status == CF_OK || !paged->filter.geometry.growth)
        return SQLITE_OK;
    *status = CF_OK;
    return cuckoo_unplaced_count(paged, hash, paged->filter.geometry.epochs ? paged->filter.epoch : 0,
                                 1);
}

int cuckoo_store_delete(cuckoo_store *store, uint64_t hash)
{
    int64_t waits;
    assert(cuckoo_paged_is_loaded(&store->paged));
    int rc = cuckoo_unplaced_copies(&store->paged, hash, NULL, &waits);
    if (rc != SQLITE_OK || waits > 0)
        return waits > 0 ? cuckoo_unplaced_count(&store->paged, hash, 0, -1) : rc;
    cf_delete(&store->paged.filter, hash);
    store->paged.dirty |= store->paged.rc == SQLITE_OK;
    return store->paged.rc;
}

/* ---- replacing it ---- */

/* A filter that is half replaced must not stay. */
static int replaced(cuckoo_store *store, int rc)
{
    return rc != SQLITE_OK && store->paged.has_written ? cuckoo_store_beyond_repair(rc) : rc;
}

int cuckoo_store_replace(cuckoo_store *store, uint8_t *bytes, uint64_t length)
{
    assert(bytes != NULL && length > 0);
    return replaced(store, cuckoo_paged_replace(&store->paged, bytes, length));
}

int cuckoo_store_clear(cuckoo_store *store)
{
    assert(cuckoo_paged_is_loaded(&store->paged));
    return replaced(store, cuckoo_paged_clear(&store->paged));
}
