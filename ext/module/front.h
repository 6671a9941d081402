/* SPDX-License-Identifier: MIT */
/*
** front.h - a filter table that shows the rows of the table that it follows: its content.
**
**      CREATE VIRTUAL TABLE blocked_fast USING cuckoo_filter(content='blocked(user)', rows=on)
**
** Such a table has the columns of the content, and then the hidden ones of every filter table
** (module.h). Conditions go to a statement on the content. The filter is asked first when the followed
** column is compared by = or IS. If it says no, the statement does not run. If the filter cannot be
** used, the statement runs all the same: so the rows are always those of the content.
**
** SQLite checks every condition once more, because it does not tell by which affinity it compares.
** What goes to the content must find at least the rows that any comparison may find:
**
**      = IS IN on any column; < <= > >= on columns of numeric affinity and the rowid
**
** All else is left to SQLite: it reads the rows, and sorts them. IN on a column of another affinity is
** taken as a whole: SQLite would check its values one by one, by another affinity than that of IN.
**
** xBestIndex writes the statement, and xFilter runs it: EXPLAIN QUERY PLAN shows it. Two kinds of values
** need a wider one, without their condition. A number in = or IS on a column of another affinity may be
** equal to several texts. A text or blob in a range on a numeric column may come from LIKE or GLOB,
** which gives bounds that blobs do not keep.
**
** A number that the first condition asks for is looked up in its spellings instead. The usual one is
** that which SQLite gives it: 7 and 7.0 are '7', 0.5 is '0.5'. Every text that some comparison finds
** equal to a number is either its usual spelling, or a text that SQLite reads as that number: '007',
** ' 7', '7.0', '70e-1'. If the filter counts more rows than were found, or cannot tell, these others are
** read, all at once, and kept as long as nothing changes. No two spellings of a number are equal in the
** column, so no row is found twice.
*/
#ifndef CUCKOO_FRONT_H
#define CUCKOO_FRONT_H

#include "../keys/sums.h"
#include "module.h"

/* A column of the content, or its rowid. */
typedef struct cuckoo_shown {
    char *name;
    int collation;      /* -1: another one than filters know, which is left to SQLite */
    bool numeric, text; /* its affinity; neither: it has none */
    bool key;           /* it is in the primary key of a table without rowid */
    int finds;          /* rows that = finds by an index, as a guess; 0: no index begins with it */
} cuckoo_shown;

/* Copies of values. All zeros: none. */
typedef struct cuckoo_values {
    sqlite3_value **all;
    int n;
} cuckoo_values;

/* The texts of one column that are numbers in another than the usual spelling. All zeros: not read. */
typedef struct cuckoo_spellings {
    int column; /* its number, from 1 on */
    struct {
        unsigned version; /* what SQLite tells of changes: of others, */
        int changes;      /* of this connection, */
        unsigned undone;  /* and of rollbacks after a change of which a trigger has told */
    } at;
    cuckoo_values texts; /* those of one number side by side */
    cuckoo_sums places;  /* by the hash of a number: the place of its first one, and 2^32 for each */
} cuckoo_spellings;

typedef struct front_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *rows; /* NULL: none yet */
    bool is_row;        /* it is at one */
    bool looked;        /* since it was opened: front->calm is of this transaction */
    bool spells;        /* the first value is a number, and its spellings are to be looked up, too */
    int column;         /* of this number */
    cuckoo_values list; /* values for the first parameter; none: there is one, and it is bound */
    int next;           /* of these: to be looked up next */
    uint64_t most;      /* so many rows have it besides those that were shown, at most */
} front_cursor;

enum { CUCKOO_NO_ROWS = -2, CUCKOO_ROWID = -1 /* in place of a column */ };
enum { CUCKOO_KEPT = 16 /* cursors */ };

struct cuckoo_front {
    const char *schema;
    char *content;       /* as it is named now */
    char *declared;      /* as CREATE TABLE */
    cuckoo_shown *shown; /* the rowid, and then the columns; a rowid without a name cannot be read */
    int columns;
    int followed;                    /* that column, or CUCKOO_ROWID; CUCKOO_NO_ROWS: it is not there */
    bool keyed;                      /* it is a table WITHOUT ROWID */
    bool moved;                      /* statements may be on the content of before */
    int prepared;                    /* when the schema was last looked at (cuckoo_shadow_schema) */
    front_cursor *kept[CUCKOO_KEPT]; /* closed ones, to be opened again; NULL: none */
    unsigned next;                   /* of these, to be replaced */
    int skip;         /* the filter could not be used: asked again after so many times; 0: it could */
    cuckoo_calm calm; /* of the last use of the filter */
    unsigned version; /* of the database, then */
    cuckoo_spellings others;
};

/* Column i, or CUCKOO_ROWID. */
static inline const cuckoo_shown *cuckoo_front_shown(const cuckoo_front *front, int i)
{
    return &front->shown[1 + i];
}

/* ---- front.c: what the content is like ---- */

/* Reads what the content is like, and declares the columns of the table. `content` and `column` are the
** names of now. A content that is not there is no error yet: the table can be dropped. `message`: of
** CREATE, for which columns that cannot be shown are an error; else NULL. */
int cuckoo_front_declare(cuckoo_table *table, const char *content, const char *column, char **message);
void cuckoo_front_free(cuckoo_front *front);
void cuckoo_front_free_cursor(front_cursor *cursor);
void cuckoo_front_forget_others(cuckoo_front *front);

/* SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_values_add(cuckoo_values *values, sqlite3_value *value);
void cuckoo_values_free(cuckoo_values *values);

/* The column of this name, in any case, or CUCKOO_NO_ROWS. */
int cuckoo_front_find(const cuckoo_front *front, const char *name);

/* Is the content still as it was declared? If not, this is an error of the table. */
int cuckoo_front_look(cuckoo_table *table);

/* Before SQLite 3.38 no statement may run in xBestIndex: it might take away the schema that SQLite is
** compiling with. Then xOpen looks. */
#define CUCKOO_LOOKS_LATE (sqlite3_libversion_number() < 3038000)

/* ---- front_plan.c: from xBestIndex to xFilter ---- */

/* idxNum. The statement is idxStr; it has a parameter for each condition, and these are its arguments.
** From CUCKOO_KINDS on two bits say which values of an argument are usual. From CUCKOO_SPELLED on stands
** the number of the column, from 1 on, of which the first argument may be looked up in spellings. */
enum {
    CUCKOO_ASKS = 1, /* the filter is asked for the first argument */
    CUCKOO_LIST = 2, /* which is all of an IN */
    CUCKOO_NULL = 4, /* which may be NULL */
    CUCKOO_KINDS = 3,
    CUCKOO_CONDITIONS = 8, /* at most */
    CUCKOO_SPELLED = CUCKOO_KINDS + 2 * CUCKOO_CONDITIONS
};

/* Is this value of argument i an unusual one, for which its condition does not hold? */
bool cuckoo_front_unusual(uint32_t plan, int i, sqlite3_value *value);

/* The statement on the content of now, without the conditions of `dropped`, a bit for each argument.
** CUCKOO_SORTS: all rows are read before the first one is shown. NULL: out of memory. */
char *cuckoo_front_widen(const cuckoo_front *front, const char *text, uint32_t dropped);
#define CUCKOO_SORTS (UINT32_C(1) << 31)

/* ---- front_spellings.c ---- */

/* Can the number be looked up by its spellings? From 10^15 on SQLite rounds a whole real to 15 digits
** when it makes a text of it. That text may be equal to the real, and is another number. */
bool cuckoo_front_is_spelled(sqlite3_value *number);

/* Binds the usual spelling of such a number to parameter 1. */
int cuckoo_front_bind_usual(sqlite3_stmt *rows, sqlite3_value *number);

/* Appends the others of a number to the list. They are read from this column, unless those of now are
** there. */
int cuckoo_front_others(cuckoo_table *table, int column, sqlite3_value *number, cuckoo_values *list);

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
