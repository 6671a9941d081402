/* SPDX-License-Identifier: MIT */
/*
** core.c - core.tsv: the life of a filter, beside Bloom filters of the same size: filled, asked,
** emptied. Half a megabyte, which lies in the cache, and 192 MB, which does not; quick: 1.5 MB.
**
** Nanoseconds for an operation, by hash: "add" up to load 0.95, one by one; lookups in full filters, by
** the share of keys that are there; "delete" from load 0.95 to 0.90. Every operation is called through
** a pointer, all kinds alike. A Bloom filter of 13 bits a key errs about as often as fingerprints of 12
** bits. Blocked: all bits of a key lie in one line of the cache. Both are written plainly for the
** comparison; the program ends when a key is not found, or when errors are not as expected.
*/
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOOM_BITS = 13, LINE_BITS = 512, PLACES = 9, PLACES_IN_LINE = 8, QUERIES = 1 << 16, PASSES = 5 };

/* ---- the filters ---- */

/* A filter of the library, or the bits of a Bloom filter. */
typedef struct table {
    const struct kind *kind;
    cf_filter filter;
    uint64_t *words, size; /* bits */
    uint64_t bytes, slots; /* load 1; Bloom filters: the keys it was made for */
    uint64_t keys, removed;
} table;

typedef struct kind {
    const char *name;
    cf_options options;             /* of ours */
    bool (*add)(table *, uint64_t); /* false: full */
    bool (*contains)(const table *, uint64_t);
    bool is_ours;
} kind;

static bool add_ours(table *t, uint64_t hash)
{
    return cf_add(&t->filter, hash) == CF_OK;
}

static bool contains_ours(const table *t, uint64_t hash)
{
    return cf_contains(&t->filter, hash);
}

/* The hash and the hash with its halves exchanged are taken for two hash functions (double hashing). */
static uint64_t place_of(const table *t, uint64_t hash, unsigned i)
{
    return bench_scale(hash + i * ((hash >> 32 | hash << 32) | 1), t->size);
}

static bool add_bloom(table *t, uint64_t hash)
{
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t place = place_of(t, hash, i);
        t->words[place / 64] |= UINT64_C(1) << place % 64;
    }
    return true;
}

static bool contains_bloom(const table *t, uint64_t hash)
{
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t place = place_of(t, hash, i);
        if (!(t->words[place / 64] >> place % 64 & 1))
            return false;
    }
    return true;
}

/* Place number i within the line: nine bits of one of two products. */
static unsigned place_in_line(uint64_t hash, unsigned i)
{
    uint64_t product = hash * (i < 7 ? UINT64_C(0x9fb21c651e98df25) : UINT64_C(0xd6e8feb86659fd93));
    return (unsigned)(product << 9 * (i % 7) >> 55);
}

static uint64_t *line_of(const table *t, uint64_t hash)
{
    return t->words + LINE_BITS / 64 * bench_scale(hash, t->size / LINE_BITS);
}

static bool add_blocked(table *t, uint64_t hash)
{
    uint64_t *line = line_of(t, hash);
    for (unsigned i = 0; i < PLACES_IN_LINE; i++) {
        unsigned place = place_in_line(hash, i);
        line[place / 64] |= UINT64_C(1) << place % 64;
    }
    return true;
}

/* All places are looked at: they cost less than a branch that cannot be predicted. */
static bool contains_blocked(const table *t, uint64_t hash)
{
    const uint64_t *line = line_of(t, hash);
    uint64_t there = 1;
    for (unsigned i = 0; i < PLACES_IN_LINE; i++) {
        unsigned place = place_in_line(hash, i);
        there &= line[place / 64] >> place % 64;
    }
    return there;
}

static const kind kinds[] = {
    {"cuckoo",
     {.bucket_size = 4, .fingerprint_bits = 12, .layout = CF_LAYOUT_PLAIN},
     add_ours,
     contains_ours,
     true},
    {"semi-sorted cuckoo",
     {.bucket_size = 4, .fingerprint_bits = 13, .layout = CF_LAYOUT_SEMISORT},
     add_ours,
     contains_ours,
     true},
    {"Bloom", {0}, add_bloom, contains_bloom, false},
    {"blocked Bloom", {0}, add_blocked, contains_blocked, false},
};

static table make(const kind *of, uint64_t bytes)
{
    table made = {.kind = of, .bytes = bytes, .size = 8 * bytes / LINE_BITS * LINE_BITS};
    made.slots = made.size / BLOOM_BITS;
    if (of->is_ours) { /* 12 bits a slot */
        cf_geometry shape = bench_plan(bytes * 8 / 12 * 96 / 100, 0, &of->options);
        made.filter = bench_make(&shape);
        made.bytes = made.filter.length;
        made.slots = cf_geometry_slots(&shape);
    } else {
        made.words = aligned_alloc(64, made.size / 8);
        if (made.words == NULL)
            bench_fail("out of memory");
        memset(made.words, 0, made.size / 8);
    }
    return made;
}

static void drop(table *t)
{
    if (t->kind->is_ours)
        bench_drop(&t->filter);
    free(t->words);
}

/* ---- measuring ---- */

/* Adds keys up to that load, or until one is refused; nanoseconds for each. */
static double fill(table *t, double load)
{
    uint64_t end = (uint64_t)(load * (double)t->slots), before = t->keys;
    double start = bench_seconds();
    while (t->keys < end && t->kind->add(t, bench_random(t->keys)))
        t->keys++;
    return bench_ns_since(start, t->keys - before);
}

/* Nanoseconds for a lookup, of the share `hits` the keys are there: in random order, median of passes. */
static double ask(const table *t, double hits)
{
    static uint64_t query[QUERIES], drawn, absent;
    bench_series passes = {.rounds = 0};
    for (unsigned pass = 0; pass < PASSES; pass++) {
        uint64_t found = 0;
        for (unsigned i = 0; i < QUERIES; i++) {
            uint64_t random = bench_random((UINT64_C(1) << 50) + drawn++);
            bool hit = (double)(random >> 32) < hits * 4294967296.0;
            query[i] = bench_random(hit ? bench_scale(random << 32, t->keys) : BENCH_ABSENT + absent++);
        }
        double start = bench_seconds();
        for (unsigned i = 0; i < QUERIES; i++)
            found += t->kind->contains(t, query[i]);
        bench_note(&passes, bench_ns_since(start, QUERIES));
        if (hits == 1 && found != QUERIES)
            bench_fail("a key that was added is not found");
    }
    return bench_median(&passes);
}

static double error_rate(const table *t, uint64_t probes)
{
    uint64_t errors = 0;
    for (uint64_t i = 0; i < probes; i++)
        errors += t->kind->contains(t, bench_random(2 * BENCH_ABSENT + i));
    double expected = pow(-expm1(-PLACES / (double)BLOOM_BITS), PLACES);
    if (t->kind->is_ours)
        expected = cf_expected_fpr(&t->filter.geometry, t->filter.occupied);
    double times = (double)errors / (double)probes / expected; /* lines have different numbers of keys */
    if (times < 0.8 || times > (t->kind->contains == contains_blocked ? 1.8 : 1.2))
        bench_fail("the error rate is not as expected");
    return (double)errors / (double)probes;
}

/* Deletes the oldest keys down to that load. */
static double empty(table *t, double load)
{
    uint64_t before = t->removed, end = t->keys - (uint64_t)(load * (double)t->slots);
    if (!t->kind->is_ours)
        return NAN;
    double start = bench_seconds();
    while (t->removed < end)
        cf_delete(&t->filter, bench_random(t->removed++));
    return bench_ns_since(start, t->removed - before);
}

static void live(FILE *out, const kind *of, double megabytes, uint64_t probes)
{
    table t = make(of, (uint64_t)(megabytes * (1 << 20)));
    bench_progress("%s, %g MB", of->name, megabytes);
    double add = fill(&t, 0.95);
    fill(&t, 1);
    fprintf(out, "%s\t%g\t%.2f\t%.4f\t%.2f", of->name, megabytes, 8 * (double)t.bytes / (double)t.keys,
            100 * error_rate(&t, probes), add);
    for (double hits = 1; hits >= 0; hits -= 0.5)
        bench_field(out, "%.2f", ask(&t, hits));
    empty(&t, 0.95);
    bench_field(out, "%.2f", empty(&t, 0.90));
    fprintf(out, "\n");
    drop(&t);
}

int main(int argc, char **argv)
{
    static const double megabytes[] = {0.5, 192};
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "core",
                            "filter\tMB\tbits per key\terror %\tadd\thit\thalf hits\tmiss\tdelete");
    for (unsigned i = 0; i < (call.quick ? 1 : 2); i++)
        for (unsigned j = 0; j < sizeof kinds / sizeof *kinds; j++)
            live(out, &kinds[j], call.quick ? 1.5 : megabytes[i], call.quick ? 1000000 : 5000000);
    fclose(out);
    return 0;
}
