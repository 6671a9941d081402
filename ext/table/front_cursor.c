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
    cuckoo_way *plan;
    sqlite3_stmt *rows;   /* for `plan` and `unusual`; NULL: none yet */
    uint32_t unusual;     /* cuckoo_way_sql */
    bool active, is_row;  /* `rows` runs; it is at a row */
    sqlite3_int64 at;     /* how many rows were shown, for tables of which the rowid has no name */
    sqlite3_value **list; /* values for `argument`; those from `next` on are still to be looked up */
    int listed, next, argument;
    sqlite3_value *number; /* is looked up in its spellings; NULL: nothing is */
    enum { AS_NUMBER, AS_USUAL, AS_OTHERS } spelled; /* how `rows` looks it up */
    uint64_t most;                                   /* so many rows have it, at most */
    bool trusted;                                    /* and the filter can be relied on */
} front_cursor;

static front_cursor *front_cursor_of(sqlite3_vtab_cursor *base)
{
    return (front_cursor *)base;
}

static cuckoo_front *front_of(const front_cursor *cursor)
{
    return cuckoo_table_of(cursor->base.pVtab)->front;
}

/* ---- asking the filter ---- */

/* Does the filter say that the key (NULL: any) may be there, and in how many rows (`most`, if that is
** asked)? *can: it could be asked. Otherwise it is not asked for a while, because that may take long. An
** error is one of the whole statement. */
static int ask(cuckoo_table *table, sqlite3_value *key, bool *has, bool *can, uint64_t *most)
{
    const char *why;
    uint64_t hash;
    cuckoo_front *front = table->front;
    enum { MOST_SKIPS = 1023 };
    *has = true;
    *can = false;
    if (front->skip > 0) {
        front->skip--;
        return SQLITE_OK;
    }
    cuckoo_store *store = cuckoo_table_store(table);
    if (store == NULL)
        return SQLITE_NOMEM;
    cuckoo_registry_join_writer(table->registry, store);
    int rc = cuckoo_store_begin(store, CUCKOO_LIST, &why);
    if (rc == SQLITE_OK) {
        rc = key ? cuckoo_table_has(store, key, &hash, has) : SQLITE_OK;
        rc = rc == SQLITE_OK && most && *has ? cuckoo_table_most(store, key, most) : rc;
        /* A trigger may ask for the row for which it runs. */
        *has |= store->follow.preceded && cuckoo_sql_running(table->registry->db, true) > 0;
        rc = cuckoo_first_error(rc, cuckoo_store_end(store));
    }
    *can = rc == SQLITE_OK;
    front->skips = *can ? 0 : front->skips < MOST_SKIPS ? 2 * front->skips + 1 : MOST_SKIPS;
    front->skip = front->skips;
    *has |= !*can;
    return cuckoo_sql_rolls_back(rc) && store->state.life != CUCKOO_BROKEN ? rc : SQLITE_OK;
}

/* ---- statements ---- */

static void drop_kept(cuckoo_front *front)
{
    for (int i = 0; i < front->plans; i++) {
        sqlite3_finalize(front->plan[i]->idle);
        front->plan[i]->idle = NULL;
    }
    front->kept = 0;
}

/* The statement for the usual types is kept. */
static void give_back(front_cursor *cursor)
{
    enum { MOST_KEPT = 32 };
    cuckoo_front *front = front_of(cursor);
    bool keeps = cursor->rows && !cursor->unusual && cursor->plan->idle == NULL;
    if (keeps && front->kept == MOST_KEPT)
        drop_kept(front);
    if (keeps) {
        sqlite3_reset(cursor->rows);
        sqlite3_clear_bindings(cursor->rows);
        cursor->plan->idle = cursor->rows;
        front->kept++;
    } else {
        sqlite3_finalize(cursor->rows);
    }
    cursor->rows = NULL;
    cursor->active = false;
}

static int fail(front_cursor *cursor, int rc)
{
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    sqlite3 *db = table->registry->db;
    return cuckoo_say(&table->base.zErrMsg, cuckoo_sql_code(db, rc), "%s", sqlite3_errmsg(db));
}

static int prepare(front_cursor *cursor)
{
    sqlite3 *db = cuckoo_table_of(cursor->base.pVtab)->registry->db;
    char *sql = cuckoo_way_sql(front_of(cursor), cursor->plan, cursor->unusual);
    int rc = sql ? sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &cursor->rows, NULL)
                 : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc == SQLITE_OK ? rc : fail(cursor, rc);
}

/* The cursor gets the statement for this plan. */
static int take_statement(front_cursor *cursor, cuckoo_way *plan, uint32_t unusual)
{
    if (cursor->rows && cursor->plan == plan && cursor->unusual == unusual)
        return SQLITE_OK;
    give_back(cursor);
    cursor->plan = plan;
    cursor->unusual = unusual;
    if (plan->idle == NULL || unusual)
        return prepare(cursor);
    cursor->rows = plan->idle;
    plan->idle = NULL;
    front_of(cursor)->kept--;
    return SQLITE_OK;
}

/* sqlite3_bind_value makes NULL of an empty text or blob that has no bytes to point at; and in 3.31 it
** takes a whole real for what it is not. A parameter may have no place in the statement. */
static int bind(sqlite3_stmt *rows, int argument, sqlite3_value *value)
{
    int type = sqlite3_value_type(value), n = argument + 1;
    bool empty = (type == SQLITE_TEXT || type == SQLITE_BLOB) && sqlite3_value_bytes(value) == 0;
    return n > sqlite3_bind_parameter_count(rows) ? SQLITE_OK
           : type == SQLITE_FLOAT ? sqlite3_bind_double(rows, n, sqlite3_value_double(value))
           : !empty               ? sqlite3_bind_value(rows, n, value)
           : type == SQLITE_TEXT  ? sqlite3_bind_text(rows, n, "", 0, SQLITE_STATIC)
                                  : sqlite3_bind_zeroblob(rows, n, 0);
}

/* ---- a whole IN ---- */

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

/* Keeps the values that may be there. An unusual one may be equal to a text that is a value, too: then
** each row is looked at once. */
static int read_list(front_cursor *cursor, const cuckoo_way *plan, sqlite3_value *all, uint32_t *unusual,
                     bool *has)
{
    sqlite3_value *value = NULL;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    int rc = cuckoo_late_vtab_in_first(all, &value);
    for (; rc == SQLITE_OK && value; rc = rc ? rc : cuckoo_late_vtab_in_next(all, &value)) {
        bool may = sqlite3_value_type(value) != SQLITE_NULL, can;
        if (cuckoo_condition_unusual(table->front, plan->condition[plan->list], value)) {
            *unusual |= 1u << plan->list;
            drop_values(cursor);
            *has = true;
            return SQLITE_OK;
        }
        if (may && plan->asks == plan->list)
            rc = ask(table, value, &may, &can, NULL);
        if (rc == SQLITE_OK && may)
            rc = append_value(cursor, value);
        if (rc != SQLITE_OK)
            return rc;
    }
    *has = cursor->listed > 0;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- the spellings of a number (spellings.h) ---- */

static const cuckoo_shown *asked_column(const front_cursor *cursor)
{
    return &front_of(cursor)->column[cursor->plan->condition[cursor->argument].column];
}

static int list_others(front_cursor *cursor)
{
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    cuckoo_spellings *others = &table->front->spellings;
    int rc =
        cuckoo_spellings_read(others, table->store, table->front->content, asked_column(cursor)->name,
                              cursor->plan->condition[cursor->argument].column, cursor->trusted);
    int at = rc == SQLITE_OK ? cuckoo_spellings_of(others, cursor->number) : -1;
    for (; rc == SQLITE_OK && at >= 0; at = others->all[at].next)
        rc = append_value(cursor, others->all[at].text);
    return rc;
}

static int take_number(front_cursor *cursor, sqlite3_value *number)
{
    cursor->spelled = AS_NUMBER;
    if (cursor->argument != cursor->plan->asks)
        cursor->most = UINT64_MAX;
    cursor->number = sqlite3_value_dup(number);
    return cursor->number ? SQLITE_OK : SQLITE_NOMEM;
}

/* Binds what is to be looked up next. *any: there is something. */
static int bind_next(front_cursor *cursor, bool *any)
{
    int rc = SQLITE_OK;
    *any = true;
    if (cursor->number && cursor->spelled == AS_NUMBER) {
        cursor->spelled = AS_USUAL;
        return cuckoo_number_bind(cursor->rows, cursor->argument + 1, cursor->number);
    }
    if (cursor->number && cursor->spelled == AS_USUAL && (uint64_t)cursor->at < cursor->most)
        rc = list_others(cursor);
    cursor->spelled = AS_OTHERS;
    *any = rc == SQLITE_OK && cursor->next < cursor->listed;
    return *any ? bind(cursor->rows, cursor->argument, cursor->list[cursor->next++]) : rc;
}

/* ---- rows ---- */

static void stop(front_cursor *cursor)
{
    if (cursor->active)
        sqlite3_reset(cursor->rows);
    cursor->active = cursor->is_row = false;
}

static int step(front_cursor *cursor)
{
    int rc;
    for (cursor->active = true; (rc = sqlite3_step(cursor->rows)) == SQLITE_DONE;) {
        bool any;
        stop(cursor);
        rc = bind_next(cursor, &any);
        if (!any)
            return rc == SQLITE_OK ? rc : fail(cursor, rc);
        cursor->active = true;
    }
    cursor->is_row = rc == SQLITE_ROW;
    cursor->at++;
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

int cuckoo_front_close(sqlite3_vtab_cursor *base)
{
    cuckoo_front *front = front_of(front_cursor_of(base));
    give_back(front_cursor_of(base));
    drop_values(front_cursor_of(base));
    if (--front->cursors == 0)
        cuckoo_spellings_end(&front->spellings, cuckoo_table_of(base->pVtab)->registry->db);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* A NULL is no key, and may be there for IS. */
static bool asks_for(const cuckoo_way *plan, sqlite3_value **argv)
{
    return plan->asks >= 0 && sqlite3_value_type(argv[plan->asks]) != SQLITE_NULL;
}

static int start(front_cursor *cursor, cuckoo_way *plan, uint32_t unusual, sqlite3_value **argv)
{
    bool any;
    int rc = take_statement(cursor, plan, unusual);
    for (int i = 0; rc == SQLITE_OK && i < plan->conditions; i++)
        if (i != plan->list)
            rc = bind(cursor->rows, i, argv[i]);
    if (rc == SQLITE_OK && cursor->argument >= 0)
        rc = take_number(cursor, argv[cursor->argument]);
    if (cursor->listed > 0)
        cursor->argument = plan->list;
    /* In a column of TEXT no number is stored. */
    if (rc == SQLITE_OK && (cursor->listed > 0 || (cursor->number && asked_column(cursor)->text)))
        rc = bind_next(cursor, &any);
    cursor->at = 0;
    return rc == SQLITE_OK ? step(cursor) : rc;
}

/* SQLite may be writing the content, and reading it here. When the triggers are there, it is ready for
** that. */
static int look_for_writers(cuckoo_table *table, bool asked, bool can, uint32_t *unusual)
{
    bool has;
    int rc = SQLITE_OK;
    if (can || cuckoo_sql_running(table->registry->db, true) == 0)
        return rc;
    if (!asked)
        rc = ask(table, NULL, &has, &can, NULL);
    if (!can)
        *unusual |= CUCKOO_SORTS;
    return rc;
}

int cuckoo_front_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                        sqlite3_value **argv)
{
    front_cursor *cursor = front_cursor_of(base);
    cuckoo_table *table = cuckoo_table_of(base->pVtab);
    cuckoo_way *plan = table->front->plan[number];
    uint32_t unusual;
    bool has = true, can = false;
    int rc = SQLITE_OK;
    (void)text, (void)argc;
    stop(cursor);
    drop_values(cursor);
    cursor->most = UINT64_MAX;
    if (!cuckoo_way_fits(table->front, plan, argv, &unusual))
        return SQLITE_OK;
    if (plan->list >= 0)
        rc = read_list(cursor, plan, argv[plan->list], &unusual, &has);
    else if (asks_for(plan, argv))
        rc = ask(table, argv[plan->asks], &has, &can, unusual >> plan->asks & 1 ? &cursor->most : NULL);
    if (rc != SQLITE_OK || !has)
        return rc;
    cursor->trusted = can;
    rc = look_for_writers(table, plan->asks >= 0 && plan->list < 0, can, &unusual);
    cursor->argument = rc == SQLITE_OK && unusual ? cuckoo_way_number(plan, argv, &unusual) : -1;
    return rc == SQLITE_OK ? start(cursor, plan, unusual, argv) : rc;
}

int cuckoo_front_next(sqlite3_vtab_cursor *base)
{
    front_cursor *cursor = front_cursor_of(base);
    if (!cursor->plan->once || cursor->unusual || cursor->number)
        return step(cursor);
    stop(cursor);
    return SQLITE_OK;
}

int cuckoo_front_eof(sqlite3_vtab_cursor *base)
{
    return !front_cursor_of(base)->is_row;
}

/* ---- columns ---- */

int cuckoo_front_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    front_cursor *cursor = front_cursor_of(base);
    const cuckoo_front *front = front_of(cursor);
    if (column >= front->columns)
        return front->keyed && column - front->columns + 1 == COLUMN_ID
                   ? cuckoo_front_result_key(front, cursor->plan, cursor->rows, context)
                   : SQLITE_OK;
    int place = cursor->plan->place[column];
    if (place >= 0)
        sqlite3_result_value(context, sqlite3_column_value(cursor->rows, place));
    return SQLITE_OK;
}

int cuckoo_front_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const front_cursor *cursor = front_cursor_of(base);
    *rowid = front_of(cursor)->rowid ? sqlite3_column_int64(cursor->rows, 0) : cursor->at;
    return SQLITE_OK;
}
