/* SPDX-License-Identifier: MIT */
#include "store.h"

#include "errors.h"
#include "sql.h"
#include "watch.h"

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
    cuckoo_sums_free(&store->undrained.keys);
    sqlite3_free(store->later);
    sqlite3_free(store);
}

/* ---- what is in memory ---- */

void cuckoo_store_lose(cuckoo_store *store)
{
    if (cuckoo_paged_pending(&store->paged))
        cuckoo_state_event(&store->state, CUCKOO_LOST);
    cuckoo_paged_forget(&store->paged);
    cuckoo_undrained_forget(&store->undrained);
}

int cuckoo_store_beyond_repair(int rc)
{
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_IOERR;
}

/* ---- using it ---- */

/* Compares what is in memory with the database. Rows that this connection has changed by SQL do not
** change the generation: then all is forgotten. Other connections make a new one when they write. */
static int compare(cuckoo_store *store, bool anew)
{
    cuckoo_stale stale;
    bool told = store->state.part != CUCKOO_APART && store->looked;
    int rc = cuckoo_fresh_look(&store->fresh, &store->paged.shadow, told, &stale);
    if (anew && stale == CUCKOO_IS_FRESH)
        stale = CUCKOO_MAY_BE_STALE;
    if (stale == CUCKOO_IS_STALE) {
        cuckoo_paged_forget(&store->paged);
        cuckoo_undrained_forget(&store->undrained);
    }
    if (rc == SQLITE_OK && stale == CUCKOO_MAY_BE_STALE)
        rc = cuckoo_paged_compare(&store->paged);
    store->undrained.current &= stale == CUCKOO_IS_FRESH && store->state.part == CUCKOO_APART;
    store->looked = rc == SQLITE_OK;
    store->steps = store->paged.shadow.steps;
    return rc;
}

static int look_for_changes(cuckoo_store *store)
{
    cuckoo_action action = cuckoo_state_event(&store->state, CUCKOO_USE);
    if (store->state.part == CUCKOO_CREATED)
        cuckoo_undrained_forget(&store->undrained);
    int rc = compare(store, action == CUCKOO_ANEW);
    if (rc != SQLITE_OK)
        cuckoo_state_event(&store->state, CUCKOO_DOUBT);
    return rc;
}

int cuckoo_store_load(cuckoo_store *store, const char **why)
{
    cuckoo_shadow_no_damage(&store->paged.shadow);
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
    int rc = cuckoo_paged_pending(&store->paged) ? SQLITE_OK : look_for_changes(store);
    return rc == SQLITE_OK ? cuckoo_paged_load(&store->paged, why) : rc;
}

const char *cuckoo_store_damage(const cuckoo_store *store)
{
    return cuckoo_shadow_why(&store->paged.shadow);
}

bool cuckoo_store_overtaken(const cuckoo_store *store)
{
    return store->state.part == CUCKOO_APART && store->looked &&
           cuckoo_fresh_overtaken(&store->fresh, &store->paged.shadow);
}

int cuckoo_store_end(cuckoo_store *store)
{
    int rc = cuckoo_paged_error(&store->paged);
    bool fits = rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB; /* rows of two times are no damage */
    if (store->steps != store->paged.shadow.steps && fits && cuckoo_store_overtaken(store))
        rc = SQLITE_LOCKED;
    if (rc != SQLITE_OK)
        cuckoo_store_lose(store);
    return rc;
}

int cuckoo_store_has_beside(cuckoo_store *store, uint64_t hash, bool *has)
{
    int64_t waits;
    int rc = cuckoo_waiting_copies(&store->paged, hash, NULL, &waits);
    *has = waits > 0;
    if (rc != SQLITE_OK || *has || !cuckoo_store_follows(store))
        return rc;
    rc = cuckoo_undrained_read(&store->undrained, &store->paged);
    *has = rc == SQLITE_OK && cuckoo_sums_of(&store->undrained.keys, hash) > 0;
    return rc;
}

int cuckoo_store_has(cuckoo_store *store, uint64_t hash, bool *has)
{
    assert(cuckoo_paged_is_loaded(&store->paged));
    *has = cf_contains(cuckoo_paged_reader(&store->paged), hash);
    return *has || store->paged.rc != SQLITE_OK ? store->paged.rc
                                                : cuckoo_store_has_beside(store, hash, has);
}

int cuckoo_store_net(cuckoo_store *store, cuckoo_net *net)
{
    cuckoo_log_size size;
    cuckoo_paged *paged = &store->paged;
    *net = (cuckoo_net){.parts = 1};
    if (!cuckoo_store_follows(store))
        return SQLITE_OK;
    int rc = cuckoo_net_size(&paged->shadow, &size);
    if (rc == SQLITE_OK && size.rows > 0)
        rc = cuckoo_net_read(net, &store->follow, &paged->shadow, &size, &paged->filter.geometry);
    return rc == SQLITE_TOOBIG ? SQLITE_NOMEM : rc;
}

int cuckoo_store_items(cuckoo_store *store, uint64_t *items)
{
    cuckoo_net net;
    int rc = cuckoo_store_net(store, &net);
    int64_t n = (int64_t)(store->paged.filter.items + store->paged.adds.copies) + net.more;
    cuckoo_net_free(&net);
    *items = n > 0 ? (uint64_t)n : 0;
    return rc;
}

/* ---- changing it ---- */

int cuckoo_store_add(cuckoo_store *store, uint64_t hash, uint64_t value, cf_status *status)
{
    cuckoo_paged *paged = &store->paged;
    assert(cuckoo_paged_is_loaded(paged));
    *status = cuckoo_watched_add(paged->shadow.db, &paged->filter, hash, value);
    if (paged->rc != SQLITE_OK) /* SQLite may have rolled back, and nothing is in memory */
        return paged->rc;
    paged->header_dirty = true;
    if (*status == CF_NO_MEMORY || *status == CF_INTERRUPTED)
        return cuckoo_error_code(*status);
    if (*status == CF_OK || !paged->filter.geometry.growth)
        return SQLITE_OK;
    *status = CF_OK;
    return cuckoo_waiting_count(paged, hash, value, 1);
}

int cuckoo_store_delete(cuckoo_store *store, uint64_t hash, uint64_t value)
{
    int64_t waits;
    assert(cuckoo_paged_is_loaded(&store->paged));
    int rc = cuckoo_waiting_copies(&store->paged, hash, &value, &waits);
    if (rc != SQLITE_OK || waits > 0)
        return waits > 0 ? cuckoo_waiting_count(&store->paged, hash, value, -1) : rc;
    cf_delete_value(&store->paged.filter, hash, value);
    store->paged.header_dirty |= store->paged.rc == SQLITE_OK;
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
