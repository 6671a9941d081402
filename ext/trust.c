/* SPDX-License-Identifier: MIT */
/*
** trust.c - may a filter that follows a table be believed? This asks what its triggers cannot tell.
*/
#include "column.h"
#include "errors.h"
#include "sql.h"
#include "store.h"

#include <assert.h>

int cuckoo_store_misses(cuckoo_store *store, int most, bool *misses)
{
    sqlite3_stmt *keys;
    assert(store->follow.table != NULL && cuckoo_paged_is_loaded(&store->paged));
    *misses = false;
    int rc = cuckoo_follow_keys(&store->follow, &store->paged.shadow, most, &keys);
    while (rc == SQLITE_OK && !*misses && sqlite3_step(keys) == SQLITE_ROW) {
        cuckoo_row_key key;
        bool has = true;
        rc = cuckoo_row_key_read(sqlite3_column_value(keys, 0), &store->paged.filter.geometry, &key);
        if (rc == SQLITE_OK && key.is)
            rc = cuckoo_store_has(store, key.hash, &has);
        rc = cuckoo_first_error(rc, store->paged.rc); /* a page that cannot be read says nothing */
        *misses = rc == SQLITE_OK && !has;
    }
    return cuckoo_sql_end(keys, rc);
}

/* A fault of which the message names the table. */
static int fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format)
{
    int rc = cuckoo_follow_fail(follow, shadow, format, follow->table);
    follow->trust = rc == SQLITE_OK ? CUCKOO_FAULT : CUCKOO_UNKNOWN;
    return rc;
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
        return fail(follow, shadow,
                    "rows of %s are missing in it: the table was made anew, or changed without its "
                    "triggers");
    follow->trust = CUCKOO_UNKNOWN; /* they may be committed before the next look */
    return cuckoo_say(&follow->fault, SQLITE_OK,
                      "rows of %s are missing in it, which another connection may not have committed "
                      "yet: ask again later, or switch PRAGMA read_uncommitted off",
                      follow->table);
}

/* Are the keys of some rows of the table there? While a statement changes rows this is not asked: their
** triggers may be still to come. */
static int sample(cuckoo_store *store)
{
    const cuckoo_shadow *shadow = &store->paged.shadow;
    cuckoo_follow *follow = &store->follow;
    bool misses;
    if (cuckoo_sql_running(shadow->db, true) > 0)
        return SQLITE_OK;
    follow->trust = CUCKOO_ROWS; /* now: a generated column may ask the filter while rows are read */
    int rc = cuckoo_store_misses(store, follow->sample, &misses);
    if (rc == SQLITE_OK && misses && cuckoo_store_overtaken(store))
        rc = SQLITE_LOCKED; /* the rows may have come since it was looked at */
    else if (rc == SQLITE_OK && misses)
        rc = fail_sample(follow, shadow);
    else if (rc == SQLITE_OK)
        follow->sample = CUCKOO_SAMPLE;
    if (rc != SQLITE_OK)
        follow->trust = CUCKOO_RULE;
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
    bool differs = !same && (rc == SQLITE_OK || rc == SQLITE_ERROR);
    if (differs)
        rc =
            cuckoo_follow_fail(follow, shadow, "%s(%s) compares other than when the filter was made%s%s",
                               follow->table, follow->column, why ? ": " : "", why ? why : "");
    if (rc == SQLITE_OK)
        follow->trust = differs ? CUCKOO_FAULT : CUCKOO_RULE;
    sqlite3_free(why);
    return rc;
}

/* A delete that was not matched (pages.h) becomes the fault, as long as the header says so. */
static int doubt(cuckoo_store *store)
{
    int rc =
        fail(&store->follow, &store->paged.shadow,
             "a row of %s has gone whose key it did not hold: rows have changed without its triggers");
    store->follow.trust = CUCKOO_UNKNOWN;
    return rc;
}

static int trust(cuckoo_store *store, cuckoo_use use, const char **why)
{
    cuckoo_shadow *shadow = &store->paged.shadow;
    cuckoo_follow *follow = &store->follow;
    *why = "the table that it follows cannot be read";
    bool writes =
        store->state.part != CUCKOO_APART || use != CUCKOO_ASK || !sqlite3_get_autocommit(shadow->db);
    int rc = writes ? cuckoo_follow_look(follow, shadow)
                    : cuckoo_follow_look_quickly(follow, shadow, store->fresh.file_version);
    if (rc == SQLITE_OK && follow->trust == CUCKOO_TRIGGERS)
        rc = check_rule(store);
    if (rc == SQLITE_OK && use == CUCKOO_ASK && store->paged.unmatched > 0 && !follow->fault)
        rc = doubt(store);
    if (rc == SQLITE_OK && use == CUCKOO_ASK && follow->trust == CUCKOO_RULE)
        rc = sample(store);
    if (rc == SQLITE_OK && follow->fault) {
        *why = follow->fault;
        return SQLITE_ERROR;
    }
    return rc == SQLITE_ERROR ? SQLITE_CORRUPT_VTAB : rc;
}

int cuckoo_store_begin(cuckoo_store *store, cuckoo_use use, const char **why)
{
    int rc = cuckoo_store_load(store, why);
    assert(store->state.life != CUCKOO_DEAD);
    if (rc == SQLITE_OK && cuckoo_store_follows(store) && use != CUCKOO_REPAIR) {
        rc = trust(store, use, why);
        if (rc == SQLITE_CORRUPT_VTAB && store->paged.shadow.damage)
            *why = store->paged.shadow.damage;
    }
    if (rc != SQLITE_OK)
        cuckoo_store_end(store);
    return rc;
}
