/* SPDX-License-Identifier: MIT */
/*
** front_feed.c - kept statements on the content; the fed statement, and the table-valued function
** cuckoo_feed, which feeds it (front.h).
*/
#include "front.h"

#include "../sqlite/errors.h"
#include "../sqlite/sql.h"

#include <string.h>

/* ---- statements ---- */

int cuckoo_front_fail(front_cursor *cursor, int rc)
{
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    sqlite3 *db = table->registry->db;
    return cuckoo_say(&table->base.zErrMsg, cuckoo_sql_code(db, rc), "%s", cuckoo_sql_message(db, rc));
}

static bool has_text(sqlite3_stmt *rows, const char *text)
{
    return rows && strcmp(sqlite3_sql(rows), text) == 0;
}

void cuckoo_front_give(cuckoo_front *front, sqlite3_stmt **rows)
{
    unsigned i = 0;
    if (*rows == NULL)
        return;
    sqlite3_reset(*rows); /* after an error it has not been reset yet */
    sqlite3_clear_bindings(*rows);
    while (i < CUCKOO_IDLE && front->idle[i])
        i++;
    i = i < CUCKOO_IDLE ? i : front->next++ % CUCKOO_IDLE;
    sqlite3_finalize(front->idle[i]);
    front->idle[i] = *rows;
    *rows = NULL;
}

int cuckoo_front_take(cuckoo_table *table, const char *text, sqlite3_stmt **rows)
{
    int i = 0;
    cuckoo_front *front = table->front;
    if (has_text(*rows, text))
        return SQLITE_OK;
    cuckoo_front_give(front, rows);
    while (i < CUCKOO_IDLE && !has_text(front->idle[i], text))
        i++;
    if (i == CUCKOO_IDLE)
        return sqlite3_prepare_v3(table->registry->db, text, -1, SQLITE_PREPARE_PERSISTENT, rows, NULL);
    *rows = front->idle[i];
    front->idle[i] = NULL;
    return SQLITE_OK;
}

/* ---- the fed statement ---- */

/* True from the second key on: EXISTS opens a cursor for each one. For the parts of an OR several
** statements run on one cursor, and only the first of them is fed. If it cannot be prepared, the other
** one runs, and reports the error, or succeeds. */
static bool has_feed(front_cursor *cursor, const char *text)
{
    cuckoo_feed *feed = &cursor->feed;
    cuckoo_table *table = cuckoo_table_of(cursor->base.pVtab);
    if (feed->text)
        return feed->text == text && feed->rows;
    if (!feed->again) {
        feed->again = true;
        return false;
    }
    feed->text = text;
    char *fed = cuckoo_front_rewrite(table->front, cuckoo_front_sql(text), CUCKOO_FED);
    if (fed == NULL || cuckoo_front_take(table, fed, &feed->rows) != SQLITE_OK ||
        sqlite3_bind_pointer(feed->rows, 1, feed, "cuckoo_feed", NULL) != SQLITE_OK)
        cuckoo_front_give(table->front, &feed->rows);
    sqlite3_free(fed);
    return feed->rows != NULL;
}

static int step(front_cursor *cursor)
{
    int rc = sqlite3_step(cursor->feed.rows);
    bool is_row = rc == SQLITE_ROW && sqlite3_column_type(cursor->feed.rows, 0) != SQLITE_NULL;
    cursor->rows = is_row ? cursor->feed.rows : NULL;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : cuckoo_front_fail(cursor, rc);
}

bool cuckoo_feed_key(front_cursor *cursor, const char *text, int argc, sqlite3_value **argv, int *rc)
{
    cuckoo_feed *feed = &cursor->feed;
    if (!has_feed(cursor, text))
        return false;
    if (cuckoo_compat_expired(
            feed->rows)) /* the schema has changed, and another cursor has noticed it */
        sqlite3_reset(feed->rows);
    feed->key = argv;
    feed->is_new = true;
    feed->read = false;
    *rc = step(cursor);
    if (*rc == SQLITE_OK && !feed->read) { /* an authorizer has replaced a column by NULL */
        cursor->rows = NULL;
        cuckoo_front_give(cuckoo_table_of(cursor->base.pVtab)->front, &feed->rows);
        return false;
    }
    for (int i = 0; cursor->rows && !cursor->unique && *rc == SQLITE_OK && i < argc; i++)
        *rc = cuckoo_values_add(&cursor->list, argv[i]); /* SQLite may read them for each row */
    feed->key = cursor->list.all;
    return true;
}

int cuckoo_feed_next(front_cursor *cursor)
{
    if (!cursor->unique)
        return step(cursor);
    cursor->rows = NULL;
    return SQLITE_OK;
}

/* ---- cuckoo_feed ---- */

/* Its argument is a pointer that only the statement above can pass; otherwise it has no rows. Its rows
** never end: k1, k2, ... of the next one are a key and the other values that are compared, or NULL. */
typedef struct feed_cursor {
    sqlite3_vtab_cursor base;
    cuckoo_feed *feed; /* NULL: no rows */
} feed_cursor;

/* k1 may be NULL, so it is not a primary key. */
static int feed_connect(sqlite3 *db, void *registry, int argc, const char *const *argv,
                        sqlite3_vtab **result, char **message)
{
    (void)registry, (void)argc, (void)argv, (void)message;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(k1, k2, k3, k4, k5, k6, k7, k8, feed HIDDEN)");
    *result = rc == SQLITE_OK ? sqlite3_malloc64(sizeof **result) : NULL;
    if (*result)
        **result = (sqlite3_vtab){.zErrMsg = NULL};
    return rc == SQLITE_OK && *result == NULL ? SQLITE_NOMEM : rc;
}

static int feed_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* Estimates one row, so that SQLite builds no automatic index. */
static int feed_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    for (int i = 0; i < info->nConstraint; i++)
        if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == CUCKOO_CONDITIONS)
            info->aConstraintUsage[i] = (struct sqlite3_index_constraint_usage){1, 1};
    info->estimatedCost = 1;
    info->estimatedRows = 1;
    return SQLITE_OK;
}

static int feed_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result)
{
    (void)table;
    feed_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (feed_cursor){.feed = NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

static int feed_close(sqlite3_vtab_cursor *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int feed_next(sqlite3_vtab_cursor *base)
{
    cuckoo_feed *feed = ((feed_cursor *)base)->feed;
    if (feed) {
        feed->is_row = feed->is_new;
        feed->is_new = false;
    }
    return SQLITE_OK;
}

static int feed_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                       sqlite3_value **argv)
{
    (void)plan, (void)text;
    ((feed_cursor *)base)->feed = argc > 0 ? sqlite3_value_pointer(argv[0], "cuckoo_feed") : NULL;
    return feed_next(base);
}

static int feed_eof(sqlite3_vtab_cursor *base)
{
    return ((feed_cursor *)base)->feed == NULL;
}

static int feed_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    cuckoo_feed *feed = ((feed_cursor *)base)->feed;
    if (!feed->is_row)
        return SQLITE_OK;
    feed->read = true;
    cuckoo_front_result(context, feed->key[column], true);
    return SQLITE_OK;
}

static int feed_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    (void)base;
    *rowid = 0;
    return SQLITE_OK;
}

const sqlite3_module cuckoo_feed_module = {
    .xConnect = feed_connect,
    .xBestIndex = feed_best_index,
    .xDisconnect = feed_disconnect,
    .xOpen = feed_open,
    .xClose = feed_close,
    .xFilter = feed_filter,
    .xNext = feed_next,
    .xEof = feed_eof,
    .xColumn = feed_column,
    .xRowid = feed_rowid,
};
