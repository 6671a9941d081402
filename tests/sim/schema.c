/* SPDX-License-Identifier: MIT */
/*
** schema.c - what is done next: which kind of step, and all those that do not change rows.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool in_transaction(const world *w)
{
    return !sqlite3_get_autocommit(w->pairs[w->pair].twin);
}

/* ---- transactions ---- */

/* Whether a COMMIT has happened is seen by what it counts. */
static void draw_end(world *w, const char *text)
{
    if (w->shape.faults != NO_FAULTS)
        emit_filled(w, BOTH, "UPDATE tick SET n = n + 1", NULL);
    emit_filled(w, BOTH, text, NULL);
}

static void draw_transaction(world *w)
{
    static const char *const begins[] = {"BEGIN", "BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE",
                                         "SAVEPOINT a"};
    static const char *const within[] = {
        "COMMIT",      "COMMIT",        "COMMIT",    "ROLLBACK",      "SAVEPOINT a",   "SAVEPOINT b",
        "SAVEPOINT c", "SAVEPOINT b",   "RELEASE a", "ROLLBACK TO a", "ROLLBACK TO b", "RELEASE b",
        "RELEASE c",   "ROLLBACK TO c", "BEGIN",     "ROLLBACK TO a"};
    const char *text = in_transaction(w) ? PICK(w, within) : PICK(w, begins);
    if (is_end(text))
        draw_end(w, text);
    else
        emit_filled(w, BOTH, text, NULL);
}

/* ---- triggers of others ---- */

static const char *const bodies[] = {
    "INSERT INTO audit VALUES ({r}.{k})",
    "UPDATE {u} SET n = n + 1 WHERE id = {r}.id AND n < 5",
    "UPDATE {u} SET {k} = (SELECT k FROM keys WHERE i = {r}.n), n = n + 50 WHERE id = {r}.id AND n % 7 "
    "= 3 AND n < 50",
    "UPDATE OR REPLACE \"{u}\" SET `{k}` = {key}, n = n + 100 WHERE id = {r}.id AND n < 100 AND n % 5 = "
    "1",
    "UPDATE OR IGNORE [{u}] SET \"{k}\" = {key}, n = n + 100 WHERE {k} = {r}.{k} AND n < 100",
    "DELETE FROM {u} WHERE id = {r}.id AND n % 6 = 1",
    "DELETE FROM `{u}` WHERE n = {r}.n + 1",
    "INSERT OR IGNORE INTO \"{u}\"(id, {k}, n) SELECT {r}.id + 31, {key}, 60 WHERE {r}.n < 20",
    "INSERT OR FAIL INTO narrow SELECT 1 WHERE {r}.n % 9 = 2",
    "INSERT INTO narrow SELECT 1 WHERE {r}.n % 9 = 3",
    "SELECT RAISE(IGNORE) WHERE {r}.n % 8 = 3",
    "SELECT RAISE(FAIL, 'no') WHERE {r}.n % 11 = 5",
    "SELECT RAISE(ABORT, 'no') WHERE {r}.n % 11 = 6",
    "SELECT RAISE(ROLLBACK, 'no') WHERE {r}.n % 23 = 7",
    "DELETE FROM {u} WHERE id = {r}.id AND n < 20; "
    "INSERT OR REPLACE INTO [{u}](id, [{k}], n) SELECT {r}.id + 40, {r}.{k}, 99 WHERE {r}.n < 20",
};
/* These change the parent, hence rows of the content once more. */
static const char *const parent_bodies[] = {
    "UPDATE OR IGNORE p SET id = id + 5 WHERE id = {r}.x AND id < 10",
    "REPLACE INTO p SELECT {r}.x, {n} WHERE {r}.x IS NOT NULL",
    "DELETE FROM p WHERE id = {r}.x AND id % 2",
};
/* Nobody can guess that these fail. */
static const char *const bent_bodies[] = {
    "INSERT INTO bent(x) VALUES (1)",
    "INSERT INTO narrow(rowid, x) VALUES (1, 7)",
    "WITH one AS (SELECT 1) INSERT INTO narrow SELECT * FROM one",
};

static char *body_of(world *w)
{
    if (chance(w, 20))
        return fill(w, PICK(w, bent_bodies));
    return chance(w, 15) ? fill(w, PICK(w, parent_bodies)) : fill(w, PICK(w, bodies));
}

/* A TEMP trigger that keeps us from hearing, or from hearing what is right, is seen by its own connection alone,
** which cannot note it for others when it was open before the filter was made. */
static bool may_be_temporary(const world *w)
{
    /* When the disk fails, a COMMIT may be done in main and taken back in TEMP. */
    return w->pairs[w->pair].asks && w->shape.faults != DISK_FAULTS && w->shape.pairs == 1;
}

/* SQLite says "no such column" or "already exists" where it has not read the schema since another connection changed it. */
static void read_schema(world *w)
{
    emit_filled(w, BOTH, "SELECT n FROM tick", NULL);
}

static void draw_trigger(world *w)
{
    static const char *const names[] = {"t1", "t2", "t3"},
                             *const events[] = {"INSERT", "UPDATE", "DELETE"},
                             *const timings[] = {"AFTER", "AFTER", "BEFORE"};
    const char *name = PICK(w, names), *event = PICK(w, events), *timing = PICK(w, timings);
    if (known("gone_trigger") && chance(w, 40)) {
        emit(w, BOTH, say("DROP TRIGGER IF EXISTS %s", name), NULL);
        return;
    }
    read_schema(w);
    if (w->names.u[0] == 0)
        return;
    w->row = event[0] == 'D' ? "old" : "new";
    bool temp = chance(w, 15) && may_be_temporary(w);
    name = temp ? names[0] : name; /* in which order two of them fire depends on how many there are */
    char *body = body_of(w);
    emit(w, BOTH,
         say("CREATE %s TRIGGER %s %s %s ON %s BEGIN %s; END", temp ? "TEMP" : "", name, timing, event,
             w->names.u, body),
         NULL);
    free(body);
}

/* ---- the schema ---- */

static const char *const changes[] = {
    "CREATE INDEX IF NOT EXISTS un ON {u}(n)",
    "CREATE INDEX IF NOT EXISTS uk ON {u}({k})",
    "DROP INDEX IF EXISTS un",
    "DROP INDEX IF EXISTS uk",
    "CREATE TABLE junk(x)",
    "DROP TABLE IF EXISTS junk",
    "VACUUM",
    "VACUUM",
    "ANALYZE",
    "REINDEX",
    "ALTER TABLE {u} ADD COLUMN y1",
    "ALTER TABLE {u} DROP COLUMN y1",
    "ALTER TABLE audit ADD COLUMN z{x}",
    "CREATE VIEW IF NOT EXISTS v AS SELECT id, {k} FROM {u}",
    "DROP VIEW IF EXISTS v",
    "CREATE TEMP TABLE IF NOT EXISTS scratch(x)",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA incremental_vacuum",
    "DELETE FROM audit",
};

/* An early SQLite says so also of a new table; and of a virtual table whose xConnect runs statements that there is none. (3.34;
** 3.40 does not.) */
static void read_schema_early(world *w)
{
    if (is_early())
        read_schema(w);
}

static void create_content(world *w, const char *table)
{
    read_schema_early(w);
    emit(w, BOTH, shape_content(w, table), NULL);
    for (int i = 0; i < 3 && !known("front_written"); i++)
        emit(w, BOTH, shape_triggers(table, i), NULL);
}

/* SQLite's own recipe for a change of a table. */
static void migrate(world *w)
{
    create_content(w, "new_u");
    if (strcmp(w->names.k, "k") != 0)
        emit(w, BOTH, say("ALTER TABLE new_u RENAME COLUMN k TO %s", w->names.k), NULL);
    emit_filled(w, BOTH, "INSERT OR IGNORE INTO new_u(id, {k}, x, n) SELECT id, {k}, x, n FROM {u}",
                NULL);
    emit_filled(w, BOTH, "DROP TABLE {u}", NULL);
    emit_filled(w, BOTH, "ALTER TABLE new_u RENAME TO {u}", NULL);
}

static void finish_left(world *w)
{
    if (w->pairs[w->pair].left_real)
        emit(w, END, NULL, NULL);
}

/* A filter is made, renamed or dropped, by who has the extension. */
static void draw_filter_change(world *w)
{
    int i = draw(w, w->shape.filters);
    const char *name = w->names.filter[i], *first = filter_of(w, i)->name;
    finish_left(w);
    read_schema_early(w);
    if (name[0] == 0)
        emit(w, REFUSE, shape_filter(w, i, false), shape_filter(w, i, true));
    else if (chance(w, 35))
        emit(w, REFUSE, say("DROP TABLE %s", name), NULL);
    else
        emit(w, REFUSE,
             say("ALTER TABLE %s RENAME TO %s%s", name, first, strcmp(name, first) == 0 ? "_2" : ""),
             NULL);
}

static bool lacks_filter(const world *w)
{
    for (int i = 0; i < w->shape.filters; i++)
        if (w->names.filter[i][0] == 0)
            return true;
    return false;
}

static void draw_schema(world *w)
{
    const sim_names *n = &w->names;
    if (n->u[0] == 0)
        create_content(w, "u");
    else if (w->pairs[w->pair].asks && (chance(w, 25) || (lacks_filter(w) && chance(w, 60))))
        draw_filter_change(w);
    else if (chance(w, 20))
        emit(w, BOTH, say("ALTER TABLE %s RENAME TO %s", n->u, strcmp(n->u, "u") == 0 ? "u_2" : "u"),
             NULL);
    else if (chance(w, 15)) {
        read_schema(w);
        emit(w, BOTH,
             say("ALTER TABLE %s RENAME COLUMN %s TO %s", n->u, n->k,
                 strcmp(n->k, "k") == 0 ? "k_2" : "k"),
             NULL);
    } else if (chance(w, 5))
        migrate(w);
    else if (chance(w, 3))
        emit_filled(w, BOTH, "DROP TABLE {u}", NULL);
    else {
        read_schema(w);
        emit_filled(w, BOTH, PICK(w, changes), NULL);
    }
}

/* ---- the others ---- */

/* Where a command of a filter writes, the twin writes too: locks are taken alike. */
static void draw_command(world *w)
{
    static const char *const commands[] = {"check",    "drain",   "drain",  "drain",
                                           "optimize", "rebuild", "rebuild"};
    int number = draw(w, w->shape.filters);
    const char *name = w->names.filter[number], *command = PICK(w, commands);
    if (name[0] == 0 || !w->pairs[w->pair].asks) {
        draw_rows(w);
        return;
    }
    if (filter_of(w, number)->kind == STORED)
        command = "check";
    bool begins = !in_transaction(w) && w->shape.pairs > 1;
    if (begins)
        emit_filled(w, BOTH, "BEGIN IMMEDIATE", NULL);
    if (command[0] == 'c')
        emit(w, REFUSE,
             filter_of(w, number)->kind == STORED ? say("SELECT cf_check(f) FROM %s", name)
                                                  : say("SELECT cf_table_check('%s')", name),
             say("SELECT count(*) FROM tick"));
    else
        emit(w, REFUSE, say("INSERT INTO %s(%s) VALUES ('%s')", name, name, command),
             filter_of(w, number)->kind == AGES ? draw_aged_command(w, name)
             : command[0] == 'r'                ? say("CREATE TABLE made_%llu(x)",
                                                      (unsigned long long)draw64(w)) /* a change of the schema */
                                                : say("UPDATE beat SET n = n + 1"));
    if (begins)
        draw_end(w, "COMMIT");
}

/* Statements that others run in the middle of. */
static void draw_left(world *w)
{
    static const char *const left[] = {
        "SELECT id, {k}, n FROM {u}",
        "SELECT id, {k} FROM {u} WHERE {some}",
        "SELECT k FROM keys",
        "SELECT a.id, b.id FROM {u} a, {u} b WHERE a.n < b.n",
        "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows}, {row}, {row} RETURNING id",
        "UPDATE {c} {u} NOT INDEXED SET {k} = {key} WHERE {some} RETURNING id",
        "DELETE FROM {u} NOT INDEXED WHERE {some} RETURNING {k}",
    };
    int i = draw(w, w->shape.filters);
    const char *name = w->names.filter[i];
    if (w->pairs[w->pair].left_real)
        emit(w, chance(w, 50) ? GO_ON : END, NULL, NULL);
    else if (w->names.u[0] && name[0] && follows(filter_of(w, i)) && w->pairs[w->pair].asks &&
             chance(w, 40))
        emit(w, LEAVE,
             say("SELECT keys.i FROM keys JOIN %s ON %s.%s = keys.k", name, name,
                 filter_of(w, i)->kind == FRONT && filter_of(w, i)->column[0] == 'k' ? w->names.k
                 : filter_of(w, i)->kind == FRONT ? filter_of(w, i)->column
                                                  : "key"),
             fill(w, "SELECT keys.i FROM keys JOIN {u} ON 1"));
    else if (w->names.u[0])
        emit_filled(w, LEAVE, PICK(w, left), NULL);
}

static void draw_time(world *w)
{
    static const int shares[] = {60, 20, 7, 3, 1};
    int keep = 3600;
    for (int i = 0; i < w->shape.filters; i++)
        if (filter_of(w, i)->kind == AGES)
            keep = filter_of(w, i)->keep;
    emit(w, TICK, NULL, NULL);
    w->steps.at[w->steps.n - 1].value = chance(w, 15)  ? -draw(w, BACK)
                                        : chance(w, 8) ? -draw(w, 2 * keep)
                                        : chance(w, 8) ? 3 * keep
                                                       : keep / PICK(w, shares) + draw(w, 30);
}

static bool any_transaction(const world *w)
{
    for (int i = 0; i < w->shape.pairs; i++)
        if (!sqlite3_get_autocommit(w->pairs[i].twin) || w->pairs[i].left_real)
            return true;
    return false;
}

static void draw_copy(world *w)
{
    int what = draw(w, 10);
    if (!w->has_copy || what < 2)
        emit(w, SAVE, NULL, NULL);
    else if (what < 4)
        emit(w, VISIT, NULL, NULL);
    else if (what < 6 && !any_transaction(w) && w->shape.faults != POWER_FAULTS && !w->stale)
        emit(w, RESTORE, NULL,
             NULL); /* where TEMP triggers outlive their tables, SQLite does as it likes */
    else if (!in_transaction(w) && w->pairs[w->pair].far) {
        finish_left(w); /* until it ends, what was asked of `far` keeps it locked */
        emit(w, BOTH, say("DETACH far"), NULL);
    } else if (!in_transaction(w) && w->shape.faults != POWER_FAULTS) /* whose disk has few files */
        emit(w, BOTH, say("ATTACH '" REAL_COPY "' AS far"), say("ATTACH '" TWIN_COPY "' AS far"));
}

/* Of the real one alone: it must answer alike, also where something fails. */
static void draw_question(world *w)
{
    static const char *const tables[] = {
        "SELECT cf_table_info('%s')",
        "SELECT cf_table_info('%s', 'all')",
        "SELECT cf_picture('%s')",
        "SELECT cf_table_check('%s')",
        "SELECT count(*), sum(fingerprint), sum(copies) FROM cf_buckets('%s')",
        "SELECT cf_check(cf_export('%s')), length(cf_export('%s'))",
        "SELECT count(*), total(e.match) FROM keys, cf_explain(cf_export('%s'), k) e WHERE i < 9",
        "SELECT count(*) FROM %s",
        "SELECT sum(cf_table_contains('%s', k)) FROM keys WHERE i < 60",
        "SELECT count(*) FROM keys WHERE i < 60 AND EXISTS (SELECT 1 FROM %s f WHERE f.key = k)",
        "SELECT k FROM keys WHERE i < 60 AND k IN (SELECT key FROM %s WHERE key IN (SELECT k FROM keys "
        "WHERE i < 9))",
    };
    static const char *const rows[] = {
        "SELECT * FROM cf_buckets((SELECT f FROM %s))",
        "SELECT cf_info(f), cf_check(f), cf_picture(f) FROM %s",
        "SELECT sum(cf_count(f, k)), sum(cf_contains(f, k)) FROM %s, keys WHERE i < 60",
        "SELECT e.* FROM %s, keys, cf_explain(f, k) e WHERE i < 5"};
    int i = draw(w, w->shape.filters);
    const char *name = w->names.filter[i];
    bool stored = filter_of(w, i)->kind == STORED, front = filter_of(w, i)->kind == FRONT;
    if (w->pairs[w->pair].asks && chance(w, 50)) {
        draw_law(w);
        return;
    }
    if (name[0] == 0 || !w->pairs[w->pair].asks)
        return;
    const char *form = stored ? PICK(w, rows) : tables[draw(w, front ? 9 : 11)];
    emit(w, QUERY, say(form, name, name), say(""));
}

static void draw_crash(world *w)
{
    bool dies = strcmp(w->shape.journal, "memory") != 0; /* else it may leave half a transaction */
    /* What SQLite 3.40 loses when the power goes (shape.c) a process that dies loses, too. */
    dies = dies && !(strcmp(w->shape.cache, "10") == 0 && strcmp(w->shape.journal, "wal") == 0);
    emit(w, dies && chance(w, 60) ? KILL : REOPEN, NULL, NULL);
}

/* ---- all of them ---- */

/* Whose turn it is: while somebody is in a transaction, mostly his. */
static void draw_pair(world *w)
{
    int n = w->shape.pairs;
    bool stays = w->pair < n && in_transaction(w) && chance(w, 80);
    if (!stays)
        w->pair = draw(w, n);
}

void draw_step(world *w)
{
    w->dice = mix(w->seed, w->number + 1000);
    draw_pair(w);
    w->prefix[0] = 0;
    world_names(w, "main");
    step_kind kind = (step_kind)draw_weighted(w, w->shape.weights, STEP_KINDS);
    if (kind == ROWS && w->pairs[w->pair].far && chance(w, 30)) {
        world_names(w, "far");
        strcpy(w->prefix, "far.");
    }
    static void (*const draws[STEP_KINDS])(world *) = {
        draw_rows, draw_transaction, draw_filter_rows, draw_command,  draw_trigger, draw_schema,
        draw_left, draw_time,        draw_copy,        draw_question, draw_crash};
    w->kind = kind;
    draws[kind](w);
}
