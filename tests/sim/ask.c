/* SPDX-License-Identifier: MIT */
/*
** ask.c - what must be true after a step, in terms of what a user is promised.
**
**  - the rows of ordinary tables are those of the twin;
**  - a key that is stored is found, or the answer is an error that names a remedy;
**  - a front gives exactly the rows of its table;
**  - tables that take keys know what they must, and where nothing meets by chance, nothing else;
**  - counts are exact where nothing is stale, and check says ok.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ordinary tables ---- */

static const char *const compared[] = {"u", "u_2", "p", "audit", "narrow", "tick", "bent", "new_u"};
enum { COMPARED = sizeof compared / sizeof compared[0] };

/* All names that steps may make. What a filter makes for itself is not looked at. */
static char *list_names(const world *w)
{
    char filters[FILTERS * 48] = "";
    for (int i = 0; i < w->shape.filters; i++)
        snprintf(filters + strlen(filters), sizeof filters - strlen(filters), ", '%s', '%s_2'",
                 filter_of(w, i)->name, filter_of(w, i)->name);
    return say(
        "SELECT name, iif(name GLOB '[fhdoaes][0-9]*', '', sql) FROM "
        "(SELECT * FROM main.sqlite_master UNION ALL SELECT * FROM sqlite_temp_master) WHERE name IN "
        "('u', 'u_2', 'new_u', 'p', 'audit', 'narrow', 'bent', 'tick', 't1', 't2', 't3', 'un', 'uk', "
        "'v', 'junk'%s) OR name GLOB '*u_still_[0-2]'",
        filters);
}

/* A bit for each of the tables that is there; the names and texts are added to *sum. */
static int list_tables(const world *w, sqlite3 *db, uint64_t *sum, unsigned *tables)
{
    sqlite3_stmt *statement;
    char *sql = list_names(w);
    int rc = keep_sql(db, sql, &statement);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (unsigned i = 0; i < COMPARED; i++)
            if (strcmp((const char *)sqlite3_column_text(statement, 0), compared[i]) == 0)
                *tables |= 1U << i;
        *sum += hash_row(statement);
        rc = SQLITE_OK;
    }
    sqlite3_reset(statement);
    free(sql);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* A number that is the same for the same tables with the same rows. */
uint64_t content_of(const world *w, sqlite3 *db, int *code)
{
    uint64_t sum = 0;
    unsigned tables = 0;
    *code = list_tables(w, db, &sum, &tables);
    for (unsigned i = 0; i < COMPARED && *code == SQLITE_OK; i++)
        if (tables >> i & 1) {
            char *sql = say("SELECT * FROM main.%s", compared[i]);
            outcome r = ask_sql(db, sql);
            sum += mix(r.rows, i);
            *code = r.code;
            free(sql);
        }
    return sum;
}

/* Where there is no filter any more, nothing is left of any. */
static void ask_left_over(world *w, int number)
{
    static const char
        filters[] = "SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name GLOB "
                    "'[fhdoaes][0-9]*'",
        objects[] =
            "SELECT count(*) FROM main.sqlite_master WHERE name NOT GLOB 'made_*' AND name NOT GLOB "
            "'sqlite_stat*'";
    pair *p = &w->pairs[number];
    outcome some = ask_sql(p->twin, filters);
    if (some.code != SQLITE_OK || some.one > 0)
        return;
    outcome real = ask_sql(p->real, objects), twin = ask_sql(p->twin, objects);
    if (real.code == SQLITE_OK && twin.code == SQLITE_OK && real.one != twin.one)
        fail(w, "left over: %lld objects, without the filter %lld, and all filters were dropped",
             (long long)real.one, (long long)twin.one);
}

static bool ask_compare(world *w, int number)
{
    pair *p = &w->pairs[number];
    int real_code, twin_code;
    uint64_t real = content_of(w, p->real, &real_code), twin = content_of(w, p->twin, &twin_code);
    w->counts->questions++;
    /* Without memory SQLite may write early, for which it locks the file. */
    if (is_locked(twin_code) || (is_locked(real_code) && w->shape.faults == MEMORY_FAULTS))
        return false;
    if (real_code == SQLITE_OK && twin_code == SQLITE_OK)
        ask_left_over(w, number);
    if (real_code != twin_code)
        fail(w, "read: %d %s, without the filter %d", real_code, sqlite3_errmsg(p->real), twin_code);
    else if (real_code == SQLITE_OK && real != twin && w->undefined)
        w->parted = true;
    else if (real_code == SQLITE_OK && real != twin)
        fail(w, "content: tables differ from those without the filter");
    return !w->failure[0];
}

/* ---- questions ---- */

/* An error of a filter that says what to do. */
static bool names_remedy(const outcome *r)
{
    return (r->code & 0xff) == SQLITE_ERROR &&
           (strstr(r->message, "rebuild") || strstr(r->message, "trigger"));
}

/* Does a filter that follows say that it is not trusted, and why? */
static bool distrusts(const question *q)
{
    char *sql = say("SELECT json_extract(i, '$.trusted') = 0 AND json_extract(i, '$.why') <> '' FROM "
                    "(SELECT cf_table_info('%s.%s') AS i)",
                    q->schema, q->name);
    outcome r = ask_sql(q->pair->real, sql);
    q->w->counts->questions++;
    if (r.code != SQLITE_OK && !is_locked(r.code))
        fail(q->w, "info: %d %s", r.code, r.message);
    free(sql);
    return r.code != SQLITE_OK || r.one != 0;
}

/* Can this connection not read any table? An old TEMP trigger can make it so. */
static bool is_blind(const outcome *r, sqlite3 *db)
{
    return strstr(r->message, "malformed database schema") &&
           run_sql(db, "SELECT count(*) FROM main.tick").code != SQLITE_OK;
}

/* Asks the real one; false: it has not answered, and may do so. Takes sql. */
bool asked(const question *q, char *sql, outcome *r)
{
    *r = ask_sql(q->pair->real, sql);
    q->w->counts->questions++;
    if (r->code != SQLITE_OK && is_locked(r->code)) {
        char *other = say("SELECT count(*) FROM %s.tick", q->schema);
        bool main_too = !known("attached_lookup") &&
                        run_sql(q->pair->twin, "SELECT 1 FROM main.tick").code != SQLITE_OK;
        if (!main_too && !anybody_is_uneven(q->w) && !is_locked(run_sql(q->pair->twin, other).code))
            fail(q->w, "locked: %d %s; %s", r->code, r->message, sql);
        free(other);
    } else if (r->code != SQLITE_OK && !is_blind(r, q->pair->real) &&
               (!follows(q->filter) || !names_remedy(r) || !distrusts(q)))
        fail(q->w, "lookup: %d %s; %s", r->code, r->message, sql);
    bool lacks =
        strstr(r->message, "are missing in it") || strstr(r->message, "have changed without its");
    if (r->code != SQLITE_OK && lacks && !q->w->doubted)
        fail(q->w, "lacks: %d %s; %s", r->code, r->message, sql);
    q->w->counts->refused += r->code != SQLITE_OK;
    free(sql);
    return r->code == SQLITE_OK;
}

/* Which of the first keys a question answers with; number: ?1. Takes sql. */
bool keys_of(sqlite3 *db, char *sql, sqlite3_int64 number, uint64_t *keys)
{
    outcome r = ask_with(db, sql, number);
    free(sql);
    *keys = r.keys;
    return r.code == SQLITE_OK;
}

/* The first keys: those that must be found are found, and no others than those that may. */
void ask_keys(const question *q, uint64_t must, uint64_t may)
{
    static const char *const forms[] = {
        "SELECT i FROM keys WHERE i < %3$d AND cf_table_contains('%1$s.%2$s', k)",
        "SELECT i FROM keys WHERE i < %3$d AND EXISTS (SELECT 1 FROM %1$s.%2$s WHERE key = k)",
        "SELECT keys.i FROM keys JOIN %1$s.%2$s ON %2$s.key = keys.k WHERE keys.i < %3$d",
    };
    outcome r;
    int form = q->filter->kind == FRONT ? 0 : draw(q->w, 3);
    char *sql = say(forms[form], q->schema, q->name, ASKED_KEYS), *shown = say("%s", sql);
    if (asked(q, sql, &r)) {
        uint64_t found = r.keys;
        if (must & ~found)
            fail(q->w, "missed: keys %#llx of %s, connection %d; %s",
                 (unsigned long long)(must & ~found), q->name, q->number, shown);
        else if (found & ~may)
            fail(q->w, "too much: keys %#llx of %s, connection %d; %s",
                 (unsigned long long)(found & ~may), q->name, q->number, shown);
    }
    free(shown);
}

/* ---- filters that follow ---- */

static bool may_be_exact(const question *q)
{
    const world *w = q->w;
    return q->filter->exact && !w->stale && w->shape.recursive && !w->shape.bulk;
}

static void ask_stored(const question *q)
{
    static const char *const forms[] = {
        "SELECT count(*) FROM %1$s.%2$s WHERE %3$s IS NOT NULL AND NOT cf_table_contains('%1$s.%4$s', "
        "%3$s)",
        "SELECT count(*) FROM %1$s.%2$s a WHERE %3$s IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM %1$s.%4$s b WHERE b.key = a.%3$s)",
        "SELECT (SELECT count(%3$s) FROM %1$s.%2$s) - "
        "(SELECT count(*) FROM %1$s.%2$s a JOIN %1$s.%4$s b ON b.key = a.%3$s)",
    };
    outcome r;
    int form = q->filter->kind == FRONT ? 0 : draw(q->w, 3);
    char *sql = say(forms[form], q->schema, q->w->names.u, q->column, q->name), *shown = say("%s", sql);
    if (asked(q, sql, &r) && r.one != 0)
        fail(q->w, "missed: %lld stored rows, by connection %d; %s", (long long)r.one, q->number, shown);
    free(shown);
}

/* Does a filter deny all keys that the content does not have? Of some keys it says "perhaps" (key.h): of reals with a fraction,
** and of numbers where the column has texts. */
static bool denies_others(const question *q)
{
    const shape *s = &q->w->shape;
    bool vague = strstr(s->key_value, "0.5") || (s->key_type[0] == 'T' && s->key_value[0] == '#');
    return q->column[0] == 'k' && !vague && may_be_exact(q) && !distrusts(q);
}

/* A number for the first keys that are in the content. */
static bool keys_stored(const question *q, uint64_t *keys)
{
    return keys_of(
        q->pair->twin,
        say("SELECT i FROM keys WHERE i < %d AND EXISTS (SELECT 1 FROM %s.%s a WHERE a.%s = keys.k)",
            ASKED_KEYS, q->schema, q->w->names.u, q->column),
        0, keys);
}

static bool anybody_is_busy(const world *w)
{
    for (int i = 0; i < w->shape.pairs; i++)
        if (!sqlite3_get_autocommit(w->pairs[i].twin) || w->pairs[i].left_real)
            return true;
    return false;
}

/* When nobody is in a transaction: the log is drained, and then all is known exactly. */
static void ask_count(const question *q)
{
    outcome r, rows;
    if (anybody_is_busy(q->w) || q->number == PAIRS || strcmp(q->schema, "main") != 0)
        return;
    if (distrusts(q)) {
        if (asked(q, say("SELECT cf_table_check('%s')", q->name), &r) && strcmp(r.message, "ok") == 0)
            fail(q->w, "check: ok, and it is not trusted: %s", q->name);
        return;
    }
    if ((q->filter->kind == FRONT || chance(q->w, 60)) &&
        !asked(q, say("INSERT INTO %s(%s) VALUES ('drain')", q->name, q->name), &r))
        return;
    if (q->filter->kind == FRONT &&
        (!asked(q, say("SELECT cf_table_contains('%s', 1)", q->name), &r) ||
         !asked(q, say("SELECT json_extract(cf_table_info('%s', 'all'), '$.items')", q->name), &r)))
        return;
    if (q->filter->kind != FRONT && !asked(q, say("SELECT count(*) FROM %s", q->name), &r))
        return;
    char *sql = say("SELECT count(%s) FROM %s", q->column, q->w->names.u);
    rows = run_sql(q->pair->real, sql);
    free(sql);
    if (r.one < rows.one || (r.one > rows.one && may_be_exact(q)))
        fail(q->w, "count: %s has %lld keys for %lld rows", q->name, (long long)r.one,
             (long long)rows.one);
    /* Beside a trigger of others that breaks the rules a row may come untold, which is noticed when it goes. */
    if (r.one == rows.one && asked(q, say("SELECT cf_table_check('%s')", q->name), &r) &&
        strcmp(r.message, "ok") != 0 && !(q->w->doubted && strstr(r.message, "without its triggers")))
        fail(q->w, "check: %s", r.message);
}

static void ask_follower(const question *q, bool thorough)
{
    uint64_t stored;
    if (q->w->names.u[0] == 0)
        return;
    ask_stored(q);
    if (thorough && q->column[0] != 'i' && keys_stored(q, &stored))
        ask_keys(q, stored, denies_others(q) ? stored : UINT64_MAX);
    if (thorough)
        ask_count(q);
}

/* ---- all of it ---- */

static void ask_filter(question *q, bool thorough)
{
    const filter_shape *f = q->filter;
    if (f->kind == STORED)
        ask_stored_filter(q);
    else if (follows(f)) {
        q->column = f->column[0] == 'k' ? q->w->names.k : f->column;
        ask_follower(q, thorough);
        if (f->kind == FRONT)
            ask_front(q);
    } else if ((f->kind == AGES || f->kind == EPOCHS) && !q->w->parted)
        ask_ages(q);
    else if (!q->w->parted)
        ask_members(q);
}

static void ask_schema(world *w, int number, const char *schema, bool thorough)
{
    int was = w->pair;
    w->pair = number;
    world_set_clock(w);
    world_names(w, schema);
    for (int i = 0; i < w->shape.filters && !w->failure[0] && !w->over; i++)
        if (w->names.filter[i][0] && (thorough || chance(w, w->risky ? 60 : 22))) {
            question q = {.w = w, .pair = &w->pairs[number], .number = number, .schema = schema};
            q.name = w->names.filter[i];
            q.filter = filter_of(w, i);
            ask_filter(&q, thorough);
        }
    w->pair = was;
}

/* What reads of both see is of one time: that of their first read in a transaction. */
void ask_same_time(const pair *p)
{
    ask_sql(p->real, "SELECT n FROM main.tick");
    ask_sql(p->twin, "SELECT n FROM main.tick");
}

/* All is asked of one state. A transaction that only reads always ends well. */
static void ask_to(world *w, int number, const char *sql)
{
    outcome real = ask_sql(w->pairs[number].real, sql), twin = ask_sql(w->pairs[number].twin, sql);
    if (real.code != twin.code)
        fail(w, "code: %s of a transaction that only reads: %d %s, without the filter %d", sql,
             real.code, real.message, twin.code);
}

void ask_pair(world *w, int number, bool thorough)
{
    pair *p = &w->pairs[number];
    bool together =
        !thorough && p->left_real == NULL && sqlite3_get_autocommit(p->twin) && chance(w, 70);
    if (together)
        ask_to(w, number, "BEGIN");
    bool compares = thorough || chance(w, w->risky ? 35 : 8);
    if (!compares)
        ask_same_time(p);
    if ((!compares || ask_compare(w, number)) && p->asks)
        ask_schema(w, number, "main", thorough && !w->parted);
    if (!w->failure[0] && p->asks && p->far)
        ask_schema(w, number, "far", thorough && !w->parted);
    if (together)
        ask_to(w, number, "COMMIT");
}

void ask_all(world *w, const step *s)
{
    w->dice = mix(w->seed, s->number + 500000000);
    w->prefix[0] = 0;
    for (int i = 0; i < w->shape.pairs && !w->failure[0]; i++)
        if (i == s->pair || chance(w, 12))
            ask_pair(w, i, chance(w, w->risky ? 10 : 3));
}

void ask_everywhere(world *w)
{
    for (int i = 0; i < w->shape.pairs && !w->failure[0]; i++)
        ask_pair(w, i, true);
}
