/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <stdlib.h>

#include "../../src/base/bits.h"
#include "bench.h"

typedef walk_entry entry;

walk_table *walk_make(uint64_t buckets, unsigned fingerprint_bits, bool overflow_bits, uint64_t seed)
{
    walk_table *table = bench_allocate_zeroed(sizeof *table);
    table->buckets = buckets;
    table->fingerprint_bits = fingerprint_bits;
    table->overflow_bits = overflow_bits;
    table->draws = seed << 40;
    table->tag = bench_allocate_zeroed(buckets * WALK_SLOTS * sizeof *table->tag);
    table->overflow = bench_allocate_zeroed(buckets * sizeof *table->overflow);
    table->noted = bench_allocate(buckets * sizeof *table->noted);
    return table;
}

void walk_drop(walk_table *table)
{
    free(table->tag);
    free(table->overflow);
    free(table->noted);
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

/* ---- insertion ---- */

static bool place(walk_table *table, entry what, bench_steps *steps)
{
    uint16_t *slot = find(table, what.bucket, 0);
    steps->examined++;
    if (slot == NULL)
        return false;
    *slot = what.tag;
    return true;
}

/* Puts an entry into a random slot of its bucket; what was there wants to go to its other
** bucket. */
static entry kick(walk_table *table, entry what)
{
    uint64_t random = bench_random(table->draws++);
    uint16_t *slot = slots_of(table, what.bucket) + random % WALK_SLOTS;
    entry out = {what.bucket, *slot};
    *slot = what.tag;
    return alternate(table, out);
}

static entry either(walk_table *table, entry one, entry other)
{
    return bench_random(table->draws++) % 2 ? one : other;
}

/* Sets both bits of an entry that are zero. False: one of them is not. */
static bool set_bits(walk_table *table, entry one)
{
    entry other = alternate(table, one);
    if (table->overflow[one.bucket] || table->overflow[other.bucket])
        return false;
    table->overflow[one.bucket] = table->overflow[other.bucket] = true;
    table->noted[table->in_bits++] = one;
    return true;
}

/* Finds a place for an entry whose two buckets are full. */
static void wander(walk_table *table, entry homeless, bench_steps *steps)
{
    for (unsigned kicks = 0;; kicks++) {
        if (table->overflow_bits && kicks >= table->budget && set_bits(table, homeless))
            return;
        if (kicks == table->most_kicks)
            break;
        if (table->overflow_bits)
            homeless = either(table, homeless, alternate(table, homeless));
        homeless = kick(table, homeless);
        if (place(table, homeless, steps))
            return;
    }
    steps->refused = true;
}

bench_steps walk_add(walk_table *table, uint64_t hash)
{
    entry one = entry_of(table, hash);
    bench_steps steps = {.examined = 0};
    entry other = alternate(table, one);
    if (!place(table, one, &steps) && !place(table, other, &steps))
        wander(table, either(table, one, other), &steps);
    return steps;
}

/* ---- the rest ---- */

bool walk_contains(const walk_table *table, uint64_t hash)
{
    entry one = entry_of(table, hash), other = alternate(table, one);
    return find(table, one.bucket, one.tag) || find(table, other.bucket, other.tag) ||
           (table->overflow[one.bucket] && table->overflow[other.bucket]);
}

/* Bits that are set belong to one entry only: the one with this pair of buckets. */
static bool clear_bits(walk_table *table, entry one, entry other)
{
    if (!table->overflow[one.bucket] || !table->overflow[other.bucket])
        return false;
    table->overflow[one.bucket] = table->overflow[other.bucket] = false;
    uint64_t i = 0;
    while (i < table->in_bits && table->noted[i].bucket != one.bucket &&
           table->noted[i].bucket != other.bucket)
        i++;
    if (i == table->in_bits)
        bench_fail("overflow bits that belong to no entry");
    table->noted[i] = table->noted[--table->in_bits];
    return true;
}

bool walk_remove(walk_table *table, uint64_t hash)
{
    entry one = entry_of(table, hash), other = alternate(table, one);
    uint16_t *slot = find(table, one.bucket, one.tag);
    if (slot == NULL)
        slot = find(table, other.bucket, other.tag);
    if (slot == NULL)
        return clear_bits(table, one, other);
    *slot = 0;
    return true;
}
