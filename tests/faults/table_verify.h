/* SPDX-License-Identifier: MIT */
/*
** table_verify.h - do the filters say what the model of table_workload.h knows? count(*), each key
** by function and by SQL, and their own checks. What is not so is described in w->failure.
*/
#ifndef TABLE_VERIFY_H
#define TABLE_VERIFY_H

#include "table_workload.h"

static bool complain(workload *w, const char *what, sqlite3_int64 a, sqlite3_int64 b)
{
    snprintf(w->failure, sizeof w->failure, "%s: %lld, not %lld (%s)", what, a, b,
             sqlite3_errmsg(w->db));
    return false;
}

static bool expect(workload *w, const char *sql, sqlite3_int64 expected)
{
    int rc;
    sqlite3_int64 answer = ask(w, sql, &rc);
    return rc == SQLITE_OK && answer == expected ? true : complain(w, sql, answer, expected);
}

static bool verify_keys(workload *w, const char *table, const uint8_t *keys)
{
    char sql[200];
    sqlite3_stmt *statement = NULL;
    bool ok = true;
    snprintf(sql, sizeof sql,
             "SELECT cf_table_contains('%s', ?1), EXISTS(SELECT 1 FROM %s WHERE key = ?1)", table,
             table);
    if (sqlite3_prepare_v2(w->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return complain(w, sql, 0, 1);
    for (int i = 0; ok && i < UNIVERSE; i++) {
        if (keys[i] == 0)
            continue;
        sqlite3_bind_int(statement, 1, i);
        ok = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1 &&
             sqlite3_column_int(statement, 1) == 1;
        if (!ok)
            complain(w, "key not found", i, i);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return ok;
}

static bool verify_table(workload *w, const char *table, const uint8_t *keys)
{
    char sql[200];
    sqlite3_int64 count = 0;
    for (int i = 0; i < UNIVERSE; i++)
        count += keys[i];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    if (!expect(w, sql, count) || !verify_keys(w, table, keys))
        return false;
    snprintf(sql, sizeof sql, "INSERT INTO %s(%s) VALUES ('check')", table, table);
    return workload_sql(w->db, sql) == SQLITE_OK ? true : complain(w, sql, 0, 0);
}

/* The table is as the model says, and the filter misses none of its rows. */
static bool verify_crowd(workload *w, const model *m)
{
    sqlite3_int64 count = 0, sum = 0;
    for (int i = 0; i < 2 * CROWD; i++) {
        count += m->crowd[i];
        sum += m->crowd[i] * i;
    }
    return expect(w, "SELECT count(*) FROM crowd", count) &&
           expect(w, "SELECT coalesce(sum(i), 0) FROM crowd JOIN aims USING (k)", sum) &&
           (!m->has_tight ||
            (expect(w, "SELECT count(*) FROM crowd WHERE NOT cf_table_contains('tight', k)", 0) &&
             expect(w, "SELECT count(*) FROM crowd WHERE NOT EXISTS (SELECT 1 FROM tight WHERE key = k)",
                    0) &&
             expect(w, "SELECT count(*) FROM tight", count) &&
             workload_sql(w->db, "INSERT INTO tight(tight) VALUES ('check')") == SQLITE_OK));
}

/* No key that was added within keep is missing, and none is there that never was. */
static bool verify_stream(workload *w, const stream *s)
{
    sqlite3_stmt *all = NULL;
    bool ok = true;
    int rc = sqlite3_prepare_v2(
        w->db,
        "SELECT i, cf_table_contains('fading', " STREAM_KEY ") FROM "
        "(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1599) "
        "SELECT i FROM n) AS n",
        -1, &all, NULL);
    while (ok && rc == SQLITE_OK && sqlite3_step(all) == SQLITE_ROW) {
        int key = sqlite3_column_int(all, 0), has = sqlite3_column_int(all, 1);
        ok = has ? s->added[key] != NEVER : !stream_must_have(s, key);
        if (!ok)
            complain(w, has ? "key that was never added" : "key is missed", key, s->added[key]);
    }
    rc = ok ? sqlite3_finalize(all) : (sqlite3_finalize(all), SQLITE_OK);
    rc = rc || !ok ? rc : workload_sql(w->db, "INSERT INTO fading(fading) VALUES ('check')");
    return rc == SQLITE_OK ? ok : complain(w, "fading", rc, 0);
}

/* The rows that front shows are those of users, which are as the model says. */
static bool verify_front(workload *w, const model *m)
{
    sqlite3_int64 count = 0, sum = 0;
    for (int i = 0; i < UNIVERSE; i++) {
        count += m->users[i];
        sum += m->users[i] * i;
    }
    return expect(w, "SELECT count(*) FROM front", count) &&
           expect(w, "SELECT coalesce(sum(id), 0) FROM front WHERE id IN (SELECT id FROM users)", sum) &&
           expect(w,
                  "SELECT count(*) FROM users u WHERE NOT EXISTS (SELECT 1 FROM front WHERE id = u.id)",
                  0) &&
           workload_sql(w->db, "INSERT INTO front(front) VALUES ('check')") == SQLITE_OK;
}

/* What a new connection of this model must find. */
static bool workload_verify_as(workload *w, const model *m)
{
    if (w->wrong[0])
        return complain(w, w->wrong, 0, 0);
    return (!m->has_fading || verify_stream(w, &m->fading)) && (!m->has_front || verify_front(w, m)) &&
           (!m->has_seen || verify_table(w, "seen", m->seen)) &&
           (!m->has_fed || verify_table(w, "fed", m->users)) && (!m->has_crowd || verify_crowd(w, m)) &&
           expect(w, "SELECT x FROM first", m->transactions) && expect(w, "PRAGMA integrity_check", 1) &&
           expect(w, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'",
                  m->has_seen + m->has_fed + m->has_tight + m->has_fading + m->has_front);
}

static bool workload_verify(workload *w)
{
    return workload_verify_as(w, &w->now);
}

#endif
