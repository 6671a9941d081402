/* SPDX-License-Identifier: MIT */
/*
** hash.h - the one hash of the house: XXH3, 64 bits.
**
** Every key and every header checksum goes through here. The value is an integer, equal on every
** machine; "hash identity 1" in the blob header means exactly these functions.
*/
#ifndef CF_HASH_H
#define CF_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The hash of n key bytes. Seed 0 means the unseeded XXH3, which is about five times cheaper on
** short keys than the seeded one; any other seed means XXH3 with that seed. */
uint64_t cf_hash(const void *bytes, size_t n, int64_t seed);

/* The hash of the 16 bytes of two integers, each least significant byte first. */
uint64_t cf_hash_words(uint64_t first, uint64_t second, int64_t seed);

/* The hash of the n bytes that start with `first` and go on with the n-1 at `rest`: what cf_hash
** would say of them side by side. */
uint64_t cf_hash_prefixed(uint8_t first, const void *rest, size_t rest_length, int64_t seed);

#ifdef __cplusplus
}
#endif

#endif
