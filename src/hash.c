/* SPDX-License-Identifier: MIT */
#include "hash.h"

#include "bits.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t cf_hash(const void *bytes, size_t n, int64_t seed)
{
    if (seed == 0)
        return XXH3_64bits(bytes, n);
    return XXH3_64bits_withSeed(bytes, n, (XXH64_hash_t)seed);
}

uint64_t cf_hash_words(uint64_t first, uint64_t second, int64_t seed)
{
    uint8_t bytes[16]; /* of known length: the compiler keeps them in registers */
    cf_store64(bytes, first);
    cf_store64(bytes + 8, second);
    return XXH3_64bits_withSeed(bytes, sizeof bytes, (XXH64_hash_t)seed);
}

/* Long input is fed in two pieces; the state costs more than a copy of a short one would. */
static uint64_t hash_pieces(uint8_t first, const void *rest, size_t rest_length, int64_t seed)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, (XXH64_hash_t)seed);
    XXH3_64bits_update(&state, &first, 1);
    XXH3_64bits_update(&state, rest, rest_length);
    return XXH3_64bits_digest(&state);
}

uint64_t cf_hash_prefixed(uint8_t first, const void *rest, size_t rest_length, int64_t seed)
{
    uint8_t joined[1024];
    if (rest_length >= sizeof joined)
        return hash_pieces(first, rest, rest_length, seed);
    joined[0] = first;
    if (rest_length > 0)
        memcpy(joined + 1, rest, rest_length);
    return cf_hash(joined, rest_length + 1, seed);
}
