/* SPDX-License-Identifier: MIT */
#include "arguments.h"

#include "errors.h"

#include <assert.h>

static bool read_text(sqlite3_context *context, const char *text, int length, cuckoo_options *options)
{
    char *why = NULL;
    cf_status status = cuckoo_options_parse(text, (size_t)length, options, &why);
    if (status != CF_OK)
        cuckoo_fail_code(context, why ? cuckoo_error_code(status) : SQLITE_NOMEM, why);
    sqlite3_free(why);
    return status == CF_OK;
}

static bool read_options(sqlite3_context *context, sqlite3_value *value, cuckoo_options *options)
{
    if (sqlite3_value_type(value) == SQLITE_NULL)
        return true;
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return cuckoo_fail(context, CF_BAD_ARGUMENT, "options must be text; " CUCKOO_VALID_OPTIONS);
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL)
        return cuckoo_fail_no_memory(context);
    return read_text(context, text, sqlite3_value_bytes(value), options);
}

static bool read_fpr(sqlite3_context *context, sqlite3_value *value, double *fpr)
{
    int type = sqlite3_value_type(value);
    double given = sqlite3_value_double(value);
    if (type == SQLITE_NULL)
        return true;
    if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(given > 0 && given < 1))
        return cuckoo_fail(context, CF_BAD_ARGUMENT,
                           "fpr must be a number above 0 and below 1, such as 0.01; or NULL%s",
                           type == SQLITE_TEXT ? "; options are the argument behind it" : "");
    *fpr = given;
    return true;
}

bool cuckoo_options_read(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_options *options)
{
    assert(count >= 0 && count <= 2);
    cuckoo_options_default(options);
    options->fpr = 0;
    if (count > 0 && values[0] && !read_fpr(context, values[0], &options->fpr))
        return false;
    if (count > 1 && !read_options(context, values[1], options))
        return false;
    if (options->fpr == 0 && options->filter.fingerprint_bits == 0)
        options->fpr = CUCKOO_DEFAULT_FPR;
    return true;
}

bool cuckoo_capacity_read(sqlite3_context *context, sqlite3_value *value, uint64_t *capacity)
{
    int type = sqlite3_value_type(value);
    double keys = sqlite3_value_double(value);
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(keys >= 0) ||
        (keys <= 1e15 && keys != (double)(int64_t)keys))
        return cuckoo_fail(context, CF_BAD_ARGUMENT,
                           "capacity must be a whole number of keys, 0 or more%s",
                           type == SQLITE_TEXT ? "; it was bound as text: bind it as a number" : "");
    if (keys > (double)CF_CAPACITY_MAX)
        return cuckoo_fail(context, CF_TOO_BIG, CUCKOO_CAPACITY_TOO_BIG, (sqlite3_int64)CF_CAPACITY_MAX);
    *capacity = (uint64_t)keys;
    return true;
}
