/* SPDX-License-Identifier: MIT */
/*
** lanes.h - several slots compared at once.
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

#include "table.h"

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
