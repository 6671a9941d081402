/* SPDX-License-Identifier: MIT */
/*
** loading.c - loading the extension: without memory, twice, and into two copies of SQLite.
**
** When the entry point fails, SQLite unmaps the library: a function or table left registered would
** then point into nothing. So each request for memory during the load is refused in turn, and after
** each failure using what the extension offers must not crash, and the connection must be in order.
** Unlike the other programs here this one loads the extension (build/cuckoo.so, or $CUCKOO_SO) as a
** user would.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3ext.h>

#include "fault_memory.h"

static const char *library(void)
{
    const char *path = getenv("CUCKOO_SO");
    return path ? path : "build/cuckoo.so";
}

static sqlite3 *open_memory(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_enable_load_extension(db, 1);
    return db;
}

static int load_from(sqlite3 *db, const char *path)
{
    char *message = NULL;
    int rc = sqlite3_load_extension(db, path, "sqlite3_cuckoo_init", &message);
    sqlite3_free(message);
    return rc;
}

static int execute(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Not found; or, when SQLite ran out of memory after the entry point had done its work, there and
** in order. */
static void expect_unknown_or_works(sqlite3 *db, const char *sql)
{
    int rc = execute(db, sql);
    assert_true(rc == SQLITE_ERROR || rc == SQLITE_OK);
}

static void expect_nothing_dangles(sqlite3 *db)
{
    expect_unknown_or_works(db, "SELECT cf_new(10)");
    expect_unknown_or_works(db, "SELECT cf_plan(10, 0.1)");
    expect_unknown_or_works(db, "SELECT cf_build(1)");
    expect_unknown_or_works(db, "SELECT cf_version()");
    expect_unknown_or_works(db, "SELECT cf_table_contains('t', 1)");
    expect_unknown_or_works(db, "SELECT count(*) FROM cf_buckets((SELECT cf_new(10)))");
    expect_unknown_or_works(db, "CREATE VIRTUAL TABLE t USING cuckoo_filter(capacity=10)");
}

static void expect_works(sqlite3 *db)
{
    assert_int_equal(execute(db, "SELECT cf_check(cf_new(10))"), SQLITE_OK);
    assert_int_equal(execute(db, "SELECT * FROM cf_buckets(cf_new(10))"), SQLITE_OK);
    assert_int_equal(execute(db, "CREATE VIRTUAL TABLE IF NOT EXISTS seen USING "
                                 "cuckoo_filter(capacity=10)"),
                     SQLITE_OK);
    assert_int_equal(execute(db, "INSERT INTO seen(key) VALUES (1)"), SQLITE_OK);
    assert_int_equal(execute(db, "SELECT cf_table_contains('seen', 1)"), SQLITE_OK);
    assert_int_equal(execute(db, "SELECT cf_version()"), SQLITE_OK);
}

/* ---- without memory ---- */

/* A way to load: an SQLite code. */
typedef int way_to_load(sqlite3 *db);

static int load(sqlite3 *db)
{
    return load_from(db, library());
}

static int load_by_sql(sqlite3 *db)
{
    char sql[300];
    snprintf(sql, sizeof sql, "SELECT load_extension('%s', 'sqlite3_cuckoo_init')", library());
    return execute(db, sql);
}

static int load_beside_a_statement(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, "VALUES (1), (2)", -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        rc = load(db);
    sqlite3_finalize(statement);
    return rc;
}

/* `before`: the connection has the extension, and a table in use. */
static sqlite3 *prepare_connection(bool before)
{
    sqlite3 *db = open_memory();
    if (before) {
        assert_int_equal(load(db), SQLITE_OK);
        expect_works(db);
    }
    return db;
}

static long load_with_every_fault(fault_kind kind, way_to_load *way, bool before)
{
    sqlite3_int64 used = sqlite3_memory_used();
    for (long n = 0;; n++) {
        sqlite3 *db = prepare_connection(before);
        fault_memory_arm(n, kind);
        int rc = way(db);
        long refused = fault_memory_disarm();
        if (!before && (rc != SQLITE_OK || way != load)) {
            expect_nothing_dangles(db);
            assert_int_equal(load(db), SQLITE_OK);
        }
        expect_works(db);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(sqlite3_memory_used(), used);
        if (refused == 0)
            return n;
    }
}

static void test_each_request_refused(void **state)
{
    (void)state;
    assert_true(load_with_every_fault(FAULT_ONCE, load, false) > 20);
}

static void test_all_requests_refused_from_one_on(void **state)
{
    (void)state;
    assert_true(load_with_every_fault(FAULT_ONWARDS, load, false) > 20);
}

static void test_second_load_without_memory(void **state)
{
    (void)state;
    assert_true(load_with_every_fault(FAULT_ONCE, load, true) > 0);
    assert_true(load_with_every_fault(FAULT_ONWARDS, load, true) > 0);
}

/* While a statement runs, SQLite removes no function, so the library must stay. For that, SQLite
** must be told that the load has succeeded: some functions may be missing then. */
static void test_load_while_a_statement_runs_without_memory(void **state)
{
    (void)state;
    assert_true(load_with_every_fault(FAULT_ONCE, load_beside_a_statement, false) > 20);
    assert_true(load_with_every_fault(FAULT_ONWARDS, load_beside_a_statement, false) > 20);
    assert_true(load_with_every_fault(FAULT_ONCE, load_by_sql, false) > 20);
    assert_true(load_with_every_fault(FAULT_ONWARDS, load_by_sql, false) > 20);
}

/* ---- a second time ---- */

static void test_nothing_is_said_of_a_load(void **state)
{
    sqlite3 *db = open_memory();
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(load(db), SQLITE_OK);
        assert_int_equal(sqlite3_errcode(db), SQLITE_OK);
        assert_string_equal(sqlite3_errmsg(db), "not an error");
        expect_works(db);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int deny(void *nothing, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)nothing, (void)action, (void)a, (void)b, (void)c, (void)d;
    return SQLITE_DENY;
}

static void test_authorizer_that_forbids_all(void **state)
{
    sqlite3 *db = open_memory();
    (void)state;
    sqlite3_set_authorizer(db, deny, NULL);
    assert_int_equal(load(db), SQLITE_ERROR);
    sqlite3_set_authorizer(db, NULL, NULL);
    assert_int_equal(load(db), SQLITE_OK);
    expect_works(db);
    sqlite3_set_authorizer(db, deny, NULL);
    assert_int_equal(load(db), SQLITE_ERROR);
    sqlite3_set_authorizer(db, NULL, NULL);
    expect_works(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int ignore_pragmas(void *nothing, int action, const char *a, const char *b, const char *c,
                          const char *d)
{
    (void)nothing, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_PRAGMA ? SQLITE_IGNORE : SQLITE_OK;
}

static void test_authorizer_that_hides_modules(void **state)
{
    sqlite3 *db = open_memory();
    char *message = NULL;
    (void)state;
    sqlite3_set_authorizer(db, ignore_pragmas, NULL);
    assert_int_equal(sqlite3_load_extension(db, library(), "sqlite3_cuckoo_init", &message),
                     SQLITE_ERROR);
    assert_non_null(strstr(message, "set it after the extension is loaded"));
    sqlite3_free(message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A module of that name that is not ours is left as it is. */
static void test_another_module_of_that_name(void **state)
{
    static const sqlite3_module other = {.iVersion = 1};
    sqlite3 *db = open_memory();
    (void)state;
    assert_int_equal(sqlite3_create_module(db, "Cuckoo_Filter", &other, NULL), SQLITE_OK);
    assert_int_equal(load(db), SQLITE_OK);
    assert_int_equal(execute(db, "SELECT cf_new(10)"), SQLITE_ERROR);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- two copies of SQLite ---- */

typedef int entry_point(sqlite3 *db, char **message, const sqlite3_api_routines *api);

/* The table of functions that SQLite passes to extensions. */
static const sqlite3_api_routines *passed;

static int take_passed(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    (void)db, (void)message;
    passed = api;
    return SQLITE_OK;
}

static void find_passed(void)
{
    assert_int_equal(sqlite3_auto_extension((void (*)(void))take_passed), SQLITE_OK);
    assert_int_equal(sqlite3_close(open_memory()), SQLITE_OK);
    assert_int_equal(sqlite3_cancel_auto_extension((void (*)(void))take_passed), 1);
    assert_non_null(passed);
}

/* As far as the extension can tell, another SQLite: memory comes from another function. */
static void *other_malloc(sqlite3_uint64 bytes)
{
    return sqlite3_malloc64(bytes);
}

static int version_3_33(void)
{
    return 3033000;
}

static void expect_refused(entry_point *enter, const sqlite3_api_routines *api, const char *says)
{
    sqlite3 *db = open_memory();
    char *message = NULL;
    assert_int_equal(enter(db, &message, api), SQLITE_ERROR);
    assert_non_null(strstr(message, says));
    sqlite3_free(message);
    assert_int_equal(enter(db, NULL, api), SQLITE_ERROR);
    assert_int_equal(execute(db, "SELECT cf_new(10)"), SQLITE_ERROR);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void expect_taken(entry_point *enter, const sqlite3_api_routines *api)
{
    sqlite3 *db = open_memory();
    assert_int_equal(enter(db, NULL, api), SQLITE_OK);
    expect_works(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* `first` and a copy of it are served, then `second` is refused, and `first` goes on. */
static void serve_one(const sqlite3_api_routines *first, const sqlite3_api_routines *second)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    void *handle = vfs->xDlOpen(vfs, library());
    assert_non_null(handle);
    entry_point *enter = (entry_point *)vfs->xDlSym(vfs, handle, "sqlite3_cuckoo_init");
    sqlite3_api_routines copy = *first, old = *first;
    old.libversion_number = version_3_33;
    old.malloc64 = other_malloc;
    assert_non_null(enter);
    expect_refused(enter, &old, "SQLite 3.34 or later is needed");
    expect_taken(enter, first);
    expect_taken(enter, &copy);
    expect_refused(enter, second, "two copies of SQLite");
    expect_taken(enter, first);
    vfs->xDlClose(vfs, handle);
}

/* The library is unmapped in between, and starts anew with whichever comes first. */
static void test_one_file_serves_one_sqlite(void **state)
{
    (void)state;
    find_passed();
    sqlite3_api_routines other = *passed;
    other.malloc64 = other_malloc;
    serve_one(passed, &other);
    serve_one(&other, passed);
}

/* ---- */

int main(void)
{
    /* First what needs the library to be unmapped: without memory SQLite may forget to. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_file_serves_one_sqlite),
        cmocka_unit_test(test_each_request_refused),
        cmocka_unit_test(test_all_requests_refused_from_one_on),
        cmocka_unit_test(test_second_load_without_memory),
        cmocka_unit_test(test_nothing_is_said_of_a_load),
        cmocka_unit_test(test_authorizer_that_forbids_all),
        cmocka_unit_test(test_authorizer_that_hides_modules),
        cmocka_unit_test(test_another_module_of_that_name),
        cmocka_unit_test(test_load_while_a_statement_runs_without_memory),
    };
    if (fault_memory_install() != SQLITE_OK)
        return 1;
    return cmocka_run_group_tests_name("loading", tests, NULL, NULL);
}
