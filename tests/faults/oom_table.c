/* SPDX-License-Identifier: MIT */
/*
** oom_table.c - out of memory at every single request for memory: persistent filters.
**
** As oom.c, but the statements (oom_cases.h) change a database. Each is run on a copy of it, in
** autocommit mode and within a transaction that has changed filters before, with request number 0,
** 1, 2 ... refused: only that one, or that one and all later ones. After each run:
**
**      - "out of memory", and all filters are as before the statement (or, when SQLite has rolled it back, as before
**        the transaction); or the right answer, and all filters are as they are after it without faults;
**      - no filter misses a row of its table, and its count is right;
**      - the same connection, with memory again, does the rest;
**      - closing the connection gives back every byte.
**
** The image of a filter is memory of the C library: its realloc and calloc are wrapped by the
** linker. Of these requests each is refused, in a thin slice each n / 300-th. Of the others each 11th or
** so, with `all` each, with a number n each n-th (slice.h says from which on). To run:
**
**      cc -std=c11 -DSQLITE_CORE -Wl,--wrap=realloc,--wrap=calloc tests/faults/oom_table.c
**          $(find src ext -name '*.c') -lcmocka -lsqlite3 -lm -o oom_table && ./oom_table all
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The test itself always gets memory. */
void *__real_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
#define realloc __real_realloc
#include "answer.h"
#undef realloc
#include "aimed.h"
#include "fault_memory.h"
#include "oom_cases.h"
#include "oom_state.h"
#include "slice.h"

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

static long stride = 11;
static long runs;

void *__wrap_realloc(void *old, size_t bytes)
{
    return fault_memory_strikes(true) ? NULL : __real_realloc(old, bytes);
}

void *__real_calloc(size_t n, size_t each);
void *__wrap_calloc(size_t n, size_t each);

void *__wrap_calloc(size_t n, size_t each)
{
    return fault_memory_strikes(true) ? NULL : __real_calloc(n, each);
}

/* ---- a clock ---- */

static sqlite3_int64 minutes; /* since a day in the year 2430, as SQLite counts them */

static int read_clock(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
    (void)vfs;
    *now = 212000000000000 + 60000 * minutes;
    return SQLITE_OK;
}

/* at(n): the clock shows n minutes. Gives n. */
static void at_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    minutes = sqlite3_value_int64(argv[0]);
    sqlite3_result_int64(context, minutes);
}

/* ---- connections to copies of one database ---- */

static unsigned char *original;
static sqlite3_int64 original_bytes;

static void must(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static sqlite3 *connect_empty(void)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    slice_random();
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_cuckoo_init(db, &message, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_create_function(db, "at", 1, SQLITE_UTF8, NULL, at_function, NULL, NULL),
                     SQLITE_OK);
    must(db, "PRAGMA recursive_triggers = on"); /* else REPLACE deletes rows without a word */
    return db;
}

static sqlite3 *connect_to_copy(void)
{
    enum { FLAGS = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE };
    sqlite3 *db = connect_empty();
    unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)original_bytes);
    memcpy(copy, original, (size_t)original_bytes);
    assert_int_equal(sqlite3_deserialize(db, "main", copy, original_bytes, original_bytes, FLAGS),
                     SQLITE_OK);
    /* for TEMP triggers */
    must(db, "SELECT 1 FROM known LIMIT 0; SELECT 1 FROM fed LIMIT 0; SELECT 1 FROM tight LIMIT 0; "
             "SELECT 1 FROM shown LIMIT 0; SELECT 1 FROM paired LIMIT 0; SELECT at(" BEGINS ")");
    return db;
}

static sqlite3_int64 number_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_int64 number =
        sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    if (sqlite3_finalize(statement) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return number;
}

static void make_aims(sqlite3 *db)
{
    enum { AIMS = 40 };
    char sql[100];
    int64_t k = 0;
    must(db, "PRAGMA page_size = 512; CREATE TABLE aims(i INTEGER PRIMARY KEY, k)");
    for (int i = 0; i < AIMS; i++) {
        k = aimed_from(k + 1);
        snprintf(sql, sizeof sql, "INSERT INTO aims VALUES (%d, %lld)", i, (long long)k);
        must(db, sql);
    }
}

static int make_original(void **state)
{
    sqlite3 *db = connect_empty();
    (void)state;
    make_aims(db);
    for (int i = 0; i < SETUP; i++)
        must(db, setup[i]);
    assert_true(number_of(db, "SELECT sum(adds) FROM tight_wait") > 0);
    assert_true(number_of(db, "SELECT sum(adds) FROM waning_wait") > 0);
    unsigned char *bytes = sqlite3_serialize(db, "main", &original_bytes, 0);
    original = malloc((size_t)original_bytes);
    memcpy(original, bytes, (size_t)original_bytes);
    sqlite3_free(bytes);
    return sqlite3_close(db);
}

/* An answer has bytes, also when there are no rows. */
static answer answer_to(sqlite3 *db, const char *sql)
{
    answer a = answer_of(db, sql);
    answer_append(&a, "", 1);
    return a;
}

/* ---- one run ---- */

typedef struct oom_run {
    const oom_case *c;
    bool in_transaction;
    answer original, before, after, right; /* states, and the answer */
} oom_run;

static void prepare(const oom_run *r, sqlite3 *db)
{
    if (r->in_transaction)
        must(db, r->c->before ? r->c->before : usual);
}

static bool is_error(const oom_case *c)
{
    return strncmp(c->name, "error:", 6) == 0;
}

static void run_without_faults(oom_run *r)
{
    sqlite3 *db = connect_to_copy();
    r->original = state_of(db);
    prepare(r, db);
    r->before = state_of(db);
    r->right = answer_to(db, r->c->sql);
    if ((r->right.code != SQLITE_OK) != is_error(r->c))
        fail_msg("%s answers %d: %.*s", r->c->sql, r->right.code, (int)r->right.used, r->right.bytes);
    r->after = state_of(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static bool is_out_of_memory(int code)
{
    return (code & 0xff) == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;
}

/* SQLite may keep the code of an error and lose its message. */
static bool acceptable(const answer *faulty, const answer *right)
{
    return is_out_of_memory(faulty->code) || answer_equal(faulty, right) ||
           (right->code != SQLITE_OK && faulty->code == right->code);
}

/* When RELEASE cannot commit, SQLite rolls everything back, and still takes the transaction for
** open. */
static bool ends_by_release(const oom_run *r)
{
    return r->in_transaction && strncmp(r->c->sql, "RELEASE", 7) == 0 && r->c->before &&
           r->c->before[0] == 'S';
}

/* The statement was refused: as if it had not been there. Now it works. */
static void expect_undone(const oom_run *r, sqlite3 *db, long n)
{
    bool rolled_back = r->in_transaction && sqlite3_get_autocommit(db);
    if (ends_by_release(r)) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        rolled_back = true;
    }
    must(db, "SELECT at(" BEGINS ")");
    expect_state(db, rolled_back ? &r->original : &r->before, "after out of memory", n);
    if (rolled_back)
        prepare(r, db);
    answer again = answer_to(db, r->c->sql);
    if (!answer_equal(&again, &r->right)) {
        show("is", &again);
        show("should be", &r->right);
        fail_msg("request %ld refused: the connection is broken afterwards: %d: %s", n, again.code,
                 again.code ? again.bytes : "");
    }
    answer_free(&again);
}

static const char *const kind_name[] = {"once", "onwards", "block"};

static long step_of(fault_kind kind)
{
    return kind == FAULT_BLOCK ? 1 + stride / 300 : stride;
}

static long first_of(fault_kind kind)
{
    return slice_first(step_of(kind), (unsigned)runs);
}

/* False when it did not ask that often. */
static bool run_with_fault(const oom_run *r, long n, fault_kind kind)
{
    sqlite3_int64 before = sqlite3_memory_used();
    sqlite3 *db = connect_to_copy();
    prepare(r, db);
    fault_memory_arm(n, kind);
    answer faulty = answer_to(db, r->c->sql);
    long refused = fault_memory_disarm();
    if (!acceptable(&faulty, &r->right)) {
        show("is", &faulty);
        show("should be", &r->right);
        fail_msg("request %ld refused (%s): wrong answer %d: %s", n, kind_name[kind], faulty.code,
                 faulty.code ? faulty.bytes : "");
    }
    if (is_out_of_memory(faulty.code))
        expect_undone(r, db, n);
    bool lost = is_error(r->c) && r->in_transaction &&
                sqlite3_get_autocommit(db); /* out of memory, on its way to another error */
    expect_state(db, lost ? &r->original : &r->after, "at the end", n);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    if (sqlite3_memory_used() != before)
        fail_msg("request %ld refused: %lld bytes are lost", n, sqlite3_memory_used() - before);
    answer_free(&faulty);
    runs++;
    return refused > 0;
}

static void test_statement(void **state)
{
    oom_run r = {.c = *state};
    for (int i = r.c->before != NULL; i < 2; i++) {
        r.in_transaction = i == 1;
        if (r.in_transaction && strcmp(r.c->sql, "VACUUM") == 0)
            return;
        run_without_faults(&r);
        for (fault_kind kind = FAULT_ONCE; kind <= FAULT_BLOCK; kind++)
            for (long n = first_of(kind); run_with_fault(&r, n, kind);)
                n += step_of(kind);
        answer_free(&r.original);
        answer_free(&r.before);
        answer_free(&r.after);
        answer_free(&r.right);
    }
}

/* ---- a script ---- */

/* An application that goes on, whatever fails. */
static bool run_script(long n, fault_kind kind)
{
    sqlite3_int64 before = sqlite3_memory_used();
    sqlite3 *db = connect_to_copy();
    long refused = 0;
    fault_memory_arm(n, kind);
    for (int i = 0; i < SCRIPT; i++) {
        answer a = answer_of(db, script[i]);
        bool fails = strstr(script[i], "/* fails */") && (a.code & 0xff) == SQLITE_CONSTRAINT;
        if (a.code != SQLITE_OK && !fails) {
            refused += fault_memory_disarm();
            if (refused == 0)
                fail_msg("%s: %s", script[i], a.bytes);
            expect_no_row_missed(db, script[i], n);
        }
        answer_free(&a);
    }
    refused += fault_memory_disarm();
    expect_no_row_missed(db, "at the end", n);
    if (!sqlite3_get_autocommit(db))
        must(db, "COMMIT");
    expect_no_row_missed(db, "after COMMIT", n);
    must(db, "INSERT INTO tight(tight) VALUES ('check'); INSERT INTO known(known) VALUES ('check')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_memory_used(), before);
    runs++;
    return refused > 0;
}

static void test_script(void **state)
{
    (void)state;
    for (fault_kind kind = FAULT_ONCE; kind <= FAULT_BLOCK; kind++)
        for (long n = first_of(kind); run_script(n, kind);)
            n += step_of(kind);
}

/* ---- all of it ---- */

enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    struct CMUnitTest tests[CASES + 1];
    memset(tests, 0, sizeof tests);
    for (int i = 0; i < CASES; i++)
        tests[i] =
            (struct CMUnitTest){cases[i].name, test_statement, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    tests[CASES] = (struct CMUnitTest){"script", test_script, NULL, NULL, NULL};
    stride = argc > 1 && strcmp(argv[1], "all") == 0 ? 1 : argc > 1 ? atol(argv[1]) : stride;
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    if (fault_memory_install() != SQLITE_OK) {
        fputs("the allocator could not be installed\n", stderr);
        return 1;
    }
    sqlite3_vfs_find(NULL)->xCurrentTimeInt64 = read_clock;
    int failed =
        cmocka_run_group_tests_name("out of memory: persistent filters", tests, make_original, NULL);
    free(original);
    sqlite3_shutdown();
    printf("# %ld runs\n", runs);
    return failed;
}
