/* SPDX-License-Identifier: MIT */
/*
** bursts.c - bounded insertion: what overflow bits do for the worst case, and what they cost.
**
**      bursts full FOLDER [SEED]          under a minute
**      bursts quick FOLDER [SEED]         a second
**
** A table of m = 32,768 buckets of 4 slots (quick: 4,096), f = 12, is filled to load 0.95 and kept
** there: a random key is deleted, a new one added, as many times as there are slots. Then a burst of
** keys is added. Schemes:
**   random walk          up to 500 kicks (the cuckoo filter paper); kicks over: the insertion has
**                        failed
**   breadth-first        the library without overflow bits
**   bits, as published   a random walk of t kicks; then the overflow bits of both buckets of the entry
**                        that is left over are set, if both are zero; if not, the walk goes on. Deletes
**                        clear them (walk.h)
**   bits, moving on      the same, but an entry that was kicked out goes to its other bucket, as in the
**                        cuckoo filter paper, and does not choose between the two
**   bits, side table     the same; what only bits stand for is inserted again when there is time: after
**                        every 256th replacement (1 in 512 slots)
**   bits and list        the library: t buckets examined besides those of the key; then both overflow
**                        bits are set, and the entry goes to an exact list of m / 32 (src/entry/spill.h)
** Those with bits have one bit more per bucket, and the list is memory, too. The side table is not
** counted: no lookup reads it. The first two are measured with m buckets, and once more with as
** many as fit the memory of the last: "equal memory".
**
** Writes, to FOLDER:
**   steady.tsv     insertions at load 0.95 while t holds: means and maxima over all runs
**   bursts.tsv     insertions of a burst of m / 256, / 128, / 64, / 32 keys. Before it, nothing is
**                  spilled: up to then t is 500 kicks or 255 buckets. Error rate after it, beside the
**                  one expected of the slots alone
**   written        buckets written by one insertion, overflow bits included; examined: looked at for an
**                  empty slot
**   spilled        entries that have no slot; failed: insertions refused
**   by a delete    buckets that a delete of the library wrote to; it may find a slot for a spilled
**                  entry
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "held.h"
#include "packed.h"

enum { WATCHED = 64 /* one delete of so many */, BURSTS = 4, PERCENT = 95 };

typedef struct scheme {
    const char *name;
    bool library, overflow, may_stay, drained, equal_memory;
    unsigned budget; /* t */
} scheme;

static const scheme schemes[] = {
    {"random walk", false, false, false, false, false, HELD_KICKS},
    {"random walk, equal memory", false, false, false, false, true, HELD_KICKS},
    {"breadth-first", true, false, false, false, false, 0},
    {"breadth-first, equal memory", true, false, false, false, true, 0},
    {"bits, as published", false, true, true, false, false, 0},
    {"bits, as published", false, true, true, false, false, 5},
    {"bits, as published", false, true, true, false, false, 10},
    {"bits, moving on", false, true, false, false, false, 5},
    {"bits, moving on", false, true, false, false, false, 10},
    {"bits, side table", false, true, true, true, false, 0},
    {"bits, side table", false, true, true, true, false, 5},
    {"bits, side table", false, true, true, true, false, 10},
    {"bits and list", true, true, false, false, false, 0},
    {"bits and list", true, true, false, false, false, 5},
    {"bits and list", true, true, false, false, false, 10},
    {"bits and list", true, true, false, false, false, 40},
};
enum { SCHEMES = sizeof schemes / sizeof schemes[0] };

typedef struct lab {
    uint64_t buckets, probes;
    unsigned runs;
    const char *folder;
    held_table table;
} lab;

static uint64_t slots_of(const lab *in)
{
    return WALK_SLOTS * in->buckets;
}

static uint64_t keys_of(const lab *in)
{
    return slots_of(in) * PERCENT / 100;
}

static unsigned burst_end(const lab *in, unsigned i)
{
    return (unsigned)(in->buckets >> (8 - i));
}

static held_shape shape_of(const lab *in, const scheme *of)
{
    held_shape shape = {in->buckets, of->library, of->overflow, (unsigned)in->buckets / 32,
                        HELD_KICKS,  of->may_stay};
    cf_geometry with_list = cuckoo_shape(in->buckets, WALK_SLOTS, HELD_FINGERPRINT_BITS);
    with_list.spill_bound = (uint16_t)shape.list;
    if (of->equal_memory)
        shape.buckets = 8 * cf_geometry_bytes(&with_list) / (WALK_SLOTS * HELD_FINGERPRINT_BITS) / 2 * 2;
    return shape;
}

static void open_table(lab *in, const scheme *of, uint64_t run)
{
    held_shape shape = shape_of(in, of);
    held_open(&in->table, &shape, slots_of(in), run);
    held_set_ample_budget(&in->table);
    while (in->table.n < keys_of(in))
        held_add(&in->table);
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
static void measure_errors(lab *in, const scheme *of, tally *sum)
{
    held_table *t = &in->table;
    cf_geometry shape = cuckoo_shape(shape_of(in, of).buckets, WALK_SLOTS, HELD_FINGERPRINT_BITS);
    held_look_for_all(t);
    sum->errors += held_errors(t, in->probes);
    sum->probes += in->probes;
    sum->spilled += held_spilled(t);
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
static void remove_watched(held_table *t, tally *sum)
{
    const cf_filter *filter = &t->filter->filter;
    uint64_t bytes = filter->length - (uint64_t)(filter->view.table - filter->bytes);
    uint8_t *copy = bench_allocate(bytes);
    memcpy(copy, filter->view.table, bytes);
    held_remove_random(t);
    unsigned changed = changed_buckets(filter, copy);
    free(copy);
    sum->removes++;
    sum->remove_written += changed;
    if (changed > sum->most_remove_written)
        sum->most_remove_written = changed;
}

static void keep_replacing(lab *in, const scheme *of, tally *sum)
{
    held_table *t = &in->table;
    for (uint64_t i = 0; i < slots_of(in); i++) {
        if (t->filter && i % WATCHED == 0)
            remove_watched(t, sum);
        else
            held_remove_random(t);
        count(sum, held_add(t));
        if (of->drained && i % (in->buckets / 128) == 0)
            walk_drain(t->walk);
    }
}

/* ---- what is measured ---- */

static void run_steady(lab *in, const scheme *of, uint64_t run, tally *sum)
{
    open_table(in, of, run);
    held_set_budget(&in->table, of->budget);
    keep_replacing(in, of, &(tally){.insertions = 0});
    keep_replacing(in, of, sum);
    measure_errors(in, of, sum);
    held_close(&in->table);
}

static void run_burst(lab *in, const scheme *of, uint64_t run, tally *sums)
{
    open_table(in, of, run);
    keep_replacing(in, of, &(tally){.insertions = 0});
    held_set_budget(&in->table, of->budget);
    for (unsigned n = 1; n <= burst_end(in, BURSTS - 1); n++) {
        bench_steps steps = held_add(&in->table);
        for (unsigned i = 0; i < BURSTS; i++) {
            if (n <= burst_end(in, i))
                count(&sums[i], steps);
            if (n == burst_end(in, i))
                measure_errors(in, of, &sums[i]);
        }
    }
    held_close(&in->table);
}

static void write_name(FILE *out, lab *in, const scheme *of)
{
    held_shape shape = shape_of(in, of);
    held_open(&in->table, &shape, 1, 0);
    fprintf(out, "%s\t", of->name);
    if (of->overflow)
        fprintf(out, "%u", of->budget);
    else
        fprintf(out, "-");
    fprintf(out, "\t%.2f\t%.3f", mean(held_bits(&in->table), keys_of(in)),
            (double)keys_of(in) / (4.0 * (double)shape.buckets));
    held_close(&in->table);
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

static void write_steady(lab *in)
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

static void write_bursts(lab *in)
{
    FILE *out =
        bench_table(in->folder, "bursts", "scheme\tt\tbits per key\tload before\tburst\t" FIGURES);
    for (unsigned i = 0; i < SCHEMES; i++) {
        tally sums[BURSTS] = {{.insertions = 0}};
        if (schemes[i].drained) /* no time for it in a burst */
            continue;
        bench_progress("  bursts: %s, t = %u", schemes[i].name, schemes[i].budget);
        for (unsigned run = 0; run < in->runs; run++)
            run_burst(in, &schemes[i], run, sums);
        for (unsigned j = 0; j < BURSTS; j++) {
            write_name(out, in, &schemes[i]);
            fprintf(out, "\t%u", burst_end(in, j));
            write_figures(out, in, &sums[j]);
            fprintf(out, "\n");
        }
    }
    fclose(out);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    lab in = {.buckets = call.quick ? 4096 : 32768,
              .probes = call.quick ? 100000 : 1000000,
              .runs = call.quick ? 1 : 2,
              .folder = call.folder};
    write_steady(&in);
    write_bursts(&in);
    return 0;
}
