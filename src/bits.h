/*
** bits.h - bytes to integers and back, the same on every machine.
**
** A filter is a string of bytes that travels between machines, so nothing here overlays a struct
** on bytes: integers are little-endian, loads and stores go through memcpy and need no alignment.
*/
#ifndef CF_BITS_H
#define CF_BITS_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t cf_swap_if_big_endian(uint64_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(v);
#else
    return v;
#endif
}

/* The 8 bytes at p as an integer, least significant byte first. */
static inline uint64_t cf_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return cf_swap_if_big_endian(v);
}

static inline void cf_store64(uint8_t *p, uint64_t v)
{
    v = cf_swap_if_big_endian(v);
    memcpy(p, &v, sizeof v);
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

/* The 128-bit product of a and b: the low half is returned, the high half stored in *high. */
static inline uint64_t cf_multiply(uint64_t a, uint64_t b, uint64_t *high)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (uint32_t)mid;
    *high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
    return (mid2 << 32) | (uint32_t)low;
#endif
}

/* floor(log2(n)), n at least 1. */
static inline unsigned cf_floor_log2(uint64_t n)
{
    assert(n != 0);
    return 63 - (unsigned)__builtin_clzll(n);
}

/* Bits needed to number n things, n at least 1. */
static inline unsigned cf_bits_for(uint64_t n)
{
    assert(n != 0);
    return n == 1 ? 0 : cf_floor_log2(n - 1) + 1;
}

/* floor(x * n / 2^64): a uniform 64-bit x becomes a uniform number below n (multiply-shift). */
static inline uint64_t cf_scale(uint64_t x, uint64_t n)
{
    uint64_t high;
    cf_multiply(x, n, &high);
    return high;
}

/* Is a * b <= c * d? Exact. */
static inline int cf_product_at_most(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t high1, high2;
    uint64_t low1 = cf_multiply(a, b, &high1), low2 = cf_multiply(c, d, &high2);
    return high1 != high2 ? high1 < high2 : low1 <= low2;
}

#endif
