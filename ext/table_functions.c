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

/* The table of this name, in use until cuckoo_paged_end; `known` may be it already. Not SQLITE_OK: *why (static text). */
static int use(cuckoo_registry *registry, sqlite3_value *name, cuckoo_table *known, cuckoo_table **table,
               const char **why)
{
    int rc = SQLITE_OK;
    const char *text = (const char *)sqlite3_value_text(name);
    *table = cuckoo_table_is_connected(registry, known) ? known : NULL;
    *why = "the first argument must be the name of a cuckoo_filter table";
    if (sqlite3_value_type(name) != SQLITE_TEXT || text == NULL)
        return SQLITE_ERROR;
    if (*table == NULL)
        *table = cuckoo_table_find(registry, text, &rc);
    *why = "there is no cuckoo_filter table of this name";
    if (*table == NULL)
        return rc == SQLITE_OK ? SQLITE_ERROR : rc;
    rc = cuckoo_paged_begin(&(*table)->paged, why);
    if (rc != SQLITE_OK && rc != SQLITE_CORRUPT_VTAB)
        *why = sqlite3_errstr(rc);
    return rc;
}

/* The same for a function, which remembers the table while a statement runs. NULL: it has failed. */
static cuckoo_table *begin(sqlite3_context *context, const char *function, sqlite3_value *name)
{
    const char *why;
    cuckoo_table *known = sqlite3_get_auxdata(context, 0), *table;
    int rc = use(registry_of(context), name, known, &table, &why);
    if (rc != SQLITE_OK) {
        fail(context, function, rc, why);
        return NULL;
    }
    if (known != table)
        sqlite3_set_auxdata(context, 0, table, NULL);
    return table;
}

int cuckoo_table_snapshot(cuckoo_registry *registry, sqlite3_value *name, cuckoo_handle **snapshot,
                          char **message)
{
    const char *why;
    cuckoo_table *table;
    int rc = use(registry, name, NULL, &table, &why);
    if (rc == SQLITE_OK) {
        cuckoo_paged *paged = &table->paged;
        paged->hooks.need(paged, 0, paged->filter.length);
        *snapshot = cuckoo_handle_keep(name, &paged->filter);
        why = "a page of the table cannot be read";
        rc = cuckoo_paged_end(paged);
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
    int rc = cuckoo_paged_end(&table->paged);
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
    cuckoo_key kind = cuckoo_key_hash(argv[1], table->paged.filter.geometry.seed, &hash);
    if (kind == CUCKOO_KEY_OK)
        sqlite3_result_int(context, cf_contains(&table->paged.filter, hash));
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
        cuckoo_paged_end(paged);
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
                                            NULL, cuckoo_registry_release);
        first = first == SQLITE_OK ? rc : first;
    }
    return first;
}
