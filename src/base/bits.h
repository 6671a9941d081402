/* SPDX-License-Identifier: MIT */
/*
** bits.h - arithmetic with bits, the same on every machine, and what compilers offer beyond C11.
**
** A filter is bytes that travel between machines: no struct overlays them, integers are little-endian,
** not aligned. Where compilers differ there is code for GCC and Clang, for MSVC, and plain C11 for all
** others. That is slower, with the same answers; CF_PLAIN_C chooses it everywhere, for tests.
*/
#ifndef CF_BITS_H
#define CF_BITS_H

#include "../include/cuckoo_inline.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__) && !defined(CF_PLAIN_C)
#define CF_IS_GNU 1
#elif defined(_MSC_VER) && !defined(CF_PLAIN_C)
#define CF_IS_MSVC 1
#endif

/* ---- hints: leaving them out changes no answer ---- */

/* CUCKOO_SMALL, which users of the library define: less code, and some calls several times as long. */
#if CF_IS_GNU
#define CF_NEVER_INLINE __attribute__((noinline))
#else
#define CF_NEVER_INLINE
#endif
#if CF_IS_GNU && !defined(CUCKOO_SMALL)
#define CF_ALWAYS_INLINE inline __attribute__((always_inline))
#elif CF_IS_MSVC
#define CF_ALWAYS_INLINE __forceinline
#else
#define CF_ALWAYS_INLINE inline
#endif
#define CF_FORCED static CF_ALWAYS_INLINE

/* These bytes are read soon. The address need not be a valid one. */
static inline void cf_prefetch(const uint8_t *at)
{
#if CF_IS_GNU
    __builtin_prefetch(at);
    __asm__ volatile(""); /* else GCC drops calls of functions that do no more than this */
#elif CF_IS_MSVC && (defined(_M_X64) || defined(_M_IX86)) && !defined(_M_ARM64EC)
    _mm_prefetch((const char *)at, _MM_HINT_T0);
#else
    (void)at;
#endif
}

/* ---- words ---- */

/* The length, which is uint64_t on every machine, of bytes that are in memory. */
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

/* floor(log2(n)): the number of the highest bit that is set; n at least 1. */
static inline unsigned cf_floor_log2(uint64_t n)
{
    assert(n != 0);
#if CF_IS_GNU
    return 63 ^ (unsigned)__builtin_clzll(n);
#elif CF_IS_MSVC && (defined(_M_X64) || defined(_M_ARM64))
    unsigned long at;
    _BitScanReverse64(&at, n);
    return at;
#else
    unsigned at = 0;
    for (unsigned step = 32; step > 0; step /= 2)
        if (n >> step != 0) {
            n >>= step;
            at += step;
        }
    return at;
#endif
}

/* The number of the lowest bit that is set; n at least 1. */
static inline unsigned cf_lowest_bit(uint64_t n)
{
    assert(n != 0);
#if CF_IS_GNU
    return (unsigned)__builtin_ctzll(n);
#else
    return cf_floor_log2(n & (0 - n));
#endif
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

/* x with the digits of a double: for i386 without SSE compilers compute with more. */
static inline double cf_rounded(double x)
{
    volatile double rounded = x;
    return rounded;
}

#endif
