/* SPDX-License-Identifier: MIT */
/*
** cursor.c - queries of the virtual table cuckoo_filter: its methods from xBestIndex to xRowid.
*/
#include "../sqlite/sql.h"
#include "module.h"

#include <string.h>

enum table_plan {
    ROWS_KEY = 1,      /* key = argv[0], or key IS argv[0] */
    ROWS_WANT_KEY = 2, /* the key column is read */
    ROWS_COUNT = 4,    /* no column is read: one row per item */
    ROWS_COLLATION = 8 /* times the collation by which keys are compared */
};

typedef struct table_cursor {
    sqlite3_vtab_cursor base;
    uint64_t rows, at;
    bool counts; /* rows are only counted */
    bool again;  /* this cursor has looked up a key before; EXISTS opens a cursor for each row */
    int type;    /* type of the found key; SQLITE_NULL: none, or the column is not read */
    sqlite3_int64 integer;
    double real;
    char *bytes; /* text (UTF-8) or blob, `length` of `room` bytes; never shrinks */
    int length, room;
    uint64_t hash;        /* of the requested key */
    cuckoo_calm calm;     /* from the second lookup on */
    sqlite3_stmt *keys;   /* the rows are of the synced table, with their keys */
    cuckoo_rows pairs;    /* with rowids=on: the rows of the requested key */
    bool own;             /* each row spells the key in its own way, which own_key reads */
    sqlite3_stmt *own_of; /* reads it */
} table_cursor;

static table_cursor *table_cursor_of(sqlite3_vtab_cursor *base)
{
    return (table_cursor *)base;
}

/* True if SQLite has to compare the key with that of the row, with rowids=on: a join may convert the
** texts of a column to numbers, and then 7 is equal to '7' and to '07'. A column of numbers always
** converts. */
static bool compares_again(const cuckoo_table *table)
{
    return table->paged.shadow.rowids && table->affinity <= CF_AFFINITY_TEXT;
}

int cuckoo_cursor_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    cuckoo_table *table = cuckoo_table_of(base);
    /* From 3.54 on SQLite always includes the primary key in the columns that are read. */
    uint64_t read = info->colUsed & ~((uint64_t)1 << COLUMN_ID);
    table->registry->planned = table;
    info->idxNum = read == 0 ? ROWS_COUNT : info->colUsed & 1 << COLUMN_KEY ? ROWS_WANT_KEY : 0;
    info->estimatedCost = 1e12; /* of all keys, if they can be listed: the last resort */
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        bool compares = c->op == SQLITE_INDEX_CONSTRAINT_EQ || c->op == SQLITE_INDEX_CONSTRAINT_IS;
        bool asks = c->usable && c->iColumn == COLUMN_KEY && compares;
        int collation = asks ? cuckoo_collation_named(sqlite3_vtab_collation(info, i)) : -1;
        if (collation < 0)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = !compares_again(table);
        info->idxNum = (info->idxNum & ROWS_WANT_KEY) | ROWS_KEY | collation * ROWS_COLLATION;
        if (!table->paged.shadow.rowids)
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE; /* a DELETE of one row opens no savepoint */
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        break;
    }
    return SQLITE_OK;
}

static void drop_rows(table_cursor *cursor)
{
    sqlite3_finalize(cursor->keys);
    *cursor = (table_cursor){.base = cursor->base,
                             .again = true,
                             .type = SQLITE_NULL,
                             .bytes = cursor->bytes,
                             .room = cursor->room,
                             .calm = cursor->calm,
                             .pairs = cursor->pairs,
                             .own_of = cursor->own_of};
}

int cuckoo_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    (void)base;
    table_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (table_cursor){.type = SQLITE_NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

int cuckoo_cursor_close(sqlite3_vtab_cursor *base)
{
    table_cursor *cursor = table_cursor_of(base);
    sqlite3_finalize(cursor->keys);
    sqlite3_finalize(cursor->own_of);
    sqlite3_free(cursor->bytes);
    sqlite3_free(cursor->pairs.at);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Keeps the key for xColumn, which SQLite seldom calls: a join reads the column only to compare it. So a
** text is copied into a buffer that the cursor reuses; sqlite3_value_dup allocates twice. */
static int keep_key(table_cursor *cursor, sqlite3_value *key)
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

/* Finds one row if the key is probably there. */
static int find_key(cuckoo_table *table, table_cursor *cursor, int plan, sqlite3_value *key)
{
    bool has;
    int rc = cuckoo_table_has_value(table, key, &cursor->hash, &has);
    if (rc != SQLITE_OK || !has)
        return rc;
    cursor->rows = 1;
    return plan & ROWS_WANT_KEY ? keep_key(cursor, key) : SQLITE_OK;
}

static int cannot_list(cuckoo_table *table)
{
    const char *name = table->paged.shadow.table;
    return cuckoo_table_fail(table, SQLITE_ERROR,
                             "a filter cannot list its keys; use WHERE key = ..., EXISTS or a join on "
                             "key, or count(*); for x IN %s: cf_table_contains('%q', x); to delete all: "
                             "INSERT INTO %s(%s) VALUES('clear')",
                             name, name, name, name);
}

/* True if all keys that this comparison finds equal are one key for the filter. SQLite compares, and
** converts, as declared when it read the schema. An import has its own key rule, and so has a rebuild
** after the column was recreated. */
static bool compares_so(const cuckoo_table *table, int plan)
{
    const cf_geometry *geometry = &table->paged.filter.geometry;
    bool converts = table->affinity > CF_AFFINITY_TEXT && geometry->affinity == CF_AFFINITY_NONE;
    bool differs = table->affinity != geometry->affinity || table->collation != geometry->collation;
    if (converts || (differs && !(plan & ROWS_KEY)))
        return false;
    return plan / ROWS_COLLATION == CF_COLLATION_BINARY || plan / ROWS_COLLATION == geometry->collation;
}

static int cannot_compare(cuckoo_table *table)
{
    return cuckoo_table_fail(table, SQLITE_ERROR,
                             "this query compares keys by another affinity or collation than the filter "
                             "(collation=%s); compare by BINARY, or open a new connection",
                             cuckoo_collation_words[table->paged.filter.geometry.collation]);
}

static int cannot_read(cuckoo_table *table, int rc)
{
    return cuckoo_table_fail(table, cuckoo_sql_code(table->registry->db, rc),
                             "%s(%s) cannot be read: %s", table->follow.table, table->follow.column,
                             sqlite3_errmsg(table->registry->db));
}

/* Moves to the next key that is not NULL. */
static int read_keys(cuckoo_table *table, table_cursor *cursor)
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

/* Lists the keys of the synced table. */
static int list_keys(cuckoo_table *table, table_cursor *cursor)
{
    int rc = cuckoo_follow_keys(&table->follow, &table->paged.shadow, -1, &cursor->keys);
    return rc == SQLITE_OK ? read_keys(table, cursor) : rc;
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
static int list_equal(cuckoo_table *table, table_cursor *cursor, sqlite3_value *key)
{
    int rc = prepare_rows(table, &cursor->keys, table->follow.column);
    rc = rc ? rc : cuckoo_sql_bind(cursor->keys, 1, key);
    return rc == SQLITE_OK ? read_keys(table, cursor) : rc;
}

/* Returns the key of the row as the content has it; NULL if there is no such row. */
static int own_key(cuckoo_table *table, table_cursor *cursor, sqlite3_context *context)
{
    int rc = cursor->own_of ? SQLITE_OK : prepare_rows(table, &cursor->own_of, table->follow.rowid);
    if (rc != SQLITE_OK)
        return cannot_read(table, rc);
    sqlite3_bind_int64(cursor->own_of, 1, (sqlite3_int64)cursor->pairs.at[cursor->at].hash);
    if (sqlite3_step(cursor->own_of) == SQLITE_ROW)
        sqlite3_result_value(context, sqlite3_column_value(cursor->own_of, 0));
    rc = sqlite3_reset(cursor->own_of);
    return rc == SQLITE_OK ? rc : cannot_read(table, rc);
}

/* With rowids=on. Any row may have a vague key, or a key that a join converts when the content is
** queried: then all rows are candidates, if SQLite compares again; it compares a number with the key of
** each row. */
static int find_pairs(cuckoo_table *table, table_cursor *cursor, int plan, sqlite3_value *key)
{
    bool at_hand = cuckoo_table_is_at_hand(table);
    cf_geometry logged, *rule = at_hand ? &table->paged.filter.geometry : &logged;
    int rc = at_hand ? SQLITE_OK : cuckoo_table_rule(table, &logged);
    cuckoo_key kind =
        rc == SQLITE_OK ? cuckoo_key_read(key, rule, false, &cursor->hash) : CUCKOO_KEY_NULL;
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : rc;
    bool again = compares_again(table);
    if (table->asks_content || cuckoo_key_always(rule, key))
        return again && (!table->asks_content || cuckoo_content_converts(&table->follow.content, key))
                   ? list_keys(table, cursor)
                   : list_equal(table, cursor, key);
    rc = cuckoo_rows_find(&table->net, &table->paged, cursor->hash, &cursor->pairs);
    cursor->rows = rc == SQLITE_OK ? cursor->pairs.n : 0;
    if (cursor->rows == 0 || !(plan & ROWS_WANT_KEY))
        return rc;
    int type = again ? sqlite3_value_type(key) : sqlite3_value_numeric_type(key);
    cursor->own = again && (type == SQLITE_INTEGER || type == SQLITE_FLOAT);
    return cursor->own ? SQLITE_OK : keep_key(cursor, key);
}

/* Counts the rows. SQLite fetches each of them, and a corrupt header may have any number: above 2^32 it
** is an error. */
static int count_rows(cuckoo_table *table, uint64_t *rows)
{
    int rc = cuckoo_table_items(table, rows);
    if (rc != SQLITE_OK || *rows <= UINT32_MAX)
        return rc;
    sqlite3_int64 n = (sqlite3_int64)*rows;
    *rows = 0;
    return cuckoo_table_fail(
        table, SQLITE_ERROR,
        "it has %lld keys, too many to return as rows; see items in cf_table_info('%q')", n,
        table->paged.shadow.table);
}

static int find_rows(cuckoo_table *table, table_cursor *cursor, int plan, sqlite3_value **argv)
{
    cursor->counts = plan & ROWS_COUNT;
    if (cursor->counts && !table->asks_content)
        return count_rows(table, &cursor->rows);
    if (cursor->counts)
        return list_keys(table, cursor);
    if (!compares_so(table, plan))
        return cannot_compare(table);
    if (plan & ROWS_KEY)
        return (table->paged.shadow.rowids ? find_pairs : find_key)(table, cursor, plan, argv[0]);
    return table->follow.given_table ? list_keys(table, cursor) : cannot_list(table);
}

int cuckoo_cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    cuckoo_table *table = cuckoo_table_of(base->pVtab);
    table_cursor *cursor = table_cursor_of(base);
    (void)text, (void)argc;
    bool again = cursor->again;
    drop_rows(cursor);
    if (!cuckoo_table_is_calm(table, &cursor->calm)) {
        int rc = cuckoo_module_begin(table, CUCKOO_ASK);
        if (rc != SQLITE_OK)
            return rc;
        if (again)
            cuckoo_table_calm(table, &cursor->calm);
    }
    return cuckoo_module_end(table, find_rows(table, cursor, plan, argv));
}

int cuckoo_cursor_next(sqlite3_vtab_cursor *base)
{
    table_cursor *cursor = table_cursor_of(base);
    cursor->at++;
    return cursor->keys ? read_keys(cuckoo_table_of(base->pVtab), cursor) : SQLITE_OK;
}

int cuckoo_cursor_eof(sqlite3_vtab_cursor *base)
{
    return table_cursor_of(base)->at >= table_cursor_of(base)->rows;
}

/* Returns what tells the row apart from others: the hash of its key, and with rowids=on its rowid as
** well. SQLite asks for it when it has to know whether a row came before, in a lookup or in a list: OR
** joins, and RIGHT JOIN. Of rows that are only counted the number, as a blob: no key is deleted by
** it. */
static int row_id(const cuckoo_table *table, const table_cursor *cursor, sqlite3_context *context)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t id = cursor->hash, row = 0;
    if (cursor->counts) {
        sqlite3_result_blob(context, &cursor->at, sizeof cursor->at, SQLITE_TRANSIENT);
        return SQLITE_OK;
    }
    if (cursor->keys) {
        sqlite3_value *key = sqlite3_column_value(cursor->keys, 0);
        if (cuckoo_key_hash(key, &table->paged.filter.geometry, &id) != CUCKOO_KEY_OK)
            return SQLITE_NOMEM;
    }
    if (table->paged.shadow.rowids)
        row = cursor->keys ? (uint64_t)sqlite3_column_int64(cursor->keys, 1)
                           : cursor->pairs.at[cursor->at].hash;
    sqlite3_result_int64(context, (sqlite3_int64)(id ^ row * odd));
    return SQLITE_OK;
}

int cuckoo_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    table_cursor *cursor = table_cursor_of(base);
    cuckoo_table *table = cuckoo_table_of(base->pVtab);
    bool is_row = column == COLUMN_ROW;
    if (column == COLUMN_ID)
        return row_id(table, cursor, context);
    if (cursor->counts || column == COLUMN_COMMAND)
        return SQLITE_OK;
    if (cursor->keys)
        sqlite3_result_value(context, sqlite3_column_value(cursor->keys, is_row));
    else if (is_row)
        sqlite3_result_int64(context, (sqlite3_int64)cursor->pairs.at[cursor->at].hash);
    else if (cursor->own)
        return own_key(table, cursor, context);
    else if (cursor->type == SQLITE_INTEGER)
        sqlite3_result_int64(context, cursor->integer);
    else if (cursor->type == SQLITE_FLOAT)
        sqlite3_result_double(context, cursor->real);
    else if (cursor->type == SQLITE_TEXT)
        sqlite3_result_text(context, cursor->bytes, cursor->length, SQLITE_TRANSIENT);
    else if (cursor->type == SQLITE_BLOB)
        sqlite3_result_blob(context, cursor->bytes, cursor->length, SQLITE_TRANSIENT);
    return SQLITE_OK;
}
