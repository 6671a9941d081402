/*
** handle.h - the filter argument of a function: a blob, or a handle made by cf_open.
**
** Before 3.43, SQLite copies a large blob for every row when it comes from a column or a subquery. A
** handle is a pointer value: (SELECT cf_open(f) FROM filters WHERE ...) is evaluated once, and passing
** it on costs nothing. A pointer cannot pass through a record (a CTE, a view, a subquery in FROM): it
** arrives as NULL, and a NULL filter is always an error, so that no row is dropped in silence.
*/
#ifndef CUCKOO_HANDLE_H
#define CUCKOO_HANDLE_H

#include "api.h"

/* A filter and its own copy of the bytes; counted, because a cursor may outlive the SQL value. One
** connection uses it, so the count needs no lock. */
typedef struct cuckoo_handle {
    cf_filter filter;
    unsigned references;
    uint8_t bytes[];
} cuckoo_handle;

/*
** The filter in an SQL value, opened for reading: in *reader when the value is a blob, and then it lives
** as long as the value; elsewhere when it is a handle. CF_OK; or a status and *why, static text, without
** the name of a function (cuckoo_filter_message makes the sentence); or CF_OK with *filter NULL when out
** of memory.
*/
cf_status cuckoo_filter_read(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                             const char **why);

/* The same for a function, in its own reader: until it reads another. NULL: it has failed, with its message. */
const cf_filter *cuckoo_filter_argument(sqlite3_context *context, sqlite3_value *value);

/* A filter in memory of its own (sqlite3_malloc64), which may become longer up to what the connection allows. It ends
** as the result of the function, or in cuckoo_filter_free. */

/* What such a filter grows with. */
uint8_t *cuckoo_resize(uint8_t *bytes, uint64_t size);

/* Takes over `bytes`, in which `filter` was made or opened for writing. */
void cuckoo_filter_own(sqlite3_context *context, cf_filter *filter);

/* A copy of a filter to be changed. False: out of memory, and the function has failed. */
bool cuckoo_filter_copy(sqlite3_context *context, const cf_filter *filter, cf_filter *copy);

/* Seals the filter and makes it the result. */
void cuckoo_result_filter(sqlite3_context *context, cf_filter *filter);

/* Frees the memory of a filter; one that is all zero has none. */
void cuckoo_filter_free(cf_filter *filter);

/* Something to keep: the handle that holds `filter` when `value` is one, else a new one with a copy; with
** one reference for the caller. NULL: out of memory. */
cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter);

/* Gives a reference back; the last one frees. NULL is allowed. */
void cuckoo_handle_release(void *handle);

/* cf_open(filter). */
void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
