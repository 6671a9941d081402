/* SPDX-License-Identifier: MIT */
/*
** shared_cache.c - what another thread can do in between, when connections share a cache.
**
** With a cache of its own, a connection sees the database as it was when its transaction began.
** Connections that share one (SQLITE_OPEN_SHAREDCACHE) lock single tables instead, and only once they
** read them. So another thread may commit where it could not otherwise. Here it does so at three
** places, each time in the same thread, so that it happens in every run:
**
**      after a transaction of the one is committed, before its virtual tables are told (xCommit): a
**          virtual table of this test is told first
**      in a use, before the first row of the shadow table is read: sqlite3_bind_int64 is wrapped
**      before the rows of a table that is followed are compared: sqlite3_prepare_v2 is wrapped
**
** The linker has to be told: -Wl,--wrap=sqlite3_bind_int64,--wrap=sqlite3_prepare_v2.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <string.h>

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static sqlite3 *one, *other;

static sqlite3 *connect_shared(void)
{
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    assert_int_equal(sqlite3_open_v2("file:shared?mode=memory&cache=shared", &db, flags, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_cuckoo_init(db, NULL, NULL), SQLITE_OK);
    return db;
}

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

/* The number that a statement answers; -1 when it fails, and *rc. */
static int number_of(sqlite3 *db, const char *sql, int *rc)
{
    sqlite3_stmt *statement = NULL;
    int number = -1;
    *rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (*rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int(statement, 0);
    *rc = sqlite3_finalize(statement);
    return number;
}

static void expect(sqlite3 *db, const char *sql, int expected)
{
    int rc, number = number_of(db, sql, &rc);
    if (rc != SQLITE_OK || number != expected)
        fail_msg("%s: %d, not %d; %s", sql, number, expected, sqlite3_errmsg(db));
}

/* ---- in between: one statement of the other connection ---- */

typedef enum place { NOWHERE, BEFORE_READING_A_PAGE, BEFORE_READING_ROWS, AFTER_COMMIT } place;
static place where;
static const char *between;

static void go_between(place here)
{
    if (where != here)
        return;
    where = NOWHERE;
    run(other, between);
}

int __real_sqlite3_bind_int64(sqlite3_stmt *statement, int index, sqlite3_int64 value);
int __wrap_sqlite3_bind_int64(sqlite3_stmt *statement, int index, sqlite3_int64 value);

int __wrap_sqlite3_bind_int64(sqlite3_stmt *statement, int index, sqlite3_int64 value)
{
    if (sqlite3_db_handle(statement) == one)
        go_between(BEFORE_READING_A_PAGE);
    return __real_sqlite3_bind_int64(statement, index, value);
}

int __real_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **made,
                              const char **tail);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **made,
                              const char **tail);

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **made,
                              const char **tail)
{
    if (db == one && strstr(sql, "ORDER BY c.rowid"))
        go_between(BEFORE_READING_ROWS);
    return __real_sqlite3_prepare_v2(db, sql, n, made, tail);
}

/* A virtual table that takes rows, and does nothing but to be told of the commit. */
static int connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **made,
                   char **message)
{
    static sqlite3_vtab table;
    (void)context, (void)argc, (void)argv, (void)message;
    *made = &table;
    return sqlite3_declare_vtab(db, "CREATE TABLE t(x)");
}

static int plan(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table, (void)info;
    return SQLITE_OK;
}

static int nothing(sqlite3_vtab *table)
{
    (void)table;
    return SQLITE_OK;
}

static int update(sqlite3_vtab *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)argc, (void)argv;
    *rowid = 1;
    return nothing(table);
}

static int committed(sqlite3_vtab *table)
{
    go_between(AFTER_COMMIT);
    return nothing(table);
}

static const sqlite3_module listener = {.iVersion = 1,
                                        .xCreate = connect,
                                        .xConnect = connect,
                                        .xBestIndex = plan,
                                        .xDisconnect = nothing,
                                        .xDestroy = nothing,
                                        .xUpdate = update,
                                        .xBegin = nothing,
                                        .xSync = nothing,
                                        .xCommit = committed,
                                        .xRollback = nothing};

static int open_both(void **state)
{
    (void)state;
    where = NOWHERE;
    one = connect_shared(), other = connect_shared();
    sqlite3_create_module(one, "listener", &listener, NULL);
    run(one, "CREATE TABLE person(mail TEXT UNIQUE);"
             "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=20000, seed=1);"
             "CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='person(mail)');"
             "CREATE TABLE number(i); WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9000)"
             "INSERT INTO number SELECT i FROM n;");
    run(other, "SELECT * FROM person; SELECT count(*) FROM seen");
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    return sqlite3_close(one) | sqlite3_close(other);
}

/* ---- after a commit ---- */

/* The one must not take the commit of the other for its own: it would go on with pages of before,
** and write them. */
static void test_a_commit_of_another_after_ours(void **state)
{
    (void)state;
    run(one, "CREATE VIRTUAL TABLE temp.told USING listener");
    between = "INSERT INTO person VALUES ('other'); INSERT INTO seen(key) VALUES ('other')";
    where = AFTER_COMMIT;
    run(one, "BEGIN; INSERT INTO told VALUES (1); INSERT INTO person VALUES ('one');"
             "INSERT INTO seen(key) VALUES ('one'); COMMIT");
    assert_int_equal(where, NOWHERE);
    expect(one, "SELECT cf_table_contains('seen', 'other')", 1);
    expect(one, "SELECT cf_table_contains('known', 'other')", 1);
    run(one, "INSERT INTO person VALUES ('more'); INSERT INTO seen(key) VALUES ('more')");
    expect(other, "SELECT cf_table_contains('seen', 'other') + cf_table_contains('seen', 'more')", 2);
    expect(other, "SELECT count(*) FROM known WHERE key IN ('one', 'other', 'more')", 3);
    run(other, "INSERT INTO known(known) VALUES ('check')");
}

/* ---- in a use ---- */

/* The statement answers what is right, or that a table is locked, and then what is right. */
static void expect_between(place here, const char *sql, int expected)
{
    int rc;
    where = here;
    int number = number_of(one, sql, &rc);
    assert_int_equal(where, NOWHERE);
    if (rc != SQLITE_LOCKED && (rc != SQLITE_OK || number != expected))
        fail_msg("%s: %d, not %d; %s", sql, number, expected, sqlite3_errmsg(one));
    expect(one, sql, expected);
}

/* Asked for one key, whose page is in memory then. The other puts a larger filter in the place of this
** one. Asked for another key, whose page is not in memory yet: with seed=1 it is another page. */
static void test_another_filter_in_a_use(void **state)
{
    (void)state;
    run(other, "INSERT INTO seen(key) SELECT i FROM number");
    expect(one, "SELECT cf_table_contains('seen', 1)", 1);
    between =
        "INSERT INTO seen(seen, key) SELECT 'import', cf_build(i, 0.01, 'capacity=90000') FROM number";
    expect_between(BEFORE_READING_A_PAGE, "SELECT cf_table_contains('seen', 7777)", 1);
}

/* A filter that follows a table must not be blamed for rows that came while it was looked at. */
static void test_rows_that_come_in_a_use(void **state)
{
    (void)state;
    run(one, "INSERT INTO person VALUES ('first')");
    between = "INSERT INTO person VALUES ('ada'), ('bob'), ('cyd')";
    expect_between(BEFORE_READING_ROWS, "SELECT cf_table_contains('known', 'ada')", 1);
    between = "INSERT INTO person VALUES ('dan'); INSERT INTO known(known) VALUES ('drain')";
    expect_between(BEFORE_READING_A_PAGE, "SELECT cf_table_check('known') = 'ok'", 1);
}

#define SHARED(test) cmocka_unit_test_setup_teardown(test, open_both, close_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARED(test_a_commit_of_another_after_ours),
        SHARED(test_another_filter_in_a_use),
        SHARED(test_rows_that_come_in_a_use),
    };
    return cmocka_run_group_tests_name("shared cache", tests, NULL, NULL);
}
