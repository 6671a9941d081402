/* SPDX-License-Identifier: MIT */
/*
** bloom_cuckoo.c - the evaluation of the Bloom-Cuckoo filter (walk.h), repeated: its figures 3 to 8
** and the formula of its section 3.
**
**      bloom_cuckoo full FOLDER [SEED]          under a minute
**      bloom_cuckoo quick FOLDER [SEED]         half a second
**
** Section 4 there: m = 32,768 buckets of 4 slots, f = 12, up to 1,000 iterations. A table is filled
** to an occupancy; then as many random keys are replaced by new ones as it holds. Then a burst of
** up to 1,024 keys is added, with budget t. Plain tables have the occupancies 0.92, 0.94, 0.95;
** those with a bit more per bucket 0.9392, 0.9596, 0.9698, which makes the bits per key equal. (Quick:
** 4,096 buckets, bursts of an eighth.)
**
** Writes bloom_cuckoo.tsv to FOLDER, a row for each scheme, occupancy, t and burst:
**   iterations     1 + buckets beyond those of the key that one insertion looked at, mean and most:
**                  figures 3, 4, 6, 7
**   in the bits    entries without a slot after the burst: figure 5
**   error %        measured after the burst: figure 8; formula %: 8 o / 2^f + (2 n / m)^2 with o, the
**                  entries in slots, and n, those in the bits, as they are then. The list of the
**                  library adds no errors: first term only
**   failed         insertions refused
** "ours" is the library; its list (m / 32 entries) takes 1.08 bits per key more, which are counted.
*/
#include <math.h>

#include "bench.h"
#include "held.h"

enum { BURSTS = 8, ITERATIONS = 1000 };

typedef struct scheme {
    const char *name;
    bool library, overflow;
    unsigned budgets; /* of those below */
    const double *occupancy;
} scheme;

static const unsigned budget_of[] = {0, 2, 5, 10};
static const double plain_occupancy[] = {0.92, 0.94, 0.95}, with_bits[] = {0.9392, 0.9596, 0.9698};
enum { OCCUPANCIES = 3, BUDGETS = 4 };

static const scheme schemes[] = {
    {"cuckoo", false, false, 1, plain_occupancy},
    {"Bloom-Cuckoo", false, true, BUDGETS, with_bits},
    {"ours, no bits", true, false, 1, plain_occupancy},
    {"ours, bits and list", true, true, BUDGETS, with_bits},
};

/* What is known after a burst, over all trials. */
typedef struct tally {
    uint64_t insertions, iterations, refused, in_bits, errors, probes;
    unsigned most;
    double formula, bits_per_key;
} tally;

typedef struct lab {
    uint64_t buckets, probes;
    unsigned trials;
    FILE *out;
} lab;

static unsigned burst_end(const lab *in, unsigned i)
{
    return (unsigned)(in->buckets >> 8) * (i + 1);
}

static void count(tally *sum, bench_steps steps)
{
    unsigned iterations = steps.examined > 2 ? steps.examined - 1 : 1;
    sum->insertions++;
    sum->iterations += iterations;
    sum->refused += steps.refused;
    sum->most = iterations > sum->most ? iterations : sum->most;
}

static void note_state(const lab *in, const scheme *of, held_table *t, tally *sum)
{
    double n = (double)held_spilled(t), m = (double)in->buckets, in_slots = (double)t->n - n;
    held_look_for_all(t);
    sum->errors += held_errors(t, in->probes);
    sum->probes += in->probes;
    sum->in_bits += held_spilled(t);
    sum->formula += 8 * in_slots / (4 * m) / (1 << HELD_FINGERPRINT_BITS);
    sum->formula += of->library ? 0 : 4 * n * n / m / m;
}

static void run(const lab *in, const scheme *of, double occupancy, unsigned budget, unsigned trial,
                tally *sums)
{
    held_shape shape = {in->buckets, of->library, of->overflow, (unsigned)in->buckets / 32,
                        ITERATIONS,  of->overflow};
    uint64_t keys = (uint64_t)(occupancy * 4 * (double)in->buckets);
    held_table table;
    held_open(&table, &shape, 4 * in->buckets, trial);
    held_set_ample_budget(&table);
    while (table.n < keys)
        held_add(&table);
    sums[0].bits_per_key = (double)held_bits(&table) / (double)keys;
    for (uint64_t i = 0; i < keys; i++) {
        held_remove_random(&table);
        held_add(&table);
    }
    held_set_budget(&table, budget);
    for (unsigned n = 1; n <= burst_end(in, BURSTS - 1); n++) {
        bench_steps steps = held_add(&table);
        for (unsigned i = 0; i < BURSTS; i++) {
            if (n <= burst_end(in, i))
                count(&sums[i], steps);
            if (n == burst_end(in, i))
                note_state(in, of, &table, &sums[i]);
        }
    }
    held_close(&table);
}

static void write_row(const lab *in, const tally *sum)
{
    double trials = in->trials;
    fprintf(in->out, "\t%.3f\t%u\t%.1f\t%.4f\t%.4f\t%.2f\n",
            (double)sum->iterations / (double)sum->insertions, sum->most, (double)sum->in_bits / trials,
            100 * (double)sum->errors / (double)sum->probes, 100 * sum->formula / trials,
            (double)sum->refused / trials);
}

static void measure(const lab *in, const scheme *of, double occupancy, unsigned budget)
{
    tally sums[BURSTS] = {{.insertions = 0}};
    for (unsigned trial = 0; trial < in->trials; trial++)
        run(in, of, occupancy, budget, trial, sums);
    for (unsigned i = 0; i < BURSTS; i++) {
        fprintf(in->out, "%s\t%.4f\t", of->name, occupancy);
        if (of->overflow)
            fprintf(in->out, "%u", budget);
        else
            fprintf(in->out, "-");
        fprintf(in->out, "\t%u\t%.2f", burst_end(in, i), sums[0].bits_per_key);
        write_row(in, &sums[i]);
    }
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    lab in = {.buckets = call.quick ? 4096 : 32768,
              .probes = call.quick ? 10000 : 100000,
              .trials = call.quick ? 1 : 10,
              .out = bench_table(call.folder, "bloom_cuckoo",
                                 "scheme\toccupancy\tt\tburst\tbits per key\titerations, "
                                 "mean\titerations, most\tin the bits\terror %\tformula %\tfailed")};
    for (unsigned i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        for (unsigned j = 0; j < OCCUPANCIES; j++)
            for (unsigned k = 0; k < schemes[i].budgets; k++) {
                double occupancy = schemes[i].occupancy[j];
                unsigned budget = budget_of[k];
                bench_progress("  %s, occupancy %.4f, t = %u", schemes[i].name, occupancy, budget);
                measure(&in, &schemes[i], occupancy, budget);
            }
    fclose(in.out);
    return 0;
}
