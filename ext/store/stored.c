/* SPDX-License-Identifier: MIT */
#include "stored.h"

#include "../sqlite/errors.h"
#include "../sqlite/register.h"
#include "../sqlite/sql.h"

#include <string.h>

/* ---- what is kept ---- */

static void drop(cuckoo_stored *row)
{
    cuckoo_handle_release(row->handle);
    cuckoo_shadow_free(&row->shadow);
    sqlite3_free(row->name);
    sqlite3_free(row->column);
    *row = (cuckoo_stored){.name = NULL};
}

void cuckoo_stored_connected(cuckoo_registry *registry, int more)
{
    registry->owners += more;
    for (int i = 0; registry->owners == 0 && i < CUCKOO_STORED; i++)
        drop(&registry->stored[i]);
}

/* Connections that share a cache may read what others roll back. */
static bool may_keep(cuckoo_registry *registry)
{
    sqlite3_int64 uncommitted = 1;
    sqlite3_stmt *owner;
    if (registry->owners == 0) {
        cuckoo_sql_prepare(registry->db, &owner, "SELECT 1 FROM cf_buckets");
        sqlite3_finalize(owner);
    }
    cuckoo_sql_integer(registry->db, &uncommitted, "PRAGMA read_uncommitted");
    return !uncommitted && registry->owners > 0;
}

/* The data version, within a read transaction. False: what is read cannot be known again by it, because
** this connection may have changed what is not committed yet. */
static bool is_settled(const cuckoo_shadow *shadow, unsigned *version)
{
    int state = cuckoo_late_txn_state(shadow->db, shadow->schema);
    return !cuckoo_shadow_in_transaction(shadow, true) &&
           (state != CUCKOO_TXN_UNKNOWN || cuckoo_sql_running(shadow->db, true) == 0) &&
           sqlite3_file_control(shadow->db, shadow->schema, SQLITE_FCNTL_DATA_VERSION, version) ==
               SQLITE_OK;
}

/* Is the row still what it was when it was read? */
static bool is_fresh(cuckoo_stored *row)
{
    int prepared;
    unsigned version;
    if (cuckoo_shadow_hold(&row->shadow, &prepared) != SQLITE_OK)
        return false;
    bool is = prepared == 0 && is_settled(&row->shadow, &version) && version == row->version;
    cuckoo_shadow_release(&row->shadow);
    return is;
}

/* The row, if it was opened before, and has not changed; else NULL. */
static cuckoo_stored *kept_row(cuckoo_registry *registry, const char *name, const char *column,
                               sqlite3_int64 rowid)
{
    for (int i = 0; i < CUCKOO_STORED; i++) {
        cuckoo_stored *row = &registry->stored[i];
        if (row->handle && row->rowid == rowid && strcmp(row->name, name) == 0 &&
            strcmp(row->column, column) == 0) {
            if (is_fresh(row))
                return row;
            drop(row);
        }
    }
    return NULL;
}

/* ---- cf_open(table, column, rowid) ---- */

/* A name without schema means a table of temp, or else of main. SQLite prepares every statement anew
** when temp has changed. */
static int locate(cuckoo_stored *row, sqlite3 *db)
{
    const char *name = row->name, *point = strchr(name, '.'), *schema = "main";
    char *given = sqlite3_mprintf("%.*s", point ? (int)(point - name) : 0, name);
    if (given == NULL)
        return SQLITE_NOMEM;
    if (point && sqlite3_db_readonly(db, given) >= 0) {
        schema = given;
        name = point + 1;
    } else if (sqlite3_table_column_metadata(db, "temp", name, NULL, NULL, NULL, NULL, NULL, NULL) ==
               SQLITE_OK) {
        schema = "temp";
    }
    int rc = cuckoo_shadow_init(&row->shadow, db, schema, name);
    sqlite3_free(given);
    return rc;
}

/* Rows of views and virtual tables may change unnoticed. The incremental blob API refuses these, and
** says so. But it does not ask the authorizer: so it reads nothing here. */
static int refuse_others(const cuckoo_stored *row)
{
    sqlite3_blob *blob;
    const cuckoo_shadow *shadow = &row->shadow;
    int rc =
        sqlite3_blob_open(shadow->db, shadow->schema, shadow->table, row->column, row->rowid, 0, &blob);
    if (rc == SQLITE_OK)
        sqlite3_blob_close(blob);
    return rc;
}

/* SQLITE_OK: row->handle is that of the value, or the running function has failed. */
static int take(sqlite3_context *context, cuckoo_stored *row, sqlite3_value *value)
{
    cuckoo_handle *handle = cuckoo_open_argument(context, 1, &value);
    int rc = handle ? refuse_others(row) : SQLITE_OK;
    if (rc == SQLITE_OK)
        row->handle = handle;
    else
        cuckoo_handle_release(handle);
    return rc;
}

/* Fails, unless row->handle is that of the row. */
static void read_row(sqlite3_context *context, cuckoo_stored *row)
{
    sqlite3_stmt *read;
    const cuckoo_shadow *shadow = &row->shadow;
    int rc = cuckoo_sql_prepare(
        shadow->db, &read,
        "SELECT t.\"%w\" FROM \"%w\".\"%w\" AS t WHERE t._rowid_ = %lld AND t.rowid = t._rowid_",
        row->column, shadow->schema, shadow->table, row->rowid);
    rc = rc ? rc : sqlite3_step(read);
    rc = rc == SQLITE_ROW    ? take(context, row, sqlite3_column_value(read, 0))
         : rc == SQLITE_DONE ? cuckoo_first_error(refuse_others(row), SQLITE_DONE)
                             : rc;
    if (rc == SQLITE_ERROR || rc == SQLITE_DONE)
        cuckoo_fail(context, CF_BAD_ARGUMENT,
                    "%s; what is no table with rowids takes (SELECT cf_open(f) FROM ...)",
                    rc == SQLITE_DONE ? "a column is named rowid" : sqlite3_errmsg(shadow->db));
    else if (rc != SQLITE_OK)
        cuckoo_fail_code(context, rc, rc == SQLITE_NOMEM ? NULL : sqlite3_errmsg(shadow->db));
    sqlite3_finalize(read);
}

static void open_anew(sqlite3_context *context, cuckoo_registry *registry, cuckoo_stored *row)
{
    bool keeps = false;
    int prepared, rc = row->name && row->column ? locate(row, registry->db) : SQLITE_NOMEM;
    rc = rc ? rc : cuckoo_shadow_hold(&row->shadow, &prepared);
    if (rc != SQLITE_OK) {
        cuckoo_fail_code(context, rc, NULL);
    } else {
        keeps = is_settled(&row->shadow, &row->version);
        read_row(context, row);
        cuckoo_shadow_release(&row->shadow);
    }
    if (row->handle)
        cuckoo_result_handle(context, row->handle);
    if (row->handle && keeps && may_keep(registry)) {
        cuckoo_stored *place = &registry->stored[registry->next_stored++ % CUCKOO_STORED];
        drop(place);
        *place = *row;
    } else {
        drop(row);
    }
}

static void open_row_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    cuckoo_registry *registry = cuckoo_function_shared(context);
    const char *name = (const char *)sqlite3_value_text(argv[0]),
               *column = (const char *)sqlite3_value_text(argv[1]);
    sqlite3_int64 rowid = sqlite3_value_int64(argv[2]);
    if (name == NULL || column == NULL || sqlite3_value_type(argv[2]) != SQLITE_INTEGER) {
        cuckoo_fail(context, CF_BAD_ARGUMENT,
                    "takes a filter, or the names of a table and of a column and a rowid, which is an "
                    "integer; NULL: the row is missing");
        return;
    }
    cuckoo_stored *kept = kept_row(registry, name, column, rowid), row = {.rowid = rowid};
    if (kept) {
        cuckoo_result_handle(context, kept->handle);
        return;
    }
    row.name = sqlite3_mprintf("%s", name);
    row.column = sqlite3_mprintf("%s", column);
    open_anew(context, registry, &row);
}

int cuckoo_register_stored(sqlite3 *db, cuckoo_registry *registry)
{
    static const cuckoo_function open[] = {{"cf_open", 3, 3, open_row_function, NULL, NULL},
                                           {.name = NULL}};
    if (registry == NULL)
        return cuckoo_register(db, open, false);
    registry->references++;
    return cuckoo_register_impure(db, open, 0, registry, cuckoo_registry_release);
}
