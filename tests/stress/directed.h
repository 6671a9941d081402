/* SPDX-License-Identifier: MIT */
/*
** directed.h - single sequences that random ones seldom come to, with hashes made for them.
*/
#ifndef CUCKOO_STRESS_DIRECTED_H
#define CUCKOO_STRESS_DIRECTED_H

#include "model.h"

enum { ROUNDS = 50 };

/* Four remainder bits known before growth. */
static setup directed_setup(unsigned b, uint64_t m0, uint32_t keys)
{
    setup with = {.keys = keys, .most_copies = UINT32_MAX, .planned = true};
    with.shape = (cf_geometry){.buckets = m0,
                               .capacity = m0 * b,
                               .bucket_size = (uint8_t)b,
                               .fingerprint_bits = 8,
                               .pair_bits = 4,
                               .cap = (uint8_t)(b == 2   ? 2
                                                : b == 4 ? 3
                                                         : 4),
                               .growth = true};
    return with;
}

/* Deletes a copy of this key, which is present. */
static void take_copy(subject *s, pair_id id)
{
    uint32_t at = 0;
    while (s->present[at] != id)
        at++;
    take_at(s, at);
}

static void grow_to(subject *s, uint64_t buckets)
{
    while (!failed && s->filter.buckets < buckets) {
        if (cf_grow(&s->filter) != CF_OK)
            FAIL("cf_grow fails at %llu buckets", (unsigned long long)s->filter.buckets);
        total.splits++;
    }
}

/* The low bits of a hash, as they are seen from its other side; *base: the base bucket there. */
static uint64_t low_of_alternate(const cf_filter *filter, uint64_t hash, uint64_t *base)
{
    cf_side other = cf_alternate(filter, cf_base(filter, hash));
    *base = other.base;
    return other.bits;
}

/* These low bits up to `known` pair and remainder bits, and all the others turned round. */
static uint64_t differing_behind(uint64_t low, unsigned known)
{
    return low ^ ~cf_low_bits(known);
}

/*
** A key that is sticky in one filter is so in the sum, even when the sum has entries that match it
** and cannot be made equal: with counters, the copies of its entries must not be counted in those
** of others, who take them away again when they are deleted. b = 2, m0 = 2, level 4 half way:
**
**      base 0, extensions of 5 bits: an entry of key 2, which agrees with key 0 in 10 bits, of 10
**      base 1, extensions of 4 bits: an entry of key 1, which agrees with key 0 in 4 bits, of 4: void
*/
static void merge_sticky_beside_others(void)
{
    setup with = directed_setup(2, 2, 3);
    with.shape.counter_bits = 1;
    uint64_t hash[3] = {0}, base, low = random64() | 1, half = (2 << 4) + 16;
    subject into = new_subject(&with, hash), from = new_subject(&with, hash);
    hash[0] = hash_in_base(1, low, 2);
    hash[1] = hash_in_base(1, differing_behind(low, 4 + 4), 2);
    low = low_of_alternate(&into.filter, hash[0], &base);
    hash[2] = hash_in_base(base, differing_behind(low, 4 + 10), 2);
    add(&into, 1);
    grow_to(&into, 2 << 2);
    add(&into, 2);
    grow_to(&into, half);
    grow_to(&from, half);
    for (unsigned i = 0; i < 10; i++)
        add(&from, 0);
    merge(&into, &from);
    take_copy(&into, 1);
    take_copy(&into, 2);
    while (into.copies[0] > 0 && !failed)
        take_copy(&into, 0);
    free_subject(&into);
    free_subject(&from);
}

/* A table that is full to the last slot, and all of its entries void: a split doubles those of one
** bucket. */
static void split_full_of_voids(void)
{
    setup with = directed_setup(2, 2, 2);
    uint64_t hash[2] = {random64() << 4 | 1, random64() << 4 | 2};
    with.shape.fingerprint_bits = 4;
    subject s = new_subject(&with, hash);
    for (unsigned i = 0; i < 4; i++)
        add(&s, i / 2);
    grow_to(&s, 8);
    check_sound(&s);
    check_all_present(&s);
    free_subject(&s);
}

/* One key alone: as many deletes take effect as there were adds, when they stay below what can be
** counted. */
static void exact_counts(void)
{
    setup with = directed_setup(4, 2 * random_between(2, 4), 1);
    with.shape.counter_bits = (uint8_t)random_below(5);
    uint64_t hash = random64(), copies = random_below(sticky_from(&with));
    subject s = new_subject(&with, &hash);
    for (uint64_t i = 0; i < copies; i++) {
        add(&s, 0);
        if (one_in(4) && s.filter.buckets < 64)
            grow_to(&s, s.filter.buckets + random_below(6));
    }
    while (s.n > 0 && !failed)
        take(&s);
    if (s.orphans || cf_contains(&s.filter, hash))
        FAIL("%llu copies of one key cannot all be deleted", (unsigned long long)copies);
    free_subject(&s);
}

/* Any number of adds of one key: never refused, and few slots, whatever is split in between. */
static void many_repetitions(void)
{
    static const unsigned sizes[] = {2, 4, 8};
    setup with = directed_setup(sizes[random_below(3)], 2 * random_between(1, 4), 1);
    with.shape.counter_bits = (uint8_t)random_below(3);
    uint64_t hash = random64();
    subject s = new_subject(&with, &hash);
    for (unsigned i = 0; i < 2000 && !failed; i++) {
        add(&s, 0);
        if (one_in(40) && s.filter.buckets < 128)
            grow_to(&s, s.filter.buckets + random_below(10));
    }
    check_all_present(&s);
    check_sound(&s);
    free_subject(&s);
}

static void (*const directed[])(void) = {merge_sticky_beside_others, split_full_of_voids, exact_counts,
                                         many_repetitions};
enum { DIRECTED = sizeof directed / sizeof *directed };

static void run_directed(unsigned number)
{
    for (unsigned i = 0; i < ROUNDS && !failed; i++)
        directed[number]();
}

#endif
