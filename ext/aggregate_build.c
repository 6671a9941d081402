/*
** aggregate_build.c - the aggregate cf_build: a filter of the keys of a query, sized for exactly them.
*/
#include "errors.h"
#include "key.h"
#include "register.h"
#include "result.h"
#include "watch.h"

#include <string.h>

/* fpr and options as the last row gave them that was read: reading options costs more than all else
** in a row. */
typedef struct given_options {
    double fpr;
    int fpr_type, bytes; /* bytes: -1 when there was no text, or a longer one */
    char text[120];
} given_options;

typedef struct build_state {
    bool started, failed;
    cuckoo_options options;
    cf_geometry rule; /* for keys, of these options */
    given_options given;
    uint64_t *hashes;
    size_t used, room;
} build_state;

enum {
    FIRST_ROOM = 256,          /* hashes */
    MOST_ROOM = 0x7ffffe00 / 8 /* the most that SQLite allocates at once */
};

/* The options as text; NULL: none that fits. */
static const void *options_text(int argc, sqlite3_value **argv, int *bytes)
{
    const void *text =
        argc > 2 && sqlite3_value_type(argv[2]) == SQLITE_TEXT ? sqlite3_value_text(argv[2]) : NULL;
    *bytes = text ? sqlite3_value_bytes(argv[2]) : -1;
    return *bytes <= (int)sizeof((given_options *)0)->text ? text : NULL;
}

static void keep_given(int argc, sqlite3_value **argv, given_options *given)
{
    const void *text = options_text(argc, argv, &given->bytes);
    if (text == NULL) {
        given->bytes = -1;
        return;
    }
    memcpy(given->text, text, (size_t)given->bytes);
    given->fpr_type = sqlite3_value_type(argv[1]);
    given->fpr = sqlite3_value_double(argv[1]);
}

static bool given_again(int argc, sqlite3_value **argv, const given_options *given)
{
    int bytes;
    const void *text = options_text(argc, argv, &bytes);
    return text != NULL && bytes == given->bytes && memcmp(text, given->text, (size_t)bytes) == 0 &&
           sqlite3_value_type(argv[1]) == given->fpr_type && sqlite3_value_double(argv[1]) == given->fpr;
}

/* The arguments other than the key come with every row: they must not change under way. */
static bool read_build_options(sqlite3_context *context, int argc, sqlite3_value **argv,
                               build_state *state)
{
    cuckoo_options options;
    if (state->started && given_again(argc, argv, &state->given))
        return true;
    if (!cuckoo_options_read(context, argc - 1, argv + 1, &options))
        return false;
    keep_given(argc, argv, &state->given);
    if (!state->started) {
        state->options = options;
        state->rule = cuckoo_options_rule(&options);
        state->started = true;
        if (options.filter.value_bits) {
            cuckoo_fail(context, CF_BAD_ARGUMENT,
                        "keys come without values here; use cf_add_all(cf_new(...), key, value)");
            return false;
        }
    } else if (!cuckoo_options_equal(&options, &state->options)) {
        cuckoo_fail(context, CF_BAD_ARGUMENT, "fpr and options must be the same for all rows");
        return false;
    }
    return true;
}

/* Copies count when there are counters; else repeated keys are dropped before more memory is asked
** for. False: it was interrupted. */
static bool sort_hashes(sqlite3_context *context, build_state *state)
{
    cuckoo_watch watch;
    cuckoo_watch_begin(&watch, sqlite3_context_db_handle(context));
    cf_status status = cf_sort(state->hashes, state->used, &watch.hook);
    cuckoo_watch_end(&watch);
    if (status != CF_OK)
        cuckoo_fail_interrupted(context);
    else if (state->options.filter.counter_bits == 0)
        state->used = cf_drop_repeated(state->hashes, state->used);
    return status == CF_OK;
}

/* Room for one more hash. */
static bool make_room(sqlite3_context *context, build_state *state)
{
    if (state->used < state->room)
        return true;
    if (!sort_hashes(context, state))
        return false;
    if (state->used < (state->room == MOST_ROOM ? MOST_ROOM : state->room / 4 * 3))
        return true;
    if (state->room == MOST_ROOM) {
        cuckoo_fail(context, CF_TOO_BIG, "more than %d %s; use cf_new and cf_add_all", MOST_ROOM,
                    state->options.filter.counter_bits ? "keys with counters" : "distinct keys");
        return false;
    }
    size_t room = state->room ? 2 * state->room : FIRST_ROOM;
    if (room > MOST_ROOM)
        room = MOST_ROOM;
    uint64_t *larger = sqlite3_realloc64(state->hashes, room * sizeof *larger);
    if (larger == NULL) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    state->hashes = larger;
    state->room = room;
    return true;
}

static bool build_step_row(sqlite3_context *context, int argc, sqlite3_value **argv, build_state *state)
{
    uint64_t hash;
    if (!read_build_options(context, argc, argv, state))
        return false;
    cuckoo_key kind = cuckoo_key_hash(argv[0], &state->rule, &hash);
    if (kind == CUCKOO_KEY_NOMEM)
        sqlite3_result_error_nomem(context);
    if (kind != CUCKOO_KEY_OK)
        return kind == CUCKOO_KEY_NULL;
    if (!make_room(context, state))
        return false;
    state->hashes[state->used++] = hash;
    return true;
}

static void build_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    build_state *state = cuckoo_aggregate_state(context, sizeof *state);
    if (state && !state->failed)
        state->failed = !build_step_row(context, argc, argv, state);
}

/* More than this many tables in a row are full only when the keys were chosen to crowd one
** place. */
enum { BUILD_TRIES = 8 };

/* Adds the hashes to a fresh filter of this shape, which becomes the result unless there is no
** room. It may grow for them only when `grow` says so. */
static cf_status try_build(sqlite3_context *context, const cf_geometry *shape, bool grow,
                           uint64_t *hashes, size_t n)
{
    cf_filter filter;
    cuckoo_watch watch;
    if (!cuckoo_new_filter(context, shape, &filter))
        return CF_OK; /* that is an answer, too: the function has failed */
    if (!grow)
        filter.memory.most = filter.length;
    cuckoo_watch_begin(&watch, sqlite3_context_db_handle(context));
    filter.watch = &watch.hook;
    cf_status status = cf_add_many(&filter, hashes, n, NULL);
    cuckoo_watch_end(&watch);
    if (status == CF_TOO_BIG && !grow)
        status = CF_FULL;
    if (status == CF_OK)
        cuckoo_result_filter(context, &filter);
    else if (status != CF_FULL)
        cuckoo_fail_add(context, status, &filter);
    cuckoo_filter_free(&filter);
    return status;
}

static size_t count_distinct(const uint64_t *sorted, size_t n)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || sorted[i] != sorted[i - 1];
    return distinct;
}

/* The planned table is full once in a million builds. Then slightly wider ones are tried: a table
** that grows would be larger by a third or more. */
static cf_status try_wider(sqlite3_context *context, cf_geometry shape, const build_state *state)
{
    cf_status status = CF_FULL;
    for (int i = 0; i < BUILD_TRIES && status == CF_FULL; i++) {
        status = try_build(context, &shape, false, state->hashes, state->used);
        if (status == CF_FULL && cf_plan_wider(&shape) != CF_OK)
            break;
    }
    return status;
}

/* A filter of the hashes; its shape depends on them alone. With a capacity in the options that they
** do not exceed it keeps the number of base buckets, so that it can be merged with others of that
** capacity: then it grows at once. */
static void result_build(sqlite3_context *context, build_state *state)
{
    cf_geometry shape;
    if (!sort_hashes(context, state))
        return;
    size_t distinct = count_distinct(state->hashes, state->used);
    bool mergeable = distinct <= state->options.capacity;
    if (!cuckoo_plan(context, mergeable ? state->options.capacity : distinct, &state->options, &shape))
        return;
    cf_status status = CF_FULL;
    if (!mergeable || !shape.growth)
        status = try_wider(context, shape, state);
    if (status == CF_FULL && shape.growth)
        status = try_build(context, &shape, true, state->hashes, state->used);
    if (status == CF_FULL)
        cuckoo_fail(
            context, CF_FULL,
            "too many keys crowd one place of the filter, as if chosen to; try another seed in the "
            "options, such as 'seed=12345'");
}

static void build_final(sqlite3_context *context)
{
    build_state empty = {0}, *state = cuckoo_aggregate_state(context, 0);
    if (state == NULL) {
        cuckoo_options_default(&empty.options);
        state = &empty;
    }
    if (!state->failed)
        result_build(context, state);
    sqlite3_free(state->hashes);
    state->hashes = NULL;
}

int cuckoo_register_build(sqlite3 *db, bool on)
{
    static const cuckoo_function builds[] = {
        {"cf_build", 1, NULL, build_step, build_final},
        {"cf_build", 2, NULL, build_step, build_final},
        {"cf_build", 3, NULL, build_step, build_final},
    };
    return cuckoo_register(db, builds, sizeof builds / sizeof builds[0], on);
}
