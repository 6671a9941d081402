/* SPDX-License-Identifier: MIT */
#include "filters.h"

#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/temporary.h"
#include "../sqlite/watch.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t cuckoo_length_limit(sqlite3 *db)
{
    return (uint64_t)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1);
}

bool cuckoo_plan_arguments(sqlite3_context *context, int argc, sqlite3_value **argv, cf_geometry *shape)
{
    const char *why;
    cuckoo_options options;
    uint64_t capacity = 0;
    assert(argc >= 1 && argc <= 3);
    if (!cuckoo_capacity_read(context, argv[0], &capacity) ||
        !cuckoo_options_read(context, argc - 1, argv + 1, &options))
        return false;
    if (options.capacity != 0 && options.capacity != capacity)
        return cuckoo_fail(
            context, "capacity is given twice: as the first argument and, differently, in the options");
    cf_status status = cf_plan(capacity, options.fpr, &options.filter, shape, &why);
    return status == CF_OK || cuckoo_fail_code(context, cuckoo_error_code(status), "%s", why);
}

/* ---- memory ---- */

#define TOO_LARGE                                                                                       \
    "a filter for %lld keys takes %lld bytes, %s; use a smaller capacity or a larger fpr, or split "    \
    "the "                                                                                              \
    "keys"

int cuckoo_memory_for(const cf_geometry *shape, char **message)
{
    enum { LARGE = 1 << 20 }; /* bytes */
    uint64_t bytes = cf_geometry_bytes(shape);
    void *probe = NULL;
    if (bytes < LARGE || (bytes <= SIZE_MAX / 2 && (probe = malloc((size_t)bytes)) != NULL)) {
        free(probe);
        return SQLITE_OK;
    }
    return cuckoo_say(message, SQLITE_TOOBIG, TOO_LARGE, (sqlite3_int64)shape->capacity,
                      (sqlite3_int64)bytes, "more than there is memory for");
}

static uint8_t *resize_result(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    return sqlite3_realloc64(bytes, size);
}

cf_memory cuckoo_result_memory(sqlite3_context *context)
{
    uint64_t most = cuckoo_length_limit(sqlite3_context_db_handle(context));
    return (cf_memory){resize_result, most, NULL};
}

static bool fits_in_sqlite(sqlite3_context *context, const cf_geometry *shape)
{
    uint64_t bytes = cf_geometry_bytes(shape);
    return bytes <= cuckoo_length_limit(sqlite3_context_db_handle(context)) ||
           cuckoo_fail_code(context, SQLITE_TOOBIG, TOO_LARGE, (sqlite3_int64)shape->capacity,
                            (sqlite3_int64)bytes,
                            "more than this connection allows (SQLITE_LIMIT_LENGTH)");
}

bool cuckoo_new_filter(sqlite3_context *context, const cf_geometry *shape, cf_filter *filter)
{
    if (!fits_in_sqlite(context, shape))
        return false;
    uint8_t *bytes = sqlite3_malloc64(cf_geometry_bytes(shape));
    if (bytes == NULL)
        return cuckoo_fail_no_memory(context);
    cf_create(filter, shape, bytes);
    filter->memory = cuckoo_result_memory(context);
    return true;
}

bool cuckoo_fail_list(sqlite3_context *context, const cf_collected *keys, cf_status status)
{
    const cuckoo_temporary *file = keys->file ? keys->file->context : NULL;
    if (status == CF_NO_MEMORY && file && file->rc)
        return cuckoo_fail(context, CUCKOO_TEMPORARY_FAILED, sqlite3_errstr(file->rc));
    if (status == CF_TOO_BIG)
        return cuckoo_fail_code(context, SQLITE_TOOBIG,
                                "more keys than memory holds; PRAGMA temp_store = file, or use several "
                                "filters");
    return cuckoo_fail_with(context, cuckoo_error_code(status), NULL);
}

bool cuckoo_build_filter(sqlite3_context *context, cf_collected *keys, const cuckoo_options *options,
                         cf_filter *filter)
{
    cuckoo_watch watch;
    const char *why = NULL;
    filter->memory = cuckoo_result_memory(context);
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), filter);
    keys->watch = &watch.hook;
    cf_status status =
        cf_build_collected(filter, keys, options->capacity, options->fpr, &options->filter, &why);
    cuckoo_watch_end(&watch);
    if (why && why != cf_status_text(status))
        return cuckoo_fail_code(context, cuckoo_error_code(status), "%s", why);
    if (status == CF_NO_MEMORY)
        return cuckoo_fail_list(context, keys, status);
    if (status == CF_TOO_BIG && !fits_in_sqlite(context, &filter->geometry))
        return false;
    if (status == CF_FULL && options->filter.value_bits)
        return cuckoo_fail_code(
            context, SQLITE_CONSTRAINT,
            "a key has more values than two buckets have slots (8, or 16 with "
            "'bucket_size=8'), or too many keys have several; keep such keys in a table, "
            "or give them one reserved value that means all");
    if (status == CF_FULL)
        return cuckoo_fail_code(
            context, SQLITE_CONSTRAINT,
            "too many keys belong to the same few buckets, as if chosen to; try another "
            "seed in the options, such as 'seed=12345'");
    return status == CF_OK || cuckoo_fail_add(context, status, filter);
}

bool cuckoo_filter_copy(sqlite3_context *context, const cf_filter *filter, cf_filter *copy)
{
    assert(copy != filter);
    uint8_t *bytes = sqlite3_malloc64(filter->length);
    if (bytes == NULL)
        return cuckoo_fail_no_memory(context);
    memcpy(bytes, filter->bytes, cf_in_memory(filter->length));
    *copy = *filter;
    cf_rebase(copy, bytes, bytes);
    copy->memory = cuckoo_result_memory(context);
    return true;
}

void cuckoo_result_filter(sqlite3_context *context, cf_filter *filter)
{
    assert(filter->writable != NULL);
    cf_drop_types(filter);
    cf_seal(filter);
    sqlite3_result_blob64(context, filter->writable, filter->length, sqlite3_free);
    filter->writable = NULL;
}

void cuckoo_result_same(sqlite3_context *context, const cf_filter *filter)
{
    sqlite3_result_blob64(context, filter->bytes, filter->length, SQLITE_TRANSIENT);
}

void cuckoo_filter_free(cf_filter *filter)
{
    sqlite3_free(filter->writable);
    filter->writable = NULL;
}

/* ---- changing ---- */

bool cuckoo_value_read(sqlite3_context *context, unsigned bits, sqlite3_value *value, uint64_t *number)
{
    assert(bits <= CF_VALUE_MAX);
    *number = 0;
    if (bits == 0)
        return !value ||
               cuckoo_fail(context, "filter stores no values: leave the value out, or create it with "
                                    "value_bits in the options");
    if (!value)
        return cuckoo_fail(
            context, "filter stores a value with each key (value_bits): give it as the last argument");
    return cuckoo_key_value(value, bits, number) ||
           cuckoo_fail(context, CUCKOO_BAD_VALUE(bits, cuckoo_show(value).text));
}

double cuckoo_planned_fpr(const cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    return cf_expected_fpr(g, cf_planned_entries(g->capacity, g->epochs));
}

/* Reports all fields in which two filters differ. */
static bool fail_merge(sqlite3_context *context, const cf_filter *one, const cf_filter *other)
{
    unsigned at = 0;
    const char *next;
    sqlite3_str *all = sqlite3_str_new(NULL);
    while ((next = cf_difference(one, other, &at)) != NULL)
        sqlite3_str_appendf(all, ", %s", next);
    char *fields = sqlite3_str_finish(all);
    if (fields == NULL)
        return cuckoo_fail_no_memory(context);
    cuckoo_fail_code(
        context, SQLITE_MISMATCH,
        "the filters differ in %s (planned for %lld and %lld keys, fpr about %.2g and %.2g); build both "
        "with the same capacity=, the larger of the two, and the same fpr, seed= (random in filter "
        "tables) "
        "and options",
        fields + 2, one->geometry.capacity, other->geometry.capacity, cuckoo_planned_fpr(one),
        cuckoo_planned_fpr(other));
    sqlite3_free(fields);
    return false;
}

bool cuckoo_merge_into(sqlite3_context *context, cf_filter *sum, const cf_filter *filter)
{
    const char *why;
    cuckoo_watch watch;
    assert(sum->writable != NULL);
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), sum);
    cf_status status = cf_merge(sum, filter, &why);
    cuckoo_watch_end(&watch);
    if (status == CF_MISMATCH)
        return fail_merge(context, sum, filter);
    if (status == CF_FULL && why != cf_status_text(status))
        return cuckoo_fail_code(
            context, SQLITE_CONSTRAINT,
            "%s; nothing has changed; query the filters one by one, or build one from "
            "the keys",
            why);
    return status == CF_OK || cuckoo_fail_add(context, status, sum);
}

void cuckoo_result_built(sqlite3_context *context, sqlite3_str *builder, const char *end)
{
    sqlite3_str_appendall(builder, end ? end : "");
    int code = sqlite3_str_errcode(builder), length = sqlite3_str_length(builder);
    char *built = sqlite3_str_finish(builder); /* NULL after an error */
    if (built && end)
        sqlite3_result_text(context, built, length, sqlite3_free);
    else if (built)
        sqlite3_result_blob64(context, built, (sqlite3_uint64)length, sqlite3_free);
    else
        cuckoo_fail_code(context, code == SQLITE_TOOBIG ? code : SQLITE_NOMEM,
                         "the result is longer than this connection allows (SQLITE_LIMIT_LENGTH); split "
                         "it into several");
}

bool cuckoo_is_from_zero_rows(const cf_filter *filter)
{
    return filter->geometry.capacity == 0 && filter->geometry.epochs == 0 && filter->occupied == 0;
}

bool cuckoo_may_change(sqlite3_context *context, const cf_filter *filter, bool adds)
{
    if (adds)
        return !cuckoo_is_from_zero_rows(filter) ||
               cuckoo_fail(context, "the filter " CUCKOO_FROM_ZERO_ROWS);
    return !filter->geometry.epochs ||
           cuckoo_fail(context,
                       "filter expires keys (epochs=%d), and cannot delete a single key: use cf_advance",
                       filter->geometry.epochs);
}
