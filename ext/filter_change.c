/*
** filter_change.c - INSERT, DELETE and UPDATE on the virtual table cuckoo_filter, and its commands.
*/
#include "errors.h"
#include "filter_table.h"
#include "key.h"

#include <string.h>

/* ---- errors, beginning and ending a use ---- */

/* Makes `message` (sqlite3_malloc; NULL when there was no memory) the error of the table. */
int cuckoo_table_fail(cuckoo_table *table, int code, char *message)
{
    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg = message;
    return message ? code : SQLITE_NOMEM;
}

int cuckoo_table_damaged(cuckoo_table *table, int rc, const char *why)
{
    if (rc != SQLITE_CORRUPT_VTAB)
        return rc;
    return cuckoo_table_fail(
        table, rc,
        sqlite3_mprintf("%s: the filter cannot be used: %s; restore the table, or drop it and "
                        "create it anew",
                        table->paged.shadow.table, why));
}

int cuckoo_table_begin(cuckoo_table *table)
{
    const char *why;
    int rc = cuckoo_paged_begin(&table->paged, &why);
    return rc == SQLITE_OK ? rc : cuckoo_table_damaged(table, rc, why);
}

int cuckoo_table_end(cuckoo_table *table)
{
    return cuckoo_table_damaged(table, cuckoo_paged_end(&table->paged), "a page cannot be read");
}

/* ---- keys ---- */

static int fail_add(cuckoo_table *table, cf_status status)
{
    const cf_filter *filter = &table->paged.filter;
    if (status == CF_NO_MEMORY)
        return SQLITE_NOMEM;
    return cuckoo_table_fail(
        table, cuckoo_error_code(status),
        sqlite3_mprintf("%s: the filter is full: planned for %lld keys, %lld slots in use; nothing has "
                        "changed; create a larger one, or one with growth=on",
                        table->paged.shadow.table, (sqlite3_int64)filter->geometry.capacity,
                        (sqlite3_int64)filter->occupied));
}

/* The value that goes with a key; `given` is NULL when the filter keeps none. */
static int read_value(cuckoo_table *table, sqlite3_value *given, uint64_t *value)
{
    unsigned bits = table->paged.filter.geometry.value_bits;
    *value = 0;
    if (given == NULL)
        return SQLITE_OK;
    sqlite3_int64 number = sqlite3_value_int64(given);
    if (bits == 0 || sqlite3_value_type(given) != SQLITE_INTEGER || number < 0 || number >> bits)
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            sqlite3_mprintf("%s: value must be a whole number below 2^%d (value_bits)",
                            table->paged.shadow.table, bits));
    *value = (uint64_t)number;
    return SQLITE_OK;
}

static int add_key(cuckoo_table *table, sqlite3_value *key, sqlite3_value *given, sqlite3_int64 *rowid)
{
    uint64_t hash, value;
    cf_filter *filter = &table->paged.filter;
    int rc = read_value(table, given, &value);
    cuckoo_key kind = cuckoo_key_hash(key, &filter->geometry, &hash);
    if (rc != SQLITE_OK || kind == CUCKOO_KEY_NOMEM)
        return rc != SQLITE_OK ? rc : SQLITE_NOMEM;
    if (kind == CUCKOO_KEY_NULL)
        return SQLITE_OK; /* never stored */
    cf_status status = cf_add_value(filter, hash, value);
    *rowid = (sqlite3_int64)hash;
    return status == CF_OK ? SQLITE_OK : fail_add(table, status);
}

static int change_rows(cuckoo_table *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    cf_filter *filter = &table->paged.filter;
    int rc = argc > 1 ? add_key(table, argv[2 + COLUMN_KEY],
                                table->values ? argv[2 + COLUMN_VALUE] : NULL, rowid)
                      : SQLITE_OK;
    if (rc == SQLITE_OK && sqlite3_value_type(argv[0]) != SQLITE_NULL) {
        uint64_t old = (uint64_t)sqlite3_value_int64(argv[0]), value = 0;
        if (!filter->geometry.value_bits || cf_get(filter, old, &value))
            cf_delete_value(filter, old, value);
    }
    return rc;
}

/* ---- another filter in its place ---- */

bool cuckoo_table_blank(const cuckoo_table *table, cf_filter *blank)
{
    cf_geometry shape = table->paged.filter.geometry;
    uint8_t *bytes = sqlite3_malloc64(cf_geometry_bytes(&shape));
    if (bytes == NULL)
        return false;
    cf_create(blank, &shape, bytes);
    blank->memory = (cf_memory){cuckoo_resize, INT64_MAX};
    return true;
}

int cuckoo_table_replace(cuckoo_table *table, cf_filter *filter, int rc)
{
    cf_seal(filter);
    if (rc == SQLITE_OK)
        rc = cuckoo_paged_replace(&table->paged, filter->bytes, filter->length);
    cuckoo_filter_free(filter);
    return rc;
}

/* ---- commands ---- */

static int command_check(cuckoo_table *table)
{
    const char *why;
    if (cf_check(&table->paged.filter, &why) == CF_OK)
        return SQLITE_OK;
    return cuckoo_table_fail(table, SQLITE_CORRUPT_VTAB,
                             sqlite3_mprintf("%s: damaged: %s", table->paged.shadow.table, why));
}

static int command_clear(cuckoo_table *table)
{
    cf_filter empty;
    return cuckoo_table_blank(table, &empty) ? cuckoo_table_replace(table, &empty, SQLITE_OK)
                                             : SQLITE_NOMEM;
}

/* Spilled entries to slots; and, when keys have gone, into fewer pages. */
static int command_optimize(cuckoo_table *table)
{
    cf_filter smaller;
    int rc;
    cf_settle(&table->paged.filter);
    if (!cuckoo_table_blank(table, &smaller))
        return SQLITE_NOMEM;
    cf_status status = cf_shrink(&smaller, &table->paged.filter);
    if (status == CF_OK && smaller.length < table->paged.filter.length)
        return cuckoo_table_replace(table, &smaller, SQLITE_OK);
    /* Not smaller, or not possible: it stays as it is. */
    rc = cuckoo_table_replace(table, &smaller, SQLITE_DONE);
    return status == CF_NO_MEMORY ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int command_import(cuckoo_table *table, sqlite3_value *blob)
{
    const char *why = "it is not a blob";
    cf_filter filter;
    const uint8_t *bytes = sqlite3_value_blob(blob);
    size_t length = (size_t)sqlite3_value_bytes(blob);
    bool is_blob = sqlite3_value_type(blob) == SQLITE_BLOB;
    if (!is_blob || cf_open(&filter, bytes, length, &why) != CF_OK || cf_check(&filter, &why) != CF_OK)
        return cuckoo_table_fail(table, SQLITE_ERROR,
                                 sqlite3_mprintf("%s: key is not a sound filter to import: %s",
                                                 table->paged.shadow.table, why));
    if ((filter.geometry.value_bits != 0) != table->values)
        return cuckoo_table_fail(
            table, SQLITE_ERROR,
            sqlite3_mprintf("%s: a filter with values goes only into a table with value_bits, one "
                            "without only into one without",
                            table->paged.shadow.table));
    return cuckoo_paged_replace(&table->paged, bytes, length);
}

static int fail_rebuild(cuckoo_table *table, int rc, char *why)
{
    char *message = why ? sqlite3_mprintf("%s: %s", table->paged.shadow.table, why) : NULL;
    sqlite3_free(why);
    return cuckoo_table_fail(table, rc, message);
}

static int run_command(cuckoo_table *table, sqlite3_value *command, sqlite3_value *argument)
{
    const char *name = (const char *)sqlite3_value_text(command);
    char *message = NULL;
    int rc;
    if (name == NULL)
        return SQLITE_NOMEM;
    if (strcmp(name, "check") == 0)
        return command_check(table);
    if (strcmp(name, "clear") == 0)
        return command_clear(table);
    if (strcmp(name, "import") == 0)
        return command_import(table, argument);
    if (strcmp(name, "optimize") == 0)
        return command_optimize(table);
    if (strcmp(name, "rebuild") == 0) {
        rc = cuckoo_content_rebuild(table, &message);
        return rc == SQLITE_OK ? rc : fail_rebuild(table, rc, message);
    }
    return cuckoo_table_fail(
        table, SQLITE_ERROR,
        sqlite3_mprintf("%s: unknown command %s; there are check, clear, import, optimize, rebuild",
                        table->paged.shadow.table, name));
}

/* ---- */

static int command_column(const cuckoo_table *table)
{
    return 1 + table->values;
}

int cuckoo_table_update(sqlite3_vtab *base, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    cuckoo_table *table = (cuckoo_table *)base;
    bool command = argc > 1 && sqlite3_value_type(argv[2 + command_column(table)]) != SQLITE_NULL;
    int rc = cuckoo_table_begin(table);
    if (rc != SQLITE_OK)
        return rc;
    rc = command ? run_command(table, argv[2 + command_column(table)], argv[2 + COLUMN_KEY])
                 : change_rows(table, argc, argv, rowid);
    if (rc != SQLITE_OK) {
        cuckoo_paged_forget(&table->paged);
        cuckoo_paged_end(&table->paged);
        return rc;
    }
    rc = cuckoo_paged_write(&table->paged);
    if (rc == SQLITE_OK)
        cuckoo_paged_count(&table->paged);
    return cuckoo_table_damaged(table, rc, "a page cannot be read");
}
