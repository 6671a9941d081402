/* SPDX-License-Identifier: MIT */
/*
** bloom.h - where a Bloom filter, counting or not, looks for a key.
*/
#ifndef CF_BENCH_BLOOM_H
#define CF_BENCH_BLOOM_H

#include "../../src/base/bits.h"
#include "kinds.h"

typedef struct bloom {
    uint64_t size;   /* bits, or counters */
    unsigned places; /* of a key */
    uint8_t table[];
} bloom;

/* A filter with `width` bits in each place, and as many places per key as err least. */
void bloom_make(bench_filter *made, uint64_t bytes, unsigned width, unsigned bits);

/* Place number i of a key in a table of `size`: the hash and the hash with its halves exchanged are
** taken for two hash functions (Kirsch and Mitzenmacher: double hashing). */
static inline uint64_t bloom_place(uint64_t hash, unsigned i, uint64_t size)
{
    uint64_t exchanged = (hash >> 32 | hash << 32) | 1;
    return cf_scale(hash + i * exchanged, size);
}

/* The textbook error rate. */
double bloom_expected(const void *state, uint64_t keys);

#endif
