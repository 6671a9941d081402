/* SPDX-License-Identifier: MIT */
/*
** linked.c - the extension linked into a program (-DSQLITE_CORE), and what only a program can do to it.
**
** The calls go straight to SQLite then; a file that was compiled otherwise would call through a table of pointers
** that is never set, and crash at its first call. Compiled, as below, without -fvisibility=hidden, so that a name
** that clashes with one of SQLite or of the C library shows too.
**
**      cc -std=c11 -DSQLITE_CORE tests/unit/ext/linked.c $(find src ext -name '*.c')
**          -lcmocka -lsqlite3 -lm -o linked && ./linked
*/
#define _XOPEN_SOURCE 700 /* pread */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "../../../src/include/cuckoo_simple.h"
#include "../../faults/answer.h"
#include "../../faults/fault_memory.h"

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static sqlite3 *open_plainly(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    return db;
}

static void add_extension(sqlite3 *db)
{
    char *message = NULL;
    assert_int_equal(sqlite3_cuckoo_init(db, &message, NULL), SQLITE_OK);
    assert_null(message);
}

static int connect_to(void **state)
{
    *state = open_plainly();
    add_extension(*state);
    return 0;
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
    if (a.code != expected)
        fail_msg("%s: %d: %.*s", sql, a.code, (int)a.used, a.bytes);
    answer_free(&a);
}

/* ---- linked, and registered ---- */

#define NUMBERS                                                                                         \
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT i FROM n)"

/* One statement for each room of the glue. */
static void expect_all_rooms(sqlite3 *db)
{
    expect_integer(db, "SELECT cf_contains(cf_add(cf_new(10), 'a'), 'a')", 1);
    expect_integer(db, "SELECT cf_contains((SELECT cf_open(cf_build(i)) FROM " NUMBERS "), 500)", 1);
    expect_integer(db, "SELECT cf_count(cf_add_keys(cf_new(9), cf_keys(5)), 5) FROM (VALUES (1), (2))",
                   2);
    expect_integer(db, "SELECT cf_info(cf_new(10)) LIKE '%\"items\":0,%'", 1);
    expect_integer(db, "SELECT cf_check(cf_merge(cf_new(3), cf_new(3))) = 'ok'", 1);
    expect_integer(db, "SELECT cf_key(1, 'a') = cf_key(1.0, 'a')", 1);
    expect_integer(db, "SELECT count(fingerprint) FROM cf_buckets(cf_add(cf_new(3), 1))", 1);
    expect_integer(db, "SELECT sum(match) FROM cf_explain(cf_add(cf_new(3), 1), 1)", 1);
    expect_code(db, "SELECT cf_new(10, 0.01, 'colour=red')", SQLITE_ERROR);
}

static void it_can_be_registered_twice(void **state)
{
    expect_all_rooms(*state);
    add_extension(*state);
    expect_all_rooms(*state);
}

static void it_can_be_an_auto_extension(void **state)
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

/* A plain SQLite has no module before json_each is used, from 3.52 on. */
static void it_loads_where_there_is_no_module(void **state)
{
    (void)state;
    sqlite3 *db = open_plainly();
    assert_int_equal(sqlite3_drop_modules(db, NULL), SQLITE_OK);
    add_extension(db);
    expect_all_rooms(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A blob made by one connection means the same to another; closing one leaves the other alone. */
static void connections_share_nothing(void **state)
{
    sqlite3 *one = open_plainly(), *two = *state;
    sqlite3_stmt *make = NULL, *ask = NULL;
    add_extension(one);
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
}

/* SQLite releases a module before it disconnects the last table of it. */
static void tables_outlive_their_module(void **state)
{
    static const struct {
        const char *name;
        int arguments;
    } functions[] = {{"cf_table_contains", 2}, {"cf_table_info", 1}, {"cf_export", 1}};
    run(*state, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=10)");
    assert_int_equal(sqlite3_drop_modules(*state, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        assert_int_equal(sqlite3_create_function(*state, functions[i].name, functions[i].arguments,
                                                 SQLITE_UTF8, NULL, NULL, NULL, NULL),
                         SQLITE_OK);
}

/* ---- statements that fail ---- */

/* A filter argument that is not a filter does not harm the transaction it is used in: with the plain code
** SQLITE_CORRUPT, SQLite 3.40 would refuse every later write and the COMMIT. */
static void errors_leave_the_transaction_alone(void **state)
{
    static const char *const failures[] = {
        "SELECT cf_contains(x'00', 1)",
        "SELECT * FROM cf_buckets(x'00')",
        "SELECT cf_add_keys(x'00', cf_keys(1))",
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
    for (int i = 0; i < n; i++) {
        run(*state, "BEGIN; INSERT INTO diary VALUES ('before')");
        answer a = answer_of(*state, failures[i]);
        assert_int_not_equal(a.code, SQLITE_OK);
        answer_free(&a);
        if (sqlite3_get_autocommit(*state))
            fail_msg("%s: rolled the transaction back", failures[i]);
        run(*state, "INSERT INTO diary VALUES ('after'); COMMIT");
    }
    expect_integer(*state, "SELECT count(*) FROM diary", 2 * n);
}

/* A result longer than SQLITE_LIMIT_LENGTH is "too big", not "out of memory", which would roll the user's
** transaction back. */
static void too_long_is_not_out_of_memory(void **state)
{
    static const char *const long_answers[] = {"SELECT cf_new(100)", "SELECT cf_plan(100)",
                                               "SELECT cf_key('0123456789', 0, 0, 0)",
                                               "SELECT cf_build('key')"};
    sqlite3_limit(*state, SQLITE_LIMIT_LENGTH, 40);
    for (size_t i = 0; i < sizeof long_answers / sizeof long_answers[0]; i++)
        expect_code(*state, long_answers[i], SQLITE_TOOBIG);
}

/* Items are counted in 48 bits: merging a filter with itself 60 times does not wrap them to 0. */
static void items_do_not_wrap(void **state)
{
    expect_integer(*state,
                   "WITH RECURSIVE m(i, f) AS (SELECT 0, cf_add(cf_new(10), 1) UNION ALL SELECT i + 1, "
                   "cf_merge(f, f) FROM m LIMIT 60) SELECT count(*) FROM m WHERE cf_check(f) <> 'ok'",
                   0);
}

/* Nine keys whose hashes agree in the highest 22 and the lowest 8 bits do not make cf_build widen the table until
** they part, which takes 800,000 bytes. */
static void hostile_keys_build_no_giant(void **state)
{
    answer a =
        answer_of(*state, "SELECT cf_build(column1, NULL, 'bucket_size=4 fingerprint_bits=32') FROM "
                          "(VALUES (72399506), (125822098), (126248002), (197447690), (305698083), "
                          "(319138258), (422020438), (432767141), (447741248))");
    if (a.code == SQLITE_OK && a.used > 10000)
        fail_msg("%d bytes for nine keys", (int)a.used);
    answer_free(&a);
}

/* ---- cuckoo_simple.h ---- */

/* A statement with a blob as ?1: it has one row with one integer. */
static int ask_of(sqlite3 *db, const char *sql, const void *bytes, size_t length)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_blob(statement, 1, bytes, (int)length, SQLITE_TRANSIENT);
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    int said = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return said;
}

#define WORDS                                                                                           \
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999), "                  \
    "word(w) AS (SELECT CASE i % 3 WHEN 0 THEN 'Word ' || i WHEN 1 THEN i || '.50 ' ELSE i || ' ' END " \
    "FROM n) "

static size_t word_of(int i, char *text)
{
    return (size_t)sprintf(text, i % 3 == 0 ? "Word %d" : i % 3 == 1 ? "%d.50 " : "%d ", i);
}

/* By every key rule: what one has made the other one finds. */
static void programs_and_sql_have_the_same_keys(void **state)
{
    static const char *const affinities[] = {"", "affinity=text", "affinity=numeric", "affinity=real"};
    static const char *const collations[] = {"binary", "nocase", "rtrim"};
    char rule_of[100], text[40];
    for (int rule = 0; rule < 12; rule++) {
        cf_filter made, read;
        size_t length;
        const char *why = "";
        cf_options options = {.affinity = (cf_affinity)(rule / 3),
                              .collation = (cf_collation)(rule % 3)};
        sprintf(rule_of, "%s collation=%s", affinities[rule / 3], collations[rule % 3]);
        sqlite3_stmt *all = NULL;
        assert_int_equal(sqlite3_prepare_v2(
                             *state,
                             WORDS
                             "SELECT cf_add_keys(cf_new(100, 0.01, ?1), cf_keys(w, NULL, ?1)) FROM word",
                             -1, &all, NULL),
                         SQLITE_OK);
        sqlite3_bind_text(all, 1, rule_of, -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(all), SQLITE_ROW);
        assert_int_equal(
            cf_open(&read, sqlite3_column_blob(all, 0), (size_t)sqlite3_column_bytes(all, 0), &why),
            CF_OK);
        assert_int_equal(cf_make(&made, 100, 0.01, &options, &why), CF_OK);
        for (int i = 0; i < 5000; i++) {
            size_t n = word_of(i, text);
            assert_int_equal(cf_add_key(&made, text, n), CF_OK);
            assert_true(cf_contains_key(&read, text, n));
        }
        const uint8_t *bytes = cf_finish(&made, &length);
        assert_int_equal(
            ask_of(*state, WORDS "SELECT count(*) FROM word WHERE cf_contains(?1, w)", bytes, length),
            5000);
        assert_int_equal(made.geometry.key_types, read.geometry.key_types);
        assert_int_equal(made.items, read.items);
        sqlite3_finalize(all);
        cf_free(&made);
    }
}

/* ---- bytes that change ---- */

/* The program has promised not to do that (SQLITE_STATIC). The answers follow the bytes all the same. */
static void bound_bytes_may_change_between_rows(void **state)
{
    enum { ROWS = 1200, EACH = 400 };
    sqlite3_stmt *make[2], *ask = NULL;
    static uint8_t bytes[8000];
    run(*state, "CREATE TABLE keys(k); WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c "
                "WHERE i < 1199) INSERT INTO keys SELECT i FROM c");
    for (int i = 0; i < 2; i++) {
        sqlite3_prepare_v2(
            *state, "SELECT cf_add_keys(cf_new(1200, 1e-6), cf_keys(k)) FROM keys WHERE k % 3 > ?1", -1,
            &make[i], NULL);
        sqlite3_bind_int(make[i], 1, i);
        assert_int_equal(sqlite3_step(make[i]), SQLITE_ROW);
        size_t made = (size_t)sqlite3_column_bytes(make[i], 0);
        assert_true(made >= 100 && made <= sizeof bytes);
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

/* ---- a disk that fails ---- */

static int reads; /* so many go well, and then one fails */

static ssize_t read_or_fail(int file, void *bytes, size_t n, off_t at)
{
    if (reads-- != 0)
        return pread(file, bytes, n, at);
    errno = EBADF;
    return -1;
}

static void set_read(sqlite3_syscall_ptr call)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    vfs->xSetSystemCall(vfs, "pread", call);
    vfs->xSetSystemCall(vfs, "pread64", call);
}

typedef enum fault { NO_READ, NO_MEMORY } fault;

static void begin_fault(fault what, int number)
{
    reads = number;
    if (what == NO_READ)
        set_read((sqlite3_syscall_ptr)read_or_fail);
    else
        fault_memory_arm(number, FAULT_ONCE);
}

/* Did it come to that? */
static bool end_fault(fault what)
{
    set_read(NULL);
    return fault_memory_disarm() > 0 || (what == NO_READ && reads < 0);
}

/* Runs the last statement as often as it reads, or asks for memory, with another one of these that fails each
** time. What it has said is true: the question has this number for an answer when it was done, or else that
** one. */
static void fail_each(fault what, const char *make, const char *last, const char *ask, int done,
                      int undone)
{
    static const char path[] = "build/linked.db";
    bool failed = true;
    for (int number = 0; failed; number++) {
        sqlite3 *db = NULL;
        unlink(path);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        add_extension(db);
        run(db, make);
        run(db, "PRAGMA shrink_memory");
        begin_fault(what, number);
        bool is_done = sqlite3_exec(db, last, NULL, NULL, NULL) == SQLITE_OK;
        failed = end_fault(what);
        const char *says = sqlite3_errstr(what == NO_READ ? SQLITE_IOERR : SQLITE_NOMEM);
        assert_true(is_done || strstr(sqlite3_errmsg(db), says));
        assert_true(is_done || failed);
        sqlite3_close(db);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        add_extension(db);
        expect_integer(db, ask, is_done ? done : undone);
        sqlite3_close(db);
    }
    unlink(path);
}

#define FOLLOWED                                                                                        \
    "PRAGMA journal_mode = wal; CREATE TABLE u(x UNIQUE); INSERT INTO u VALUES (7); ANALYZE; "          \
    "CREATE VIRTUAL TABLE f USING cuckoo_filter(content='u(x)')"

/* ALTER TABLE reads sqlite_stat1 anew. A read that fails there takes the transaction back, and SQLite does
** not say so: then what the filter renames for itself must not be committed by half. */
static void a_rename_is_whole(void **state)
{
    (void)state;
    fail_each(NO_READ, FOLLOWED "; SELECT cf_table_contains('f', 7)", "ALTER TABLE f RENAME TO g",
              "SELECT count(*) FROM sqlite_master WHERE name GLOB 'g*' AND type = 'table'", 3, 0);
}

/* DROP goes on without a header that is damaged; not when the transaction has gone with the read. */
static void a_drop_is_whole(void **state)
{
    (void)state;
    fail_each(NO_READ, FOLLOWED "; BEGIN; INSERT INTO u VALUES (8); SELECT cf_export('f')",
              "DROP TABLE f; COMMIT", "SELECT count(*) FROM u, sqlite_master WHERE name = 'u'", 2, 1);
}

/* A read that fails takes the transaction back, within a drain, too. */
static void a_commit_that_drains_tells_of_it(void **state)
{
    (void)state;
    fail_each(NO_READ,
              FOLLOWED
              "; BEGIN; INSERT INTO u SELECT i + 10 FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
              "SELECT i + 1 FROM n LIMIT 3000) SELECT i FROM n)",
              "COMMIT", "SELECT count(*) FROM u WHERE cf_table_contains('f', x)", 3001, 1);
}

/* The names of the table are written anew after ROLLBACK TO, by a statement that SQLite may prepare anew after
** CREATE TRIGGER: without memory it takes all back then, and goes on. */
static void a_commit_without_memory_tells_of_it(void **state)
{
    (void)state;
    fail_each(
        NO_MEMORY,
        FOLLOWED
        "; PRAGMA synchronous = off; BEGIN; INSERT INTO f(f) VALUES ('rebuild'); SAVEPOINT s; INSERT "
        "INTO u VALUES (9); ROLLBACK TO s; RELEASE s; INSERT INTO u VALUES (8); CREATE TRIGGER t AFTER "
        "DELETE "
        "ON u BEGIN SELECT 1; END",
        "COMMIT", "SELECT count(*) FROM u WHERE cf_table_contains('f', x)", 2, 1);
}

#define WITH_IT(test) cmocka_unit_test_setup_teardown(test, connect_to, disconnect_from)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_IT(it_can_be_registered_twice),
        cmocka_unit_test(it_can_be_an_auto_extension),
        cmocka_unit_test(it_loads_where_there_is_no_module),
        WITH_IT(connections_share_nothing),
        WITH_IT(tables_outlive_their_module),
        WITH_IT(errors_leave_the_transaction_alone),
        WITH_IT(too_long_is_not_out_of_memory),
        WITH_IT(items_do_not_wrap),
        WITH_IT(hostile_keys_build_no_giant),
        WITH_IT(programs_and_sql_have_the_same_keys),
        WITH_IT(bound_bytes_may_change_between_rows),
        cmocka_unit_test(a_rename_is_whole),
        cmocka_unit_test(a_drop_is_whole),
        cmocka_unit_test(a_commit_that_drains_tells_of_it),
        cmocka_unit_test(a_commit_without_memory_tells_of_it),
    };
    if (fault_memory_install() != SQLITE_OK)
        return 1;
    return cmocka_run_group_tests_name("linked into a program", tests, NULL, NULL);
}
