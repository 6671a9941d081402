/* SPDX-License-Identifier: MIT */
/*
** ask_kinds.c - what must be true of fronts, and of tables that take keys or forget them.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- fronts ---- */

static const char *const front_forms[] = {
    "SELECT * FROM T WHERE C = {key}",
    "SELECT * FROM T WHERE C = {key} AND n > {n}",
    "SELECT id, C FROM T WHERE C IN ({key}, {key}, {key})",
    "SELECT * FROM T WHERE id BETWEEN {id} AND {id} + 20",
    "SELECT * FROM T WHERE id = {id}",
    "SELECT n, count(*) FROM T GROUP BY n",
    "SELECT p.id, b.id FROM p LEFT JOIN T b ON b.x = p.id",
    "SELECT count(*) FROM p WHERE NOT EXISTS (SELECT 1 FROM T b WHERE b.x = p.id)",
    "SELECT a.id FROM T a WHERE C IS NULL",
    "SELECT count(*), sum(n) FROM T",
    "SELECT a.id, b.id FROM T a, T b WHERE a.C = b.C AND a.n < b.n",
    "SELECT * FROM T ORDER BY id LIMIT 3",
    "SELECT id FROM T ORDER BY id DESC LIMIT {n}",
    "SELECT n FROM T WHERE n > {n} ORDER BY n DESC LIMIT 5",
    "SELECT * FROM T WHERE C IN (SELECT k FROM keys WHERE i % 9 = {n} % 9)",
    "SELECT * FROM T WHERE C LIKE 'k1%' OR C LIKE '{n}'",
    "SELECT * FROM T WHERE C LIKE 'K{n}%'",
    "SELECT * FROM T WHERE C GLOB 'k{x}*'",
    "SELECT * FROM T WHERE C = {n}",
    "SELECT * FROM T WHERE C = '{n}' OR C = '{n}.0'",
    "SELECT * FROM T WHERE C IN ({n}, '{n}', 'k{n}', {n}.5, x'6231')",
    "SELECT keys.i, b.id FROM keys JOIN T b ON b.C = keys.i WHERE keys.i < 20",
    /* the last ones are not for all columns */
    "SELECT keys.i, b.id FROM keys JOIN T b ON b.C = keys.k WHERE keys.i < 60",
    "SELECT keys.i, b.n FROM keys LEFT JOIN T b ON b.C = keys.k WHERE keys.i < 60",
    "SELECT * FROM T WHERE C > {key} AND C <= {key}",
    "SELECT * FROM T WHERE C >= {key} ORDER BY C LIMIT 1000",
};

/* T becomes the table, C the column. */
static char *front_sql(const char *form, const char *schema, const char *table, const char *column)
{
    char made[600];
    size_t n = 0;
    for (; *form && n < sizeof made - 80; form++) {
        bool word = form[1] < 'A' && (*form == 'T' || *form == 'C');
        n += (size_t)(!word          ? snprintf(made + n, 2, "%c", *form)
                      : *form == 'C' ? snprintf(made + n, 40, "%s", column)
                                     : snprintf(made + n, 60, "%s.%s", schema, table));
    }
    return say("%s", made);
}

void ask_front(const question *q)
{
    bool mixed = strstr(q->w->shape.key_value, "CASE") != NULL;
    int forms = mixed ? 22 : 26;
    char *form = fill(q->w, front_forms[draw(q->w, forms)]);
    char *front = front_sql(form, q->schema, q->name, q->column);
    char *plain = front_sql(form, q->schema, q->w->names.u, q->column);
    outcome is = ask_sql(q->pair->real, front), should = ask_sql(q->pair->real, plain);
    q->w->counts->questions++;
    if (is.code != should.code && !(is_locked(is.code) && is_locked(should.code)))
        fail(q->w, "front: %d %s; the table: %d %s; %s", is.code, is.message, should.code,
             should.message, front);
    else if (is.code == SQLITE_OK && (is.n != should.n || is.rows != should.rows))
        fail(q->w, "front: %d rows, the table %d, or others; connection %d; %s", is.n, should.n,
             q->number, front);
    free(form);
    free(front);
    free(plain);
}

/* ---- tables that take keys ---- */

void ask_members(const question *q)
{
    uint64_t keys;
    outcome r, rows;
    if (!keys_of(q->pair->twin,
                 say("SELECT i FROM keys WHERE i < %d AND EXISTS (SELECT 1 FROM %s.%s a WHERE a.key = "
                     "keys.k)",
                     ASKED_KEYS, q->schema, q->name),
                 0, &keys))
        return;
    ask_keys(q, keys, keys);
    char *sql = say("SELECT count(key) FROM %s.%s", q->schema, q->name);
    rows = ask_sql(q->pair->twin, sql);
    if (q->filter->kind == DIRECT &&
        asked(q, say("SELECT count(*) FROM %s.%s", q->schema, q->name), &r) && r.one != rows.one)
        fail(q->w, "count: %s has %lld keys, added and not deleted were %lld", q->name, (long long)r.one,
             (long long)rows.one);
    free(sql);
}

/* A filter in a row: exact, with counters. */
void ask_stored_filter(const question *q)
{
    uint64_t must, found;
    char *stored =
        say("SELECT i FROM keys WHERE i < %d AND EXISTS (SELECT 1 FROM %s.%s a WHERE a.key = keys.k)",
            ASKED_KEYS, q->schema, q->name);
    char *sql = say("SELECT i FROM keys WHERE i < %d AND cf_contains((SELECT f FROM %s.%s), k)",
                    ASKED_KEYS, q->schema, q->name);
    bool known_now = keys_of(q->pair->twin, stored, 0, &must); /* both texts are taken */
    if (keys_of(q->pair->real, sql, 0, &found) && known_now && must != found)
        fail(q->w, "stored: %s has keys %#llx, not %#llx", q->name, (unsigned long long)found,
             (unsigned long long)must);
    outcome r, rows;
    sql = say("SELECT count(key) FROM %s.%s", q->schema, q->name);
    rows = ask_sql(q->pair->twin, sql);
    free(sql);
    sql = say("SELECT CASE WHEN cf_check(f) = 'ok' THEN json_extract(cf_info(f), '$.items') ELSE -1 END "
              "FROM %s.%s",
              q->schema, q->name);
    r = ask_sql(q->pair->real, sql);
    free(sql);
    if (r.code == SQLITE_OK && rows.code == SQLITE_OK && r.one != rows.one)
        fail(q->w, "stored: %s has %lld keys, not %lld", q->name, (long long)r.one, (long long)rows.one);
}

/* The times of an add since which a key is surely there, and before which it is surely not. A table's clock is that of its last
** add, if that is later, or perhaps of its last command. */
static long long clock_of(const question *q, const char *column)
{
    char *sql = say("SELECT max(?1, coalesce(max(%s), 0)) FROM %s.%s", column, q->schema, q->name);
    long long now = ask_with(q->pair->twin, sql, world_now(q->w)).one;
    free(sql);
    return now;
}

static void age_limits(const question *q, long long *must, long long *may)
{
    bool epochs = q->filter->kind == EPOCHS;
    *must = epochs ? -q->filter->keep + 1 : clock_of(q, "l") - q->filter->keep;
    *may = epochs ? *must : clock_of(q, "t") - (long long)(1.21 * q->filter->keep) - TOLERANCE;
}

static const char ages_since[] = "SELECT i FROM keys WHERE i < %d AND "
                                 "EXISTS (SELECT 1 FROM %s.%s a WHERE a.key = keys.k AND a.%s >= ?1)";

/* Was it added within a third of the time? */
static void ask_window(const question *q, long long keep_from)
{
    int window = q->filter->keep / 3;
    uint64_t must;
    outcome r;
    char *within = say("SELECT i FROM keys WHERE i < %d AND cf_table_contains('%s.%s', k, '%d seconds')",
                       ASKED_KEYS, q->schema, q->name, window);
    char *since = say(ages_since, ASKED_KEYS, q->schema, q->name, "t");
    bool known_now = keys_of(q->pair->twin, since, keep_from + q->filter->keep - window, &must);
    if (asked(q, within, &r) && known_now && must & ~r.keys)
        fail(q->w, "missed: keys %#llx of %s, added within %d seconds",
             (unsigned long long)(must & ~r.keys), q->name, window);
}

void ask_ages(const question *q)
{
    uint64_t must, may;
    long long must_from, may_from;
    age_limits(q, &must_from, &may_from);
    if (keys_of(q->pair->twin, say(ages_since, ASKED_KEYS, q->schema, q->name, "t"), must_from, &must) &&
        keys_of(q->pair->twin, say(ages_since, ASKED_KEYS, q->schema, q->name, "l"), may_from, &may))
        ask_keys(q, must, may);
    if (q->filter->kind == AGES && chance(q->w, 30))
        ask_window(q, must_from);
}

/* INSERT OR IGNORE has said whether a key was new. */
void ask_key(world *w, const step *s, bool was_new)
{
    char name[16] = "";
    const char *key = strstr(s->real, "VALUES ");
    sscanf(s->real, "INSERT OR IGNORE INTO %15[a-z0-9_]", name);
    for (int i = 0; i < w->shape.filters; i++) {
        question q = {.w = w,
                      .pair = &w->pairs[s->pair],
                      .filter = filter_of(w, i),
                      .schema = "main",
                      .name = name};
        long long must, may;
        if (strncmp(name, q.filter->name, strlen(q.filter->name)) != 0)
            continue;
        age_limits(&q, &must, &may);
        char *sql =
            say("SELECT coalesce(sum(t >= %lld), 0) FROM %s WHERE key = %s", must, name, key + 7);
        bool surely = ask_sql(w->pairs[s->pair].twin, sql).one > 0;
        free(sql);
        sql = say("SELECT coalesce(sum(l >= %lld), 0) FROM %s WHERE key = %s", may, name, key + 7);
        bool perhaps = ask_sql(w->pairs[s->pair].twin, sql).one > 0;
        free(sql);
        if (was_new ? surely : !perhaps)
            fail(w, "new: changes() says that the key was %s", was_new ? "new" : "there");
    }
}
