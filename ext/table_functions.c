/*
** table_functions.c - functions that take the name of a persistent filter: 'seen' or 'main.seen'.
**
** They read the database by name, so they are not deterministic; nor innocuous, for a view or trigger of a hostile schema
** could ask other databases with them.
*/
#include "errors.h"
#include "filter_table.h"
#include "functions.h"
#include "key.h"

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
static int hold(cuckoo_registry *registry, const cuckoo_table *table)
{
    if (cuckoo_shadow_transaction(&table->paged.shadow) != CUCKOO_NONE)
        return SQLITE_OK;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_master", table->paged.shadow.schema);
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
static cuckoo_table *find(cuckoo_registry *registry, sqlite3_value *value, int *rc)
{
    const char *text =
        sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
    if (text == NULL || strlen(text) != (size_t)sqlite3_value_bytes(value))
        return NULL;
    return cuckoo_table_find(registry, text, rc);
}

/* The table of this name, in a read transaction; that of id `known` may be it already. NULL: there is none, or *rc says
** why. */
static cuckoo_table *find_held(cuckoo_registry *registry, sqlite3_value *value, uintptr_t known, int *rc)
{
    *rc = SQLITE_OK;
    cuckoo_table *table = cuckoo_table_of_id(registry, known);
    if (table == NULL)
        table = find(registry, value, rc);
    if (table == NULL)
        return NULL;
    uintptr_t id = table->id;
    *rc = hold(registry, table);
    if (*rc != SQLITE_OK)
        return NULL;
    table = cuckoo_table_of_id(registry, id);
    return table ? table : find(registry, value, rc);
}

/* The same, begun (pages.h); to be ended with `finish`. Not SQLITE_OK: *why (static text), and it has ended. */
static int use(cuckoo_registry *registry, sqlite3_value *value, uintptr_t known, cuckoo_table **table,
               const char **why)
{
    int rc;
    *table = find_held(registry, value, known, &rc);
    if (*table) {
        rc = cuckoo_paged_begin(&(*table)->paged, why);
        if (rc != SQLITE_OK && rc != SQLITE_CORRUPT_VTAB)
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

static int finish(cuckoo_registry *registry, cuckoo_table *table)
{
    int rc = cuckoo_paged_end(&table->paged);
    release(registry);
    return rc;
}

/* The same for a function, which remembers the table while a statement runs. NULL: it has failed. */
static cuckoo_table *begin(sqlite3_context *context, const char *function, sqlite3_value *name)
{
    const char *why;
    uintptr_t known = (uintptr_t)sqlite3_get_auxdata(context, 0);
    cuckoo_table *table;
    int rc = use(registry_of(context), name, known, &table, &why);
    if (rc != SQLITE_OK) {
        fail(context, function, rc, why);
        return NULL;
    }
    if (known != table->id)
        sqlite3_set_auxdata(context, 0, (void *)table->id, NULL);
    return table;
}

int cuckoo_table_snapshot(cuckoo_registry *registry, sqlite3_value *name, cuckoo_handle **snapshot,
                          char **message)
{
    const char *why;
    cuckoo_table *table;
    int rc = use(registry, name, 0, &table, &why);
    if (rc == SQLITE_OK) {
        cuckoo_paged *paged = &table->paged;
        paged->hooks.need(paged, 0, paged->filter.length);
        *snapshot = cuckoo_handle_keep(name, &paged->filter);
        why = "a page of the table cannot be read";
        rc = finish(registry, table);
        if (rc == SQLITE_OK)
            return *snapshot ? SQLITE_OK : SQLITE_NOMEM;
        cuckoo_handle_release(*snapshot);
        *snapshot = NULL;
    }
    *message = sqlite3_mprintf("%s", why);
    return *message ? rc : SQLITE_NOMEM;
}

static void end(sqlite3_context *context, const char *function, cuckoo_table *table)
{
    int rc = finish(registry_of(context), table);
    if (rc != SQLITE_OK)
        fail(context, function, rc, "a page of the table cannot be read");
}

static void contains_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char name[] = "cf_table_contains";
    uint64_t hash;
    (void)argc;
    cuckoo_table *table = begin(context, name, argv[0]);
    if (table == NULL)
        return;
    cuckoo_key kind = cuckoo_key_hash(argv[1], &table->paged.filter.geometry, &hash);
    if (kind == CUCKOO_KEY_OK)
        sqlite3_result_int(context, cuckoo_key_found(cuckoo_paged_reader(&table->paged), argv[1], hash));
    else if (kind == CUCKOO_KEY_NOMEM)
        sqlite3_result_error_nomem(context);
    end(context, name, table);
}

static void info_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char name[] = "cf_table_info";
    (void)argc;
    cuckoo_table *table = begin(context, name, argv[0]);
    if (table == NULL)
        return;
    cuckoo_result_info(context, &table->paged.filter);
    end(context, name, table);
}

/* The whole filter as a blob. */
static void export_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char name[] = "cf_export";
    (void)argc;
    cuckoo_table *table = begin(context, name, argv[0]);
    if (table == NULL)
        return;
    cuckoo_paged *paged = &table->paged;
    uint64_t length = paged->filter.length;
    int most = sqlite3_limit(paged->shadow.db, SQLITE_LIMIT_LENGTH, -1);
    if (length > (uint64_t)most) {
        finish(registry_of(context), table);
        fail(context, name, SQLITE_TOOBIG,
             "the filter is longer than this connection allows (SQLITE_LIMIT_LENGTH)");
        return;
    }
    paged->hooks.need(paged, 0, length);
    sqlite3_result_blob64(context, paged->image, length, SQLITE_TRANSIENT);
    end(context, name, table);
}

int cuckoo_register_table_functions(sqlite3 *db, cuckoo_registry *registry)
{
    static const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"cf_table_contains", 2, contains_function},
                     {"cf_table_info", 1, info_function},
                     {"cf_export", 1, export_function}};
    int first = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (registry)
            registry->references++;
        int rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments, SQLITE_UTF8,
                                            registry, registry ? functions[i].function : NULL, NULL,
                                            NULL, registry ? cuckoo_registry_release : NULL);
        first = first == SQLITE_OK ? rc : first;
    }
    return first;
}
