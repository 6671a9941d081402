/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <stdlib.h>

#include "../../src/bits.h"
#include "bench.h"

/* An entry and the bucket where it is, or wants to be. */
typedef struct entry {
    uint64_t bucket;
    uint16_t tag;
} entry;

walk_table *walk_make(uint64_t buckets, unsigned fingerprint_bits, bool overflow_bits, uint64_t seed)
{
    walk_table *table = bench_allocate_zeroed(sizeof *table);
    table->buckets = buckets;
    table->fingerprint_bits = fingerprint_bits;
    table->overflow_bits = overflow_bits;
    table->draws = seed << 40;
    table->tag = bench_allocate_zeroed(buckets * WALK_SLOTS * sizeof *table->tag);
    table->overflow = bench_allocate_zeroed(buckets * sizeof *table->overflow);
    return table;
}

void walk_drop(walk_table *table)
{
    free(table->tag);
    free(table->overflow);
    free(table);
}

uint64_t walk_bits(const walk_table *table)
{
    return table->buckets * (WALK_SLOTS * table->fingerprint_bits + table->overflow_bits);
}

static entry entry_of(const walk_table *table, uint64_t hash)
{
    uint16_t tag = (uint16_t)(hash & cf_low_bits(table->fingerprint_bits));
    return (entry){cf_scale(hash, table->buckets), tag ? tag : 1};
}

/* For any number of buckets: there and back by subtraction from a number that depends on the
** tag. */
static entry alternate(const walk_table *table, entry from)
{
    uint64_t sum = cf_scale(bench_random(from.tag), table->buckets);
    uint64_t bucket = sum >= from.bucket ? sum - from.bucket : sum + table->buckets - from.bucket;
    return (entry){bucket, from.tag};
}

static uint16_t *slots_of(const walk_table *table, uint64_t bucket)
{
    return table->tag + bucket * WALK_SLOTS;
}

/* The first slot of a bucket that holds `tag`, 0 for an empty one; or NULL. */
static uint16_t *find(const walk_table *table, uint64_t bucket, uint16_t tag)
{
    uint16_t *slot = slots_of(table, bucket);
    for (unsigned i = 0; i < WALK_SLOTS; i++)
        if (slot[i] == tag)
            return slot + i;
    return NULL;
}

static bool place(walk_table *table, entry what, bench_steps *steps)
{
    uint16_t *slot = find(table, what.bucket, 0);
    steps->examined++;
    if (slot == NULL)
        return false;
    *slot = what.tag;
    steps->written++;
    return true;
}

/* Puts an entry into a random slot of its bucket; what was there wants to go to its other
** bucket. */
static entry kick(walk_table *table, entry what, bench_steps *steps)
{
    uint64_t random = bench_random(table->draws++);
    uint16_t *slot = slots_of(table, what.bucket) + random % WALK_SLOTS;
    entry out = {what.bucket, *slot};
    *slot = what.tag;
    steps->written++;
    return alternate(table, out);
}

static void leave_over(walk_table *table, entry what, bench_steps *steps)
{
    entry other = alternate(table, what);
    table->spilled++;
    if (!table->overflow_bits) {
        steps->refused = true;
        return;
    }
    steps->written += !table->overflow[what.bucket];
    table->overflow[what.bucket] = true;
    steps->written += !table->overflow[other.bucket];
    table->overflow[other.bucket] = true;
}

bench_steps walk_add(walk_table *table, uint64_t hash)
{
    bench_steps steps = {.written = 0};
    entry one = entry_of(table, hash), other = alternate(table, one);
    if (place(table, one, &steps) || place(table, other, &steps))
        return steps;
    entry homeless = bench_random(table->draws++) % 2 ? one : other;
    for (unsigned kicks = 0; kicks < table->most_kicks; kicks++) {
        homeless = kick(table, homeless, &steps);
        if (place(table, homeless, &steps))
            return steps;
    }
    leave_over(table, homeless, &steps);
    return steps;
}

bool walk_contains(const walk_table *table, uint64_t hash)
{
    entry one = entry_of(table, hash), other = alternate(table, one);
    return find(table, one.bucket, one.tag) || find(table, other.bucket, other.tag) ||
           (table->overflow[one.bucket] && table->overflow[other.bucket]);
}

bool walk_remove(walk_table *table, uint64_t hash)
{
    entry one = entry_of(table, hash), other = alternate(table, one);
    uint16_t *slot = find(table, one.bucket, one.tag);
    if (slot == NULL)
        slot = find(table, other.bucket, other.tag);
    if (slot == NULL)
        return false;
    *slot = 0;
    return true;
}
