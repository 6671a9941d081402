/* SPDX-License-Identifier: MIT */
/*
** chain.h - filters that grow by adding one more: a chain of cuckoo filters, as RedisBloom and
** others have them, to compare our growth with.
**
** Each part is a cuckoo filter as published, with a power of two of buckets, and has twice as many as
** the one before. A key goes to a free slot of any part, the newest first; when there is none, it
** makes room in the newest by a random walk; when that fails, which changes nothing, a new part is
** made. Lookups ask all parts.
**
** Fingerprints are the low bits of the hash.
*/
#ifndef CF_BENCH_CHAIN_H
#define CF_BENCH_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

enum { CHAIN_PARTS = 40 };

typedef struct chain_part {
    unsigned log2_buckets, f;
    uint32_t *tag; /* 0: empty */
} chain_part;

typedef struct chain {
    unsigned b, kicks;
    unsigned
        tighten; /* bits by which the fingerprints of a part are longer than those of the one before */
    unsigned parts;
    uint64_t draws;
    uint64_t looked; /* at so many buckets, in lookups */
    chain_part part[CHAIN_PARTS];
} chain;

/* The first part has so many buckets, and fingerprints of f bits. */
chain *chain_make(unsigned log2_buckets, unsigned b, unsigned f, unsigned kicks, unsigned tighten);

void chain_drop(chain *of);

uint64_t chain_bits(const chain *of);

void chain_add(chain *of, uint64_t hash);

bool chain_contains(chain *of, uint64_t hash);

#endif
