/* SPDX-License-Identifier: MIT */
/*
** lines.c - cf_lines(text): a row for each line, to make filters of lists, and to look lists up.
**
** A line ends with a newline, or with a carriage return and a newline; in a text with NUL bytes, with
** NUL, and every other byte belongs to it. The last line needs no end. An empty line is NULL.
*/
#include "../sqlite/errors.h"
#include "inspect.h"

#include <string.h>

enum { COLUMN_TEXT = 1 };

/* A cursor at `line`; behind the last one that is `end`. */
typedef struct lines_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_value *text; /* a copy of the argument */
    const char *line, *next, *end;
    int last; /* the byte that ends a line */
    sqlite3_int64 number;
} lines_cursor;

static int lines_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result)
{
    (void)table;
    lines_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *cursor = (lines_cursor){.text = NULL};
    *result = &cursor->base;
    return SQLITE_OK;
}

static int lines_close(sqlite3_vtab_cursor *base)
{
    sqlite3_value_free(((lines_cursor *)base)->text);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int lines_next(sqlite3_vtab_cursor *base)
{
    lines_cursor *cursor = (lines_cursor *)base;
    const char *line = cursor->line = cursor->next;
    const char *end =
        line < cursor->end ? memchr(line, cursor->last, (size_t)(cursor->end - line)) : NULL;
    cursor->next = end ? end + 1 : cursor->end;
    cursor->number++;
    return SQLITE_OK;
}

static int lines_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc,
                        sqlite3_value **argv)
{
    lines_cursor *cursor = (lines_cursor *)base;
    (void)plan, (void)name;
    sqlite3_value_free(cursor->text);
    *cursor = (lines_cursor){.base = cursor->base};
    if (argc == 0)
        return cuckoo_say(&base->pVtab->zErrMsg, SQLITE_ERROR,
                          "cf_lines: needs its argument: cf_lines(text)");
    cursor->text = sqlite3_value_dup(argv[0]);
    if (cursor->text == NULL)
        return SQLITE_NOMEM;
    bool is_blob = sqlite3_value_type(cursor->text) == SQLITE_BLOB;
    const char *text =
        is_blob ? sqlite3_value_blob(cursor->text) : (const char *)sqlite3_value_text(cursor->text);
    size_t length = (size_t)sqlite3_value_bytes(cursor->text);
    if (text == NULL)
        return length || sqlite3_value_type(cursor->text) == SQLITE_TEXT ? SQLITE_NOMEM : SQLITE_OK;
    cursor->next = text;
    cursor->end = text + length;
    cursor->last = memchr(text, 0, length) ? 0 : '\n';
    return lines_next(base);
}

static int lines_eof(sqlite3_vtab_cursor *base)
{
    return ((lines_cursor *)base)->line == ((lines_cursor *)base)->end;
}

static int lines_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const lines_cursor *cursor = (const lines_cursor *)base;
    size_t length = (size_t)(cursor->next - cursor->line);
    if (column == COLUMN_TEXT) {
        sqlite3_result_value(context, cursor->text);
        return SQLITE_OK;
    }
    bool has_end = cursor->line[length - 1] == cursor->last;
    length -= has_end;
    if (has_end && cursor->last == '\n' && length > 0 && cursor->line[length - 1] == '\r')
        length--;
    if (length > 0)
        sqlite3_result_text64(context, cursor->line, length, SQLITE_TRANSIENT, SQLITE_UTF8);
    return SQLITE_OK;
}

static int lines_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((lines_cursor *)base)->number;
    return SQLITE_OK;
}

const sqlite3_module cuckoo_lines_module = {
    .xConnect = cuckoo_inspect_connect,
    .xBestIndex = cuckoo_inspect_best_index,
    .xDisconnect = cuckoo_inspect_disconnect,
    .xOpen = lines_open,
    .xClose = lines_close,
    .xFilter = lines_filter,
    .xNext = lines_next,
    .xEof = lines_eof,
    .xColumn = lines_column,
    .xRowid = lines_rowid,
};
