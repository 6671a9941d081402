/* SPDX-License-Identifier: MIT */
/*
** handle.h - the filter argument of a function: a blob, or a handle made by cf_open.
**
** Before 3.43 SQLite copies a large blob for every row when it comes from a column or a subquery. A
** handle is a pointer value: (SELECT cf_open(f) FROM filters WHERE ...) is evaluated once, and
** passing it on costs nothing. A pointer cannot pass through a record (a CTE, a view, a subquery in
** FROM), where it becomes NULL. A NULL filter is always an error, so that no row is dropped in
** silence.
*/
#ifndef CUCKOO_HANDLE_H
#define CUCKOO_HANDLE_H

#include "api.h"

/* A filter with its own copy of the bytes. References are counted, because a cursor may outlive the
** SQL value. Only one connection uses it, so the count needs no lock. */
typedef struct cuckoo_handle {
    cf_filter filter;
    unsigned references;
    uint8_t bytes[];
} cuckoo_handle;

/*
** The filter in an SQL value, opened for reading: in *reader when the value is a blob (then it
** lives as long as the value), elsewhere when the value is a handle. Returns CF_OK; or an error and
** *why (static text), of which cuckoo_filter_message makes a sentence. CF_OK with *filter NULL
** means out of memory.
*/
cf_status cuckoo_filter_read(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                             const char **why);

/* The same in the reader of the running function. The filter stays open until the function reads
** another one. NULL: the function has failed, with its message. */
const cf_filter *cuckoo_filter_argument(sqlite3_context *context, sqlite3_value *value);

/* A handle to keep, with one reference for the caller: the one in `value`, or else a new one with a
** copy of `filter`. NULL: out of memory. */
cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter);

/* Gives a reference back; the last one frees the handle, which may be NULL. */
void cuckoo_handle_release(void *handle);

/* cf_open(filter). */
void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
