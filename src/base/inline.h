/* SPDX-License-Identifier: MIT */
/*
** inline.h - what public headers need for functions that are not only calls: C and C++ of compilers that
** multiply to 128 bits, on little-endian machines. Elsewhere they are calls.
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

#if defined(__SIZEOF_INT128__) && !defined(__wasm__) && !defined(CF_PLAIN_C) &&                         \
    defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CF_HAS_INLINE
/* floor(a * b / 2^64). */
CF_INLINE uint64_t cf_high_product(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = a;
    uint64_t half[2];
    product *= b;
    memcpy(half, &product, sizeof half);
    return half[1];
}
#endif

#endif
