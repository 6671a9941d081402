/* SPDX-License-Identifier: MIT */
/*
** functions.c - most scalar functions: each reads its arguments, calls src, and returns the result.
*/
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/watch.h"
#include "filters.h"

static void new_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_geometry shape;
    cf_filter filter;
    if (cuckoo_plan_arguments(context, argc, argv, &shape) &&
        cuckoo_new_filter(context, &shape, &filter))
        cuckoo_result_filter(context, &filter);
}

/* ---- cf_contains, cf_count, cf_get ---- */

static void contains_exact(sqlite3_context *context, cuckoo_handle *handle, sqlite3_value *key)
{
    uint64_t hash;
    const cf_exact *exact = handle->exact;
    if (cuckoo_key_argument(context, key, &exact->rule, true, &hash) == CUCKOO_KEY_OK)
        sqlite3_result_int(context,
                           cf_exact_contains(exact, hash) || cuckoo_key_always(&exact->rule, key));
    cuckoo_handle_release(handle);
}

static void contains_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    uint64_t hash;
    cuckoo_handle *exact = NULL;
    const cf_filter *filter = cuckoo_filter_argument(context, argc, argv, &exact);
    if (filter) {
        if (cuckoo_key_argument(context, argv[1], &filter->geometry, true, &hash) == CUCKOO_KEY_OK)
            sqlite3_result_int(context, cuckoo_key_found(filter, argv[1], hash));
    } else if (exact) {
        contains_exact(context, exact, argv[1]);
    }
}

/* The arguments (filter, key [, value]) of other functions. */
typedef struct arguments {
    const cf_filter *filter;
    uint64_t hash;
    uint64_t value;
} arguments;

/* Reads the filter and the key. After CUCKOO_KEY_NOMEM the function has failed with any message. */
static inline cuckoo_key read_key(sqlite3_context *context, int argc, sqlite3_value **argv, bool lookup,
                                  arguments *a)
{
    a->filter = cuckoo_filter_argument(context, argc, argv, NULL);
    if (a->filter == NULL)
        return CUCKOO_KEY_NOMEM;
    cuckoo_key kind = cuckoo_key_argument(context, argv[1], &a->filter->geometry, lookup, &a->hash);
    return kind <= CUCKOO_KEY_NULL ? kind : CUCKOO_KEY_NOMEM;
}

/* 0 means "definitely absent", so a key that is vague counts as 1. */
static void count_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    arguments a;
    if (read_key(context, argc, argv, true, &a) != CUCKOO_KEY_OK)
        return;
    sqlite3_int64 count = (sqlite3_int64)cf_count(a.filter, a.hash);
    sqlite3_result_int64(context, count ? count : cuckoo_key_found(a.filter, argv[1], a.hash));
}

static void get_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    arguments a;
    cuckoo_key read = read_key(context, argc, argv, true, &a);
    if (read != CUCKOO_KEY_NOMEM && a.filter->geometry.value_bits == 0 &&
        !cuckoo_is_from_zero_rows(a.filter))
        cuckoo_fail(context, CUCKOO_NO_VALUES);
    else if (read == CUCKOO_KEY_OK && cf_get(a.filter, a.hash, &a.value))
        sqlite3_result_int64(context, (sqlite3_int64)a.value);
}

/* ---- cf_add, cf_delete, cf_clear, cf_advance ---- */

static cuckoo_key read_change(sqlite3_context *context, int argc, sqlite3_value **argv, bool adds,
                              arguments *a)
{
    cuckoo_key read = read_key(context, argc, argv, !adds, a);
    if (read == CUCKOO_KEY_NOMEM || (read == CUCKOO_KEY_NULL && adds))
        return read;
    if (!cuckoo_may_change(context, a->filter, adds) ||
        (read == CUCKOO_KEY_OK && !cuckoo_value_read(context, a->filter->geometry.value_bits,
                                                     argc > 2 ? argv[2] : NULL, &a->value)))
        return CUCKOO_KEY_NOMEM;
    return read;
}

static void add_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    arguments a;
    cf_filter copy;
    cuckoo_key read = read_change(context, argc, argv, true, &a);
    if (read == CUCKOO_KEY_NULL)
        cuckoo_result_same(context, a.filter);
    if (read != CUCKOO_KEY_OK || !cuckoo_filter_copy(context, a.filter, &copy))
        return;
    cf_note_types(&copy, cuckoo_key_type(argv[1], &copy.geometry));
    cf_status status = cuckoo_watched_add(sqlite3_context_db_handle(context), &copy, a.hash, a.value);
    if (status == CF_OK)
        cuckoo_result_filter(context, &copy);
    else
        cuckoo_fail_add(context, status, &copy);
    cuckoo_filter_free(&copy);
}

static void delete_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    arguments a;
    cf_filter copy;
    cuckoo_key read = read_change(context, argc, argv, false, &a);
    if (read == CUCKOO_KEY_NULL || (read == CUCKOO_KEY_OK && !cf_contains(a.filter, a.hash))) {
        cuckoo_result_same(context, a.filter);
    } else if (read == CUCKOO_KEY_OK && cuckoo_filter_copy(context, a.filter, &copy)) {
        cf_delete_value(&copy, a.hash, a.value);
        cuckoo_result_filter(context, &copy);
    }
}

static void clear_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_filter fresh;
    const cf_filter *filter = cuckoo_filter_argument(context, argc, argv, NULL);
    cf_geometry shape = filter ? filter->geometry : (cf_geometry){0};
    shape.key_types = (uint8_t)cf_types_cleared(&shape);
    if (filter && cuckoo_new_filter(context, &shape, &fresh))
        cuckoo_result_filter(context, &fresh);
}

static void advance_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_filter copy;
    const cf_filter *filter = cuckoo_filter_argument(context, argc, argv, NULL);
    if (filter && !filter->geometry.epochs)
        cuckoo_fail(
            context,
            "filter has no epochs; create one that has, such as cf_new(1000, 0.01, 'epochs=12')");
    else if (filter && cuckoo_filter_copy(context, filter, &copy)) {
        cf_advance(&copy);
        cuckoo_result_filter(context, &copy);
    }
}

/* ---- cf_merge(filter, filter, ...), and the aggregate cf_merge(filter) ---- */

static bool merge_row(sqlite3_context *context, int argc, sqlite3_value **argv, void *state)
{
    const char *why;
    const cf_filter *filter;
    cf_filter *sum = state;
    cf_reader *reader = &cuckoo_running_function(context)->reader;
    (void)argc;
    cf_status status = cuckoo_filter_read(context, argv[0], reader, &filter, NULL, &why);
    if (filter == NULL)
        return cuckoo_fail_filter(context, status, why, argv[0]);
    if (sum->writable && cuckoo_is_from_zero_rows(filter))
        return true;
    if (sum->writable && !cuckoo_is_from_zero_rows(sum))
        return cuckoo_merge_into(context, sum, filter);
    cuckoo_filter_free(sum);
    return cuckoo_filter_copy(context, filter, sum);
}

static void merge_last(sqlite3_context *context, void *state, bool failed)
{
    cf_filter *sum = state;
    if (!failed && sum->writable == NULL)
        cuckoo_fail(context,
                    "zero rows, or no argument, so there is no filter to merge; give at least one");
    else if (!failed)
        cuckoo_result_filter(context, sum);
    cuckoo_filter_free(sum);
}

static void merge_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_filter sum = {.bytes = NULL};
    bool failed = false;
    for (int i = 0; i < argc && !failed; i++)
        failed = !merge_row(context, 1, argv + i, &sum);
    merge_last(context, &sum, failed);
}

static void key_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    if (argc == 0) {
        cuckoo_fail(context, "needs at least one part: cf_key(part, ...)");
        return;
    }
    sqlite3_str *key = sqlite3_str_new(sqlite3_context_db_handle(context));
    cuckoo_key kind = CUCKOO_KEY_OK;
    for (int i = 0; i < argc && kind == CUCKOO_KEY_OK; i++)
        kind = cuckoo_key_append(key, argv[i]);
    if (kind == CUCKOO_KEY_OK) {
        cuckoo_result_built(context, key, NULL);
        return;
    }
    sqlite3_free(sqlite3_str_finish(key));
    if (kind == CUCKOO_KEY_NOMEM)
        cuckoo_fail_no_memory(context);
}

static void version_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    sqlite3_result_text(context, CUCKOO_VERSION, -1, SQLITE_STATIC);
}

const cuckoo_function *const cuckoo_scalars = (const cuckoo_function[]){
    {"cf_new", 1, 3, .function = new_function},
    {"cf_add", 2, 3, .function = add_function},
    {"cf_delete", 2, 3, .function = delete_function},
    {"cf_contains", 2, 2, .function = contains_function},
    {"cf_count", 2, 2, .function = count_function},
    {"cf_get", 2, 2, .function = get_function},
    {"cf_merge", -1, -1, .function = merge_function},
    {"cf_merge", 1, 1, .row = merge_row, .last = merge_last, .state = sizeof(cf_filter)},
    {"cf_clear", 1, 1, .function = clear_function},
    {"cf_advance", 1, 1, .function = advance_function},
    {"cf_open", 1, 1, .function = cuckoo_open_function},
    {"cf_key", -1, -1, .function = key_function},
    {"cf_version", 0, 0, .function = version_function},
    {.name = NULL},
};
