/* SPDX-License-Identifier: MIT */
/*
** front.h - a filter table that returns the rows of the table that it is in sync with, its content.
**
**      CREATE VIRTUAL TABLE blocked_fast USING cuckoo_filter(content='blocked(user)', rows=on)
**
** Such a table has the columns of the content, and then the hidden columns of every filter table
** (module.h). Conditions go to a statement on the content. If the synced column is compared by = or IS,
** the filter is queried first, and if the key is definitely absent, the statement does not run. If the
** filter cannot be used, the statement runs anyway, so the rows are always those of the content.
**
** SQLite checks every condition again, because it does not report the affinity of a comparison. The
** conditions that go to the content must find at least the rows that any comparison may find:
**
**      = IS IN on any column; < <= > >= on columns of numeric affinity and the rowid
**
** All others are left to SQLite, which reads the rows and sorts them. IN on a column without numeric
** affinity is taken as a whole: SQLite would check its values one by one, with another affinity.
**
** xBestIndex writes the statement, and xFilter runs it: EXPLAIN QUERY PLAN shows it. Two kinds of values
** need a wider statement, without their condition. A number in = or IS on a column of another affinity
** may be equal to several texts. A text or blob in a range on a numeric column may come from LIKE or
** GLOB, whose bounds do not hold for blobs.
**
** A number that is compared with a synced text column is looked up in its usual spelling instead, which
** is the text that SQLite converts it to: 7 and 7.0 are '7', 0.5 is '0.5'. Every text that some
** comparison finds equal to a number is either its usual spelling, or a text that SQLite reads as that
** number: '007', ' 7', '7.0', '70e-1'. If the filter counts more rows than were found, or cannot count
** them, and if the column has the number in another spelling, all other rows are read for them.
**
** In a join the statement runs again and again, and starting and ending it takes longer than the lookup.
** So once some keys have been found, it is replaced by a *fed* statement, which never ends: its outer
** table is cuckoo_feed (front_feed.c), whose next row is the next key.
**
**      SELECT c.rowid, c."user" FROM cuckoo_feed(?1) AS f LEFT JOIN "main"."blocked" AS c
**      ON (c."user" = +f.k1)
**
** With rowids=on the filter names the rows that may have the key, and the statement runs for each of
** them, with another condition: AND c.rowid = ?9.
**
** The fed statement runs on only while nothing changes (cuckoo_table_is_calm), and is an optimization:
** if it cannot run, because of an authorizer or a limit, the other one does.
*/
#ifndef CUCKOO_FRONT_H
#define CUCKOO_FRONT_H

#include "../keys/counts.h"
#include "module.h"

/* A column of the content, or its rowid. */
typedef struct cuckoo_shown {
    char *name;
    int collation;      /* -1: one that filters do not support, which is left to SQLite */
    bool numeric, text; /* its affinity; both false: none */
    bool real;          /* REAL affinity, which is numeric as well */
    bool key;           /* it is in the primary key of a table without rowid */
    int finds; /* rows that = finds: 1 if unique, otherwise a guess; 0: no index begins with it */
} cuckoo_shown;

/* Copies of values. All zeros: none. */
typedef struct cuckoo_values {
    sqlite3_value **all;
    int n;
} cuckoo_values;

/* The numbers that the synced column has in other spellings than the usual one. All zeros: not read. */
typedef struct cuckoo_spellings {
    bool read;
    struct {
        unsigned version; /* the data version: changes by others, */
        int changes;      /* by this connection, */
        unsigned undone;  /* and rollbacks after a change that a trigger has logged */
    } at;
    cuckoo_counts numbers; /* by their hashes */
} cuckoo_spellings;

/* The fed statement of a cursor, and its next row. */
typedef struct cuckoo_feed {
    sqlite3_stmt *rows;  /* NULL: not prepared, or it cannot run */
    const char *text;    /* of the statement that it replaces; NULL: not needed yet */
    bool again;          /* a key was found before */
    sqlite3_value **key; /* the key, and the other values that are compared */
    bool is_new;         /* its next row has them; otherwise NULL, which ends the rows of a key */
    bool is_row;         /* its current row has them */
    bool read;           /* the statement has read one of them */
} cuckoo_feed;

typedef struct front_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *rows;  /* the statement with the current row: `plain` or feed.rows; NULL: none */
    sqlite3_stmt *plain; /* for one key, or for the values of a list in turn; NULL: none yet */
    cuckoo_feed feed;
    bool looked;            /* a lookup since it was opened: front->calm is of this transaction */
    bool unique;            /* there is at most one row */
    unsigned asked, absent; /* keys looked up in the filter, and absent ones among them */
    unsigned unasked;       /* keys for which it is still not queried, because it rejects too few */
    cuckoo_values list; /* values for the first parameter; or the values of the feed, for several rows */
    int next;           /* index of the value to look up next */
    cuckoo_rows
        pairs;   /* with rowids=on: the rows that may have a key; `value` is its place in the list */
    size_t pair; /* index of the pair to look up next */
    bool rowed, unsure; /* only these rows are looked up, unless some key may be in others */
    const char *text;   /* `plain` is the statement of this text, */
    uint32_t how;       /* rewritten in this way; NULL: not known */
    uint64_t number; /* number that is looked up in its usual spelling (cuckoo_front_number); 0: none */
    uint64_t most;   /* the most rows that have it besides the returned ones */
} front_cursor;

enum { CUCKOO_NO_ROWS = -2, CUCKOO_ROWID = -1 /* in place of a column */ };
enum { CUCKOO_IDLE = 16 /* statements */ };

struct cuckoo_front {
    const char *schema;
    char *content;       /* its current name */
    char *declared;      /* as CREATE TABLE */
    cuckoo_shown *shown; /* the rowid, and then the columns; a rowid without a name cannot be read */
    int columns;
    int followed;                    /* the synced column, or CUCKOO_ROWID; CUCKOO_NO_ROWS: it is gone */
    bool utf8;                       /* texts of the content are UTF-8 */
    bool keyed;                      /* it is a table WITHOUT ROWID */
    bool moved;                      /* statements may be on the old content */
    int prepared;                    /* at the last check of the schema (cuckoo_shadow_schema) */
    front_cursor *spare;             /* a closed cursor, for the next one that is opened; NULL: none */
    sqlite3_stmt *idle[CUCKOO_IDLE]; /* statements of closed cursors; NULL: none */
    unsigned next;                   /* the next of these to be replaced */
    int skip;         /* lookups until the filter, which could not be used, is tried again; 0: usable */
    cuckoo_calm calm; /* of the last use of the filter */
    unsigned version; /* of the database at that use */
    cuckoo_spellings others;
};

/* Column i, or CUCKOO_ROWID. */
static inline const cuckoo_shown *cuckoo_front_shown(const cuckoo_front *front, int i)
{
    return &front->shown[1 + i];
}

/* ---- front.c: the columns of the content ---- */

/* Reads the columns of the content, and declares the columns of the table. `content` and `column` are
** the current names. A missing content is no error yet, because the table must be droppable. `message`:
** of CREATE, for which columns that cannot be declared are an error; otherwise NULL. */
int cuckoo_front_declare(cuckoo_table *table, const char *content, const char *column, char **message);
void cuckoo_front_free(cuckoo_front *front);

/* SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_values_add(cuckoo_values *values, sqlite3_value *value);
void cuckoo_values_free(cuckoo_values *values);

/* The column of this name, ignoring case, or CUCKOO_NO_ROWS. */
int cuckoo_front_find(const cuckoo_front *front, const char *name);

/* SQLITE_OK if the content is still as it was declared; otherwise an error of the table. */
int cuckoo_front_look(cuckoo_table *table);

/* Before SQLite 3.38 no statement may run in xBestIndex: it might free the schema with which SQLite is
** compiling. Then xOpen does this. */
#define CUCKOO_LOOKS_LATE (sqlite3_libversion_number() < 3038000)

/* ---- front_plan.c: from xBestIndex to xFilter ---- */

/* idxNum. idxStr is the statement; it has a parameter for each condition, which are its arguments. From
** CUCKOO_KINDS on two bits say which values of an argument are usual. */
enum {
    CUCKOO_ASKS = 1,    /* the first argument is looked up in the filter */
    CUCKOO_LIST = 2,    /* it is the whole list of an IN */
    CUCKOO_NULL = 4,    /* it may be NULL */
    CUCKOO_UNIQUE = 8,  /* at most one row has it, unless it is unusual or NULL */
    CUCKOO_SPELLS = 16, /* if it is a number, it may be looked up in its spellings */
    CUCKOO_KINDS = 5,
    CUCKOO_CONDITIONS = 8 /* at most */
};

/* True if this value of argument i is unusual, so that its condition does not hold. */
bool cuckoo_front_unusual(uint32_t plan, int i, sqlite3_value *value);

/* idxStr without its comments, which the connection may forbid. */
const char *cuckoo_front_sql(const char *text);

/* The statement on the current content, without the conditions in `how`, which has a bit for each
** argument; NULL: out of memory. The other bits of `how`: all rows are read before the first one is
** returned; the first argument is a number in its usual spelling, or in the others; the fed statement;
** the statement for one row. */
char *cuckoo_front_rewrite(const cuckoo_front *front, const char *text, uint32_t how);
enum {
    CUCKOO_SORTS = 1 << CUCKOO_CONDITIONS,
    CUCKOO_SPELLED = CUCKOO_SORTS << 1,
    CUCKOO_FED = CUCKOO_SPELLED << 1,
    CUCKOO_ROWED = CUCKOO_FED << 1
};

/* Further parameters: the usual spelling of a number; 1 for the others; or the rowid (CUCKOO_ROWED),
** which a statement with spellings does not have. Few numbers, for SQLITE_LIMIT_VARIABLE_NUMBER. */
enum { CUCKOO_USUAL = CUCKOO_CONDITIONS + 1, CUCKOO_OTHERS, CUCKOO_ROW = CUCKOO_USUAL };

/* Returns a value as the result. For a UTF-8 text this takes half as long as sqlite3_result_value, which
** allocates memory for it each time. */
static inline void cuckoo_front_result(sqlite3_context *context, sqlite3_value *value, bool utf8)
{
    const char *text = NULL;
    if (utf8 && sqlite3_value_type(value) == SQLITE_TEXT)
        text = (const char *)sqlite3_value_text(value);
    if (text)
        sqlite3_result_text(context, text, sqlite3_value_bytes(value), SQLITE_TRANSIENT);
    else
        sqlite3_result_value(context, value);
}

/* ---- front_feed.c ---- */

/* Sets *rows to the statement of this text: the current one, an idle one, or a new one. */
int cuckoo_front_take(cuckoo_table *table, const char *text, sqlite3_stmt **rows);
void cuckoo_front_give(cuckoo_front *front, sqlite3_stmt **rows);

/* Sets the error of the table to SQLite's message. */
int cuckoo_front_fail(front_cursor *cursor, int rc);

/* The table-valued function cuckoo_feed(pointer). */
extern const sqlite3_module cuckoo_feed_module;

/* Looks up a key by the fed statement, if there is one. False: nothing has happened. */
bool cuckoo_feed_key(front_cursor *cursor, const char *text, int argc, sqlite3_value **argv, int *rc);

/* Moves to the next row of the key. */
int cuckoo_feed_next(front_cursor *cursor);

/* ---- front_spellings.c ---- */

/* True if the number can be looked up by its spellings. From 10^15 on SQLite rounds a whole real to 15
** digits when it converts it to text. That text may compare equal to the real, but is another number. */
bool cuckoo_front_is_spelled(sqlite3_value *number);

/* The hash of a number; equal numbers have the same hash, which is not 0. */
uint64_t cuckoo_front_number(sqlite3_value *number);

/* Binds the usual spelling of such a number. */
int cuckoo_front_bind_usual(sqlite3_stmt *rows, sqlite3_value *number);

/* True if the synced column has the number of this hash in another spelling. */
int cuckoo_front_has_others(cuckoo_table *table, uint64_t number, bool *has);

/* ---- methods: front_plan.c has the first one, front_cursor.c the others ---- */

int cuckoo_front_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int cuckoo_front_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result);
int cuckoo_front_close(sqlite3_vtab_cursor *base);
int cuckoo_front_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                        sqlite3_value **argv);
int cuckoo_front_next(sqlite3_vtab_cursor *base);
int cuckoo_front_eof(sqlite3_vtab_cursor *base);
int cuckoo_front_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int cuckoo_front_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

#endif
