/* SPDX-License-Identifier: MIT */
/*
** trust.c - may a filter that follows a table be believed? This asks what its triggers cannot tell.
*/
#include "column.h"
#include "errors.h"
#include "key.h"
#include "sql.h"
#include "statements.h"
#include "store.h"

#include <assert.h>

int cuckoo_store_misses(cuckoo_store *store, int most, bool *misses)
{
    sqlite3_stmt *keys;
    assert(store->follow.table != NULL && cuckoo_paged_is_loaded(&store->paged));
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
        rc = cuckoo_first_error(rc, store->paged.rc); /* a page that cannot be read says nothing */
        *misses = rc == SQLITE_OK && !has;
    }
    return cuckoo_sql_end(keys, rc);
}

/* Rows of a shared cache that others have not committed are seen; their keys are not. */
static bool reads_uncommitted(const cuckoo_shadow *shadow)
{
    sqlite3_int64 on = 0;
    return cuckoo_sql_integer(shadow->db, &on, "PRAGMA read_uncommitted") == SQLITE_OK && on;
}

static int fail_sample(cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    if (!reads_uncommitted(shadow))
        return cuckoo_follow_fail(follow, shadow,
                                  "rows of %s are missing in it: the table was made anew, or changed "
                                  "without its triggers",
                                  follow->table);
    follow->looked = false; /* they may be committed before the next look */
    return cuckoo_say(&follow->fault, SQLITE_OK,
                      "rows of %s are missing in it, which another connection may not have committed "
                      "yet: ask again later, or switch PRAGMA read_uncommitted off",
                      follow->table);
}

/* Are the keys of some rows of its table there? This is not asked while a statement changes rows,
** whose triggers are still to come. */
static int sample(cuckoo_store *store)
{
    enum { SAMPLE = 100 /* first and last rows */ };
    const cuckoo_shadow *shadow = &store->paged.shadow;
    cuckoo_follow *follow = &store->follow;
    bool misses;
    if (cuckoo_statements_next(shadow->db, NULL))
        return SQLITE_OK;
    follow->sampled = true; /* already: what computes the rows may use the filter itself */
    int rc = cuckoo_store_misses(store, SAMPLE, &misses);
    if (rc == SQLITE_OK && misses && cuckoo_store_overtaken(store))
        rc = SQLITE_LOCKED; /* the rows may have come since it was looked at */
    else if (rc == SQLITE_OK && misses)
        rc = fail_sample(follow, shadow);
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
        rc =
            cuckoo_follow_fail(follow, shadow, "%s(%s) compares other than when the filter was made%s%s",
                               follow->table, follow->column, why ? ": " : "", why ? why : "");
    sqlite3_free(why);
    return rc;
}

/* The doubt (pages.h) becomes the fault. */
static int doubt(cuckoo_store *store)
{
    store->follow.looked = false;
    return cuckoo_follow_fail(
        &store->follow, &store->paged.shadow,
        "rows of %s may have changed without its triggers, or while a BEFORE trigger or a function "
        "changed them, too",
        store->follow.table);
}

/* Triggers that fire in a statement were compiled with it: what the schema has become since then
** does not matter to the rows that it changes. */
static bool was_looked_at(const cuckoo_follow *follow)
{
    return follow->current && follow->looked && follow->ruled && !follow->fault && !follow->refused;
}

static int trust(cuckoo_store *store, cuckoo_use use, const char **why)
{
    cuckoo_shadow *shadow = &store->paged.shadow;
    if (use == CUCKOO_CHANGE && was_looked_at(&store->follow))
        return SQLITE_OK;
    *why = "the table that it follows cannot be read";
    bool writes = store->joined || use != CUCKOO_ASK || !sqlite3_get_autocommit(shadow->db);
    int rc = writes ? cuckoo_follow_look(&store->follow, shadow)
                    : cuckoo_follow_look_quickly(&store->follow, shadow, store->fresh.file_version);
    if (rc == SQLITE_OK && use == CUCKOO_CHANGE && store->follow.refused)
        rc = cuckoo_follow_refuse(&store->follow, shadow);
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
    assert(!store->dead);
    store->redo.idle &= use == CUCKOO_ASK;
    if (rc == SQLITE_OK && store->follow.given_table && use != CUCKOO_REPAIR) {
        rc = trust(store, use, why);
        if (rc == SQLITE_CORRUPT_VTAB && store->paged.shadow.damage)
            *why = store->paged.shadow.damage;
    }
    if (rc != SQLITE_OK)
        cuckoo_store_end(store);
    return rc;
}
