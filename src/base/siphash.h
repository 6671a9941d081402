/* SPDX-License-Identifier: MIT */
/*
** siphash.h - SipHash-1-3: one round for each word, three at the end. From the paper: Aumasson,
** Bernstein, "SipHash: a fast short-input PRF", 2012. hash.h says with which key.
**
** A message is a string of words of 8 bytes, least significant byte first. The last word has the
** bytes that are left over, fewer than 8, and in its top byte the length of the message modulo 256.
*/
#ifndef CF_SIPHASH_H
#define CF_SIPHASH_H

#include "compiler.h"

#include <stddef.h>

typedef struct cf_sip {
    uint64_t v0, v1, v2, v3;
} cf_sip;

/* The state before the first word, under the key k0, k1. */
static inline cf_sip cf_sip_begin(uint64_t k0, uint64_t k1)
{
    return (cf_sip){k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                    k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
}

static inline uint64_t cf_sip_rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static CF_ALWAYS_INLINE void cf_sip_round(cf_sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = cf_sip_rotate(s->v1, 13) ^ s->v0;
    s->v3 = cf_sip_rotate(s->v3, 16) ^ s->v2;
    s->v0 = cf_sip_rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = cf_sip_rotate(s->v1, 17) ^ s->v2;
    s->v3 = cf_sip_rotate(s->v3, 21) ^ s->v0;
    s->v2 = cf_sip_rotate(s->v2, 32);
}

static CF_ALWAYS_INLINE void cf_sip_word(cf_sip *s, uint64_t word)
{
    s->v3 ^= word;
    cf_sip_round(s);
    s->v0 ^= word;
}

/* The hash. `rest` are the bytes that are left over, in a word whose top byte is zero; `length` is
** that of the whole message. */
static CF_ALWAYS_INLINE uint64_t cf_sip_end(cf_sip *s, uint64_t rest, size_t length)
{
    cf_sip_word(s, rest | (uint64_t)length << 56);
    s->v2 ^= 0xff;
    cf_sip_round(s);
    cf_sip_round(s);
    cf_sip_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Goes on with the n bytes at `at`, and ends. The first `begun` bytes of the message (0 or 1) are in
** the word `head`, and no part of `at`. `at` may be NULL when n is 0. */
static CF_ALWAYS_INLINE uint64_t cf_sip_bytes(cf_sip *s, uint64_t head, unsigned begun,
                                              const uint8_t *at, size_t n)
{
    size_t i = 8 - begun;
    if (n < 8) {
        uint64_t few = 0;
        for (size_t left = n; left-- > 0;)
            few = few << 8 | at[left];
        few = few << 8 * begun | head;
        if (n < i)
            return cf_sip_end(s, few, n + begun);
        cf_sip_word(s, few);
        return cf_sip_end(s, 0, n + begun);
    }
    cf_sip_word(s, head | cf_load64(at) << 8 * begun);
    for (; i + 8 <= n; i += 8)
        cf_sip_word(s, cf_load64(at + i));
    /* The left over ones are the top ones of the last 8 bytes; a shift by 64 has no meaning. */
    return cf_sip_end(s, cf_load64(at + n - 8) >> 8 >> (56 - 8 * (n - i)), n + begun);
}

#endif
