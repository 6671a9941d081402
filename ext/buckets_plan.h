/*
** buckets_plan.h - how a query on cf_buckets or cf_explain is planned.
**
** The arguments of a table-valued function are equality constraints on its hidden columns. xBestIndex picks
** them, and the constraints on the bucket number that narrow the walk, and tells xFilter in idxNum which
** values follow in argv, in the order of the bits. Without the arguments xFilter fails.
*/
#ifndef CUCKOO_BUCKETS_PLAN_H
#define CUCKOO_BUCKETS_PLAN_H

#include "registry.h"

enum plan_bits {
    PLAN_FILTER = 1, /* filter = argv */
    PLAN_KEY = 2,    /* key = argv, in cf_explain */
    PLAN_EQUAL = 4,  /* bucket = argv */
    PLAN_LEAST = 8,  /* bucket > argv or bucket >= argv */
    PLAN_MOST = 16   /* bucket < argv or bucket <= argv */
};

/* What the two tables differ in. Columns are counted from 0. */
typedef struct table_kind {
    const char *name;
    const char *schema;
    int filter_column;
    int key_column;    /* -1: none */
    bool by_name;      /* the filter is a persistent table, by its name */
    int bucket_column; /* of the constraints that narrow the walk; -1: none. Rows come in its order, then
                          in that of the next column */
} table_kind;

/* The virtual table of either kind. */
typedef struct inside_table {
    sqlite3_vtab base;
    const table_kind *kind;
    cuckoo_registry *registry; /* of the connection */
} inside_table;

/* xBestIndex of both tables. */
int cuckoo_inside_best_index(sqlite3_vtab *table, sqlite3_index_info *info);

/* Makes `message` (memory of sqlite3_malloc; NULL when there was none) the error of the table; the code. */
int cuckoo_inside_fail(sqlite3_vtab *table, int code, char *message);

#endif
