/* SPDX-License-Identifier: MIT */
/*
** ext_units.c - parts of the extension that need no filter: tokens of SQL (sql_text.c, schema.c),
** sums by key (sums.c), the state of a store, and whether what is in memory is fresh (state.c), names
** that are nearly right (errors.c), and epochs and changed pages of an image (image.c).
**
**      cc -std=c11 -DSQLITE_CORE tests/unit/ext/ext_units.c $(find src ext -name "*.c") -lcmocka ..
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../ext/pages/image.h"
#include "../../../ext/sqlite/errors.h"
#include "../../../ext/follow/schema.h"
#include "../../../ext/follow/sql_text.h"
#include "../../../ext/store/state.h"
#include "../../../ext/keys/sums.h"
#include "../../faults/fault_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sql_text.c, schema.c ---- */

/* Tokens, with '|' behind each. */
static void test_tokens(void **state)
{
    static const struct {
        const char *sql, *tokens;
    } cases[] = {
        {"", ""},
        {" \t\r\n\f", ""},
        {"a,b1 _c$\xc3\xa9", "a|,|b1|_c$\xc3\xa9|"},
        {"a--b\nc/*d*/e", "a|c|e|"},
        {"a/**/b/***/c/*/*/d", "a|b|c|d|"},
        {"a-b/c- -d / *e", "a|-|b|/|c|-|-|d|/|*|e|"},
        {"'it''s' \"a\"\"b\" `c``d` [e]f]", "'it''s'|\"a\"\"b\"|`c``d`|[e]|f|]|"},
        {"'--' \"/*\" x'00' 0x1F 1e5", "'--'|\"/*\"|x|'00'|0x1F|1e5|"},
        {"\xEF\xBB\xBF"
         "a \xEF\xBB\xBF"
         "b",
         "a|b|"},
        {"a 'open", "a|'open|"},
        {"a [open", "a|[open|"},
        {"a 'open''", "a|'open''|"},
        {"a /* open", "a|"},
        {"a -- open", "a|"},
        {"a /*/", "a|"},
        {"'", "'|"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char found[100] = "";
        const char *at = cases[i].sql;
        for (cuckoo_token t = cuckoo_sql_token(&at); t.kind != CUCKOO_TOKEN_END;
             t = cuckoo_sql_token(&at))
            snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s|", (int)t.n, t.at);
        assert_string_equal(found, cases[i].tokens);
        assert_int_equal(*at, 0);
    }
}

static void test_token_names(void **state)
{
    static const char *const same[] = {"a\"b]", "\"a\"\"b]\"", "`A\"b]`", "'a\"B]'", "\"a\"\"b]"};
    static const char *const other[] = {"a",  "\"a\"", "[a\"b]]", "'a\"b]c'", "\"\"",
                                        "''", "\"",    "[",       "a b"};
    (void)state;
    for (size_t i = 1; i < sizeof same / sizeof same[0]; i++)
        assert_true(cuckoo_sql_names(same[i], NULL, same[0]));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_false(cuckoo_sql_names(other[i], NULL, same[0]));
    assert_true(cuckoo_sql_names("insert INTO/**/main . 'T'(a)", "into", "t"));
    assert_true(cuckoo_sql_names("x into \"into\" into t", "into", "t"));
    assert_false(cuckoo_sql_names("insert into a.b select t from t", "into", "t"));
    assert_false(cuckoo_sql_names("'into' t \"into\" t", "into", "t"));
    assert_false(cuckoo_sql_names("into -- t\n x", "into", "t"));
    assert_true(cuckoo_sql_says("a (Raise)", "raise"));
    assert_false(cuckoo_sql_says("\"raise\" 'raise' raised /* raise */", "raise"));
}

static void test_breaks(void **state)
{
    static const struct {
        const char *sql;
        unsigned breaks;
    } cases[] = {
        {"INSERT OR FAIL INTO t VALUES (1)", CUCKOO_SQL_OR_FAIL},
        {"insert/**/or--\nfail\tinto t", CUCKOO_SQL_OR_FAIL},
        {"UPDATE OR\fFAIL t SET a = 1", CUCKOO_SQL_OR_FAIL},
        {"CREATE TABLE t(a UNIQUE ON/**/CONFLICT FAIL)", CUCKOO_SQL_FAILS},
        {"SELECT RAISE ( FAIL , 'x')", CUCKOO_SQL_FAILS},
        {"SELECT raise(/* */ignore)", CUCKOO_SQL_IGNORES},
        {"WHEN RAISE(IGNORE) BEGIN UPDATE OR FAIL t SET a = RAISE(FAIL, '')",
         CUCKOO_SQL_OR_FAIL | CUCKOO_SQL_FAILS | CUCKOO_SQL_IGNORES},
        {"SELECT RAISE(ABORT, 'fail'), RAISE(ROLLBACK, 'or fail')", 0},
        {"INSERT OR IGNORE INTO fail(ignore) VALUES ('insert or fail')", 0},
        {"SELECT a OR fail, conflict fail, \"insert\" or fail FROM t", 0},
        {"INSERT INTO raise(fail, a) SELECT fail FROM raise", 0},
        {"INSERT INTO main.raise(ignore) VALUES (1) /* INSERT OR FAIL */", 0},
        {"CREATE TABLE raise(fail, on_conflict_fail REFERENCES raise(fail, ignore))", 0},
        {"INSERT OR [fail] INTO t; ON CONFLICT \"FAIL\"; RAISE('FAIL', 1)", 0},
        {"INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING -- fail\n", 0},
        {"CREATE TABLE t(a UNIQUE ON CONFLICT IGNORE)", 0},
        {"fail", 0},
        {"", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cuckoo_sql_breaks(cases[i].sql) != cases[i].breaks)
            fail_msg("%s: %u", cases[i].sql, cuckoo_sql_breaks(cases[i].sql));
}

static void test_ours(void **state)
{
    static const char *const ours[] = {
        "CREATE TRIGGER \"f_i\" AFTER INSERT ON \"u\" BEGIN INSERT INTO \"f\"(cuckoo_change, key) VALUES "
        "(1, new.\"raise\"); END",
        "CREATE TRIGGER \"a; END\" AFTER INSERT ON \"select;\" BEGIN INSERT INTO \"f\"(cuckoo_change) "
        "VALUES (1, new.\"a;\"\"b\"); END",
        "CREATE TRIGGER \"f_i\" AFTER INSERT ON \"u\" WHEN new.\"begin\" IS NOT NULL BEGIN INSERT INTO "
        "\"cuckoo_log_00ff\"(\"row\") VALUES (new.\"a;\"\"b\"); SELECT RAISE(ABORT, '') WHERE 0; END"};
    static const char *const others[] = {
        "CREATE TRIGGER a BEFORE INSERT ON u BEGIN INSERT INTO f(cuckoo_change) VALUES (1); END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO f(key, cuckoo_change) VALUES (1, 1); END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO f(cuckoo_change) VALUES (1); SELECT 1; "
        "END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO f(cuckoo_change) SELECT 1; END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO f(cuckoo_change) VALUES (RAISE(IGNORE)); "
        "END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT OR FAIL INTO f(cuckoo_change) VALUES (1); END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO f(cuckoo_change) VALUES (1);",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO \"cuckoo_log_0\" VALUES (1); END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO \"cuckoo_log_0\" VALUES (1); "
        "SELECT RAISE(FAIL, '') WHERE 0; END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO \"cuckoo_log_0\" VALUES (1); "
        "SELECT RAISE(ABORT, '') WHERE 1; END",
        "CREATE TRIGGER a AFTER INSERT ON u BEGIN INSERT INTO \"cuckoo_log_0\" VALUES (1); "
        "SELECT RAISE(ABORT, '') WHERE 0; SELECT 1; END",
        "CREATE TRIGGER",
        ""};
    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        assert_true(cuckoo_schema_is_ours(ours[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (cuckoo_schema_is_ours(others[i]))
            fail_msg("%s", others[i]);
}

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

/* What the table in state.c says: of each life and event, the action and the new life. Rows of USE,
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

static unsigned tables_after(int event, int part)
{
    unsigned before = part != CUCKOO_APART;
    bool ends = event == CUCKOO_COMMITTED || event == CUCKOO_ROLLED_BACK;
    return event == CUCKOO_JOIN ? before + 1 : ends ? 0 : before;
}

static void expect_cell(size_t row, int life, int part)
{
    cuckoo_state at = {
        .life = (cuckoo_life)life, .part = (cuckoo_part)part, .tables = part != CUCKOO_APART};
    int action = cells[row].of[life].action, then = cells[row].of[life].life;
    assert_int_equal(cuckoo_state_event(&at, (cuckoo_event)cells[row].event), action);
    assert_int_equal(at.life, then == SAME ? life : then);
    assert_int_equal(at.part, part_after(cells[row].event, part, life));
    assert_int_equal(at.tables, tables_after(cells[row].event, part));
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

/* With two tables in the transaction the store is apart when both have told of the end. */
static void test_state_tables(void **state)
{
    (void)state;
    for (int end = CUCKOO_COMMITTED; end <= CUCKOO_ROLLED_BACK; end++)
        for (int part = CUCKOO_JOINED; part < PARTS; part++)
            for (int life = 0; life < LIVES; life++) {
                cuckoo_state at = {
                    .life = (cuckoo_life)life, .part = (cuckoo_part)part, .tables = 2};
                cuckoo_state_event(&at, (cuckoo_event)end);
                assert_int_equal(at.part, part);
                assert_int_equal(at.tables, 1);
                cuckoo_state_event(&at, (cuckoo_event)end);
                assert_int_equal(at.part, CUCKOO_APART);
                assert_int_equal(at.tables, 0);
            }
}

/* ---- state.c: is it fresh? ---- */

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
    assert_int_equal(look(two, false), CUCKOO_MAY_BE_STALE);
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

/* ---- errors.c: the nearest name ---- */

static const char *nearest_to(const char *word, const char *const *names)
{
    static cuckoo_nearest nearest;
    nearest = (cuckoo_nearest){.word = word};
    cuckoo_nearest_offer_all(&nearest, names);
    return nearest.found;
}

static void test_nearest_names(void **state)
{
    static const char *const names[] = {"capacity", "growth", "fpr", "bucket_size",
                                        "check",    "off",    "on",  NULL};
    static const struct {
        const char *word, *found;
    } cases[] = {{"capcity", "capacity"},
                 {"capacitty", "capacity"},
                 {"CAPCITY", "capacity"},
                 {"gorwth", "growth"},
                 {"grwoht", "growth"},
                 {"frp", "fpr"},
                 {"fp", "fpr"},
                 {"bucketsize", "bucket_size"},
                 {"bucket", "bucket_size"},
                 {"chekc", "check"},
                 {"of", "off"},
                 {"check", "check"},
                 {"colour", ""},
                 {"ca", ""},
                 {"x", ""},
                 {"", ""},
                 {"onward", ""},
                 {"k", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(nearest_to(cases[i].word, names), cases[i].found);
}

/* The nearest of several is taken, and of equally near ones the first. */
static void test_nearest_of_several(void **state)
{
    static const char *const names[] = {"members", "member", "membrs", NULL};
    (void)state;
    assert_string_equal(nearest_to("membr", names), "member");
    assert_string_equal(nearest_to("memberz", names), "members");
    assert_string_equal(nearest_to("membrs", names), "membrs");
}

/* Names as long as names may be, and longer. */
static void test_nearest_long_names(void **state)
{
    char longest[CUCKOO_NEAREST_MAX + 1], longer[CUCKOO_NEAREST_MAX + 2];
    const char *const both[] = {longer, longest, "", NULL};
    (void)state;
    memset(longest, 'a', sizeof longest);
    memset(longer, 'a', sizeof longer);
    longest[CUCKOO_NEAREST_MAX] = longer[CUCKOO_NEAREST_MAX + 1] = 0;
    assert_string_equal(nearest_to(longest + 1, both), longest);
    assert_string_equal(nearest_to(longer, both), "");
    cuckoo_nearest nearest = {.word = longest};
    assert_string_equal(cuckoo_nearest_hint(&nearest), "");
    cuckoo_nearest_offer(&nearest, longest);
    assert_int_equal(strlen(cuckoo_nearest_hint(&nearest)),
                     strlen("; did you mean ") + CUCKOO_NEAREST_MAX);
}

/* ---- image.c ---- */

/* When all numbers of epochs were used, no page that was read long ago passes for one read now. */
static void test_epochs_begin_anew(void **state)
{
    enum { PAGES = 5 };
    cuckoo_paged paged = {.page_room = PAGES, .header_in = 1, .epoch = UINT32_MAX - 1};
    (void)state;
    paged.page = calloc(PAGES, sizeof *paged.page);
    assert_non_null(paged.page);
    for (uint32_t page = 0; page < PAGES; page++)
        paged.page[page].read_in = page; /* 1: the first epoch */
    for (int turn = 0; turn < 4; turn++) {
        cuckoo_image_forget(&paged);
        assert_true(paged.epoch != 0 && paged.header_in != paged.epoch);
        for (uint32_t page = 0; page < PAGES; page++)
            assert_true(paged.page[page].read_in != paged.epoch);
    }
    cuckoo_image_free(&paged);
}

/* Dirty pages are listed in the order in which they were changed, each once. */
static void test_dirty_pages(void **state)
{
    static const uint64_t marks[] = {3, 1, 3, 4, 1, 4}, want[] = {3, 1, 4};
    cuckoo_paged paged = {.page_room = 5, .epoch = 1};
    (void)state;
    paged.page = calloc(5, sizeof *paged.page);
    assert_non_null(paged.page);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
            cuckoo_image_mark(&paged, marks[i]);
        uint64_t at = paged.first_dirty;
        for (size_t i = 0; i < 3; at = paged.page[at].next, i++)
            assert_int_equal(at, want[i]);
        assert_int_equal(at, 4);
        assert_int_equal(paged.dirty, 3);
        cuckoo_image_forget(&paged);
        assert_int_equal(paged.dirty + paged.first_dirty, 0);
        for (uint64_t page = 0; page < 5; page++)
            assert_int_equal(paged.page[page].next, 0);
    }
    cuckoo_image_free(&paged);
}

#define FRESH_TEST(test) cmocka_unit_test_setup_teardown(test, connect_two, disconnect)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_token_names),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_ours),
        cmocka_unit_test(test_nearest_names),
        cmocka_unit_test(test_nearest_of_several),
        cmocka_unit_test(test_nearest_long_names),
        cmocka_unit_test(test_sums_model),
        cmocka_unit_test(test_sums_large),
        cmocka_unit_test(test_sums_no_memory),
        cmocka_unit_test(test_state_cells),
        cmocka_unit_test(test_state_tables),
        cmocka_unit_test(test_epochs_begin_anew),
        cmocka_unit_test(test_dirty_pages),
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
