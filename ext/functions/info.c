/* SPDX-License-Identifier: MIT */
/*
** info.c - cf_info, cf_plan and cf_check.
*/
#include "../keys/key.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/watch.h"
#include "filters.h"

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

static void append_counts(sqlite3_str *json, const cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    uint64_t slots = filter->buckets * g->bucket_size,
             keys = filter->items ? filter->items : g->capacity;
    sqlite3_str_appendall(json, sqlite3_str_length(json) == 0 ? "{" : ",");
    sqlite3_str_appendf(json, "\"items\":%llu,\"occupied\":%llu,\"capacity\":%llu,\"buckets\":%llu",
                        filter->items, filter->occupied, g->capacity, filter->buckets);
    sqlite3_str_appendf(json, ",\"bucket_size\":%d,\"fingerprint_bits\":%d,\"slot_bits\":%d",
                        g->bucket_size, g->fingerprint_bits,
                        cf_slot_bits(g, filter->level > 0 || filter->split > 0));
    sqlite3_str_appendf(json, ",\"layout\":\"%s\",\"level\":%d,\"split\":%llu",
                        g->semisorted ? "semisort" : "plain", filter->level, filter->split);
    sqlite3_str_appendf(
        json, ",\"load_factor\":%.6g,\"items_per_slot\":%.6g,\"bytes\":%llu,\"bits_per_key\":%.6g",
        ratio(filter->occupied, slots), ratio(filter->items, slots), filter->length,
        ratio(8 * filter->length, keys));
}

/* The types of the keys that were added; "": none, or not noted. */
static const char *types_word(const cf_geometry *g)
{
    static const char *const words[] = {"",     "number",      "text",      "number,text",
                                        "blob", "number,blob", "text,blob", "any"};
    return words[g->key_types & CF_TYPE_ANY];
}

/* JavaScript would round larger seeds, so they are texts. */
static void append_hash(sqlite3_str *json, const cf_geometry *g)
{
    const int64_t most = (INT64_C(1) << 53) - 1;
    const char *quote = g->seed < -most || g->seed > most ? "\"" : "";
    sqlite3_str_appendf(json, ",\"hash\":\"%s\",\"seed\":%s%lld%s", cuckoo_hash_words[g->keyed], quote,
                        g->seed, quote);
}

static void append_options(sqlite3_str *json, const cf_geometry *g)
{
    append_hash(json, g);
    sqlite3_str_appendf(json, ",\"counter_bits\":%d,\"value_bits\":%d", g->counter_bits, g->value_bits);
    sqlite3_str_appendf(json, ",\"affinity\":\"%s\",\"collation\":\"%s\"",
                        cuckoo_affinity_words[g->affinity], cuckoo_collation_words[g->collation]);
    sqlite3_str_appendf(json, ",\"key_types\":\"%s\"", types_word(g));
    sqlite3_str_appendf(json, ",\"growth\":\"%s\",\"stash\":\"%s\"", g->growth ? "on" : "off",
                        g->stash_size ? "on" : "off");
    if (g->stash_size)
        sqlite3_str_appendf(json, ",\"max_kicks\":%d,\"stash_size\":%d", g->budget, g->stash_size);
    if (g->epochs)
        sqlite3_str_appendf(json, ",\"epochs\":%d", g->epochs);
}

/* `census`: the result of reading the whole filter, or NULL. */
static void append_all(sqlite3_str *json, const cf_filter *filter, const cf_census *census)
{
    const cf_geometry *g = &filter->geometry;
    append_counts(json, filter);
    if (census)
        sqlite3_str_appendf(json, ",\"fpr_now\":%.6g", census->fpr);
    sqlite3_str_appendf(json, ",\"fpr_at_capacity\":%.6g", cuckoo_planned_fpr(filter));
    sqlite3_str_appendf(json, ",\"turnovers\":%llu", cf_turnovers(g));
    append_options(json, g);
    if (g->epochs)
        sqlite3_str_appendf(json, ",\"epoch\":%llu", filter->epoch);
    sqlite3_str_appendf(json, ",\"stashed\":%d", filter->stashed);
    if (census)
        sqlite3_str_appendf(json, ",\"saturated\":%llu,\"exhausted\":%llu", census->saturated,
                            census->exhausted);
    if (census && g->value_bits && filter->pages) /* a table with rowids=on */
        sqlite3_str_appendf(json, ",\"most_rows\":%d", census->most);
    sqlite3_str_appendf(json, ",\"pair_bits\":%d,\"max_copies\":%d,\"base_buckets\":%llu", g->pair_bits,
                        g->max_copies, g->buckets);
    sqlite3_str_appendf(json, ",\"format\":%d", CF_FORMAT_VERSION);
}

static void result_exact_info(sqlite3_context *context, const cf_exact *exact)
{
    const cf_geometry *rule = &exact->rule;
    sqlite3_str *json = sqlite3_str_new(sqlite3_context_db_handle(context));
    sqlite3_str_appendf(json, "{\"kind\":\"exact\",\"keys\":%llu,\"members\":%llu", exact->keys,
                        exact->members);
    sqlite3_str_appendf(json, ",\"levels\":%d,\"listed\":%d", exact->levels, exact->listed);
    sqlite3_str_appendf(json, ",\"bytes\":%llu,\"bits_per_key\":%.6g,\"fpr_unknown\":%.6g",
                        exact->length, ratio(8 * exact->length, exact->keys), cf_exact_fpr(exact));
    append_hash(json, rule);
    sqlite3_str_appendf(json, ",\"affinity\":\"%s\",\"collation\":\"%s\",\"key_types\":\"%s\"",
                        cuckoo_affinity_words[rule->affinity], cuckoo_collation_words[rule->collation],
                        types_word(rule));
    sqlite3_str_appendf(json, ",\"format\":%d", CF_EXACT_VERSION);
    cuckoo_result_built(context, json, "}");
}

void cuckoo_append_member(sqlite3_str *json, const char *name, const char *text)
{
    sqlite3_str_appendf(json, text ? ",\"%s\":\"" : ",\"%s\":null", name);
    for (const char *at = text; at && *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            sqlite3_str_appendf(json, "\\u%04x", *at);
        else
            sqlite3_str_appendchar(json, 1, *at);
    sqlite3_str_appendall(json, text ? "\"" : "");
}

bool cuckoo_append_info(sqlite3 *db, sqlite3_str *json, const cf_filter *filter, bool all)
{
    cuckoo_watch watch;
    cf_filter watched = *filter;
    cf_census census = {.status = CF_OK};
    cuckoo_watch_filter(&watch, db, &watched);
    if (all)
        census = cf_take_census(&watched);
    cuckoo_watch_end(&watch);
    append_all(json, filter, all ? &census : NULL);
    return census.status == CF_OK;
}

static void result_info(sqlite3_context *context, const cf_filter *filter, bool all)
{
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_str *json = sqlite3_str_new(db);
    if (cuckoo_append_info(db, json, filter, all)) {
        cuckoo_result_built(context, json, "}");
        return;
    }
    sqlite3_free(sqlite3_str_finish(json));
    cuckoo_fail_with(context, SQLITE_INTERRUPT, NULL);
}

/* cf_info(filter [, all]): if `all` is 0, it does not read the buckets. */
static void info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    uint64_t all = 1;
    cuckoo_handle *exact = NULL;
    if (argc > 1 && !cuckoo_key_value(argv[1], 1, &all)) {
        cuckoo_fail(context, "all, the second argument, must be 1 or 0, got %s",
                    cuckoo_show(argv[1]).text);
        return;
    }
    const cf_filter *filter = cuckoo_filter_argument(context, 1, argv, &exact);
    if (filter)
        result_info(context, filter, all);
    else if (exact)
        result_exact_info(context, exact->exact);
    cuckoo_handle_release(exact);
}

/* The filter that cf_new would make, as a view without bytes. */
static void plan_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_filter planned = {.bytes = NULL};
    cf_census nothing = {0};
    if (!cuckoo_plan_arguments(context, argc, argv, &planned.geometry))
        return;
    planned.buckets = planned.geometry.buckets;
    planned.length = cf_geometry_bytes(&planned.geometry);
    sqlite3_str *json = sqlite3_str_new(sqlite3_context_db_handle(context));
    append_all(json, &planned, &nothing);
    cuckoo_result_built(context, json, "}");
}

/* Checks the exact filter, if there is one. */
static void result_check(sqlite3_context *context, const cf_filter *filter, const cf_exact *exact)
{
    cuckoo_watch watch;
    const char *why = "ok";
    cf_filter watched = *filter;
    cuckoo_watch_filter(&watch, sqlite3_context_db_handle(context), &watched);
    cf_status status = exact ? cf_exact_check(exact, &watch.hook, &why) : cf_check(&watched, &why);
    cuckoo_watch_end(&watch);
    if (status == CF_INTERRUPTED)
        cuckoo_fail_with(context, SQLITE_INTERRUPT, NULL);
    else
        sqlite3_result_text(context, why, -1, SQLITE_STATIC);
}

/* A blob that is not a filter is a result here; NULL and text are errors. */
static void check_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *why;
    const cf_filter *filter;
    cuckoo_handle *exact;
    cf_reader *reader = &cuckoo_running_function(context)->reader;
    (void)argc;
    cf_status status = cuckoo_filter_read(context, argv[0], reader, &filter, &exact, &why);
    if (status == CF_BAD_ARGUMENT || status == CF_NO_MEMORY)
        cuckoo_fail_filter(context, status, why, argv[0]);
    else if (status != CF_OK)
        sqlite3_result_text(context, why, -1, SQLITE_STATIC);
    else
        result_check(context, exact ? &exact->filter : filter, exact ? exact->exact : NULL);
    cuckoo_handle_release(exact);
}

const cuckoo_function *const cuckoo_infos = (const cuckoo_function[]){
    {"cf_info", 1, 2, .function = info_function},
    {"cf_check", 1, 1, .function = check_function},
    {"cf_plan", 1, 3, .function = plan_function},
    {.name = NULL},
};
