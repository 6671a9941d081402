/* SPDX-License-Identifier: MIT */
/*
** bench_core.c - what one operation of the filter library costs, beside what the memory costs.
**
**      cc -O2 -o bench_core bench_core.c bench.c ../../src/?*.c -lm       (in tests/bench)
**      bench_core          tables of 1.5, 16 and 192 MB; a few minutes, 1.2 GB of memory
**      bench_core quick    without the largest, fewer rounds; under 20 seconds
**
** For each size and each fingerprint width it prints nanoseconds per operation:
**
**   building   add: a whole fill, from empty to load 0.95, hashes in random order, cf_add each.
**              all at once: the same keys by cf_add_many, which sorts them.
**              qsort: a sort by the C library alone (the smallest table only).
**              delete: of keys that are there, at falling load.
**   limit      two random 8-byte reads in the filter's own table, both addresses made from one hash and
**              started together: what no cuckoo filter can beat. One address is multiply-shift of the
**              hash, the other multiply-shift of the hash times an odd number.
**   hit, miss  cf_contains for keys that are there (random order) and for keys that are not.
**
** Dependent: each hash depends on the result before it, so that nothing overlaps: the latency of
** one lookup, which is what a loop sees that acts on each answer. Independent: the processor may
** overlap as many lookups as it can: throughput. The same stream of hashes feeds all loops: a mix
** of a counter, made on the fly; in the dependent loops the result is folded into the finished
** hash, so that the mix is not part of the chain, neither of the lookups nor of the limit.
**
** hit/limit and miss/limit are medians of ratios within a round (bench.h). Figures include the call
** of cf_contains; the limit is inlined.
*/
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/bits.h"
#include "../../src/cuckoo_filter.h"

enum {
    BUCKET_SIZE = 4,
    CHUNK = 1 << 18, /* lookups of one loop in one round */
    DELETE_CHUNKS = 7,
    QSORT_MOST = 2000000 /* keys */
};
static const double load = 0.95;

/* The streams of bench_random, far enough apart never to meet: keys count from 0. */
static const uint64_t absent_from = UINT64_C(1) << 40, limit_from = UINT64_C(1) << 50;

typedef struct table {
    uint8_t *bytes;
    cf_geometry shape;
    cf_filter filter;
    uint64_t keys;                   /* at load 0.95 */
    uint64_t present, absent, limit; /* where each stream goes on */
    uint64_t probes, false_hits;     /* of absent keys */
} table;

typedef struct lookups {
    bench_series limit, hit, miss;
} lookups;

/* ---- the measured loops: each returns ns per operation ---- */

/* `chain` is bench_zero() for dependent operations, and plainly 0 for independent ones: inlined, so
** that nothing is left of it then. */
static inline __attribute__((always_inline)) double limit_loop(table *t, uint64_t chain)
{
    uint64_t words = t->filter.length / 8 - 9, result = 0, sum = 0, end = t->limit + CHUNK;
    const uint8_t *at = t->filter.view.table;
    double start = bench_seconds();
    for (uint64_t i = t->limit; i < end; i++) {
        uint64_t hash = bench_random(i) ^ (result & chain);
        uint64_t one = cf_scale(hash, words);
        uint64_t two = cf_scale(hash * UINT64_C(0xff51afd7ed558ccd), words);
        result = cf_load64(at + 8 * one) ^ cf_load64(at + 8 * two);
        sum += result;
    }
    bench_use(sum);
    t->limit = end;
    return bench_ns_since(start, CHUNK);
}

static inline __attribute__((always_inline)) double contains_loop(const table *t, uint64_t first,
                                                                  uint64_t chain, uint64_t *found)
{
    uint64_t result = 0, sum = 0;
    double start = bench_seconds();
    for (uint64_t i = first; i < first + CHUNK; i++) {
        result = cf_contains(&t->filter, bench_random(i) ^ (result & chain));
        sum += result;
    }
    *found = sum;
    return bench_ns_since(start, CHUNK);
}

static double limit_round(table *t, bool dependent)
{
    return dependent ? limit_loop(t, bench_zero()) : limit_loop(t, 0);
}

static double contains_round(const table *t, uint64_t first, bool dependent, uint64_t *found)
{
    return dependent ? contains_loop(t, first, bench_zero(), found) : contains_loop(t, first, 0, found);
}

static double hit_round(table *t, bool dependent)
{
    uint64_t found, first = t->present + CHUNK <= t->keys ? t->present : 0;
    double ns = contains_round(t, first, dependent, &found);
    if (found != CHUNK)
        bench_fail("a key that was added is not found");
    t->present = first + CHUNK;
    return ns;
}

static double miss_round(table *t, bool dependent)
{
    uint64_t found;
    double ns = contains_round(t, t->absent, dependent, &found);
    t->absent += CHUNK;
    t->probes += CHUNK;
    t->false_hits += found;
    return ns;
}

static void lookup_round(table *t, bool dependent, lookups *figures)
{
    bench_note(&figures->limit, limit_round(t, dependent));
    bench_note(&figures->hit, hit_round(t, dependent));
    bench_note(&figures->miss, miss_round(t, dependent));
}

/* ---- building and deleting ---- */

static double fill(table *t)
{
    cf_create(&t->filter, &t->shape, t->bytes);
    double start = bench_seconds();
    for (uint64_t i = 0; i < t->keys; i++)
        if (cf_add(&t->filter, bench_random(i)) != CF_OK)
            bench_fail("full before load 0.95");
    return bench_ns_since(start, t->keys);
}

static void make_hashes(const table *t, uint64_t *hashes)
{
    for (uint64_t i = 0; i < t->keys; i++)
        hashes[i] = bench_random(i);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double sort_with_library(const table *t, uint64_t *hashes)
{
    if (t->keys > QSORT_MOST)
        return NAN;
    make_hashes(t, hashes);
    double start = bench_seconds();
    qsort(hashes, t->keys, sizeof *hashes, compare);
    return bench_ns_since(start, t->keys);
}

static uint8_t *resize(uint8_t *bytes, uint64_t size)
{
    if (size == 0)
        free(bytes);
    return size == 0 ? NULL : realloc(bytes, size);
}

/* Hashes in random order; cf_add_many sorts them. */
static double build_at_once(table *t, uint64_t *hashes)
{
    make_hashes(t, hashes);
    cf_create(&t->filter, &t->shape, t->bytes);
    t->filter.memory = (cf_memory){resize, t->filter.length};
    double start = bench_seconds();
    if (cf_add_many(&t->filter, hashes, t->keys, NULL) != CF_OK)
        bench_fail("full before load 0.95");
    return bench_ns_since(start, t->keys);
}

static void measure_building(table *t, unsigned rounds)
{
    bench_series add = {.rounds = 0}, build = {.rounds = 0};
    uint64_t *hashes = bench_allocate(t->keys * sizeof *hashes);
    double library = sort_with_library(t, hashes);
    for (unsigned i = 0; i < rounds; i++) {
        bench_note(&build, build_at_once(t, hashes));
        bench_note(&add, fill(t));
    }
    free(hashes);
    printf("  add %.1f   all at once %.1f (qsort alone ", bench_median(&add), bench_median(&build));
    bench_cell(library, 0, 1);
    printf(")");
}

/* Deletes a part of the keys; the table is not the same afterwards. */
static void measure_deleting(table *t)
{
    bench_series series = {.rounds = 0};
    uint64_t chunk = t->keys / 20, i = 0;
    while (series.rounds < DELETE_CHUNKS) {
        double start = bench_seconds();
        for (uint64_t end = i + chunk; i < end; i++)
            cf_delete(&t->filter, bench_random(i));
        bench_note(&series, bench_ns_since(start, chunk));
    }
    printf("   delete %.1f\n", bench_median(&series));
}

/* ---- one size, one fingerprint width ---- */

static void print_lookups(const char *name, const lookups *figures)
{
    printf("  %-12s", name);
    bench_cell(bench_median(&figures->limit), 8, 1);
    bench_cell(bench_median(&figures->hit), 8, 1);
    bench_cell(bench_median(&figures->miss), 8, 1);
    bench_cell(bench_median_ratio(&figures->hit, &figures->limit), 12, 2);
    bench_cell(bench_median_ratio(&figures->miss, &figures->limit), 12, 2);
    printf("\n");
}

static void measure_lookups(table *t, unsigned rounds)
{
    lookups dependent = {.limit.rounds = 0}, independent = {.limit.rounds = 0};
    for (unsigned i = 0; i < rounds; i++) {
        lookup_round(t, true, &dependent);
        lookup_round(t, false, &independent);
    }
    printf("  %-12s%8s%8s%8s%12s%12s\n", "", "limit", "hit", "miss", "hit/limit", "miss/limit");
    print_lookups("dependent", &dependent);
    print_lookups("independent", &independent);
    printf("  errors: %.4f %% of %.1f M misses; expected %.4f %%\n",
           100.0 * (double)t->false_hits / (double)t->probes, (double)t->probes / 1e6,
           100.0 * cf_expected_fpr(&t->shape, t->filter.occupied));
}

static void open_table(table *t, double megabytes, unsigned fingerprint_bits)
{
    const char *why;
    double bucket_bytes = BUCKET_SIZE * fingerprint_bits / 8.0;
    t->shape = (cf_geometry){.buckets = (uint64_t)(megabytes * 1e6 / bucket_bytes),
                             .bucket_size = BUCKET_SIZE,
                             .fingerprint_bits = (uint8_t)fingerprint_bits,
                             .pair_bits = (uint8_t)fingerprint_bits,
                             .cap = 3};
    t->keys = (uint64_t)(load * (double)cf_geometry_slots(&t->shape));
    t->absent = absent_from;
    t->limit = limit_from;
    if (cf_geometry_check(&t->shape, &why) != CF_OK)
        bench_fail(why);
    t->bytes = bench_allocate(cf_geometry_bytes(&t->shape));
}

static void measure_table(double megabytes, unsigned fingerprint_bits, unsigned rounds)
{
    table t = {.bytes = NULL};
    open_table(&t, megabytes, fingerprint_bits);
    printf("%g MB, f = %u: %llu buckets of %d, %llu keys, load %.3f, %.2f bits per key\n", megabytes,
           fingerprint_bits, (unsigned long long)t.shape.buckets, BUCKET_SIZE,
           (unsigned long long)t.keys, (double)t.keys / (double)cf_geometry_slots(&t.shape),
           8 * (double)cf_geometry_bytes(&t.shape) / (double)t.keys);
    measure_building(&t, megabytes > 10 ? 1 : 7);
    measure_deleting(&t);
    fill(&t);
    measure_lookups(&t, rounds);
    printf("\n");
    fflush(stdout);
    free(t.bytes);
}

/* ---- the hash ---- */

static inline __attribute__((always_inline)) double hash_loop(int64_t seed, uint64_t chain)
{
    uint64_t hash = 0, sum = 0;
    double start = bench_seconds();
    for (uint64_t i = 0; i < CHUNK; i++) {
        uint64_t key = i ^ (hash & chain);
        sum += hash = cf_hash(&key, sizeof key, seed);
    }
    bench_use(sum);
    return bench_ns_since(start, CHUNK);
}

/* Of an SQL number (ext/key.h). */
static double words_loop(int64_t seed)
{
    uint64_t sum = 0;
    double start = bench_seconds();
    for (uint64_t i = 0; i < CHUNK; i++)
        sum += cf_hash_words(1, i, seed);
    bench_use(sum);
    return bench_ns_since(start, CHUNK);
}

static void measure_hash(unsigned rounds)
{
    static const int64_t seeds[2] = {0, 12345};
    bench_series each[2] = {{.rounds = 0}}, chained[2] = {{.rounds = 0}}, words[2] = {{.rounds = 0}};
    for (unsigned i = 0; i < 2 * rounds; i++) {
        bench_note(&each[i % 2], hash_loop(seeds[i % 2], 0));
        bench_note(&chained[i % 2], hash_loop(seeds[i % 2], bench_zero()));
        bench_note(&words[i % 2], words_loop(seeds[i % 2]));
    }
    printf("%-28s%8s%14s\n", "hash, ns", "seed 0", "another seed");
    printf("%-28s%8.2f%14.2f\n", "cf_hash, 8 bytes", bench_median(&each[0]), bench_median(&each[1]));
    printf("%-28s%8.2f%14.2f\n", "the same, dependent", bench_median(&chained[0]),
           bench_median(&chained[1]));
    printf("%-28s%8.2f%14.2f\n", "cf_hash_words, of a number", bench_median(&words[0]),
           bench_median(&words[1]));
}

int main(int argc, char **argv)
{
    static const double megabytes[] = {1.5, 16, 192};
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    unsigned rounds = quick ? 11 : 41;
    printf("ns per operation, medians of %u rounds\n\n", rounds);
    for (unsigned i = 0; i < (quick ? 2 : 3); i++) {
        measure_table(megabytes[i], 12, rounds);
        measure_table(megabytes[i], 16, rounds);
    }
    measure_hash(rounds);
    return 0;
}
