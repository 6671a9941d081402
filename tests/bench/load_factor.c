/* SPDX-License-Identifier: MIT */
/*
** load_factor.c - figure2.tsv: how full a table gets, against the bits of a fingerprint.
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
**                           compares with; it has no f
**   ours                    the library, growth off: f from 4; keys that share a fingerprint are
**                           absorbed from cap copies on
** The first four are tables of whole keys. At 2^25 buckets a run fills the one point that
** its seed names, so that ten runs fill ten of the eleven.
*/
#include "bench.h"

#include <math.h>
#include <stdlib.h>

#include "../../src/base/bits.h"
#include "../../src/cuckoo_inspect.h"
#include "cuckoo.h"

enum { LAST_BITS = 20, KICKS = 500, AHEAD = 16 /* keys */ };

/* ---- a cuckoo hash table of whole keys: slots hold their numbers, which give all addresses ---- */

/* How the second bucket follows from the first one. Fingerprint 0 becomes 1, as in the authors'
** program, whose empty slots are 0; but for KEY_HASHED_ALL. */
typedef enum key_address {
    KEY_INDEPENDENT, /* it does not: another hash of the key */
    KEY_HASHED,      /* XOR with a hash of the fingerprint (equation 1) */
    KEY_HASHED_ALL,  /* the same, and fingerprint 0 stays one of 2^f */
    KEY_UNHASHED     /* XOR with the fingerprint itself */
} key_address;

typedef struct key_table {
    key_address address;
    unsigned log2_buckets, b, f; /* f: 1 .. 32 */
    uint64_t draws;
    uint64_t keys;  /* so many are in it; all in their buckets unless a walk has failed */
    uint32_t *slot; /* key + 1; 0: empty */
} key_table;

/* Its two buckets. */
typedef struct key_place {
    uint64_t bucket[2];
} key_place;

static key_table *key_table_make(key_address address, unsigned log2_buckets, unsigned b, unsigned f)
{
    key_table *table = bench_allocate_zeroed(sizeof *table);
    *table = (key_table){.address = address, .log2_buckets = log2_buckets, .b = b, .f = f};
    table->slot = bench_allocate_zeroed(sizeof *table->slot * b << log2_buckets);
    return table;
}

static void key_table_drop(key_table *table)
{
    free(table->slot);
    free(table);
}

/* ---- addresses ---- */

static const uint64_t second_hash = UINT64_C(1) << 50, draws_from = UINT64_C(1) << 51,
                      fingerprints_from = UINT64_C(1) << 52;

static key_place key_place_of(const key_table *table, uint64_t key)
{
    uint64_t mask = cf_low_bits(table->log2_buckets), hash = bench_random(key);
    uint64_t first = hash >> 32 & mask, fingerprint = hash & cf_low_bits(table->f);
    fingerprint |= fingerprint == 0 && table->address != KEY_HASHED_ALL;
    if (table->address == KEY_INDEPENDENT)
        return (key_place){{first, bench_random(second_hash + key) & mask}};
    uint64_t step =
        table->address == KEY_UNHASHED ? fingerprint : bench_random(fingerprints_from + fingerprint);
    return (key_place){{first, first ^ (step & mask)}};
}

static uint32_t *slots_of(const key_table *table, uint64_t bucket)
{
    return table->slot + bucket * table->b;
}

static uint64_t other_bucket(const key_table *table, uint32_t content, uint64_t bucket)
{
    key_place place = key_place_of(table, content - 1);
    return place.bucket[place.bucket[0] == bucket];
}

static uint32_t *find(const key_table *table, uint64_t bucket, uint32_t content)
{
    uint32_t *slot = slots_of(table, bucket);
    for (unsigned i = 0; i < table->b; i++)
        if (slot[i] == content)
            return slot + i;
    return NULL;
}

static bool place(const key_table *table, uint64_t bucket, uint32_t content)
{
    uint32_t *empty = find(table, bucket, 0);
    if (empty)
        *empty = content;
    return empty != NULL;
}

/* ---- at random ---- */

static bool walk(key_table *table, const key_place *from, uint32_t content)
{
    uint64_t bucket = from->bucket[bench_random(draws_from + table->draws++) % 2];
    for (unsigned kick = 0; kick < KICKS; kick++) {
        uint32_t *slot = slots_of(table, bucket) + bench_random(draws_from + table->draws++) % table->b;
        uint32_t out = *slot;
        *slot = content;
        content = out;
        bucket = other_bucket(table, content, bucket);
        if (place(table, bucket, content))
            return true;
    }
    return false;
}

/* ---- filling ---- */

static bool add(key_table *table, uint64_t key)
{
    key_place places = key_place_of(table, key);
    uint32_t content = (uint32_t)key + 1;
    return place(table, places.bucket[0], content) || place(table, places.bucket[1], content) ||
           walk(table, &places, content);
}

/* Nothing is lost but what a walk that failed has kicked out. */
static void look_for_all(const key_table *table)
{
    uint64_t missed = 0;
    for (uint64_t key = 0; key < table->keys; key++) {
        key_place at = key_place_of(table, key);
        uint32_t content = (uint32_t)key + 1;
        missed += !find(table, at.bucket[0], content) && !find(table, at.bucket[1], content);
    }
    if (missed > 1)
        bench_fail("a key is not found");
}

/* Adds keys until one finds no room; ends the program when one that was taken is not in its buckets.
** The load. */
static double key_table_fill(key_table *table)
{
    while (table->keys < UINT32_MAX - 1 && add(table, table->keys)) {
        key_place later = key_place_of(table, ++table->keys + AHEAD);
        __builtin_prefetch(slots_of(table, later.bucket[0]));
        __builtin_prefetch(slots_of(table, later.bucket[1]));
    }
    look_for_all(table);
    return (double)table->keys / (double)((uint64_t)table->b << table->log2_buckets);
}

/* ---- the systems ---- */

typedef struct system {
    const char *name;
    key_address address; /* unless it is ours */
} system_of;

enum { PUBLISHED, PUBLISHED_ALL, UNHASHED, INDEPENDENT, OURS, SYSTEMS };
static const system_of systems[SYSTEMS] = {
    {"as published", KEY_HASHED}, {"as published, 2^f", KEY_HASHED_ALL},
    {"unhashed", KEY_UNHASHED},   {"independent", KEY_INDEPENDENT},
    {"ours", KEY_HASHED},
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
    cf_filter filter = cuckoo_make(&shape);
    uint64_t i = 0;
    while (cf_add(&filter, bench_random(i)) == CF_OK)
        fetch(&filter, bench_random(AHEAD + i++));
    for (uint64_t key = 0; key < i; key++)
        if (!cf_contains(&filter, bench_random(key)))
            bench_fail("a key is not found");
    fprintf(out, "%.4f\t%.3f\n", (double)filter.occupied / (double)cf_geometry_slots(&shape),
            100 * (double)(i - filter.occupied) / (double)i);
    cuckoo_drop(&filter);
}

static void fill(FILE *out, point at)
{
    const system_of *of = &systems[at.system];
    bool independent = at.system == INDEPENDENT;
    fprintf(out, "%s\t%u\t%u\t", of->name, at.log2_buckets, at.b);
    fprintf(out, independent ? "-\t" : "%u\t", at.f);
    if (at.system == OURS) {
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
        bool independent = system == INDEPENDENT;
        for (unsigned f = 1; f <= (independent ? 1 : LAST_BITS); f += f < 8 ? 1 : step)
            if (system != OURS || f >= CF_FINGERPRINT_MIN)
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
