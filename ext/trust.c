/*
** trust.c - may a filter that follows a table be believed? What its triggers cannot tell.
*/
#include "column.h"
#include "key.h"
#include "store.h"

int cuckoo_store_misses(cuckoo_store *store, int most, bool *misses)
{
    sqlite3_stmt *keys = NULL;
    *misses = false;
    int rc = cuckoo_follow_keys(&store->follow, &store->paged.shadow, most, &keys);
    while (rc == SQLITE_OK && !*misses && sqlite3_step(keys) == SQLITE_ROW) {
        uint64_t hash;
        bool has = true;
        cuckoo_key kind =
            cuckoo_key_hash(sqlite3_column_value(keys, 0), &store->paged.filter.geometry, &hash);
        if (kind == CUCKOO_KEY_NOMEM)
            rc = SQLITE_NOMEM;
        else if (kind == CUCKOO_KEY_OK)
            rc = cuckoo_store_has(store, hash, &has);
        if (rc == SQLITE_OK)
            rc = store->paged.rc; /* a page that cannot be read says nothing */
        *misses = rc == SQLITE_OK && !has;
    }
    int rc2 = sqlite3_finalize(keys);
    return rc == SQLITE_OK ? rc2 : rc;
}

/* Are the keys of some rows of its table there? Not while a statement changes rows: their triggers are still to come. */
static int sample(cuckoo_store *store)
{
    enum { SAMPLE = 100 /* first and last rows */ };
    const cuckoo_shadow *shadow = &store->paged.shadow;
    cuckoo_follow *follow = &store->follow;
    bool misses;
    if (cuckoo_follow_writing(shadow))
        return SQLITE_OK;
    follow->sampled = true; /* what the rows are computed by may ask the filter */
    int rc = cuckoo_store_misses(store, SAMPLE, &misses);
    if (rc == SQLITE_OK && misses)
        rc = cuckoo_follow_fail(
            follow,
            sqlite3_mprintf("rows of %s are missing in it: the table was made anew, or changed "
                            "without its triggers; SELECT cf_table_rebuild('%q.%q') reads it again",
                            follow->table, shadow->schema, shadow->table));
    follow->sampled = rc == SQLITE_OK;
    return rc;
}

/* Does the column still compare as the keys were hashed? */
static int check_rule(cuckoo_store *store)
{
    cf_options rule;
    char *why = NULL;
    const cuckoo_shadow *shadow = &store->paged.shadow;
    const cf_geometry *geometry = &store->paged.filter.geometry;
    cuckoo_follow *follow = &store->follow;
    int rc = cuckoo_column_rule(shadow->db, shadow->schema, follow->table, follow->column, &rule, &why);
    bool same =
        rc == SQLITE_OK && rule.affinity == geometry->affinity && rule.collation == geometry->collation;
    follow->ruled = same;
    if (!same && (rc == SQLITE_OK || rc == SQLITE_ERROR))
        rc = cuckoo_follow_fail(
            follow, sqlite3_mprintf("%s(%s) compares other than when the filter was made%s%s; SELECT "
                                    "cf_table_rebuild('%q.%q') reads it again",
                                    follow->table, follow->column, why ? ": " : "", why ? why : "",
                                    shadow->schema, shadow->table));
    sqlite3_free(why);
    return rc;
}

static int doubt(cuckoo_store *store)
{
    const cuckoo_shadow *shadow = &store->paged.shadow;
    store->follow.looked = false;
    return cuckoo_follow_fail(
        &store->follow,
        sqlite3_mprintf(
            "a row of %s has gone whose key it did not hold: rows have changed without its triggers, "
            "or a BEFORE trigger changes its own row; SELECT cf_table_rebuild('%q.%q') reads the table "
            "again",
            store->follow.table, shadow->schema, shadow->table));
}

static int trust(cuckoo_store *store, cuckoo_use use, const char **why)
{
    cuckoo_shadow *shadow = &store->paged.shadow;
    bool writes = store->joined || use != CUCKOO_ASK || !sqlite3_get_autocommit(shadow->db);
    int rc = writes ? cuckoo_follow_look(&store->follow, shadow)
                    : cuckoo_follow_look_quickly(&store->follow, shadow, store->fresh.file_version);
    if (rc == SQLITE_OK && !store->follow.fault && !store->follow.ruled)
        rc = check_rule(store);
    if (rc == SQLITE_OK && use == CUCKOO_ASK && store->paged.doubt && !store->follow.fault)
        rc = doubt(store);
    if (rc == SQLITE_OK && use == CUCKOO_ASK && !store->follow.fault && !store->follow.sampled)
        rc = sample(store);
    if (rc == SQLITE_OK && store->follow.fault) {
        *why = store->follow.fault;
        return SQLITE_ERROR;
    }
    return rc == SQLITE_ERROR ? SQLITE_CORRUPT_VTAB : rc;
}

int cuckoo_store_begin(cuckoo_store *store, cuckoo_use use, const char **why)
{
    int rc = cuckoo_store_load(store, why);
    if (rc == SQLITE_OK && store->follow.given_table && use != CUCKOO_REPAIR)
        rc = trust(store, use, why);
    if (rc != SQLITE_OK)
        cuckoo_store_end(store);
    return rc;
}
