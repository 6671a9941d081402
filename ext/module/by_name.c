/* SPDX-License-Identifier: MIT */
/*
** by_name.c - functions that take the name of a filter table: 'seen' or 'main.seen'.
**
** They read the database by name, so they are not deterministic. Functions that return an answer, a
** figure or a picture are innocuous, because shells since SQLite 3.44 trust no schema. Functions that
** return the whole filter are not: a trigger of a hostile schema could copy another filter.
*/
#include "../functions/filters.h"
#include "../keys/key.h"
#include "../pages/ageing.h"
#include "../sqlite/errors.h"
#include "../sqlite/sql.h"
#include "../table/maintenance.h"
#include "module.h"

#include "../../src/base/bits.h"

/* The filter table of this name; NULL: there is none, or *rc is an error. */
static cuckoo_table *table_named(cuckoo_registry *registry, sqlite3_value *name, int *rc)
{
    bool is_text = sqlite3_value_type(name) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(name) : NULL;
    *rc = SQLITE_OK;
    return text ? cuckoo_registry_find(registry, text, rc) : NULL;
}

/* Computes the result with the table that the first argument names. */
static void with_table(sqlite3_context *context, sqlite3_value **argv, cuckoo_work work)
{
    char *why;
    int rc = cuckoo_registry_with(cuckoo_function_shared(context), argv[0], work, context, &why);
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, rc, why);
    sqlite3_free(why);
}

/* ---- lookups: a function keeps its table in use while a SELECT runs ---- */

typedef struct kept_use {
    cuckoo_table *table; /* NULL: not in use */
    cuckoo_known known;
    cuckoo_calm calm;
} kept_use;

static void end_use(kept_use *kept)
{
    if (kept->table) {
        cuckoo_table_end(kept->table);
        cuckoo_registry_let_go(kept->table);
    }
    kept->table = NULL;
}

static void free_use(void *kept)
{
    end_use(kept);
    sqlite3_free(kept);
}

static CF_ALWAYS_INLINE void result_contains(sqlite3_context *context, cuckoo_table *table,
                                             sqlite3_value **argv)
{
    bool has;
    uint64_t hash;
    int rc = cuckoo_table_has_value(table, argv[1], &hash, &has);
    if (has || sqlite3_value_type(argv[1]) != SQLITE_NULL)
        sqlite3_result_int(context, has);
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, rc, cuckoo_table_damage(table, rc));
}

/* Reads the window of a lookup. False: the function has failed. */
static bool read_window(sqlite3_context *context, const cuckoo_table *table, sqlite3_value *value,
                        uint64_t *window)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(value) : NULL;
    if (table->paged.age.keep == 0)
        return cuckoo_fail(context,
                           "the table was created without keep=, so its keys have no times; leave the "
                           "third argument out");
    if (text == NULL || !cuckoo_duration_read(text, (size_t)sqlite3_value_bytes(value), window))
        return cuckoo_fail(context, "the third argument " CUCKOO_BAD_DURATION ", got %s",
                           cuckoo_show(value).text);
    double keep = (double)table->paged.age.keep / 1000, hour = 3600;
    return *window <= table->paged.age.keep ||
           cuckoo_fail(context, "the third argument must be at most %g %s (keep=), got %s",
                       keep > hour ? keep / hour : keep, keep > hour ? "hours" : "seconds",
                       cuckoo_show(value).text);
}

static void result_contains_within(sqlite3_context *context, cuckoo_table *table, sqlite3_value **argv)
{
    uint64_t window;
    if (!read_window(context, table, argv[2], &window))
        return;
    cuckoo_ageing_set_window(&table->paged, window);
    result_contains(context, table, argv);
    cuckoo_ageing_read_clock(&table->paged, table->net.more);
}

static CF_ALWAYS_INLINE void look_within(sqlite3_context *context, cuckoo_table *table, int argc,
                                         sqlite3_value **argv)
{
    if (argc > 2)
        result_contains_within(context, table, argv);
    else
        result_contains(context, table, argv);
    int rc = cuckoo_table_is_quiet(table) ? SQLITE_OK : cuckoo_table_end(table);
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, rc, cuckoo_table_damage(table, rc));
}

/* Keeps the use if no statement writes, and if it takes no lock that the statement does not have anyway.
** The known table is always kept. */
static void look_anew(sqlite3_context *context, kept_use *kept, int argc, sqlite3_value **argv)
{
    const char *why;
    cuckoo_registry *registry = cuckoo_function_shared(context);
    end_use(kept);
    int rc = cuckoo_registry_begin(registry, argv[0], &kept->known, CUCKOO_ASK, &kept->table, &why);
    if (rc == SQLITE_OK) {
        look_within(context, kept->table, argc, argv);
        cuckoo_table_calm(kept->table, &kept->calm);
    } else {
        int looked;
        bool swapped = rc == CUCKOO_NO_TABLE && table_named(registry, argv[1], &looked);
        cuckoo_fail_table(context, rc,
                          swapped ? "the arguments seem to be swapped: the name of the table comes first"
                                  : why);
    }
    if (rc != SQLITE_OK || !kept->calm.is || !cuckoo_shadow_is_within(&kept->table->paged.shadow))
        end_use(kept);
}

static void look_first(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    kept_use *kept = sqlite3_malloc64(sizeof *kept);
    if (kept == NULL) {
        cuckoo_fail_no_memory(context);
        return;
    }
    *kept = (kept_use){.table = NULL};
    look_anew(context, kept, argc, argv);
    sqlite3_set_auxdata(context, 0, kept, free_use); /* this may free it */
}

/* cf_table_contains('seen', key); cf_table_contains('seen', key, '1 hour'): only if so recent. */
static void contains_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    kept_use *kept = sqlite3_get_auxdata(context, 0);
    if (kept && kept->table && cuckoo_table_is_calm(kept->table, &kept->calm))
        look_within(context, kept->table, argc, argv);
    else if (kept)
        look_anew(context, kept, argc, argv);
    else
        look_first(context, argc, argv);
}

/* ---- cf_picture ---- */

static int result_table_picture(cuckoo_table *table, void *context, char **why)
{
    bool left;
    (void)why;
    int rc = cuckoo_maintenance_view(table, &left);
    if (rc == SQLITE_OK)
        cuckoo_result_picture(context, &table->paged.filter);
    return rc;
}

/* cf_picture of a filter, or of a filter table by its name. */
static void picture_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    bool by_name = sqlite3_value_type(argv[0]) == SQLITE_TEXT;
    const cf_filter *filter = by_name ? NULL : cuckoo_filter_argument(context, argc, argv, NULL);
    if (by_name)
        with_table(context, argv, result_table_picture);
    else if (filter)
        cuckoo_result_picture(context, filter);
}

/* ---- cf_table_check, cf_export, cf_table_rebuild ---- */

static int check_table(cuckoo_table *table, void *context, char **why)
{
    (void)context;
    return cuckoo_maintenance_check(table, why);
}

/* Like the command 'check', which is an INSERT; but a fault is the result, not an error. */
static void check_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    char *why;
    (void)argc;
    int rc = cuckoo_registry_with(cuckoo_function_shared(context), argv[0], check_table, NULL, &why);
    if (rc == SQLITE_OK || cuckoo_table_is_told(rc))
        sqlite3_result_text(context, rc == SQLITE_OK ? "ok" : why, -1, SQLITE_TRANSIENT);
    else
        cuckoo_fail_table(context, rc, why);
    sqlite3_free(why);
}

/* Returns the whole filter as a blob. */
static int result_export(cuckoo_table *table, void *context, char **why)
{
    const cf_filter *filter = &table->paged.filter;
    if (filter->length > cuckoo_length_limit(table->paged.shadow.db))
        return cuckoo_say(why, SQLITE_TOOBIG,
                          "the filter is longer than this connection allows (SQLITE_LIMIT_LENGTH)");
    int rc = cuckoo_maintenance_export(table, why);
    if (rc == SQLITE_OK)
        sqlite3_result_blob64(context, filter->bytes, filter->length, SQLITE_TRANSIENT);
    return rc;
}

static void export_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    with_table(context, argv, result_export);
}

static int do_nothing(cuckoo_table *table, void *context, char **why)
{
    (void)table, (void)context, (void)why;
    return SQLITE_OK;
}

/* Reports reasons that a rebuild does not remove: another trigger, disabled triggers. */
static void append_distrust(cuckoo_registry *registry, sqlite3_value *name, sqlite3_str *json)
{
    char *why;
    int rc = cuckoo_registry_with(registry, name, do_nothing, NULL, &why);
    char *still =
        cuckoo_table_is_told(rc) ? sqlite3_mprintf("still not trusted, because %s", why) : NULL;
    if (still) {
        sqlite3_str_appendall(json, ",\"trusted\":0");
        cuckoo_append_member(json, "why", still);
    }
    sqlite3_free(still);
    sqlite3_free(why);
}

/* Like the command 'rebuild', but no trigger can call it. Runs it, to join the transaction. */
static void rebuild_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    cuckoo_registry *registry = cuckoo_function_shared(context);
    int rc;
    uint64_t capacity;
    cuckoo_table *table = table_named(registry, argv[0], &rc);
    if (table == NULL) {
        const char *why =
            rc == SQLITE_OK ? cuckoo_registry_no_table(registry, argv[0]) : sqlite3_errstr(rc);
        cuckoo_fail_code(context, !why ? SQLITE_NOMEM : rc == SQLITE_OK ? SQLITE_ERROR : rc, "%s", why);
        return;
    }
    bool given = argc > 1 && sqlite3_value_type(argv[1]) != SQLITE_NULL;
    if (given && !cuckoo_capacity_read(context, argv[1], &capacity))
        return;
    const cuckoo_shadow *shadow = &table->paged.shadow;
    uint64_t since = cuckoo_sql_clock(registry->db, shadow->schema);
    cuckoo_list_keep(table); /* it must outlive the statement */
    registry->rebuilds = true;
    registry->capacity = given ? &capacity : NULL;
    rc = cuckoo_sql_run(registry->db, "INSERT INTO \"%w\".\"%w\"(\"%w\") VALUES('rebuild')",
                        shadow->schema, shadow->table, shadow->table);
    registry->rebuilds = false;
    if (rc != SQLITE_OK) {
        int code = sqlite3_extended_errcode(registry->db);
        cuckoo_fail_code(context, rc == SQLITE_NOMEM || code == SQLITE_OK ? rc : code, "%s",
                         cuckoo_sql_message(registry->db, rc));
    } else {
        sqlite3_str *json = sqlite3_str_new(registry->db);
        uint64_t now = cuckoo_sql_clock(registry->db, shadow->schema);
        sqlite3_str_appendf(json, "{\"keys\":%llu,\"seconds\":%.3f,\"bytes\":%llu",
                            table->paged.filter.items + table->paged.left,
                            ((double)now - (double)since) / 1000, table->paged.filter.length);
        append_distrust(registry, argv[0], json);
        cuckoo_result_built(context, json, "}");
    }
    cuckoo_list_give(table);
}

const cuckoo_function *const cuckoo_table_functions = (const cuckoo_function[]){
    {"cf_table_contains", 2, 3, .function = contains_function, .harmless = true},
    {"cf_table_info", 1, 2, .function = cuckoo_table_info_function, .harmless = true},
    {"cf_table_check", 1, 1, .function = check_function, .harmless = true},
    {"cf_table_rebuild", 1, 2, .function = rebuild_function, .direct = true},
    {"cf_export", 1, 1, .function = export_function},
    {"cf_picture", 1, 1, .function = picture_function, .harmless = true},
    {"cf_drain", 1, 1, .function = cuckoo_drain_function, .direct = true},
    {.name = NULL},
};
