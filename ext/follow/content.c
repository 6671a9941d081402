/* SPDX-License-Identifier: MIT */
#include "content.h"

#include "../keys/column_rule.h"
#include "../sqlite/sql.h"

#include <string.h>

#define HAS "SELECT 1 FROM \"%w\".\"%w\" AS t WHERE t.\"%w\" "

void cuckoo_content_close(cuckoo_content *content)
{
    sqlite3_finalize(content->has);
    sqlite3_finalize(content->texts);
    sqlite3_finalize(content->numbers);
    *content = (cuckoo_content){.has = NULL};
}

/* Sets content->usable to true if SQLite answers with a single search. */
static int look_at_plan(cuckoo_content *content, sqlite3 *db)
{
    enum { DETAIL = 3 /* column of a plan */ };
    sqlite3_stmt *plan;
    int steps = 0, searches = 0;
    int rc = cuckoo_sql_prepare(db, &plan, "EXPLAIN QUERY PLAN %s", sqlite3_sql(content->has));
    for (; rc == SQLITE_OK && sqlite3_step(plan) == SQLITE_ROW; steps++) {
        const char *detail = (const char *)sqlite3_column_text(plan, DETAIL);
        searches += detail && strncmp(detail, "SEARCH ", strlen("SEARCH ")) == 0;
    }
    rc = cuckoo_sql_end(plan, rc);
    content->usable = rc == SQLITE_OK && steps == 1 && searches == 1;
    content->prepared = sqlite3_stmt_status(content->has, SQLITE_STMTSTATUS_REPREPARE, 0);
    return rc;
}

/* Numbers sort before texts, and texts before blobs. */
static int prepare(cuckoo_content *content, sqlite3 *db, const char *schema, const char *table,
                   const char *column)
{
    const char *type, *affinity;
    int rc = cuckoo_sql_prepare(db, &content->has, HAS "= ?1", schema, table, column);
    rc = rc ? rc : cuckoo_sql_prepare(db, &content->numbers, HAS "< ''", schema, table, column);
    rc = rc ? rc
            : cuckoo_sql_prepare(db, &content->texts, HAS ">= '' AND t.\"%w\" < x''", schema, table,
                                 column, column);
    rc = rc ? rc : cuckoo_column_look(db, schema, table, column, &type, NULL);
    rc = rc ? rc : cuckoo_column_affinity(db, schema, table, type, &affinity, NULL);
    if (rc != SQLITE_OK)
        return rc;
    content->numeric = *affinity && strcmp(affinity, "TEXT") != 0;
    return look_at_plan(content, db);
}

int cuckoo_content_open(cuckoo_content *content, sqlite3 *db, const char *schema, const char *table,
                        const char *column, bool *open)
{
    int rc = SQLITE_OK;
    if (content->has == NULL)
        rc = prepare(content, db, schema, table, column);
    else if (content->prepared != sqlite3_stmt_status(content->has, SQLITE_STMTSTATUS_REPREPARE, 0))
        rc = look_at_plan(content, db);
    *open = rc == SQLITE_OK && content->usable;
    if (!*open)
        cuckoo_content_close(content);
    return rc == SQLITE_ERROR || rc == SQLITE_AUTH ? SQLITE_OK : rc; /* it cannot be queried */
}

/* Runs a statement. *is: true if it has a row. */
static int ask(sqlite3_stmt *statement, bool *is)
{
    int rc = sqlite3_step(statement);
    *is = rc == SQLITE_ROW;
    return cuckoo_sql_code(sqlite3_db_handle(statement), sqlite3_reset(statement));
}

static bool looks_like_number(sqlite3_value *key)
{
    cf_number unused;
    const char *text = (const char *)sqlite3_value_text(key);
    return text && cf_number_read(text, (size_t)sqlite3_value_bytes(key), &unused);
}

static bool is_number(sqlite3_value *key)
{
    return sqlite3_value_type(key) == SQLITE_INTEGER || sqlite3_value_type(key) == SQLITE_FLOAT;
}

bool cuckoo_content_converts(const cuckoo_content *content, sqlite3_value *key)
{
    return !content->numeric &&
           (is_number(key) || (sqlite3_value_type(key) == SQLITE_TEXT && looks_like_number(key)));
}

int cuckoo_content_has(cuckoo_content *content, sqlite3_value *key, bool *has)
{
    *has = false;
    int rc = cuckoo_sql_bind(content->has, 1, key);
    rc = rc ? rc : ask(content->has, has);
    sqlite3_clear_bindings(content->has);
    return rc != SQLITE_OK || *has || !cuckoo_content_converts(content, key)
               ? rc
               : ask(is_number(key) ? content->texts : content->numbers, has);
}
