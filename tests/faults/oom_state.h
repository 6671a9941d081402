/* SPDX-License-Identifier: MIT */
/*
** oom_state.h - what the filters of a database hold, to be compared, and whether they miss a row.
*/
#ifndef OOM_STATE_H
#define OOM_STATE_H

#include "answer.h"

#include <stdio.h>

static void append_answer(answer *all, sqlite3 *db, const char *format, const char *name)
{
    char sql[300];
    snprintf(sql, sizeof sql, format, name, name);
    answer a = answer_of(db, sql);
    answer_append(all, &a.code, sizeof a.code);
    if (a.used > 0)
        answer_append(all, a.bytes, a.used);
    answer_free(&a);
}

/* Their names, counts and keys, and that they are sound. Not their bytes: where there was no memory
** to grow, a filter may have grown a key later. */
static answer state_of(sqlite3 *db)
{
    answer all = {0, NULL, 0, 0};
    sqlite3_stmt *names = NULL;
    /* logs have random names */
    append_answer(&all, db,
                  "SELECT type, iif(name LIKE 'cuckoo_log%%', 'log', name) FROM sqlite_schema "
                  "ORDER BY 1, 2; -- %s%s",
                  "");
    append_answer(&all, db, "SELECT count(*), sum(id) FROM users; -- %s%s", "");
    append_answer(&all, db, "SELECT group_concat(k) FROM (SELECT k FROM crowd ORDER BY 1); -- %s%s", "");
    append_answer(&all, db, "SELECT group_concat(id || '=' || quote(k)) FROM people; -- %s%s", "");
    append_answer(&all, db,
                  "SELECT sum(cf_contains(f, k)), cf_contains(f, 99) FROM blobs, keys; -- %s%s", "");
    append_answer(&all, db, "SELECT group_concat(id || key || n) FROM items; -- %s%s", "");
    append_answer(&all, db, "SELECT group_concat(id || key || n) FROM shown; -- %s%s", "");
    append_answer(&all, db, "SELECT group_concat(cf_table_contains('waning', k), '') FROM aims; -- %s%s",
                  "");
    sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1",
                       -1, &names, NULL);
    while (sqlite3_step(names) == SQLITE_ROW) {
        char name[60];
        snprintf(name, sizeof name, "%s", (const char *)sqlite3_column_text(names, 0));
        append_answer(&all, db, "SELECT count(*) FROM %s; -- %s", name);
        append_answer(
            &all, db,
            "SELECT sum(cf_table_contains('%s', k)), sum(cf_table_contains('%s', k + 500)) FROM keys",
            name);
        append_answer(&all, db,
                      "SELECT count(*) FROM keys WHERE EXISTS (SELECT 1 FROM %s WHERE key = k); -- %s",
                      name);
        append_answer(
            &all, db,
            "SELECT value -> 'capacity', value -> 'fingerprint_bits', value -> 'seed', value -> "
            "'value_bits' FROM (SELECT cf_table_info('%s') AS value); -- %s",
            name);
        append_answer(&all, db, "SELECT cf_check(cf_export('%s')); -- %s", name);
    }
    sqlite3_finalize(names);
    return all;
}

/* Of each filter that follows a table, as its trigger names them: rows that it misses, and how far
** its count is off. */
static void expect_no_row_missed(sqlite3 *db, const char *when, long n)
{
    static const char ask[] =
        "WITH f(name, t, sql) AS ("
        "SELECT replace(name, '_inserted', ''), tbl_name, substr(sql, 11 + instr(sql, 'NULL, new.')) "
        "FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%_inserted'), "
        "g(name, t, k) AS (SELECT name, t, substr(sql, 1, instr(sql, '\"') - 1) FROM f) "
        "SELECT printf('SELECT %Q, "
        "(SELECT count(*) FROM \"%w\" WHERE NOT cf_table_contains(%Q, \"%w\")), "
        "(SELECT count(\"%w\") FROM \"%w\") - (SELECT count(*) FROM \"%w\")', "
        "name, t, name, k, k, t, name) FROM g";
    sqlite3_stmt *filters = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, ask, -1, &filters, NULL), SQLITE_OK);
    while (sqlite3_step(filters) == SQLITE_ROW) {
        sqlite3_stmt *rows = NULL;
        const char *sql = (const char *)sqlite3_column_text(filters, 0);
        sqlite3_prepare_v2(db, sql, -1, &rows, NULL);
        if (sqlite3_step(rows) !=
            SQLITE_ROW) { /* an error is no silence: the filter is to be rebuilt, say */
            sqlite3_finalize(rows);
            continue;
        }
        int missed = sqlite3_column_int(rows, 1), off = sqlite3_column_int(rows, 2);
        if (missed != 0 || off != 0)
            fail_msg("request %ld refused, %s: %s misses %d rows, its count is off by %d", n, when,
                     sqlite3_column_text(rows, 0), missed, off);
        sqlite3_finalize(rows);
    }
    assert_int_equal(sqlite3_finalize(filters), SQLITE_OK);
}

/* As text, to be looked at. */
static void show(const char *title, const answer *a)
{
    printf("# %s:", title);
    for (size_t i = 0; i < a->used; i++)
        putchar(a->bytes[i] >= ' ' && a->bytes[i] <= '~' ? a->bytes[i] : '.');
    putchar('\n');
}

static void expect_state(sqlite3 *db, const answer *expected, const char *when, long n)
{
    answer now = state_of(db);
    if (!answer_equal(&now, expected)) {
        show("is", &now);
        show("should be", expected);
        fail_msg("request %ld refused: filters are not what they should be %s", n, when);
    }
    answer_free(&now);
    expect_no_row_missed(db, when, n);
}

#endif
