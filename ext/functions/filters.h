/* SPDX-License-Identifier: MIT */
/*
** filters.h - filters that functions make, change, return and describe.
**
** A filter that a function makes is in memory of its own (sqlite3_malloc64), which may grow up to the
** limit of the connection. It becomes the result of the function, or is freed by cuckoo_filter_free.
** As in handles.h, the running function has failed after false.
*/
#ifndef CUCKOO_FILTERS_H
#define CUCKOO_FILTERS_H

#include "../keys/key.h"
#include "../keys/options.h"
#include "handles.h"

/* Plans a filter from the SQL arguments (capacity [, fpr [, options]]). */
bool cuckoo_plan_arguments(sqlite3_context *context, int argc, sqlite3_value **argv, cf_geometry *shape);

/* Makes an empty filter. */
bool cuckoo_new_filter(sqlite3_context *context, const cf_geometry *shape, cf_filter *filter);

/* The memory of filters that may grow up to the limit of the connection. */
cf_memory cuckoo_result_memory(sqlite3_context *context);

/* Makes a filter for exactly these keys (cf_build_collected). */
bool cuckoo_build_filter(sqlite3_context *context, cf_collected *keys, const cuckoo_options *options,
                         cf_filter *filter);

/* The running function fails, since keys cannot be collected. */
bool cuckoo_fail_list(sqlite3_context *context, const cf_collected *keys, cf_status status);

/* Copies a filter that will be changed. */
bool cuckoo_filter_copy(sqlite3_context *context, const cf_filter *filter, cf_filter *copy);

/* Reads the value that is stored with a key, in `bits` bits. The call must have one (`value` is not
** NULL) if the filter has values, and none otherwise; then *number is 0. */
bool cuckoo_value_read(sqlite3_context *context, unsigned bits, sqlite3_value *value, uint64_t *number);

/* The expected false-positive rate of the filter at its capacity. */
double cuckoo_planned_fpr(const cf_filter *filter);

/* Adds all keys of `filter` to `sum`. */
bool cuckoo_merge_into(sqlite3_context *context, cf_filter *sum, const cf_filter *filter);

/* Returns the filter from the running function, sealed; and the filter of an argument, unchanged. */
void cuckoo_result_filter(sqlite3_context *context, cf_filter *filter);
void cuckoo_result_same(sqlite3_context *context, const cf_filter *filter);

/* Frees the memory of a filter, if it has any. */
void cuckoo_filter_free(cf_filter *filter);

/* Returns the text in `builder` and `end` from the running function; if `end` is NULL, the bytes in
** `builder`, as a blob. Frees `builder`. */
void cuckoo_result_built(sqlite3_context *context, sqlite3_str *builder, const char *end);

/* Appends the members of cf_info to a JSON object, or begins one. `all`: also those for which the whole
** filter is read. False: interrupted. */
bool cuckoo_append_info(sqlite3 *db, sqlite3_str *json, const cf_filter *filter, bool all);

/* Appends a text member to a JSON object that has others, or null. */
void cuckoo_append_member(sqlite3_str *json, const char *name, const char *text);

/* Returns a picture from the running function: 25 lines of at most 80 characters (picture.c). */
void cuckoo_result_picture(sqlite3_context *context, const cf_filter *filter);

/* The longest blob or text that the connection allows, in bytes. */
uint64_t cuckoo_length_limit(sqlite3 *db);

/* True if cf_build made the filter from zero rows. SQLite evaluates the options of an aggregate for each
** row, so they are unknown. Such a filter has the capacity 0. */
bool cuckoo_is_from_zero_rows(const cf_filter *filter);
#define CUCKOO_FROM_ZERO_ROWS                                                                           \
    "was built from zero rows, where cf_build does not see its options, and would miss keys; build it " \
    "FROM (SELECT 1) LEFT JOIN the rows, or create it with cf_new(capacity, fpr, options)"

/* True if single keys can be added (`adds`) or deleted. A filter from zero rows would miss added keys. A
** filter with epochs cannot delete. */
bool cuckoo_may_change(sqlite3_context *context, const cf_filter *filter, bool adds);

/* SQLITE_OK if there is memory for a filter of this shape; SQLITE_TOOBIG and a message if not. Running
** out of memory later would roll back the transaction. */
int cuckoo_memory_for(const cf_geometry *shape, char **message);

#endif
