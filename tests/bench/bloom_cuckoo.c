/* SPDX-License-Identifier: MIT */
/*
** bloom_cuckoo.c - the evaluation of the Bloom-Cuckoo filter (walk.h), repeated: its figures 3 to 8
** and the formula of its section 3.
**
** Section 4 there: m = 32,768 buckets of 4 slots, f = 12, up to 1,000 iterations. A table is filled
** to an occupancy; then as many random keys are replaced by new ones as it holds. Then a burst of
** up to 1,024 keys is added, with budget t. Plain tables have the occupancies 0.92, 0.94, 0.95;
** those with a bit more per bucket 0.9392, 0.9596, 0.9698, which makes the bits per key equal. (Quick:
** 4,096 buckets, bursts of an eighth.)
**
** bloom_cuckoo.tsv, after each burst: "in the bits" are entries without a slot; formula %: 8 o / 2^f +
** (2 n / m)^2 with o, the entries in slots, and n, those in the bits, as they are then. The list of the
** library adds no errors: first term only. "ours" is the library; its list (m / 32 entries) takes 1.08
** bits per key more, which are counted.
*/
#include <stdlib.h>

#include "../../src/cuckoo_inspect.h"
#include "../../src/entry/eviction.h"
#include "../../src/table/bucket.h"
#include "bench.h"
#include "cuckoo.h"
#include "walk.h"

enum { BURSTS = 8, ITERATIONS = 1000, HELD_FINGERPRINT_BITS = 12 };

typedef struct scheme {
    const char *name;
    bool library;     /* or a random walk */
    bool overflow;    /* bits; in the library with a list */
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

/* ---- a table that is kept at some load, and the keys it holds ---- */

typedef struct held_table {
    cf_filter filter; /* unless there is */
    walk_table *walk;
    uint64_t *held;   /* the keys it holds, by number */
    uint64_t n, next; /* how many; the number of the next one */
    uint64_t draws, absent;
} held_table;

/* Looks for an empty slot as the library will, in the buckets of the key and then along paths.
** steps->examined counts on. */
static void look(const cf_filter *filter, const cf_pair *pair, cf_search_budget budget,
                 bench_steps *steps)
{
    cf_search search;
    for (unsigned i = 0; i < pair->sides; i++) {
        steps->examined++;
        if (cf_bucket_free_slot(filter, pair->place[i].bucket) >= 0)
            return;
    }
    if (budget.examined == 0)
        return;
    cf_eviction_search(filter, pair, budget, &search);
    unsigned left = search.left.examined;
    steps->examined += left <= budget.examined ? budget.examined - left : budget.examined;
}

/* Counts what an insertion of the library examines, by searching the path once more beforehand: its
** search is deterministic. */
static bench_steps search_add(cf_filter *filter, uint64_t hash)
{
    static const cf_search_budget ordinary = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER};
    bench_steps steps = {.examined = 0};
    cf_pair pair = cf_pair_of(filter, hash);
    cf_search_budget few = {CF_SEARCH_BUCKETS, filter->geometry.budget};
    bool may_spill = filter->spilled < filter->geometry.spill_bound;
    look(filter, &pair, may_spill ? few : ordinary, &steps);
    steps.refused = cf_add(filter, hash) != CF_OK;
    return steps;
}

/* The streams of bench_random are apart for every trial. */
static void held_open(held_table *t, const lab *in, const scheme *of, uint64_t trial)
{
    uint64_t first = trial << 44, apart = UINT64_C(1) << 40;
    cf_geometry shape = cuckoo_shape(in->buckets, WALK_SLOTS, HELD_FINGERPRINT_BITS);
    shape.spill_bound = (uint16_t)(of->overflow ? in->buckets / 32 : 0);
    t->walk = NULL;
    if (of->library) {
        t->filter = cuckoo_make(&shape);
    } else {
        t->walk = walk_make(in->buckets, HELD_FINGERPRINT_BITS, of->overflow, trial);
        t->walk->most_kicks = t->walk->budget = ITERATIONS;
    }
    t->held = bench_allocate(WALK_SLOTS * in->buckets * sizeof *t->held);
    t->n = 0;
    t->next = first;
    t->absent = first + apart;
    t->draws = first + 2 * apart;
}

static void held_close(held_table *t)
{
    free(t->held);
    if (t->walk)
        walk_drop(t->walk);
    else
        cuckoo_drop(&t->filter);
}

static void held_set_budget(held_table *t, unsigned budget)
{
    if (t->walk)
        t->walk->budget = budget;
    else if (t->filter.geometry.spill_bound)
        t->filter.geometry.budget = (uint8_t)budget;
}

static void held_set_ample_budget(held_table *t)
{
    held_set_budget(t, t->walk ? t->walk->most_kicks : CF_BUDGET_MAX);
}

static uint64_t held_bits(const held_table *t)
{
    return t->walk ? walk_bits(t->walk) : 8 * t->filter.length;
}

static uint64_t held_spilled(const held_table *t)
{
    return t->walk ? t->walk->in_bits : t->filter.spilled;
}

static bool held_contains(const held_table *t, uint64_t hash)
{
    return t->walk ? walk_contains(t->walk, hash) : cf_contains(&t->filter, hash);
}

static bench_steps held_add(held_table *t)
{
    uint64_t hash = bench_random(t->next);
    bench_steps steps = t->walk ? walk_add(t->walk, hash) : search_add(&t->filter, hash);
    t->held[t->n] = t->next++;
    t->n += !steps.refused;
    return steps;
}

static void held_remove_random(held_table *t)
{
    uint64_t at = bench_random(t->draws++) % t->n, hash = bench_random(t->held[at]);
    bool found = t->walk ? walk_remove(t->walk, hash) : cf_delete(&t->filter, hash) != CF_ABSENT;
    if (!found)
        bench_fail("a key that is there cannot be deleted");
    t->held[at] = t->held[--t->n];
}

static void held_look_for_all(const held_table *t)
{
    for (uint64_t i = 0; i < t->n; i++)
        if (!held_contains(t, bench_random(t->held[i])))
            bench_fail("a key is not found");
}

static uint64_t held_errors(held_table *t, uint64_t probes)
{
    uint64_t errors = 0;
    for (uint64_t i = 0; i < probes; i++)
        errors += held_contains(t, bench_random(t->absent++));
    return errors;
}

/* ---- bursts ---- */

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
    uint64_t keys = (uint64_t)(occupancy * 4 * (double)in->buckets);
    held_table table;
    held_open(&table, in, of, trial);
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
