/* SPDX-License-Identifier: MIT */
#include "hash.h"

#include "bits.h"
#include "siphash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- keyed ---- */

static cf_sip begin_keyed(int64_t seed)
{
    uint64_t k0 = (uint64_t)seed;
    uint64_t k1 = (k0 + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    return cf_sip_begin(k0, k1 ^ k1 >> 32);
}

/* Of n bytes behind `begun` bytes, 0 or 1, in the word `head`. */
static CF_NEVER_INLINE uint64_t keyed(int64_t seed, uint64_t head, unsigned begun, const void *bytes,
                                      size_t n)
{
    cf_sip state = begin_keyed(seed);
    return cf_sip_bytes(&state, head, begun, bytes, n);
}

uint64_t cf_hash_words_keyed(const cf_geometry *shape, uint64_t first, uint64_t second)
{
    cf_sip state = begin_keyed(shape->seed);
    cf_sip_word(&state, first);
    cf_sip_word(&state, second);
    return cf_sip_end(&state, 0, 16);
}

/* ---- XXH3 ---- */

static uint64_t xxh3(int64_t seed, const void *bytes, size_t n)
{
    enum { WORD = 8 }; /* of known length: a few instructions, no call */
    if (n == WORD)
        return XXH3_64bits_withSeed(bytes, WORD, (XXH64_hash_t)seed);
    if (seed == 0)
        return XXH3_64bits(bytes, n);
    return XXH3_64bits_withSeed(bytes, n, (XXH64_hash_t)seed);
}

/* Long input is fed in two pieces; the state costs more than a copy of a short one would. */
static uint64_t xxh3_pieces(int64_t seed, uint8_t first, const void *rest, size_t rest_length)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, (XXH64_hash_t)seed);
    XXH3_64bits_update(&state, &first, 1);
    XXH3_64bits_update(&state, rest, rest_length);
    return XXH3_64bits_digest(&state);
}

/* ---- by the shape of the filter ---- */

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
    if (rest_length - 8 < 8) /* a copy of them side by side would be read before it has been written */
        return cf_xxh3_words((uint64_t)shape->seed, rest_length + 1, first | cf_load64(rest) << 8,
                             cf_load64((const uint8_t *)rest + rest_length - 8));
    if (rest_length >= sizeof joined)
        return xxh3_pieces(shape->seed, first, rest, rest_length);
    joined[0] = first;
    if (rest_length > 0)
        memcpy(joined + 1, rest, rest_length);
    return xxh3(shape->seed, joined, rest_length + 1);
}

uint32_t cf_checksum(const uint8_t *header)
{
    enum { BEFORE_CHECKSUM = 60 };
    return (uint32_t)XXH3_64bits(header, BEFORE_CHECKSUM);
}
