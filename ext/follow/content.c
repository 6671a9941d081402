/* SPDX-License-Identifier: MIT */
#include "content.h"

#include "../keys/column_rule.h"
#include "../keys/number.h"
#include "../sqlite/sql.h"

#include <string.h>

void cuckoo_content_close(cuckoo_content *content)
{
    sqlite3_finalize(content->has);
    *content = (cuckoo_content){.has = NULL};
}

/* Does SQLite look for the key by a search? */
static int look_at_plan(cuckoo_content *content, sqlite3 *db)
{
    enum { DETAIL = 3 /* column of a plan */ };
    sqlite3_stmt *plan;
    bool scans = false;
    int rc = cuckoo_sql_prepare(db, &plan, "EXPLAIN QUERY PLAN %s", sqlite3_sql(content->has));
    content->usable = false;
    while (rc == SQLITE_OK && !content->usable && !scans && sqlite3_step(plan) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(plan, DETAIL);
        content->usable = detail && strncmp(detail, "SEARCH ", strlen("SEARCH ")) == 0;
        scans = detail && strncmp(detail, "SCAN ", strlen("SCAN ")) == 0;
    }
    rc = cuckoo_sql_end(plan, rc);
    content->usable &= rc == SQLITE_OK;
    content->prepared = sqlite3_stmt_status(content->has, SQLITE_STMTSTATUS_REPREPARE, 0);
    return rc;
}

static int look_at_column(cuckoo_content *content, sqlite3 *db, const char *schema, const char *table,
                          const char *column)
{
    const char *type = NULL;
    bool any = false;
    int rc = sqlite3_table_column_metadata(db, schema, table, column, &type, NULL, NULL, NULL, NULL);
    if (rc == SQLITE_OK && type)
        rc = cuckoo_column_is_any(db, schema, table, type, &any);
    const char *affinity = any ? "" : cuckoo_column_affinity(type);
    content->numeric = *affinity && strcmp(affinity, "TEXT") != 0;
    return rc;
}

/* Numbers come before texts, and texts before blobs. */
static int prepare(cuckoo_content *content, sqlite3 *db, const char *schema, const char *table,
                   const char *column)
{
    int rc =
        cuckoo_sql_prepare(db, &content->has,
                           "SELECT 1 FROM \"%w\".\"%w\" AS t WHERE t.\"%w\" = ?1 UNION ALL "
                           "SELECT 1 FROM \"%w\".\"%w\" AS t WHERE ?2 AND t.\"%w\" < '' UNION ALL "
                           "SELECT 1 FROM \"%w\".\"%w\" AS t WHERE ?3 AND t.\"%w\" >= '' AND "
                           "t.\"%w\" < x''",
                           schema, table, column, schema, table, column, schema, table, column, column);
    rc = rc ? rc : look_at_column(content, db, schema, table, column);
    return rc ? rc : look_at_plan(content, db);
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
    return rc == SQLITE_ERROR || rc == SQLITE_AUTH ? SQLITE_OK : rc; /* it cannot be asked */
}

static bool looks_like_number(sqlite3_value *key)
{
    cuckoo_number unused;
    const char *text = (const char *)sqlite3_value_text(key);
    return text && cuckoo_number_read(text, (size_t)sqlite3_value_bytes(key), &unused);
}

int cuckoo_content_has(cuckoo_content *content, sqlite3_value *key, bool *has)
{
    sqlite3_stmt *ask = content->has;
    int type = sqlite3_value_type(key);
    bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    bool numeral = type == SQLITE_TEXT && !content->numeric && looks_like_number(key);
    int rc = sqlite3_bind_value(ask, 1, key);
    rc = rc ? rc : sqlite3_bind_int(ask, 2, numeral);
    rc = rc ? rc : sqlite3_bind_int(ask, 3, number && !content->numeric);
    *has = rc == SQLITE_OK && sqlite3_step(ask) == SQLITE_ROW;
    rc = cuckoo_first_error(rc, cuckoo_sql_code(sqlite3_db_handle(ask), sqlite3_reset(ask)));
    sqlite3_clear_bindings(ask);
    return rc;
}
