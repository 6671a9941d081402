/* SPDX-License-Identifier: MIT */
/*
** module.h - the virtual table cuckoo_filter.
**
**      CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000000, content='users(email)')
**
** A row is a requested key that is probably in the filter. A filter cannot list its keys, but the synced
** table can: "email IN seen" uses that. The table has no rowid.
*/
#ifndef CUCKOO_MODULE_H
#define CUCKOO_MODULE_H

#include "../keys/key.h"
#include "../keys/options.h"
#include "../table/registry.h"

/* ---- columns ---- */

/* All columns but the key and the row are hidden. */
enum cuckoo_column {
    COLUMN_KEY,
    COLUMN_COMMAND, /* with the name of the table: takes commands */
    COLUMN_ID,      /* cuckoo_id, by which SQLite tells rows apart (cursor.c); for DELETE the hash */
    COLUMN_ROW      /* only with rowids=on: the rowid of a row that probably has the key */
};

/* ---- its filter ---- */

/* Declares the columns above. `t` and `k`: the synced table and column; NULL: none. */
int cuckoo_table_declare(cuckoo_table *table, const char *t, const char *k);

/* Begins and ends a use of the table (table.h), with messages. `rc` is the error of the use, or
** SQLITE_OK. An existing message stays. */
int cuckoo_module_begin(cuckoo_table *table, cuckoo_use use);
int cuckoo_module_end(cuckoo_table *table, int rc);

/* Reads a key if the header of the filter does not note its type, which the logs may have.
** SQLITE_MISMATCH, with a message (cuckoo_table_damage): a lookup of this key is a mistake. */
int cuckoo_table_ask_anew(cuckoo_table *table, sqlite3_value *key, uint64_t *hash);

/* Sets *has to true if an inexact key that is only in the logs may be this one. */
int cuckoo_table_has_inexact(cuckoo_table *table, sqlite3_value *key, bool *has);

/* Sets *has to true if the key is probably there, and *hash. Within a use. NULL is never there. */
static inline int cuckoo_table_has_value(cuckoo_table *table, sqlite3_value *key, uint64_t *hash,
                                         bool *has)
{
    const cf_geometry *geometry = &table->paged.filter.geometry;
    cuckoo_key kind = cuckoo_key_read(key, geometry, true, hash);
    if (kind == CUCKOO_KEY_UNFIT || (geometry->key_types == 0 && !cuckoo_table_is_at_hand(table))) {
        int rc = cuckoo_table_ask_anew(table, key, hash);
        kind = kind == CUCKOO_KEY_UNFIT ? CUCKOO_KEY_OK : kind;
        *has = false;
        if (rc != SQLITE_OK)
            return rc;
    }
    *has = kind == CUCKOO_KEY_OK && cuckoo_key_always(geometry, key);
    if (kind != CUCKOO_KEY_OK || *has)
        return kind == CUCKOO_KEY_NOMEM ? SQLITE_NOMEM : SQLITE_OK;
    if (table->asks_content)
        return cuckoo_content_has(&table->follow.content, key, has);
    int rc = cuckoo_table_has(table, *hash, has);
    return rc != SQLITE_OK || *has || geometry->affinity == CF_AFFINITY_NONE ||
                   cuckoo_table_is_at_hand(table)
               ? rc
               : cuckoo_table_has_inexact(table, key, has);
}

/* ---- errors ---- */

/* Sets the error of the table to "name of the table: message". Returns `code`, or SQLITE_NOMEM. */
int cuckoo_table_fail(cuckoo_table *table, int code, const char *format, ...);

/* The same for a code that begin or end of a use returned, with the reason. Codes other than
** SQLITE_TOOBIG, SQLITE_IOERR and those of cuckoo_table_is_told need no message, and are passed on. */
int cuckoo_table_explain(cuckoo_table *table, int rc, const char *why);

/* ---- methods in other files ---- */

/* cursor.c */
int cuckoo_cursor_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int cuckoo_cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result);
int cuckoo_cursor_close(sqlite3_vtab_cursor *base);
int cuckoo_cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv);
int cuckoo_cursor_next(sqlite3_vtab_cursor *base);
int cuckoo_cursor_eof(sqlite3_vtab_cursor *base);
int cuckoo_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);

/* change.c */
int cuckoo_table_update(sqlite3_vtab *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

/* The functions that share the registry: functions that take a table by its name, and functions for
** statements of this extension. (by_name.c) */
extern const cuckoo_function *const cuckoo_table_functions;

/* ---- arguments of CREATE VIRTUAL TABLE (arguments.c) ---- */

/* The values of the arguments (texts: sqlite3_malloc). */
typedef struct cuckoo_table_plan {
    cuckoo_options options;
    unsigned given; /* a bit for each argument that is not an option */
    bool rows;      /* rows=on */
    bool rowids;    /* rowids=on */
    bool once;      /* adds=once */
    uint64_t keep;  /* keep='24 hours', milliseconds; 0: not given */
    char *content, *column;
    char *later; /* a message with the first argument unknown to this version; NULL: none */
} cuckoo_table_plan;

/* Reads the arguments of the module, from argv[3] on. After an error *message is the reason, without the
** name of the module; NULL: out of memory. `stored`: the table exists already. Then arguments that
** cannot be read are no error, but come from a later version (plan->later), and the others are read. */
int cuckoo_table_plan_read(int argc, const char *const *argv, bool stored, cuckoo_table_plan *plan,
                           char **message);

/* The shape of a new table. The plan takes over the key rule of the synced column. Checks what only
** CREATE may check. Errors as above. */
int cuckoo_table_plan_shape(sqlite3 *db, const char *const *argv, cuckoo_table_plan *plan,
                            cf_geometry *shape, char **message);
void cuckoo_table_plan_free(cuckoo_table_plan *plan);

/* table_info.c */
void cuckoo_table_info_function(sqlite3_context *context, int argc, sqlite3_value **argv);

/* ---- the rows that a query returns (cursor_rows.c) ----
**
** With rowids=on several keys may have one hash: 7, '7' and '07' do, because a join may compare them as
** numbers. SQLite alone knows how it compares. So a lookup of such a key returns each row with the row's
** own key, and SQLite compares again. */

enum table_plan {
    ROWS_KEY = 1,       /* key = argv[0], or key IS argv[0] */
    ROWS_WANT_KEY = 2,  /* the key column is read */
    ROWS_COUNT = 4,     /* no column is read: one row per item */
    ROWS_LIST = 8,      /* with ROWS_KEY: argv[0] is the list of an IN */
    ROWS_COLLATION = 16 /* times the collation by which keys are compared */
};

typedef struct cuckoo_cursor {
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
    bool own;             /* each row spells the key in its own way, which own_of reads */
    bool listed;          /* the rows have different keys */
    sqlite3_stmt *own_of; /* reads it */
} cuckoo_cursor;

/* True if SQLite has to compare the key with that of the row, with rowids=on: a join may convert the
** texts of a column to numbers, and then 7 is equal to '7' and to '07'. A column of numbers always
** converts. Under a collation the filter finds more keys than a comparison by BINARY. */
static inline bool cuckoo_rows_compared(const cuckoo_table *table, int collation)
{
    return table->paged.shadow.rowids &&
           (table->affinity <= CF_AFFINITY_TEXT || collation != (int)table->collation);
}

/* Keeps the requested key, which the rows then have. */
int cuckoo_rows_keep(cuckoo_cursor *cursor, sqlite3_value *key);

/* Lists the keys of the synced table. The second function moves to the next key that is not NULL. */
int cuckoo_rows_list(cuckoo_table *table, cuckoo_cursor *cursor);
int cuckoo_rows_read(cuckoo_table *table, cuckoo_cursor *cursor);

/* With rowids=on: finds the rows of a key. Any row may have a vague key, or a key that a join converts
** when the content is queried: then *all is true, and all rows are candidates, if SQLite compares
** again. The second function finds the rows of all keys of a list, each once. */
int cuckoo_rows_of_key(cuckoo_table *table, cuckoo_cursor *cursor, int plan, sqlite3_value *key,
                       bool *all);
int cuckoo_rows_of_list(cuckoo_table *table, cuckoo_cursor *cursor, int plan, sqlite3_value *list);

/* Sets *key to the key of the row as the content has it, until cuckoo_rows_end_own; NULL: there is no
** such row. The third function returns it to SQLite. */
int cuckoo_rows_own(cuckoo_table *table, cuckoo_cursor *cursor, sqlite3_value **key);
int cuckoo_rows_end_own(cuckoo_table *table, cuckoo_cursor *cursor);
int cuckoo_rows_own_result(cuckoo_table *table, cuckoo_cursor *cursor, sqlite3_context *context);

#endif
