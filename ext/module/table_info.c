/* SPDX-License-Identifier: MIT */
/*
** table_info.c - cf_table_info: the state of a filter table, even if it cannot be trusted.
*/
#include "../functions/filters.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/sql.h"
#include "module.h"

/* The rowid of the last row of a log of triggers is its length. If it is large, the rows are counted,
** because a program may have written a rowid. */
static int append_log(sqlite3_str *json, cuckoo_table *table)
{
    int64_t rows = 0, end = INT64_MAX, none;
    bool ages = table->paged.filter.geometry.epochs != 0;
    int64_t left = (int64_t)table->paged.left;
    bool follows = cuckoo_table_follows(table);
    cuckoo_shadow *shadow = &table->paged.shadow;
    int rc = follows ? cuckoo_shadow_integer(shadow, CUCKOO_READ_OWN, &end, &none) /* is readable */
                     : cuckoo_table_net(table);
    if (rc == SQLITE_OK && follows)
        rc = cuckoo_shadow_integer(shadow, CUCKOO_LAST_LOGGED, NULL, &rows);
    sqlite3_int64 counted = rows;
    if (rc == SQLITE_OK && rows > CUCKOO_LONG_LOG)
        rc = cuckoo_sql_integer(shadow->db, &counted, "SELECT count(*) FROM \"%w\".\"" CUCKOO_LOG "\"",
                                shadow->schema, shadow->log);
    rows = counted;
    if (!follows)
        rows = (int64_t)table->net.own.rows - left;
    sqlite3_str_appendf(json, ",\"unplaced\":%lld,\"pending\":%lld", left, rows > 0 ? rows : 0);
    if (rc == SQLITE_OK && ages)
        cuckoo_ageing_append_info(&table->paged, table->net.more, json);
    return rc;
}

static int append_filter(sqlite3_str *json, cuckoo_table *table, cuckoo_use use)
{
    cf_filter filter = table->paged.filter;
    int rc = append_log(json, table);
    if (rc == SQLITE_OK && !cuckoo_table_follows(table))
        rc = cuckoo_table_rule(table, &filter.geometry);
    if (rc == SQLITE_OK && (use == CUCKOO_INSPECT || !cuckoo_table_follows(table)))
        rc = cuckoo_table_items(table, &filter.items);
    return cuckoo_append_info(table->paged.shadow.db, json, &filter, use == CUCKOO_INSPECT)
               ? rc
               : SQLITE_INTERRUPT;
}

/* Returns what is known within a use, if that has begun (`loaded`). `bad`: why the filter cannot be
** trusted; NULL: it can. Returns the first error, except an error that `bad` explains. */
static int report(sqlite3_context *context, cuckoo_table *table, cuckoo_use use, const char *bad,
                  bool loaded)
{
    const cuckoo_follow *follow = &table->follow;
    sqlite3_str *json = sqlite3_str_new(table->registry->db);
    sqlite3_str_appendf(json, "{\"trusted\":%d", bad == NULL);
    cuckoo_append_member(json, "why", bad);
    cuckoo_append_member(json, "table", follow->table ? follow->table : follow->given_table);
    cuckoo_append_member(json, "column", follow->column ? follow->column : follow->given_column);
    char *none = NULL;
    int rc = loaded ? cuckoo_table_end_work(table, append_filter(json, table, use), &none) : SQLITE_OK;
    rc = bad && cuckoo_table_is_told(rc) ? SQLITE_OK : rc;
    if (rc == SQLITE_OK)
        cuckoo_result_built(context, json, "}");
    else
        sqlite3_free(sqlite3_str_finish(json));
    return rc;
}

/* If the filter cannot be trusted, reports that, and what is known without reading pages. */
void cuckoo_table_info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *why, *word = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
    char *bad = NULL;
    cuckoo_table *table;
    cuckoo_known known = {NULL, 0};
    cuckoo_use use = word ? CUCKOO_INSPECT : CUCKOO_TELL;
    if (word && sqlite3_stricmp(word, "all") != 0) {
        cuckoo_fail(context, "the second argument must be 'all', or be left out");
        return;
    }
    int rc = cuckoo_registry_begin(cuckoo_function_shared(context), argv[0], &known, use, &table, &why);
    if (rc == SQLITE_OK) {
        rc = report(context, table, use, NULL, true);
        why = cuckoo_table_damage(table, rc);
    }
    if (table && cuckoo_table_is_told(rc)) {
        cuckoo_explain(&bad, rc, why);
        rc = bad ? cuckoo_table_begin(table, CUCKOO_REPAIR) : SQLITE_NOMEM;
        if (bad && (rc == SQLITE_OK || cuckoo_table_is_told(rc)))
            rc = report(context, table, CUCKOO_REPAIR, bad, rc == SQLITE_OK);
        why = sqlite3_errstr(rc);
    }
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, rc, why);
    if (table)
        cuckoo_registry_let_go(table);
    sqlite3_free(bad);
}
