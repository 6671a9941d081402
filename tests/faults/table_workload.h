/* SPDX-License-Identifier: MIT */
/*
** table_workload.h - lists of steps on persistent filters, and a model of what these must hold
** afterwards.
**
** `seen` has its keys inserted; `fed` follows the column of the table `users`; `tight` follows
** `crowd`, whose numbers are aimed at one pair of buckets (aimed.h), so that some wait for a place;
** `fading` forgets (stream_model.h); `front` shows the rows of users. Keys are whole numbers below UNIVERSE; those of crowd stand for the numbers that the table
** aims(i, k) has for them: from CROWD on they are the negative ones. Of each the model knows how
** often it is there: after the last COMMIT, now, and at the savepoint. Each transaction also counts
** itself in an ordinary table, `first`: SQLite says that some COMMITs have failed that have not
** (the journal was gone, but the database file could not be made shorter). What is true of that
** table has to be true of the filters.
**
**      workload_step(w, i)         runs step i and changes the model accordingly, also when it fails
**      workload_verify(w)          (table_verify.h) asks the filters for everything that the model knows
*/
#ifndef TABLE_WORKLOAD_H
#define TABLE_WORKLOAD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "stream_model.h"

typedef enum step_kind {
    MAKE_SEEN,
    MAKE_USERS,
    MAKE_FED,
    MAKE_CROWD,
    MAKE_TIGHT,
    MAKE_FADING,
    MAKE_FRONT,
    BEGIN,
    COMMIT,
    ROLLBACK,
    SAVEPOINT,
    ROLLBACK_TO,
    RELEASE,
    ADD,        /* keys from..to to seen, in one statement */
    TAKE,       /* the same, deleted */
    MOVE,       /* key `from` becomes `to` */
    JOIN_USERS, /* users from..to */
    LEAVE_USERS,
    MOVE_USERS, /* users from..to get a number larger by 800 */
    SPOIL,      /* users from..to join, and then the statement fails */
    JOIN_CROWD, /* numbers from..to */
    LEAVE_CROWD,
    MOVE_CROWD, /* they become negative */
    REBUILD_CROWD,
    OPTIMIZE,
    CLEAR,
    CHECK,
    REBUILD,
    DRAIN,  /* the logs of fed and tight */
    IMPORT, /* seen becomes what fed is */
    DROP_SEEN,
    FADE,   /* keys from..to to fading, in one statement */
    IGNORE, /* key `from`, if it is new */
    AGE,    /* `from` minutes pass, or less than none */
    CLOCK,
    OPTIMIZE_FADING,
    ASK,      /* front for each of the users from..to */
    ASK_LIST, /* for all of them at once */
    SWAP,     /* another connection, which is opened, takes turns */
    EACH = 64 /* with ADD, TAKE, IGNORE: one statement for each key */
} step_kind;

typedef struct step {
    int kind, from, to;
} step;

typedef struct model {
    bool has_seen, has_users, has_fed, has_crowd, has_tight, has_fading, has_front;
    int transactions;
    uint8_t seen[UNIVERSE], users[UNIVERSE], crowd[2 * CROWD];
    stream fading;
} model;

typedef struct step_list {
    const char *name;
    const step *steps;
    int n;
} step_list;

typedef struct workload {
    sqlite3 *db, *other;
    const step_list *list;
    int (*connect)(sqlite3 **db);
    model committed, now, saved;
    model after; /* what the statement under way would make of it, */
    bool ends;   /* and commit */
    bool has_savepoint;
    char wrong[100];   /* what a step answered that it should not have */
    char failure[300]; /* of workload_verify */
} workload;

static const step table_steps[] = {
    {MAKE_SEEN, 0, 0},
    {MAKE_USERS, 0, 0},
    {MAKE_FED, 0, 0},
    {ADD, 0, 99},
    {ADD | EACH, 100, 103},
    {BEGIN, 0, 0},
    {ADD | EACH, 104, 119},
    {COMMIT, 0, 0},
    {BEGIN, 0, 0},
    {ADD, 200, 200},
    {SAVEPOINT, 0, 0},
    {ADD, 201, 240},
    {TAKE, 0, 9},
    {ROLLBACK_TO, 0, 0},
    {ADD | EACH, 241, 243},
    {COMMIT, 0, 0},
    {MOVE, 20, 1020},
    {JOIN_USERS, 0, 59},
    {LEAVE_USERS, 10, 19},
    {MOVE_USERS, 20, 29},
    {ADD, 300, 500}, /* grows */
    {BEGIN, 0, 0},
    {ADD | EACH, 700, 720},
    {ROLLBACK, 0, 0},
    {BEGIN, 0, 0},
    {ADD | EACH, 740, 790}, /* grows key by key */
    {COMMIT, 0, 0},
    {BEGIN, 0, 0},
    {ADD, 800, 801},
    {SAVEPOINT, 0, 0},
    {ADD, 810, 1000}, /* growth that is taken back */
    {ROLLBACK_TO, 0, 0},
    {ADD, 1100, 1100},
    {RELEASE, 0, 0},
    {TAKE | EACH, 300, 310},
    {COMMIT, 0, 0},
    {TAKE, 320, 450},
    {OPTIMIZE, 0, 0},
    {BEGIN, 0, 0},
    {JOIN_USERS, 100, 300}, /* fed grows, by triggers */
    {SAVEPOINT, 0, 0},
    {LEAVE_USERS, 100, 150},
    {ROLLBACK_TO, 0, 0},
    {MOVE_USERS, 160, 170},
    {COMMIT, 0, 0},
    {REBUILD, 0, 0},
    {BEGIN, 0, 0},
    {CLEAR, 0, 0},
    {ADD, 0, 30},
    {ROLLBACK, 0, 0},
    {BEGIN, 0, 0},
    {MOVE, 21, 1021},
    {CLEAR, 0, 0},
    {ADD, 0, 150},
    {COMMIT, 0, 0},
    {BEGIN, 0, 0},
    {SAVEPOINT, 0, 0},
    {IMPORT, 0, 0},
    {ROLLBACK_TO, 0, 0},
    {ADD | EACH, 1200, 1201},
    {COMMIT, 0, 0},
    {IMPORT, 0, 0},
    {ADD, 1300, 1310},
    {CHECK, 0, 0},
    {DROP_SEEN, 0, 0},
    {MAKE_SEEN, 0, 0},
    {ADD, 0, 20},
    {MAKE_CROWD, 0, 0},
    {JOIN_CROWD, 0, 23},
    {MAKE_TIGHT, 0, 0},
    {JOIN_CROWD, 24, 30},
    {BEGIN, 0, 0},
    {LEAVE_CROWD, 0, 3},
    {MOVE_USERS, 30, 39},
    {JOIN_CROWD, 31, 33},
    {SAVEPOINT, 0, 0},
    {MOVE_CROWD, 10, 15},
    {LEAVE_USERS, 40, 49},
    {JOIN_CROWD, 34, 36},
    {ROLLBACK_TO, 0, 0},
    {MOVE_CROWD, 13, 16},
    {SAVEPOINT, 0, 0},
    {LEAVE_CROWD, 8, 9},
    {JOIN_CROWD, 0, 1},
    {COMMIT, 0, 0}, /* deletes are rows */
    {BEGIN, 0, 0},
    {MOVE_CROWD, 17, 20},
    {SAVEPOINT, 0, 0},
    {LEAVE_CROWD, 0, 39},
    {LEAVE_USERS, 0, 400},
    {ROLLBACK, 0, 0},
    {LEAVE_CROWD, 21, 22},
    {MOVE_CROWD, 23, 24},
    {REBUILD_CROWD, 0, 0},
    {BEGIN, 0, 0},
    {JOIN_USERS, 500, 520},
    {LEAVE_USERS, 160, 165},
    {SPOIL, 600, 610}, /* what came before is changed again */
    {LEAVE_USERS, 500, 505},
    {JOIN_CROWD, 0, 3},
    {SPOIL, 600, 603},
    {MOVE_USERS, 510, 512},
    {SPOIL, 600, 601},
    {COMMIT, 0, 0},
    {JOIN_USERS, 700, 709}, /* they wait in the log */
    {JOIN_CROWD, 25, 28},
    {DRAIN, 0, 0},
    {LEAVE_USERS, 700, 703},
    {JOIN_USERS, 710, 719},
    {BEGIN, 0, 0},
    {MOVE_CROWD, 25, 26},
    {SAVEPOINT, 0, 0},
    {DRAIN, 0, 0},
    {MOVE_USERS, 704, 709},
    {LEAVE_CROWD, 27, 28},
    {ROLLBACK_TO, 0, 0},
    {DRAIN, 0, 0},
    {LEAVE_USERS, 710, 712},
    {COMMIT, 0, 0},
    {DRAIN, 0, 0},
    {JOIN_USERS, 720, 722},
};

/* Sweeps, keys without a place and growth, also in one transaction; a front over what changes. */
static const step stream_steps[] = {
    {MAKE_FADING, 0, 0},
    {FADE, 100, 160},
    {AGE, 1590, 0},
    {SWAP, 0, 0},
    {FADE, 161, 170},
    {AGE, 25, 0},
    {FADE, 171, 171},
    {AGE, 7, 0}, /* the first ones are dead, and a sweep begins */
    {BEGIN, 0, 0},
    {FADE, 172, 172},
    {FADE, 0, 27},
    {FADE, 300, 330},
    {COMMIT, 0, 0},
    {IGNORE | EACH, 120, 124},
    {IGNORE | EACH, 168, 175},
    {SWAP, 0, 0},
    {AGE, 3, 0},
    {BEGIN, 0, 0},
    {FADE, 361, 362},
    {SAVEPOINT, 0, 0},
    {FADE, 28, 33},
    {FADE, 400, 430},
    {ROLLBACK_TO, 0, 0},
    {FADE, 363, 364},
    {COMMIT, 0, 0},
    {SWAP, 0, 0},
    {AGE, 100, 0},
    {FADE, 34, 36},
    {BEGIN, 0, 0},
    {AGE, 30, 0},
    {FADE, 500, 540},
    {ROLLBACK, 0, 0},
    {AGE, -200, 0},
    {FADE, 365, 366},
    {CLOCK, 0, 0},
    {FADE, 367, 367},
    {SWAP, 0, 0},
    {FADE | EACH, 171, 175},
    {AGE, 1540, 0}, /* what waits is dead */
    {FADE, 600, 605},
    {AGE, 20, 0},
    {IGNORE | EACH, 0, 2},
    {OPTIMIZE_FADING, 0, 0},
    {AGE, 9000, 0}, /* all is */
    {FADE, 610, 612},
    {SWAP, 0, 0},
    {IGNORE | EACH, 611, 614},
    {MAKE_USERS, 0, 0},
    {JOIN_USERS, 0, 59},
    {MAKE_FRONT, 0, 0},
    {ASK, 50, 65},
    {SWAP, 0, 0},
    {ASK, 0, 9},
    {JOIN_USERS, 100, 139},
    {ASK, 95, 105},
    {SWAP, 0, 0},
    {ASK, 130, 145},
    {ASK_LIST, 50, 120},
    {BEGIN, 0, 0},
    {LEAVE_USERS, 100, 110},
    {ASK, 98, 112},
    {SAVEPOINT, 0, 0},
    {MOVE_USERS, 0, 9},
    {ASK_LIST, 795, 815},
    {ROLLBACK_TO, 0, 0},
    {ASK, 0, 12},
    {COMMIT, 0, 0},
    {SWAP, 0, 0},
    {ASK, 105, 115},
    {MOVE_USERS, 20, 29},
    {SWAP, 0, 0},
    {ASK, 815, 825},
    {ASK_LIST, 0, 1599},
};

#define STEPS_OF(steps) steps, sizeof steps / sizeof steps[0]
static const step_list lists[] = {{"tables", STEPS_OF(table_steps)},
                                  {"streams", STEPS_OF(stream_steps)}};

/* ---- the model ---- */

static void add_all(uint8_t *keys, int from, int to, int change)
{
    for (int i = from; i <= to; i++)
        keys[i] = (uint8_t)(keys[i] + change);
}

static void move_users(uint8_t *users, int from, int to)
{
    for (int i = from; i <= to; i++) {
        users[i + 800] = (uint8_t)(users[i + 800] + users[i]);
        users[i] = 0;
    }
}

static void move_crowd(uint8_t *crowd, int from, int to)
{
    for (int i = from; i <= to; i++) {
        crowd[i + CROWD] |= crowd[i];
        crowd[i] = 0;
    }
}

static void apply_others(model *m, step s)
{
    size_t n = (size_t)(s.to - s.from + 1);
    if (s.kind == MAKE_CROWD)
        m->has_crowd = true;
    else if (s.kind == MAKE_TIGHT)
        m->has_tight = true;
    else if (s.kind == MAKE_FADING)
        m->has_fading = true;
    else if (s.kind == MAKE_FRONT)
        m->has_front = true;
    else if (s.kind == FADE || s.kind == IGNORE)
        stream_add(&m->fading, s.from, s.to, s.kind == IGNORE);
    else if (s.kind == CLOCK)
        stream_set_clock(&m->fading);
    else if (s.kind == MOVE_CROWD)
        move_crowd(m->crowd, s.from, s.to);
    else if (s.kind == JOIN_CROWD || s.kind == LEAVE_CROWD)
        memset(m->crowd + s.from, s.kind == JOIN_CROWD, n);
}

static void apply(model *m, step s)
{
    switch (s.kind & ~EACH) {
    case MAKE_SEEN:
    case DROP_SEEN:
        m->has_seen = s.kind == MAKE_SEEN;
        memset(m->seen, 0, sizeof m->seen);
        break;
    case BEGIN:
        m->transactions++;
        break;
    case MAKE_USERS:
        m->has_users = true;
        break;
    case MAKE_FED:
        m->has_fed = true;
        break;
    case ADD:
        add_all(m->seen, s.from, s.to, 1);
        break;
    case TAKE:
        add_all(m->seen, s.from, s.to, -1);
        break;
    case MOVE:
        add_all(m->seen, s.from, s.from, -1);
        add_all(m->seen, s.to, s.to, 1);
        break;
    case JOIN_USERS:
        add_all(m->users, s.from, s.to, 1);
        break;
    case LEAVE_USERS:
        memset(m->users + s.from, 0, (size_t)(s.to - s.from + 1));
        break;
    case MOVE_USERS:
        move_users(m->users, s.from, s.to);
        break;
    case CLEAR:
        memset(m->seen, 0, sizeof m->seen);
        break;
    case IMPORT:
        memcpy(m->seen, m->users, sizeof m->seen);
        break;
    default:
        apply_others(m, s);
        break;
    }
}

/* Only keys that are there are deleted: of others a filter promises nothing. */
static bool has_keys(const model *m, int from, int to)
{
    for (int i = from; i <= to; i++)
        if (m->seen[i] == 0)
            return false;
    return m->has_seen;
}

/* A step that failed changes what later ones find: some have to be left out. */
static bool is_possible(const workload *w, step s)
{
    bool idle = sqlite3_get_autocommit(w->db);
    switch (s.kind) {
    case MAKE_SEEN:
        return !w->now.has_seen;
    case MAKE_FED:
        return !w->now.has_fed;
    case BEGIN:
    case SWAP:
        return idle;
    case MAKE_FADING:
        return !w->now.has_fading;
    case MAKE_FRONT:
        return !w->now.has_front;
    case FADE:
    case IGNORE:
    case CLOCK:
    case OPTIMIZE_FADING:
        return w->now.has_fading;
    case ASK:
    case ASK_LIST:
        return w->now.has_front;
    case COMMIT:
    case ROLLBACK:
    case SAVEPOINT:
        return !idle;
    case ROLLBACK_TO:
    case RELEASE:
        return w->has_savepoint;
    case TAKE:
        return has_keys(&w->now, s.from, s.to);
    case MOVE:
        return has_keys(&w->now, s.from, s.from);
    case REBUILD:
        return w->now.has_fed;
    case REBUILD_CROWD:
        return w->now.has_tight;
    case DRAIN:
        return w->now.has_fed && w->now.has_tight;
    case MAKE_TIGHT:
        return w->now.has_crowd && !w->now.has_tight;
    case JOIN_CROWD:
    case LEAVE_CROWD:
    case MOVE_CROWD:
        return w->now.has_crowd;
    case IMPORT:
        return w->now.has_seen && w->now.has_fed;
    default:
        return s.kind < ADD || s.kind >= JOIN_USERS || w->now.has_seen;
    }
}

/* ---- SQL ---- */

#define RANGE                                                                                           \
    "(WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)"

static const char *sql_of(step s)
{
    switch (s.kind) {
    case MAKE_SEEN:
        return "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=150, fpr=1e-8)";
    case MAKE_USERS:
        return "CREATE TABLE users(id)";
    case MAKE_FED:
        return "CREATE VIRTUAL TABLE fed USING cuckoo_filter(capacity=40, fpr=1e-6, "
               "content='users(id)')";
    case MAKE_CROWD:
        return "CREATE TABLE crowd(k PRIMARY KEY)";
    case MAKE_TIGHT:
        return "CREATE VIRTUAL TABLE tight USING cuckoo_filter(capacity=8, seed=0, "
               "fingerprint_bits=24, growth=on, content='crowd(k)')";
    case MAKE_FADING:
        return "CREATE VIRTUAL TABLE fading USING cuckoo_filter(capacity=8, seed=0, "
               "fingerprint_bits=24, "
               "growth=on, keep='24 hours')";
    case MAKE_FRONT:
        return "CREATE VIRTUAL TABLE front USING cuckoo_filter(capacity=40, fpr=1e-6, "
               "content='users(id)', rows=on)";
    case BEGIN:
        return "BEGIN; UPDATE first SET x = x + 1";
    case COMMIT:
        return "COMMIT";
    case ROLLBACK:
        return "ROLLBACK";
    case SAVEPOINT:
        return "SAVEPOINT here";
    case ROLLBACK_TO:
        return "ROLLBACK TO here";
    case RELEASE:
        return "RELEASE here";
    case ADD:
        return s.from == s.to ? "INSERT INTO seen(key) VALUES (%d)"
                              : "INSERT INTO seen(key) SELECT i FROM " RANGE;
    case TAKE:
        return s.from == s.to ? "DELETE FROM seen WHERE key = %d"
                              : "DELETE FROM seen WHERE key IN " RANGE;
    case MOVE:
        return "UPDATE seen SET key = %2$d WHERE key = %1$d";
    case JOIN_USERS:
        return "INSERT INTO users SELECT i FROM " RANGE;
    case LEAVE_USERS:
        return "DELETE FROM users WHERE id BETWEEN %d AND %d";
    case MOVE_USERS:
        return "UPDATE users SET id = id + 800 WHERE id BETWEEN %d AND %d";
    case SPOIL:
        return "INSERT INTO users SELECT i FROM " RANGE
               " UNION ALL SELECT abs(-9223372036854775807 - min(1, max(1, x))) FROM first";
    case JOIN_CROWD:
        return "INSERT OR IGNORE INTO crowd SELECT k FROM aims WHERE i BETWEEN %d AND %d";
    case LEAVE_CROWD:
        return "DELETE FROM crowd WHERE k IN (SELECT k FROM aims WHERE i BETWEEN %d AND %d)";
    case MOVE_CROWD:
        return "UPDATE crowd SET k = -k WHERE k IN (SELECT k FROM aims WHERE i BETWEEN %d AND %d)";
    case REBUILD_CROWD:
        return "SELECT cf_table_rebuild('tight')";
    case OPTIMIZE:
        return "INSERT INTO seen(seen) VALUES ('optimize')";
    case CLEAR:
        return "INSERT INTO seen(seen) VALUES ('clear')";
    case CHECK:
        return "INSERT INTO seen(seen) VALUES ('check')";
    case REBUILD:
        return "INSERT INTO fed(fed) VALUES ('rebuild')";
    case DRAIN:
        return "INSERT INTO fed(fed) VALUES ('drain'); INSERT INTO tight(tight) VALUES ('drain')";
    case FADE:
        return "INSERT INTO fading(key) SELECT " STREAM_KEY " FROM " RANGE " AS n";
    case IGNORE:
        return "INSERT OR IGNORE INTO fading(key) SELECT " STREAM_KEY " FROM " RANGE " AS n";
    case CLOCK:
        return "INSERT INTO fading(fading) VALUES ('clock')";
    case OPTIMIZE_FADING:
        return "INSERT INTO fading(fading) VALUES ('optimize')";
    case ASK:
        return "SELECT count(*) FROM " RANGE " CROSS JOIN front WHERE id = i";
    case ASK_LIST:
        return "SELECT count(*) FROM front WHERE id IN " RANGE;
    case IMPORT:
        return "INSERT INTO seen(seen, key) VALUES ('import', cf_export('fed'))";
    default:
        return "DROP TABLE seen";
    }
}

static int workload_sql(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* ---- one step ---- */

/* The first column of the first row; -1 with an error. Texts that begin with "ok" are 1. */
static sqlite3_int64 ask(workload *w, const char *sql, int *rc)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 answer = -1;
    *rc = sqlite3_prepare_v2(w->db, sql, -1, &statement, NULL);
    if (*rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        answer = text && strcmp(text, "ok") == 0 ? 1 : sqlite3_column_int64(statement, 0);
    }
    if (*rc == SQLITE_OK)
        *rc = sqlite3_finalize(statement);
    return answer;
}

static int transactions_in(workload *w)
{
    int rc;
    return (int)ask(w, "SELECT x FROM first", &rc);
}

/* Of a transaction that SQLite says has failed: see first; and CREATE makes a TEMP trigger, too, of
** which the journal may fail when that of the database has gone. */
static bool has_ended_well(workload *w, step s)
{
    int rc;
    static const char ask_fed[] = "SELECT count(*) FROM sqlite_schema WHERE name = 'fed'",
                      ask_tight[] = "SELECT count(*) FROM sqlite_schema WHERE name = 'tight'",
                      ask_front[] = "SELECT count(*) FROM sqlite_schema WHERE name = 'front'";
    if (s.kind == MAKE_FED || s.kind == MAKE_TIGHT || s.kind == MAKE_FRONT)
        return ask(w,
                   s.kind == MAKE_FED     ? ask_fed
                   : s.kind == MAKE_TIGHT ? ask_tight
                                          : ask_front,
                   &rc) == 1;
    return s.kind == COMMIT && transactions_in(w) == w->after.transactions;
}

static void accept(workload *w, step s)
{
    if (s.kind == SAVEPOINT)
        w->saved = w->now;
    else if (s.kind == ROLLBACK_TO)
        w->now = w->saved;
    else if (s.kind == ROLLBACK)
        w->now = w->committed;
    else
        w->now = w->after;
    w->has_savepoint = s.kind == SAVEPOINT || (w->has_savepoint && s.kind != RELEASE);
}

/* The rows that front shows are those of the model. */
static int run_question(workload *w, step s, const char *sql)
{
    int rc;
    sqlite3_int64 right = 0, answer = ask(w, sql, &rc);
    for (int i = s.from; i <= s.to; i++)
        right += w->now.users[i];
    if (rc == SQLITE_OK && answer != right)
        snprintf(w->wrong, sizeof w->wrong, "front has %d rows of %d to %d, not %d", (int)answer, s.from,
                 s.to, (int)right);
    return rc;
}

/* What was new is now known. */
static void settle_ignored(workload *w, int key)
{
    if (!stream_settle(&w->now.fading, &w->after.fading, key, sqlite3_changes(w->db) > 0))
        snprintf(w->wrong, sizeof w->wrong, "OR IGNORE: %d is new, or is not, against the model", key);
}

/* The other connection is opened anew, and goes on. */
static int swap(workload *w)
{
    sqlite3 *db = NULL;
    sqlite3_close(w->other);
    w->other = NULL;
    int rc = w->connect(&db);
    if (rc == SQLITE_OK) {
        w->other = w->db;
        w->db = db;
    }
    return rc;
}

static int run_one(workload *w, step s)
{
    char sql[300];
    if (!is_possible(w, s))
        return SQLITE_OK;
    w->after = w->now;
    apply(&w->after, s);
    w->ends = s.kind == COMMIT || sqlite3_get_autocommit(w->db);
    snprintf(sql, sizeof sql, sql_of(s), s.from, s.to);
    bool was_idle = sqlite3_get_autocommit(w->db), asks = s.kind == ASK || s.kind == ASK_LIST;
    int rc = asks ? run_question(w, s, sql) : workload_sql(w->db, sql);
    if (rc == SQLITE_OK && s.kind == IGNORE)
        settle_ignored(w, s.from);
    bool idle = sqlite3_get_autocommit(w->db);
    if (s.kind == SPOIL && rc == SQLITE_ERROR &&
        strcmp(sqlite3_errmsg(w->db), "integer overflow") == 0 &&
        idle == was_idle) /* else the whole transaction has gone, and SQLite says no more than this */
        rc = SQLITE_OK;
    if (rc == SQLITE_OK)
        accept(w, s);
    else if (idle) /* the transaction is gone; else only the statement */
        w->now = has_ended_well(w, s) ? w->after : w->committed;
    if (idle) {
        w->has_savepoint = false;
        w->committed = w->now;
    }
    return rc;
}

static int workload_step(workload *w, int i)
{
    step s = w->list->steps[i];
    int rc = SQLITE_OK;
    if (s.kind == AGE)
        stream_minutes += s.from;
    if (s.kind == AGE)
        return rc;
    if (s.kind == SWAP)
        return is_possible(w, s) ? swap(w) : rc;
    if (!(s.kind & EACH))
        return run_one(w, s);
    for (int key = s.from; rc == SQLITE_OK && key <= s.to; key++)
        rc = run_one(w, (step){s.kind & ~EACH, key, key});
    return rc;
}

#endif
