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

/* ---- querying the filter ---- */

/* EXISTS opens a cursor for each row. The result of another cursor is valid for this one if the
** transaction is still the same, or another one before which nobody has committed anything. */
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

/* With rowids=on: adds the rows that may have the next key of the list. */
static int add_rows(front_cursor *cursor, cuckoo_table *table, uint64_t hash, uint64_t *most)
{
    cuckoo_rows found = {0};
    int rc = cuckoo_rows_find(&table->net, &table->paged, hash, &found);
    for (size_t i = 0; rc == SQLITE_OK && i < found.n; i++)
        rc = cuckoo_rows_push(&cursor->pairs, found.at[i].hash, cursor->list.n);
    *most = found.n;
    cursor->rowed = true;
    sqlite3_free(found.at);
    return rc;
}

/* Sets the most rows that the key may be in. Only an unusual key that is not vague is counted. */
static int look_up(front_cursor *cursor, cuckoo_table *table, sqlite3_value *key, uint32_t plan,
                   uint64_t *most)
{
    bool has;
    uint64_t hash;
    int64_t copies = 0;
    cf_geometry rule;
    int rc = cuckoo_table_has_value(table, key, &hash, &has);
    *most = has ? UINT64_MAX : 0;
    if (rc != SQLITE_OK || !has || !(table->paged.shadow.rowids || cuckoo_front_unusual(plan, 0, key)))
        return rc;
    rc = cuckoo_table_rule(table, &rule);
    if (rc != SQLITE_OK || cuckoo_key_always(&rule, key))
        return rc;
    if (table->paged.shadow.rowids)
        return add_rows(cursor, table, hash, most);
    rc = cuckoo_table_most(table, hash, &copies);
    *most = copies > 0 ? (uint64_t)copies : 0;
    return rc;
}

/* Sets the most rows that the key (NULL: any) may be in, by the filter. If the filter cannot be used, it
** is not queried for a while, because that may take long. An error fails the whole statement. */
static int ask(front_cursor *cursor, sqlite3_value *key, uint32_t plan, uint64_t *most)
{
    enum { SKIPS = 1000 };
    int rc = SQLITE_OK;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    *most = UINT64_MAX;
    if (!is_calm(cursor, table)) {
        if (table->front->skip > 1) {
            table->front->skip--;
            cursor->unsure = true;
            return SQLITE_OK;
        }
        rc = begin(cursor, table);
    }
    if (rc == SQLITE_OK) {
        rc = key ? look_up(cursor, table, key, plan, most) : SQLITE_OK;
        if (!cuckoo_table_is_quiet(table))
            rc = cuckoo_first_error(rc, cuckoo_table_end(table));
    }
    table->front->skip = rc == SQLITE_OK ? 0 : SKIPS;
    if (rc != SQLITE_OK || cuckoo_table_is_early(table))
        *most = UINT64_MAX;
    cursor->unsure |= key && *most == UINT64_MAX; /* other rows may have it */
    return cuckoo_sql_rolls_back(rc) ? rc : SQLITE_OK;
}

/* The same for most keys of a join, with few instructions. While fewer than 5 % of the keys are absent,
** a lookup costs more than it saves, and most are skipped. */
enum answer { UNKNOWN, ABSENT, FOUND };
static inline enum answer quick_look(front_cursor *cursor, sqlite3_value *key)
{
    enum { KEYS = 64, FEW = 3, UNASKED = 1000 };
    uint64_t hash;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    const cf_geometry *geometry = &table->paged.filter.geometry;
    if (!cuckoo_table_is_at_hand(table) || table->follow.preceded || !is_calm(cursor, table))
        return UNKNOWN;
    if (cursor->unasked > 0 && sqlite3_value_type(key) != SQLITE_NULL) {
        cursor->unasked--;
        return FOUND;
    }
    if (cuckoo_key_hash(key, geometry, &hash) != CUCKOO_KEY_OK)
        return UNKNOWN;
    bool found = cf_contains(&table->paged.reader, hash);
    cursor->absent += !found;
    if (++cursor->asked == KEYS) {
        cursor->unasked = cursor->absent <= FEW ? UNASKED : 0;
        cursor->asked = cursor->absent = 0;
    }
    return found ? FOUND : cuckoo_key_always(geometry, key) ? UNKNOWN : ABSENT;
}

/* ---- several values for the first parameter ---- */

/* Keeps the values of an IN that are probably there. An unusual value may also be equal to a text: then
** the condition is dropped, and each row is examined once. */
static int read_list(front_cursor *cursor, uint32_t plan, sqlite3_value *all, uint32_t *how)
{
    uint64_t most = UINT64_MAX;
    sqlite3_value *value = NULL;
    int rc = cuckoo_compat_vtab_in_first(all, &value);
    for (; rc == SQLITE_OK && value; rc = rc ? rc : cuckoo_compat_vtab_in_next(all, &value)) {
        if (cuckoo_front_unusual(plan, 0, value)) {
            *how = 1;
            cuckoo_values_free(&cursor->list);
            cursor->unsure = true;
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

/* Binds the next row, and its value of the list. */
static int bind_row(front_cursor *cursor, bool *any)
{
    *any = cursor->pair < cursor->pairs.n;
    if (!*any)
        return SQLITE_OK;
    const cf_valued *pair = &cursor->pairs.at[cursor->pair++];
    int rc =
        cursor->list.n ? cuckoo_sql_bind(cursor->plain, 1, cursor->list.all[pair->value]) : SQLITE_OK;
    return rc ? rc : sqlite3_bind_int64(cursor->plain, CUCKOO_ROW, (sqlite3_int64)pair->hash);
}

/* Binds the next value: of the list; or the number in its other spellings, unless all its rows were
** found. *any is false if there is none. */
static int bind_next(front_cursor *cursor, bool *any)
{
    int rc = SQLITE_OK;
    if (cursor->rowed)
        return bind_row(cursor, any);
    *any = cursor->next < cursor->list.n;
    if (*any)
        return cuckoo_sql_bind(cursor->plain, 1, cursor->list.all[cursor->next++]);
    if (cursor->number != 0 && cursor->most > 0)
        rc = cuckoo_front_has_others(cuckoo_table_of(cursor->base.pVtab), cursor->number, any);
    cursor->number = 0;
    return *any ? sqlite3_bind_int(cursor->plain, CUCKOO_OTHERS, 1) : rc;
}

/* ---- rows ---- */

static int step(front_cursor *cursor)
{
    int rc;
    bool any;
    cursor->rows = NULL;
    while ((rc = sqlite3_step(cursor->plain)) == SQLITE_DONE) {
        sqlite3_reset(cursor->plain);
        rc = bind_next(cursor, &any);
        if (!any || rc != SQLITE_OK)
            return rc == SQLITE_OK ? rc : cuckoo_front_fail(cursor, rc);
    }
    if (rc != SQLITE_ROW)
        return cuckoo_front_fail(cursor, rc);
    cursor->rows = cursor->plain;
    cursor->most -= cursor->most > 0 && cursor->most < UINT64_MAX;
    return SQLITE_OK;
}

/* Ends the previous run. */
static void stop(front_cursor *cursor)
{
    if (cursor->rows && !(cursor->unique && cursor->rows == cursor->feed.rows))
        sqlite3_reset(cursor->rows); /* unless it may run on with the next key */
    if (cursor->list.all)
        cuckoo_values_free(&cursor->list);
    cursor->rows = NULL;
    cursor->number = 0;
    cursor->next = 0;
    cursor->most = UINT64_MAX;
    cursor->pair = cursor->pairs.n = 0;
    cursor->rowed = cursor->unsure = false;
}

/* Prepares the statement; most cursors run the same one again. */
static int take_statement(front_cursor *cursor, cuckoo_table *table, const char *text, uint32_t how)
{
    bool rewrites = how || table->front->moved;
    if (rewrites && cursor->plain && cursor->text == text && cursor->how == how && !table->front->moved)
        return SQLITE_OK;
    const char *sql = cuckoo_front_sql(text);
    char *other = rewrites ? cuckoo_front_rewrite(table->front, sql, how) : NULL;
    int rc = rewrites && other == NULL ? SQLITE_NOMEM
                                       : cuckoo_front_take(table, other ? other : sql, &cursor->plain);
    cursor->text = rc == SQLITE_OK ? text : NULL;
    cursor->how = how;
    sqlite3_free(other);
    return rc;
}

/* Runs the statement, rewritten as `how` says. */
static int start(front_cursor *cursor, const char *text, uint32_t how, int argc, sqlite3_value **argv)
{
    bool listed = cursor->list.n > 0, any = listed;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    how |= cursor->rowed ? CUCKOO_ROWED : 0;
    int rc = take_statement(cursor, table, text, how);
    if (rc == SQLITE_OK && (listed || cursor->rowed))
        rc = bind_next(cursor, &any);
    for (int i = listed; rc == SQLITE_OK && i < argc; i++)
        rc = cuckoo_sql_bind(cursor->plain, i + 1, argv[i]);
    if (rc == SQLITE_OK && cursor->number != 0)
        rc = cuckoo_front_bind_usual(cursor->plain, argv[0]);
    return rc == SQLITE_OK ? step(cursor) : cuckoo_front_fail(cursor, rc);
}

/* A bit for each argument that is unusual; never for a list, which has no unusual values. */
static inline uint32_t unusual_of(uint32_t plan, int argc, sqlite3_value **argv)
{
    uint32_t unusual = 0;
    for (int i = plan & CUCKOO_LIST ? 1 : 0; i < argc; i++)
        unusual |= (uint32_t)cuckoo_front_unusual(plan, i, argv[i]) << i;
    return unusual;
}

/* How to rewrite the statement. While a transaction writes that is not reported by triggers, SQLite may
** be writing the content without expecting reads: then all rows are read, and sorted, before the first
** one is returned. Nor are spellings kept, because a rollback would not be noticed. */
static int choose(front_cursor *cursor, uint32_t plan, int argc, sqlite3_value **argv, uint32_t *how)
{
    uint64_t most;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    bool writes = cuckoo_shadow_in_transaction(&table->paged.shadow, true);
    int rc = writes ? ask(cursor, NULL, plan, &most) : SQLITE_OK;
    bool untold = writes && table->front->skip > 0;
    *how |= unusual_of(plan, argc, argv);
    cursor->rowed &= !cursor->unsure && !untold;
    if (untold && cuckoo_sql_running(table->registry->db, true) > 0)
        *how |= CUCKOO_SORTS;
    else if (*how & 1 && plan & CUCKOO_SPELLS && !untold && !cursor->rowed &&
             cuckoo_front_is_spelled(argv[0])) {
        *how = (*how & ~1u) | CUCKOO_SPELLED;
        cursor->number = cuckoo_front_number(argv[0]);
    }
    return rc;
}

/* ---- methods ---- */

int cuckoo_front_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    cuckoo_front *front = cuckoo_table_of(base)->front;
    int rc = CUCKOO_LOOKS_LATE ? cuckoo_front_look(cuckoo_table_of(base)) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    front_cursor *cursor = front->spare ? front->spare : sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    front->spare = NULL;
    *cursor = (front_cursor){.rows = NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

int cuckoo_front_close(sqlite3_vtab_cursor *base)
{
    front_cursor *cursor = front_cursor_of(base);
    cuckoo_front *front = front_of(cursor);
    stop(cursor);
    sqlite3_free(cursor->pairs.at);
    cuckoo_front_give(front, &cursor->plain);
    cuckoo_front_give(front, &cursor->feed.rows);
    sqlite3_free(front->spare);
    front->spare = cursor;
    return SQLITE_OK;
}

int cuckoo_front_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                        sqlite3_value **argv)
{
    int rc = SQLITE_OK;
    uint32_t plan = (uint32_t)number, how = 0;
    front_cursor *cursor = front_cursor_of(base);
    stop(cursor);
    cursor->unique = plan & CUCKOO_UNIQUE;
    bool asks = (plan & (CUCKOO_ASKS | CUCKOO_LIST)) == CUCKOO_ASKS;
    enum answer answer = asks ? quick_look(cursor, argv[0]) : UNKNOWN;
    if (answer == ABSENT)
        return SQLITE_OK;
    bool rowids = cuckoo_table_of(base->pVtab)->paged.shadow.rowids;
    if (answer == FOUND && !rowids && unusual_of(plan, argc, argv) == 0) {
        bool feeds = !(plan & CUCKOO_NULL) && cuckoo_feed_key(cursor, text, argc, argv, &rc);
        return feeds ? rc : start(cursor, text, 0, argc, argv);
    }
    sqlite3_reset(cursor->feed.rows); /* the rows that it has read may have changed */
    if (plan & CUCKOO_LIST)
        rc = read_list(cursor, plan, argv[0], &how);
    else if (plan & CUCKOO_ASKS && sqlite3_value_type(argv[0]) != SQLITE_NULL)
        rc = ask(cursor, argv[0], plan, &cursor->most);
    else if (plan & CUCKOO_ASKS && !(plan & CUCKOO_NULL))
        cursor->most = 0;
    if (rc != SQLITE_OK || cursor->most == 0)
        return rc;
    rc = choose(cursor, plan, argc, argv, &how);
    return rc == SQLITE_OK ? start(cursor, text, how, argc, argv) : rc;
}

int cuckoo_front_next(sqlite3_vtab_cursor *base)
{
    front_cursor *cursor = front_cursor_of(base);
    return cursor->rows == cursor->plain ? step(cursor) : cuckoo_feed_next(cursor);
}

int cuckoo_front_eof(sqlite3_vtab_cursor *base)
{
    return front_cursor_of(base)->rows == NULL;
}

/* Returns the key of a row WITHOUT ROWID, in one column. */
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
        cuckoo_front_result(context, sqlite3_column_value(rows, 1 + column), front->utf8);
    return SQLITE_OK;
}

int cuckoo_front_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = sqlite3_column_int64(front_cursor_of(base)->rows, 0);
    return SQLITE_OK;
}
