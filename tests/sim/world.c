/* SPDX-License-Identifier: MIT */
/*
** world.c - files, connections and clocks: the real database and its twin.
**
** Both lie in memory (disk.c); what the real one writes can fail. All connections are of one thread, and nobody waits for a lock: so a run is the same each time.
*/
#include "sim.h"

#include "../../ext/cuckoo.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t shown; /* what all clocks show, in seconds since a day in the year 2430 */

int64_t world_shown(void)
{
    return shown;
}

int64_t world_now(const world *w)
{
    return w->clock + (w->shape.skewed ? SKEW * w->pair : 0);
}

void world_set_clock(const world *w)
{
    shown = world_now(w);
}

/* SQLite gives the same random numbers from here on. */
void world_set_prng(uint64_t number)
{
    unsigned seed = 1 + (unsigned)(mix(number, 7) >> 33);
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, seed, (sqlite3 *)NULL);
}

void fail(world *w, const char *format, ...)
{
    va_list arguments;
    if (w->failure[0])
        return; /* the first one counts */
    va_start(arguments, format);
    vsnprintf(w->failure, sizeof w->failure, format, arguments);
    va_end(arguments);
}

const filter_shape *filter_of(const world *w, int number)
{
    return &w->shape.filter[number];
}

/* ---- connections ---- */

bool world_prints; /* the SQL that begins a run, of its first connection */

static void must(world *w, sqlite3 *db, char *sql)
{
    if (world_prints && db == w->pairs[0].real)
        printf("  /* 0 */ %s;\n", sql);
    if (db && !w->failure[0] && sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(w, "setup: %s; %s", sqlite3_errmsg(db), sql);
    free(sql);
}

/* Adds up what was written to a WAL, which begins anew after a checkpoint. */
static int count_pages(void *counter, sqlite3 *db, const char *schema, int pages)
{
    wal_pages *wal = counter;
    wal->sum += pages >= wal->last ? pages - wal->last : pages;
    wal->last = pages;
    if (pages > 1000)
        sqlite3_wal_checkpoint_v2(db, schema, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

/* A connection to a file that is there, or is made. */
int world_visit(sqlite3 **db, const char *path, bool asks)
{
    int rc = sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                             strcmp(path, REAL) == 0 ? "real" : "twin");
    if (rc == SQLITE_OK && asks)
        rc = sqlite3_cuckoo_init(*db, NULL, NULL);
    sqlite3_limit(*db, SQLITE_LIMIT_TRIGGER_DEPTH, 40);
    return rc;
}

static void settings(world *w, sqlite3 *db, bool real)
{
    const shape *s = &w->shape;
    must(w, db,
         say("PRAGMA page_size = %d; PRAGMA encoding = '%s'; PRAGMA cache_size = %s; "
             "PRAGMA synchronous = %s; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = %d",
             s->page_size, s->encoding, s->cache, real ? "FULL" : "OFF", s->recursive));
    must(w, db, say("PRAGMA journal_mode = %s", s->journal));
}

bool world_connect(world *w)
{
    for (int i = 0; i < w->shape.pairs && !w->failure[0]; i++) {
        pair *p = &w->pairs[i];
        memset(p, 0, sizeof *p);
        p->asks = w->shape.asks[i];
        if (world_visit(&p->real, REAL, p->asks) != SQLITE_OK ||
            world_visit(&p->twin, TWIN, false) != SQLITE_OK)
            fail(w, "connect: %s", sqlite3_errmsg(p->real));
        settings(w, p->real, true);
        settings(w, p->twin, false);
        sqlite3_wal_hook(p->real, count_pages, &w->real_wal);
        sqlite3_wal_hook(p->twin, count_pages, &w->twin_wal);
    }
    return !w->failure[0];
}

void world_disconnect(world *w)
{
    for (int i = 0; i < w->shape.pairs; i++) {
        pair *p = &w->pairs[i];
        sqlite3_finalize(p->left_real);
        sqlite3_finalize(p->left_twin);
        forget_kept(p->real);
        forget_kept(p->twin);
        if (sqlite3_close(p->real) != SQLITE_OK || sqlite3_close(p->twin) != SQLITE_OK)
            fail(w, "close: a connection stays open");
        memset(p, 0, sizeof *p);
    }
}

/* ---- names ---- */

static void take_name(world *w, const char *name, const char *sql)
{
    sim_names *n = &w->names;
    for (int i = 0; i < w->shape.filters; i++)
        if (strncmp(name, filter_of(w, i)->name, 2) == 0)
            snprintf(n->filter[i], sizeof n->filter[i], "%s", name);
    if (name[0] == 'u') {
        w->over = w->over || n->u[0]; /* two of them: whom a filter follows is not known here */
        strcpy(n->u, name);
        strcpy(n->k, strstr(sql, "k_2") ? "k_2" : "k");
    }
}

/* What there is now, as the twin of this connection sees it. */
void world_names(world *w, const char *schema)
{
    sqlite3_stmt *statement;
    char *sql = say("SELECT name, sql FROM %s.sqlite_master WHERE type = 'table' AND "
                    "(name IN ('u', 'u_2') OR name GLOB '[fhdoaes][0-9]*')",
                    schema);
    memset(&w->names, 0, sizeof w->names);
    keep_sql(w->pairs[w->pair].twin, sql, &statement);
    while (sqlite3_step(statement) == SQLITE_ROW)
        take_name(w, (const char *)sqlite3_column_text(statement, 0),
                  (const char *)sqlite3_column_text(statement, 1));
    sqlite3_reset(statement);
    free(sql);
}

/* ---- the beginning and the end ---- */

static char *keys_text(const world *w, const char *begin, const char *end)
{
    char value[200];
    const char *from = w->shape.key_value;
    size_t n = 0;
    for (; *from; from++)
        value[n++] = *from == '#' ? 'i' : *from;
    value[n] = 0;
    return say("%s(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
               "SELECT i, %s FROM n)%s",
               begin, BULK, value, end);
}

/* Tables that both have, and then the filters, by a connection that has the extension. */
static void fill_database(world *w, sqlite3 *db, bool twin)
{
    must(w, db,
         say("BEGIN; CREATE TABLE p(id INTEGER PRIMARY KEY, n); CREATE TABLE audit(x); "
             "CREATE TABLE narrow(x UNIQUE); CREATE TABLE bent(x, y AS (x %% 2) UNIQUE); "
             "CREATE TABLE beat(n); INSERT INTO beat VALUES (0); CREATE TABLE tick(n); INSERT INTO tick "
             "VALUES (0); INSERT INTO narrow VALUES (1); "
             "CREATE TABLE keys(i INTEGER PRIMARY KEY, k); "
             "INSERT INTO p VALUES (0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7)"));
    must(w, db, keys_text(w, "INSERT INTO keys SELECT * FROM ", w->shape.bulk ? "" : " LIMIT 60"));
    must(w, db, shape_content(w, "u"));
    for (int i = 0; i < 3; i++)
        must(w, db, shape_triggers("u", i));
    must(w, db,
         say("INSERT OR IGNORE INTO u SELECT i, k, i %% 8, i %% 50 FROM keys WHERE i BETWEEN 2 AND %d "
             "AND i %% 3; "
             "COMMIT",
             w->shape.few ? 6 : 30));
    strcpy(w->names.u, "u");
    strcpy(w->names.k, "k");
    for (int i = 0; i < w->shape.filters; i++)
        must(w, db, shape_filter(w, i, twin));
}

void world_begin(world *w, uint64_t seed, sim_counts *counts)
{
    memset(w, 0, sizeof *w);
    w->seed = w->dice = seed;
    w->counts = counts;
    w->row = "new";
    disk_clear();
    shape_draw(w);
    world_set_prng(seed);
    world_set_clock(w);
    if (w->shape.faults == POWER_FAULTS)
        disk_power_on(w->seed);
    if (!world_connect(w))
        return;
    fill_database(w, w->pairs[0].real, false);
    fill_database(w, w->pairs[0].twin, true);
}

void world_end(world *w)
{
    world_disconnect(w);
    disk_clear();
    for (int i = 0; i < w->steps.n; i++) {
        free(w->steps.at[i].real);
        free(w->steps.at[i].twin);
    }
    free(w->steps.at);
}
