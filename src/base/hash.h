/* SPDX-License-Identifier: MIT */
/*
** hash.h - from the bytes of a key to its hash: an integer, equal on every machine. How keys are hashed
** (cf_hash_choice), and under which seed, is part of the shape of a filter.
**
** XXH3       XXH3 with 64 bits, hash identity 1, seeded unless the seed is 0: that is cheaper on short
**            keys. The seed is no secret: some pairs of keys of 31 bytes share their hash under one seed
**            in a thousand, and whoever chooses keys can make many of them.
** keyed      SipHash-1-3 (hash.c), hash identity 2. Its key of 128 bits is made of the seed: the
**            first 64 bits are the seed, the other ones are (x ^ x >> 32) with
**            x = (seed + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9, modulo 2^64.
**
** Whoever does not know the seed of a keyed hash cannot choose keys that share a bucket or a fingerprint
** more often than by chance. Finding a seed takes some 2^63 trials, or 2^63 / n for one of n filters,
** and the hashes or answers to try them on. Everybody knows seed 0.
*/
#ifndef CF_HASH_H
#define CF_HASH_H

#include "../include/cuckoo_inline.h"
#include "../include/cuckoo_plan.h"

/* What comes first in the canonical bytes of an SQL value (cuckoo_key.h): keys of different types
** differ. Numbers are hashed by cf_hash_words, others by cf_hash_prefixed. */
enum { CF_KEY_INTEGER = 1, CF_KEY_REAL = 2, CF_KEY_TEXT = 3, CF_KEY_BLOB = 4 };

/* The hash of n key bytes: cf_hash(&filter.geometry, key, n). Of the shape `seed` and `keyed` count. */
uint64_t cf_hash(const cf_geometry *shape, const void *bytes, size_t n);

/* XXH3 of 9 to 16 bytes: the first eight and the last eight, which may overlap. */
CF_INLINE uint64_t cf_xxh3_words(uint64_t seed, uint64_t n, uint64_t first, uint64_t last)
{
    uint64_t one = first ^ (UINT64_C(0x6782737bea4239b9) + seed);
    uint64_t two = last ^ (UINT64_C(0xaf56bc3b0996523a) - seed);
    uint64_t x = n + cf_swapped(one) + two + (one * two ^ cf_high_product(one, two));
    x = (x ^ x >> 37) * UINT64_C(0x165667919e3779f9);
    return x ^ x >> 32;
}

/* The hash of the 16 bytes of two integers, each least significant byte first. */
uint64_t cf_hash_words_keyed(const cf_geometry *shape, uint64_t first, uint64_t second);
CF_INLINE uint64_t cf_hash_words(const cf_geometry *shape, uint64_t first, uint64_t second)
{
    uint64_t seed;
    memcpy(&seed, &shape->seed, sizeof seed);
    return shape->keyed ? cf_hash_words_keyed(shape, first, second)
                        : cf_xxh3_words(seed, 16, first, second);
}

/* The hash of the byte `first` and those at `rest` behind it: as cf_hash of them side by side. */
uint64_t cf_hash_prefixed(const cf_geometry *shape, uint8_t first, const void *rest, size_t rest_length);

/* Hash identities, in headers of filters and of key lists: the low half of a byte that has the
** cf_key_types above. */
enum { CF_IDENTITY_XXH3 = 1, CF_IDENTITY_KEYED = 2, CF_HASH_MASK = 15, CF_TYPES_SHIFT = 4 };

CF_INLINE uint8_t cf_hash_identity(const cf_geometry *shape)
{
    return shape->keyed ? CF_IDENTITY_KEYED : CF_IDENTITY_XXH3;
}

CF_INLINE bool cf_knows_hash(uint8_t identity)
{
    return identity == CF_IDENTITY_XXH3 || identity == CF_IDENTITY_KEYED;
}

/* The checksum of a header: the low 32 bits of the unseeded XXH3 of its first 60 bytes. */
uint32_t cf_checksum(const uint8_t *header);

/* Is the hash of filters made with these options the keyed one? */
bool cf_is_keyed(const cf_options *options);

#endif
