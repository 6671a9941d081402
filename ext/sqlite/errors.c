/* SPDX-License-Identifier: MIT */
#include "errors.h"

#include "register.h"

#include "../../src/include/cuckoo_exact.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

int cuckoo_error_code(cf_status status)
{
    static const int codes[] = {[CF_FULL] = SQLITE_CONSTRAINT,      [CF_DAMAGED] = SQLITE_CORRUPT_VTAB,
                                [CF_NEWER] = SQLITE_CORRUPT_VTAB,   [CF_TOO_BIG] = SQLITE_TOOBIG,
                                [CF_MISMATCH] = SQLITE_MISMATCH,    [CF_NO_MEMORY] = SQLITE_NOMEM,
                                [CF_INTERRUPTED] = SQLITE_INTERRUPT};
    assert(status != CF_OK);
    int code = (size_t)status < sizeof codes / sizeof *codes ? codes[status] : 0;
    return code ? code : SQLITE_ERROR;
}

/* ---- messages ---- */

int cuckoo_say(char **message, int code, const char *format, ...)
{
    va_list arguments;
    assert(message != NULL);
    va_start(arguments, format);
    char *text = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    sqlite3_free(*message);
    *message = text;
    return text ? code : SQLITE_NOMEM;
}

int cuckoo_explain(char **message, int rc, const char *why)
{
    assert(rc != SQLITE_OK && rc != SQLITE_NOMEM && why != NULL);
    if (rc == CUCKOO_NEWER)
        return cuckoo_say(message, SQLITE_CORRUPT_VTAB, "the filter cannot be used: %s", why);
    if (rc != SQLITE_CORRUPT_VTAB)
        return cuckoo_say(message, rc == CUCKOO_NO_TABLE ? SQLITE_ERROR : rc, "%s", why);
    return cuckoo_say(message, rc,
                      "the filter cannot be used: %s; restore the table, or drop it and create it again",
                      why);
}

const char *const cuckoo_is_exact =
    "filter is exact: it has no values, and cannot be changed, merged or counted; rebuild it with "
    "cf_build_exact, or query it with cf_contains, cf_info, cf_check or cf_explain";

cuckoo_shown_value cuckoo_show(sqlite3_value *value)
{
    cuckoo_shown_value shown = {"NULL"};
    int type = sqlite3_value_type(value), size = sizeof shown.text;
    int bytes = type == SQLITE_BLOB ? sqlite3_value_bytes(value) : 0;
    if (type == SQLITE_INTEGER)
        sqlite3_snprintf(size, shown.text, "%lld", sqlite3_value_int64(value));
    else if (type == SQLITE_FLOAT)
        sqlite3_snprintf(size, shown.text, "%!.15g", sqlite3_value_double(value));
    else if (type == SQLITE_BLOB)
        sqlite3_snprintf(size, shown.text, "a blob of %d byte%s", bytes, bytes == 1 ? "" : "s");
    else if (type == SQLITE_TEXT)
        sqlite3_snprintf(size, shown.text, "the text '" CUCKOO_PART "'", sqlite3_value_text(value));
    return shown;
}

/* The format of a call or statement that does the same with the name of a filter table. */
static const char *for_tables(const char *function)
{
    static const struct {
        const char *function, *other;
    } known[] = {{"cf_contains", "cf_table_contains('%q', key)"},
                 {"cf_info", "cf_table_info('%q')"},
                 {"cf_check", "cf_table_check('%q')"},
                 {"cf_add", "INSERT INTO %s(key) VALUES(?)"},
                 {"cf_delete", "DELETE FROM %s WHERE key = ?"},
                 {"cf_clear", "INSERT INTO %s(%s) VALUES('clear')"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(function, known[i].function, strlen(known[i].function)) == 0)
            return known[i].other;
    return "cf_export('%q')";
}

/* For a value that is not a blob. The first byte of a filter is not UTF-8. */
static char *not_a_blob(const char *why, const char *function, sqlite3_value *value)
{
    enum { NAME = 40 /* bytes; longer names of tables are rare */ };
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(value) : NULL;
    if (text && *text == '\xcf' && (text[1] == 'c' || text[1] == 'e'))
        return sqlite3_mprintf("%s; it was bound as text: bind it as a blob", why);
    bool named = text && *text && strlen(text) <= NAME;
    char *use = named ? sqlite3_mprintf(for_tables(function), text, text) : NULL;
    if (named && use == NULL)
        return NULL;
    char *all = sqlite3_mprintf("%s, got %s%s%s", why, cuckoo_show(value).text,
                                use ? "; if it names a filter table, use " : "", use ? use : "");
    sqlite3_free(use);
    return all;
}

char *cuckoo_filter_message(cf_status status, const char *why, const char *function,
                            sqlite3_value *value)
{
    assert(status != CF_OK && (why != NULL || status == CF_NO_MEMORY));
    if (status == CF_NO_MEMORY)
        return NULL;
    int type = sqlite3_value_type(value);
    if (type != SQLITE_BLOB && type != SQLITE_NULL)
        return not_a_blob(why, function, value);
    if (status == CF_BAD_ARGUMENT)
        return sqlite3_mprintf("%s", why);
    const uint8_t *bytes = sqlite3_value_blob(value);
    bool exact = cf_is_exact(bytes, (size_t)sqlite3_value_bytes(value));
    if (sqlite3_value_bytes(value) > 2 && bytes && memcmp(bytes, "\xcfkl", 3) == 0)
        return sqlite3_mprintf("filter is a list of keys, as cf_keys returns it; make a filter from it: "
                               "cf_add_keys(cf_new(capacity), keys)");
    return sqlite3_mprintf(
        status == CF_NEWER
            ? "filter cannot be used: %s"
            : "filter cannot be used: %s (%s); restore it from a backup, or rebuild it with cf_build%s",
        why, cuckoo_show(value).text, exact ? "_exact" : "");
}

char *cuckoo_full_message(cf_status status, const cf_filter *filter)
{
    assert(status == CF_FULL || status == CF_TOO_BIG);
    const cf_geometry *g = &filter->geometry;
    const char *remedy =
        status == CF_TOO_BIG
            ? "growing would make it longer than this connection allows (SQLITE_LIMIT_LENGTH); split "
              "the keys over several filters, or build a new one with a larger fpr"
        : g->value_bits ? "a key has at most as many values as two buckets have slots; if no key has "
                          "more, rebuild it with a larger capacity"
        : g->growth ? "too many keys belong to the same few buckets, as if chosen to, or filters were "
                      "merged that had grown far; rebuild it from the keys, with another seed in the "
                      "options, such as 'seed=12345'"
                    : "create a larger one, or one with growth=on";
    return sqlite3_mprintf("filter is full: planned for %lld keys, %lld of %lld slots in use; nothing "
                           "has changed; %s",
                           (sqlite3_int64)g->capacity, (sqlite3_int64)filter->occupied,
                           (sqlite3_int64)(filter->buckets * g->bucket_size), remedy);
}

/* ---- the running function fails ---- */

bool cuckoo_fail_no_memory(sqlite3_context *context)
{
    sqlite3_result_error_nomem(context);
    return false;
}

bool cuckoo_fail_with(sqlite3_context *context, int code, char *detail)
{
    const char *name = cuckoo_running_function(context)->function.name;
    char *message = detail ? sqlite3_mprintf("%s: %s", name, detail) : NULL;
    if (code == SQLITE_INTERRUPT)
        sqlite3_result_null(context); /* SQLite would take a value for the message */
    else if (message == NULL || code == SQLITE_NOMEM)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error(context, message, -1);
    if (code == SQLITE_INTERRUPT || message)
        sqlite3_result_error_code(context, code);
    sqlite3_free(message);
    sqlite3_free(detail);
    return false;
}

bool cuckoo_fail(sqlite3_context *context, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *detail = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    return cuckoo_fail_with(context, SQLITE_ERROR, detail);
}

bool cuckoo_fail_code(sqlite3_context *context, int code, const char *format, ...)
{
    va_list arguments;
    assert(code != SQLITE_OK);
    va_start(arguments, format);
    char *detail = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    return cuckoo_fail_with(context, code, detail);
}

bool cuckoo_fail_table(sqlite3_context *context, int rc, const char *why)
{
    char *message = NULL;
    if (rc != SQLITE_NOMEM && rc != SQLITE_INTERRUPT)
        rc = cuckoo_explain(&message, rc, why);
    return cuckoo_fail_with(context, rc, message);
}

bool cuckoo_fail_filter(sqlite3_context *context, cf_status status, const char *why,
                        sqlite3_value *value)
{
    const char *name = cuckoo_running_function(context)->function.name;
    return cuckoo_fail_with(context, cuckoo_error_code(status),
                            cuckoo_filter_message(status, why, name, value));
}

bool cuckoo_fail_add(sqlite3_context *context, cf_status status, const cf_filter *filter)
{
    bool full = status != CF_INTERRUPTED && status != CF_NO_MEMORY;
    return cuckoo_fail_with(context, cuckoo_error_code(status),
                            full ? cuckoo_full_message(status, filter) : NULL);
}
