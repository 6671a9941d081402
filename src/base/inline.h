/* SPDX-License-Identifier: MIT */
/*
** inline.h - what public headers need for functions that are not only calls, in C and in C++.
*/
#ifndef CF_INLINE_H
#define CF_INLINE_H

#include <stdint.h>
#include <string.h>

#define CF_INLINE static inline
#if defined(__cplusplus)
#undef CF_INLINE
#define CF_INLINE inline
#endif

#if defined(_MSC_VER)
#include <intrin.h>
#endif

/* How the compiler multiplies to 128 bits, if it does. */
#if defined(__SIZEOF_INT128__) && !defined(__wasm__) && !defined(CF_PLAIN_C)
#define CF_HAS_WIDE
#elif defined(_MSC_VER) && !defined(CF_PLAIN_C) && (defined(_M_X64) || defined(_M_ARM64)) &&            \
    !defined(_M_ARM64EC)
#define CF_HAS_UMULH
#endif

/* The 8 bytes of x the other way round: compilers have an instruction for it. */
CF_INLINE uint64_t cf_swapped(uint64_t x)
{
    x = (x & UINT64_C(0x00ff00ff00ff00ff)) << 8 | (x >> 8 & UINT64_C(0x00ff00ff00ff00ff));
    x = (x & UINT64_C(0x0000ffff0000ffff)) << 16 | (x >> 16 & UINT64_C(0x0000ffff0000ffff));
    return x << 32 | x >> 32;
}

/* x, to be stored or as it was loaded, with its lowest byte first. Compilers know the order: no test. */
CF_INLINE uint64_t cf_little_endian(uint64_t x)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, sizeof first);
    return first != 0 ? x : cf_swapped(x);
}

/* The 8 bytes at p as an integer, least significant byte first. */
CF_INLINE uint64_t cf_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return cf_little_endian(v);
}

/* floor(a * b / 2^64). For a uniform a a uniform number below b (multiply-shift). */
CF_INLINE uint64_t cf_high_product(uint64_t a, uint64_t b)
{
#ifdef CF_HAS_WIDE
    __extension__ unsigned __int128 product = a;
    uint64_t half[2];
    product *= b;
    memcpy(half, &product, sizeof half); /* GCC takes two instructions more for a shift by 64 */
    return half[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__];
#elif defined(CF_HAS_UMULH)
    return __umulh(a, b);
#else
    const uint64_t half = 0xffffffff;
    uint64_t a0 = a & half, a1 = a >> 32, b0 = b & half, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & half)) >> 32);
#endif
}

#endif
