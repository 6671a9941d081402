/* SPDX-License-Identifier: MIT */
#include "handles.h"

#include "../sqlite/errors.h"
#include "../sqlite/register.h"

#include "../../src/base/bits.h"

#include <assert.h>

/* The type contains the version, because two versions in one process must not exchange handles. */
static const char pointer_type[] = "cuckoo_filter " CUCKOO_VERSION;

cuckoo_handle *cuckoo_handle_in(sqlite3_value *value)
{
    return (cuckoo_handle *)sqlite3_value_pointer(value, pointer_type);
}

/* SQLite returns NULL for the bytes of an empty blob, and of a zeroblob for which it has no memory. */
static cf_status read_blob(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                           const char **why)
{
    const uint8_t *bytes = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    if (bytes == NULL && length > 0)
        return CF_NO_MEMORY;
    cf_status status = cf_reader_open(reader, bytes, (size_t)length, why);
    size_t unlabeled = status == CF_OK ? 0 : cf_without_label(bytes, (size_t)length);
    if (status != CF_OK && unlabeled < (size_t)length)
        status = cf_reader_open(reader, bytes, unlabeled, why);
    if (status == CF_OK)
        *filter = &reader->filter;
    else if (cf_is_exact(bytes, (size_t)length)) {
        *why = cuckoo_is_exact;
        status = CF_BAD_ARGUMENT;
    }
    return status;
}

cuckoo_handle *cuckoo_handle_new(const cf_filter *filter)
{
    cuckoo_handle *handle = sqlite3_malloc64(sizeof *handle + filter->length);
    if (handle) {
        memcpy(handle->bytes, filter->bytes, cf_in_memory(filter->length));
        handle->references = 1;
        handle->exact = NULL;
        handle->filter = *filter;
        cf_rebase(&handle->filter, handle->bytes, NULL);
        cf_attach_pages(&handle->filter, NULL); /* a filter table may be dropped before the handle */
    }
    return handle;
}

cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter)
{
    cuckoo_handle *handle = cuckoo_handle_in(value);
    if (handle == NULL)
        return cuckoo_handle_new(filter);
    handle->references++;
    return handle;
}

void cuckoo_handle_release(void *handle)
{
    cuckoo_handle *held = handle;
    assert(held == NULL || held->references > 0);
    if (held && --held->references == 0) {
        sqlite3_free(held->exact);
        sqlite3_free(held);
    }
}

/* Makes a handle with a copy of the bytes. */
static cf_status open_exact(const cf_filter *bytes, cuckoo_handle **opened, const char **why)
{
    cf_status status = CF_NO_MEMORY;
    cuckoo_handle *handle = cuckoo_handle_new(bytes);
    if (handle)
        handle->exact = sqlite3_malloc64(sizeof *handle->exact);
    if (handle && handle->exact)
        status = cf_exact_open(handle->exact, handle->bytes, cf_in_memory(bytes->length), why);
    if (status == CF_OK)
        handle->filter.geometry = handle->exact->rule;
    else
        cuckoo_handle_release(handle);
    *opened = status == CF_OK ? handle : NULL;
    return status;
}

/* Reading all bytes for each row would take too long, so the statement keeps the last filter. The header
** contains a checksum of the rest: a blob with an equal header is the same filter. With a negative index
** SQLite keeps auxiliary data until the statement ends (its JSON functions need that), or drops them. */
static cf_status read_exact(sqlite3_context *context, sqlite3_value *value, cuckoo_handle **exact,
                            const char **why)
{
    enum { INDEX = -25976, PLACES = 4 };
    cf_status status = CF_OK;
    cuckoo_handle *handle = cuckoo_handle_in(value);
    cf_filter blob = {.bytes = sqlite3_value_blob(value),
                      .length = (uint64_t)sqlite3_value_bytes(value)};
    bool keeps = handle == NULL && context && blob.length >= CF_HEADER_BYTES;
    int place = keeps ? INDEX - blob.bytes[CF_EXACT_CONTENT] % PLACES : 0;
    if (keeps && (handle = sqlite3_get_auxdata(context, place)) != NULL &&
        (handle->filter.length != blob.length ||
         memcmp(handle->bytes, blob.bytes, CF_HEADER_BYTES) != 0))
        handle = NULL;
    if (handle) {
        handle->references++;
    } else {
        status = open_exact(&blob, &handle, why);
        if (handle && keeps) {
            handle->references++;
            sqlite3_set_auxdata(context, place, handle, cuckoo_handle_release);
        }
    }
    *exact = handle;
    return status;
}

cf_status cuckoo_filter_read(sqlite3_context *context, sqlite3_value *value, cf_reader *reader,
                             const cf_filter **filter, cuckoo_handle **exact, const char **why)
{
    int type = sqlite3_value_type(value);
    const cuckoo_handle *handle = type == SQLITE_BLOB ? NULL : cuckoo_handle_in(value);
    cf_status status = CF_BAD_ARGUMENT;
    if (exact)
        *exact = NULL;
    *filter = handle && !handle->exact ? &handle->filter : NULL;
    if (*filter)
        return CF_OK;
    *why = handle ? cuckoo_is_exact : type == SQLITE_NULL ? CUCKOO_NO_FILTER : CUCKOO_NOT_A_BLOB;
    if (type == SQLITE_BLOB)
        status = read_blob(value, reader, filter, why);
    return exact && *why == cuckoo_is_exact ? read_exact(context, value, exact, why) : status;
}

/* If the second argument is a filter, the arguments are swapped. */
static void fail_argument(sqlite3_context *context, int count, sqlite3_value **values, cf_status status,
                          const char *why)
{
    const cf_filter *other = NULL;
    const char *why_other = NULL;
    if (count > 1 && status != CF_NO_MEMORY)
        cuckoo_filter_read(context, values[1], &cuckoo_running_function(context)->reader, &other, NULL,
                           &why_other);
    if (other || why_other == cuckoo_is_exact)
        cuckoo_fail(context, "the arguments seem to be swapped: the filter comes first");
    else
        cuckoo_fail_filter(context, status, why, values[0]);
}

/* SQLite keeps auxiliary data of a parameter until the statement ends, and frees other auxiliary data
** immediately. Keeping a reader costs as much as dozens of reads, so most calls do not. */
const cf_filter *cuckoo_filter_open(sqlite3_context *context, int count, sqlite3_value **values,
                                    cuckoo_handle **exact)
{
    const char *why;
    const cf_filter *filter;
    cf_reader *kept = NULL;
    cuckoo_running *running = cuckoo_running_function(context);
    cf_status status = cuckoo_filter_read(context, values[0], &running->reader, &filter, exact, &why);
    if (status != CF_OK)
        fail_argument(context, count, values, status, why);
    if (filter == &running->reader.filter && ++running->opened % 256 == 0 &&
        sqlite3_value_frombind(values[0]))
        kept = sqlite3_malloc64(sizeof *kept);
    if (kept) {
        *kept = running->reader;
        sqlite3_set_auxdata(context, 0, kept, sqlite3_free);
    }
    return filter;
}

void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cuckoo_handle *handle = NULL;
    const cf_filter *filter = cuckoo_filter_argument(context, argc, argv, &handle);
    if (filter && (handle = cuckoo_handle_new(filter)) == NULL)
        cuckoo_fail_no_memory(context);
    else if (handle)
        sqlite3_result_pointer(context, handle, pointer_type, cuckoo_handle_release);
}
