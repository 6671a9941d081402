/* SPDX-License-Identifier: MIT */
/*
** handles.h - the filter arguments of functions.
**
** A filter argument is a blob, or a handle made by cf_open. Before 3.43 SQLite copies a large blob for
** every row when it comes from a column or a subquery. A handle is a pointer value:
** (SELECT cf_open(f) FROM filters WHERE ...) is evaluated once, and passing it on costs nothing. A
** pointer cannot pass through a record (a CTE, a view, a subquery in FROM), where it becomes NULL. A
** NULL filter is always an error, so that no row is dropped silently.
**
** When a function of this file takes an sqlite3_context and returns false or NULL, the running
** function has failed, and its message is set.
*/
#ifndef CUCKOO_HANDLES_H
#define CUCKOO_HANDLES_H

#include "../../src/include/cuckoo_exact.h"
#include "../sqlite/api.h"

#include <string.h>

/* A filter with its own copy of the bytes. It has a reference count, because a cursor may outlive the
** SQL value. Only one connection uses it, so the count needs no lock. */
typedef struct cuckoo_handle {
    cf_filter filter; /* of an exact filter only bytes, length and key rule are set */
    cf_exact *exact;  /* NULL: an ordinary filter */
    unsigned references;
    uint8_t bytes[];
} cuckoo_handle;

/* The handle in an SQL value, or NULL. */
cuckoo_handle *cuckoo_handle_in(sqlite3_value *value);

/* Opens the filter in an SQL value for reading. If the value is a blob, *filter points into *reader, and
** is valid as long as the value; if it is a handle, *filter points into the handle. An exact filter
** gives *filter NULL and a reference in *exact; if `exact` is NULL it is an error. After an error both
** are NULL, and *why (static text) is for cuckoo_filter_message. `context` may be NULL. */
cf_status cuckoo_filter_read(sqlite3_context *context, sqlite3_value *value, cf_reader *reader,
                             const cf_filter **filter, cuckoo_handle **exact, const char **why);

/* The same for values[0], the first argument of the running function. The filter stays open until the
** function opens another one. NULL: it is exact, or the function has failed. The message says so if
** values[1] is the filter.
**
** After some hundred calls the statement keeps a reader for a bound parameter, and later calls compare
** only the end of the header, which contains the checksum. */
const cf_filter *cuckoo_filter_open(sqlite3_context *context, int count, sqlite3_value **values,
                                    cuckoo_handle **exact);
static inline const cf_filter *cuckoo_filter_argument(sqlite3_context *context, int count,
                                                      sqlite3_value **values, cuckoo_handle **exact)
{
    enum { END = CF_HEADER_BYTES - 8 };
    const cf_reader *kept = sqlite3_get_auxdata(context, 0);
    if (kept && memcmp(kept->filter.bytes + END, kept->header + END, 8) == 0)
        return &kept->filter;
    const cuckoo_handle *handle = cuckoo_handle_in(values[0]);
    return handle && !handle->exact ? &handle->filter
                                    : cuckoo_filter_open(context, count, values, exact);
}

/* A new handle with a copy of `filter`, and the handle in `value`, or a new one if there is none. The
** caller gets a reference. NULL: out of memory. */
cuckoo_handle *cuckoo_handle_new(const cf_filter *filter);
cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter);

/* Releases a reference; the last one frees the handle. `handle` may be NULL. */
void cuckoo_handle_release(void *handle);

/* cf_open(filter). */
void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
