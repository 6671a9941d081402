/* SPDX-License-Identifier: MIT */
/*
** bench_core.c - core.tsv: what one operation of the filter library costs, beside what the memory
** costs.
**
** Filled from empty to load 0.95, hashes in random order; deletes go from there to 0.60. The limit is
** what no cuckoo filter can beat: two random 8-byte reads in the filter's own table, both addresses
** made from one hash and started together. One is multiply-shift of the hash, the other multiply-shift
** of the hash times an odd number. Figures include the call of cf_contains; the limit is inlined.
**
** Waiting: each hash depends on the result before it, so that nothing overlaps: the latency of one
** lookup, which is what a loop sees that acts on each answer. Otherwise the processor may overlap as
** many lookups as it can: throughput. The same stream of hashes feeds all loops: a mix of a counter,
** made on the fly; in the waiting loops the result is folded into the finished hash, so that the mix
** is not part of the chain, neither of the lookups nor of the limit.
*/
#include "bench.h"
#include "cuckoo.h"

#include <stdlib.h>

#include "../../src/base/bits.h"
#include "../../src/cuckoo_filter.h"

enum {
    BUCKET_SIZE = 4,
    CHUNK = 1 << 17,   /* lookups of one loop in one round */
    AT_ONCE = 1 << 10, /* of cf_contains_many */
    DELETE_CHUNKS = 7,
    ROUNDS = 5
};
static const double load = 0.95;

/* A stream of bench_random, far enough from the keys and the absent ones never to meet them. */
static const uint64_t limit_from = UINT64_C(1) << 50;

typedef struct table {
    uint8_t *bytes;
    cf_geometry shape;
    cf_filter filter;
    uint64_t keys;                   /* at load 0.95 */
    uint64_t present, absent, limit; /* where each stream goes on */
} table;

typedef struct lookups {
    bench_series limit, hit, miss, many;
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
    return ns;
}

static double many_round(table *t)
{
    static uint64_t hashes[AT_ONCE];
    static bool answers[AT_ONCE];
    double seconds = 0;
    for (unsigned done = 0; done < CHUNK; done += AT_ONCE) {
        for (unsigned i = 0; i < AT_ONCE; i++)
            hashes[i] = bench_random(t->absent++);
        double start = bench_seconds();
        bench_use(cf_contains_many(&t->filter, hashes, AT_ONCE, answers));
        seconds += bench_seconds() - start;
    }
    return seconds * 1e9 / CHUNK;
}

static void lookup_round(table *t, bool dependent, lookups *figures)
{
    bench_note(&figures->limit, limit_round(t, dependent));
    bench_note(&figures->hit, hit_round(t, dependent));
    bench_note(&figures->miss, miss_round(t, dependent));
    if (!dependent)
        bench_note(&figures->many, many_round(t));
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

/* Hashes in random order; cf_add_many sorts them. */
static double build_at_once(table *t)
{
    uint64_t *hashes = bench_allocate(t->keys * sizeof *hashes);
    for (uint64_t i = 0; i < t->keys; i++)
        hashes[i] = bench_random(i);
    cf_create(&t->filter, &t->shape, t->bytes);
    t->filter.memory = (cf_memory){bench_resize, t->filter.length, NULL};
    double start = bench_seconds();
    if (cf_add_many(&t->filter, hashes, t->keys, NULL) != CF_OK)
        bench_fail("full before load 0.95");
    double ns = bench_ns_since(start, t->keys);
    free(hashes);
    return ns;
}

static void measure_building(FILE *out, table *t)
{
    double at_once = build_at_once(t);
    bench_field(out, "%.2f", fill(t));
    bench_field(out, "%.2f", at_once);
}

/* Deletes a part of the keys; the table is not the same afterwards. */
static double measure_deleting(table *t)
{
    uint64_t keys = t->keys / 20 * DELETE_CHUNKS;
    double start = bench_seconds();
    for (uint64_t i = 0; i < keys; i++)
        cf_delete(&t->filter, bench_random(i));
    return bench_ns_since(start, keys);
}

/* ---- one size, one fingerprint width ---- */

static void write_lookups(FILE *out, const lookups *figures)
{
    bench_field(out, "%.2f", bench_median(&figures->limit));
    bench_field(out, "%.2f", bench_median(&figures->hit));
    bench_field(out, "%.2f", bench_median(&figures->miss));
}

static void measure_lookups(FILE *out, table *t)
{
    lookups waiting = {.limit.rounds = 0}, free_running = {.limit.rounds = 0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        lookup_round(t, true, &waiting);
        lookup_round(t, false, &free_running);
    }
    write_lookups(out, &free_running);
    bench_field(out, "%.2f", bench_median(&free_running.many));
    write_lookups(out, &waiting);
}

static void open_table(table *t, double megabytes, unsigned fingerprint_bits)
{
    const char *why;
    double bucket_bytes = BUCKET_SIZE * fingerprint_bits / 8.0;
    t->shape = cuckoo_shape((uint64_t)(megabytes * 1e6 / bucket_bytes), BUCKET_SIZE, fingerprint_bits);
    t->keys = (uint64_t)(load * (double)cf_geometry_slots(&t->shape));
    t->shape.capacity = t->keys; /* else adding at once goes key by key */
    t->absent = BENCH_ABSENT;
    t->limit = limit_from;
    if (cf_geometry_check(&t->shape, &why) != CF_OK)
        bench_fail(why);
    t->bytes = bench_allocate(cf_geometry_bytes(&t->shape));
}

static void measure_table(FILE *out, double megabytes, unsigned fingerprint_bits)
{
    table t = {.bytes = NULL};
    bench_progress("%g MB, f = %u", megabytes, fingerprint_bits);
    open_table(&t, megabytes, fingerprint_bits);
    fprintf(out, "%g\t%u", megabytes, fingerprint_bits);
    measure_building(out, &t);
    bench_field(out, "%.2f", measure_deleting(&t));
    fill(&t);
    measure_lookups(out, &t);
    fprintf(out, "\n");
    free(t.bytes);
}

int main(int argc, char **argv)
{
    static const double megabytes[] = {1.5, 16, 192};
    bench_call call = bench_read_call(argc, argv);
    FILE *core = bench_table(call.folder, "core",
                             "MB\tf\tadd\tall at once\tdelete\tlimit\thit\tmiss\tmany\t"
                             "limit, waiting\thit, waiting\tmiss, waiting");
    for (unsigned i = 0; i < (call.quick ? 1 : 3); i++) {
        measure_table(core, megabytes[i], 12);
        measure_table(core, megabytes[i], 16);
        measure_table(core, megabytes[i], 20);
    }
    fclose(core);
    return 0;
}
