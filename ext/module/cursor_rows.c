/* SPDX-License-Identifier: MIT */
#include "module.h"

#include "../sqlite/sql.h"

#include <string.h>

/* Keeps the key for xColumn, which SQLite seldom calls: a join reads the column only to compare it. So a
** text is copied into a buffer that the cursor reuses; sqlite3_value_dup allocates twice. */
int cuckoo_rows_keep(cuckoo_cursor *cursor, sqlite3_value *key)
{
    cursor->type = sqlite3_value_type(key);
    if (cursor->type == SQLITE_INTEGER)
        cursor->integer = sqlite3_value_int64(key);
    else if (cursor->type == SQLITE_FLOAT)
        cursor->real = sqlite3_value_double(key);
    if (cursor->type == SQLITE_INTEGER || cursor->type == SQLITE_FLOAT)
        return SQLITE_OK;
    const void *bytes = cursor->type == SQLITE_TEXT ? sqlite3_value_text(key) : sqlite3_value_blob(key);
    cursor->length = sqlite3_value_bytes(key);
    if (bytes == NULL && (cursor->type == SQLITE_TEXT || cursor->length > 0))
        return SQLITE_NOMEM;
    if (cursor->length >= cursor->room) {
        char *longer = sqlite3_realloc64(cursor->bytes, (uint64_t)cursor->length + 1);
        if (longer == NULL)
            return SQLITE_NOMEM;
        cursor->bytes = longer;
        cursor->room = cursor->length + 1;
    }
    if (cursor->length > 0)
        memcpy(cursor->bytes, bytes, (size_t)cursor->length);
    return SQLITE_OK;
}

static int cannot_read(cuckoo_table *table, int rc)
{
    return cuckoo_table_fail(table, cuckoo_sql_code(table->registry->db, rc),
                             "%s(%s) cannot be read: %s", table->follow.table, table->follow.column,
                             sqlite3_errmsg(table->registry->db));
}

int cuckoo_rows_read(cuckoo_table *table, cuckoo_cursor *cursor)
{
    int rc;
    do
        rc = sqlite3_step(cursor->keys);
    while (rc == SQLITE_ROW && sqlite3_column_type(cursor->keys, 0) == SQLITE_NULL);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
        cursor->rows = cursor->at + (rc == SQLITE_ROW);
        return SQLITE_OK;
    }
    cursor->rows = cursor->at;
    return cannot_read(table, rc);
}

int cuckoo_rows_list(cuckoo_table *table, cuckoo_cursor *cursor)
{
    int rc = cuckoo_follow_keys(&table->follow, &table->paged.shadow, -1, &cursor->keys);
    return rc == SQLITE_OK ? cuckoo_rows_read(table, cursor) : rc;
}

/* With rowids=on: the statement for the keys and rowids of the content whose `column` is ?1. */
static int prepare_rows(const cuckoo_table *table, sqlite3_stmt **rows, const char *column)
{
    const cuckoo_follow *follow = &table->follow;
    return cuckoo_sql_prepare(
        table->registry->db, rows, "SELECT c.\"%w\", c.%s FROM \"%w\".\"%w\" AS c WHERE c.\"%w\" = ?1",
        follow->column, follow->rowid, table->paged.shadow.schema, follow->table, column);
}

/* The rows that are equal to the key. */
static int list_equal(cuckoo_table *table, cuckoo_cursor *cursor, sqlite3_value *key)
{
    int rc = prepare_rows(table, &cursor->keys, table->follow.column);
    rc = rc ? rc : cuckoo_sql_bind(cursor->keys, 1, key);
    return rc == SQLITE_OK ? cuckoo_rows_read(table, cursor) : rc;
}

int cuckoo_rows_own(cuckoo_table *table, cuckoo_cursor *cursor, sqlite3_value **key)
{
    *key = cursor->keys ? sqlite3_column_value(cursor->keys, 0) : NULL;
    if (*key)
        return SQLITE_OK;
    int rc = cursor->own_of ? SQLITE_OK : prepare_rows(table, &cursor->own_of, table->follow.rowid);
    if (rc != SQLITE_OK)
        return cannot_read(table, rc);
    sqlite3_bind_int64(cursor->own_of, 1, (sqlite3_int64)cursor->pairs.at[cursor->at].hash);
    if (sqlite3_step(cursor->own_of) == SQLITE_ROW)
        *key = sqlite3_column_value(cursor->own_of, 0);
    return SQLITE_OK;
}

int cuckoo_rows_end_own(cuckoo_table *table, cuckoo_cursor *cursor)
{
    int rc = sqlite3_reset(cursor->own_of);
    return rc == SQLITE_OK ? rc : cannot_read(table, rc);
}

int cuckoo_rows_own_result(cuckoo_table *table, cuckoo_cursor *cursor, sqlite3_context *context)
{
    sqlite3_value *key;
    int rc = cuckoo_rows_own(table, cursor, &key);
    if (rc != SQLITE_OK)
        return rc;
    if (key)
        sqlite3_result_value(context, key);
    return cuckoo_rows_end_own(table, cursor);
}

int cuckoo_rows_of_key(cuckoo_table *table, cuckoo_cursor *cursor, int plan, sqlite3_value *key,
                       bool *all)
{
    bool at_hand = cuckoo_table_is_at_hand(table), list = plan & ROWS_LIST;
    cf_geometry logged, *rule = at_hand ? &table->paged.filter.geometry : &logged;
    int rc = at_hand ? SQLITE_OK : cuckoo_table_rule(table, &logged);
    cuckoo_key kind =
        rc == SQLITE_OK ? cuckoo_key_read(key, rule, false, &cursor->hash) : CUCKOO_KEY_NULL;
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : rc;
    bool again = cuckoo_rows_compared(table, plan / ROWS_COLLATION);
    if (table->asks_content || cuckoo_key_always(rule, key)) {
        *all = list ||
               (again && (!table->asks_content || cuckoo_content_converts(&table->follow.content, key)));
        return *all ? cuckoo_rows_list(table, cursor) : list_equal(table, cursor, key);
    }
    rc = cuckoo_rows_find(&table->net, &table->paged, cursor->hash, &cursor->pairs);
    cursor->rows = rc == SQLITE_OK ? cursor->pairs.n : 0;
    if (list || cursor->rows == 0 || !(plan & ROWS_WANT_KEY))
        return rc;
    /* SQLite must compare with the key of each row if several keys have this hash. */
    int type = again ? sqlite3_value_type(key) : sqlite3_value_numeric_type(key);
    cursor->own =
        again && (type == SQLITE_INTEGER || type == SQLITE_FLOAT || cuckoo_key_is_numeric(key) ||
                  plan / ROWS_COLLATION != table->paged.filter.geometry.collation);
    return cursor->own ? SQLITE_OK : cuckoo_rows_keep(cursor, key);
}

int cuckoo_rows_of_list(cuckoo_table *table, cuckoo_cursor *cursor, int plan, sqlite3_value *list)
{
    bool all = false;
    cuckoo_rows rows = {0};
    sqlite3_value *key = NULL;
    int rc = cuckoo_compat_vtab_in_first(list, &key);
    while (rc == SQLITE_OK && key && !all) {
        cursor->pairs.n = 0;
        rc = cuckoo_rows_of_key(table, cursor, plan, key, &all);
        for (size_t i = 0; rc == SQLITE_OK && i < cursor->pairs.n; i++)
            rc = cuckoo_rows_push(&rows, cursor->pairs.at[i].hash, 0);
        rc = rc ? rc : cuckoo_compat_vtab_in_next(list, &key);
    }
    rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    if (all || rc != SQLITE_OK || cf_sort_pairs(rows.at, rows.n, NULL) != CF_OK) {
        sqlite3_free(rows.at);
        return all || rc ? rc : SQLITE_NOMEM;
    }
    sqlite3_free(cursor->pairs.at);
    rows.n = cf_drop_repeated_pairs(rows.at, rows.n);
    cursor->pairs = rows;
    cursor->rows = rows.n;
    cursor->own = cursor->listed = true;
    return SQLITE_OK;
}
