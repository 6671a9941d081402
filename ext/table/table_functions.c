/* SPDX-License-Identifier: MIT */
/*
** table_functions.c - functions that take the name of a filter table: 'seen' or 'main.seen'.
**
** They read the database by name, so they are not deterministic. Nor are they innocuous: a view or
** a trigger of a hostile schema could ask other databases with them.
*/
#include "../functions/filters.h"
#include "../functions/info.h"
#include "../keys/duration.h"
#include "../keys/key.h"
#include "../pages/ageing.h"
#include "../sqlite/block.h"
#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/sql.h"
#include "../store/maintenance.h"
#include "table.h"

#include "../../src/shape/format.h"

static cuckoo_registry *registry_of(sqlite3_context *context)
{
    return cuckoo_function_shared(context);
}

/* Begins a use of the table that `name` names. The function remembers the table while a statement
** runs. NULL: the function has failed. */
static cuckoo_store *begin(sqlite3_context *context, sqlite3_value *name)
{
    const char *why;
    uintptr_t known = (uintptr_t)sqlite3_get_auxdata(context, 0);
    cuckoo_store *store;
    int rc = cuckoo_registry_begin(registry_of(context), name, known, CUCKOO_ASK, &store, &why);
    if (rc != SQLITE_OK) {
        cuckoo_fail_table(context, rc, why);
        return NULL;
    }
    if (known != store->id)
        sqlite3_set_auxdata(context, 0, (void *)store->id, NULL);
    return store;
}

/* What a function does while its table is in use. */
typedef void (*table_use)(sqlite3_context *context, cuckoo_store *store, sqlite3_value **argv);

static inline void with_table(sqlite3_context *context, sqlite3_value **argv, table_use use)
{
    cuckoo_store *store = begin(context, argv[0]);
    if (store == NULL)
        return;
    use(context, store, argv);
    int rc = cuckoo_registry_end(registry_of(context), store);
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, rc, cuckoo_store_damage(store));
}

static void result_contains(sqlite3_context *context, cuckoo_store *store, sqlite3_value **argv)
{
    sqlite3_value *key = argv[1];
    uint64_t hash;
    bool has;
    if (cuckoo_key_argument(context, key, &store->paged.filter.geometry, &hash) != CUCKOO_KEY_OK)
        return;
    has = cuckoo_key_found(cuckoo_paged_reader(&store->paged), key, hash);
    int rc = has ? SQLITE_OK : cuckoo_store_has_beside(store, hash, &has);
    sqlite3_result_int(context, has);
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, rc, cuckoo_store_damage(store));
}

static void table_contains_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    with_table(context, argv, result_contains);
}

/* The window that a table is asked for. False: the function has failed. */
static bool read_window(sqlite3_context *context, const cuckoo_store *store, sqlite3_value *value,
                        uint64_t *window)
{
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(value) : NULL;
    if (store->paged.age.keep == 0)
        return cuckoo_fail(context, CF_BAD_ARGUMENT,
                           "the table was created without keep=, and knows no times");
    if (text == NULL || !cuckoo_duration_read(text, (size_t)sqlite3_value_bytes(value), window))
        return cuckoo_fail(context, CF_BAD_ARGUMENT, "the third argument " CUCKOO_BAD_DURATION);
    return *window <= store->paged.age.keep ||
           cuckoo_fail(
               context, CF_BAD_ARGUMENT,
               "the third argument must not be longer than the time for which the table keeps keys");
}

static void result_contains_within(sqlite3_context *context, cuckoo_store *store, sqlite3_value **argv)
{
    uint64_t window;
    if (!read_window(context, store, argv[2], &window))
        return;
    cuckoo_ageing_narrow(&store->paged, window);
    result_contains(context, store, argv);
    cuckoo_ageing_look(&store->paged);
}

/* cf_table_contains('seen', key, '1 hour'): was the key added so lately? */
static void table_contains_within_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    with_table(context, argv, result_contains_within);
}

/* What is known of a filter that follows a table. */
static char *members_of_log(cuckoo_store *store)
{
    return sqlite3_mprintf(",\"undrained\":%llu,\"unmatched\":%llu,\"doubts\":%llu",
                           store->undrained.rows, store->paged.unmatched, store->paged.doubts);
}

static void result_info(sqlite3_context *context, cuckoo_store *store, sqlite3_value **argv)
{
    (void)argv;
    bool follows = cuckoo_store_follows(store);
    int rc = follows ? cuckoo_undrained_read(&store->undrained, &store->paged) : SQLITE_OK;
    bool ages = store->paged.filter.geometry.epochs != 0, tells = rc == SQLITE_OK && (follows || ages);
    char *more = !tells ? NULL : follows ? members_of_log(store) : cuckoo_ageing_members(&store->paged);
    if (tells && more == NULL)
        rc = SQLITE_NOMEM;
    if (rc != SQLITE_OK)
        cuckoo_fail_table(context, rc, cuckoo_store_damage(store));
    else
        cuckoo_result_info(context, &store->paged.filter, more);
    sqlite3_free(more);
}

static void table_info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    with_table(context, argv, result_info);
}

static void result_checked(sqlite3_context *context, int rc, const char *why)
{
    if (rc == SQLITE_OK)
        sqlite3_result_text(context, "ok", -1, SQLITE_STATIC);
    else if (rc == SQLITE_CORRUPT_VTAB || rc == CUCKOO_NEWER || rc == SQLITE_ERROR)
        sqlite3_result_text(context, why, -1, SQLITE_TRANSIENT);
    else
        cuckoo_fail_table(context, rc, why);
}

/* Like the command 'check', which is an INSERT. What is wrong is the answer. */
static void check_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const char *why;
    char *message = NULL;
    cuckoo_store *store;
    cuckoo_registry *registry = registry_of(context);
    (void)argc;
    int rc = cuckoo_registry_begin(registry, argv[0], 0, CUCKOO_ASK, &store, &why);
    if (store == NULL) {
        cuckoo_fail_table(context, rc, why);
        return;
    }
    if (rc == SQLITE_OK) {
        int checked = cuckoo_maintenance_check(store, &message);
        rc = cuckoo_registry_end(registry, store);
        why = checked == SQLITE_OK || rc != SQLITE_OK ? cuckoo_store_damage(store)
              : message                               ? message
                                                      : sqlite3_errstr(checked);
        rc = rc != SQLITE_OK ? rc : checked;
    }
    result_checked(context, rc, why);
    sqlite3_free(message);
}

/* The whole filter as a blob. */
static void result_export(sqlite3_context *context, cuckoo_store *store, sqlite3_value **argv)
{
    cf_filter copy;
    char *message = NULL;
    (void)argv;
    if (store->paged.filter.length > cuckoo_length_limit(store->paged.shadow.db)) {
        cuckoo_fail_code(context, SQLITE_TOOBIG,
                         "the filter is longer than this connection allows (SQLITE_LIMIT_LENGTH)");
        return;
    }
    int rc = cuckoo_maintenance_export(store, &copy, &message);
    if (rc == SQLITE_OK) {
        sqlite3_result_blob64(context, copy.bytes, copy.length, SQLITE_TRANSIENT);
        cuckoo_block_resize(NULL, copy.view.writable - CF_HEADER_BYTES, 0);
    } else {
        cuckoo_fail_table(context, rc, message ? message : cuckoo_store_damage(store));
    }
    sqlite3_free(message);
}

static void export_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    with_table(context, argv, result_export);
}

/* Like the command 'rebuild', but no trigger can call it. It
** runs that command, so that the table joins the transaction. */
static void rebuild_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    cuckoo_registry *registry = registry_of(context);
    int rc = SQLITE_OK;
    bool is_text = sqlite3_value_type(argv[0]) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(argv[0]) : NULL;
    cuckoo_store *store = text ? cuckoo_registry_find(registry, text, &rc) : NULL;
    if (store == NULL) {
        cuckoo_fail_code(context, rc == SQLITE_OK ? SQLITE_ERROR : rc,
                         rc == SQLITE_OK ? cuckoo_registry_no_table(registry, argv[0]) : NULL);
        return;
    }
    const cuckoo_shadow *shadow = &store->paged.shadow;
    registry->rebuilds = true;
    rc = cuckoo_sql_run(registry->db, "INSERT INTO \"%w\".\"%w\"(\"%w\") VALUES('rebuild')",
                        shadow->schema, shadow->table, shadow->table);
    registry->rebuilds = false;
    if (rc != SQLITE_OK)
        cuckoo_fail_code(context, sqlite3_extended_errcode(registry->db), sqlite3_errmsg(registry->db));
}

int cuckoo_register_table_functions(sqlite3 *db, cuckoo_registry *registry)
{
    static const cuckoo_function functions[] = {
        {"cf_table_contains", 2, 2, table_contains_function, NULL, NULL},
        {"cf_table_contains", 3, 3, table_contains_within_function, NULL, NULL},
        {"cf_table_info", 1, 1, table_info_function, NULL, NULL},
        {"cf_table_check", 1, 1, check_function, NULL, NULL},
        {"cf_table_rebuild", 1, 1, rebuild_function, NULL, NULL},
        {"cf_export", 1, 1, export_function, NULL, NULL},
        {.name = NULL},
    };
    int first = SQLITE_OK;
    if (registry == NULL)
        return cuckoo_register(db, functions, false);
    for (const cuckoo_function *f = functions; f->name; f++) {
        int flags = f->function == rebuild_function ? SQLITE_DIRECTONLY : 0;
        registry->references++;
        int rc = cuckoo_register_impure(db, f, flags, registry, cuckoo_registry_release);
        first = cuckoo_first_error(first, rc);
    }
    return first;
}
