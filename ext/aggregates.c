/*
** aggregates.c - many rows into one filter: cf_add_all, cf_delete_all, cf_merge.
**
** SQLite calls step for every row and final once, also after step has failed: so the state says
** whether it failed, and final then only frees. Over no rows final has no state at all.
*/
#include "errors.h"
#include "handle.h"
#include "key.h"
#include "register.h"
#include "result.h"
#include "watch.h"

#include "../src/format.h"

#include <string.h>

/* ---- cf_add_all(filter, key), cf_delete_all(filter, key) ---- */

typedef struct change_state {
    bool failed;
    cf_filter filter;    /* the one that is changed */
    cf_filter first;     /* the one that came with the first row */
    const void *seen_at; /* where the argument of the last row stood */
    uint64_t compared;   /* bytes compared in full so far */
    size_t window;       /* how far the comparison has come, bytes */
    bool changed;        /* a key was added or deleted */
} change_state;

enum {
    FULL_COMPARISONS = 64 << 20, /* bytes compared in full over all rows, whatever the addresses */
    WINDOW = 1024                /* bytes compared per row thereafter */
};

static bool equal_at(const cf_filter *filter, const change_state *state, size_t at, size_t most)
{
    size_t rest = state->first.length - at;
    return memcmp(filter->bytes + at, state->first.bytes + at, rest < most ? rest : most) == 0;
}

/*
** Is the filter of this row the one of the first row? Comparing all of it for every row would make
** each row cost as much as a copy. So all of it is compared until that has come to FULL_COMPARISONS
** bytes, and from then on whenever it arrives at another address; otherwise the header, with counts
** and checksum, and one window of the rest: a filter that differs and stays is found after (length
** / WINDOW) rows.
*/
static bool same_filter(const cf_filter *filter, change_state *state)
{
    size_t length = state->first.length;
    if (filter->length != length)
        return false;
    if (filter->bytes != state->seen_at || state->compared < FULL_COMPARISONS) {
        state->seen_at = filter->bytes;
        state->compared += length;
        return equal_at(filter, state, 0, length);
    }
    size_t at = state->window < length ? state->window : 0;
    state->window = at + WINDOW;
    return equal_at(filter, state, 0, CF_HEADER_BYTES) && equal_at(filter, state, at, WINDOW);
}

/* The first row: two copies, one to change and one to compare with. */
static bool start_change(sqlite3_context *context, const cf_filter *filter, change_state *state)
{
    state->seen_at = filter->bytes;
    return cuckoo_filter_copy(context, filter, &state->filter) &&
           cuckoo_filter_copy(context, filter, &state->first);
}

static bool read_change(sqlite3_context *context, sqlite3_value **argv, change_state *state)
{
    const cf_filter *filter = cuckoo_filter_argument(context, argv[0]);
    if (filter == NULL)
        return false;
    if (state->filter.view.writable == NULL)
        return start_change(context, filter, state);
    if (same_filter(filter, state))
        return true;
    cuckoo_fail(context, CF_BAD_ARGUMENT,
                "filter is not the same for all rows; select one filter, or group by it");
    return false;
}

typedef bool (*change)(sqlite3_context *context, cf_filter *filter, uint64_t hash, uint64_t value);

static bool add_one(sqlite3_context *context, cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_status status = cf_add_value(filter, hash, value);
    if (status != CF_OK)
        cuckoo_fail_add(context, status, filter);
    return status == CF_OK;
}

static bool delete_one(sqlite3_context *context, cf_filter *filter, uint64_t hash, uint64_t value)
{
    (void)context;
    cf_delete_value(filter, hash, value);
    return true;
}

/* One row: key and value, if there is one. False: the function has failed. */
static bool change_row(sqlite3_context *context, int argc, sqlite3_value **argv, change apply,
                       change_state *state)
{
    uint64_t hash, value;
    if (!read_change(context, argv, state))
        return false;
    cuckoo_key kind = cuckoo_key_hash(argv[1], &state->filter.geometry, &hash);
    if (kind == CUCKOO_KEY_NULL)
        return true;
    if (kind == CUCKOO_KEY_OK)
        return cuckoo_value_read(context, &state->filter, argc > 2 ? argv[2] : NULL, &value) &&
               (state->changed = apply(context, &state->filter, hash, value));
    sqlite3_result_error_nomem(context);
    return false;
}

static void change_step(sqlite3_context *context, int argc, sqlite3_value **argv, change apply)
{
    change_state *state = cuckoo_aggregate_state(context, sizeof *state);
    if (state && !state->failed)
        state->failed = !change_row(context, argc, argv, apply, state);
}

static void add_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    change_step(context, argc, argv, add_one);
}

static void delete_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    change_step(context, argc, argv, delete_one);
}

static void result_changed(sqlite3_context *context, change_state *state)
{
    cuckoo_watch watch;
    cuckoo_watch_begin(&watch, sqlite3_context_db_handle(context));
    state->filter.watch = &watch.hook;
    cf_status status = state->changed ? cf_settle(&state->filter) : CF_OK;
    cuckoo_watch_end(&watch);
    if (status == CF_OK)
        cuckoo_result_filter(context, &state->filter);
    else
        cuckoo_fail_interrupted(context);
}

static void change_final(sqlite3_context *context)
{
    change_state *state = cuckoo_aggregate_state(context, 0);
    if (state == NULL) {
        cuckoo_fail(context, CF_BAD_ARGUMENT,
                    "no rows, so there is no filter to return; use FROM filters LEFT JOIN keys ON "
                    "..., which gives one row with a NULL key and leaves the filter unchanged");
        return;
    }
    if (!state->failed)
        result_changed(context, state);
    cuckoo_filter_free(&state->filter);
    cuckoo_filter_free(&state->first);
}

/* ---- cf_merge(filter), over rows ---- */

typedef struct merge_state {
    bool failed;
    cf_filter sum;
} merge_state;

static bool merge_row(sqlite3_context *context, sqlite3_value *value, merge_state *state)
{
    const cf_filter *filter = cuckoo_filter_argument(context, value);
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
        cuckoo_fail(context, CF_BAD_ARGUMENT, "no rows, so there is no filter to merge");
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
        {"cf_add_all", 2, NULL, add_step, change_final},
        {"cf_add_all", 3, NULL, add_step, change_final},
        {"cf_delete_all", 2, NULL, delete_step, change_final},
        {"cf_delete_all", 3, NULL, delete_step, change_final},
        {"cf_merge", 1, NULL, merge_step, merge_final},
    };
    return cuckoo_register(db, aggregates, sizeof aggregates / sizeof aggregates[0], on);
}
