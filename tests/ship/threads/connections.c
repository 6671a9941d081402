/* SPDX-License-Identifier: MIT */
/*
** connections.c - the extension in programs with several threads, under ThreadSanitizer: linked with
** SQLITE_CORE, and registered for each connection by sqlite3_auto_extension.
**
** A connection for each thread, on one database: rollback journal, WAL, shared cache; filter tables
** are written and read, with and without content=. Then one connection that all threads use
** (serialized mode), connections that come and go, and one blob that is bound by all connections.
*/
#define _POSIX_C_SOURCE 200809L
#include "crew.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

enum { CHANGES = 150, LOOKS = 60, OPENINGS = 60, SHARED_KEYS = 60, TRIES = 20000 };

/* ---- statements ---- */

static sqlite3 *open_at(const char *uri, int flags)
{
    sqlite3 *db = NULL;
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    if (sqlite3_open_v2(uri, &db, flags, NULL) != SQLITE_OK)
        abort();
    sqlite3_busy_timeout(db, 20000);
    return db;
}

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Somebody else was faster: another connection holds a lock. Such a statement is to be tried again. */
static bool is_busy(int rc)
{
    return (rc & 255) == SQLITE_BUSY || (rc & 255) == SQLITE_LOCKED;
}

/* The number that a statement answers, with ?1 bound. -1: *rc says why there is none. */
static sqlite3_int64 number_of(sqlite3 *db, const char *sql, sqlite3_int64 bound, int *rc)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 number = -1;
    *rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (*rc == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, bound);
        if (sqlite3_step(statement) == SQLITE_ROW)
            number = sqlite3_column_int64(statement, 0);
        *rc = sqlite3_finalize(statement);
    }
    return number;
}

static void must(sqlite3 *db, const char *sql)
{
    if (run(db, sql) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void must_be(sqlite3 *db, const char *sql, sqlite3_int64 expected)
{
    int rc;
    sqlite3_int64 number = number_of(db, sql, 0, &rc);
    if (rc != SQLITE_OK || number != expected)
        fail_msg("%s: %lld, %s", sql, (long long)number, sqlite3_errmsg(db));
}

/* ---- a connection for each thread, on one database ---- */

typedef struct place {
    const char *name, *uri, *journal;
    int flags;
} place;

#define FOLDER "build/tsan/"
static const place places[] = {
    {"rollback journal", "file:" FOLDER "threads.db", "PRAGMA journal_mode = DELETE",
     SQLITE_OPEN_NOMUTEX},
    {"WAL", "file:" FOLDER "threads.db", "PRAGMA journal_mode = WAL", SQLITE_OPEN_FULLMUTEX},
    {"shared cache", "file:" FOLDER "threads.db?cache=shared", "PRAGMA journal_mode = WAL",
     SQLITE_OPEN_FULLMUTEX},
    {"shared cache in memory", "file:threads?mode=memory&cache=shared", "PRAGMA journal_mode",
     SQLITE_OPEN_NOMUTEX},
};

static const char tables[] =
    "CREATE TABLE person(id INTEGER PRIMARY KEY, mail TEXT UNIQUE);"
    "CREATE VIRTUAL TABLE followed USING cuckoo_filter(capacity=100, content='person(mail)');"
    "CREATE TABLE live(k INTEGER PRIMARY KEY);"
    "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=100, affinity=integer);";

static const char *const changes[] = {
    "INSERT INTO person VALUES (?1, 'person ' || ?1)",
    "INSERT INTO live VALUES (?1)",
    "INSERT INTO seen(key) VALUES (?1)",
    "DELETE FROM person WHERE id = ?1 - 40",
    "DELETE FROM seen WHERE key = (SELECT k FROM live WHERE k = ?1 - 60)",
    "DELETE FROM live WHERE k = ?1 - 60",
};

/* Each must be 0: rows that a filter misses. All are asked in one transaction. */
static const char *const misses[] = {
    "SELECT count(*) FROM live WHERE NOT cf_table_contains('seen', k)",
    "SELECT count(*) FROM person WHERE NOT EXISTS (SELECT 1 FROM followed WHERE key = mail)",
    "SELECT count(*) FROM live WHERE NOT cf_contains((SELECT cf_open(cf_export('seen'))), k)",
    "SELECT count(*) FROM person WHERE NOT cf_contains((SELECT cf_open(cf_build(mail)) FROM person), "
    "mail)",
    "SELECT count(*) - (SELECT count(*) FROM live) FROM seen",
};

static int change(sqlite3 *db, sqlite3_int64 key)
{
    int rc = run(db, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0] && rc == SQLITE_OK; i++)
        number_of(db, changes[i], key, &rc);
    if (rc == SQLITE_OK)
        rc = run(db, key % 8 == 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}

static int look(crew_member *self, sqlite3 *db)
{
    int rc = run(db, "BEGIN");
    for (size_t i = 0; i < sizeof misses / sizeof misses[0] && rc == SQLITE_OK; i++) {
        sqlite3_int64 missed = number_of(db, misses[i], 0, &rc);
        crew_expect(self, rc != SQLITE_OK || missed == 0, "keys are missed", misses[i]);
    }
    return rc == SQLITE_OK ? run(db, "COMMIT") : rc;
}

/* Half of the threads write. The keys of a writer are its own. */
static int act(crew_member *self, sqlite3 *db, int step)
{
    return self->number % 2 ? look(self, db) : change(db, 1 + step * CREW + (int)self->number);
}

static void work_on_connection(crew_member *self)
{
    const place *at = self->context;
    sqlite3 *db = open_at(at->uri, at->flags);
    run(db, "PRAGMA synchronous = OFF");
    const struct timespec pause = {.tv_nsec = 500000};
    int rc = SQLITE_OK, steps = self->number % 2 ? LOOKS : CHANGES;
    for (int step = 0, tries = 0; step < steps && tries < TRIES; tries++) {
        rc = act(self, db, step);
        step += rc == SQLITE_OK;
        if (rc != SQLITE_OK && !crew_expect(self, is_busy(rc), at->name, sqlite3_errmsg(db)))
            break;
        if (!sqlite3_get_autocommit(db))
            run(db, "ROLLBACK");
        if (rc != SQLITE_OK)
            nanosleep(&pause, NULL);
    }
    crew_expect(self, rc == SQLITE_OK, at->name, "it was locked all the time");
    crew_expect(self, sqlite3_close(db) == SQLITE_OK, at->name, "close");
}

static void remove_files(void)
{
    remove(FOLDER "threads.db");
    remove(FOLDER "threads.db-wal");
    remove(FOLDER "threads.db-shm");
}

static void check_place(sqlite3 *db)
{
    for (size_t i = 0; i < sizeof misses / sizeof misses[0]; i++)
        must_be(db, misses[i], 0);
    must_be(db, "SELECT count(*) > 20 FROM live", 1);
    must_be(db, "SELECT cf_check(cf_export('seen')) = 'ok' AND cf_check(cf_export('followed')) = 'ok'",
            1);
    must(db, "INSERT INTO followed(followed) VALUES ('check')");
}

static void test_a_connection_for_each_thread(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        remove_files();
        sqlite3 *db = open_at(places[i].uri, places[i].flags);
        must(db, places[i].journal);
        must(db, tables);
        crew_run(work_on_connection, (void *)(uintptr_t)&places[i]);
        check_place(db);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    remove_files();
}

/* ---- one connection for all threads ---- */

/* Each answers 1, or nothing: an insert. */
static const char *const together[] = {
    "INSERT INTO seen(key) VALUES (?1)",
    "INSERT INTO person VALUES (?1, 'person ' || ?1)",
    "SELECT cf_table_contains('seen', ?1)",
    "SELECT count(*) FROM followed WHERE key = 'person ' || ?1",
    "SELECT cf_contains((SELECT cf_open(cf_build(mail)) FROM person), 'person ' || ?1)",
};

static void work_together(crew_member *self)
{
    for (int i = 0; i < SHARED_KEYS; i++)
        for (int k = 0; k < 5; k++) {
            int rc;
            sqlite3_int64 found =
                number_of(self->context, together[k], i * CREW + (int)self->number, &rc);
            crew_expect(self, rc == SQLITE_OK && found == (k < 2 ? -1 : 1), together[k],
                        sqlite3_errstr(rc));
        }
}

static void test_one_connection_for_all_threads(void **state)
{
    (void)state;
    sqlite3 *db = open_at(":memory:", SQLITE_OPEN_FULLMUTEX);
    must(db, tables);
    crew_run(work_together, db);
    must_be(db, "SELECT count(*) FROM seen", CREW * SHARED_KEYS);
    must(db, "INSERT INTO followed(followed) VALUES ('check')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- connections that come and go: what the extension keeps for all of them ---- */

static void open_and_close(crew_member *self)
{
    for (int i = 0; i < OPENINGS; i++) {
        int rc;
        sqlite3 *db = open_at(":memory:", SQLITE_OPEN_NOMUTEX);
        sqlite3_int64 found = number_of(db, "SELECT cf_contains(cf_add(cf_new(10), ?1), ?1)", i, &rc);
        crew_expect(self, found == 1, "a new connection", sqlite3_errmsg(db));
        rc = sqlite3_cuckoo_init(db, NULL, NULL);
        crew_expect(self, rc == SQLITE_OK, "registered again", sqlite3_errmsg(db));
        crew_expect(self, sqlite3_close(db) == SQLITE_OK, "close", "");
    }
}

static void test_connections_come_and_go(void **state)
{
    (void)state;
    crew_run(open_and_close, NULL);
}

/* ---- one blob, in memory of the program, for all connections ---- */

#define NUMBERS "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT "

static sqlite3_stmt *first_row(sqlite3 *db, const char *sql, const void *blob, int length)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    sqlite3_bind_blob(statement, 1, blob, length, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        return statement;
    sqlite3_finalize(statement);
    return NULL;
}

static void ask_blob(crew_member *self)
{
    sqlite3_stmt *made = self->context;
    sqlite3 *db = open_at(":memory:", SQLITE_OPEN_NOMUTEX);
    sqlite3_stmt *row =
        first_row(db,
                  NUMBERS "sum(cf_contains(?1, i)), cf_check(?1), cf_info(?1), "
                          "cf_contains(cf_delete(?1, 7), 8), cf_count(cf_merge(?1, ?1), 9) FROM n",
                  sqlite3_column_blob(made, 0), sqlite3_column_bytes(made, 0));
    crew_expect(self, row && sqlite3_column_int(row, 0) == 500, "a blob of all", sqlite3_errmsg(db));
    sqlite3_finalize(row);
    sqlite3_close(db);
}

static void test_one_blob_for_all_connections(void **state)
{
    (void)state;
    sqlite3 *db = open_at(":memory:", SQLITE_OPEN_FULLMUTEX);
    sqlite3_stmt *made = first_row(db, NUMBERS "cf_build(i, 0.01, 'capacity=1500') FROM n", NULL, 0);
    assert_non_null(made);
    crew_run(ask_blob, made);
    sqlite3_finalize(made);
    sqlite3_close(db);
}

int main(void)
{
    sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_connection_for_each_thread),
        cmocka_unit_test(test_one_connection_for_all_threads),
        cmocka_unit_test(test_connections_come_and_go),
        cmocka_unit_test(test_one_blob_for_all_connections),
    };
    return cmocka_run_group_tests_name("threads: connections", tests, NULL, NULL);
}
