/* SPDX-License-Identifier: MIT */
/*
** aggregate_build.c - the aggregates that make a filter of the keys of a query, sized for exactly them:
** cf_build, and cf_build_exact for keys that are members or not.
*/
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/watch.h"
#include "collect.h"
#include "filters.h"

#include "../../src/filter/sort.h"

typedef struct build_state {
    bool failed;
    cuckoo_given given;
    cuckoo_hashes keys;
    cuckoo_hashes others; /* of cf_build_exact: keys that are no members */
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
static bool sort_and_drop(sqlite3_context *context, const build_state *state, cuckoo_hashes *keys)
{
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
static bool look_for_repeated(sqlite3_context *context, const build_state *state,
                              const cuckoo_hashes *keys, bool *repeated)
{
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
static bool drop_or_grow(sqlite3_context *context, const build_state *state, cuckoo_hashes *keys)
{
    bool repeated;
    if (!look_for_repeated(context, state, keys, &repeated) ||
        (repeated && !sort_and_drop(context, state, keys)))
        return false;
    if (keys->used < (keys->room == CUCKOO_HASHES_MOST ? keys->room : keys->room / 4 * 3))
        return true;
    if (keys->room == CUCKOO_HASHES_MOST)
        return cuckoo_fail(context, CF_TOO_BIG, "more than %d %s; split them over several filters",
                           CUCKOO_HASHES_MOST,
                           counts_copies(state) ? "keys with counters" : "distinct keys");
    return cuckoo_hashes_grow(context, keys);
}

/* ---- one row ---- */

static bool add_key(sqlite3_context *context, const build_state *state, cuckoo_hashes *keys,
                    uint64_t hash)
{
    if (keys->used == keys->room && !drop_or_grow(context, state, keys))
        return false;
    cuckoo_hashes_push(keys, hash);
    return true;
}

static bool build_step_row(sqlite3_context *context, int argc, sqlite3_value **argv, build_state *state)
{
    uint64_t hash;
    if (!read_build_options(context, argc, argv, state))
        return false;
    cuckoo_key kind = cuckoo_key_argument(context, argv[0], &state->given.rule, &hash);
    return kind == CUCKOO_KEY_OK ? add_key(context, state, &state->keys, hash) : kind == CUCKOO_KEY_NULL;
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

static void finish_build(sqlite3_context *context, void (*result)(sqlite3_context *, build_state *))
{
    build_state empty = {0}, *state = cuckoo_aggregate_state(context, 0);
    if (state == NULL) {
        cuckoo_options_default(&empty.given.options);
        state = &empty;
    }
    if (!state->failed)
        result(context, state);
    cuckoo_given_free(&state->given);
    cuckoo_hashes_free(&state->keys);
    cuckoo_hashes_free(&state->others);
}

static void build_final(sqlite3_context *context)
{
    finish_build(context, result_build);
}

/* ---- cf_build_exact(key, member [, fpr [, options]]) ---- */

static bool read_exact_options(sqlite3_context *context, int argc, sqlite3_value **argv,
                               build_state *state)
{
    const unsigned known = 1u << CUCKOO_OPTION_SEED | 1u << CUCKOO_OPTION_HASH |
                           1u << CUCKOO_OPTION_AFFINITY | 1u << CUCKOO_OPTION_COLLATION;
    if (!cuckoo_given_read(context, argc - 2, argv + 2, &state->given))
        return false;
    return !(state->given.options.given & ~known) ||
           cuckoo_fail(context, CF_BAD_ARGUMENT,
                       "of the options only seed, hash, affinity and collation have a "
                       "meaning here; leave the others out");
}

/* Is the key a member? A vague key (key.h) is always found, so that it cannot be known as none. */
static bool read_member(sqlite3_context *context, sqlite3_value **argv, const build_state *state,
                        bool *member)
{
    int type = sqlite3_value_type(argv[1]);
    *member = sqlite3_value_double(argv[1]) != 0;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return cuckoo_fail(
            context, CF_BAD_ARGUMENT, "member, the second argument, must be 1 or 0, got %s%s",
            cuckoo_show(argv[1]).text, type == SQLITE_NULL ? "; use ifnull(member, 0)" : "");
    bool vague = state->given.rule.affinity == CF_AFFINITY_TEXT && cuckoo_key_vague(argv[0]);
    return *member || !vague ||
           cuckoo_fail(context, CF_BAD_ARGUMENT,
                       "with affinity=text a number with a fraction cannot be known as no member, "
                       "because it may equal a text; leave the affinity out");
}

static bool exact_step_row(sqlite3_context *context, int argc, sqlite3_value **argv, build_state *state)
{
    uint64_t hash;
    bool member;
    if (!read_exact_options(context, argc, argv, state))
        return false;
    cuckoo_key kind = cuckoo_key_argument(context, argv[0], &state->given.rule, &hash);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    return read_member(context, argv, state, &member) &&
           add_key(context, state, member ? &state->keys : &state->others, hash);
}

static void exact_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    build_state *state = cuckoo_aggregate_state(context, sizeof *state);
    if (state && !state->failed)
        state->failed = !exact_step_row(context, argc, argv, state);
}

static void result_exact(sqlite3_context *context, build_state *state)
{
    const char *why;
    cuckoo_watch watch;
    sqlite3_value *fpr = state->given.values[0];
    bool given = fpr && sqlite3_value_type(fpr) != SQLITE_NULL;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), NULL);
    cf_exact_build build = {.options = state->given.options.filter,
                            .fpr = given ? state->given.options.fpr : 0,
                            .hashes = {state->others.at, state->keys.at},
                            .count = {state->others.used, state->keys.used},
                            .memory = cuckoo_result_memory(context),
                            .watch = &watch.hook};
    build.options.growth = false;
    cf_status status = cf_exact_make(&build, &why);
    cuckoo_watch_end(&watch);
    if (status == CF_OK)
        sqlite3_result_blob64(context, build.bytes, build.length, sqlite3_free);
    else if (status == CF_INTERRUPTED)
        cuckoo_fail_interrupted(context);
    else
        cuckoo_fail_code(context, cuckoo_error_code(status), why);
}

static void exact_final(sqlite3_context *context)
{
    finish_build(context, result_exact);
}

int cuckoo_register_builds(sqlite3 *db, bool on)
{
    static const cuckoo_function builds[] = {
        {"cf_build", 1, 3, NULL, build_step, build_final},
        {"cf_build_exact", 2, 4, NULL, exact_step, exact_final},
        {.name = NULL},
    };
    return cuckoo_register(db, builds, on);
}
