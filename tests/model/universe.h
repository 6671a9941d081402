/* SPDX-License-Identifier: MIT */
/*
** universe.h - keys that collide: hashes that agree in many bits, and in those that matter.
**
** What an entry says is base bucket, pair bits and the first remainder bits. A twin of a key agrees
** with it in base and in a random number of low bits; or it does so on the other side: its base is
** the alternate of the key's, its remainder the key's turned round. And some keys have low bits that are
** all zero, as many as fingerprints of one level or another have.
*/
#ifndef CUCKOO_MODEL_UNIVERSE_H
#define CUCKOO_MODEL_UNIVERSE_H

#include "shapes.h"

/* Hash bits below this are pair and remainder bits, those above name the base bucket. */
enum { REMAINDER_END = 44 };

/* A hash with these low bits in this base bucket, of m0 < 2^18. The base is the hash times m0, without
** its low 64 bits. */
static uint64_t hash_in_base(uint64_t base, uint64_t low, uint64_t m0)
{
    uint64_t step = UINT64_MAX / m0, end = UINT64_C(1) << REMAINDER_END;
    uint64_t high = base * step + base + random_below(step - base - 2 * end);
    return ((high & ~(end - 1)) + end) | (low & (end - 1));
}

/* One of the two sides of a key. */
static cf_side any_side(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_candidates(filter, hash);
    return pair.side[random_below(pair.sides)];
}

/* A hash that a filter can hardly tell from this one. */
static uint64_t twin_of(const cf_filter *filter, uint64_t hash)
{
    unsigned shared = (unsigned)random_between(4, filter->geometry.fingerprint_bits + 14u);
    cf_side side = any_side(filter, hash);
    uint64_t low = (side.bits & model_ones(shared)) | (random64() & ~model_ones(shared));
    return hash_in_base(side.base, low, filter->geometry.buckets);
}

/* A hash near to a given one: on either side, with a few bits turned round. */
static uint64_t neighbour_of(const cf_filter *filter, uint64_t hash)
{
    cf_side side = any_side(filter, hash);
    for (uint64_t flips = random_below(4); flips > 0; flips--)
        side.bits ^= UINT64_C(1) << random_below(filter->geometry.fingerprint_bits + 10u);
    return hash_in_base(side.base, side.bits, filter->geometry.buckets);
}

static uint64_t with_low_zeros(const cf_filter *filter, uint64_t hash)
{
    return hash & ~model_ones((unsigned)random_between(4, filter->geometry.fingerprint_bits + 8u));
}

/* Number i, with those before it drawn. The first few of a narrow universe are at random. */
static uint64_t draw_hash(const setup *with, const cf_filter *filter, const uint64_t *hash, uint32_t i,
                          uint32_t few)
{
    bool clumped = with->style == CLUMPED, twin = with->style == TWINNED ? i % 2 == 1 : clumped && i > 0;
    uint64_t made = random64();
    if (with->style == NARROW && i >= few)
        made = neighbour_of(filter, hash[random_below(few)]);
    else if (twin && !(clumped && one_in(4)))
        made = twin_of(filter, hash[clumped ? random_below(i) : i - 1]);
    /* keys that end in zeros are one clump: a few, unless clumps are wanted */
    bool zeros = with->style == NARROW ? i == 0 && one_in(4) : i < 2 || (clumped && one_in(16));
    return zeros && !with->planned ? with_low_zeros(filter, made) : made;
}

/* The items of a life, in a model without a filter. */
static model new_universe(const setup *with)
{
    cf_filter unborn;
    uint8_t *bytes = model_need(malloc(cf_geometry_bytes(&with->shape)));
    uint64_t *hash = model_need(malloc(with->keys * sizeof *hash));
    uint32_t few = (uint32_t)random_between(1, 4);
    source then = draw_aside(draws.at ? random64() : 0);
    cf_create(&unborn, &with->shape, bytes);
    model made = model_new(&unborn);
    for (uint32_t i = 0; i < with->keys; i++) {
        hash[i] = draw_hash(with, &unborn, hash, i, few);
        for (uint32_t v = 0; v < with->values; v++) {
            uint64_t largest = model_ones(with->shape.value_bits);
            model_new_item(&made, &unborn, hash[i],
                           with->values == 1 ? 0 : v * (largest / (with->values - 1)));
        }
    }
    draw_on(then);
    free(hash);
    free(bytes);
    return made;
}

#endif
