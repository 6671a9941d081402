/* SPDX-License-Identifier: MIT */
#include "database.h"

#include <stdarg.h>
#include <string.h>

#include "bench.h"

void bench_check(sqlite3 *db, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
        bench_fail(sqlite3_errmsg(db));
}

void bench_run(sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    bench_check(db, sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM);
    sqlite3_free(sql);
}

sqlite3_stmt *bench_prepare(sqlite3 *db, const char *format, ...)
{
    sqlite3_stmt *statement;
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    bench_check(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    sqlite3_free(sql);
    return statement;
}

sqlite3 *bench_open(const char *file, const char *extension)
{
    sqlite3 *db;
    char *message = NULL;
    if (sqlite3_open(file, &db) != SQLITE_OK)
        bench_fail("cannot open a database");
    bench_check(db, sqlite3_enable_load_extension(db, 1));
    if (sqlite3_load_extension(db, extension, NULL, &message) != SQLITE_OK)
        bench_fail(message ? message : "cannot load the extension");
    return db;
}

void bench_noop(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int(context, 1);
}

void bench_define(sqlite3 *db, const char *name,
                  void (*function)(sqlite3_context *, int, sqlite3_value **))
{
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    bench_check(db, sqlite3_create_function_v2(db, name, 2, flags, NULL, function, NULL, NULL, NULL));
}

void bench_make_keys(sqlite3 *db, int rows)
{
    bench_run(db,
              "CREATE TABLE keys(id INTEGER PRIMARY KEY);"
              "CREATE TABLE words(word TEXT);"
              "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);"
              "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
              " INSERT INTO keys SELECT i FROM c;"
              "INSERT INTO words SELECT printf('user-%%08x', id) FROM keys",
              rows);
}

bench_blob bench_read_filter(sqlite3 *db, const char *name)
{
    sqlite3_stmt *statement = bench_prepare(db, "SELECT f FROM filters WHERE name = %Q", name);
    if (sqlite3_step(statement) != SQLITE_ROW)
        bench_fail(sqlite3_errmsg(db));
    bench_blob copy = {.length = sqlite3_column_bytes(statement, 0)};
    copy.bytes = bench_allocate((size_t)copy.length + 1);
    memcpy(copy.bytes, sqlite3_column_blob(statement, 0), (size_t)copy.length);
    sqlite3_finalize(statement);
    return copy;
}
