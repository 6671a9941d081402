/* SPDX-License-Identifier: MIT */
/*
** lifecycle.c - the life of each filter at one size: filled, asked, emptied. Table 3 and figures 5
** to 8 of the paper.
**
**      lifecycle full FOLDER          192 MB each, six minutes
**      lifecycle quick FOLDER         3 MB each, ten seconds
**
** Writes, to FOLDER:
**   table3.tsv     keys, bits per key, expected and measured error rate, construction speed. Keys are added one by
**                  one in random order: to the cuckoo filters until one is refused, to the others up to the
**                  load they are made for (kinds.h)
**   figure5.tsv    millions of lookups per second of the full filters against the share of keys that are there
**   figure6.tsv    the same for keys that are there and for keys that are not, against the load
**   figure7.tsv    insertions per second against the load they lead to
**   figure8.tsv    deletions per second against the load they start from, until it is empty
**
** Every operation is called through a pointer, all kinds alike. Small filters take turns in three
** rounds, and figures are medians; large ones have one long round.
*/
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 20, SHARES = 5, REPEATS = 3 };

/* The figures of one kind. The last step leads beyond load 0.95, as far as it goes; build95 is
** without it. */
typedef struct life {
    bench_series build, build95, share[SHARES], hit[STEPS], miss[STEPS], insert[STEPS], remove[STEPS];
    double insert_load[STEPS], remove_load[STEPS];
    uint64_t keys;
    double load, bits_per_key, expected, measured;
} life;

typedef struct lab {
    uint64_t bytes, probes;
    unsigned rounds, queries; /* queries: of one measurement */
    const char *folder;
    uint64_t *query;
    uint64_t absent; /* the next key that was never added nor asked for */
    uint64_t drawn;  /* random numbers */
} lab;

static const uint64_t draws_from = UINT64_C(1) << 50;

static double millions_per_second(double seconds, uint64_t operations)
{
    return (double)operations / seconds / 1e6;
}

/* ---- lookups ---- */

/* Draws so many keys, the share `hits` of them present, in random order. */
static void draw_queries(lab *in, const bench_filter *filter, double hits)
{
    uint64_t present = filter->keys - filter->removed;
    for (unsigned i = 0; i < in->queries; i++) {
        uint64_t random = bench_random(draws_from + in->drawn++);
        bool hit = (double)(random >> 32) < hits * 4294967296.0;
        uint64_t key = hit ? filter->removed + (random & UINT32_MAX) * present / ((uint64_t)1 << 32)
                           : BENCH_ABSENT * 2 + in->absent++;
        in->query[i] = bench_random(key);
    }
}

static void ask(lab *in, const bench_filter *filter, double hits, bench_series *series)
{
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        uint64_t found = 0;
        draw_queries(in, filter, hits);
        double start = bench_seconds();
        for (unsigned i = 0; i < in->queries; i++)
            found += filter->kind->contains(filter->state, in->query[i]);
        bench_note(series, millions_per_second(bench_seconds() - start, in->queries));
        if (hits == 1 && found != in->queries)
            bench_fail("a key that was added is not found");
    }
}

/* ---- one life ---- */

static void fill(lab *in, bench_filter *filter, life *of)
{
    double spent = 0, full = filter->kind->full;
    for (unsigned step = 0; step < STEPS && !filter->refused && bench_load(filter) < full - 0.01;
         step++) {
        double load = (step + 1.0) / STEPS;
        uint64_t before = filter->keys;
        double start = bench_seconds();
        bench_fill(filter, load < full ? load : full);
        double seconds = bench_seconds() - start;
        spent += seconds;
        bench_note(&of->insert[step], millions_per_second(seconds, filter->keys - before));
        of->insert_load[step] = bench_load(filter);
        ask(in, filter, 1, &of->hit[step]);
        ask(in, filter, 0, &of->miss[step]);
        if (step == STEPS - 2)
            bench_note(&of->build95, millions_per_second(spent, filter->keys));
    }
    bench_note(&of->build, millions_per_second(spent, filter->keys));
}

static void look_at_full(lab *in, const bench_filter *filter, life *of)
{
    for (unsigned i = 0; i < SHARES; i++)
        ask(in, filter, i / (SHARES - 1.0), &of->share[i]);
    of->keys = filter->keys;
    of->load = bench_load(filter);
    of->bits_per_key = bench_bits_per_key(filter);
    of->expected = filter->kind->expected(filter->state, filter->keys);
    if (of->measured == 0) /* the same in every round */
        of->measured = bench_error_rate(filter, UINT64_MAX, in->probes);
}

/* Deletes the oldest keys until load `load` is left. */
static void remove_to(bench_filter *filter, double load)
{
    uint64_t left = (uint64_t)(load * (double)filter->kind->slots(filter->state));
    while (filter->keys - filter->removed > left)
        filter->kind->remove(filter->state, bench_random(filter->removed++));
}

static void empty(bench_filter *filter, life *of)
{
    unsigned left = (unsigned)(bench_load(filter) * STEPS - 0.01);
    for (unsigned step = 0; step < STEPS && filter->removed < filter->keys; step++, left--) {
        uint64_t before = filter->removed;
        of->remove_load[step] = bench_load(filter);
        double start = bench_seconds();
        remove_to(filter, (double)left / STEPS);
        bench_note(&of->remove[step],
                   millions_per_second(bench_seconds() - start, filter->removed - before));
    }
}

static void live(lab *in, const bench_kind *kind, life *of)
{
    double start = bench_seconds();
    bench_filter filter = bench_make(kind, in->bytes, kind->bits);
    fill(in, &filter, of);
    look_at_full(in, &filter, of);
    if (kind->remove)
        empty(&filter, of);
    bench_drop(&filter);
    bench_progress("  %s: %.1f million keys, %.2f bits per key, %.2f million keys/s (%.0f s)",
                   kind->name, (double)of->keys / 1e6, of->bits_per_key, bench_median(&of->build),
                   bench_seconds() - start);
}

/* ---- tables ---- */

static void write_table3(const lab *in, const life *lives)
{
    FILE *out = bench_table(in->folder, "table3",
                            "filter\tmillion keys\tload\tbits per key\texpected error %\tmeasured error "
                            "%\tmillion keys/s\tup to load 0.95");
    for (unsigned i = 0; i < BENCH_KINDS; i++) {
        const life *of = &lives[i];
        fprintf(out, "%s\t%.2f\t%.4f\t%.2f\t%.4f\t%.4f", bench_kinds[i]->name, (double)of->keys / 1e6,
                of->load, of->bits_per_key, 100 * of->expected, 100 * of->measured);
        bench_field(out, bench_median(&of->build), 2);
        bench_field(out, bench_median(&of->build95), 2);
        fprintf(out, "\n");
    }
    fclose(out);
}

/* A row for each share, a column for each filter. */
static void write_figure5(const lab *in, const life *lives)
{
    char columns[256] = "share of hits";
    for (unsigned i = 0; i < BENCH_KINDS; i++)
        snprintf(columns + strlen(columns), sizeof columns - strlen(columns), "\t%s",
                 bench_kinds[i]->name);
    FILE *out = bench_table(in->folder, "figure5", columns);
    for (unsigned j = 0; j < SHARES; j++) {
        fprintf(out, "%.2f", j / (SHARES - 1.0));
        for (unsigned i = 0; i < BENCH_KINDS; i++)
            bench_field(out, bench_median(&lives[i].share[j]), 2);
        fprintf(out, "\n");
    }
    fclose(out);
}

static void write_figure6(const lab *in, const life *lives)
{
    FILE *out = bench_table(in->folder, "figure6", "filter\tload\tmillion hits/s\tmillion misses/s");
    for (unsigned i = 0; i < BENCH_KINDS; i++)
        for (unsigned j = 0; j < STEPS && lives[i].hit[j].rounds > 0; j++)
            fprintf(out, "%s\t%.3f\t%.2f\t%.2f\n", bench_kinds[i]->name, lives[i].insert_load[j],
                    bench_median(&lives[i].hit[j]), bench_median(&lives[i].miss[j]));
    fclose(out);
}

/* Figures 7 and 8: one speed against one load. */
static void write_speeds(FILE *out, const bench_kind *kind, const double *load,
                         const bench_series *speed)
{
    for (unsigned j = 0; j < STEPS && speed[j].rounds > 0; j++)
        fprintf(out, "%s\t%.3f\t%.2f\n", kind->name, load[j], bench_median(&speed[j]));
}

static void write_changes(const lab *in, const life *lives)
{
    FILE *adding = bench_table(in->folder, "figure7", "filter\tload\tmillion insertions/s");
    FILE *removing = bench_table(in->folder, "figure8", "filter\tload\tmillion deletions/s");
    for (unsigned i = 0; i < BENCH_KINDS; i++) {
        write_speeds(adding, bench_kinds[i], lives[i].insert_load, lives[i].insert);
        write_speeds(removing, bench_kinds[i], lives[i].remove_load, lives[i].remove);
    }
    fclose(adding);
    fclose(removing);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        bench_fail("usage: lifecycle full|quick FOLDER");
    bool quick = strcmp(argv[1], "quick") == 0;
    lab in = {.bytes = (uint64_t)(quick ? 3 : 192) << 20,
              .probes = quick ? 1000000 : 100000000,
              .rounds = quick ? 3 : 1,
              .queries = quick ? 1 << 15 : 1 << 18,
              .folder = argv[2]};
    in.query = bench_allocate(in.queries * sizeof *in.query);
    life *lives = bench_allocate_zeroed(BENCH_KINDS * sizeof *lives);
    for (unsigned round = 0; round < in.rounds; round++) {
        bench_progress("round %u of %u, %llu MB each", round + 1, in.rounds,
                       (unsigned long long)in.bytes >> 20);
        for (unsigned i = 0; i < BENCH_KINDS; i++)
            live(&in, bench_kinds[i], &lives[i]);
    }
    write_table3(&in, lives);
    write_figure5(&in, lives);
    write_figure6(&in, lives);
    write_changes(&in, lives);
    free(lives);
    free(in.query);
    return 0;
}
