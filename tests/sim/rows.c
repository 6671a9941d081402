/* SPDX-License-Identifier: MIT */
/*
** rows.c - statements that change rows: of the content and its parents, and of filter tables that
** take keys themselves.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 120 };

/* Takes both texts. */
void emit(world *w, step_act act, char *real, char *twin)
{
    step_list *list = &w->steps;
    if (list->n == list->room) {
        list->room = 2 * list->room + 64;
        list->at = realloc(list->at, (size_t)list->room * sizeof *list->at);
        if (list->at == NULL)
            abort();
    }
    list->at[list->n++] = (step){.number = w->number,
                                 .act = act,
                                 .kind = w->kind,
                                 .pair = w->pair,
                                 .real = real,
                                 .twin = twin   ? twin
                                         : real ? say("%s", real)
                                                : NULL};
}

void emit_filled(world *w, step_act act, const char *real, const char *twin)
{
    char *filled = fill(w, real);
    emit(w, act, filled, twin ? fill(w, twin) : NULL);
}

/* ---- the content ---- */

static const char *const inserts[] = {
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows}",
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows}",
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows} RETURNING id, {k}",
    "INSERT {c} INTO {u}(id, {k}, x, n) SELECT i + {n}, k, i % 9, i % 50 FROM keys WHERE i % 7 = {x}",
    "INSERT {c} INTO {u}(id, {k}, n) SELECT {n} + i, k, {n} FROM keys WHERE i BETWEEN {n} AND {n} + 5",
    "INSERT {c} INTO {u}(id, {k}, x, n) SELECT id + {n}, {k}, x, n FROM {u} WHERE {some} LIMIT 8",
    "REPLACE INTO {u}(id, {k}, x, n) VALUES {rows}",
};

static const char *const upserts[] = {
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows} ON CONFLICT(id) DO NOTHING",
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows} ON CONFLICT(id) DO UPDATE SET {k} = excluded.{k}",
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows} ON CONFLICT(id) DO UPDATE SET n = n + 1, {k} = "
    "{key} "
    "WHERE excluded.n > 20 RETURNING id",
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows} ON CONFLICT DO NOTHING",
    "INSERT {c} INTO {u}(id, {k}, x, n) VALUES {rows} ON CONFLICT(id) DO UPDATE SET id = {id}, x = {x}",
};

/* NOT INDEXED: which row comes first must not depend on triggers, since others may fail then. */
static const char *const updates[] = {
    "UPDATE {c} {u} NOT INDEXED SET {k} = {key} WHERE {some}",
    "UPDATE {c} {u} NOT INDEXED SET {k} = {key} WHERE id = {id}",
    "UPDATE {c} {u} NOT INDEXED SET {k} = (SELECT k FROM keys WHERE keys.i = ({u}.n + {n}) % 40) WHERE "
    "{some}",
    "UPDATE {c} {u} NOT INDEXED SET {k} = (SELECT k FROM keys WHERE keys.i = n), n = n + 1 WHERE {some} "
    "RETURNING n",
    "UPDATE {c} {u} NOT INDEXED SET {k} = NULL WHERE {some}",
    "UPDATE {c} {u} NOT INDEXED SET x = {x} WHERE {some}",
    "UPDATE {c} {u} NOT INDEXED SET id = {id} WHERE id = {id}",
    "UPDATE {c} {u} NOT INDEXED SET id = id + 60, {k} = {key} WHERE {some}",
    "UPDATE {c} {u} NOT INDEXED SET n = n + 1",
    "UPDATE {c} {u} NOT INDEXED SET {k} = {k}, n = {n} WHERE {some}",
    "UPDATE {c} {u} NOT INDEXED SET {k} = keys.k FROM keys WHERE keys.i = {u}.n + {n} AND {u}.n < {n}",
};

static const char *const deletes[] = {
    "DELETE FROM {u} NOT INDEXED WHERE {some}",
    "DELETE FROM {u} NOT INDEXED WHERE {some}",
    "DELETE FROM {u} NOT INDEXED WHERE id > 60",
    "DELETE FROM {u} NOT INDEXED WHERE {k} IS NULL RETURNING id",
};

static const char *const parents[] = {
    "DELETE FROM p WHERE id = {n} % 10",
    "UPDATE {c} p SET id = id + {n} % 4 WHERE id >= {n} % 10",
    "REPLACE INTO p VALUES ({n} % 10, {n})",
    "INSERT {c} INTO p VALUES ({n} % 10, 1), ({n} % 10, 2)",
    "INSERT OR IGNORE INTO p VALUES (0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, "
    "8)",
    "UPDATE {c} p SET id = {n} % 10 WHERE id = {n} % 10",
};

static const char *const bulks[] = {
    "INSERT OR IGNORE INTO {u}(id, {k}, n) SELECT i + 200, k, i % 50 FROM keys WHERE i BETWEEN 100 AND "
    "100 + 14 * {n}",
    "INSERT {c} INTO {u}(id, {k}, n) SELECT i + 200, k, i % 50 FROM keys WHERE i BETWEEN 100 AND 1400",
    "UPDATE {c} {u} NOT INDEXED SET {k} = (SELECT k FROM keys WHERE keys.i = {u}.id + 300 - {n}) WHERE "
    "id > 199",
    "DELETE FROM {u} NOT INDEXED WHERE id > 199 AND id % 3 = {n} % 3",
    "DELETE FROM {u} NOT INDEXED WHERE id > 199",
};

/* A statement that changes rows of the content, or of what it refers to. */
char *rows_statement(world *w)
{
    static const int weights[] = {9, 4, 9, 5, 4};
    if (w->shape.bulk && chance(w, 12))
        return fill(w, PICK(w, bulks));
    switch (draw_weighted(w, weights, 5)) {
    case 0:
        return fill(w, PICK(w, inserts));
    case 1:
        return fill(w, PICK(w, upserts));
    case 2:
        return fill(w, PICK(w, updates));
    case 3:
        return fill(w, PICK(w, deletes));
    default:
        return fill(w, PICK(w, parents));
    }
}

/* From a front, if there is one: reading it while the content is written. */
static bool insert_from_front(world *w)
{
    for (int i = 0; i < w->shape.filters; i++)
        if (filter_of(w, i)->kind == FRONT && w->names.filter[i][0] && w->pairs[w->pair].asks &&
            (!w->dropped || known("front_written")) && !w->prefix[0]) {
            char *some =
                fill(w, "SELECT id + 7 * {n}, {k}, x, n FROM %s WHERE id > {n} AND n < {n} ORDER BY id");
            char *real = say(some, w->names.filter[i]), *twin = say(some, w->names.u);
            const char *into = "INSERT OR IGNORE INTO %s(id, %s, x, n) %s";
            emit(w, w->dropped ? REFUSE : BOTH, say(into, w->names.u, w->names.k, real),
                 say(into, w->names.u, w->names.k, twin));
            free(some);
            free(real);
            free(twin);
            return true;
        }
    return false;
}

static int count_rows(world *w)
{
    char *sql = say("SELECT count(*) FROM %s%s", w->prefix, w->names.u);
    int rows = (int)ask_sql(w->pairs[w->pair].twin, sql).one;
    free(sql);
    return rows;
}

void draw_rows(world *w)
{
    if (w->names.u[0] == 0)
        return;
    if (count_rows(w) > (w->shape.bulk ? BULK : MOST_ROWS))
        emit_filled(w, BOTH, "DELETE FROM {u} NOT INDEXED WHERE rowid % 2 OR n % 3", NULL);
    else if (!chance(w, 3) || !insert_from_front(w))
        emit(w, BOTH, rows_statement(w), NULL);
}

/* ---- filter tables that take keys ---- */

static void with_name(world *w, step_act act, const char *name, const char *real, const char *twin)
{
    char *named_real = say(real, name, name), *named_twin = say(twin, name, name, name);
    emit_filled(w, act, named_real, named_twin);
    free(named_real);
    free(named_twin);
}

static void draw_direct(world *w, const char *name, bool bounded)
{
    static const char *const both[][2] = {
        {"INSERT INTO %s(key) VALUES ({1})", NULL},
        {"INSERT {c} INTO %s(key) VALUES ({1}), ({2}), ({1}), ({3})",
         "INSERT INTO %s(key) VALUES ({1}), ({2}), ({1}), ({3})"},
        {"INSERT INTO %s(key) SELECT k FROM keys WHERE i BETWEEN 0 AND 20", NULL},
        {"INSERT INTO %s(key) SELECT {k} FROM {u} WHERE {k} IS NOT NULL LIMIT 9", NULL},
        {"DELETE FROM %s WHERE key = {1}",
         "DELETE FROM %s WHERE rowid = (SELECT min(rowid) FROM %s WHERE key = {1})"},
        {"DELETE FROM %s WHERE key IN ({1}, {2}, {3})",
         "DELETE FROM %s WHERE rowid IN (SELECT min(rowid) FROM %s WHERE key IN ({1}, {2}, {3}) GROUP "
         "BY key)"},
        {"DELETE FROM %s WHERE key IN (SELECT k FROM keys WHERE i < 30)",
         "DELETE FROM %s WHERE rowid IN (SELECT min(rowid) FROM %s WHERE key IN (SELECT k FROM keys "
         "WHERE i < 30) "
         "GROUP BY key)"},
        {"INSERT INTO %s(%s) VALUES ('clear')", "DELETE FROM %s"},
        {"INSERT INTO %s(%s, key) SELECT 'import', cf_build(k, 0.01, 'fingerprint_bits=32, "
         "counter_bits=8, affinity=none') FROM keys "
         "WHERE i BETWEEN 7 AND 25",
         "DELETE FROM %s; INSERT INTO %s(key) SELECT k FROM keys WHERE i BETWEEN 7 AND 25"},
    };
    int i = draw(w, chance(w, 6) ? 9 : 7);
    if (i == 3 && w->names.u[0] == 0)
        i = 0;
    with_name(w, bounded || i >= 7 ? REFUSE : BOTH, name, both[i][0],
              both[i][1] ? both[i][1] : both[i][0]);
}

static void draw_once(world *w, const char *name)
{
    static const char *const texts[] = {
        "INSERT OR IGNORE INTO %s(key) VALUES ({1})",
        "INSERT OR IGNORE INTO %s(key) VALUES ({1}), ({2}), ({1}), ({3})",
        "INSERT OR IGNORE INTO %s(key) SELECT k FROM keys WHERE i BETWEEN 5 AND 15",
    };
    if (chance(w, 20))
        with_name(w, REFUSE, name, "INSERT INTO %s(key) VALUES ({1})",
                  "INSERT OR IGNORE INTO %s(key) VALUES ({1})");
    else if (chance(w, 3))
        with_name(w, REFUSE, name, "INSERT INTO %s(%s) VALUES ('clear')", "DELETE FROM %s");
    else {
        const char *text = PICK(w, texts);
        with_name(w, BOTH, name, text, text);
    }
}

/* In the twin: a key was added at t at the earliest, at l at the latest. The clock of a table does not go back: it is that
** of its last add, if that is later, or perhaps of its last command, for which there is a row without a key. */
#define AT(column)    " max({now}, coalesce((SELECT max(" #column ") FROM %s), {now})) "
#define WAS_ADDED     " ON CONFLICT(key) DO UPDATE SET t = excluded.t, l = excluded.l"
#define AHEAD(column) "(SELECT max(0, max(" #column ") - {now}) FROM %s)"

static void draw_ages(world *w, const filter_shape *f, const char *name)
{
    static const char add[] =
        "INSERT INTO %s(key, t, l) SELECT {1}," AT(t) "," AT(l) "WHERE true" WAS_ADDED;
    static const char many[] = "INSERT INTO %s(key, t, l) SELECT k, a, b FROM keys, (SELECT" AT(
        t) "AS a," AT(l) "AS b) WHERE i < 12" WAS_ADDED;
    w->by_epochs = f->kind == EPOCHS;
    if (chance(w, 40))
        with_name(w, ADD_IF_NEW, name, "INSERT OR IGNORE INTO %s(key) VALUES ({1})", add);
    else if (chance(w, 70))
        with_name(w, REFUSE, name, "INSERT INTO %s(key) VALUES ({1})", add);
    else if (chance(w, 70))
        with_name(w, REFUSE, name, "INSERT INTO %s(key) SELECT k FROM keys WHERE i < 12", many);
    else if (f->kind == AGES)
        with_name(w, REFUSE, name, "INSERT INTO %s(%s) VALUES ('clock')",
                  "UPDATE %s SET t = t - " AHEAD(l) ", l = min({now}, l - " AHEAD(t) ")");
    else
        with_name(w, REFUSE, name, "INSERT INTO %s(%s) VALUES ('advance')",
                  "UPDATE %s SET t = t - 1, l = l - 1");
}

/* A command of a table with a clock, which it may set. */
char *draw_aged_command(world *w, const char *name)
{
    w->by_epochs = false;
    char *sql = fill(w, "INSERT INTO %s(l) SELECT" AT(l)), *named = say(sql, name, name);
    free(sql);
    return named;
}

/* A filter in a row of a table: the table of its twin has the keys. */
static void draw_stored(world *w, const char *name)
{
    static const char *const both[][2] = {
        {"UPDATE %s SET f = cf_add(f, {1})", "INSERT INTO %s(key) VALUES ({1})"},
        {"UPDATE %s SET f = cf_delete(f, {1})",
         "DELETE FROM %s WHERE rowid = (SELECT min(rowid) FROM %s WHERE key = {1})"},
        {"UPDATE %s SET f = (SELECT cf_add_keys(f, cf_keys(k)) FROM keys WHERE i < 30 AND i %% 3)",
         "INSERT INTO %s(key) SELECT k FROM keys WHERE i < 30 AND i %% 3"},
        {"UPDATE %s SET f = (SELECT cf_delete_keys(f, cf_keys(k)) FROM keys WHERE i < 12)",
         "DELETE FROM %s WHERE rowid IN (SELECT min(rowid) FROM %s WHERE key IN (SELECT k FROM keys "
         "WHERE i < 12) "
         "GROUP BY key)"},
        {"UPDATE %s SET f = cf_add_keys(f, (SELECT cf_keys(k) FROM keys WHERE i BETWEEN 20 AND 40))",
         "INSERT INTO %s(key) SELECT k FROM keys WHERE i BETWEEN 20 AND 40"},
        {"UPDATE %s SET f = cf_delete_keys(f, (SELECT cf_keys({2})))",
         "DELETE FROM %s WHERE rowid = (SELECT min(rowid) FROM %s WHERE key = "
         "{2})"},
        {"UPDATE %s SET f = cf_merge(f, cf_add(cf_add(cf_clear(f), {1}), {2}), cf_clear(f))",
         "INSERT INTO %s(key) VALUES ({1}), ({2})"},
        {"UPDATE %s SET f = (SELECT cf_merge(g) FROM (SELECT f AS g UNION ALL SELECT "
         "cf_add(cf_clear(f), {3})))",
         "INSERT INTO %s(key) VALUES ({3})"},
        {"UPDATE %s SET f = cf_clear((SELECT cf_open(f)))", "DELETE FROM %s"},
        {"UPDATE %s SET f = (SELECT cf_build(k, 0.01, 'fingerprint_bits=32, counter_bits=8, "
         "affinity=none') FROM keys "
         "WHERE i %% 2 "
         "AND i < 60)",
         "DELETE FROM %s; INSERT INTO %s(key) SELECT k FROM keys WHERE i %% 2 AND i < 60"},
    };
    int i = draw(w, chance(w, 8) ? 10 : 8);
    with_name(w, BOTH, name, both[i][0], both[i][1]);
}

/* Of one filter that takes keys, if there is one. */
void draw_filter_rows(world *w)
{
    int i = draw(w, w->shape.filters);
    const filter_shape *f = filter_of(w, i);
    const char *name = w->names.filter[i];
    if (follows(f) || name[0] == 0 || !w->pairs[w->pair].asks) {
        draw_rows(w);
        return;
    }
    for (int j = 0; j < 3; j++)
        w->drawn_keys[j] = draw(w, UNIVERSE);
    if (f->kind == DIRECT)
        draw_direct(w, name, f->bounded);
    else if (f->kind == STORED)
        draw_stored(w, name);
    else if (f->kind == ONCE)
        draw_once(w, name);
    else
        draw_ages(w, f, name);
}
