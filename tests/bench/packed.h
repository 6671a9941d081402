/* SPDX-License-Identifier: MIT */
/*
** packed.h - a table of cells of a few bits, without gaps, for the filters that ours are compared
** with.
*/
#ifndef CF_BENCH_PACKED_H
#define CF_BENCH_PACKED_H

#include "../../src/base/bits.h"
#include "touch.h"

enum {
    PACKED_SPARE = 8
}; /* bytes behind the last cell, so that every cell can be read as part of a word */

/* Cell number `index` of cells of `width` bits, up to 57. */
static inline uint64_t packed_get(const uint8_t *table, unsigned width, uint64_t index)
{
    uint64_t at = index * width;
    bench_touch(table + (at >> 3), sizeof at);
    return cf_load64(table + (at >> 3)) >> (at & 7) & cf_low_bits(width);
}

static inline void packed_set(uint8_t *table, unsigned width, uint64_t index, uint64_t cell)
{
    uint64_t at = index * width;
    uint8_t *word = table + (at >> 3);
    uint64_t others = cf_load64(word) & ~(cf_low_bits(width) << (at & 7));
    cf_store64(word, others | cell << (at & 7));
}

#endif
