/*
** bucket.h - one bucket record: reading, matching and writing its slots.
**
** The slots of a bucket stand side by side, bit-packed. They are read as words of up to 64 bits, each
** holding 1, 2, 4 or 8 whole slots (lanes), and all the lanes of a word are compared at once:
**
**      word     [ tag 3 ][ tag 2 ][ tag 1 ][ tag 0 ]
**      wanted   [   t   ][   t   ][   t   ][   t   ]   = t * ones
**      XOR      a lane is zero exactly where the tag is t
**
** A search for tag 0 finds the empty slots. Nothing here can fail; buckets and slots are in range.
*/
#ifndef CF_BUCKET_H
#define CF_BUCKET_H

#include "bits.h"
#include "cuckoo_filter.h"

/* Constants for slots of `width` bits in buckets of b. */
void cf_lanes_set(cf_lanes *lanes, unsigned width, unsigned b);

/* The word or slot at bit offset `at` of the table, up to 64 bits, and above them whatever follows. None
** needs a ninth byte (bucket.c). Reads at most 8 bytes beyond the table (CF_RESERVED_MIN). */
static inline uint64_t cf_load_bits(const uint8_t *table, uint64_t at)
{
    return cf_load64(table + (at >> 3)) >> (at & 7);
}

/* Word number `index` of a bucket. */
static inline uint64_t cf_word(const cf_filter *filter, uint64_t bucket, unsigned index)
{
    uint64_t bits = (uint64_t)index * filter->lanes.width * filter->lanes.count;
    return cf_load_bits(filter->table, bucket * filter->bucket_bits + bits);
}

/* Is any lane of x zero? Bits above the lanes do not count. Exact: a borrow starts at a zero lane
** only. */
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

/* How many slots of the bucket hold `tag`? */
static inline unsigned cf_bucket_count(const cf_filter *filter, cf_side want)
{
    unsigned found = 0;
    for (unsigned i = 0; i < filter->lanes.words; i++) {
        uint64_t x = cf_word(filter, want.bucket, i) ^ (want.tag * filter->lanes.ones);
        for (uint64_t zero = cf_zero_lanes(&filter->lanes, x); zero != 0; zero &= zero - 1)
            found++;
    }
    return found;
}

/* The first slot of the bucket that holds `tag`, or -1. */
static inline int cf_bucket_find(const cf_filter *filter, cf_side want)
{
    for (unsigned i = 0; i < filter->lanes.words; i++) {
        uint64_t x = cf_word(filter, want.bucket, i) ^ (want.tag * filter->lanes.ones);
        uint64_t zero = cf_zero_lanes(&filter->lanes, x);
        if (zero != 0)
            return (int)(i * filter->lanes.count +
                         (unsigned)__builtin_ctzll(zero) / filter->lanes.width);
    }
    return -1;
}

/* The first empty slot of a bucket, or -1. */
static inline int cf_bucket_free_slot(const cf_filter *filter, uint64_t bucket)
{
    return cf_bucket_find(filter, (cf_side){bucket, 0});
}

static inline uint64_t cf_slot_at(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    return bucket * filter->bucket_bits + (uint64_t)slot * filter->lanes.width;
}

static inline uint64_t cf_slot_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    return cf_load_bits(filter->table, cf_slot_at(filter, bucket, slot)) & filter->tag_mask;
}

/* Slots are at most 57 bits wide, so that one of them lies within the 8 bytes it starts in. */
static inline void cf_slot_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag)
{
    uint64_t at = cf_slot_at(filter, bucket, slot);
    uint8_t *p = filter->writable + (at >> 3);
    unsigned shift = at & 7;
    uint64_t others = cf_load64(p) & ~(filter->tag_mask << shift);
    cf_store64(p, others | (tag << shift));
}

#endif
