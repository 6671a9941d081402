/* SPDX-License-Identifier: MIT */
/*
** trust.c - begins a use, and decides whether a synced filter can be trusted: follow.h checks its
** triggers; this file checks what triggers cannot show.
*/
#include "../keys/column_rule.h"
#include "../keys/key.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "table.h"

#include <assert.h>

int cuckoo_table_misses(cuckoo_table *table, int most, bool *misses)
{
    sqlite3_stmt *keys;
    uint64_t rows = 0, items = UINT64_MAX;
    const cf_geometry *geometry = &table->paged.filter.geometry;
    assert(table->follow.table != NULL && table->paged.loaded);
    *misses = false;
    int rc = cuckoo_follow_keys(&table->follow, &table->paged.shadow, most, &keys);
    while (rc == SQLITE_OK && !*misses && sqlite3_step(keys) == SQLITE_ROW) {
        uint64_t hash;
        bool has = true;
        cuckoo_key kind = cuckoo_key_hash(sqlite3_column_value(keys, 0), geometry, &hash);
        if (kind == CUCKOO_KEY_OK && table->paged.shadow.rowids)
            rc = cuckoo_rows_have(&table->net, &table->paged, hash, sqlite3_column_int64(keys, 1), &has);
        else if (kind == CUCKOO_KEY_OK)
            rc = cuckoo_table_has(table, hash, &has);
        rc = kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : cuckoo_first_error(rc, table->paged.rc);
        *misses = rc == SQLITE_OK && !has; /* a page that cannot be read proves nothing */
        rows += kind == CUCKOO_KEY_OK;
    }
    rc = cuckoo_sql_end(keys, rc);
    if (rc == SQLITE_OK && !*misses && most == CUCKOO_ALL_ROWS)
        rc = cuckoo_table_items(table, &items);
    if (rc == SQLITE_OK && !*misses && most == CUCKOO_ALL_ROWS && table->paged.shadow.rowids)
        rc = cuckoo_rows_lack(&table->net, &table->paged, misses);
    *misses |= items < rows; /* the key of some row is a false positive */
    return rc;
}

/* With read_uncommitted and a shared cache, rows of others are visible, but their keys are not. */
static int fail_sample(cuckoo_follow *follow, const cuckoo_shadow *shadow)
{
    sqlite3_int64 uncommitted = 0;
    int rc = cuckoo_sql_integer(shadow->db, &uncommitted, "PRAGMA read_uncommitted");
    if (rc != SQLITE_OK || !uncommitted)
        return cuckoo_follow_fail(
            follow, shadow,
            "rows of %s are missing in it: its triggers may have been off, another trigger may have "
            "failed before them, or the table was rebuilt%s",
            follow->table,
            shadow->rowids ? ", or VACUUM has changed its rowids, which are no INTEGER PRIMARY KEY"
                           : "");
    follow->trust = CUCKOO_UNKNOWN; /* they may be committed before the next look */
    return cuckoo_say(&follow->fault, SQLITE_OK,
                      "rows of %s are missing in it, which another connection may not have committed "
                      "yet: try again later, or turn PRAGMA read_uncommitted off",
                      follow->table);
}

/* The keys of all rows, or of some, were found. */
static int have_seen(cuckoo_table *table)
{
    cuckoo_follow *follow = &table->follow;
    bool all = follow->sample == CUCKOO_ALL_ROWS;
    follow->sample = CUCKOO_SAMPLE;
    return all && table->paged.shadow.rowids ? cuckoo_follow_rowids_seen(follow, &table->paged.shadow)
                                             : SQLITE_OK;
}

/* Checks that the filter has the keys of some rows of the table. Not while a statement changes rows:
** their triggers may not have run yet. */
static int sample(cuckoo_table *table)
{
    const cuckoo_shadow *shadow = &table->paged.shadow;
    cuckoo_follow *follow = &table->follow;
    bool misses;
    if (cuckoo_sql_running(shadow->db, true) > 0)
        return SQLITE_OK;
    follow->trust = CUCKOO_ROWS; /* first: a generated column may query the filter meanwhile */
    int rc = cuckoo_table_misses(table, follow->sample, &misses);
    if (rc == SQLITE_OK && misses && cuckoo_table_overtaken(table))
        rc = SQLITE_LOCKED; /* the rows may be newer than the filter */
    else if (rc == SQLITE_OK && misses)
        rc = fail_sample(follow, shadow);
    else if (rc == SQLITE_OK)
        rc = have_seen(table);
    if (rc != SQLITE_OK)
        follow->trust = CUCKOO_RULE;
    return rc;
}

/* Checks that the column still compares as the keys were hashed. */
static int check_rule(cuckoo_table *table)
{
    cf_options rule;
    char *why = NULL;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    const cf_geometry *geometry = &table->paged.filter.geometry;
    cuckoo_follow *follow = &table->follow;
    int rc = cuckoo_column_rule(shadow->db, shadow->schema, follow->table, follow->column, &rule, &why);
    bool same =
        rc == SQLITE_OK && rule.affinity == geometry->affinity && rule.collation == geometry->collation;
    bool differs = !same && (rc == SQLITE_OK || (rc == SQLITE_ERROR && why));
    if (differs)
        rc = cuckoo_follow_fail(follow, shadow,
                                "%s(%s) compares differently than when the filter was created%s%s",
                                follow->table, follow->column, why ? ": " : "", why ? why : "");
    else if (rc == SQLITE_OK)
        follow->trust = CUCKOO_RULE;
    sqlite3_free(why);
    return rc;
}

/* True if the triggers were checked. While this connection writes nothing, the schema changes only by a
** commit, which changes the version (table.c), or in temp. */
static bool was_seen(cuckoo_table *table)
{
    const cuckoo_follow *follow = &table->follow;
    return follow->trust != CUCKOO_UNKNOWN && follow->version == table->version &&
           cuckoo_shadow_is_same_schema(&table->paged.shadow, follow->prepared);
}

bool cuckoo_table_is_seen(cuckoo_table *table)
{
    int prepared;
    const cuckoo_follow *follow = &table->follow;
    return follow->trust != CUCKOO_UNKNOWN && !follow->lossy && follow->saved &&
           cuckoo_shadow_schema(&table->paged.shadow, &prepared) == SQLITE_OK &&
           prepared == follow->prepared;
}

static int trust(cuckoo_table *table, cuckoo_use use)
{
    cuckoo_shadow *shadow = &table->paged.shadow;
    cuckoo_follow *follow = &table->follow;
    bool writes = table->joined || use > CUCKOO_TELL || !sqlite3_get_autocommit(shadow->db);
    bool seen = !writes && was_seen(table);
    if (!writes)
        follow->version = table->version;
    int rc = seen ? SQLITE_OK : cuckoo_follow_look(follow, shadow);
    if (rc == SQLITE_OK && follow->trust == CUCKOO_TRIGGERS)
        rc = check_rule(table);
    if (rc == SQLITE_OK && use <= CUCKOO_TELL && table->paged.unmatched > 0 && !follow->fault) {
        rc = cuckoo_follow_fail(
            follow, shadow,
            "rows of %s have changed without its triggers, or with another trigger that it cannot trust",
            follow->table);
        follow->trust = CUCKOO_UNKNOWN; /* as long as the header has them (pages.h) */
    }
    if (rc == SQLITE_OK && use < CUCKOO_TELL && follow->trust == CUCKOO_RULE)
        rc = sample(table);
    if (rc == SQLITE_ERROR || (rc == SQLITE_CORRUPT_VTAB && shadow->damage == NULL))
        rc = cuckoo_say(&shadow->damage, rc, "its content table cannot be read: %s",
                        cuckoo_sql_message(shadow->db, rc));
    return rc == SQLITE_OK && follow->fault ? SQLITE_ERROR : rc;
}

static int ask_content(cuckoo_table *table)
{
    const cuckoo_shadow *shadow = &table->paged.shadow;
    cuckoo_follow *follow = &table->follow;
    int rc = cuckoo_content_open(&follow->content, shadow->db, shadow->schema, follow->table,
                                 follow->column, &table->asks_content);
    return rc == SQLITE_OK && !table->asks_content ? SQLITE_ERROR : rc;
}

/* ---- beginning a use ---- */

bool cuckoo_table_is_early(const cuckoo_table *table)
{
    return table->follow.preceded && cuckoo_sql_running(table->paged.shadow.db, true) > 0;
}

int cuckoo_table_begin(cuckoo_table *table, cuckoo_use use)
{
    int rc = cuckoo_table_load(table);
    table->asks_content = false;
    if (rc == SQLITE_OK && cuckoo_table_follows(table) && use != CUCKOO_REPAIR) {
        rc = trust(table, use);
        if (rc == SQLITE_ERROR && use == CUCKOO_ASK)
            rc = ask_content(table);
        else if (rc == SQLITE_OK && use == CUCKOO_ASK && cuckoo_table_is_early(table))
            rc = ask_content(table) == SQLITE_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
    }
    if (rc == SQLITE_OK && table->paged.filter.geometry.epochs) {
        rc = table->paged.age.keep ? cuckoo_net_read(&table->net, &table->paged, false) : SQLITE_OK;
        cuckoo_ageing_read_clock(&table->paged, table->net.more);
    }
    if (rc == SQLITE_ERROR && table->follow.fault && table->paged.shadow.damage == NULL)
        rc = cuckoo_say(&table->paged.shadow.damage, rc, "%s", table->follow.fault);
    if (rc != SQLITE_OK)
        cuckoo_table_end(table);
    return rc;
}
