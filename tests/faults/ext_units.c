/* SPDX-License-Identifier: MIT */
/*
** ext_units.c - parts of the extension that need no filter: tokens of SQL (sql_text.c, schema.c),
** deletes that wait in memory (deletes.c), what triggers tell of one row (witness.c), changes to be
** made again (redo.c), whether what is in memory is fresh (fresh.c), names that are nearly right
** (nearest.c), and epochs of an image (image.c).
**
**      cc -std=c11 -DSQLITE_CORE tests/faults/ext_units.c src/[a-z]*.c ext/[a-z]*.c -lcmocka -lsqlite3 -lm -o ext_units
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../ext/deletes.h"
#include "../../ext/fresh.h"
#include "../../ext/image.h"
#include "../../ext/nearest.h"
#include "../../ext/redo.h"
#include "../../ext/schema.h"
#include "../../ext/sql_text.h"
#include "../../ext/witness.h"
#include "fault_memory.h"

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
    assert_true(cuckoo_sql_changes_rows(" /* a */ -- b\n WITH c AS (SELECT 1) UPDATE d SET e = 1"));
    assert_false(cuckoo_sql_changes_rows("/* insert */ SELECT 1"));
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
    static const char *const ours[] = {"CREATE TRIGGER \"f_i\" AFTER INSERT ON \"u\" BEGIN INSERT INTO "
                                       "\"f\"(cuckoo_change, key) VALUES (1, "
                                       "new.\"raise\"); END",
                                       "CREATE TRIGGER \"a; END\" AFTER INSERT ON \"select;\" BEGIN "
                                       "INSERT INTO \"f\"(cuckoo_change) VALUES "
                                       "(1, new.\"a;\"\"b\"); END"};
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
        "CREATE TRIGGER",
        ""};
    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        assert_true(cuckoo_schema_is_ours(ours[i]));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (cuckoo_schema_is_ours(others[i]))
            fail_msg("%s", others[i]);
}

/* ---- deletes.c ---- */

enum { HASHES = 40, VALUES = 3 };

/* Hashes of which many want the same place. */
static uint64_t hash_of(int i)
{
    return (uint64_t)(i % 5) + ((uint64_t)i << 40);
}

static void test_deletes_push_cancel(void **state)
{
    cuckoo_deletes deletes = {.place = NULL};
    (void)state;
    assert_false(cuckoo_deletes_cancel(&deletes, 1, 0));
    assert_int_equal(cuckoo_deletes_push(&deletes, 1, 0), SQLITE_OK);
    assert_int_equal(cuckoo_deletes_push(&deletes, 1, 0), SQLITE_OK);
    assert_int_equal(cuckoo_deletes_push(&deletes, 1, 7), SQLITE_OK);
    assert_int_equal(deletes.n, 3);
    assert_int_equal(deletes.used, 2);
    assert_false(cuckoo_deletes_cancel(&deletes, 1, 8));
    assert_false(cuckoo_deletes_cancel(&deletes, 2, 0));
    assert_true(cuckoo_deletes_cancel(&deletes, 1, 0));
    assert_true(cuckoo_deletes_cancel(&deletes, 1, 0));
    assert_false(cuckoo_deletes_cancel(&deletes, 1, 0));
    assert_true(cuckoo_deletes_cancel(&deletes, 1, 7));
    assert_int_equal(deletes.n, 0);
    assert_int_equal(deletes.used, 0);
    cuckoo_deletes_free(&deletes);
}

static uint64_t copies_of(const cuckoo_deletes *deletes, uint64_t hash, uint64_t value)
{
    uint64_t copies = 0;
    for (size_t i = 0; i < deletes->places; i++)
        if (deletes->place[i].hash == hash && deletes->place[i].value == value)
            copies += deletes->place[i].copies;
    return copies;
}

static unsigned random_below(uint64_t *seed, unsigned n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % n;
}

/* Any of the keys: one more, or one less. */
static void push_or_cancel(cuckoo_deletes *deletes, uint64_t *model, uint64_t *seed)
{
    int i = (int)random_below(seed, HASHES), value = (int)random_below(seed, VALUES);
    uint64_t *copies = &model[i * VALUES + value], hash = hash_of(i);
    if (random_below(seed, 2) == 0) {
        assert_int_equal(cuckoo_deletes_cancel(deletes, hash, (uint64_t)value), *copies > 0);
        *copies -= *copies > 0;
    } else {
        assert_int_equal(cuckoo_deletes_push(deletes, hash, (uint64_t)value), SQLITE_OK);
        ++*copies;
    }
}

static void expect_model(const cuckoo_deletes *deletes, const uint64_t *model)
{
    uint64_t n = 0;
    size_t used = 0;
    for (int i = 0; i < HASHES * VALUES; i++) {
        assert_int_equal(copies_of(deletes, hash_of(i / VALUES), (uint64_t)(i % VALUES)), model[i]);
        n += model[i];
        used += model[i] > 0;
    }
    assert_int_equal(deletes->n, n);
    assert_int_equal(deletes->used, used);
}

/* Takes a key out: it is all there was of it. */
static bool pop(cuckoo_deletes *deletes, uint64_t *model)
{
    cuckoo_delete some;
    if (!cuckoo_deletes_pop(deletes, &some))
        return false;
    uint64_t *copies = &model[(some.hash >> 40) * VALUES + some.value];
    assert_int_equal(some.copies, *copies);
    *copies = 0;
    return true;
}

/* Pops in between, as when a savepoint opens and fails; then until nothing is left, or
** forgotten. */
static void test_deletes_model(void **state)
{
    uint64_t seed = 1;
    cuckoo_deletes deletes = {.place = NULL};
    (void)state;
    for (int round = 0; round < 300; round++) {
        uint64_t model[HASHES * VALUES] = {0};
        for (int i = 0; i < 200; i++) {
            push_or_cancel(&deletes, model, &seed);
            if (random_below(&seed, 20) == 0)
                pop(&deletes, model);
        }
        expect_model(&deletes, model);
        if (round % 3 == 0) {
            cuckoo_deletes_clear(&deletes);
            memset(model, 0, sizeof model);
        }
        while (pop(&deletes, model))
            expect_model(&deletes, model);
        assert_int_equal(deletes.n + deletes.used, 0);
    }
    cuckoo_deletes_free(&deletes);
    assert_null(deletes.place);
}

/* Without memory nothing has changed, and keys that are there already need none. */
static void test_deletes_no_memory(void **state)
{
    cuckoo_deletes deletes = {.place = NULL};
    (void)state;
    fault_memory_arm(0, FAULT_ONCE);
    assert_int_equal(cuckoo_deletes_push(&deletes, 1, 0), SQLITE_NOMEM);
    assert_int_equal(fault_memory_disarm(), 1);
    assert_int_equal(deletes.n, 0);
    uint64_t n = 0;
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK; n += rc == SQLITE_OK) {
        if (n > 0)
            fault_memory_arm(0, FAULT_ONWARDS);
        rc = cuckoo_deletes_push(&deletes, n, 0);
        fault_memory_disarm();
    }
    assert_int_equal(rc, SQLITE_NOMEM);
    assert_int_equal(deletes.n, n);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(copies_of(&deletes, i, 0), 1);
    cuckoo_deletes_free(&deletes);
}

/* Many keys should become rows, not many copies of one. */
static void test_deletes_many(void **state)
{
    enum { MOST = 1 << 20 };
    cuckoo_deletes deletes = {.place = NULL};
    (void)state;
    for (int i = 0; i < 100000; i++)
        assert_int_equal(cuckoo_deletes_push(&deletes, 5, 0), SQLITE_OK);
    assert_false(cuckoo_deletes_many(&deletes));
    uint64_t i = 0;
    for (; i < MOST && !cuckoo_deletes_many(&deletes); i++)
        assert_int_equal(cuckoo_deletes_push(&deletes, i * 7919, 0), SQLITE_OK);
    assert_in_range(i, 1000, MOST - 1);
    cuckoo_deletes_clear(&deletes);
    assert_false(cuckoo_deletes_many(&deletes));
    assert_false(cuckoo_deletes_cancel(&deletes, 5, 0));
    cuckoo_deletes_free(&deletes);
}

/* ---- witness.c ---- */

enum { NOWHERE = -1 };

/* Row 6 goes from one key to another; how that fits. *step: the whole way. */
static cuckoo_fit tell(cuckoo_witness *witness, int64_t row, int from, int to, cuckoo_step *step)
{
    cuckoo_fit fit;
    cuckoo_step *way;
    *step = (cuckoo_step){.from_is = from != NOWHERE,
                          .to_is = to != NOWHERE,
                          .from = (uint64_t)(from + 1),
                          .to = (uint64_t)(to + 1)};
    assert_int_equal(cuckoo_witness_tell(witness, row, step, &way, &fit), SQLITE_OK);
    *step = *way;
    return fit;
}

static void expect_way(const cuckoo_step *step, int from, int to)
{
    assert_int_equal(step->from_is, from != NOWHERE);
    assert_int_equal(step->to_is, to != NOWHERE);
    if (from != NOWHERE)
        assert_int_equal(step->from, from + 1);
    if (to != NOWHERE)
        assert_int_equal(step->to, to + 1);
}

static void test_witness_steps(void **state)
{
    static const struct {
        int from, to, then_from, then_to;
        cuckoo_fit fit;
        int way_from, way_to;
    } cases[] = {
        {1, 2, 2, 3, CUCKOO_FITS_IF_THERE, 1, 3},             /* it goes on */
        {1, 2, 2, NOWHERE, CUCKOO_FITS_IF_THERE, 1, NOWHERE}, /* and ends */
        {1, NOWHERE, NOWHERE, 4, CUCKOO_FITS_IF_THERE, 1, 4}, /* and begins again */
        {2, 3, 1, 2, CUCKOO_FITS_IF_THERE, 1, 3},             /* told late */
        {1, 3, NOWHERE, 1, CUCKOO_FITS_IF_THERE, NOWHERE, 3}, /* an insertion, told late */
        {1, 2, 1, 3, CUCKOO_MISFITS, 1, 3},                   /* it was not there any more */
        {1, 2, 3, NOWHERE, CUCKOO_MISFITS, 3, NOWHERE},
        {1, NOWHERE, 1, NOWHERE, CUCKOO_MISFITS, 1, NOWHERE}, /* deleted twice */
        {1, 2, NOWHERE, 5, CUCKOO_FITS, 1, 5},                /* REPLACE has deleted it without a word */
        {NOWHERE, NOWHERE, NOWHERE, 1, CUCKOO_FITS_IF_THERE, NOWHERE, 1},
        {1, 2, 2, 1, CUCKOO_FITS_EITHER, 1, 1},             /* back, or told late */
        {1, NOWHERE, NOWHERE, 1, CUCKOO_FITS_EITHER, 1, 1}, /* the same of a deletion */
        {1, 1, 1, 1, CUCKOO_FITS_IF_THERE, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cuckoo_witness witness = {.seen = NULL};
        cuckoo_step step;
        assert_int_equal(tell(&witness, 6, cases[i].from, cases[i].to, &step), CUCKOO_FITS);
        expect_way(&step, cases[i].from, cases[i].to);
        assert_int_equal(tell(&witness, 6, cases[i].then_from, cases[i].then_to, &step), cases[i].fit);
        expect_way(&step, cases[i].way_from, cases[i].way_to);
        cuckoo_witness_free(&witness);
    }
}

/* Rows do not know of each other, and none is forgotten, however many there are. */
static void test_witness_rows(void **state)
{
    static const int64_t rows[] = {0, 1, -1, INT64_MAX, INT64_MIN + 5, 4000};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    cuckoo_witness witness = {.seen = NULL};
    cuckoo_step step;
    (void)state;
    for (int i = 0; i < ROWS - 1; i++)
        assert_int_equal(tell(&witness, rows[i], i, i + 10, &step), CUCKOO_FITS);
    assert_int_equal(tell(&witness, rows[0], 10, 20, &step), CUCKOO_FITS_IF_THERE);
    expect_way(&step, 0, 20);
    assert_int_equal(tell(&witness, rows[1], 7, 8, &step), CUCKOO_MISFITS);
    for (int64_t row = 100; row < 100000; row++)
        assert_int_equal(tell(&witness, row, 1, 2, &step), CUCKOO_FITS);
    for (int64_t row = 100; row < 100000; row++)
        assert_int_equal(tell(&witness, row, 2, 3, &step), CUCKOO_FITS_IF_THERE);
    assert_int_equal(tell(&witness, rows[0], 20, 8, &step), CUCKOO_FITS_IF_THERE);
    expect_way(&step, 0, 8);
    assert_int_equal(tell(&witness, rows[0], 7, 8, &step), CUCKOO_MISFITS);
    cuckoo_witness_free(&witness);
}

/* A key that went without a word: its deletion may be told later, and no other one. */
static void test_witness_holes(void **state)
{
    cuckoo_step step;
    (void)state;
    for (int told = 2; told <= 3; told++) {
        cuckoo_witness witness = {.seen = NULL};
        tell(&witness, 6, 1, 2, &step);
        assert_int_equal(tell(&witness, 6, NOWHERE, 5, &step), CUCKOO_FITS);
        assert_int_equal(tell(&witness, 6, told, NOWHERE, &step),
                         told == 2 ? CUCKOO_FITS_IF_THERE : CUCKOO_MISFITS);
        assert_int_equal(tell(&witness, 6, 2, NOWHERE, &step), CUCKOO_MISFITS);
        cuckoo_witness_free(&witness);
    }
}

/* Steps behind a mark are undone with its savepoint. After other savepoints nothing is believed. */
static void test_witness_marks(void **state)
{
    cuckoo_witness witness = {.seen = NULL};
    cuckoo_step step;
    (void)state;
    cuckoo_witness_roll_back(&witness, 0);
    tell(&witness, 6, 1, 2, &step);
    cuckoo_witness_set_mark(&witness, 3);
    cuckoo_witness_set_mark(&witness, 4); /* within it */
    tell(&witness, 6, 2, 3, &step);
    tell(&witness, 6, 3, 4, &step);
    tell(&witness, 7, 8, 9, &step);
    cuckoo_witness_release(&witness, 4);
    cuckoo_witness_roll_back(&witness, 3);
    cuckoo_witness_release(&witness, 3);
    assert_int_equal(tell(&witness, 6, 2, 5, &step), CUCKOO_FITS_IF_THERE);
    expect_way(&step, 1, 5);
    assert_int_equal(tell(&witness, 7, 3, 4, &step), CUCKOO_FITS);
    cuckoo_witness_set_mark(&witness, 3);
    tell(&witness, 7, 4, 5, &step);
    cuckoo_witness_release(&witness, 3);
    assert_int_equal(tell(&witness, 7, 5, 6, &step), CUCKOO_FITS_IF_THERE);
    cuckoo_witness_roll_back(&witness, 2);
    assert_int_equal(tell(&witness, 7, 6, 7, &step), CUCKOO_MISFITS);
    assert_int_equal(tell(&witness, 9, NOWHERE, 7, &step), CUCKOO_FITS);
    cuckoo_witness_free(&witness);
}

static void test_witness_clear(void **state)
{
    cuckoo_witness witness = {.seen = NULL};
    cuckoo_step step;
    (void)state;
    cuckoo_witness_clear(&witness);
    tell(&witness, 6, 1, 2, &step);
    cuckoo_witness_clear(&witness);
    assert_int_equal(tell(&witness, 6, 8, 9, &step), CUCKOO_FITS);
    cuckoo_witness_free(&witness);
    assert_null(witness.seen);
}

static void test_witness_no_memory(void **state)
{
    cuckoo_fit fit;
    cuckoo_step *way;
    cuckoo_witness witness = {.seen = NULL};
    cuckoo_step step = {.from_is = true, .to_is = true, .from = 1, .to = 2};
    (void)state;
    fault_memory_arm(0, FAULT_ONCE);
    assert_int_equal(cuckoo_witness_tell(&witness, 6, &step, &way, &fit), SQLITE_NOMEM);
    fault_memory_disarm();
    assert_int_equal(tell(&witness, 6, 3, 4, &step), CUCKOO_FITS);
    cuckoo_witness_free(&witness);
}

/* ---- redo.c ---- */

static void note(cuckoo_redo *redo, uint64_t from, uint64_t to)
{
    for (uint64_t hash = from; hash <= to; hash++)
        cuckoo_redo_add(redo, CUCKOO_REDO_ADD, hash, 0);
}

/* The notes, as a text, from the first one that the database does not have. */
static const char *notes(const cuckoo_redo *redo)
{
    static char text[64];
    size_t at = 0;
    for (size_t i = redo->from; i < redo->n; i++)
        at += (size_t)sprintf(text + at, "%d", (int)redo->note[i].hash);
    sprintf(text + at, "%s%s", redo->stale ? " stale" : "", redo->partial ? " partial" : "");
    return text;
}

static void test_redo_roll_back(void **state)
{
    cuckoo_redo redo = {.note = NULL};
    (void)state;
    note(&redo, 1, 3);
    cuckoo_redo_set_mark(&redo, 1);
    note(&redo, 4, 5);
    assert_string_equal(notes(&redo), "12345");
    cuckoo_redo_roll_back(&redo, 1);
    assert_string_equal(notes(&redo), "123 stale");
    cuckoo_redo_add(&redo, CUCKOO_REDO_ADD, 1, 0); /* while they are done again */
    assert_string_equal(notes(&redo), "123 stale");
    cuckoo_redo_release(&redo, 1);
    assert_string_equal(notes(&redo), "123 stale");
    cuckoo_redo_written(&redo);
    assert_string_equal(notes(&redo), "");
    cuckoo_redo_free(&redo);
}

/* What was written within a statement goes when that is rolled back. */
static void test_redo_written_within(void **state)
{
    cuckoo_redo redo = {.note = NULL};
    (void)state;
    note(&redo, 1, 3);
    cuckoo_redo_set_mark(&redo, 1);
    note(&redo, 4, 5);
    cuckoo_redo_written(&redo); /* savepoint 2 opens */
    assert_false(redo.idle);
    note(&redo, 6, 7);
    assert_string_equal(notes(&redo), "67");
    cuckoo_redo_roll_back(&redo, 2);
    assert_string_equal(notes(&redo), "");
    note(&redo, 8, 9);
    cuckoo_redo_roll_back(&redo, 1);
    assert_string_equal(notes(&redo), "123 stale");
    cuckoo_redo_roll_back(&redo, 0);
    assert_string_equal(notes(&redo), "");
    assert_false(redo.marked);
    cuckoo_redo_free(&redo);
}

static void test_redo_release(void **state)
{
    cuckoo_redo redo = {.note = NULL};
    (void)state;
    note(&redo, 1, 2);
    cuckoo_redo_set_mark(&redo, 1);
    note(&redo, 3, 3);
    cuckoo_redo_release(&redo, 2); /* within it */
    assert_true(redo.marked);
    cuckoo_redo_release(&redo, 1);
    assert_string_equal(notes(&redo), "123");
    cuckoo_redo_set_mark(&redo, 1);
    cuckoo_redo_written(&redo);
    note(&redo, 4, 5);
    cuckoo_redo_release(&redo, 1);
    assert_string_equal(notes(&redo), "45");
    assert_int_equal(redo.from, 0);
    cuckoo_redo_clear(&redo);
    assert_string_equal(notes(&redo), "");
    cuckoo_redo_free(&redo);
}

static void test_redo_partial(void **state)
{
    cuckoo_redo redo = {.note = NULL};
    (void)state;
    fault_memory_arm(0, FAULT_ONCE);
    note(&redo, 1, 3);
    fault_memory_disarm();
    assert_string_equal(notes(&redo), " partial");
    cuckoo_redo_written(&redo);
    note(&redo, 1, 1 << 20);
    assert_true(redo.partial);
    cuckoo_redo_written(&redo);
    assert_string_equal(notes(&redo), "");
    cuckoo_redo_free(&redo);
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
    two = (two_connections){.fresh = {.known = false}};
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
static bool is_stale(two_connections *two, bool joined)
{
    bool stale, alone = sqlite3_get_autocommit(two->mine);
    if (alone)
        sql(two->mine, "BEGIN");
    sql(two->mine, "SELECT * FROM u");
    assert_int_equal(cuckoo_fresh_look(&two->fresh, &two->shadow, joined, &stale), SQLITE_OK);
    if (alone)
        sql(two->mine, "COMMIT");
    return stale;
}

static void test_fresh_others(void **state)
{
    two_connections *two = *state;
    assert_true(is_stale(two, false)); /* nothing is known yet */
    assert_false(is_stale(two, false));
    sql(two->other, "INSERT INTO u VALUES (1)");
    assert_true(is_stale(two, false));
    assert_false(is_stale(two, false));
    sql(two->other, "BEGIN; INSERT INTO u VALUES (1); ROLLBACK");
    assert_false(is_stale(two, false));
}

static void test_fresh_own(void **state)
{
    two_connections *two = *state;
    is_stale(two, false);
    sql(two->mine, "INSERT INTO u VALUES (1)"); /* not ours: a row of any table */
    assert_true(is_stale(two, false));
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
    cuckoo_fresh_joined(&two->fresh, &two->shadow); /* not the transaction of one statement */
    assert_true(is_stale(two, false));
    sql(two->mine, "COMMIT");
    is_stale(two, false);
    commit_and_count_late(two);
    cuckoo_fresh_joined(&two->fresh, &two->shadow);
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

/* ---- nearest.c ---- */

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
    cuckoo_paged paged;
    (void)state;
    cuckoo_image_init(&paged);
    paged.page_room = PAGES;
    paged.read_in = calloc(PAGES, sizeof *paged.read_in);
    assert_non_null(paged.read_in);
    for (uint32_t page = 0; page < PAGES; page++)
        paged.read_in[page] = page; /* 1: the first epoch */
    paged.header_in = 1;
    paged.epoch = UINT32_MAX - 1;
    for (int turn = 0; turn < 4; turn++) {
        cuckoo_image_forget(&paged);
        assert_true(paged.epoch != 0 && paged.header_in != paged.epoch);
        for (uint32_t page = 0; page < PAGES; page++)
            assert_true(paged.read_in[page] != paged.epoch);
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
        cmocka_unit_test(test_deletes_push_cancel),
        cmocka_unit_test(test_deletes_model),
        cmocka_unit_test(test_deletes_no_memory),
        cmocka_unit_test(test_deletes_many),
        cmocka_unit_test(test_witness_steps),
        cmocka_unit_test(test_witness_rows),
        cmocka_unit_test(test_witness_holes),
        cmocka_unit_test(test_witness_marks),
        cmocka_unit_test(test_witness_clear),
        cmocka_unit_test(test_witness_no_memory),
        cmocka_unit_test(test_redo_roll_back),
        cmocka_unit_test(test_redo_written_within),
        cmocka_unit_test(test_redo_release),
        cmocka_unit_test(test_redo_partial),
        cmocka_unit_test(test_nearest_names),
        cmocka_unit_test(test_nearest_of_several),
        cmocka_unit_test(test_nearest_long_names),
        cmocka_unit_test(test_epochs_begin_anew),
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
