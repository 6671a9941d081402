/* SPDX-License-Identifier: MIT */
/*
** inspect_columns.h - the table-valued functions that look inside a filter.
**
**      cf_buckets(filter)         one row per slot, in order of bucket and slot; also of a
**                                 filter table, by its name
**      cf_explain(filter, key)    one row per slot of the two buckets of the key, then one
**                                 per spilled entry of these buckets. Of an exact filter the
**                                 same for each level that the key is looked for in
**
** They are eponymous virtual tables. They share their methods, a plan from xBestIndex, and a cursor
** that walks over slots. They differ in their columns, and in what the cursor walks over: a range
** of buckets, or the sides of a pair.
*/
#ifndef CUCKOO_INSPECT_COLUMNS_H
#define CUCKOO_INSPECT_COLUMNS_H

#include "../functions/filters.h"
#include "../store/registry.h"

/* ---- the tables (inspect_columns.c) ---- */

/* What the tables differ in. Columns are counted from 0. */
typedef struct inspect_kind {
    const char *name;
    const char *schema;
    const uint8_t *columns; /* what each column says (inspect_columns.c) */
    int filter_column;
    int key_column; /* -1: none */
    /* Constraints on this column narrow the walk. Rows come in its order, then in that of the next
    ** column. -1: none. */
    int bucket_column;
    bool takes_names; /* a text names a filter table */
} inspect_kind;

enum { CUCKOO_INSPECT_KINDS = 2 };
extern const inspect_kind cuckoo_inspect_kinds[CUCKOO_INSPECT_KINDS];

typedef struct inspect_table {
    sqlite3_vtab base;
    const inspect_kind *kind;
    cuckoo_registry *registry; /* of the connection */
} inspect_table;

/* A walk over the slots of buckets `at` .. `end`-1, or of the sides of a pair, after which the
** spill list counts as one side more. Each level of an exact filter has two sides. */
typedef struct inspect_cursor {
    sqlite3_vtab_cursor base;
    cuckoo_handle *handle;   /* keeps the bytes while the cursor is open */
    sqlite3_value *key;      /* of cf_explain */
    uint64_t hash;           /* of that key */
    const cf_filter *filter; /* or the level of an exact one */
    cf_pair pair;            /* of that key, there */
    uint64_t at, end;
    unsigned slot; /* or place in the spill list */
} inspect_cursor;

static inline inspect_cursor *cuckoo_inspect_cursor_of(sqlite3_vtab_cursor *base)
{
    return (inspect_cursor *)base;
}

/* Has cf_explain come to the spill list? */
bool cuckoo_inspect_in_list(const inspect_cursor *cursor);

/* The spilled entry at the cursor, and the side of the pair in
** whose bucket it belongs. False: it belongs in neither. */
bool cuckoo_inspect_spilled(const inspect_cursor *cursor, cf_entry *entry, unsigned *side);

/* The xColumn method. */
int cuckoo_inspect_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);

/* ---- the modules (inspect.c) ---- */

/* Registers them, or takes them back (registry NULL). Returns an SQLite code. */
int cuckoo_register_inspect(sqlite3 *db, cuckoo_registry *registry);

#endif
