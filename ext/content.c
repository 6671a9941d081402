/*
** content.c - keeping a persistent filter in step with a column of a table.
**
** Triggers add a copy of each key that is inserted, and take one away for each that is deleted; an update does both. NULL
** is no key. REPLACE deletes rows without firing delete triggers, unless PRAGMA recursive_triggers is on.
*/
#include "errors.h"
#include "filter_table.h"
#include "key.h"

static int execute(cuckoo_table *table, char *sql)
{
    int rc = sql ? sqlite3_exec(table->paged.shadow.db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc;
}

int cuckoo_content_follow(cuckoo_table *table)
{
    const char *s = table->paged.shadow.schema, *t = table->paged.shadow.table,
               *content = table->content, *column = table->column;
    int rc = execute(
        table, sqlite3_mprintf("CREATE TRIGGER \"%w\".\"%w_inserted\" AFTER INSERT ON \"%w\" BEGIN "
                               "INSERT INTO \"%w\"(key) VALUES (new.\"%w\"); END",
                               s, t, content, t, column));
    if (rc == SQLITE_OK)
        rc = execute(table,
                     sqlite3_mprintf("CREATE TRIGGER \"%w\".\"%w_deleted\" AFTER DELETE ON \"%w\" BEGIN "
                                     "DELETE FROM \"%w\" WHERE key = +old.\"%w\"; END",
                                     s, t, content, t, column));
    if (rc == SQLITE_OK)
        rc = execute(table, sqlite3_mprintf(
                                /* not UPDATE OF: columns change by others, too */
                                "CREATE TRIGGER \"%w\".\"%w_updated\" AFTER UPDATE ON \"%w\" "
                                "WHEN old.\"%w\" COLLATE BINARY IS NOT new.\"%w\" "
                                "BEGIN INSERT INTO \"%w\"(key) VALUES (new.\"%w\"); "
                                "DELETE FROM \"%w\" WHERE key = +old.\"%w\"; END",
                                s, t, content, column, column, t, column, t, column));
    return rc;
}

int cuckoo_content_leave(cuckoo_table *table)
{
    static const char *const names[] = {"inserted", "deleted", "updated"};
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < 3; i++)
        rc = execute(table,
                     sqlite3_mprintf("DROP TRIGGER IF EXISTS \"%w\".\"%w_%s\"",
                                     table->paged.shadow.schema, table->paged.shadow.table, names[i]));
    return rc;
}

/* ---- rebuilding ---- */

/* Adds all keys of the statement to a filter that grows. */
static int add_keys(sqlite3_stmt *keys, cf_filter *filter, char **message)
{
    int rc;
    while ((rc = sqlite3_step(keys)) == SQLITE_ROW) {
        uint64_t hash;
        cuckoo_key kind = cuckoo_key_hash(sqlite3_column_value(keys, 0), &filter->geometry, &hash);
        if (kind == CUCKOO_KEY_NOMEM)
            return SQLITE_NOMEM;
        cf_status status = kind == CUCKOO_KEY_OK ? cf_add(filter, hash) : CF_OK;
        if (status != CF_OK) {
            *message = sqlite3_mprintf(
                "the filter is full: it was planned for %lld keys; create a larger one, or "
                "one with growth=on",
                (sqlite3_int64)filter->geometry.capacity);
            return cuckoo_error_code(status);
        }
    }
    cf_settle(filter);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* A filter of the same base geometry with all the content. */
static int build(cuckoo_table *table, cf_filter *filter, char **message)
{
    sqlite3_stmt *keys = NULL;
    char *sql = sqlite3_mprintf("SELECT c.\"%w\" FROM \"%w\".\"%w\" AS c", table->column,
                                table->paged.shadow.schema, table->content);
    int rc = sql ? sqlite3_prepare_v2(table->paged.shadow.db, sql, -1, &keys, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK)
        rc = add_keys(keys, filter, message);
    sqlite3_finalize(keys);
    return rc;
}

int cuckoo_content_rebuild(cuckoo_table *table, char **message)
{
    const char *why;
    if (table->content == NULL) {
        *message =
            sqlite3_mprintf("nothing to rebuild from: it was created without content='table(column)'");
        return SQLITE_ERROR;
    }
    int rc = cuckoo_paged_begin(&table->paged, &why);
    if (rc != SQLITE_OK)
        return rc;
    cf_filter filter;
    if (!cuckoo_table_blank(table, &filter))
        return SQLITE_NOMEM;
    rc = cuckoo_table_replace(table, &filter, build(table, &filter, message));
    if (rc != SQLITE_OK && *message == NULL)
        *message =
            sqlite3_mprintf("the content cannot be read: %s", sqlite3_errmsg(table->paged.shadow.db));
    return rc;
}
