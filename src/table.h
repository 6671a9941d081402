/* SPDX-License-Identifier: MIT */
/*
** table.h - bits of the table: loading them, storing them, and telling the pager of it.
*/
#ifndef CF_TABLE_H
#define CF_TABLE_H

#include <assert.h>

#include "bits.h"
#include "geometry.h"

/* For what follows from the contents of the table. Pages that cannot be provided read as zeros: then
** nothing follows (cf_pages). */
#define CF_ASSERT_CONTENT(filter, condition) assert((filter)->pages != NULL || (condition))

/* The word or slot at bit offset `at` of the table, up to 64 bits, and above them whatever follows.
** None needs a ninth byte (lanes.c). Reads at most 8 bytes beyond the table (CF_RESERVED_MIN). */
static inline uint64_t cf_load_bits(const uint8_t *table, uint64_t at)
{
    return cf_load64(table + (at >> 3)) >> (at & 7);
}

/* Tells of bytes of the blob that are going to be read, or changed. */
static inline void cf_need(const cf_filter *filter, uint64_t from, uint64_t to)
{
    if (filter->pages)
        filter->pages->need(filter->pages->context, from, to);
}

static inline void cf_change(const cf_filter *filter, uint64_t from, uint64_t to)
{
    if (filter->pages)
        filter->pages->change(filter->pages->context, from, to);
}

/* The same for bits of the table. */
static inline void cf_need_bits(const cf_filter *filter, uint64_t at, uint64_t bits)
{
    cf_need(filter, CF_HEADER_BYTES + (at >> 3), CF_HEADER_BYTES + ((at + bits + 7) >> 3));
}

static inline void cf_change_bits(const cf_filter *filter, uint64_t at, uint64_t bits)
{
    cf_change(filter, CF_HEADER_BYTES + (at >> 3), CF_HEADER_BYTES + ((at + bits + 7) >> 3));
}

/* So many bits lie within the 8 bytes they start in, wherever that is. */
enum { CF_STORE_BITS = 57 };

/* Overwrites the bits under `mask` at bit offset `at`. The mask is low bits, one at least, that lie
** within the 8 bytes they start in. */
static inline void cf_store_bits(cf_filter *filter, uint64_t at, uint64_t mask, uint64_t bits)
{
    assert(filter->view.writable != NULL);
    uint8_t *p = filter->view.writable + (at >> 3);
    unsigned shift = at & 7;
    assert(mask != 0 && mask << shift >> shift == mask && (bits & ~mask) == 0);
    if (CF_UNLIKELY(filter->pages != NULL))
        cf_change_bits(filter, at, cf_floor_log2(mask) + 1);
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | (bits << shift));
}

#endif
