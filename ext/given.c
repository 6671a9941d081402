/* SPDX-License-Identifier: MIT */
#include "given.h"

#include "arguments.h"
#include "errors.h"

#include <assert.h>
#include <string.h>

/* The options as text, with its length; -1: there is something else, or more than fits. */
static const char *options_text(int count, sqlite3_value **values, int *bytes)
{
    int type = count > 1 ? sqlite3_value_type(values[1]) : SQLITE_NULL;
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_value_text(values[1]) : NULL;
    *bytes = text ? sqlite3_value_bytes(values[1]) : type == SQLITE_NULL ? 0 : -1;
    if (*bytes > (int)sizeof((cuckoo_given *)0)->text)
        *bytes = -1;
    return text ? text : "";
}

static int fpr_type(sqlite3_value *fpr)
{
    return fpr ? sqlite3_value_type(fpr) : SQLITE_NULL;
}

static double fpr_number(sqlite3_value *fpr)
{
    return fpr ? sqlite3_value_double(fpr) : 0;
}

static void keep_given(int count, sqlite3_value **values, cuckoo_given *given)
{
    const char *text = options_text(count, values, &given->text_bytes);
    if (given->text_bytes > 0)
        memcpy(given->text, text, (size_t)given->text_bytes);
    given->fpr_type = fpr_type(values[0]);
    given->fpr = fpr_number(values[0]);
}

static bool is_again(int count, sqlite3_value **values, const cuckoo_given *given)
{
    int bytes;
    const char *text = options_text(count, values, &bytes);
    return bytes >= 0 && bytes == given->text_bytes && memcmp(text, given->text, (size_t)bytes) == 0 &&
           fpr_type(values[0]) == given->fpr_type && fpr_number(values[0]) == given->fpr;
}

static bool read_in_full(sqlite3_context *context, int count, sqlite3_value **values,
                         cuckoo_given *given)
{
    cuckoo_options options;
    if (!cuckoo_options_read(context, count, values, &options))
        return false;
    if (count > 0)
        keep_given(count, values, given);
    if (given->started)
        return cuckoo_options_equal(&options, &given->options) ||
               cuckoo_fail(context, CF_BAD_ARGUMENT, "fpr and options must be the same for all rows");
    given->options = options;
    given->started = true;
    return true;
}

bool cuckoo_given_look(sqlite3_context *context, int count, sqlite3_value **values, cuckoo_given *given)
{
    assert(count >= 0 && count <= 2);
    if (given->started && is_again(count, values, given))
        return true;
    return read_in_full(context, count, values, given);
}
