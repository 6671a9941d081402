/* SPDX-License-Identifier: MIT */
/*
** ext_units.c - parts of the extension that need no filter: sums by key (sums.c), the state of a store
** (state.c), and whether what is in memory is fresh (fresh.c).
**
**      cc -std=c11 -DSQLITE_CORE tests/faults/ext_units.c src/[a-z]*.c ext/[a-z]*.c -lcmocka -lsqlite3 -lm -o ext_units
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../ext/fresh.h"
#include "../../ext/state.h"
#include "../../ext/sums.h"
#include "fault_memory.h"

#include <stdio.h>
#include <string.h>

/* ---- sums.c ---- */

enum { HASHES = 60 };

/* Hashes of which many want the same place; one of them is 0. */
static uint64_t hash_of(int i)
{
    return i == 0 ? 0 : (uint64_t)(i % 5) + ((uint64_t)i << 40);
}

static unsigned random_below(uint64_t *seed, unsigned n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % n;
}

static void expect_model(const cuckoo_sums *sums, const int32_t *model)
{
    size_t taken = 0;
    int32_t all = 0;
    for (int i = 0; i < HASHES; i++)
        assert_int_equal(cuckoo_sums_of(sums, hash_of(i)), model[i]);
    for (size_t i = 0; i < sums->places; i++) {
        taken += sums->place[i].taken;
        all += sums->place[i].taken ? sums->place[i].sum : 0;
    }
    for (int i = 0; i < HASHES; i++)
        all -= model[i];
    assert_int_equal(taken, sums->used);
    assert_int_equal(all, 0);
}

static void test_sums_model(void **state)
{
    uint64_t seed = 1;
    cuckoo_sums sums = {.place = NULL};
    (void)state;
    assert_int_equal(cuckoo_sums_of(&sums, 0), 0);
    for (int round = 0; round < 300; round++) {
        int32_t model[HASHES] = {0};
        for (int i = 0; i < 200; i++) {
            int which = (int)random_below(&seed, HASHES);
            int32_t more = (int32_t)random_below(&seed, 5) - 2;
            assert_int_equal(cuckoo_sums_add(&sums, hash_of(which), more), SQLITE_OK);
            model[which] += more;
        }
        expect_model(&sums, model);
        cuckoo_sums_clear(&sums);
        memset(model, 0, sizeof model);
        expect_model(&sums, model);
    }
    cuckoo_sums_free(&sums);
    assert_null(sums.place);
}

/* A large table gives its memory back. */
static void test_sums_large(void **state)
{
    cuckoo_sums sums = {.place = NULL};
    (void)state;
    for (uint64_t i = 0; i < 200000; i++)
        assert_int_equal(cuckoo_sums_add(&sums, i * 7919, 1), SQLITE_OK);
    for (uint64_t i = 0; i < 200000; i++)
        assert_int_equal(cuckoo_sums_of(&sums, i * 7919), 1);
    assert_int_equal(sums.used, 200000);
    cuckoo_sums_clear(&sums);
    assert_null(sums.place);
    assert_int_equal(cuckoo_sums_of(&sums, 7919), 0);
}

/* Without memory nothing has changed. */
static void test_sums_no_memory(void **state)
{
    cuckoo_sums sums = {.place = NULL};
    (void)state;
    fault_memory_arm(0, FAULT_ONCE);
    assert_int_equal(cuckoo_sums_add(&sums, 1, 1), SQLITE_NOMEM);
    assert_int_equal(fault_memory_disarm(), 1);
    assert_int_equal(sums.used, 0);
    uint64_t n = 0;
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK; n += rc == SQLITE_OK) {
        if (n > 0)
            fault_memory_arm(0, FAULT_ONWARDS);
        rc = cuckoo_sums_add(&sums, n, 1);
        fault_memory_disarm();
    }
    assert_int_equal(rc, SQLITE_NOMEM);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(cuckoo_sums_of(&sums, i), 1);
    assert_int_equal(cuckoo_sums_of(&sums, n), 0);
    cuckoo_sums_free(&sums);
}

/* ---- state.c ---- */

enum { LIVES = 4, PARTS = 3, EVENTS = CUCKOO_GONE + 1, SAME = -1 };

/* What the table in state.h says: of each life and event, the action and the new life. Rows of USE,
** CHANGED and LOST hold for one part in the transaction; `part` SAME: for all. */
static const struct {
    int event, part;
    struct {
        int action, life;
    } of[LIVES];
} cells[] = {
#define NO {CUCKOO_NOTHING, SAME}
    {CUCKOO_USE, CUCKOO_APART,
     {{CUCKOO_ANEW, CUCKOO_OPEN}, {CUCKOO_LOOK, SAME}, {CUCKOO_REFUSE, SAME}, {CUCKOO_REFUSE, SAME}}},
    {CUCKOO_USE, CUCKOO_JOINED,
     {{CUCKOO_ANEW, CUCKOO_OPEN}, {CUCKOO_LOOK, SAME}, {CUCKOO_REFUSE, SAME}, {CUCKOO_REFUSE, SAME}}},
    {CUCKOO_USE, CUCKOO_CREATED,
     {{CUCKOO_ANEW, CUCKOO_OPEN}, {CUCKOO_ANEW, SAME}, {CUCKOO_REFUSE, SAME}, {CUCKOO_REFUSE, SAME}}},
    {CUCKOO_CHANGED, CUCKOO_APART, {{CUCKOO_WRITE, SAME}, {CUCKOO_WRITE, SAME}, NO, NO}},
    {CUCKOO_CHANGED, CUCKOO_JOINED, {NO, NO, NO, NO}},
    {CUCKOO_CHANGED, CUCKOO_CREATED, {{CUCKOO_WRITE, SAME}, {CUCKOO_WRITE, SAME}, NO, NO}},
    {CUCKOO_JOIN, SAME, {NO, NO, NO, NO}},
    {CUCKOO_SAVEPOINT, SAME, {{CUCKOO_WRITE, SAME}, {CUCKOO_WRITE, SAME}, NO, NO}},
    {CUCKOO_ROLLED_BACK_TO, SAME,
     {{CUCKOO_FORGET, SAME}, {CUCKOO_FORGET, CUCKOO_NEW}, {CUCKOO_FORGET, CUCKOO_NEW}, NO}},
    {CUCKOO_SYNC, SAME, {{CUCKOO_WRITE, SAME}, {CUCKOO_WRITE, SAME}, {CUCKOO_REFUSE, SAME}, NO}},
    {CUCKOO_COMMITTED, SAME, {NO, NO, NO, NO}},
    {CUCKOO_ROLLED_BACK, SAME,
     {{CUCKOO_FORGET, SAME}, {CUCKOO_FORGET, CUCKOO_NEW}, {CUCKOO_FORGET, CUCKOO_NEW}, NO}},
    {CUCKOO_LOST, CUCKOO_APART,
     {{CUCKOO_FORGET, SAME}, {CUCKOO_FORGET, CUCKOO_NEW}, {CUCKOO_FORGET, CUCKOO_NEW}, NO}},
    {CUCKOO_LOST, CUCKOO_JOINED,
     {{CUCKOO_FORGET, SAME}, {CUCKOO_FORGET, CUCKOO_BROKEN}, {CUCKOO_FORGET, SAME}, NO}},
    {CUCKOO_LOST, CUCKOO_CREATED,
     {{CUCKOO_FORGET, SAME}, {CUCKOO_FORGET, CUCKOO_BROKEN}, {CUCKOO_FORGET, SAME}, NO}},
    {CUCKOO_DOUBT, SAME, {NO, {CUCKOO_NOTHING, CUCKOO_NEW}, NO, NO}},
    {CUCKOO_GONE, SAME,
     {{CUCKOO_NOTHING, CUCKOO_DEAD}, {CUCKOO_NOTHING, CUCKOO_DEAD}, {CUCKOO_NOTHING, CUCKOO_DEAD}, NO}},
#undef NO
};

/* The part in the transaction after an event, for a store of which one table takes part. */
static int part_after(int event, int part, int life)
{
    if (event == CUCKOO_JOIN)
        return part == CUCKOO_APART ? CUCKOO_JOINED : part;
    if (event == CUCKOO_SAVEPOINT && part == CUCKOO_CREATED)
        return life == CUCKOO_BROKEN ? CUCKOO_CREATED : CUCKOO_JOINED;
    return event == CUCKOO_COMMITTED || event == CUCKOO_ROLLED_BACK ? CUCKOO_APART : part;
}

static void expect_cell(size_t row, int life, int part)
{
    cuckoo_state at = {(cuckoo_life)life, (cuckoo_part)part, part != CUCKOO_APART};
    int action = cells[row].of[life].action, then = cells[row].of[life].life;
    assert_int_equal(cuckoo_state_event(&at, (cuckoo_event)cells[row].event), action);
    assert_int_equal(at.life, then == SAME ? life : then);
    assert_int_equal(at.part, part_after(cells[row].event, part, life));
}

/* Each cell; and each event has its rows. */
static void test_state_cells(void **state)
{
    bool seen[EVENTS][PARTS] = {{false}};
    (void)state;
    for (size_t row = 0; row < sizeof cells / sizeof cells[0]; row++)
        for (int part = 0; part < PARTS; part++)
            if (cells[row].part == SAME || cells[row].part == part) {
                seen[cells[row].event][part] = true;
                for (int life = 0; life < LIVES; life++)
                    expect_cell(row, life, part);
            }
    for (int i = 0; i < EVENTS * PARTS; i++)
        assert_true(seen[i / PARTS][i % PARTS]);
}

/* A store of two tables is apart when both have told of the end. */
static void test_state_tables(void **state)
{
    cuckoo_state at = {CUCKOO_OPEN, CUCKOO_APART, 0};
    (void)state;
    cuckoo_state_event(&at, CUCKOO_JOIN);
    cuckoo_state_event(&at, CUCKOO_JOIN);
    cuckoo_state_event(&at, CUCKOO_COMMITTED);
    assert_int_equal(at.part, CUCKOO_JOINED);
    cuckoo_state_event(&at, CUCKOO_COMMITTED);
    assert_int_equal(at.part, CUCKOO_APART);
    assert_int_equal(at.tables, 0);
}

/* ---- fresh.c ---- */

typedef struct two_connections {
    sqlite3 *mine, *other;
    cuckoo_shadow shadow;
    cuckoo_fresh fresh;
} two_connections;

static void sql(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

/* Two connections to one database, which the VFS memdb keeps in memory. */
static int connect_two(void **state)
{
    static two_connections two;
    static const char name[] = "file:/fresh?vfs=memdb";
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    two = (two_connections){.fresh = {.changes = 0}};
    assert_int_equal(sqlite3_open_v2(name, &two.mine, flags, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_open_v2(name, &two.other, flags, NULL), SQLITE_OK);
    sql(two.mine, "CREATE TABLE t(x); CREATE TABLE u(x)");
    assert_int_equal(cuckoo_shadow_init(&two.shadow, two.mine, "main", "t"), SQLITE_OK);
    *state = &two;
    return 0;
}

static int disconnect(void **state)
{
    two_connections *two = *state;
    cuckoo_shadow_free(&two->shadow);
    sqlite3_close(two->mine);
    return sqlite3_close(two->other);
}

/* Within a read transaction, as the uses are. */
static cuckoo_stale look(two_connections *two, bool joined)
{
    cuckoo_stale stale;
    bool alone = sqlite3_get_autocommit(two->mine);
    if (alone)
        sql(two->mine, "BEGIN");
    sql(two->mine, "SELECT * FROM u");
    assert_int_equal(cuckoo_fresh_look(&two->fresh, &two->shadow, joined, &stale), SQLITE_OK);
    if (alone)
        sql(two->mine, "COMMIT");
    return stale;
}

static bool is_stale(two_connections *two, bool joined)
{
    return look(two, joined) != CUCKOO_IS_FRESH;
}

static void test_fresh_others(void **state)
{
    two_connections *two = *state;
    is_stale(two, false);
    assert_false(is_stale(two, false));
    sql(two->other, "INSERT INTO u VALUES (1)");
    assert_int_equal(look(two, false), CUCKOO_MAY_BE_STALE); /* the generation tells */
    assert_false(is_stale(two, false));
    sql(two->other, "BEGIN; INSERT INTO u VALUES (1); ROLLBACK");
    assert_false(is_stale(two, false));
}

static void test_fresh_own(void **state)
{
    two_connections *two = *state;
    is_stale(two, false);
    sql(two->mine, "INSERT INTO u VALUES (1)"); /* not ours: a row of any table */
    assert_int_equal(look(two, false), CUCKOO_IS_STALE);
    assert_false(is_stale(two, false));
    sql(two->mine, "INSERT INTO u VALUES (1)");
    cuckoo_fresh_committed(&two->fresh, &two->shadow, true);
    assert_false(is_stale(two, false));
    sql(two->mine, "INSERT INTO u VALUES (1)");
    cuckoo_fresh_committed(&two->fresh, &two->shadow, false); /* it was not looked at */
    assert_false(is_stale(two, false));
}

/* SQLite counts the rows of a statement after it has called xCommit. */
static void commit_and_count_late(two_connections *two)
{
    sql(two->mine, "INSERT INTO u VALUES (1)");
    cuckoo_fresh_committed(&two->fresh, &two->shadow, true);
    two->fresh.changes--;
}

static void test_fresh_late(void **state)
{
    two_connections *two = *state;
    is_stale(two, false);
    commit_and_count_late(two);
    assert_false(is_stale(two, false));
    commit_and_count_late(two);
    sql(two->mine, "INSERT INTO u VALUES (1)"); /* one more commit */
    assert_true(is_stale(two, false));
    commit_and_count_late(two);
    sql(two->mine, "BEGIN; INSERT INTO u VALUES (1)");
    assert_false(cuckoo_fresh_joined(&two->fresh, &two->shadow)); /* not that of one statement */
    assert_true(is_stale(two, false));
    sql(two->mine, "COMMIT");
    is_stale(two, false);
    commit_and_count_late(two);
    assert_true(cuckoo_fresh_joined(&two->fresh, &two->shadow));
    assert_int_equal(two->fresh.changes, sqlite3_total_changes(two->mine));
}

/* SQLite does not tell of the rollback of a transaction in which the table takes no part. */
static void test_fresh_uncommitted(void **state)
{
    two_connections *two = *state;
    is_stale(two, false);
    sql(two->mine, "BEGIN; INSERT INTO u VALUES (1)");
    assert_true(is_stale(two, false));
    assert_true(is_stale(two, false));
    assert_false(is_stale(two, true));
    sql(two->mine, "ROLLBACK");
    assert_true(is_stale(two, false));
    assert_false(is_stale(two, false));
}

#define FRESH_TEST(test) cmocka_unit_test_setup_teardown(test, connect_two, disconnect)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_model),
        cmocka_unit_test(test_sums_large),
        cmocka_unit_test(test_sums_no_memory),
        cmocka_unit_test(test_state_cells),
        cmocka_unit_test(test_state_tables),
        FRESH_TEST(test_fresh_others),
        FRESH_TEST(test_fresh_own),
        FRESH_TEST(test_fresh_late),
        FRESH_TEST(test_fresh_uncommitted),
    };
    if (fault_memory_install() != SQLITE_OK)
        return 1;
    int failed = cmocka_run_group_tests_name("parts of the extension", tests, NULL, NULL);
    sqlite3_shutdown();
    return failed;
}
