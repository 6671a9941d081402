/* SPDX-License-Identifier: MIT */
/*
** bloom.h - where a Bloom filter, counting or not, looks for a key.
*/
#ifndef CF_BENCH_BLOOM_H
#define CF_BENCH_BLOOM_H

#include "../../src/base/bits.h"

/* The number of places per key with the fewest errors: `bits` per key times the natural logarithm
** of 2. */
static inline unsigned bloom_places(unsigned bits)
{
    unsigned places = (unsigned)(bits * 0.693147 + 0.5);
    return places > 0 ? places : 1;
}

/* Place number i of a key in a table of `size`: the hash and the hash with its halves exchanged are
** taken for two hash functions (Kirsch and Mitzenmacher: double hashing). */
static inline uint64_t bloom_place(uint64_t hash, unsigned i, uint64_t size)
{
    uint64_t exchanged = (hash >> 32 | hash << 32) | 1;
    return cf_scale(hash + i * exchanged, size);
}

/* The textbook error rate of `keys` keys with `places` places each among `size`. */
double bloom_expected(double keys, unsigned places, double size);

#endif
