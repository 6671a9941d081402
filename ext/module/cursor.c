/* SPDX-License-Identifier: MIT */
/*
** cursor.c - queries of the virtual table cuckoo_filter: its methods from xBestIndex to xRowid.
*/
#include "../sqlite/sql.h"
#include "module.h"

static cuckoo_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
    return (cuckoo_cursor *)base;
}

/* True if constraint i is an IN whose list SQLite passes as a whole: it alone knows how the values of
** the list and the keys are to be compared. */
static bool takes_list(const cuckoo_table *table, sqlite3_index_info *info, int i)
{
    return table->paged.shadow.rowids && table->affinity <= CF_AFFINITY_TEXT &&
           cuckoo_compat_vtab_in(info, i, 1);
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
        bool list = takes_list(table, info, i);
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = !cuckoo_rows_compared(table, collation);
        info->idxNum = (info->idxNum & ROWS_WANT_KEY) | ROWS_KEY | collation * ROWS_COLLATION;
        info->idxNum |= list ? ROWS_LIST : 0;
        if (!table->paged.shadow.rowids)
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE; /* a DELETE of one row opens no savepoint */
        info->estimatedCost = list ? 25 : 1;           /* as SQLite guesses for IN */
        info->estimatedRows = list ? 25 : 1;
        break;
    }
    return SQLITE_OK;
}

static void drop_rows(cuckoo_cursor *cursor)
{
    sqlite3_finalize(cursor->keys);
    *cursor = (cuckoo_cursor){.base = cursor->base,
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
    cuckoo_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (cuckoo_cursor){.type = SQLITE_NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

int cuckoo_cursor_close(sqlite3_vtab_cursor *base)
{
    cuckoo_cursor *cursor = cursor_of(base);
    sqlite3_finalize(cursor->keys);
    sqlite3_finalize(cursor->own_of);
    sqlite3_free(cursor->bytes);
    sqlite3_free(cursor->pairs.at);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Finds one row if the key is probably there. */
static int find_key(cuckoo_table *table, cuckoo_cursor *cursor, int plan, sqlite3_value *key)
{
    bool has;
    int rc = cuckoo_table_has_value(table, key, &cursor->hash, &has);
    if (rc != SQLITE_OK || !has)
        return rc;
    cursor->rows = 1;
    return plan & ROWS_WANT_KEY ? cuckoo_rows_keep(cursor, key) : SQLITE_OK;
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

static int find_rows(cuckoo_table *table, cuckoo_cursor *cursor, int plan, sqlite3_value **argv)
{
    cursor->counts = plan & ROWS_COUNT;
    if (cursor->counts && !table->asks_content)
        return count_rows(table, &cursor->rows);
    if (cursor->counts)
        return cuckoo_rows_list(table, cursor);
    if (!compares_so(table, plan))
        return cannot_compare(table);
    bool all = false;
    if (plan & ROWS_LIST)
        return cuckoo_rows_of_list(table, cursor, plan, argv[0]);
    if (plan & ROWS_KEY)
        return table->paged.shadow.rowids ? cuckoo_rows_of_key(table, cursor, plan, argv[0], &all)
                                          : find_key(table, cursor, plan, argv[0]);
    return table->follow.given_table ? cuckoo_rows_list(table, cursor) : cannot_list(table);
}

int cuckoo_cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    cuckoo_table *table = cuckoo_table_of(base->pVtab);
    cuckoo_cursor *cursor = cursor_of(base);
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
    cuckoo_cursor *cursor = cursor_of(base);
    cursor->at++;
    return cursor->keys ? cuckoo_rows_read(cuckoo_table_of(base->pVtab), cursor) : SQLITE_OK;
}

int cuckoo_cursor_eof(sqlite3_vtab_cursor *base)
{
    return cursor_of(base)->at >= cursor_of(base)->rows;
}

/* Returns what tells the row apart from others: the hash of its key, and with rowids=on its rowid as
** well. SQLite asks for it when it has to know whether a row came before, in a lookup or in a list: OR
** joins, and RIGHT JOIN. Of rows that are only counted the number, as a blob: no key is deleted by
** it. */
static int row_id(cuckoo_table *table, cuckoo_cursor *cursor, sqlite3_context *context)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t id = cursor->hash, row = 0;
    if (cursor->counts) {
        sqlite3_result_blob(context, &cursor->at, sizeof cursor->at, SQLITE_TRANSIENT);
        return SQLITE_OK;
    }
    if (cursor->keys || cursor->listed) {
        sqlite3_value *key;
        int rc = cuckoo_rows_own(table, cursor, &key);
        if (key && cuckoo_key_hash(key, &table->paged.filter.geometry, &id) == CUCKOO_KEY_NOMEM)
            rc = SQLITE_NOMEM;
        rc = cuckoo_first_error(rc, cuckoo_rows_end_own(table, cursor));
        if (rc != SQLITE_OK)
            return rc;
    }
    if (table->paged.shadow.rowids)
        row = cursor->keys ? (uint64_t)sqlite3_column_int64(cursor->keys, 1)
                           : cursor->pairs.at[cursor->at].hash;
    sqlite3_result_int64(context, (sqlite3_int64)(id ^ row * odd));
    return SQLITE_OK;
}

int cuckoo_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    cuckoo_cursor *cursor = cursor_of(base);
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
        return cuckoo_rows_own_result(table, cursor, context);
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
