/* SPDX-License-Identifier: MIT */
/*
** aggregate_build.c - the aggregate cf_build: a filter of the keys of a query, sized for exactly them.
*/
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "collect.h"
#include "filters.h"

#include "../../src/filter/sort.h"

typedef struct build_state {
    bool failed;
    cuckoo_given given;
    cuckoo_hashes keys;
} build_state;

static bool counts_copies(const build_state *state)
{
    return state->given.options.filter.counter_bits != 0;
}

static bool read_build_options(sqlite3_context *context, int argc, sqlite3_value **argv,
                               build_state *state)
{
    return cuckoo_given_read(context, argc - 1, argv + 1, &state->given) &&
           (state->given.options.filter.value_bits == 0 ||
            cuckoo_fail(context, CF_BAD_ARGUMENT,
                        "keys come without values here; use cf_add_keys(cf_new(...), (SELECT "
                        "cf_keys(key, value) FROM ...))"));
}

/* ---- repeated keys ---- */

/* Sorts all. Copies count when there are counters, else repeated keys are dropped. */
static bool sort_and_drop(sqlite3_context *context, build_state *state)
{
    cuckoo_hashes *keys = &state->keys;
    if (!cuckoo_hashes_sort(context, keys->at, keys->used))
        return false;
    if (!counts_copies(state))
        keys->used = cf_drop_repeated(keys->at, keys->used);
    return true;
}

enum {
    UNSORTED_ROOM = 1 << 16, /* hashes; up to here memory is cheaper than sorting */
    SAMPLE = 16,             /* one in so many is looked at */
    REPEATED = 8             /* one in so many of these must be a repetition */
};

/* Are there repeated keys to drop? Sorting all of them whenever room runs out costs as much as the
** build. So the last ones are sorted to see. When room cannot be had any more, the answer is yes. */
static bool look_for_repeated(sqlite3_context *context, build_state *state, bool *repeated)
{
    const cuckoo_hashes *keys = &state->keys;
    *repeated = keys->room == CUCKOO_HASHES_MOST;
    if (*repeated || counts_copies(state) || keys->room < UNSORTED_ROOM)
        return true;
    size_t n = keys->used / SAMPLE;
    uint64_t *sample = keys->at + keys->used - n;
    if (!cuckoo_hashes_sort(context, sample, n))
        return false;
    *repeated = cf_count_distinct(sample, n) <= n - n / REPEATED;
    return true;
}

/* Drops repeated keys before more memory is asked for. */
static bool drop_or_grow(sqlite3_context *context, build_state *state)
{
    cuckoo_hashes *keys = &state->keys;
    bool repeated;
    if (!look_for_repeated(context, state, &repeated) || (repeated && !sort_and_drop(context, state)))
        return false;
    if (keys->used < (keys->room == CUCKOO_HASHES_MOST ? keys->room : keys->room / 4 * 3))
        return true;
    if (keys->room == CUCKOO_HASHES_MOST)
        return cuckoo_fail(context, CF_TOO_BIG, "more than %d %s; use cf_new and cf_add_keys",
                           CUCKOO_HASHES_MOST,
                           counts_copies(state) ? "keys with counters" : "distinct keys");
    return cuckoo_hashes_grow(context, keys);
}

/* ---- one row ---- */

static bool build_step_row(sqlite3_context *context, int argc, sqlite3_value **argv, build_state *state)
{
    uint64_t hash;
    if (!read_build_options(context, argc, argv, state))
        return false;
    cuckoo_key kind = cuckoo_key_argument(context, argv[0], &state->given.rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    if (state->keys.used == state->keys.room && !drop_or_grow(context, state))
        return false;
    cuckoo_hashes_push(&state->keys, hash);
    return true;
}

static void build_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    build_state *state = cuckoo_aggregate_state(context, sizeof *state);
    if (state && !state->failed)
        state->failed = !build_step_row(context, argc, argv, state);
}

/* ---- the filter ---- */

static void result_build(sqlite3_context *context, build_state *state)
{
    cf_filter filter;
    if (cuckoo_build_filter(context, state->keys.at, state->keys.used, &state->given.options, &filter))
        cuckoo_result_filter(context, &filter);
}

static void build_final(sqlite3_context *context)
{
    build_state empty = {0}, *state = cuckoo_aggregate_state(context, 0);
    if (state == NULL) {
        cuckoo_options_default(&empty.given.options);
        state = &empty;
    }
    if (!state->failed)
        result_build(context, state);
    cuckoo_given_free(&state->given);
    cuckoo_hashes_free(&state->keys);
}

int cuckoo_register_builds(sqlite3 *db, bool on)
{
    static const cuckoo_function builds[] = {
        {"cf_build", 1, 3, NULL, build_step, build_final},
        {.name = NULL},
    };
    return cuckoo_register(db, builds, on);
}
