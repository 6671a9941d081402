/* SPDX-License-Identifier: MIT */
/*
** universe.h - keys that collide: hashes that agree in many bits, and in those that matter.
**
** What an entry says is base bucket, pair bits and the first remainder bits. A twin of a key agrees
** with it in base and in a random number of low bits; or it does so on the other side: its base is
** the alternate of the key's, its remainder the key's XOR x. And some keys have low bits that are
** all zero, as many as fingerprints of one level or another have.
*/
#ifndef CUCKOO_STRESS_UNIVERSE_H
#define CUCKOO_STRESS_UNIVERSE_H

#include "stress.h"

/* Hash bits below this are pair and remainder bits, those above name the base bucket. */
enum { REMAINDER_END = 44 };

/* A hash with these low bits in this base bucket. */
static uint64_t hash_in_base(uint64_t base, uint64_t low, uint64_t m0)
{
    uint64_t hash;
    do
        hash = (random64() & ~cf_low_bits(REMAINDER_END)) | (low & cf_low_bits(REMAINDER_END));
    while (cf_scale(hash, m0) != base);
    return hash;
}

/* A hash that a filter can hardly tell from this one. */
static uint64_t twin_of(const cf_filter *filter, uint64_t hash)
{
    uint64_t m0 = filter->geometry.buckets;
    unsigned shared = (unsigned)random_between(4, filter->geometry.fingerprint_bits + 14);
    cf_side side = cf_base(filter, hash);
    if (one_in(2))
        side = cf_alternate(filter, side);
    uint64_t low = (side.bits & cf_low_bits(shared)) | (random64() & ~cf_low_bits(shared));
    return hash_in_base(side.base, low, m0);
}

/* A hash near to a given one: on either side, with a few bits turned round. */
static uint64_t neighbour_of(const cf_filter *filter, uint64_t hash)
{
    cf_side side = cf_base(filter, hash);
    if (one_in(2))
        side = cf_alternate(filter, side);
    for (uint64_t flips = random_below(4); flips > 0; flips--)
        side.bits ^= (uint64_t)1 << random_below(filter->geometry.fingerprint_bits + 10u);
    return hash_in_base(side.base, side.bits, filter->geometry.buckets);
}

static uint64_t with_low_zeros(const cf_filter *filter, uint64_t hash)
{
    return hash & ~cf_low_bits((unsigned)random_between(4, filter->geometry.fingerprint_bits + 8));
}

/* Keys that end in zeros are one clump: a few, unless clumps are wanted. */
static bool wants_zeros(const setup *with, uint32_t i)
{
    return i < 2 || (with->style == CLUMPED && one_in(16));
}

/* Each near to one of the first few. */
static void draw_narrow(const setup *with, const cf_filter *filter, uint64_t *hash)
{
    uint32_t few = (uint32_t)random_between(1, 4);
    for (uint32_t i = 0; i < with->keys; i++)
        hash[i] = i < few ? random64() : neighbour_of(filter, hash[random_below(few)]);
    if (one_in(4))
        hash[0] = with_low_zeros(filter, hash[0]);
}

static void draw_hashes(const setup *with, const cf_filter *filter, uint64_t *hash)
{
    if (with->style == NARROW) {
        draw_narrow(with, filter, hash);
        return;
    }
    for (uint32_t i = 0; i < with->keys; i++) {
        bool twin =
            i > 0 && ((with->style == TWINNED && i % 2 == 1) || (with->style == CLUMPED && !one_in(4)));
        uint32_t of = with->style == TWINNED || i == 0 ? i - 1 : (uint32_t)random_below(i);
        hash[i] = twin ? twin_of(filter, hash[of]) : random64();
        if (wants_zeros(with, i))
            hash[i] = with_low_zeros(filter, hash[i]);
    }
}

/* The hashes of a life. */
static uint64_t *new_universe(const setup *with)
{
    cf_filter view;
    uint8_t *bytes = need(malloc(cf_geometry_bytes(&with->shape)));
    uint64_t *hash = need(malloc(with->keys * sizeof *hash));
    cf_create(&view, &with->shape, bytes);
    draw_hashes(with, &view, hash);
    free(bytes);
    return hash;
}

#endif
