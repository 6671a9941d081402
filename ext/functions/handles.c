/* SPDX-License-Identifier: MIT */
#include "handles.h"

#include "../sqlite/errors.h"
#include "../sqlite/register.h"

#include "../../src/base/bits.h"

#include <assert.h>

/* It contains the version, because two versions in one process
** must not take each other's handles. */
static const char pointer_type[] = "cuckoo_filter " CUCKOO_VERSION;

static cuckoo_handle *pointer_in(sqlite3_value *value)
{
    return (cuckoo_handle *)sqlite3_value_pointer(value, pointer_type);
}

/* SQLite gives NULL for the bytes of an empty blob, and for
** those of a zeroblob when it has no memory for them. */
static cf_status read_blob(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                           const char **why)
{
    const uint8_t *bytes = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    if (bytes == NULL && length > 0)
        return CF_NO_MEMORY;
    cf_status status = cf_reader_open(reader, bytes, (size_t)length, why);
    size_t own = status == CF_OK ? 0 : cf_without_label(bytes, (size_t)length);
    if (status != CF_OK && own < (size_t)length)
        status = cf_reader_open(reader, bytes, own, why);
    if (status == CF_OK)
        *filter = &reader->filter;
    else if (cf_is_exact(bytes, (size_t)length)) {
        *why = cuckoo_is_exact;
        status = CF_BAD_ARGUMENT;
    }
    return status;
}

cf_status cuckoo_filter_read(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                             const char **why)
{
    int type = sqlite3_value_type(value);
    *filter = NULL;
    if (type == SQLITE_BLOB)
        return read_blob(value, reader, filter, why);
    const cuckoo_handle *handle = pointer_in(value);
    if (handle && !handle->exact) {
        *filter = &handle->filter;
        return CF_OK;
    }
    *why = handle ? cuckoo_is_exact : type == SQLITE_NULL ? CUCKOO_NO_FILTER : CUCKOO_NOT_A_BLOB;
    return CF_BAD_ARGUMENT;
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
        cf_attach_pages(&handle->filter, NULL); /* of a filter table: it may go before the handle */
    }
    return handle;
}

cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter)
{
    cuckoo_handle *handle = pointer_in(value);
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

/* Makes a handle of a copy of the bytes. */
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

/* Reading all bytes in each row would take too long. Equal headers have equal checksums of what is
** behind them: a filter that is kept answers for all that begin like it. It is kept for the statement,
** as SQLite keeps what belongs to negative numbers (its JSON functions need that), or dropped at
** once. */
cf_status cuckoo_exact_read(sqlite3_context *context, sqlite3_value *value, cuckoo_handle **exact,
                            const char **why)
{
    enum { KEPT = -25976, PLACES = 4 };
    cf_status status = CF_OK;
    cuckoo_handle *handle = pointer_in(value);
    cf_filter blob = {.bytes = sqlite3_value_blob(value),
                      .length = (uint64_t)sqlite3_value_bytes(value)};
    bool keeps = handle == NULL && context && blob.length >= CF_HEADER_BYTES;
    int place = keeps ? KEPT - blob.bytes[CF_EXACT_CONTENT] % PLACES : 0;
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

/* The first argument is no filter. If the second one is a filter, they have changed places. */
static void fail_argument(sqlite3_context *context, int count, sqlite3_value **values, cf_status status,
                          const char *why)
{
    const cf_filter *other = NULL;
    const char *why_other = NULL;
    if (count > 1 && status != CF_NO_MEMORY)
        cuckoo_filter_read(values[1], cuckoo_function_reader(context), &other, &why_other);
    if (other || why_other == cuckoo_is_exact)
        cuckoo_fail(context, CF_BAD_ARGUMENT,
                    "the arguments seem to be swapped: the filter comes first");
    else
        cuckoo_fail_filter(context, status, why, values[0]);
}

static bool is_exact(sqlite3_value *value)
{
    if (sqlite3_value_type(value) == SQLITE_BLOB)
        return cf_is_exact(sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value));
    const cuckoo_handle *handle = pointer_in(value);
    return handle && handle->exact;
}

cuckoo_handle *cuckoo_exact_argument(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *why = NULL;
    const cf_filter *none;
    cuckoo_handle *exact = NULL;
    cf_status status = is_exact(values[0])
                           ? cuckoo_exact_read(context, values[0], &exact, &why)
                           : cuckoo_filter_read(values[0], cuckoo_function_reader(context), &none, &why);
    if (exact == NULL) /* after CF_OK there was no memory the first time */
        fail_argument(context, count, values, status == CF_OK ? CF_NO_MEMORY : status, why);
    return exact;
}

/* SQLite keeps what is set beside a parameter until the statement ends; beside another argument it would
** be freed at once. Keeping costs as much as reading some dozens of times, so it waits for its turn. */
static CF_NEVER_INLINE const cf_filter *read_and_keep(sqlite3_context *context, sqlite3_value *value)
{
    const char *why;
    const cf_filter *filter;
    cf_reader *kept = NULL, *reader = cuckoo_function_reader(context);
    cuckoo_filter_read(value, reader, &filter, &why);
    if (filter && cuckoo_function_turn(context) && sqlite3_value_frombind(value))
        kept = sqlite3_malloc64(sizeof *kept);
    if (kept) {
        *kept = *reader;
        sqlite3_set_auxdata(context, 0, kept, sqlite3_free);
    }
    return filter;
}

const cf_filter *cuckoo_filter_first_anew(sqlite3_context *context, sqlite3_value *value)
{
    const cuckoo_handle *handle = pointer_in(value);
    return handle && !handle->exact ? &handle->filter : read_and_keep(context, value);
}

const cf_filter *cuckoo_filter_argument(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *why;
    const cf_filter *filter;
    cf_status status = cuckoo_filter_read(values[0], cuckoo_function_reader(context), &filter, &why);
    if (status != CF_OK)
        fail_argument(context, count, values, status, why);
    return filter;
}

void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const cf_filter *filter = cuckoo_filter_first(context, argv[0]);
    cuckoo_handle *handle =
        filter ? cuckoo_handle_new(filter) : cuckoo_exact_argument(context, argc, argv);
    if (handle)
        sqlite3_result_pointer(context, handle, pointer_type, cuckoo_handle_release);
    else if (filter)
        cuckoo_fail_no_memory(context);
}
