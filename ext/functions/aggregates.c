/* SPDX-License-Identifier: MIT */
/*
** aggregates.c - many rows into one filter: cf_add_all, cf_delete_all, cf_merge.
**
** SQLite calls step for every row and final once, also after step has failed: so the state says
** whether it failed, and final then only frees. Over no rows final has no state at all.
*/
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/watch.h"
#include "collect.h"
#include "filters.h"

#include "../../src/base/bits.h"
#include "../../src/shape/format.h"

#include <string.h>

/* ---- cf_add_all(filter, key), cf_delete_all(filter, key) ---- */

typedef struct change_state {
    bool failed;
    bool changed;         /* a key was added or deleted */
    cf_filter filter;     /* the one that is changed */
    cuckoo_handle *first; /* the one that came with the first row */
    const void *seen_at;  /* where the filter that was last compared in full stood */
    uint64_t compared;    /* bytes compared in full so far */
    size_t window;        /* how far the comparison has come, bytes */
    uint64_t copying;     /* nanoseconds spent to pass copies of the filter, about */
    cuckoo_hashes added;  /* keys that are not yet in the filter */
} change_state;

enum {
    FULL_COMPARISONS = 64 << 20, /* bytes compared in full over all rows, whatever the addresses */
    WINDOW = 64,                 /* bytes compared per row thereafter */
    LENDS_BLOBS = 3043000        /* the first SQLite that does not copy a blob of a column */
};

/* Nanoseconds. */
#define MOST_COPYING UINT64_C(4000000000)

static bool equal_at(const cf_filter *filter, const change_state *state, size_t at, size_t most)
{
    const cf_filter *first = &state->first->filter;
    size_t rest = cf_in_memory(first->length) - at;
    return memcmp(filter->bytes + at, first->bytes + at, rest < most ? rest : most) == 0;
}

/*
** Is the filter of this row the one of the first row? Comparing all of it for every row would make
** each row cost as much as a copy. So all of it is compared until that has come to FULL_COMPARISONS
** bytes, unless it is a parameter, whose bytes stay where they are; and whenever it arrives at another
** address. Otherwise the header, with counts and checksum, and one window of the rest: a filter that
** differs and stays is found after (length / WINDOW) rows.
*/
static bool same_filter(sqlite3_value *argument, const cf_filter *filter, change_state *state)
{
    size_t length = cf_in_memory(state->first->filter.length);
    if (filter->length != length)
        return false;
    bool often = state->compared < FULL_COMPARISONS && !sqlite3_value_frombind(argument);
    if (often || filter->bytes != state->seen_at) {
        state->seen_at = filter->bytes;
        state->compared += length;
        return equal_at(filter, state, 0, length);
    }
    size_t at = state->window < length ? state->window : 0;
    state->window = at + WINDOW;
    return equal_at(filter, state, 0, CF_HEADER_BYTES) && equal_at(filter, state, at, WINDOW);
}

/*
** How many times was the filter copied to be passed with this row? The handle of the first row is
** kept, so that another one has another address: cf_open has made it for this row, of a copy. A blob
** is copied by SQLite before 3.43 unless it is bound. That is also said of a blob literal, which
** SQLite does not copy: nothing tells it from a copy. Later versions copy what comes from a
** subquery; nothing tells that from a column, which they do not copy.
*/
static unsigned copies_made(sqlite3_value *argument)
{
    if (sqlite3_value_type(argument) != SQLITE_BLOB)
        return 2;
    return sqlite3_libversion_number() < LENDS_BLOBS && !sqlite3_value_frombind(argument);
}

/* Nanoseconds, about, to copy so many bytes from cache, or from memory. */
static uint64_t copying_time(uint64_t bytes)
{
    enum { CACHE = 4 << 20, BYTES_FROM_CACHE = 16, BYTES_FROM_MEMORY = 4 };
    return bytes / (bytes <= CACHE ? BYTES_FROM_CACHE : BYTES_FROM_MEMORY);
}

/* A statement that copies a large filter for each of many rows may never end. So it fails when it
** has spent seconds on copies. */
static bool count_copy(sqlite3_context *context, sqlite3_value *argument, change_state *state)
{
    state->copying += copies_made(argument) * copying_time(state->first->filter.length);
    return state->copying <= MOST_COPYING ||
           cuckoo_fail(context, CF_BAD_ARGUMENT,
                       "the filter is copied for every row, and is too large for that; use "
                       "cf_add_keys or cf_delete_keys(filter, (SELECT cf_keys(key) FROM ...)), or give "
                       "the filter as (SELECT cf_open(f) FROM ...) or as a bound parameter");
}

/* The first row: one copy to change, and one, or the handle, to compare with. */
static bool start_change(sqlite3_context *context, sqlite3_value *argument, const cf_filter *filter,
                         change_state *state)
{
    state->seen_at = filter->bytes;
    state->first = cuckoo_handle_keep(argument, filter);
    return state->first ? cuckoo_filter_copy(context, filter, &state->filter)
                        : cuckoo_fail_no_memory(context);
}

static bool read_filter(sqlite3_context *context, sqlite3_value **argv, change_state *state)
{
    sqlite3_value *argument = argv[0];
    const cf_filter *filter = cuckoo_filter_argument(context, 2, argv);
    if (filter == NULL)
        return false;
    if (state->first == NULL)
        return start_change(context, argument, filter, state);
    if (filter == &state->first->filter)
        return true;
    if (same_filter(argument, filter, state))
        return count_copy(context, argument, state);
    return cuckoo_fail(context, CF_BAD_ARGUMENT,
                       "filter is not the same for all rows; select one filter, or group by it");
}

typedef bool (*change_copy)(sqlite3_context *context, change_state *state, uint64_t hash,
                            uint64_t value);

static bool flush_added(sqlite3_context *context, change_state *state)
{
    cuckoo_hashes *added = &state->added;
    size_t n = added->used;
    added->used = 0;
    return n == 0 || cuckoo_add_hashes(context, &state->filter, added->at, n);
}

/* Adding many at once is faster: keys without values are collected as long as they fit. False: this
** one is to be added by itself. */
static bool can_collect(const change_state *state)
{
    uint64_t n = state->added.used + 1;
    return state->filter.geometry.value_bits == 0 && n <= CUCKOO_HASHES_MOST &&
           cuckoo_fit_as_planned(&state->filter, n);
}

static bool collect_one(sqlite3_context *context, change_state *state, uint64_t hash)
{
    cuckoo_hashes *added = &state->added;
    if (added->used == added->room && !cuckoo_hashes_grow(context, added))
        return false;
    cuckoo_hashes_push(added, hash);
    return true;
}

static bool add_copy(sqlite3_context *context, change_state *state, uint64_t hash, uint64_t value)
{
    if (can_collect(state))
        return collect_one(context, state, hash);
    if (!flush_added(context, state))
        return false;
    state->changed = true;
    cf_status status =
        cuckoo_watched_add(sqlite3_context_db_handle(context), &state->filter, hash, value);
    return status == CF_OK || cuckoo_fail_add(context, status, &state->filter);
}

static bool delete_copy(sqlite3_context *context, change_state *state, uint64_t hash, uint64_t value)
{
    if (!cuckoo_may_delete(context, &state->filter))
        return false;
    state->changed = true;
    cf_delete_value(&state->filter, hash, value);
    return true;
}

/* One row: key and value, if there is one. False: the function has failed. */
static bool change_by_row(sqlite3_context *context, int argc, sqlite3_value **argv, change_copy apply,
                          change_state *state)
{
    uint64_t hash, value;
    if (!read_filter(context, argv, state))
        return false;
    cuckoo_key kind = cuckoo_key_argument(context, argv[1], &state->filter.geometry, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    return cuckoo_value_read(context, &state->filter, argc > 2 ? argv[2] : NULL, &value) &&
           apply(context, state, hash, value);
}

static void change_step(sqlite3_context *context, int argc, sqlite3_value **argv, change_copy apply)
{
    change_state *state = cuckoo_aggregate_state(context, sizeof *state);
    if (state && !state->failed)
        state->failed = !change_by_row(context, argc, argv, apply, state);
}

static void add_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    change_step(context, argc, argv, add_copy);
}

static void delete_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    change_step(context, argc, argv, delete_copy);
}

/* Ends many single changes. */
static bool settle(sqlite3_context *context, cf_filter *filter)
{
    cuckoo_watch watch;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), filter);
    cf_status status = cf_settle(filter);
    cuckoo_watch_end(&watch);
    return status == CF_OK || cuckoo_fail_interrupted(context);
}

static void change_final(sqlite3_context *context)
{
    change_state *state = cuckoo_aggregate_state(context, 0);
    if (state == NULL) {
        cuckoo_fail(
            context, CF_BAD_ARGUMENT,
            "no rows, so there is no filter to return; use cf_add_keys or cf_delete_keys(filter, "
            "(SELECT cf_keys(key) FROM ...)), or FROM filters LEFT JOIN keys ON ..., which gives "
            "one row with a NULL key and leaves the filter unchanged");
        return;
    }
    if (!state->failed && flush_added(context, state) &&
        (!state->changed || settle(context, &state->filter)))
        cuckoo_result_filter(context, &state->filter);
    cuckoo_filter_free(&state->filter);
    cuckoo_handle_release(state->first);
    cuckoo_hashes_free(&state->added);
}

/* ---- cf_merge(filter), over rows ---- */

typedef struct merge_state {
    bool failed;
    cf_filter sum;
} merge_state;

static bool merge_row(sqlite3_context *context, sqlite3_value *value, merge_state *state)
{
    const cf_filter *filter = cuckoo_filter_argument(context, 1, &value);
    if (filter == NULL)
        return false;
    if (state->sum.view.writable)
        return cuckoo_merge_into(context, &state->sum, filter);
    return cuckoo_filter_copy(context, filter, &state->sum);
}

static void merge_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    merge_state *state = cuckoo_aggregate_state(context, sizeof *state);
    (void)argc;
    if (state && !state->failed)
        state->failed = !merge_row(context, argv[0], state);
}

static void merge_final(sqlite3_context *context)
{
    merge_state *state = cuckoo_aggregate_state(context, 0);
    if (state == NULL) {
        cuckoo_fail(context, CF_BAD_ARGUMENT,
                    "no rows, so there is no filter to merge; ask for rows with a filter");
        return;
    }
    if (!state->failed)
        cuckoo_result_filter(context, &state->sum);
    cuckoo_filter_free(&state->sum);
}

/* ---- registration ---- */

int cuckoo_register_aggregates(sqlite3 *db, bool on)
{
    static const cuckoo_function aggregates[] = {
        {"cf_add_all", 2, 3, NULL, add_step, change_final},
        {"cf_delete_all", 2, 3, NULL, delete_step, change_final},
        {"cf_merge", 1, 1, NULL, merge_step, merge_final},
        {.name = NULL},
    };
    return cuckoo_register(db, aggregates, on);
}
