/*
** info.c - what a filter says of itself: cf_info, cf_plan, cf_check.
*/
#include "errors.h"
#include "functions.h"
#include "handle.h"
#include "register.h"

#include "../src/format.h"

/* What cf_info counts; all zero for a plan. */
typedef struct contents {
    uint64_t items, occupied, sticky;
    uint64_t bytes;
} contents;

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

static void append_counts(sqlite3_str *json, const cf_geometry *g, const contents *c)
{
    uint64_t slots = cf_geometry_slots(g), keys = c->items ? c->items : g->capacity;
    sqlite3_str_appendf(json, "\"items\":%llu,\"occupied\":%llu,\"capacity\":%llu", c->items,
                        c->occupied, g->capacity);
    sqlite3_str_appendf(json, ",\"buckets\":%llu,\"bucket_size\":%d", g->buckets, g->bucket_size);
    sqlite3_str_appendf(json, ",\"fingerprint_bits\":%d,\"slot_bits\":%d", g->fingerprint_bits,
                        g->fingerprint_bits);
    sqlite3_str_appendf(json, ",\"layout\":\"plain\",\"level\":0,\"split\":0");
    sqlite3_str_appendf(json, ",\"load\":%.6g,\"load_items\":%.6g", ratio(c->occupied, slots),
                        ratio(c->items, slots));
    sqlite3_str_appendf(json, ",\"bytes\":%llu,\"bits_per_key\":%.6g", c->bytes,
                        ratio(8 * c->bytes, keys));
}

static void append_rates(sqlite3_str *json, const cf_geometry *g, const contents *c)
{
    sqlite3_str_appendf(json, ",\"fpr_now\":%.6g,\"fpr_at_capacity\":%.6g",
                        cf_expected_fpr(g, c->occupied), cf_expected_fpr(g, g->capacity));
}

static void append_options(sqlite3_str *json, const cf_geometry *g, const contents *c)
{
    sqlite3_str_appendf(json, ",\"seed\":%lld,\"counter_bits\":0,\"value_bits\":0", g->seed);
    sqlite3_str_appendf(json, ",\"growth\":\"%s\",\"overflow\":\"off\"", g->growth ? "on" : "off");
    sqlite3_str_appendf(json, ",\"spilled\":0,\"sticky\":%llu,\"void\":0", c->sticky);
    sqlite3_str_appendf(json, ",\"pair_bits\":%d,\"cap\":%d", g->pair_bits, g->cap);
    sqlite3_str_appendf(json, ",\"format\":%d", CF_FORMAT_VERSION);
}

static void result_json(sqlite3_context *context, const cf_geometry *g, const contents *c)
{
    sqlite3_str *json = sqlite3_str_new(sqlite3_context_db_handle(context));
    sqlite3_str_appendchar(json, 1, '{');
    append_counts(json, g, c);
    append_rates(json, g, c);
    append_options(json, g, c);
    sqlite3_str_appendchar(json, 1, '}');
    int length;
    char *text = cuckoo_finish_text(context, json, &length);
    if (text)
        sqlite3_result_text(context, text, length, sqlite3_free);
}

static void info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const cf_filter *filter = cuckoo_filter_argument(context, argv[0]);
    if (filter == NULL)
        return;
    cf_census census = cf_take_census(filter);
    contents c = {filter->items, filter->occupied, census.sticky / filter->geometry.cap, filter->length};
    result_json(context, &filter->geometry, &c);
}

static void plan_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cf_geometry shape;
    if (!cuckoo_plan_arguments(context, argc, argv, &shape))
        return;
    contents c = {.bytes = cf_geometry_bytes(&shape)};
    result_json(context, &shape, &c);
}

/* A blob that is no filter is an answer here; NULL and text are errors, as everywhere. */
static void check_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *why = "ok";
    const cf_filter *filter;
    (void)argc;
    cf_status status = cuckoo_filter_read(argv[0], cuckoo_function_reader(context), &filter, &why);
    if (status == CF_BAD_ARGUMENT) {
        cuckoo_fail_filter(context, status, why);
    } else if (status == CF_OK && filter == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        if (filter)
            cf_check(filter, &why);
        sqlite3_result_text(context, why, -1, SQLITE_STATIC);
    }
}

int cuckoo_register_info(sqlite3 *db, bool on)
{
    static const cuckoo_function functions[] = {
        {"cf_info", 1, info_function, NULL, NULL}, {"cf_check", 1, check_function, NULL, NULL},
        {"cf_plan", 1, plan_function, NULL, NULL}, {"cf_plan", 2, plan_function, NULL, NULL},
        {"cf_plan", 3, plan_function, NULL, NULL},
    };
    return cuckoo_register(db, functions, sizeof functions / sizeof functions[0], on);
}
