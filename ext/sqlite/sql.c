/* SPDX-License-Identifier: MIT */
#include "sql.h"

#include <stdarg.h>

int cuckoo_sql_code(sqlite3 *db, int rc)
{
    return rc == SQLITE_CORRUPT ? sqlite3_extended_errcode(db) : rc;
}

const char *cuckoo_sql_message(sqlite3 *db, int rc)
{
    return sqlite3_errcode(db) == SQLITE_OK ? sqlite3_errstr(rc) : sqlite3_errmsg(db);
}

bool cuckoo_sql_rolls_back(int rc)
{
    int code = rc & 0xff;
    return code == SQLITE_NOMEM || code == SQLITE_IOERR || code == SQLITE_INTERRUPT ||
           code == SQLITE_FULL;
}

/* A read that fails can roll back the transaction. SQLite does not report it if that happens while
** PRAGMA connects tables, or while ALTER TABLE reads sqlite_stat1. */
static int transaction_of(sqlite3 *db)
{
    return 2 * !sqlite3_get_autocommit(db) + (sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE);
}

static int unless_rolled_back(sqlite3 *db, int before, int rc)
{
    return rc == SQLITE_OK && transaction_of(db) < before ? SQLITE_IOERR : cuckoo_sql_code(db, rc);
}

static int prepare_text(sqlite3 *db, sqlite3_stmt **statement, const char *format, va_list arguments)
{
    char *sql = sqlite3_vmprintf(format, arguments);
    int before = transaction_of(db);
    *statement = NULL;
    int rc = sql ? sqlite3_prepare_v2(db, sql, -1, statement, NULL) : SQLITE_NOMEM;
    rc = unless_rolled_back(db, before, rc);
    sqlite3_free(sql);
    if (rc != SQLITE_OK) {
        sqlite3_finalize(*statement);
        *statement = NULL;
    }
    return rc;
}

int cuckoo_sql_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int rc = prepare_text(db, statement, format, arguments);
    va_end(arguments);
    return rc;
}

int cuckoo_sql_bind(sqlite3_stmt *statement, int parameter, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_FLOAT)
        return sqlite3_bind_double(statement, parameter, sqlite3_value_double(value));
    if (type == SQLITE_TEXT && sqlite3_value_text(value) == NULL) /* as UTF-8: it has no mark */
        return SQLITE_NOMEM;
    return sqlite3_bind_value(statement, parameter, value);
}

int cuckoo_sql_end(sqlite3_stmt *statement, int rc)
{
    sqlite3 *db = sqlite3_db_handle(statement);
    return cuckoo_first_error(rc, cuckoo_sql_code(db, sqlite3_finalize(statement)));
}

int cuckoo_sql_run(sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    int before = transaction_of(db);
    int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    rc = unless_rolled_back(db, before, rc);
    sqlite3_free(sql);
    return rc;
}

int cuckoo_sql_integer(sqlite3 *db, sqlite3_int64 *found, const char *format, ...)
{
    sqlite3_stmt *query;
    va_list arguments;
    va_start(arguments, format);
    int rc = prepare_text(db, &query, format, arguments);
    va_end(arguments);
    if (rc == SQLITE_OK && sqlite3_step(query) == SQLITE_ROW)
        *found = sqlite3_column_int64(query, 0);
    return cuckoo_sql_end(query, rc);
}

int cuckoo_sql_text(sqlite3 *db, char **found, const char *format, ...)
{
    sqlite3_stmt *query;
    va_list arguments;
    va_start(arguments, format);
    int rc = prepare_text(db, &query, format, arguments);
    va_end(arguments);
    *found = NULL;
    if (rc == SQLITE_OK && sqlite3_step(query) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(query, 0);
        *found = text ? sqlite3_mprintf("%s", text) : NULL;
        rc = text && *found == NULL ? SQLITE_NOMEM : SQLITE_OK;
    }
    return cuckoo_sql_end(query, rc);
}

int cuckoo_sql_running(sqlite3 *db, bool writing)
{
    int n = 0;
    for (sqlite3_stmt *at = sqlite3_next_stmt(db, NULL); at; at = sqlite3_next_stmt(db, at))
        n += sqlite3_stmt_busy(at) && !(writing && sqlite3_stmt_readonly(at));
    return n;
}

uint64_t cuckoo_sql_clock(sqlite3 *db, const char *schema)
{
    sqlite3_vfs *vfs = NULL;
    sqlite3_int64 now = 0;
    double days = 0;
    sqlite3_file_control(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    if (vfs == NULL)
        vfs = sqlite3_vfs_find(NULL);
    if (vfs->iVersion >= 2 && vfs->xCurrentTimeInt64)
        vfs->xCurrentTimeInt64(vfs, &now);
    else if (vfs->xCurrentTime(vfs, &days) == SQLITE_OK)
        now = (sqlite3_int64)(days * 86400000);
    return now > 0 ? (uint64_t)now : 1;
}
