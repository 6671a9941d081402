/* SPDX-License-Identifier: MIT */
/*
** filters.h - filters that functions make, change, return and describe.
**
** A filter that a function makes lies in memory of its own (sqlite3_malloc64), which may grow up to what
** the connection allows. It ends as the result of the function, or in cuckoo_filter_free. What is false
** or NULL: as in handles.h.
*/
#ifndef CUCKOO_FILTERS_H
#define CUCKOO_FILTERS_H

#include "../keys/key.h"
#include "../keys/options.h"
#include "handles.h"

/* Plans from the SQL arguments (capacity [, fpr [, options]]). */
bool cuckoo_plan_arguments(sqlite3_context *context, int argc, sqlite3_value **argv, cf_geometry *shape);

/* An empty filter. */
bool cuckoo_new_filter(sqlite3_context *context, const cf_geometry *shape, cf_filter *filter);

/* For filters that may grow, up to what the connection allows. */
cf_memory cuckoo_result_memory(sqlite3_context *context);

/* A filter of n hashes, sized for exactly them, as cf_build says. With value_bits the hashes are n / 2
** pairs of a hash and a value (cf_build_values). Their order is lost. */
bool cuckoo_build_filter(sqlite3_context *context, uint64_t *hashes, size_t n,
                         const cuckoo_options *options, cf_filter *filter);

/* A copy of a filter, to be changed. */
bool cuckoo_filter_copy(sqlite3_context *context, const cf_filter *filter, cf_filter *copy);

/* Reads the value that goes with a key; `value` NULL: the call has none. A call needs one exactly
** when the filter keeps values, of `bits` bits. *number is 0 without. */
bool cuckoo_value_read(sqlite3_context *context, unsigned bits, sqlite3_value *value, uint64_t *number);

/* The error rate to be expected at its capacity. */
double cuckoo_planned_fpr(const cf_filter *filter);

/* Adds all of `filter` to `sum`. */
bool cuckoo_merge_into(sqlite3_context *context, cf_filter *sum, const cf_filter *filter);

/* Seals the filter and makes it the result. */
void cuckoo_result_filter(sqlite3_context *context, cf_filter *filter);

/* Makes the filter of an argument the result, unchanged. */
void cuckoo_result_same(sqlite3_context *context, const cf_filter *filter);

/* Frees the memory of a filter; one that is all zeros has none. */
void cuckoo_filter_free(cf_filter *filter);

/* Makes the text in `builder`, and this end, the result; `end` NULL: its bytes, as a blob. Frees it. */
void cuckoo_result_built(sqlite3_context *context, sqlite3_str *builder, const char *end);

/* Appends the members of cf_info to an object, or begins one. `all`: those, too, that need a walk over
** the filter. False: the walk was interrupted. */
bool cuckoo_append_info(sqlite3 *db, sqlite3_str *json, const cf_filter *filter, bool all);

/* Appends a member to a JSON object, behind others. `text` NULL: null. */
void cuckoo_append_member(sqlite3_str *json, const char *name, const char *text);

/* The result is a picture: 25 lines of at most 80 characters (picture.c). */
void cuckoo_result_picture(sqlite3_context *context, const cf_filter *filter);

/* The longest blob or text that the connection allows, in bytes. */
uint64_t cuckoo_length_limit(sqlite3 *db);

/* Is it one that cf_build made over no rows? SQLite shows an aggregate its arguments with the rows, so
** nobody knows by which options its keys were to be hashed. The header says so: planned for 0 keys. */
bool cuckoo_is_of_no_rows(const cf_filter *filter);
#define CUCKOO_OF_NO_ROWS                                                                               \
    "was built from zero rows, where cf_build does not see its options, and would miss keys; build it " \
    "FROM (SELECT 1) LEFT JOIN the rows, or create it with cf_new(capacity, fpr, options)"

/* The hash of a key that is added to the filter, which notes its type; or deleted:
** cuckoo_key_argument. */
cuckoo_key cuckoo_filter_key(sqlite3_context *context, sqlite3_value *key, cf_filter *filter, bool adds,
                             uint64_t *hash);

/* May single keys be added, or deleted? A filter of no rows would miss them. One that ages has taken
** keys for others, and forgets by epochs. */
bool cuckoo_may_change(sqlite3_context *context, const cf_filter *filter, bool adds);

/* Is there memory for so large a filter? Running out of it later would cost the transaction. CF_OK; or
** CF_TOO_BIG, and a message, unless memory is used up even for that. */
cf_status cuckoo_memory_for(const cf_geometry *shape, char **message);

#endif
