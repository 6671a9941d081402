/* SPDX-License-Identifier: MIT */
/*
** lifecycle.c - the life of each filter at one size: filled, asked, emptied. Table 3 and figures 5 to
** 8 of the paper.
**
** Every operation is called through a pointer, all kinds alike. Lookups of the quick form take a tenth
** of a millisecond: there the median of five passes is taken.
*/
#include "kinds.h"

#include <math.h>
#include <stdlib.h>

enum { SHARES = 5 };

enum { TABLE3, FIGURE5, FIGURE6, FIGURE7, FIGURE8, TABLES };
static const char *const tables[TABLES][2] = {
    {"table3", "filter\tmillion keys\tload\tbits per key\texpected error %\tmeasured error %\tmillion "
               "keys/s\tup to load 0.95"},
    {"figure5", "filter\tshare of hits\tmillion lookups/s"},
    {"figure6", "filter\tload\tmillion hits/s\tmillion misses/s"},
    {"figure7", "filter\tload\tmillion insertions/s"},
    {"figure8", "filter\tload\tmillion deletions/s"},
};

typedef struct lab {
    uint64_t bytes, probes;
    unsigned steps, queries, passes; /* queries: of one pass of a measurement */
    FILE *out[TABLES];
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

/* Millions of lookups per second. */
static double ask_once(lab *in, const bench_filter *filter, double hits)
{
    uint64_t found = 0;
    draw_queries(in, filter, hits);
    double start = bench_seconds();
    for (unsigned i = 0; i < in->queries; i++)
        found += filter->kind->contains(filter->state, in->query[i]);
    double seconds = bench_seconds() - start;
    if (hits == 1 && found != in->queries)
        bench_fail("a key that was added is not found");
    return millions_per_second(seconds, in->queries);
}

static double ask(lab *in, const bench_filter *filter, double hits)
{
    bench_series passes = {.rounds = 0};
    for (unsigned i = 0; i < in->passes; i++)
        bench_note(&passes, ask_once(in, filter, hits));
    return bench_median(&passes);
}

/* ---- one life ---- */

typedef struct build {
    double seconds, up_to_95; /* million keys per second; NaN when it was not reached */
} build;

/* The last step leads beyond load 0.95, as far as it goes. */
static build fill(lab *in, bench_filter *filter)
{
    build took = {0, NAN};
    const char *name = filter->kind->name;
    double full = filter->kind->full;
    for (unsigned step = 1; step <= in->steps && !filter->refused && bench_load(filter) < full - 0.01;
         step++) {
        double load = step == in->steps ? 1 : 0.95 * step / (in->steps - 1);
        uint64_t before = filter->keys;
        double start = bench_seconds();
        bench_fill(filter, load < full ? load : full);
        double seconds = bench_seconds() - start;
        took.seconds += seconds;
        fprintf(in->out[FIGURE7], "%s\t%.4f\t%.3f\n", name, bench_load(filter),
                millions_per_second(seconds, filter->keys - before));
        fprintf(in->out[FIGURE6], "%s\t%.4f\t%.3f", name, bench_load(filter), ask(in, filter, 1));
        fprintf(in->out[FIGURE6], "\t%.3f\n", ask(in, filter, 0));
        if (step == in->steps - 1 && full >= 0.95)
            took.up_to_95 = millions_per_second(took.seconds, filter->keys);
    }
    return took;
}

static void look_at_full(lab *in, const bench_filter *filter, build took)
{
    for (unsigned i = 0; i < SHARES; i++)
        fprintf(in->out[FIGURE5], "%s\t%.2f\t%.3f\n", filter->kind->name, i / (SHARES - 1.0),
                ask(in, filter, i / (SHARES - 1.0)));
    fprintf(in->out[TABLE3], "%s\t%.3f\t%.4f\t%.2f\t%.4f\t%.4f\t%.3f", filter->kind->name,
            (double)filter->keys / 1e6, bench_load(filter), bench_bits_per_key(filter),
            100 * filter->kind->expected(filter->state, filter->keys),
            100 * bench_error_rate(filter, UINT64_MAX, in->probes),
            millions_per_second(took.seconds, filter->keys));
    bench_field(in->out[TABLE3], "%.3f", took.up_to_95);
    fprintf(in->out[TABLE3], "\n");
}

/* Deletes the oldest keys until load `load` is left. */
static void remove_to(bench_filter *filter, double load)
{
    uint64_t left = (uint64_t)(load * (double)filter->slots);
    while (filter->keys - filter->removed > left)
        filter->kind->remove(filter->state, bench_random(filter->removed++));
}

static void empty(lab *in, bench_filter *filter)
{
    double width = 0.95 / (in->steps - 1);
    for (unsigned left = (unsigned)(bench_load(filter) / width - 0.2); filter->removed < filter->keys;
         left--) {
        uint64_t before = filter->removed;
        fprintf(in->out[FIGURE8], "%s\t%.4f", filter->kind->name, bench_load(filter));
        double start = bench_seconds();
        remove_to(filter, left * width);
        fprintf(in->out[FIGURE8], "\t%.3f\n",
                millions_per_second(bench_seconds() - start, filter->removed - before));
    }
}

static void live(lab *in, const bench_kind *kind)
{
    bench_filter filter = bench_make(kind, in->bytes, kind->bits);
    bench_progress("%s", kind->name);
    look_at_full(in, &filter, fill(in, &filter));
    if (kind->remove)
        empty(in, &filter);
    bench_drop(&filter);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    lab in = {.bytes = (uint64_t)(call.quick ? 512 : 192 << 10) << 10,
              .probes = call.quick ? 100000 : 20000000,
              .steps = call.quick ? 6 : 20,
              .queries = call.quick ? 1 << 12 : 1 << 18,
              .passes = call.quick ? 5 : 1};
    in.query = bench_allocate(in.queries * sizeof *in.query);
    for (unsigned i = 0; i < TABLES; i++)
        in.out[i] = bench_table(call.folder, tables[i][0], tables[i][1]);
    for (unsigned i = 0; i < BENCH_KINDS; i++)
        live(&in, bench_kinds[i]);
    for (unsigned i = 0; i < TABLES; i++)
        fclose(in.out[i]);
    free(in.query);
    return 0;
}
