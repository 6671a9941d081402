/* SPDX-License-Identifier: MIT */
/*
** static_build.c - the extension linked into a program instead of loaded: -DSQLITE_CORE.
**
** The calls then go straight to SQLite; a file that was compiled otherwise would call through a
** table of pointers that is never set, and crash at its first call. Compiled, as below, without
** -fvisibility=hidden, so that a name that clashes with one of SQLite or of the C library shows
** too.
**
**      cc -std=c11 -DSQLITE_CORE tests/unit/ext/static_build.c $(find src ext -name '*.c')
**          -lcmocka -lsqlite3 -lm -o static_build && ./static_build
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../faults/answer.h"

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static sqlite3 *open_plainly(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    return db;
}

static sqlite3 *open_with_extension(void)
{
    sqlite3 *db = open_plainly();
    char *message = NULL;
    assert_int_equal(sqlite3_cuckoo_init(db, &message, NULL), SQLITE_OK);
    assert_null(message);
    return db;
}

/* The statement has one row with one integer: this one. */
static void expect_integer(sqlite3 *db, const char *sql, int expected)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_column_int(statement, 0), expected);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
}

static void expect_code(sqlite3 *db, const char *sql, int expected)
{
    answer a = answer_of(db, sql);
    assert_int_equal(a.code, expected);
    answer_free(&a);
}

#define NUMBERS                                                                                         \
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT i FROM n)"

/* One statement for each room of the glue. */
static void expect_all_rooms(sqlite3 *db)
{
    expect_integer(db, "SELECT cf_contains(cf_add(cf_new(10), 'a'), 'a')", 1);
    expect_integer(db, "SELECT cf_contains((SELECT cf_open(cf_build(i)) FROM " NUMBERS "), 500)", 1);
    expect_integer(db, "SELECT cf_count(cf_add_all(cf_new(9), 5), 5) FROM (VALUES (1), (2))", 2);
    expect_integer(db, "SELECT cf_info(cf_new(10)) LIKE '%\"items\":0,%'", 1);
    expect_integer(db, "SELECT cf_check(cf_merge(cf_new(3), cf_new(3))) = 'ok'", 1);
    expect_integer(db, "SELECT cf_key(1, 'a') = cf_key(1.0, 'a')", 1);
    expect_integer(db, "SELECT count(fingerprint) FROM cf_buckets(cf_add(cf_new(3), 1))", 1);
    expect_integer(db, "SELECT sum(match) FROM cf_explain(cf_add(cf_new(3), 1), 1)", 1);
    expect_code(db, "SELECT cf_new(10, 0.01, 'colour=red')", SQLITE_ERROR);
}

static void test_direct_call(void **state)
{
    (void)state;
    sqlite3 *db = open_with_extension();
    expect_all_rooms(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_registered_twice(void **state)
{
    (void)state;
    sqlite3 *db = open_with_extension();
    char *message = NULL;
    assert_int_equal(sqlite3_cuckoo_init(db, &message, NULL), SQLITE_OK);
    expect_all_rooms(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_auto_extension(void **state)
{
    (void)state;
    sqlite3 *without = open_plainly();
    expect_code(without, "SELECT cf_version()", SQLITE_ERROR);
    assert_int_equal(sqlite3_close(without), SQLITE_OK);
    assert_int_equal(sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init), SQLITE_OK);
    sqlite3 *db = open_plainly();
    expect_all_rooms(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_cancel_auto_extension((void (*)(void))sqlite3_cuckoo_init), 1);
}

/* A blob made by one connection means the same to another; closing one leaves the other alone. */
static void test_two_connections(void **state)
{
    (void)state;
    sqlite3 *one = open_with_extension(), *two = open_with_extension();
    sqlite3_stmt *make = NULL, *ask = NULL;
    assert_int_equal(sqlite3_prepare_v2(one, "SELECT cf_add(cf_new(10), 'k')", -1, &make, NULL), 0);
    assert_int_equal(sqlite3_step(make), SQLITE_ROW);
    assert_int_equal(sqlite3_prepare_v2(two, "SELECT cf_contains(?1, 'k')", -1, &ask, NULL), 0);
    assert_int_equal(sqlite3_bind_value(ask, 1, sqlite3_column_value(make, 0)), SQLITE_OK);
    sqlite3_finalize(make);
    assert_int_equal(sqlite3_close(one), SQLITE_OK);
    assert_int_equal(sqlite3_step(ask), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(ask, 0), 1);
    sqlite3_finalize(ask);
    expect_all_rooms(two);
    assert_int_equal(sqlite3_close(two), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direct_call),
        cmocka_unit_test(test_registered_twice),
        cmocka_unit_test(test_auto_extension),
        cmocka_unit_test(test_two_connections),
    };
    return cmocka_run_group_tests_name("static build", tests, NULL, NULL);
}
