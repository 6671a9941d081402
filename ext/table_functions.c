/*
** table_functions.c - functions that take the name of a persistent filter: 'seen' or 'main.seen'.
**
** They read the database by name, so they are not deterministic; nor innocuous, for a view or trigger of a hostile schema
** could ask other databases with them.
*/
#include "../src/format.h"
#include "block.h"
#include "errors.h"
#include "functions.h"
#include "key.h"
#include "registry.h"
#include "upkeep.h"

#include <string.h>

static cuckoo_registry *registry_of(sqlite3_context *context)
{
    return sqlite3_user_data(context);
}

static void fail(sqlite3_context *context, const char *function, int rc, const char *why)
{
    char *message = rc == SQLITE_NOMEM ? NULL : sqlite3_mprintf("%s: %s", function, why);
    if (message == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    sqlite3_result_error(context, message, -1);
    sqlite3_result_error_code(context, rc);
    sqlite3_free(message);
}

/* Opens a read transaction on the database of the table, when none is open, for what SQLite knows of other connections'
** commits it knows inside of one only. This may bring a new schema, and with it the end of any table: look it up again. */
static int hold(cuckoo_registry *registry, const cuckoo_store *store)
{
    if (cuckoo_shadow_transaction(&store->paged.shadow) != CUCKOO_NONE)
        return SQLITE_OK;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_master", store->paged.shadow.schema);
    int rc = sql ? sqlite3_prepare_v2(registry->db, sql, -1, &registry->hold, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc != SQLITE_OK || sqlite3_step(registry->hold) == SQLITE_ROW)
        return rc;
    rc = sqlite3_finalize(registry->hold);
    registry->hold = NULL;
    return rc;
}

static void release(cuckoo_registry *registry)
{
    if (registry->hold)
        sqlite3_finalize(registry->hold);
    registry->hold = NULL;
}

/* The table that a value names; NULL: there is none, or *rc says why. */
static cuckoo_store *find(cuckoo_registry *registry, sqlite3_value *value, int *rc)
{
    const char *text =
        sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
    if (text == NULL || strlen(text) != (size_t)sqlite3_value_bytes(value))
        return NULL;
    return cuckoo_registry_find(registry, text, rc);
}

/* The table of this name, in a read transaction; that of id `known` may be it already. NULL: there is none, or *rc says
** why. */
static cuckoo_store *find_held(cuckoo_registry *registry, sqlite3_value *value, uintptr_t known, int *rc)
{
    *rc = SQLITE_OK;
    cuckoo_store *store = cuckoo_registry_of_id(registry, known);
    if (store == NULL)
        store = find(registry, value, rc);
    if (store == NULL)
        return NULL;
    uintptr_t id = store->id;
    *rc = hold(registry, store);
    if (*rc != SQLITE_OK)
        return NULL;
    store = cuckoo_registry_of_id(registry, id);
    return store ? store : find(registry, value, rc);
}

/* The same, begun (pages.h); to be ended with `finish`. Not SQLITE_OK: *why (static text), and it has ended. */
static int use(cuckoo_registry *registry, sqlite3_value *value, uintptr_t known, cuckoo_use kind,
               cuckoo_store **store, const char **why)
{
    int rc;
    *store = find_held(registry, value, known, &rc);
    if (*store) {
        rc = cuckoo_store_begin(*store, kind, why);
        if (rc != SQLITE_OK && rc != SQLITE_CORRUPT_VTAB && rc != SQLITE_ERROR && rc != SQLITE_IOERR)
            *why = sqlite3_errstr(rc);
    } else if (rc == SQLITE_OK) {
        rc = SQLITE_ERROR;
        *why = sqlite3_value_type(value) == SQLITE_TEXT
                   ? "there is no cuckoo_filter table of this name"
                   : "the first argument must be the name of a cuckoo_filter table";
    } else {
        *why = sqlite3_errstr(rc);
    }
    if (rc != SQLITE_OK)
        release(registry);
    return rc;
}

static int finish(cuckoo_registry *registry, cuckoo_store *store)
{
    int rc = cuckoo_store_end(store);
    release(registry);
    return rc;
}

/* The same for a function, which remembers the table while a statement runs. NULL: it has failed. */
static cuckoo_store *begin(sqlite3_context *context, const char *function, cuckoo_use kind,
                           sqlite3_value *name)
{
    const char *why;
    uintptr_t known = (uintptr_t)sqlite3_get_auxdata(context, 0);
    cuckoo_store *store;
    int rc = use(registry_of(context), name, known, kind, &store, &why);
    if (rc != SQLITE_OK) {
        fail(context, function, rc, why);
        return NULL;
    }
    if (known != store->id)
        sqlite3_set_auxdata(context, 0, (void *)store->id, NULL);
    return store;
}

int cuckoo_table_snapshot(cuckoo_registry *registry, sqlite3_value *name, cuckoo_handle **snapshot,
                          char **message)
{
    const char *why;
    cuckoo_store *store;
    int rc = use(registry, name, 0, CUCKOO_ASK, &store, &why);
    if (rc == SQLITE_OK) {
        cuckoo_paged *paged = &store->paged;
        paged->hooks.need(paged, 0, paged->filter.length);
        cf_seal(&paged->filter);
        *snapshot = cuckoo_handle_keep(name, &paged->filter);
        why = "a page of the table cannot be read";
        rc = finish(registry, store);
        if (rc == SQLITE_OK)
            return *snapshot ? SQLITE_OK : SQLITE_NOMEM;
        cuckoo_handle_release(*snapshot);
        *snapshot = NULL;
    }
    *message = sqlite3_mprintf("%s", why);
    return *message ? rc : SQLITE_NOMEM;
}

static void end(sqlite3_context *context, const char *function, cuckoo_store *store)
{
    int rc = finish(registry_of(context), store);
    if (rc != SQLITE_OK)
        fail(context, function, rc, "a page of the table cannot be read");
}

static void contains_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char name[] = "cf_table_contains";
    uint64_t hash;
    bool has = false;
    (void)argc;
    cuckoo_store *store = begin(context, name, CUCKOO_ASK, argv[0]);
    if (store == NULL)
        return;
    cuckoo_key kind = cuckoo_key_hash(argv[1], &store->paged.filter.geometry, &hash);
    int rc = SQLITE_OK;
    if (kind == CUCKOO_KEY_OK) {
        has = cuckoo_key_found(cuckoo_paged_reader(&store->paged), argv[1], hash);
        rc = has ? SQLITE_OK : cuckoo_waiting_has(&store->paged, hash, &has);
    }
    if (kind == CUCKOO_KEY_OK)
        sqlite3_result_int(context, has);
    else if (kind == CUCKOO_KEY_NOMEM)
        sqlite3_result_error_nomem(context);
    if (rc != SQLITE_OK)
        fail(context, name, rc, "its list of waiting keys cannot be read");
    end(context, name, store);
}

static void info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char name[] = "cf_table_info";
    (void)argc;
    cuckoo_store *store = begin(context, name, CUCKOO_ASK, argv[0]);
    if (store == NULL)
        return;
    cuckoo_result_info(context, &store->paged.filter);
    end(context, name, store);
}

static void fail_with(sqlite3_context *context, const char *function, int rc, char *message)
{
    fail(context, function, rc, message ? message : sqlite3_errstr(rc));
    sqlite3_free(message);
}

/* The whole filter as a blob. */
static void export_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char name[] = "cf_export";
    cf_filter copy;
    char *message = NULL;
    (void)argc;
    cuckoo_store *store = begin(context, name, CUCKOO_ASK, argv[0]);
    if (store == NULL)
        return;
    int most = sqlite3_limit(store->paged.shadow.db, SQLITE_LIMIT_LENGTH, -1);
    if (store->paged.filter.length > (uint64_t)most) {
        finish(registry_of(context), store);
        fail(context, name, SQLITE_TOOBIG,
             "the filter is longer than this connection allows (SQLITE_LIMIT_LENGTH)");
        return;
    }
    int rc = cuckoo_upkeep_export(store, &copy, &message);
    if (rc == SQLITE_OK) {
        sqlite3_result_blob64(context, copy.bytes, copy.length, SQLITE_TRANSIENT);
        cuckoo_block_plain(copy.view.writable - CF_HEADER_BYTES, 0);
    } else {
        fail_with(context, name, rc, message);
    }
    end(context, name, store);
}

/* As the command 'rebuild', but no trigger can run it. */
static void rebuild_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char name[] = "cf_table_rebuild";
    (void)argc;
    sqlite3 *db = sqlite3_context_db_handle(context);
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    int rc = SQLITE_OK;
    cuckoo_store *store = text ? cuckoo_registry_find(registry_of(context), text, &rc) : NULL;
    if (store == NULL) {
        fail(context, name, rc == SQLITE_OK ? SQLITE_ERROR : rc,
             rc == SQLITE_OK ? "there is no cuckoo_filter table of this name" : sqlite3_errstr(rc));
        return;
    }
    /* Through the table, so that it takes part in the transaction. */
    char *sql = sqlite3_mprintf("INSERT INTO \"%w\".\"%w\"(\"%w\") VALUES('rebuild')",
                                store->paged.shadow.schema, store->paged.shadow.table,
                                store->paged.shadow.table);
    registry_of(context)->rebuilds = true;
    rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    registry_of(context)->rebuilds = false;
    sqlite3_free(sql);
    if (rc != SQLITE_OK)
        fail(context, name, rc, sqlite3_errmsg(db));
}

int cuckoo_register_table_functions(sqlite3 *db, cuckoo_registry *registry)
{
    static const struct {
        const char *name;
        int arguments, flags;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"cf_table_contains", 2, 0, contains_function},
                     {"cf_table_info", 1, 0, info_function},
                     {"cf_table_rebuild", 1, SQLITE_DIRECTONLY, rebuild_function},
                     {"cf_export", 1, 0, export_function}};
    int first = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (registry)
            registry->references++;
        int rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                            SQLITE_UTF8 | functions[i].flags, registry,
                                            registry ? functions[i].function : NULL, NULL, NULL,
                                            registry ? cuckoo_registry_release : NULL);
        first = first == SQLITE_OK ? rc : first;
    }
    return first;
}
