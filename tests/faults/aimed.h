/* SPDX-License-Identifier: MIT */
/*
** aimed.h - numbers that all go to one pair of buckets, of a filter with
**
**      capacity=8, seed=0, fingerprint_bits=24
**
** They agree in base bucket, pair bits and the first remainder bits, so that splitting buckets does
** not part them. A filter that may grow soon has no place for them, and they wait in its shadow
** table.
*/
#ifndef AIMED_H
#define AIMED_H

#include "../../src/base/hash.h"

#include <stdint.h>

/* The first such number from `i` on. */
static inline int64_t aimed_from(int64_t i)
{
    enum { BASE_BITS = 3, AGREE = 14 /* 6 pair bits, 8 remainder bits */, INTEGER = 1 };
    const uint64_t agree = (1 << AGREE) - 1;
    for (;; i++) {
        uint64_t hash = cf_hash_words(&(cf_geometry){.seed = 0}, INTEGER, (uint64_t)i);
        if (hash >> (64 - BASE_BITS) == 5 && (hash & agree) == 7777)
            return i;
    }
}

#endif
