/* SPDX-License-Identifier: MIT */
/*
** shape.c - what a seed draws before the first step: the database, its content and its filters.
*/
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns, and the values that are written to them: '#' is the number of a key. Some numbers give
** equal keys. */
static const struct {
    const char *type, *collation, *value;
} key_columns[] = {
    {"", "", "#"},
    {"INTEGER", "", "#"},
    {"TEXT", "", "'k' || #"},
    {"TEXT", "", "#"},
    {"TEXT", "COLLATE NOCASE", "substr('kK', # % 2 + 1, 1) || (# / 2)"},
    {"TEXT", "COLLATE RTRIM", "'k' || (# / 2) || substr('  ', 1, # % 2)"},
    {"NUMERIC", "", "CASE # % 3 WHEN 0 THEN # WHEN 1 THEN '0' || # ELSE # + 0.5 END"},
    {"REAL", "", "# * 0.5"},
    {"BLOB", "", "CAST('b' || # AS BLOB)"},
    {"", "",
     "CASE # % 4 WHEN 0 THEN # WHEN 1 THEN 'm' || # WHEN 2 THEN # + 0.5 "
     "ELSE CAST('b' || # AS BLOB) END"},
};

static const struct {
    const char *type, *ending;
    bool needed; /* NULL is not a new one */
} id_columns[] = {
    {"INTEGER PRIMARY KEY", "", false},
    {"INTEGER PRIMARY KEY", "", false},
    {"INTEGER UNIQUE", "", false},
    {"INT PRIMARY KEY", "", true},
    {"INTEGER PRIMARY KEY", " WITHOUT ROWID", true},
    {"TEXT PRIMARY KEY", " WITHOUT ROWID", true},
};

static const char *const actions[] = {"CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"};

/* ---- filters ---- */

static void draw_follower(world *w, filter_shape *f)
{
    static const char *const columns[] = {"k", "k", "k", "x", "id"};
    static const char *const exact[] = {"capacity=8, fingerprint_bits=32, counter_bits=8",
                                        "capacity=100, fingerprint_bits=32, counter_bits=8",
                                        "capacity=400, fingerprint_bits=32, counter_bits=8"};
    static const char *const vague[] = {"capacity=8", "capacity=50, fpr=0.05, growth=off, stash=on",
                                        "capacity=30, growth=off", "fpr=0.2"};
    f->column = PICK(w, columns);
    f->exact = chance(w, 60);
    if (w->shape.few && !f->exact &&
        chance(w, 70)) /* soon there is no place for more keys, and they wait */
        strcpy(f->options, "capacity=8, growth=off");
    else
        strcpy(f->options, f->exact ? PICK(w, exact) : PICK(w, vague));
}

/* Keys of all types are looked for, and most of them are not there. */
static void draw_options(world *w, filter_shape *f)
{
    static const int capacities[] = {8, 60, 300}, keeps[] = {600, 3600, 86400};
    int capacity = PICK(w, capacities);
    const char *more = "";
    if (f->kind == STORED)
        more = ", counter_bits=8";
    if (f->kind == DIRECT) {
        f->bounded = chance(w, 15);
        more = f->bounded ? ", counter_bits=8, growth=off" : ", counter_bits=8";
    }
    f->exact = true;
    if (f->kind == ONCE)
        more = ", adds=once";
    f->keep = f->kind == AGES ? PICK(w, keeps) : 1 + draw(w, 4);
    snprintf(f->options, sizeof f->options, "capacity=%d, fingerprint_bits=32, affinity=none%s",
             capacity, more);
    if (f->kind == AGES)
        snprintf(f->options, sizeof f->options,
                 "capacity=%d, fingerprint_bits=32, affinity=none, keep='%d seconds'", capacity,
                 f->keep);
    if (f->kind == EPOCHS)
        snprintf(f->options, sizeof f->options,
                 "capacity=%d, fingerprint_bits=32, affinity=none, epochs=%d", capacity, f->keep);
}

static void draw_filter(world *w, int number)
{
    static const filter_kind kinds[] = {FOLLOWS, FOLLOWS, FOLLOWS, FRONT, FRONT,  DIRECT,
                                        DIRECT,  ONCE,    AGES,    AGES,  EPOCHS, STORED};
    filter_shape *f = &w->shape.filter[number];
    *f = (filter_shape){.kind = number == 0 ? kinds[draw(w, 7)] : PICK(w, kinds)};
    snprintf(f->name, sizeof f->name, "%c%d", "fhdoaes"[f->kind], number);
    if (follows(f))
        draw_follower(w, f);
    else
        draw_options(w, f);
}

bool follows(const filter_shape *f)
{
    return f->kind == FOLLOWS || f->kind == FRONT;
}

/* ---- the rest ---- */

static void draw_weights(world *w)
{
    static const int usual[STEP_KINDS] = {40, 16, 12, 5, 3, 5, 4, 4, 2, 3, 1},
                     factors[] = {0, 1, 1, 2, 3};
    for (int i = 0; i < STEP_KINDS; i++)
        w->shape.weights[i] = usual[i] * (i == ROWS ? 1 : PICK(w, factors));
    for (int i = 0; i < w->shape.filters; i++)
        if (filter_of(w, i)->kind == AGES) { /* time matters */
            w->shape.weights[TIME] += 8;
            w->shape.weights[FILTER_ROWS] += 20;
        }
}

static void draw_database(world *w)
{
    static const int page_sizes[] = {512, 1024, 4096, 4096, 16384};
    static const char *const journals[] = {"wal",      "wal",     "wal",   "delete",
                                           "truncate", "persist", "memory"};
    static const int faults[] = {45, 12, 12, 15, 8, 8};
    static const int pairs[] = {1, 1, 2, 2, 3, 4};
    shape *s = &w->shape;
    s->page_size = PICK(w, page_sizes);
    s->journal = PICK(w, journals);
    s->encoding = chance(w, 10) ? "UTF-16le" : "UTF-8";
    s->faults = (fault_kind_of_run)draw_weighted(w, faults, 6);
    if (fault_always && s->faults == NO_FAULTS)
        s->faults = chance(w, 60) ? MEMORY_FAULTS : DISK_FAULTS;
    s->pairs = PICK(w, pairs);
    /* A stash of the cache takes locks, and at other moments than the twin's. */
    /* SQLite 3.40 loses what a WAL holds of a transaction that was stashed and rolled back in part, when the power goes. */
    bool stashes = s->faults != POWER_FAULTS || strcmp(s->journal, "wal") != 0;
    s->cache =
        chance(w, 30) && stashes && (s->pairs == 1 || strcmp(s->journal, "wal") == 0) ? "10" : "-2000";
    for (int i = 0; i < s->pairs; i++)
        s->asks[i] = i == 0 || chance(w, 60);
    if (strcmp(s->journal, "memory") == 0 && s->faults != NO_FAULTS)
        s->faults = chance(w, 50) ? MEMORY_FAULTS : INTERRUPTS;
}

static void draw_content(world *w)
{
    shape *s = &w->shape;
    int key = draw(w, (int)(sizeof key_columns / sizeof key_columns[0]));
    int id = draw(w, (int)(sizeof id_columns / sizeof id_columns[0]));
    s->key_type = key_columns[key].type;
    s->collation = key_columns[key].collation;
    s->key_value = key_columns[key].value;
    s->id_type = id_columns[id].type;
    s->ending = id_columns[id].ending;
    s->needs_id = id_columns[id].needed;
    s->on_delete = PICK(w, actions);
    s->on_update = PICK(w, actions);
    s->unique = chance(w, 60);
    s->recursive = chance(w, 70);
}

void shape_draw(world *w)
{
    shape *s = &w->shape;
    memset(s, 0, sizeof *s);
    draw_database(w);
    draw_content(w);
    s->bulk = chance(w, 8);
    s->few = chance(w, 30);
    s->filters = 1 + draw(w, FILTERS);
    for (int i = 0; i < s->filters; i++)
        draw_filter(w, i);
    s->skewed = chance(w, 30);
    draw_weights(w);
}

/* ---- SQL ---- */

char *shape_content(const world *w, const char *table)
{
    const shape *s = &w->shape;
    return say(
        "CREATE TABLE %s(id %s, k %s %s %s, x DEFAULT 1 REFERENCES p(id) ON DELETE %s ON UPDATE %s, "
        "n DEFAULT 0)%s",
        table, s->id_type, s->key_type, s->collation, s->unique ? "UNIQUE" : "", s->on_delete,
        s->on_update, s->ending);
}

/* Triggers that do nothing, in both: SQLite runs a statement in another order of rows where a table
** has triggers, and the twin has none of a filter's. */
char *shape_triggers(const char *table, int i)
{
    static const char *const events[] = {"INSERT", "UPDATE", "DELETE"};
    return say("CREATE TRIGGER %s_still_%d AFTER %s ON %s BEGIN SELECT 1; END", table, i, events[i],
               table);
}

static char *twin_filter(const filter_shape *f)
{
    if (f->kind == AGES || f->kind == EPOCHS)
        return say("CREATE TABLE %s(key UNIQUE, t, l)", f->name); /* a sure add, and a possible one */
    return say("CREATE TABLE %s(key%s)", f->name, f->kind == ONCE ? " UNIQUE" : "");
}

/* A front may store rowids, if the table has them. */
static bool has_rowids(const world *w, const filter_shape *f)
{
    return f->kind == FRONT && *w->shape.ending == 0 && f->name[strlen(f->name) - 1] % 2 == 0;
}

char *shape_filter(const world *w, int number, bool twin)
{
    const filter_shape *f = filter_of(w, number);
    const char *column = strcmp(f->column ? f->column : "", "k") == 0 ? w->names.k : f->column;
    if (twin)
        return twin_filter(f);
    if (f->kind == STORED)
        return say("CREATE TABLE %s AS SELECT cf_new(%d, 0.01, 'counter_bits=8, fingerprint_bits=32, "
                   "affinity=none') AS f",
                   f->name, atoi(f->options + strlen("capacity=")));
    if (!follows(f))
        return say("CREATE VIRTUAL TABLE %s USING cuckoo_filter(%s)", f->name, f->options);
    bool rowids = has_rowids(w, f); /* which exclude counters */
    const char *counters = rowids ? strstr(f->options, ", counter_bits") : NULL;
    int n = (int)(counters ? (size_t)(counters - f->options) : strlen(f->options));
    return say("CREATE VIRTUAL TABLE %s USING cuckoo_filter(%.*s, content='%s(%s)'%s%s)", f->name, n,
               f->options, w->names.u, column, f->kind == FRONT ? ", rows=on" : "",
               rowids ? ", rowids=on" : "");
}

void shape_describe(const world *w)
{
    static const char *const faults[] = {"none",  "memory",     "disk",
                                         "power", "interrupts", "a limit of pages"};
    const shape *s = &w->shape;
    printf("  -- pages of %d, %s, %s, cache %s, recursive_triggers %d, faults: %s; connections:",
           s->page_size, s->journal, s->encoding, s->cache, s->recursive, faults[s->faults]);
    for (int i = 0; i < s->pairs; i++)
        printf(" %d%s", i, s->asks[i] ? "" : " (bare)");
    printf("\n");
}
