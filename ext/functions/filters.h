/* SPDX-License-Identifier: MIT */
/*
** filters.h - filters that functions take, make, change and return.
**
** The filter argument of a function is a blob, or a handle made by cf_open. Before 3.43 SQLite copies a
** large blob for every row when it comes from a column or a subquery. A handle is a pointer value:
** (SELECT cf_open(f) FROM filters WHERE ...) is evaluated once, and passing it on costs nothing. A
** pointer cannot pass through a record (a CTE, a view, a subquery in FROM), where it becomes NULL. A
** NULL filter is always an error, so that no row is dropped in silence.
**
** A filter that a function makes lies in memory of its own (sqlite3_malloc64), which may grow up to what
** the connection allows. It ends as the result of the function, or in cuckoo_filter_free.
**
** When a function of this file takes an sqlite3_context and returns false or NULL, the running
** function has failed, with its message.
*/
#ifndef CUCKOO_FILTERS_H
#define CUCKOO_FILTERS_H

#include "../keys/options.h"

/* ---- taken ---- */

/* A filter with its own copy of the bytes. References are counted, because a cursor may outlive the
** SQL value. Only one connection uses it, so the count needs no lock. */
typedef struct cuckoo_handle {
    cf_filter filter;
    unsigned references;
    uint8_t bytes[];
} cuckoo_handle;

/*
** The filter in an SQL value, opened for reading. When the value is a blob, *filter points into *reader,
** and lives as long as the value; when the value is a handle, it points into the handle. Returns
** CF_OK; or an error and *why (static text), of which cuckoo_filter_message makes a sentence. CF_OK
** with *filter NULL means out of memory.
*/
cf_status cuckoo_filter_read(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                             const char **why);

/* The same in the reader of the running function. The filter stays open until the function reads
** another one. */
const cf_filter *cuckoo_filter_argument(sqlite3_context *context, sqlite3_value *value);

/* A handle to keep, with one reference for the caller: the one in `value`, or else a new one with a
** copy of `filter`. NULL: out of memory. */
cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter);

/* Gives a reference back; the last one frees the handle, which may be NULL. */
void cuckoo_handle_release(void *handle);

/* cf_open(filter). */
void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv);

/* ---- made, changed and returned ---- */

/* Plans a filter for `capacity` keys. */
bool cuckoo_plan(sqlite3_context *context, uint64_t capacity, const cuckoo_options *options,
                 cf_geometry *shape);

/* Plans from the SQL arguments (capacity [, fpr [, options]]). */
bool cuckoo_plan_arguments(sqlite3_context *context, int argc, sqlite3_value **argv, cf_geometry *shape);

/* An empty filter. */
bool cuckoo_new_filter(sqlite3_context *context, const cf_geometry *shape, cf_filter *filter);

/* A copy of a filter, to be changed. */
bool cuckoo_filter_copy(sqlite3_context *context, const cf_filter *filter, cf_filter *copy);

/* Reads the value that goes with a key; `value` NULL: the call has none. A call needs one exactly
** when the filter keeps values. *number is 0 without. */
bool cuckoo_value_read(sqlite3_context *context, const cf_filter *filter, sqlite3_value *value,
                       uint64_t *number);

/* Will a filter hold n keys more without growing? Then they are best added at once. One that has to
** grow had better take them in an order of chance than sorted. */
bool cuckoo_fit_as_planned(const cf_filter *filter, uint64_t n);

/* Adds n hashes to a filter. Their order is lost. */
bool cuckoo_add_hashes(sqlite3_context *context, cf_filter *filter, uint64_t *hashes, size_t n);

/* Adds all of `filter` to `sum`. */
bool cuckoo_merge_into(sqlite3_context *context, cf_filter *sum, const cf_filter *filter);

/* Seals the filter and makes it the result. */
void cuckoo_result_filter(sqlite3_context *context, cf_filter *filter);

/* Makes the filter of an argument the result, unchanged: the same value, or the bytes behind a
** handle. */
void cuckoo_result_same(sqlite3_context *context, sqlite3_value *argument, const cf_filter *filter);

/* Frees the memory of a filter; one that is all zeros has none. */
void cuckoo_filter_free(cf_filter *filter);

/* The text in `builder`, and its length; frees the builder. */
char *cuckoo_finish_text(sqlite3_context *context, sqlite3_str *builder, int *length);

/* The longest blob or text that the connection allows, in bytes. */
uint64_t cuckoo_length_limit(sqlite3 *db);

/* May single keys be deleted? A filter that ages has taken keys for others, and forgets by epochs. */
bool cuckoo_may_delete(sqlite3_context *context, const cf_filter *filter);

#endif
