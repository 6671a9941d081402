/* SPDX-License-Identifier: MIT */
#include "collect.h"

#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/watch.h"

#include "../../src/filter/sort.h"

#include <string.h>

/* ---- fpr and options ---- */

static int type_of(sqlite3_value *value)
{
    return value ? sqlite3_value_type(value) : SQLITE_NULL;
}

static bool same_text(sqlite3_value *one, sqlite3_value *other)
{
    const void *a = sqlite3_value_text(one), *b = sqlite3_value_text(other);
    int length = sqlite3_value_bytes(one);
    return a && b && length == sqlite3_value_bytes(other) && memcmp(a, b, (size_t)length) == 0;
}

static bool same_value(sqlite3_value *one, sqlite3_value *other)
{
    int type = type_of(one);
    if (type != type_of(other))
        return false;
    return type == SQLITE_NULL ||
           (type == SQLITE_TEXT ? same_text(one, other)
                                : sqlite3_value_double(one) == sqlite3_value_double(other));
}

static cf_geometry key_rule_of(const cuckoo_options *options)
{
    return (cf_geometry){.seed = options->filter.seed,
                         .keyed = cf_is_keyed(&options->filter),
                         .affinity = (uint8_t)options->filter.affinity,
                         .collation = (uint8_t)options->filter.collation};
}

static bool read_first(sqlite3_context *context, int count, sqlite3_value **values, cuckoo_given *given)
{
    if (!cuckoo_options_read(context, count, values, &given->options))
        return false;
    for (int i = 0; i < count; i++) {
        given->values[i] = values[i] ? sqlite3_value_dup(values[i]) : NULL;
        if (values[i] && given->values[i] == NULL)
            return cuckoo_fail_no_memory(context);
    }
    given->rule = key_rule_of(&given->options);
    given->started = true;
    return true;
}

bool cuckoo_given_read(sqlite3_context *context, int count, sqlite3_value **values, cuckoo_given *given)
{
    assert(count >= 0 && count <= 2);
    if (!given->started)
        return read_first(context, count, values, given);
    for (int i = 0; i < count; i++)
        if (!same_value(values[i], given->values[i]))
            return cuckoo_fail(
                context, CF_BAD_ARGUMENT,
                "fpr and options must be the same for all rows; use GROUP BY for several filters");
    return true;
}

void cuckoo_given_free(cuckoo_given *given)
{
    sqlite3_value_free(given->values[0]);
    sqlite3_value_free(given->values[1]);
}

/* ---- hashes ---- */

enum { FEWEST_HASHES = 256 };

bool cuckoo_hashes_grow(sqlite3_context *context, cuckoo_hashes *hashes)
{
    assert(hashes->room < CUCKOO_HASHES_MOST);
    size_t room = hashes->room ? 2 * hashes->room : FEWEST_HASHES;
    if (room > CUCKOO_HASHES_MOST)
        room = CUCKOO_HASHES_MOST;
    uint64_t *larger = sqlite3_realloc64(hashes->at, room * sizeof *larger);
    if (larger == NULL)
        return cuckoo_fail_no_memory(context);
    hashes->at = larger;
    hashes->room = room;
    return true;
}

bool cuckoo_hashes_sort(sqlite3_context *context, uint64_t *at, size_t n)
{
    cuckoo_watch watch;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), NULL);
    cf_ticker ticker = cf_ticker_of(&watch.hook);
    bool done = cf_sort_with(at, n, &cuckoo_block_memory, &ticker);
    cuckoo_watch_end(&watch);
    return done || cuckoo_fail_interrupted(context);
}

void cuckoo_hashes_free(cuckoo_hashes *hashes)
{
    sqlite3_free(hashes->at);
    *hashes = (cuckoo_hashes){NULL, 0, 0};
}
