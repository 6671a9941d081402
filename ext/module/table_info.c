/* SPDX-License-Identifier: MIT */
/*
** table_info.c - cf_table_info: what a filter table is like, also when it cannot be trusted.
*/
#include "../functions/info.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/sql.h"
#include "module.h"

/* The last row of a log of triggers tells its length, unless somebody has written a number by hand. */
static int append_log(sqlite3_str *json, cuckoo_table *table)
{
    int64_t rows = 0;
    bool ages = table->paged.filter.geometry.epochs != 0;
    int64_t left = (int64_t)table->paged.left;
    bool follows = cuckoo_table_follows(table);
    int rc = follows ? cuckoo_shadow_integer(&table->paged.shadow, CUCKOO_LAST_LOGGED, NULL, &rows)
                     : cuckoo_table_net(table);
    if (!follows)
        rows = (int64_t)table->net.own.rows + (int64_t)table->pending.n - left;
    sqlite3_str_appendf(json, ",\"waiting\":%lld,\"undrained\":%lld", left, rows > 0 ? rows : 0);
    if (rc == SQLITE_OK && ages)
        cuckoo_ageing_tell(&table->paged, cuckoo_table_latest(table), json);
    return rc;
}

static int append_filter(sqlite3_str *json, cuckoo_table *table, cuckoo_use use)
{
    cf_filter filter = table->paged.filter;
    int rc = append_log(json, table);
    if (rc == SQLITE_OK && (use == CUCKOO_INSPECT || !cuckoo_table_follows(table)))
        rc = cuckoo_table_items(table, &filter.items);
    return cuckoo_append_info(table->paged.shadow.db, json, &filter, use == CUCKOO_INSPECT)
               ? rc
               : SQLITE_INTERRUPT;
}

/* Is this the code of a filter that cannot be trusted? */
static bool is_told(int rc)
{
    return rc == SQLITE_ERROR || rc == SQLITE_CORRUPT_VTAB || rc == CUCKOO_NEWER;
}

/* Tells what is known within this use. `bad`: why it cannot be trusted; NULL: it can. After an error
** *bad_now (sqlite3_malloc; NULL: out of memory) says what is wrong. */
static int tell(sqlite3_context *context, sqlite3_value *name, cuckoo_use use, const char *bad,
                cuckoo_known *known, char **bad_now)
{
    const char *why;
    cuckoo_table *table;
    cuckoo_registry *registry = cuckoo_function_shared(context);
    int rc = cuckoo_registry_begin(registry, name, known, use, &table, &why);
    bool loaded = rc == SQLITE_OK;
    if (table && (loaded || (bad && is_told(rc)))) {
        const cuckoo_follow *follow = &table->follow;
        sqlite3_str *json = sqlite3_str_new(registry->db);
        sqlite3_str_appendf(json, "{\"trusted\":%d", bad == NULL);
        cuckoo_append_member(json, "why", bad);
        cuckoo_append_member(json, "table", follow->table ? follow->table : follow->given_table);
        cuckoo_append_member(json, "column", follow->column ? follow->column : follow->given_column);
        if (loaded) {
            rc = append_filter(json, table, use);
            rc = cuckoo_first_error(bad && is_told(rc) ? SQLITE_OK : rc, cuckoo_table_end(table));
            why = cuckoo_table_damage(table);
        }
        rc = bad && is_told(rc) ? SQLITE_OK : rc;
        if (rc == SQLITE_OK)
            cuckoo_result_text(context, json, "}");
        else
            sqlite3_free(sqlite3_str_finish(json));
    }
    if (rc != SQLITE_OK)
        *bad_now = sqlite3_mprintf("%s", why);
    if (table)
        cuckoo_registry_let_go(table);
    return rc;
}

/* When the filter cannot be trusted, that is told, and what can be told without reading pages. */
void cuckoo_table_info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *word = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
    char *why = NULL, *bad = NULL;
    cuckoo_known known = {NULL, 0};
    if (word && sqlite3_stricmp(word, "all") != 0) {
        cuckoo_fail_code(context, SQLITE_ERROR, "the second argument must be 'all', or be left out");
        return;
    }
    int rc = tell(context, argv[0], word ? CUCKOO_INSPECT : CUCKOO_TELL, NULL, &known, &why);
    if (known.table && why && is_told(rc)) {
        rc = cuckoo_explain(&bad, rc, why);
        sqlite3_free(why);
        why = NULL;
        rc = bad ? tell(context, argv[0], CUCKOO_REPAIR, bad, &known, &why) : rc;
        sqlite3_free(bad);
    }
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, why ? rc : SQLITE_NOMEM, why);
    sqlite3_free(why);
}
