/* SPDX-License-Identifier: MIT */
/*
** lanes.h - bits of the table: loading them, storing them, telling the pager of it; and several slots
** compared at once.
**
** A word is up to 64 bits of a bucket that hold 1, 2, 4 or 8 whole slots (lanes), and all the lanes
** of a word are compared at once:
**
**      word     [ tag 3 ][ tag 2 ][ tag 1 ][ tag 0 ]
**      wanted   [   t   ][   t   ][   t   ][   t   ]   = t * ones
**      XOR      a lane is zero exactly where the tag is t
**
** With terminators (bucket.h), an entry matches when it agrees with t below its terminator: when
** the lowest bit of the XOR is not below its highest bit. Nothing here can fail.
*/
#ifndef CF_LANES_H
#define CF_LANES_H

#include "../base/bits.h"
#include "../shape/geometry.h"

/* ---- bits of the table ---- */

/* For what follows from the contents of the table. Pages that cannot be provided read as zeros: then
** nothing follows (cf_pages). */
#define CF_ASSERT_CONTENT(filter, condition) assert((filter)->pages != NULL || (condition))

/* The word or slot at bit offset `at` of the table, up to 64 bits, and above them whatever follows.
** None needs a ninth byte (lanes.c). Reads at most 8 bytes beyond the table (CF_RESERVED_MIN). */
static inline uint64_t cf_load_bits(const uint8_t *table, uint64_t at)
{
    return cf_load64(table + (at >> 3)) >> (at & 7);
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
** within the 8 bytes they start in. The pager has been told (cf_change_bits). */
static inline void cf_store_bits(uint8_t *table, uint64_t at, uint64_t mask, uint64_t bits)
{
    uint8_t *p = table + (at >> 3);
    unsigned shift = at & 7;
    assert(mask != 0 && mask << shift >> shift == mask && (bits & ~mask) == 0);
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | (bits << shift));
}

/* ---- lanes ---- */

/* Constants for slots of `width` bits in buckets of b, which are `bucket_bits` apart; `pair_bits`
** of a slot are below the lowest terminator. */
void cf_lanes_set(cf_lanes *lanes, unsigned width, unsigned b, uint64_t bucket_bits, unsigned pair_bits);

/* Do `bits` bits at the start of a bucket lie within the 8 bytes in which they start, in every
** bucket? */
bool cf_fits_word(uint64_t bucket_bits, unsigned bits);

/* Constants for `count` lanes of `width` bits to a word. */
void cf_lanes_fill(cf_lanes *lanes, unsigned width, unsigned count, unsigned words, unsigned pair_bits);

/* Is any lane of x zero? Bits above the lanes do not count. Exact: a borrow starts at a zero lane
** only. The lowest lane set is zero; lanes of two bits or more that are zero are all set, others
** may be, too. */
static inline uint64_t cf_any_zero_lane(const cf_lanes *lanes, uint64_t x)
{
    return (x - lanes->ones) & ~x & lanes->highs;
}

/* The top bit of every lane of x that is zero. */
static inline uint64_t cf_zero_lanes(const cf_lanes *lanes, uint64_t x)
{
    uint64_t rest = lanes->highs - lanes->ones; /* each lane: all ones but the top bit */
    return ~(((x & rest) + rest) | x) & lanes->highs;
}

/* The top bit of every lane that is empty, or whose entry, with terminator, agrees with `tag` in
** all the bits it knows. */
static inline uint64_t cf_compatible_lanes(const cf_lanes *lanes, uint64_t word, uint64_t tag)
{
    uint64_t x = (word ^ (tag * lanes->ones)) | lanes->highs; /* no lane is zero: no borrow below */
    uint64_t up_to_difference = x ^ (x - lanes->ones);
    uint64_t beyond = (word | lanes->terminators) & ~up_to_difference;
    return cf_zero_lanes(lanes, beyond);
}

/* The same without those that are empty. */
static inline uint64_t cf_agreeing_lanes(const cf_lanes *lanes, uint64_t word, uint64_t tag)
{
    return cf_compatible_lanes(lanes, word, tag) & ~cf_zero_lanes(lanes, word);
}

/* The slot of the lowest lane in a set of lanes of word `index`; the set is not empty. */
static inline unsigned cf_first_slot(const cf_lanes *lanes, uint64_t set, unsigned index)
{
    assert(set != 0 && index < lanes->words);
    return index * lanes->count + cf_lowest_bit(set) / lanes->width;
}

#endif
