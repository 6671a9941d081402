/* SPDX-License-Identifier: MIT */
/*
** bursts.c - bounded insertion: what overflow bits do for the worst case, and what they cost.
**
**      bursts full FOLDER          a minute
**      bursts quick FOLDER         a few seconds
**
** A table of m = 32,768 buckets of 4 slots, f = 12, is filled to load 0.95 and kept there: a random
** key is deleted, a new one added, as many times as there are slots. Then a burst of keys is added.
** Schemes:
**   random walk        up to 500 kicks (the cuckoo filter paper); kicks over: the insertion has failed
**   breadth-first      the library without overflow bits
**   bits, no list      a random walk of t kicks; then both overflow bits are set (walk.h)
**   bits and list      the library: t buckets examined besides those of the key; then both overflow bits are set, and
**                      the entry goes to an exact list of 1,024 (src/spill.h)
** The last two have one bit more per bucket, and the list is memory, too. So the first two are
** measured with m buckets, and once more with as many as fit the memory of the last: "equal
** memory".
**
** Writes, to FOLDER:
**   steady.tsv     insertions at load 0.95 while t holds: means and maxima over all runs
**   bursts.tsv     insertions of a burst of 128, 256, 512, 1,024 keys. Before it, nothing is spilled: up to then t is
**                  500 kicks or 255 buckets. Error rate after it, beside the one expected of the slots alone
**   written        buckets written by one insertion, overflow bits included; examined: looked at for an empty slot
**   spilled        entries that found no slot; failed: insertions refused
**   by a delete    buckets that a delete of the library wrote to; it may find a slot for a spilled entry
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "cuckoo.h"
#include "packed.h"
#include "search_steps.h"

enum {
    BUCKETS = 32768,
    SLOTS = 4 * BUCKETS,
    KEYS = SLOTS / 20 * 19,
    FINGERPRINT_BITS = 12,
    LIST = 1024,
    WALK_KICKS = 500,
    WATCHED = 64, /* one delete of so many */
    BURSTS = 4,
    LONGEST_BURST = 1024
};
static const unsigned burst_ends[BURSTS] = {128, 256, 512, LONGEST_BURST};

/* The streams of bench_random, apart for every run. */
enum stream { KEYS_FROM, ABSENT_FROM, DRAWS_FROM, STREAMS };

typedef struct scheme {
    const char *name;
    bool library, overflow, equal_memory;
    unsigned budget; /* t */
} scheme;

static const scheme schemes[] = {
    {"random walk", false, false, false, WALK_KICKS},
    {"random walk, equal memory", false, false, true, WALK_KICKS},
    {"breadth-first", true, false, false, 0},
    {"breadth-first, equal memory", true, false, true, 0},
    {"bits, no list", false, true, false, 0},
    {"bits, no list", false, true, false, 5},
    {"bits, no list", false, true, false, 10},
    {"bits and list", true, true, false, 0},
    {"bits and list", true, true, false, 5},
    {"bits and list", true, true, false, 10},
    {"bits and list", true, true, false, 40},
};
enum { SCHEMES = sizeof schemes / sizeof schemes[0] };

/* ---- one table of either make ---- */

typedef struct table {
    cuckoo *filter; /* or */
    walk_table *walk;
    uint64_t held[KEYS + LONGEST_BURST]; /* the keys it holds, by number */
    uint64_t n, next;                    /* how many; the number of the next one */
    uint64_t draws, absent;
} table;

static cf_geometry shape_of(uint64_t buckets, bool overflow)
{
    cf_geometry shape = cuckoo_shape(buckets, 4, FINGERPRINT_BITS);
    shape.spill_bound = overflow ? LIST : 0;
    return shape;
}

static uint64_t buckets_of(const scheme *of)
{
    cf_geometry with_list = shape_of(BUCKETS, true);
    uint64_t equal = 8 * cf_geometry_bytes(&with_list) / (4 * FINGERPRINT_BITS);
    return of->equal_memory ? equal : BUCKETS;
}

static void open_table(table *t, const scheme *of, uint64_t run)
{
    uint64_t first = run << 44, apart = UINT64_C(1) << 40;
    cf_geometry shape = shape_of(buckets_of(of), of->overflow);
    t->filter = of->library ? cuckoo_make(&shape) : NULL;
    t->walk = of->library ? NULL : walk_make(buckets_of(of), FINGERPRINT_BITS, of->overflow, run);
    t->n = 0;
    t->next = first + KEYS_FROM * apart;
    t->absent = first + ABSENT_FROM * apart;
    t->draws = first + DRAWS_FROM * apart;
}

static void close_table(table *t)
{
    free(t->filter);
    if (t->walk)
        walk_drop(t->walk);
}

static void set_budget(table *t, unsigned budget)
{
    if (t->walk)
        t->walk->most_kicks = budget;
    else if (t->filter->filter.geometry.spill_bound)
        t->filter->filter.geometry.budget = (uint8_t)budget;
}

/* Far more than an insertion needs at load 0.95: nothing is spilled. */
static void set_ample_budget(table *t)
{
    set_budget(t, t->walk ? WALK_KICKS : CF_BUDGET_MAX);
}

static uint64_t bits_of(const table *t)
{
    return t->walk ? walk_bits(t->walk) : 8 * t->filter->filter.length;
}

static uint64_t spilled_of(const table *t)
{
    return !t->walk ? t->filter->filter.spilled : t->walk->overflow_bits ? t->walk->spilled : 0;
}

static bool contains(const table *t, uint64_t hash)
{
    return t->walk ? walk_contains(t->walk, hash) : cf_contains(&t->filter->filter, hash);
}

static bench_steps add_next(table *t)
{
    uint64_t hash = bench_random(t->next);
    bench_steps steps = t->walk ? walk_add(t->walk, hash) : search_add(&t->filter->filter, hash);
    t->held[t->n] = t->next++;
    t->n += !steps.refused;
    return steps;
}

static void remove_random(table *t)
{
    uint64_t at = bench_random(t->draws++) % t->n, hash = bench_random(t->held[at]);
    if (t->walk)
        walk_remove(t->walk, hash);
    else
        cf_delete(&t->filter->filter, hash);
    t->held[at] = t->held[--t->n];
}

/* ---- figures ---- */

typedef struct tally {
    uint64_t insertions, written, examined, refused, spilled, probes, errors;
    unsigned most_written, most_examined;
    double expected;                  /* sum over runs */
    uint64_t removes, remove_written; /* deletes looked at, buckets they wrote */
    unsigned most_remove_written;
} tally;

static void count(tally *sum, bench_steps steps)
{
    sum->insertions++;
    sum->written += steps.written;
    sum->examined += steps.examined;
    sum->refused += steps.refused;
    if (steps.written > sum->most_written)
        sum->most_written = steps.written;
    if (steps.examined > sum->most_examined)
        sum->most_examined = steps.examined;
}

static double mean(uint64_t sum, uint64_t n)
{
    return (double)sum / (double)n;
}

/* Every key held must be found. Then the error rate, and what it would be if all keys were in
** slots. */
static void measure_errors(table *t, const scheme *of, uint64_t probes, tally *sum)
{
    cf_geometry shape = cuckoo_shape(buckets_of(of), 4, FINGERPRINT_BITS);
    for (uint64_t i = 0; i < t->n; i++)
        if (!contains(t, bench_random(t->held[i])) && (of->library || of->overflow))
            bench_fail("a key is not found");
    for (uint64_t i = 0; i < probes; i++)
        sum->errors += contains(t, bench_random(t->absent++));
    sum->probes += probes;
    sum->spilled += spilled_of(t);
    sum->expected += cf_expected_fpr(&shape, t->n);
}

/* Buckets that differ from those of a copy of the table. */
static unsigned changed_buckets(const cf_filter *filter, const uint8_t *copy)
{
    unsigned changed = 0, width = (unsigned)filter->view.form.bucket_bits;
    for (uint64_t i = 0; i < filter->buckets; i++)
        changed += packed_get(filter->view.table, width, i) != packed_get(copy, width, i);
    return changed;
}

/* One of the deletes, looked at: in the library it may find a slot for a spilled entry. */
static void remove_watched(table *t, tally *sum)
{
    const cf_filter *filter = &t->filter->filter;
    uint64_t bytes = filter->length - (uint64_t)(filter->view.table - filter->bytes);
    uint8_t *copy = bench_allocate(bytes);
    memcpy(copy, filter->view.table, bytes);
    remove_random(t);
    unsigned changed = changed_buckets(filter, copy);
    free(copy);
    sum->removes++;
    sum->remove_written += changed;
    if (changed > sum->most_remove_written)
        sum->most_remove_written = changed;
}

static void keep_replacing(table *t, uint64_t times, tally *sum)
{
    for (uint64_t i = 0; i < times; i++) {
        if (t->filter && i % WATCHED == 0)
            remove_watched(t, sum);
        else
            remove_random(t);
        count(sum, add_next(t));
    }
}

/* ---- what is measured ---- */

typedef struct lab {
    unsigned runs;
    uint64_t probes;
    const char *folder;
    table *table;
} lab;

static void fill(table *t)
{
    while (t->n < KEYS)
        add_next(t);
}

static void run_steady(const lab *in, const scheme *of, uint64_t run, tally *sum)
{
    table *t = in->table;
    open_table(t, of, run);
    set_ample_budget(t);
    fill(t);
    set_budget(t, of->budget);
    keep_replacing(t, SLOTS, &(tally){.insertions = 0});
    keep_replacing(t, SLOTS, sum);
    measure_errors(t, of, in->probes, sum);
    close_table(t);
}

static void run_burst(const lab *in, const scheme *of, uint64_t run, tally *sums)
{
    table *t = in->table;
    open_table(t, of, run);
    set_ample_budget(t);
    fill(t);
    keep_replacing(t, SLOTS, &(tally){.insertions = 0});
    set_budget(t, of->budget);
    for (unsigned n = 1; n <= LONGEST_BURST; n++) {
        bench_steps steps = add_next(t);
        for (unsigned i = 0; i < BURSTS; i++) {
            if (n <= burst_ends[i])
                count(&sums[i], steps);
            if (n == burst_ends[i])
                measure_errors(t, of, in->probes, &sums[i]);
        }
    }
    close_table(t);
}

static void write_name(FILE *out, const lab *in, const scheme *of)
{
    open_table(in->table, of, 0);
    fprintf(out, "%s\t", of->name);
    if (of->overflow)
        fprintf(out, "%u", of->budget);
    else
        fprintf(out, "-");
    fprintf(out, "\t%.2f\t%.3f", mean(bits_of(in->table), KEYS),
            (double)KEYS / (4.0 * (double)buckets_of(of)));
    close_table(in->table);
}

static void write_figures(FILE *out, const lab *in, const tally *of)
{
    fprintf(out, "\t%.3f\t%u\t%.2f\t%u\t%.1f\t%.2f\t%.4f\t%.4f", mean(of->written, of->insertions),
            of->most_written, mean(of->examined, of->insertions), of->most_examined,
            mean(of->spilled, in->runs), mean(of->refused, in->runs), 100 * mean(of->errors, of->probes),
            100 * of->expected / in->runs);
}

#define FIGURES                                                                                         \
    "written, mean\twritten, max\texamined, mean\texamined, max\tspilled\tfailed\terror %\tof slots "   \
    "alone %"

static void write_steady(const lab *in)
{
    FILE *out =
        bench_table(in->folder, "steady",
                    "scheme\tt\tbits per key\tload\t" FIGURES "\tby a delete, mean\tby a delete, max");
    for (unsigned i = 0; i < SCHEMES; i++) {
        tally sum = {.insertions = 0};
        bench_progress("  steady: %s, t = %u", schemes[i].name, schemes[i].budget);
        for (unsigned run = 0; run < in->runs; run++)
            run_steady(in, &schemes[i], run, &sum);
        write_name(out, in, &schemes[i]);
        write_figures(out, in, &sum);
        bench_field(out, mean(sum.remove_written, sum.removes), 3);
        bench_field(out, sum.removes ? sum.most_remove_written : (double)NAN, 0);
        fprintf(out, "\n");
    }
    fclose(out);
}

static void write_bursts(const lab *in)
{
    FILE *out =
        bench_table(in->folder, "bursts", "scheme\tt\tbits per key\tload before\tburst\t" FIGURES);
    for (unsigned i = 0; i < SCHEMES; i++) {
        tally sums[BURSTS] = {{.insertions = 0}};
        bench_progress("  bursts: %s, t = %u", schemes[i].name, schemes[i].budget);
        for (unsigned run = 0; run < in->runs; run++)
            run_burst(in, &schemes[i], run, sums);
        for (unsigned j = 0; j < BURSTS; j++) {
            write_name(out, in, &schemes[i]);
            fprintf(out, "\t%u", burst_ends[j]);
            write_figures(out, in, &sums[j]);
            fprintf(out, "\n");
        }
    }
    fclose(out);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        bench_fail("usage: bursts full|quick FOLDER");
    bool quick = strcmp(argv[1], "quick") == 0;
    lab in = {.runs = quick ? 2 : 20,
              .probes = quick ? 200000 : 1000000,
              .folder = argv[2],
              .table = bench_allocate(sizeof *in.table)};
    write_steady(&in);
    write_bursts(&in);
    free(in.table);
    return 0;
}
