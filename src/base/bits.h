/* SPDX-License-Identifier: MIT */
/*
** bits.h - bit arithmetic that gives the same results on every machine, and compiler extensions.
**
** Filters are sent between machines, so no struct is mapped onto their bytes: integers are
** little-endian and unaligned. Where compilers differ there is code for GCC and Clang, for MSVC, and
** slower plain C11 for all others. CF_PLAIN_C selects plain C11 everywhere, for tests.
*/
#ifndef CF_BITS_H
#define CF_BITS_H

#include "../include/cuckoo_filter.h"

#include <assert.h>

#if defined(__GNUC__) && !defined(CF_PLAIN_C)
#define CF_IS_GNU 1
#elif defined(_MSC_VER) && !defined(CF_PLAIN_C)
#define CF_IS_MSVC 1
#endif

/* ---- hints for the compiler: they change no result ---- */

/* CUCKOO_SMALL, which users may define: less code, but some calls are several times slower. */
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

/* Fetches bytes that will be read soon. The address may be invalid. */
static inline void cf_prefetch(const uint8_t *at)
{
#if CF_IS_GNU
    __builtin_prefetch(at);
    __asm__ volatile(""); /* otherwise GCC drops calls of functions that only prefetch */
#elif CF_IS_MSVC && (defined(_M_X64) || defined(_M_IX86)) && !defined(_M_ARM64EC)
    _mm_prefetch((const char *)at, _MM_HINT_T0);
#else
    (void)at;
#endif
}

/* ---- words ---- */

/* A length as a size_t; the caller knows that the bytes are in memory. */
static inline size_t cf_in_memory(uint64_t bytes)
{
    assert((size_t)bytes == bytes);
    return (size_t)bytes;
}

/* A word whose n lowest bits are set, for n from 0 to 64. */
static inline uint64_t cf_low_bits(unsigned n)
{
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

/* The same for n < 64, in a single shift. */
static inline uint64_t cf_ones(unsigned n)
{
    assert(n < 64);
    return ((uint64_t)1 << n) - 1;
}

/* x if the condition holds, otherwise y; without a branch, for conditions that are unpredictable. */
static inline uint64_t cf_choose(bool condition, uint64_t x, uint64_t y)
{
    return y ^ ((x ^ y) & (0 - (uint64_t)condition));
}

/* floor(log2(n)), the position of the highest set bit; n > 0. */
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

/* The position of the lowest set bit; n > 0. */
static inline unsigned cf_lowest_bit(uint64_t n)
{
    assert(n != 0);
#if CF_IS_GNU
    return (unsigned)__builtin_ctzll(n);
#else
    return cf_floor_log2(n & (0 - n));
#endif
}

/* The number of bits needed to number n things; n > 0. */
static inline unsigned cf_bits_for(uint64_t n)
{
    assert(n != 0);
    return n == 1 ? 0 : cf_floor_log2(n - 1) + 1;
}

/* True if a * b <= c * d, exactly. */
static inline int cf_product_at_most(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t one = cf_high_product(a, b), other = cf_high_product(c, d);
    return one != other ? one < other : a * b <= c * d;
}

/* x rounded to a double: compilers for i386 without SSE compute with more digits. */
static inline double cf_rounded(double x)
{
    volatile double rounded = x;
    return rounded;
}

#endif
