/* SPDX-License-Identifier: MIT */
/*
** hash.c - from the bytes of a key to its 64-bit hash, which is equal on every machine.
**
** XXH3       XXH3 with 64 bits, hash identity 1; unseeded if the seed is 0, which is faster on short
**            keys. The seed protects nothing: under one seed in a thousand some pairs of 31-byte keys
**            share their hash, and anyone who chooses keys can make many such pairs.
** keyed      SipHash-1-3, hash identity 2. Its 128-bit key is derived from the seed: the first 64 bits
**            are the seed, the others are (x ^ x >> 32) with
**            x = (seed + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9, modulo 2^64.
**
** Without the seed of a keyed hash, nobody can choose keys that share a bucket or a fingerprint more
** often than by chance. To find the seed takes some 2^63 trials (2^63 / n for any one of n filters), and
** hashes or answers to test them against. Seed 0 is public.
*/
#include "../include/cuckoo_key.h"
#include "bits.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- keyed ---- */

/* SipHash-1-3: one round for each word and three at the end (Aumasson, Bernstein, "SipHash: a fast
** short-input PRF", 2012). Words have 8 bytes, least significant byte first; the last word has the
** remaining bytes, fewer than 8, and in its top byte the length of the message modulo 256. */
typedef struct sip {
    uint64_t v0, v1, v2, v3;
} sip;

/* The state before the first word. */
static sip sip_begin(int64_t seed)
{
    uint64_t k0 = (uint64_t)seed;
    uint64_t k1 = (k0 + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    k1 ^= k1 >> 32;
    return (sip){k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                 k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
}

static inline uint64_t rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

CF_FORCED void sip_round(sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 = rotate(s->v2, 32);
}

CF_FORCED void sip_word(sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

/* The hash of a message of `length` bytes; `rest` has its last bytes, below a top byte of zero. */
CF_FORCED uint64_t sip_end(sip *s, uint64_t rest, size_t length)
{
    sip_word(s, rest | (uint64_t)length << 56);
    s->v2 ^= 0xff;
    sip_round(s);
    sip_round(s);
    sip_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* The hash of the word `head`, of `begun` bytes (0 or 1), and n further bytes (NULL if n is 0). */
static CF_NEVER_INLINE uint64_t keyed(int64_t seed, uint64_t head, unsigned begun, const void *bytes,
                                      size_t n)
{
    const uint8_t *at = bytes;
    sip s = sip_begin(seed);
    size_t i = 8 - begun; /* of the n bytes, those in the first word */
    if (n < 8) {
        uint64_t few = 0;
        for (size_t left = n; left-- > 0;)
            few = few << 8 | at[left];
        few = few << 8 * begun | head;
        if (n < i)
            return sip_end(&s, few, n + begun);
        sip_word(&s, few);
        return sip_end(&s, 0, n + begun);
    }
    sip_word(&s, head | cf_load64(at) << 8 * begun);
    for (; i + 8 <= n; i += 8)
        sip_word(&s, cf_load64(at + i));
    /* The remaining bytes are the top ones of the last 8 bytes; a shift by 64 is undefined. */
    return sip_end(&s, cf_load64(at + n - 8) >> 8 >> (56 - 8 * (n - i)), n + begun);
}

uint64_t cf_hash_words_keyed(const cf_geometry *shape, uint64_t first, uint64_t second)
{
    sip s = sip_begin(shape->seed);
    sip_word(&s, first);
    sip_word(&s, second);
    return sip_end(&s, 0, 16);
}

/* ---- XXH3 ---- */

static uint64_t xxh3(int64_t seed, const void *bytes, size_t n)
{
    enum { WORD = 8 }; /* a constant length: a few instructions instead of a call */
    if (n == WORD)
        return XXH3_64bits_withSeed(bytes, WORD, (XXH64_hash_t)seed);
    if (seed == 0)
        return XXH3_64bits(bytes, n);
    return XXH3_64bits_withSeed(bytes, n, (XXH64_hash_t)seed);
}

/* Hashes long input in two pieces; for short input a copy is cheaper than this state. */
static uint64_t xxh3_pieces(int64_t seed, uint8_t first, const void *rest, size_t rest_length)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, (XXH64_hash_t)seed);
    XXH3_64bits_update(&state, &first, 1);
    XXH3_64bits_update(&state, rest, rest_length);
    return XXH3_64bits_digest(&state);
}

/* ---- the hash of a filter ---- */

bool cf_is_keyed(const cf_options *options)
{
    return options->hash == CF_HASH_AUTO ? options->seed != 0 : options->hash == CF_HASH_KEYED;
}

uint64_t cf_hash(const cf_geometry *shape, const void *bytes, size_t n)
{
    return shape->keyed ? keyed(shape->seed, 0, 0, bytes, n) : xxh3(shape->seed, bytes, n);
}

uint64_t cf_hash_prefixed(const cf_geometry *shape, uint8_t first, const void *rest, size_t rest_length)
{
    uint8_t joined[1024];
    if (shape->keyed)
        return keyed(shape->seed, first, 1, rest, rest_length);
    if (rest_length - 8 < 8) /* a copy would be loaded before its stores have completed */
        return cf_xxh3_words((uint64_t)shape->seed, rest_length + 1, first | cf_load64(rest) << 8,
                             cf_load64((const uint8_t *)rest + rest_length - 8));
    if (rest_length >= sizeof joined)
        return xxh3_pieces(shape->seed, first, rest, rest_length);
    joined[0] = first;
    if (rest_length > 0)
        memcpy(joined + 1, rest, rest_length);
    return xxh3(shape->seed, joined, rest_length + 1);
}

uint8_t cf_hash_identity(const cf_geometry *shape)
{
    return shape->keyed ? CF_IDENTITY_KEYED : CF_IDENTITY_XXH3;
}

bool cf_knows_hash(uint8_t identity)
{
    return identity == CF_IDENTITY_XXH3 || identity == CF_IDENTITY_KEYED;
}

uint32_t cf_checksum(const uint8_t *header)
{
    enum { BEFORE_CHECKSUM = 60 };
    return (uint32_t)XXH3_64bits(header, BEFORE_CHECKSUM);
}
