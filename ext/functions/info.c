/* SPDX-License-Identifier: MIT */
/*
** info.c - what a filter says of itself: cf_info, cf_plan, cf_check.
*/
#include "info.h"

#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/watch.h"
#include "filters.h"

#include "../../src/shape/format.h"

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

static void append_counts(sqlite3_str *json, const cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    uint64_t slots = filter->buckets * g->bucket_size,
             keys = filter->items ? filter->items : g->capacity;
    sqlite3_str_appendf(json, "\"items\":%llu,\"occupied\":%llu,\"capacity\":%llu", filter->items,
                        filter->occupied, g->capacity);
    sqlite3_str_appendf(json, ",\"buckets\":%llu,\"bucket_size\":%d", filter->buckets, g->bucket_size);
    sqlite3_str_appendf(json, ",\"fingerprint_bits\":%d,\"slot_bits\":%d", g->fingerprint_bits,
                        filter->view.form.lanes.width);
    sqlite3_str_appendf(json, ",\"layout\":\"%s\",\"level\":%d,\"split\":%llu",
                        g->semisorted ? "semisort" : "plain", filter->level, filter->split);
    sqlite3_str_appendf(json, ",\"load\":%.6g,\"load_items\":%.6g", ratio(filter->occupied, slots),
                        ratio(filter->items, slots));
    sqlite3_str_appendf(json, ",\"bytes\":%llu,\"bits_per_key\":%.6g", filter->length,
                        ratio(8 * filter->length, keys));
}

static void append_options(sqlite3_str *json, const cf_geometry *g)
{
    sqlite3_str_appendf(json, ",\"hash\":\"%s\",\"seed\":%lld", cuckoo_hash_word(g), g->seed);
    sqlite3_str_appendf(json, ",\"counter_bits\":%d,\"value_bits\":%d", g->counter_bits, g->value_bits);
    sqlite3_str_appendf(json, ",\"affinity\":\"%s\",\"collation\":\"%s\"",
                        cuckoo_affinity_word(g->affinity), cuckoo_collation_word(g->collation));
    sqlite3_str_appendf(json, ",\"growth\":\"%s\",\"overflow\":\"%s\"", g->growth ? "on" : "off",
                        g->spill_bound ? "on" : "off");
    if (g->spill_bound)
        sqlite3_str_appendf(json, ",\"overflow_budget\":%d,\"spill_bound\":%d", g->budget,
                            g->spill_bound);
    if (g->epochs)
        sqlite3_str_appendf(json, ",\"epochs\":%d", g->epochs);
}

static void append_census(sqlite3_str *json, const cf_filter *filter, const cf_census *census)
{
    const cf_geometry *g = &filter->geometry;
    sqlite3_str_appendf(json, ",\"fpr_now\":%.6g,\"fpr_at_capacity\":%.6g", census->fpr,
                        cf_expected_fpr(g, cf_planned_entries(g->capacity, g->epochs)));
    sqlite3_str_appendf(json, ",\"turnovers\":%llu", cf_turnovers(g));
    append_options(json, g);
    if (g->epochs)
        sqlite3_str_appendf(json, ",\"epoch\":%llu", filter->epoch);
    sqlite3_str_appendf(json, ",\"spilled\":%d,\"sticky\":%llu,\"void\":%llu", filter->spilled,
                        census->sticky, census->voids);
    sqlite3_str_appendf(json, ",\"pair_bits\":%d,\"cap\":%d,\"base_buckets\":%llu", g->pair_bits, g->cap,
                        g->buckets);
    sqlite3_str_appendf(json, ",\"format\":%d", CF_FORMAT_VERSION);
}

static void result_json(sqlite3_context *context, const cf_filter *filter, const cf_census *census,
                        const char *more)
{
    sqlite3_str *json = sqlite3_str_new(sqlite3_context_db_handle(context));
    sqlite3_str_appendchar(json, 1, '{');
    append_counts(json, filter);
    append_census(json, filter, census);
    sqlite3_str_appendf(json, "%s}", more);
    int length;
    char *text = cuckoo_finish_text(context, json, &length);
    if (text)
        sqlite3_result_text(context, text, length, sqlite3_free);
}

void cuckoo_result_info(sqlite3_context *context, const cf_filter *filter, const char *more)
{
    cuckoo_watch watch;
    cf_filter watched = *filter;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), &watched);
    cf_census census = cf_take_census(&watched);
    cuckoo_watch_end(&watch);
    if (census.status == CF_OK)
        result_json(context, filter, &census, more ? more : "");
    else
        cuckoo_fail_interrupted(context);
}

static void info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const cf_filter *filter = cuckoo_filter_argument(context, argv[0]);
    if (filter)
        cuckoo_result_info(context, filter, NULL);
}

/* What cf_new would make, with nothing in it: a view without bytes. */
static void plan_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_filter planned = {.view.writable = NULL};
    cf_census nothing = {0};
    if (!cuckoo_plan_arguments(context, argc, argv, &planned.geometry))
        return;
    planned.buckets = planned.geometry.buckets;
    planned.length = cf_geometry_bytes(&planned.geometry);
    planned.view.form.lanes.width = planned.geometry.fingerprint_bits;
    result_json(context, &planned, &nothing, "");
}

static void result_check(sqlite3_context *context, const cf_filter *filter)
{
    cuckoo_watch watch;
    const char *why = "ok";
    cf_filter watched = *filter;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), &watched);
    cf_status status = cf_check(&watched, &why);
    cuckoo_watch_end(&watch);
    if (status == CF_INTERRUPTED)
        cuckoo_fail_interrupted(context);
    else
        sqlite3_result_text(context, why, -1, SQLITE_STATIC);
}

/* A blob that is no filter is an answer here; NULL and text are errors, as everywhere. */
static void check_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *why;
    const cf_filter *filter;
    (void)argc;
    cf_status status = cuckoo_filter_read(argv[0], cuckoo_function_reader(context), &filter, &why);
    if (status == CF_BAD_ARGUMENT)
        cuckoo_fail_filter(context, status, why);
    else if (status != CF_OK)
        sqlite3_result_text(context, why, -1, SQLITE_STATIC);
    else if (filter == NULL)
        sqlite3_result_error_nomem(context);
    else
        result_check(context, filter);
}

int cuckoo_register_infos(sqlite3 *db, bool on)
{
    static const cuckoo_function infos[] = {
        {"cf_info", 1, 1, info_function, NULL, NULL},
        {"cf_check", 1, 1, check_function, NULL, NULL},
        {"cf_plan", 1, 3, plan_function, NULL, NULL},
        {.name = NULL},
    };
    return cuckoo_register(db, infos, on);
}
