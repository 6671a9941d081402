/* SPDX-License-Identifier: MIT */
/*
** front_cursor.c - reading the rows of the content (front.h): the methods from xOpen to xRowid.
*/
#include "front.h"

#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <string.h>

typedef struct front_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *rows;    /* NULL: none yet */
    bool is_row;           /* it is at one */
    sqlite3_value **list;  /* values for the first parameter */
    int listed, next;      /* of these: to be looked up next; below 0: spellings of `number` */
    sqlite3_value *number; /* whose other spellings may be appended to the list; NULL: none */
    int column;            /* of `number` */
    uint64_t most;         /* so many rows have it besides those that were shown, at most */
    cuckoo_calm calm;      /* since the cursor was opened */
} front_cursor;

enum { AS_NUMBER = -2, AS_USUAL = -1 /* in place of `next` */ };

static front_cursor *front_cursor_of(sqlite3_vtab_cursor *base)
{
    return (front_cursor *)base;
}

static cuckoo_front *front_of(const front_cursor *cursor)
{
    return cuckoo_table_of(cursor->base.pVtab)->front;
}

/* ---- asking the filter ---- */

/* In how many rows may the key (NULL: any) be, as the filter says? Only an unusual one is counted. *can:
** it could be asked. Otherwise it is not asked for a while, because that may take long. An error is one
** of the whole statement. */
static int ask(front_cursor *cursor, sqlite3_value *key, uint32_t plan, uint64_t *most, bool *can)
{
    const char *why;
    uint64_t hash, count = UINT64_MAX;
    bool has = true;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    enum { SKIPS = 1000 };
    *can = false;
    *most = UINT64_MAX;
    if (table->front->skip > 0) {
        table->front->skip--;
        return SQLITE_OK;
    }
    cuckoo_store *store = table;
    if (store == NULL)
        return SQLITE_NOMEM;
    int rc = SQLITE_OK;
    if (!cuckoo_store_is_calm(store, &cursor->calm)) {
        cuckoo_registry_join_writer(table->registry, store);
        rc = cuckoo_store_begin(store, CUCKOO_INSPECT, &why);
        cuckoo_store_calm(store, &cursor->calm);
        cursor->calm.is &= rc == SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        rc = key ? cuckoo_table_has(store, key, &hash, &has) : SQLITE_OK;
        rc = rc == SQLITE_OK && key && has && cuckoo_front_unusual(plan, 0, key)
                 ? cuckoo_table_most(store, key, &count)
                 : rc;
        rc = cuckoo_first_error(rc, cuckoo_store_end(store));
    }
    *can = rc == SQLITE_OK;
    table->front->skip = *can ? 0 : SKIPS;
    if (*can && !cuckoo_store_is_early(store))
        *most = has ? count : 0;
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
}

/* ---- statements ---- */

/* The statement is kept, in place of another one when there are many. */
static void give_back(front_cursor *cursor)
{
    int i = 0;
    cuckoo_front *front = front_of(cursor);
    if (cursor->rows == NULL)
        return;
    sqlite3_reset(cursor->rows);
    sqlite3_clear_bindings(cursor->rows);
    while (i < CUCKOO_KEPT && front->kept[i])
        i++;
    if (i == CUCKOO_KEPT)
        i = front->next++ % CUCKOO_KEPT;
    sqlite3_finalize(front->kept[i]);
    front->kept[i] = cursor->rows;
    cursor->rows = NULL;
}

static int fail(front_cursor *cursor, int rc)
{
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    sqlite3 *db = table->registry->db;
    return cuckoo_say(&table->base.zErrMsg, cuckoo_sql_code(db, rc), "%s", sqlite3_errmsg(db));
}

static bool has_text(sqlite3_stmt *rows, const char *text)
{
    return rows && strcmp(sqlite3_sql(rows), text) == 0;
}

/* The cursor gets the statement of this text: the one that it has, one that is kept, or a new one. */
static int take_statement(front_cursor *cursor, const char *text)
{
    int i = 0;
    cuckoo_front *front = front_of(cursor);
    sqlite3 *db = cuckoo_table_of(cursor->base.pVtab)->registry->db;
    if (has_text(cursor->rows, text))
        return SQLITE_OK;
    give_back(cursor);
    while (i < CUCKOO_KEPT && !has_text(front->kept[i], text))
        i++;
    if (i < CUCKOO_KEPT) {
        cursor->rows = front->kept[i];
        front->kept[i] = NULL;
        return SQLITE_OK;
    }
    int rc = sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &cursor->rows, NULL);
    return rc == SQLITE_OK ? rc : fail(cursor, rc);
}

/* ---- several values for the first parameter ---- */

static void drop_values(front_cursor *cursor)
{
    sqlite3_value_free(cursor->number);
    cursor->number = NULL;
    for (int i = 0; i < cursor->listed; i++)
        sqlite3_value_free(cursor->list[i]);
    sqlite3_free(cursor->list);
    cursor->list = NULL;
    cursor->listed = cursor->next = 0;
}

static int append_value(front_cursor *cursor, sqlite3_value *value)
{
    int n = cursor->listed;
    if ((n & (n - 1)) == 0) {
        sqlite3_value **more = sqlite3_realloc64(cursor->list, (n ? 2 * (uint64_t)n : 1) * sizeof *more);
        if (more == NULL)
            return SQLITE_NOMEM;
        cursor->list = more;
    }
    cursor->list[n] = sqlite3_value_dup(value);
    cursor->listed += cursor->list[n] != NULL;
    return cursor->list[n] ? SQLITE_OK : SQLITE_NOMEM;
}

/* Keeps the values of an IN that may be there. An unusual one may be equal to a text that is a value,
** too: then the condition is dropped, and each row is looked at once. */
static int read_list(front_cursor *cursor, uint32_t plan, sqlite3_value *all, uint32_t *dropped)
{
    bool can;
    uint64_t most = UINT64_MAX;
    sqlite3_value *value = NULL;
    int rc = cuckoo_late_vtab_in_first(all, &value);
    for (; rc == SQLITE_OK && value; rc = rc ? rc : cuckoo_late_vtab_in_next(all, &value)) {
        if (cuckoo_front_unusual(plan, 0, value)) {
            *dropped = 1;
            drop_values(cursor);
            return SQLITE_OK;
        }
        if (sqlite3_value_type(value) == SQLITE_NULL)
            continue;
        if (plan & CUCKOO_ASKS)
            rc = ask(cursor, value, plan, &most, &can);
        if (rc == SQLITE_OK && most > 0)
            rc = append_value(cursor, value);
    }
    cursor->most = cursor->listed > 0 ? UINT64_MAX : 0;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* In a column of TEXT no number is stored: it would find the usual spelling once more. */
static int take_number(front_cursor *cursor, int column, sqlite3_value *number)
{
    cursor->number = sqlite3_value_dup(number);
    cursor->column = column;
    cursor->next = front_of(cursor)->column[column].text ? AS_USUAL : AS_NUMBER;
    return cursor->number ? SQLITE_OK : SQLITE_NOMEM;
}

static int list_others(front_cursor *cursor)
{
    int at;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    int rc = cuckoo_front_others(table, cursor->column, cursor->number, &at);
    for (; rc == SQLITE_OK && at >= 0; at = table->front->others.all[at].next)
        rc = append_value(cursor, table->front->others.all[at].text);
    return rc;
}

/* Binds what is to be looked up next. *any: there is something. */
static int bind_next(front_cursor *cursor, bool *any)
{
    int n = cursor->next++, rc = SQLITE_OK;
    *any = true;
    if (n == AS_NUMBER)
        return sqlite3_bind_value(cursor->rows, 1, cursor->number);
    if (n == AS_USUAL)
        return cuckoo_front_bind_usual(cursor->rows, cursor->number);
    if (n == 0 && cursor->number && cursor->most > 0)
        rc = list_others(cursor);
    *any = rc == SQLITE_OK && n < cursor->listed;
    return *any ? sqlite3_bind_value(cursor->rows, 1, cursor->list[n]) : rc;
}

/* ---- rows ---- */

static int step(front_cursor *cursor)
{
    int rc;
    bool any;
    cursor->is_row = false;
    while ((rc = sqlite3_step(cursor->rows)) == SQLITE_DONE) {
        sqlite3_reset(cursor->rows);
        rc = bind_next(cursor, &any);
        if (!any || rc != SQLITE_OK)
            return rc == SQLITE_OK ? rc : fail(cursor, rc);
    }
    cursor->is_row = rc == SQLITE_ROW;
    cursor->most -= cursor->most > 0 && cursor->most < UINT64_MAX;
    return cursor->is_row ? SQLITE_OK : fail(cursor, rc);
}

int cuckoo_front_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    front_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    cuckoo_table_of(base)->front->cursors++;
    *result = &cursor->base;
    return SQLITE_OK;
}

/* Many spellings take memory: they serve one query only. */
int cuckoo_front_close(sqlite3_vtab_cursor *base)
{
    enum { MANY = 10000 };
    cuckoo_front *front = front_of(front_cursor_of(base));
    give_back(front_cursor_of(base));
    drop_values(front_cursor_of(base));
    if (--front->cursors == 0 && front->others.n > MANY)
        cuckoo_front_forget(front);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* Runs the statement, without the conditions of `dropped`. */
static int start(front_cursor *cursor, const char *text, uint32_t dropped, int argc,
                 sqlite3_value **argv)
{
    bool any = cursor->number || cursor->listed;
    char *wide = dropped ? cuckoo_front_widen(front_of(cursor), text, dropped) : NULL;
    int rc = dropped && wide == NULL ? SQLITE_NOMEM : take_statement(cursor, wide ? wide : text);
    sqlite3_free(wide);
    if (rc == SQLITE_OK && any)
        rc = bind_next(cursor, &any);
    for (int i = any; rc == SQLITE_OK && i < argc; i++)
        rc = sqlite3_bind_value(cursor->rows, i + 1, argv[i]);
    return rc == SQLITE_OK ? step(cursor) : rc;
}

/* What the first argument says before the content is asked: how many rows there may be. */
static int look_at_first(front_cursor *cursor, uint32_t plan, sqlite3_value *value, uint32_t *dropped,
                         bool *can)
{
    if (plan & CUCKOO_LIST)
        return read_list(cursor, plan, value, dropped);
    if (sqlite3_value_type(value) == SQLITE_NULL)
        cursor->most = plan & CUCKOO_ASKS && !(plan & CUCKOO_NULL) ? 0 : UINT64_MAX;
    else if (plan & CUCKOO_ASKS)
        return ask(cursor, value, plan, &cursor->most, can);
    return SQLITE_OK;
}

/* While a transaction writes, and triggers do not tell of it, SQLite may be writing the content and not
** know that it is read here: then all rows are read, and sorted, before the first one is shown. Nor are
** spellings kept: a rollback is not noticed. */
int cuckoo_front_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                        sqlite3_value **argv)
{
    bool can = false;
    uint64_t most;
    uint32_t plan = (uint32_t)number, dropped = 0, spelled = plan >> CUCKOO_SPELLED;
    front_cursor *cursor = front_cursor_of(base);
    cuckoo_table *table = cuckoo_table_of(base->pVtab);
    if (cursor->is_row)
        sqlite3_reset(cursor->rows);
    cursor->is_row = false;
    drop_values(cursor);
    cursor->most = UINT64_MAX;
    int rc = argc > 0 ? look_at_first(cursor, plan, argv[0], &dropped, &can) : SQLITE_OK;
    if (rc != SQLITE_OK || cursor->most == 0)
        return rc;
    for (int i = plan & CUCKOO_LIST ? 1 : 0; i < argc; i++)
        dropped |= (uint32_t)cuckoo_front_unusual(plan, i, argv[i]) << i;
    bool writes = !can && cuckoo_shadow_in_transaction(&table->paged.shadow, true);
    if (writes && cuckoo_sql_running(table->registry->db, true) > 0) {
        rc = ask(cursor, NULL, plan, &most, &can);
        dropped |= can ? 0 : CUCKOO_SORTS;
    }
    if (rc == SQLITE_OK && dropped & 1 && spelled && (can || !writes) &&
        cuckoo_front_is_spelled(argv[0])) {
        rc = take_number(cursor, (int)spelled - 1, argv[0]);
        dropped &= ~1u;
    }
    if (rc != SQLITE_OK)
        return rc;
    return start(cursor, text, dropped, argc, argv);
}

int cuckoo_front_next(sqlite3_vtab_cursor *base)
{
    return step(front_cursor_of(base));
}

int cuckoo_front_eof(sqlite3_vtab_cursor *base)
{
    return !front_cursor_of(base)->is_row;
}

/* ---- columns ---- */

/* Makes the key of a row WITHOUT ROWID the result, in one column. */
static void result_key(const cuckoo_front *front, sqlite3_stmt *rows, sqlite3_context *context)
{
    sqlite3_str *id = sqlite3_str_new(NULL);
    cuckoo_key kind = CUCKOO_KEY_OK;
    for (int i = 0; i < front->columns && kind != CUCKOO_KEY_NOMEM; i++)
        if (front->column[i].key)
            kind = cuckoo_key_append(id, sqlite3_column_value(rows, 1 + i));
    int n = sqlite3_str_length(id);
    char *bytes = sqlite3_str_finish(id);
    if (bytes && kind != CUCKOO_KEY_NOMEM)
        sqlite3_result_blob(context, bytes, n, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_nomem(context);
    sqlite3_free(bytes);
}

int cuckoo_front_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    sqlite3_stmt *rows = front_cursor_of(base)->rows;
    const cuckoo_front *front = front_of(front_cursor_of(base));
    if (front->keyed && column == front->columns - 1 + COLUMN_ID)
        result_key(front, rows, context);
    else if (column < front->columns)
        sqlite3_result_value(context, sqlite3_column_value(rows, 1 + column));
    return SQLITE_OK;
}

int cuckoo_front_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = sqlite3_column_int64(front_cursor_of(base)->rows, 0);
    return SQLITE_OK;
}
