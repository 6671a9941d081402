/* SPDX-License-Identifier: MIT */
/*
** front.h - a filter table that shows the rows of the table that it follows: its content.
**
**      CREATE VIRTUAL TABLE blocked_fast USING cuckoo_filter(content='blocked(user)', rows=on)
**
** Such a table has the columns of the content, and then the hidden ones of every filter table
** (table.h). Conditions go to a statement on the content. The filter is asked first when the followed
** column is compared by = or IS. If it says no, the statement does not run. If the filter cannot be
** used, the statement runs all the same: so the rows are always those of the content.
**
** SQLite checks every condition once more, because it does not tell by which affinity it compares.
** What goes to the content must find at least the rows that any comparison may find:
**
**      = IS IN on any column; < <= > >= on columns of numeric affinity and the rowid
**
** All else is left to SQLite: it reads the rows, and sorts them. Two kinds of values are unusual. A
** number in = or IS on a column of another affinity may be equal to several texts. A text or blob in a
** range on a numeric column may come from LIKE or GLOB, which gives bounds that blobs do not keep. The
** usual values take the statement that xBestIndex has shown; others take one that is made for them,
** without that condition. IN on a column of another affinity is taken as a whole: SQLite would check its
** values one by one, by another affinity than that of IN.
**
** A number that is asked by = or IS is looked up in its usual spelling first: 7 as 7 and as '7'. Other
** texts are equal to 7, too, where numbers are compared: '007', ' 7', '7.0'. If the filter counts more
** rows than were found, or cannot tell, these texts are read, all at once, and kept as long as nothing
** changes (spellings.h). So it is with one number of a query; of others, as in IN, any row may be equal.
**
** While a statement writes the content, and the triggers cannot be relied on, SQLite does not know that
** the content is read: then all rows are read, and sorted, before the first one is shown.
*/
#ifndef CUCKOO_FRONT_H
#define CUCKOO_FRONT_H

#include "../store/spellings.h"
#include "table.h"

enum { CUCKOO_NO_ROWS = -2, CUCKOO_ROWID = -1 /* in place of a column */ };

typedef struct cuckoo_shown {
    char *name, *collation;
    bool numeric; /* its affinity */
    bool text;    /* the same; else there is none */
    bool key;     /* it is in the primary key of a table without rowid */
    bool indexed; /* an index begins with it */
    bool unique;  /* and has no other column */
} cuckoo_shown;

/* A condition for the content. */
typedef struct cuckoo_condition {
    int column;
    int op; /* SQLITE_INDEX_CONSTRAINT_... */
} cuckoo_condition;

enum { CUCKOO_CONDITIONS = 30 /* at most */ };

/* One way to ask the content, as xBestIndex has chosen it. */
typedef struct cuckoo_way {
    char *text;    /* for EXPLAIN QUERY PLAN */
    uint64_t used; /* columns to read, as in colUsed */
    int conditions;
    cuckoo_condition condition[CUCKOO_CONDITIONS];
    int asks;           /* the filter is asked for this argument; -1: it is not asked */
    int list;           /* this argument is all of an IN; -1: none is */
    bool once;          /* with usual values there is at most one row */
    int *place;         /* of each column among those of the statement; -1: it is not read */
    sqlite3_stmt *idle; /* for the usual types; NULL: not made, or some cursor has it */
} cuckoo_way;

struct cuckoo_front {
    char *schema, *content; /* as it is named now */
    const char *rowid;      /* a name of the rowid; NULL: it has none, or none that can be named */
    bool keyed;             /* it is a table WITHOUT ROWID */
    char *declared;         /* as CREATE TABLE */
    cuckoo_shown *column;
    int columns;
    int followed; /* that column, or CUCKOO_ROWID; CUCKOO_NO_ROWS: it is not there */
    int prepared; /* when the schema was last looked at (cuckoo_shadow_schema) */
    double rows;  /* about so many */
    cuckoo_way **plan;
    int plans, kept;      /* kept: idle statements */
    unsigned skip, skips; /* the filter could not be used: how often it is still, and was, not asked */
    int cursors;          /* that are open */
    cuckoo_spellings spellings;
};

/* ---- front.c ---- */

/* Reads what the content is like, and declares the columns of the table. `content` and `column` are the
** names of now. A content that is not there is no error yet: the table can be dropped. */
int cuckoo_front_declare(cuckoo_table *table, const char *content, const char *column);
void cuckoo_front_free(cuckoo_front *front);

/* Makes the key of a row WITHOUT ROWID the result, in one column. */
int cuckoo_front_result_key(const cuckoo_front *front, const cuckoo_way *plan, sqlite3_stmt *rows,
                            sqlite3_context *context);

/* The column of this name, in any case, or CUCKOO_NO_ROWS. */
int cuckoo_front_find(const cuckoo_front *front, const char *name);

/* Is the content still as it was declared? If not, this is an error of the table. */
int cuckoo_front_look(cuckoo_table *table);

/* The columns before the hidden ones. */
static inline int cuckoo_front_columns(const cuckoo_front *front)
{
    return front->columns > 0 ? front->columns : 1;
}

/* ---- front_plan.c ---- */

/* The SQL for a plan. `unusual`: a bit for each argument of another type than the usual ones; and
** CUCKOO_SORTS, if all rows are to be read before the first one is shown. NULL: out of memory. */
char *cuckoo_way_sql(const cuckoo_front *front, const cuckoo_way *plan, uint32_t unusual);
#define CUCKOO_SORTS (UINT32_C(1) << 31)

/* Is this value of an unusual type for the condition? */
bool cuckoo_condition_unusual(const cuckoo_front *front, cuckoo_condition condition,
                              sqlite3_value *value);

/* What the values say before anything is asked. False: no row fits. */
bool cuckoo_way_fits(const cuckoo_front *front, const cuckoo_way *plan, sqlite3_value **argv,
                     uint32_t *unusual);

/* The argument that is a number of a column of texts and can be looked up by its spellings, of several
** the one by which the filter was asked; -1: none. It is not unusual then. */
int cuckoo_way_number(const cuckoo_way *plan, sqlite3_value **argv, uint32_t *unusual);

static inline bool cuckoo_is_equal(int op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

/* Are the values of the column those of numeric affinity? */
static inline bool cuckoo_front_numeric(const cuckoo_front *front, int column)
{
    return column < 0 || front->column[column].numeric;
}

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
