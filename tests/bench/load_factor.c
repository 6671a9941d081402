/* SPDX-License-Identifier: MIT */
/*
** load_factor.c - how full a table gets, against the bits of a fingerprint: figure 2 of the paper.
**
**      load_factor quick FOLDER [SEED]          2^10 and some of 2^15 buckets; a second
**      load_factor full FOLDER [SEED]           2^15, 2^20, and one point of 2^25; two minutes
**      load_factor all FOLDER [SEED]            all points of 2^25, and the library with 2^28 and 2^30
**                                               buckets: an hour, 4 GB of memory; as FOLDER take
**                                               build/bench/run-11, which is joined with the other ten
**
** Tables of b = 1, 2, 4, 8 slots are filled with random keys until one finds no room, once. Systems:
**   as published            fingerprints of f bits, alternate by XOR with their hash, random walk of
**                           500 kicks
**   as published, 2^f       the same, and fingerprint 0 is one like the others, not made 1
**   unhashed                as published, but XOR with the fingerprint itself (section 3.1)
**   independent             two independent hash functions, and a walk: the best that the paper
**                           compares with
**   ours                    the library, growth off: f from 4; keys that share a fingerprint are
**                           absorbed from cap copies on
** The first four are tables of whole keys (key_table.h). At 2^25 buckets a run fills the one point that
** its seed names, so that ten runs fill ten of the eleven.
**
** Writes figure2.tsv to FOLDER: load, slots in use / slots; absorbed: keys without a slot, in % of
** those that it took. f is "-" for independent hash functions.
*/
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#include "cuckoo.h"
#include "key_table.h"

#include "../../src/cuckoo_inspect.h"

enum { LAST_BITS = 20, AHEAD = 16 /* keys */ };

typedef struct system {
    const char *name;
    bool ours;
    key_address address;
} system_of;

enum { PUBLISHED, PUBLISHED_ALL, UNHASHED, INDEPENDENT, OURS, SYSTEMS };
static const system_of systems[SYSTEMS] = {
    {"as published", false, KEY_HASHED},
    {"as published, 2^f", false, KEY_HASHED_ALL},
    {"unhashed", false, KEY_UNHASHED},
    {"independent", false, KEY_INDEPENDENT},
    {"ours", true, KEY_HASHED},
};

typedef struct point {
    unsigned system, log2_buckets, b, f;
} point;

/* Large tables are not in the cache: the buckets of a later key are fetched while earlier ones are
** added. */
static void fetch(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_candidates(filter, hash);
    for (unsigned i = 0; i < pair.sides; i++)
        __builtin_prefetch(filter->view.table +
                           pair.place[i].bucket * filter->view.form.bucket_bits / 8);
}

static void fill_ours(FILE *out, const point *at)
{
    cf_geometry shape = cuckoo_shape((uint64_t)1 << at->log2_buckets, at->b, at->f);
    cuckoo *table = cuckoo_make(&shape);
    cf_filter *filter = &table->filter;
    uint64_t i = 0;
    while (cf_add(filter, bench_random(i)) == CF_OK)
        fetch(filter, bench_random(AHEAD + i++));
    for (uint64_t key = 0; key < i; key++)
        if (!cf_contains(filter, bench_random(key)))
            bench_fail("a key is not found");
    fprintf(out, "%.4f\t%.3f\n", (double)filter->occupied / (double)cf_geometry_slots(&shape),
            100 * (double)(i - filter->occupied) / (double)i);
    free(table);
}

static void fill(FILE *out, point at)
{
    const system_of *of = &systems[at.system];
    bool independent = of->address == KEY_INDEPENDENT;
    fprintf(out, "%s\t%u\t%u\t", of->name, at.log2_buckets, at.b);
    fprintf(out, independent ? "-\t" : "%u\t", at.f);
    if (of->ours) {
        fill_ours(out, &at);
    } else {
        key_table *table = key_table_make(of->address, at.log2_buckets, at.b, at.f);
        fprintf(out, "%.4f\t0\n", key_table_fill(table));
        key_table_drop(table);
    }
    fflush(out);
}

/* All systems, in steps of f. */
static void fill_all(FILE *out, unsigned log2_buckets, unsigned b, unsigned step)
{
    bench_progress("  2^%u buckets of %u", log2_buckets, b);
    for (unsigned system = 0; system < SYSTEMS; system++) {
        bool independent = systems[system].address == KEY_INDEPENDENT;
        for (unsigned f = 1; f <= (independent ? 1 : LAST_BITS); f += f < 8 ? 1 : step)
            if (!systems[system].ours || f >= CF_FINGERPRINT_MIN)
                fill(out, (point){system, log2_buckets, b, f});
    }
}

/* What is most worth knowing. */
static void fill_some(FILE *out, unsigned log2_buckets, unsigned b, const unsigned *bits, unsigned n)
{
    bench_progress("  2^%u buckets of %u", log2_buckets, b);
    for (unsigned i = 0; i < n; i++) {
        fill(out, (point){PUBLISHED, log2_buckets, b, bits[i]});
        fill(out, (point){PUBLISHED_ALL, log2_buckets, b, bits[i]});
        if (bits[i] >= CF_FINGERPRINT_MIN)
            fill(out, (point){OURS, log2_buckets, b, bits[i]});
    }
    fill(out, (point){UNHASHED, log2_buckets, b, 8});
    fill(out, (point){UNHASHED, log2_buckets, b, 12});
    fill(out, (point){INDEPENDENT, log2_buckets, b, 1});
}

static void fill_full(FILE *out)
{
    static const unsigned bits[] = {1, 2, 3, 4, 5, 6, 8, 12, 16}, few[] = {4, 8, 16},
                          wide[] = {2, 4, 6, 12};
    for (unsigned b = 1; b <= CF_BUCKET_MAX; b *= 2)
        fill_all(out, 15, b, 2);
    fill_some(out, 20, 1, few, 3);
    fill_some(out, 20, 2, few, 3);
    fill_some(out, 20, 4, bits, 9);
    fill_some(out, 20, 8, wide, 4);
}

static void fill_quick(FILE *out)
{
    static const unsigned bits[] = {2, 4, 6, 12};
    for (unsigned b = 1; b <= CF_BUCKET_MAX; b *= 2)
        fill_all(out, 10, b, 4);
    fill_some(out, 15, 4, bits, 4);
}

static void fill_large(FILE *out, const bench_call *call)
{
    static const point points[] = {
        {OURS, 25, 4, 4},  {PUBLISHED, 25, 4, 4}, {OURS, 25, 4, 6},         {PUBLISHED, 25, 4, 6},
        {OURS, 25, 4, 12}, {PUBLISHED, 25, 4, 8}, {INDEPENDENT, 25, 4, 1},  {PUBLISHED, 25, 4, 12},
        {OURS, 25, 4, 8},  {PUBLISHED, 25, 4, 5}, {OURS, 25, 4, 16},        {OURS, 28, 4, 4},
        {OURS, 28, 4, 6},  {OURS, 30, 4, 6},      {PUBLISHED_ALL, 25, 4, 4}};
    enum { POINTS = sizeof points / sizeof points[0], AT_25 = 11 };
    for (unsigned i = 0; i < (call->all ? POINTS : AT_25); i++)
        if (call->all || call->seed % AT_25 == i) {
            bench_progress("  2^%u buckets, %s, f = %u", points[i].log2_buckets,
                           systems[points[i].system].name, points[i].f);
            fill(out, points[i]);
        }
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "figure2", "system\tlog2 buckets\tb\tf\tload\tabsorbed %");
    if (call.quick)
        fill_quick(out);
    else if (!call.all)
        fill_full(out);
    if (!call.quick)
        fill_large(out, &call);
    fclose(out);
    return 0;
}
