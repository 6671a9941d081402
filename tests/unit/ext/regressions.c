/* SPDX-License-Identifier: MIT */
/*
** regressions.c - what fault injection, fuzzing and reading the code as an attacker would have
** found, one test each, so that it stays away.
**
**      1  A filter argument that is not a filter must not harm the transaction it is used in.
**         With the plain code SQLITE_CORRUPT, SQLite 3.40 refuses every later write and the COMMIT.
**      2  Items are counted in 48 bits: merging a filter with itself 48 times must not wrap them to 0.
**      3  A result longer than SQLITE_LIMIT_LENGTH is "too big", not "out of memory" (which would roll
**         back the user's transaction).
**      4  A few keys chosen so that they share both buckets must not make cf_build widen the table
**         until they part: nine of them made a filter of 800,000 bytes, others could make 1 GB.
**      5  A merge that ends with CF_FULL leaves a part of the other filter; what it leaves is sound.
**      6  Tables may be disconnected after their module is gone.
**      7  A filter that stands beside a parameter is opened again when its header has changed.
**
**      cc -std=c11 -DSQLITE_CORE tests/unit/ext/regressions.c $(find src ext -name '*.c')
**          -lcmocka -lsqlite3 -lm -o regressions && ./regressions
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../src/cuckoo_inspect.h"
#include "../../faults/answer.h"

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static int connect_to(void **state)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    int rc = sqlite3_open(":memory:", &db);
    *state = db;
    return rc == SQLITE_OK ? sqlite3_cuckoo_init(db, &message, NULL) : rc;
}

static int disconnect_from(void **state)
{
    return sqlite3_close(*state);
}

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static sqlite3_int64 integer_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_int64 value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* The statement fails inside a transaction, which then goes on as if it had not been there. */
static void expect_harmless_failure(sqlite3 *db, const char *sql)
{
    run(db, "BEGIN; INSERT INTO diary VALUES ('before')");
    answer a = answer_of(db, sql);
    assert_int_not_equal(a.code, SQLITE_OK);
    answer_free(&a);
    if (sqlite3_get_autocommit(db))
        fail_msg("%s: rolled the transaction back", sql);
    run(db, "INSERT INTO diary VALUES ('after'); COMMIT");
}

static void test_1_errors_leave_the_transaction_alone(void **state)
{
    static const char *const failures[] = {
        "SELECT cf_contains(x'00', 1)",
        "SELECT * FROM cf_buckets(x'00')",
        "SELECT cf_add_all(x'00', 1)",
        "INSERT INTO diary SELECT cf_add(zeroblob(100), 1)",
        "INSERT INTO diary SELECT cf_new(10, 2)",
        "INSERT INTO diary SELECT cf_new(1000000000000)",
        "INSERT INTO diary SELECT cf_merge(cf_new(10), cf_new(1000))",
        "INSERT INTO diary SELECT cf_add(NULL, 1)",
        "INSERT INTO diary SELECT cf_add(cf_add(cf_add(cf_new(1, NULL, 'bucket_size=1 growth=off'), 1), "
        "2), 3)",
    };
    enum { n = sizeof failures / sizeof failures[0] };
    run(*state, "CREATE TABLE diary(entry)");
    for (int i = 0; i < n; i++)
        expect_harmless_failure(*state, failures[i]);
    assert_int_equal(integer_of(*state, "SELECT count(*) FROM diary"), 2 * n);
}

static void test_2_items_do_not_wrap(void **state)
{
    assert_int_equal(integer_of(*state, "WITH RECURSIVE m(i, f) AS (SELECT 0, cf_add(cf_new(10), 1) "
                                        "UNION ALL SELECT i + 1, cf_merge(f, f) FROM m LIMIT 60) "
                                        "SELECT count(*) FROM m WHERE cf_check(f) <> 'ok'"),
                     0);
}

static void test_3_too_long_is_not_out_of_memory(void **state)
{
    static const char *const long_answers[] = {"SELECT cf_new(100)", "SELECT cf_plan(100)",
                                               "SELECT cf_key('0123456789', 0, 0, 0)",
                                               "SELECT cf_build('key')"};
    sqlite3_limit(*state, SQLITE_LIMIT_LENGTH, 40);
    for (size_t i = 0; i < sizeof long_answers / sizeof long_answers[0]; i++) {
        answer a = answer_of(*state, long_answers[i]);
        if (a.code != SQLITE_TOOBIG)
            fail_msg("%s: %d: %.*s", long_answers[i], a.code, (int)a.used, a.bytes);
        answer_free(&a);
    }
}

/* Their hashes agree in the highest 22 and the lowest 8 bits. */
#define CROWD                                                                                           \
    "(VALUES (72399506), (125822098), (126248002), (197447690), (305698083), (319138258), "             \
    "(422020438), (432767141), (447741248))"

static void test_4_hostile_keys_build_no_giant(void **state)
{
    answer a = answer_of(*state, "SELECT cf_build(column1, NULL, 'bucket_size=4 "
                                 "fingerprint_bits=32') FROM " CROWD);
    if (a.code == SQLITE_OK && a.used > 10000)
        fail_msg("%d bytes for nine keys", (int)a.used);
    answer_free(&a);
}

/* A filter of two buckets of one slot, with n keys. */
static void make_tiny(cf_filter *filter, uint8_t *bytes, uint64_t first, uint64_t n)
{
    const cf_geometry shape = {
        .buckets = 2, .capacity = 2, .bucket_size = 1, .fingerprint_bits = 16, .pair_bits = 8, .cap = 1};
    cf_create(filter, &shape, bytes);
    for (uint64_t i = first; i < first + n; i++)
        assert_int_equal(cf_add(filter, cf_hash(&shape, &i, sizeof i)), CF_OK);
}

static void test_5_half_a_merge_is_sound(void **state)
{
    const char *why = "";
    uint8_t bytes[100], other_bytes[100];
    cf_filter into, from;
    (void)state;
    make_tiny(&into, bytes, 1, 1);
    make_tiny(&from, other_bytes, 2, 2);
    assert_int_equal(cf_merge(&into, &from, &why), CF_FULL);
    if (cf_check(&into, &why) != CF_OK)
        fail_msg("after CF_FULL: %s", why);
}

/* SQLite releases a module before it disconnects the last table of it. */
static void test_6_tables_outlive_their_module(void **state)
{
    static const struct {
        const char *name;
        int arguments;
    } functions[] = {{"cf_table_contains", 2}, {"cf_table_info", 1}, {"cf_export", 1}};
    answer a = answer_of(*state, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)");
    assert_int_equal(a.code, SQLITE_OK);
    answer_free(&a);
    assert_int_equal(sqlite3_drop_modules(*state, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        assert_int_equal(sqlite3_create_function(*state, functions[i].name, functions[i].arguments,
                                                 SQLITE_UTF8, NULL, NULL, NULL, NULL),
                         SQLITE_OK);
}

/* The program has promised not to do that (SQLITE_STATIC). The answers follow the bytes all the same. */
static void test_7_bound_bytes_that_change_between_rows(void **state)
{
    enum { ROWS = 1200, EACH = 400 };
    sqlite3_stmt *make[2], *ask = NULL;
    static uint8_t bytes[8000];
    run(*state, "CREATE TABLE keys(k); WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c "
                "WHERE i < 1199) INSERT INTO keys SELECT i FROM c");
    for (int i = 0; i < 2; i++) {
        sqlite3_prepare_v2(*state, "SELECT cf_add_all(cf_new(1200, 1e-6), k) FROM keys WHERE k % 3 > ?1",
                           -1, &make[i], NULL);
        sqlite3_bind_int(make[i], 1, i);
        assert_int_equal(sqlite3_step(make[i]), SQLITE_ROW);
        assert_in_range(sqlite3_column_bytes(make[i], 0), 100, sizeof bytes);
    }
    int length = sqlite3_column_bytes(make[0], 0);
    assert_int_equal(sqlite3_column_bytes(make[1], 0), length);
    sqlite3_prepare_v2(*state, "SELECT k, cf_contains(?1, k) FROM keys", -1, &ask, NULL);
    sqlite3_bind_blob(ask, 1, bytes, length, SQLITE_STATIC);
    for (int k = 0; k < ROWS; k++) {
        int which = k / EACH % 2;
        if (k % EACH == 0)
            memcpy(bytes, sqlite3_column_blob(make[which], 0), (size_t)length);
        assert_int_equal(sqlite3_step(ask), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(ask, 0), k);
        assert_int_equal(sqlite3_column_int(ask, 1), k % 3 > which);
    }
    assert_int_equal(sqlite3_reset(ask), SQLITE_OK);
    for (int k = 0; k < EACH; k++)
        assert_int_equal(sqlite3_step(ask), SQLITE_ROW);
    memset(bytes, 0, sizeof bytes);
    assert_int_not_equal(sqlite3_step(ask), SQLITE_ROW);
    assert_non_null(strstr(sqlite3_errmsg(*state), "cf_contains: "));
    sqlite3_finalize(ask);
    sqlite3_finalize(make[0]);
    sqlite3_finalize(make[1]);
}

#define REGRESSION(test) cmocka_unit_test_setup_teardown(test, connect_to, disconnect_from)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REGRESSION(test_1_errors_leave_the_transaction_alone),
        REGRESSION(test_2_items_do_not_wrap),
        REGRESSION(test_3_too_long_is_not_out_of_memory),
        REGRESSION(test_4_hostile_keys_build_no_giant),
        cmocka_unit_test(test_5_half_a_merge_is_sound),
        REGRESSION(test_6_tables_outlive_their_module),
        REGRESSION(test_7_bound_bytes_that_change_between_rows),
    };
    return cmocka_run_group_tests_name("regressions", tests, NULL, NULL);
}
