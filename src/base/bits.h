/* SPDX-License-Identifier: MIT */
/*
** bits.h - arithmetic with bits, the same on every machine.
**
** A filter is bytes that travel between machines: no struct overlays them, integers are little-endian,
** and cf_load64 and cf_store64 (compiler.h) need no alignment.
*/
#ifndef CF_BITS_H
#define CF_BITS_H

#include "compiler.h"
#include "inline.h"

#include <stdbool.h>
#include <stddef.h>

/* A length of bytes that are in memory, where none is longer than size_t can say. Lengths of filters
** are uint64_t on every machine. */
static inline size_t cf_in_memory(uint64_t bytes)
{
    assert((size_t)bytes == bytes);
    return (size_t)bytes;
}

/* n ones, for n from 0 to 64. */
static inline uint64_t cf_low_bits(unsigned n)
{
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

/* The same for n below 64: one shift. */
static inline uint64_t cf_ones(unsigned n)
{
    assert(n < 64);
    return ((uint64_t)1 << n) - 1;
}

/* x if the condition holds, or else y. No branch: for conditions that cannot be predicted. */
static inline uint64_t cf_choose(bool condition, uint64_t x, uint64_t y)
{
    return y ^ ((x ^ y) & (0 - (uint64_t)condition));
}

/* Bits needed to number n things, n at least 1. */
static inline unsigned cf_bits_for(uint64_t n)
{
    assert(n != 0);
    return n == 1 ? 0 : cf_floor_log2(n - 1) + 1;
}

/* Is a * b <= c * d? Exact. */
static inline int cf_product_at_most(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t one = cf_high_product(a, b), other = cf_high_product(c, d);
    return one != other ? one < other : a * b <= c * d;
}

#endif
