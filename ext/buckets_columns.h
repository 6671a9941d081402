/*
** buckets_columns.h - what the rows of cf_buckets, cf_table_buckets and cf_explain say.
*/
#ifndef CUCKOO_BUCKETS_COLUMNS_H
#define CUCKOO_BUCKETS_COLUMNS_H

#include "buckets_plan.h"
#include "handle.h"

extern const table_kind cuckoo_buckets_kind, cuckoo_table_buckets_kind, cuckoo_explain_kind;

/* A walk over the slots of buckets first..last, or of the sides of a pair. */
typedef struct inside_cursor {
    sqlite3_vtab_cursor base;
    cuckoo_handle *handle; /* keeps the bytes while the cursor is open */
    sqlite3_value *key;
    cf_pair pair;     /* cf_explain */
    uint64_t at, end; /* bucket number, or side of the pair */
    unsigned slot;
} inside_cursor;

static inline inside_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
    return (inside_cursor *)base;
}

/* cf_explain goes through the slots of either side, then through the spill list: is it there? */
bool cuckoo_in_list(const inside_cursor *cursor);

/* The spilled entry at the cursor, and the side of the key in whose bucket it would be; false: in neither. */
bool cuckoo_spilled_here(const inside_cursor *cursor, cf_entry *entry, unsigned *side);

/* The xColumn of the tables. */
int cuckoo_buckets_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int cuckoo_explain_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);

#endif
