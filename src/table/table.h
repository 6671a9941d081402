/* SPDX-License-Identifier: MIT */
/*
** table.h - bits of the table: loading them, storing them, telling the pager of it.
*/
#ifndef CF_TABLE_H
#define CF_TABLE_H

#include "../base/bits.h"
#include "../shape/geometry.h"

/* For what follows from the contents of the table. Pages that cannot be provided read as zeros: then
** nothing follows (cf_pages). */
#define CF_ASSERT_CONTENT(filter, condition) assert((filter)->pages != NULL || (condition))

/* The table, to be changed: view.table is for reading. */
static inline uint8_t *cf_writable_table(const cf_filter *filter)
{
    return filter->writable + CF_HEADER_BYTES;
}

/* The bits from bit `at` of the table on: 57 at least, and more where `at` is early in a byte. Reads at
** most 8 bytes beyond the table (CF_RESERVED_MIN). */
static inline uint64_t cf_load_bits(const uint8_t *table, uint64_t at)
{
    return cf_load64(table + (at >> 3)) >> (at & 7);
}

/* Overwrites the bits under `mask` at bit `at`. The mask is low bits, one at least, that lie within the
** 8 bytes they start in: 57 of them do, wherever that is. The pager has been told (cf_tell_change). */
static inline void cf_store_bits(uint8_t *table, uint64_t at, uint64_t mask, uint64_t bits)
{
    uint8_t *p = table + (at >> 3);
    unsigned shift = at & 7;
    assert(mask != 0 && mask << shift >> shift == mask && (bits & ~mask) == 0);
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | (bits << shift));
}

/* Tells the pager of bytes of the blob that are going to be read, or changed. */
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

#endif
