/* SPDX-License-Identifier: MIT */
/*
** compiler.h - what compilers offer beyond C11, but for what inline.h has.
**
** There are three ways to everything here: that of GCC and Clang, that of MSVC, and plain C11. Any
** other compiler takes the last one, and so do all when CF_PLAIN_C is defined, as the tests do. The
** answers are the same; plain C is slower.
*/
#ifndef CF_COMPILER_H
#define CF_COMPILER_H

#include <assert.h>
#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(CF_PLAIN_C)
#define CF_IS_GNU 1
#else
#define CF_IS_GNU 0
#endif
#if defined(_MSC_VER) && !defined(__GNUC__) && !defined(CF_PLAIN_C)
#include <intrin.h>
#define CF_IS_MSVC 1
#else
#define CF_IS_MSVC 0
#endif
/* Its 64-bit machines have the same intrinsics for scans. */
#if CF_IS_MSVC && (defined(_M_X64) || defined(_M_ARM64))
#define CF_IS_MSVC64 1
#else
#define CF_IS_MSVC64 0
#endif

/* ---- hints: leaving them out changes no answer ---- */

/* CUCKOO_SMALL, defined by who compiles the library: less code, and some calls take several times as
** long. CF_NEVER_INLINE, CF_ALWAYS_INLINE: before the type of a function, behind `static`. CF_LIKELY,
** CF_UNLIKELY: a condition that nearly always, or hardly ever, holds. */
#if CF_IS_GNU
#define CF_NEVER_INLINE __attribute__((noinline))
#ifdef CUCKOO_SMALL
#define CF_ALWAYS_INLINE inline
#else
#define CF_ALWAYS_INLINE inline __attribute__((always_inline))
#endif
#define CF_LIKELY(condition)   __builtin_expect(condition, 1)
#define CF_UNLIKELY(condition) __builtin_expect(condition, 0)
#else
#if CF_IS_MSVC
#define CF_NEVER_INLINE  __declspec(noinline)
#define CF_ALWAYS_INLINE __forceinline
#else
#define CF_NEVER_INLINE
#define CF_ALWAYS_INLINE inline
#endif
#define CF_LIKELY(condition)   (condition)
#define CF_UNLIKELY(condition) (condition)
#endif

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

/* ---- the order of bytes ---- */

/* CF_LITTLE_ENDIAN, CF_BIG_ENDIAN: is that known? When neither is, bytes are taken one by one. */
#if CF_IS_GNU && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CF_LITTLE_ENDIAN 1
#define CF_BIG_ENDIAN    0
#elif CF_IS_GNU && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CF_LITTLE_ENDIAN 0
#define CF_BIG_ENDIAN    1
#else
#define CF_LITTLE_ENDIAN CF_IS_MSVC /* it makes code for no other machine */
#define CF_BIG_ENDIAN    0
#endif

/* The 8 bytes at p as an integer, least significant byte first. */
static inline uint64_t cf_load64(const uint8_t *p)
{
    uint64_t v = 0;
#if CF_LITTLE_ENDIAN || CF_BIG_ENDIAN
    memcpy(&v, p, sizeof v);
#if CF_BIG_ENDIAN
    v = __builtin_bswap64(v);
#endif
#else
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << (8 * i);
#endif
    return v;
}

static inline void cf_store64(uint8_t *p, uint64_t v)
{
#if CF_BIG_ENDIAN
    v = __builtin_bswap64(v);
#endif
#if CF_LITTLE_ENDIAN || CF_BIG_ENDIAN
    memcpy(p, &v, sizeof v);
#else
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
#endif
}

/* ---- arithmetic ---- */

/* x with the digits of a double, as in memory. Some compilers compute with more, and keep them: those
** for i386 without SSE. */
static inline double cf_rounded(double x)
{
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    return x;
#else
    volatile double rounded = x;
    return rounded;
#endif
}

/* floor(log2(n)): the number of the highest bit that is set; n at least 1. */
static inline unsigned cf_floor_log2(uint64_t n)
{
    assert(n != 0);
#if CF_IS_GNU
    return 63 ^ (unsigned)__builtin_clzll(n);
#elif CF_IS_MSVC64
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
#elif CF_IS_MSVC64
    unsigned long at;
    _BitScanForward64(&at, n);
    return at;
#else
    return cf_floor_log2(n & (0 - n));
#endif
}

#endif
