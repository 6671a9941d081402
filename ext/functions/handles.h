/* SPDX-License-Identifier: MIT */
/*
** handles.h - filters that functions take.
**
** The filter argument of a function is a blob, or a handle made by cf_open. Before 3.43 SQLite copies a
** large blob for every row when it comes from a column or a subquery. A handle is a pointer value:
** (SELECT cf_open(f) FROM filters WHERE ...) is evaluated once, and passing it on costs nothing. A
** pointer cannot pass through a record (a CTE, a view, a subquery in FROM), where it becomes NULL. A
** NULL filter is always an error, so that no row is dropped in silence.
**
** When a function of this file takes an sqlite3_context and returns false or NULL, the running
** function has failed, with its message.
*/
#ifndef CUCKOO_HANDLES_H
#define CUCKOO_HANDLES_H

#include "../../src/include/cuckoo_exact.h"
#include "../sqlite/api.h"

#include <string.h>

/* A filter with its own copy of the bytes. References are counted, because a cursor may outlive the
** SQL value. Only one connection uses it, so the count needs no lock. */
typedef struct cuckoo_handle {
    cf_filter filter; /* of an exact one only bytes, length and key rule are set */
    cf_exact *exact;  /* NULL: an ordinary one */
    unsigned references;
    uint8_t bytes[];
} cuckoo_handle;

/*
** The filter in an SQL value, opened for reading. When the value is a blob, *filter points into *reader,
** and lives as long as the value; when the value is a handle, it points into the handle. Returns
** CF_OK; or an error, *filter NULL and *why (static text), of which cuckoo_filter_message makes a
** sentence.
*/
cf_status cuckoo_filter_read(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                             const char **why);

/* The exact filter in an SQL value of which cuckoo_filter_read has said cuckoo_is_exact, with a
** reference for the caller. Errors as there. `context` NULL: not in a function. */
cf_status cuckoo_exact_read(sqlite3_context *context, sqlite3_value *value, cuckoo_handle **exact,
                            const char **why);

/* The filter in the first argument of a scalar function. NULL: it is an exact one, or none:
** cuckoo_filter_argument or cuckoo_exact_argument tells. After some hundred rows a reader of its own
** stands beside a parameter: then only the end of the header, with the checksum, is looked at. */
const cf_filter *cuckoo_filter_first_anew(sqlite3_context *context, sqlite3_value *value);
static inline const cf_filter *cuckoo_filter_first(sqlite3_context *context, sqlite3_value *value)
{
    enum { END = CF_HEADER_BYTES - 8 };
    const cf_reader *kept = sqlite3_get_auxdata(context, 0);
    return kept && memcmp(kept->filter.bytes + END, kept->header + END, 8) == 0
               ? &kept->filter
               : cuckoo_filter_first_anew(context, value);
}

/* The same of values[0] in the reader of the running function. The filter stays open until the function
** reads another one. An error says when values[1] (count > 1) is a filter instead. */
const cf_filter *cuckoo_filter_argument(sqlite3_context *context, int count, sqlite3_value **values);

/* The same for functions that know exact filters, when values[0] is no ordinary one: an exact one, with
** a reference for the caller. */
cuckoo_handle *cuckoo_exact_argument(sqlite3_context *context, int count, sqlite3_value **values);

/* A handle to keep, with one reference for the caller: a new one with a copy of `filter`; or the one in
** `value`, if there is one. NULL: out of memory. */
cuckoo_handle *cuckoo_handle_new(const cf_filter *filter);
cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter);

/* Gives a reference back; the last one frees the handle, which may be NULL. */
void cuckoo_handle_release(void *handle);

/* cf_open(filter). */
void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
