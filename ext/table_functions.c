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
    char *message = sqlite3_mprintf("%s: %s", function, why);
    if (message && rc != SQLITE_NOMEM)
        sqlite3_result_error(context, message, -1);
    else
        sqlite3_result_error_nomem(context);
    if (message && rc != SQLITE_NOMEM)
        sqlite3_result_error_code(context, rc);
    sqlite3_free(message);
}

/* The table that the first argument names, in use until cuckoo_paged_end. NULL: the function has failed. */
static cuckoo_table *begin(sqlite3_context *context, const char *function, sqlite3_value *name)
{
    const char *text = (const char *)sqlite3_value_text(name), *why = "cannot be read";
    int rc = SQLITE_OK;
    if (sqlite3_value_type(name) != SQLITE_TEXT || text == NULL) {
        fail(context, function, SQLITE_ERROR,
             "the first argument must be the name of a cuckoo_filter table");
        return NULL;
    }
    cuckoo_table *table = sqlite3_get_auxdata(context, 0);
    if (!cuckoo_table_is_connected(registry_of(context), table)) {
        table = cuckoo_table_find(registry_of(context), text, &rc);
        if (table)
            sqlite3_set_auxdata(context, 0, table, NULL);
    }
    if (table == NULL) {
        fail(context, function, rc == SQLITE_OK ? SQLITE_ERROR : rc,
             "there is no cuckoo_filter table of this name");
        return NULL;
    }
    rc = cuckoo_paged_begin(&table->paged, &why);
    if (rc == SQLITE_OK)
        return table;
    fail(context, function, rc, rc == SQLITE_CORRUPT_VTAB ? why : sqlite3_errstr(rc));
    return NULL;
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
