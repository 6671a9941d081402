#include "errors.h"

#include "register.h"

#include <stdarg.h>

int cuckoo_error_code(cf_status status)
{
    switch (status) {
    case CF_FULL:
        return SQLITE_CONSTRAINT;
    case CF_DAMAGED:
    case CF_NEWER:
        return SQLITE_CORRUPT_VTAB;
    case CF_TOO_BIG:
        return SQLITE_TOOBIG;
    case CF_MISMATCH:
        return SQLITE_MISMATCH;
    case CF_NO_MEMORY:
        return SQLITE_NOMEM;
    case CF_INTERRUPTED:
        return SQLITE_INTERRUPT;
    default:
        return SQLITE_ERROR;
    }
}

static void fail_with(sqlite3_context *context, int code, char *detail)
{
    char *message = detail ? sqlite3_mprintf("%s: %s", cuckoo_function_name(context), detail) : NULL;
    if (message) {
        sqlite3_result_error(context, message, -1);
        sqlite3_result_error_code(context, code);
    } else {
        sqlite3_result_error_nomem(context);
    }
    sqlite3_free(message);
    sqlite3_free(detail);
}

void cuckoo_fail(sqlite3_context *context, cf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *detail = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    fail_with(context, cuckoo_error_code(status), detail);
}

char *cuckoo_filter_message(cf_status status, const char *why)
{
    if (status == CF_BAD_ARGUMENT)
        return sqlite3_mprintf("%s", why);
    const char *remedy = status == CF_NEWER ? "use the version of this extension that wrote it"
                                            : "restore it from a copy, or build it anew with cf_build";
    return sqlite3_mprintf("filter cannot be used: %s; %s", why, remedy);
}

void cuckoo_fail_filter(sqlite3_context *context, cf_status status, const char *why)
{
    fail_with(context, cuckoo_error_code(status), cuckoo_filter_message(status, why));
}

/* What stands in the way, and the remedy. */
static const char *remedy_when_full(cf_status status, const cf_filter *filter)
{
    if (status == CF_TOO_BIG)
        return "growing would make it longer than this connection allows (SQLITE_LIMIT_LENGTH); split "
               "the keys "
               "over several filters, or build a new one with a larger fpr";
    if (filter->geometry.value_bits)
        return "a key has at most as many values as two buckets have slots; if none has more, build it "
               "anew, larger";
    if (filter->geometry.growth)
        return "keys crowd one place, as if chosen to, or filters were merged that had grown far; build "
               "it anew from "
               "the keys, with another seed in the options, such as 'seed=12345'";
    return "build a larger one with cf_build or cf_new, or one with growth=on";
}

void cuckoo_fail_interrupted(sqlite3_context *context)
{
    sqlite3_result_error_code(context, SQLITE_INTERRUPT);
}

void cuckoo_fail_add(sqlite3_context *context, cf_status status, const cf_filter *filter)
{
    if (status == CF_INTERRUPTED) {
        cuckoo_fail_interrupted(context);
        return;
    }
    if (status == CF_NO_MEMORY) {
        sqlite3_result_error_nomem(context);
        return;
    }
    cuckoo_fail(context, status,
                "filter is full: planned for %lld keys, %lld of %lld slots in use; nothing has "
                "changed; %s",
                (sqlite3_int64)filter->geometry.capacity, (sqlite3_int64)filter->occupied,
                (sqlite3_int64)(filter->buckets * filter->geometry.bucket_size),
                remedy_when_full(status, filter));
}

char *cuckoo_finish_text(sqlite3_context *context, sqlite3_str *builder, int *length)
{
    int code = sqlite3_str_errcode(builder);
    *length = sqlite3_str_length(builder);
    char *text = sqlite3_str_finish(builder);
    if (code == SQLITE_OK && text)
        return text;
    sqlite3_free(text);
    if (code == SQLITE_TOOBIG)
        cuckoo_fail(context, CF_TOO_BIG,
                    "the result is longer than this connection allows "
                    "(SQLITE_LIMIT_LENGTH)");
    else
        sqlite3_result_error_nomem(context);
    return NULL;
}
