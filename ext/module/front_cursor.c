/* SPDX-License-Identifier: MIT */
/*
** front_cursor.c - reading the rows of the content (front.h): the methods from xOpen to xRowid.
*/
#include "front.h"

#include "../../src/base/bits.h"

#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <string.h>

static front_cursor *front_cursor_of(sqlite3_vtab_cursor *base)
{
    return (front_cursor *)base;
}

static cuckoo_front *front_of(const front_cursor *cursor)
{
    return cuckoo_table_of(cursor->base.pVtab)->front;
}

/* ---- asking the filter ---- */

/* EXISTS opens a cursor for each row. What another cursor has found holds for this one, too, if the
** transaction is still the same, or another one in which nobody has committed anything. */
static CF_ALWAYS_INLINE bool is_calm(front_cursor *cursor, cuckoo_table *table)
{
    unsigned version;
    cuckoo_front *front = table->front;
    if (!cursor->looked && front->calm.is &&
        sqlite3_txn_state(table->registry->db, NULL) == SQLITE_TXN_READ &&
        cuckoo_shadow_version(&table->paged.shadow, &version) == SQLITE_OK)
        cursor->looked = version == front->version;
    return cursor->looked && cuckoo_table_is_calm(table, &front->calm);
}

static int begin(front_cursor *cursor, cuckoo_table *table)
{
    cuckoo_front *front = table->front;
    front->calm.is = false;
    int rc = cuckoo_registry_use(table, CUCKOO_INSPECT);
    if (rc != SQLITE_OK)
        return rc;
    cuckoo_table_calm(table, &front->calm);
    cursor->looked = cuckoo_shadow_version(&table->paged.shadow, &front->version) == SQLITE_OK;
    return SQLITE_OK;
}

/* In how many rows is the key, at most? Only an unusual one is counted, unless it is vague
** (cuckoo_key.h). */
static int look_up(cuckoo_table *table, sqlite3_value *key, uint32_t plan, uint64_t *most)
{
    bool has;
    uint64_t hash;
    int64_t copies = 0;
    cf_geometry rule;
    int rc = cuckoo_table_has_value(table, key, &hash, &has);
    *most = has ? UINT64_MAX : 0;
    if (rc != SQLITE_OK || !has || !cuckoo_front_unusual(plan, 0, key))
        return rc;
    rc = cuckoo_table_rule(table, &rule);
    if (rc != SQLITE_OK || cuckoo_key_always(&rule, key))
        return rc;
    rc = cuckoo_table_most(table, hash, &copies);
    *most = copies > 0 ? (uint64_t)copies : 0;
    return rc;
}

/* In how many rows may the key (NULL: any) be, as the filter says? If it cannot be used, it is not asked
** for a while, because that may take long. An error is one of the whole statement. */
static int ask(front_cursor *cursor, sqlite3_value *key, uint32_t plan, uint64_t *most)
{
    enum { SKIPS = 1000 };
    int rc = SQLITE_OK;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    *most = UINT64_MAX;
    if (!is_calm(cursor, table)) {
        if (table->front->skip > 1) {
            table->front->skip--;
            return SQLITE_OK;
        }
        rc = begin(cursor, table);
    }
    if (rc == SQLITE_OK) {
        rc = key ? look_up(table, key, plan, most) : SQLITE_OK;
        if (!cuckoo_table_is_quiet(table))
            rc = cuckoo_first_error(rc, cuckoo_table_end(table));
    }
    table->front->skip = rc == SQLITE_OK ? 0 : SKIPS;
    if (rc != SQLITE_OK || cuckoo_table_is_early(table))
        *most = UINT64_MAX;
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
}

/* The same for most rows of a join, with few instructions: is the key not there? */
static inline bool is_denied(front_cursor *cursor, sqlite3_value *key)
{
    uint64_t hash;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    const cf_geometry *geometry = &table->paged.filter.geometry;
    return cuckoo_table_is_at_hand(table) && !table->follow.preceded && is_calm(cursor, table) &&
           cuckoo_key_hash(key, geometry, &hash) == CUCKOO_KEY_OK &&
           !cf_contains(&table->paged.reader, hash) && !cuckoo_key_always(geometry, key);
}

/* ---- several values for the first parameter ---- */

/* Keeps the values of an IN that may be there. An unusual one may be equal to a text that is a value,
** too: then the condition is dropped, and each row is looked at once. */
static int read_list(front_cursor *cursor, uint32_t plan, sqlite3_value *all, uint32_t *dropped)
{
    uint64_t most = UINT64_MAX;
    sqlite3_value *value = NULL;
    int rc = cuckoo_compat_vtab_in_first(all, &value);
    for (; rc == SQLITE_OK && value; rc = rc ? rc : cuckoo_compat_vtab_in_next(all, &value)) {
        if (cuckoo_front_unusual(plan, 0, value)) {
            *dropped = 1;
            cuckoo_values_free(&cursor->list);
            return SQLITE_OK;
        }
        if (sqlite3_value_type(value) == SQLITE_NULL)
            continue;
        if (plan & CUCKOO_ASKS)
            rc = ask(cursor, value, plan, &most);
        if (rc == SQLITE_OK && most > 0)
            rc = cuckoo_values_add(&cursor->list, value);
    }
    cursor->most = cursor->list.n > 0 ? UINT64_MAX : 0;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Binds what is to be looked up next: a value of the list; or the number, its usual spelling, and the
** others, unless all rows were found. *any: there is something. */
static int bind_next(front_cursor *cursor, bool *any)
{
    int n = cursor->next++ - cursor->spells, rc = SQLITE_OK;
    cuckoo_values *list = &cursor->list;
    *any = true;
    if (cursor->spells && n == 0)
        return cuckoo_front_bind_usual(cursor->rows, list->all[0]);
    if (cursor->spells && n == 1 && cursor->most > 0)
        rc =
            cuckoo_front_others(cuckoo_table_of(cursor->base.pVtab), cursor->column, list->all[0], list);
    n = n < 0 ? 0 : n;
    *any = rc == SQLITE_OK && n < list->n;
    return *any ? cuckoo_sql_bind(cursor->rows, 1, list->all[n]) : rc;
}

/* ---- rows ---- */

static int fail(front_cursor *cursor, int rc)
{
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    sqlite3 *db = table->registry->db;
    return cuckoo_say(&table->base.zErrMsg, cuckoo_sql_code(db, rc), "%s", cuckoo_sql_message(db, rc));
}

static bool has_text(sqlite3_stmt *rows, const char *text)
{
    return rows && strcmp(sqlite3_sql(rows), text) == 0;
}

/* The cursor gets the statement of this text: the one that it has, that of a cursor that is kept, or a
** new one. */
static int take_statement(front_cursor *cursor, const char *text)
{
    int i = 0;
    cuckoo_front *front = front_of(cursor);
    sqlite3_stmt *own = cursor->rows;
    if (has_text(own, text))
        return SQLITE_OK;
    while (i < CUCKOO_KEPT && !(front->kept[i] && has_text(front->kept[i]->rows, text)))
        i++;
    if (i < CUCKOO_KEPT) {
        cursor->rows = front->kept[i]->rows;
        front->kept[i]->rows = own;
        return SQLITE_OK;
    }
    sqlite3_finalize(own);
    cursor->rows = NULL;
    return sqlite3_prepare_v3(cuckoo_table_of(cursor->base.pVtab)->registry->db, text, -1,
                              SQLITE_PREPARE_PERSISTENT, &cursor->rows, NULL);
}

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

/* Lets go of what the run before has left. */
static void stop(front_cursor *cursor)
{
    if (cursor->is_row)
        sqlite3_reset(cursor->rows);
    if (cursor->list.all)
        cuckoo_values_free(&cursor->list);
    cursor->is_row = cursor->spells = false;
    cursor->next = 0;
    cursor->most = UINT64_MAX;
}

/* Runs the statement, without the conditions of `dropped`. */
static int start(front_cursor *cursor, const char *text, uint32_t dropped, int argc,
                 sqlite3_value **argv)
{
    bool any = cursor->list.n > 0;
    bool widens = dropped || front_of(cursor)->moved;
    char *wide = widens ? cuckoo_front_widen(front_of(cursor), text, dropped) : NULL;
    int rc = widens && wide == NULL ? SQLITE_NOMEM : take_statement(cursor, wide ? wide : text);
    sqlite3_free(wide);
    if (rc == SQLITE_OK && any)
        rc = bind_next(cursor, &any);
    for (int i = any; rc == SQLITE_OK && i < argc; i++)
        rc = cuckoo_sql_bind(cursor->rows, i + 1, argv[i]);
    return rc == SQLITE_OK ? step(cursor) : fail(cursor, rc);
}

/* While a transaction writes, and triggers do not tell of it, SQLite may be writing the content and not
** know that it is read here: then all rows are read, and sorted, before the first one is shown. Nor are
** spellings kept: a rollback is not noticed. In a column of TEXT no number is stored: it would find the
** usual spelling once more. */
static int drop_conditions(front_cursor *cursor, uint32_t plan, int argc, sqlite3_value **argv,
                           uint32_t *dropped)
{
    uint64_t most;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    int column = (int)(plan >> CUCKOO_SPELLED) - 1;
    bool writes = cuckoo_shadow_in_transaction(&table->paged.shadow, true);
    int rc = writes ? ask(cursor, NULL, plan, &most) : SQLITE_OK;
    bool untold = writes && table->front->skip > 0;
    for (int i = plan & CUCKOO_LIST ? 1 : 0; i < argc; i++)
        *dropped |= (uint32_t)cuckoo_front_unusual(plan, i, argv[i]) << i;
    if (untold && cuckoo_sql_running(table->registry->db, true) > 0)
        *dropped |= CUCKOO_SORTS;
    if (rc != SQLITE_OK || !(*dropped & 1) || column < 0 || untold || !cuckoo_front_is_spelled(argv[0]))
        return rc;
    *dropped &= ~1u;
    cursor->spells = true;
    cursor->column = column;
    cursor->next = cuckoo_front_shown(table->front, column)->text;
    return cuckoo_values_add(&cursor->list, argv[0]);
}

/* ---- methods ---- */

/* A cursor that is kept has the statement that it ran last. */
int cuckoo_front_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    cuckoo_front *front = cuckoo_table_of(base)->front;
    int rc = CUCKOO_LOOKS_LATE ? cuckoo_front_look(cuckoo_table_of(base)) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    front_cursor **kept = &front->kept[front->next % CUCKOO_KEPT], *cursor = *kept;
    *kept = NULL;
    if (cursor == NULL) {
        cursor = sqlite3_malloc64(sizeof *cursor);
        if (cursor == NULL)
            return SQLITE_NOMEM;
        memset(cursor, 0, sizeof *cursor);
    }
    cursor->looked = false;
    *result = &cursor->base;
    return SQLITE_OK;
}

int cuckoo_front_close(sqlite3_vtab_cursor *base)
{
    front_cursor *cursor = front_cursor_of(base);
    cuckoo_front *front = front_of(cursor);
    front_cursor **kept = &front->kept[front->next++ % CUCKOO_KEPT];
    stop(cursor);
    if (cursor->rows) { /* after an error it was not reset yet */
        sqlite3_reset(cursor->rows);
        sqlite3_clear_bindings(cursor->rows);
    }
    cuckoo_front_free_cursor(*kept);
    *kept = cursor;
    return SQLITE_OK;
}

int cuckoo_front_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                        sqlite3_value **argv)
{
    int rc = SQLITE_OK;
    uint32_t plan = (uint32_t)number, dropped = 0;
    front_cursor *cursor = front_cursor_of(base);
    stop(cursor);
    if (plan & CUCKOO_LIST)
        rc = read_list(cursor, plan, argv[0], &dropped);
    else if (plan & CUCKOO_ASKS && is_denied(cursor, argv[0]))
        return SQLITE_OK;
    else if (plan & CUCKOO_ASKS && sqlite3_value_type(argv[0]) != SQLITE_NULL)
        rc = ask(cursor, argv[0], plan, &cursor->most);
    else if (plan & CUCKOO_ASKS && !(plan & CUCKOO_NULL))
        cursor->most = 0;
    if (rc != SQLITE_OK || cursor->most == 0)
        return rc;
    while (*text == '/') /* a comment (front_plan.c), which the connection may not allow */
        text = strstr(text, "*/ ") + strlen("*/ ");
    rc = drop_conditions(cursor, plan, argc, argv, &dropped);
    return rc == SQLITE_OK ? start(cursor, text, dropped, argc, argv) : rc;
}

int cuckoo_front_next(sqlite3_vtab_cursor *base)
{
    return step(front_cursor_of(base));
}

int cuckoo_front_eof(sqlite3_vtab_cursor *base)
{
    return !front_cursor_of(base)->is_row;
}

/* Makes the key of a row WITHOUT ROWID the result, in one column. */
static void result_key(const cuckoo_front *front, sqlite3_stmt *rows, sqlite3_context *context)
{
    sqlite3_str *id = sqlite3_str_new(NULL);
    cuckoo_key kind = CUCKOO_KEY_OK;
    for (int i = 0; i < front->columns && kind != CUCKOO_KEY_NOMEM; i++)
        if (cuckoo_front_shown(front, i)->key)
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
