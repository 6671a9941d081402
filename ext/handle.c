/* SPDX-License-Identifier: MIT */
#include "handle.h"

#include "errors.h"
#include "register.h"

#include "../src/bits.h"

#include <assert.h>
#include <string.h>

/* It contains the version, because two versions in one process
** must not take each other's handles. */
static const char pointer_type[] = "cuckoo_filter " CUCKOO_VERSION;

static cuckoo_handle *pointer_in(sqlite3_value *value)
{
    return (cuckoo_handle *)sqlite3_value_pointer(value, pointer_type);
}

static cf_status refuse(const char **why, const char *reason)
{
    *why = reason;
    return CF_BAD_ARGUMENT;
}

/* SQLite gives NULL for the bytes of an empty blob, and for
** those of a zeroblob when it has no memory for them. */
static cf_status read_blob(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                           const char **why)
{
    const uint8_t *bytes = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    if (bytes == NULL && length > 0)
        return CF_OK;
    cf_status status = cf_reader_open(reader, bytes, (size_t)length, why);
    if (status == CF_OK)
        *filter = &reader->filter;
    return status;
}

static cf_status read_handle(sqlite3_value *value, const cf_filter **filter, const char **why)
{
    const cuckoo_handle *handle = pointer_in(value);
    if (handle == NULL)
        return refuse(why, CUCKOO_NO_FILTER);
    *filter = &handle->filter;
    return CF_OK;
}

cf_status cuckoo_filter_read(sqlite3_value *value, cf_reader *reader, const cf_filter **filter,
                             const char **why)
{
    *filter = NULL;
    switch (sqlite3_value_type(value)) {
    case SQLITE_BLOB:
        return read_blob(value, reader, filter, why);
    case SQLITE_NULL:
        return read_handle(value, filter, why);
    case SQLITE_TEXT:
        return refuse(why, cuckoo_is_text);
    default:
        return refuse(why, CUCKOO_NOT_A_BLOB);
    }
}

const cf_filter *cuckoo_filter_argument(sqlite3_context *context, sqlite3_value *value)
{
    const char *why;
    const cf_filter *filter;
    cf_status status = cuckoo_filter_read(value, cuckoo_function_reader(context), &filter, &why);
    if (status != CF_OK)
        cuckoo_fail_filter(context, status, why);
    else if (filter == NULL)
        cuckoo_fail_no_memory(context);
    return filter;
}

/* A handle with its own copy; NULL when out of memory. */
static cuckoo_handle *new_handle(const cf_filter *filter)
{
    cuckoo_handle *handle = sqlite3_malloc64(sizeof *handle + filter->length);
    if (handle) {
        memcpy(handle->bytes, filter->bytes, cf_in_memory(filter->length));
        handle->references = 1;
        handle->filter = *filter;
        cf_rebase(&handle->filter, handle->bytes, NULL);
    }
    return handle;
}

cuckoo_handle *cuckoo_handle_keep(sqlite3_value *value, const cf_filter *filter)
{
    cuckoo_handle *handle = pointer_in(value);
    if (handle == NULL)
        return new_handle(filter);
    handle->references++;
    return handle;
}

void cuckoo_handle_release(void *handle)
{
    cuckoo_handle *held = handle;
    assert(held == NULL || held->references > 0);
    if (held && --held->references == 0)
        sqlite3_free(held);
}

void cuckoo_open_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const cf_filter *filter = cuckoo_filter_argument(context, argv[0]);
    if (filter == NULL)
        return;
    cuckoo_handle *handle = new_handle(filter);
    if (handle)
        sqlite3_result_pointer(context, handle, pointer_type, cuckoo_handle_release);
    else
        cuckoo_fail_no_memory(context);
}
