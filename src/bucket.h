/*
** bucket.h - one bucket record: reading, matching and writing its slots.
**
**      [ tag 0 ][ tag 1 ] ... [ tag b-1 ][ payload 0 ] ... [ payload b-1 ]         bit-packed
**
** A slot holds 0 when it is empty. Before the first growth it holds a fingerprint, all f bits. From then on
** entries know different numbers of bits, and the highest bit set is a terminator:
**
**      0 .. 0   1   remainder bits behind the extension   pair bits
**               ^ terminator
**
** A slot without terminator, which only hostile bytes have, reads as one that knows no remainder bits. A payload
** is the number of further copies of the entry, or a value; 0 in an empty slot.
**
** The tags of a bucket are read as words of up to 64 bits, each holding 1, 2, 4 or 8 whole slots (lanes), and all
** the lanes of a word are compared at once:
**
**      word     [ tag 3 ][ tag 2 ][ tag 1 ][ tag 0 ]
**      wanted   [   t   ][   t   ][   t   ][   t   ]   = t * ones
**      XOR      a lane is zero exactly where the tag is t
**
** With terminators, an entry matches when it agrees with t below its terminator: when the lowest bit of the XOR
** is not below its highest bit. Nothing here can fail; buckets and slots are in range.
*/
#ifndef CF_BUCKET_H
#define CF_BUCKET_H

#include "address.h"

/* Constants for slots of `width` bits in buckets of b, which are `bucket_bits` apart. */
void cf_lanes_set(cf_lanes *lanes, unsigned width, unsigned b, uint64_t bucket_bits);

/* ---- words and lanes ---- */

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

/* The top bit of every lane whose entry, with terminator, agrees with `tag` in all the bits it knows. */
static inline uint64_t cf_agreeing_lanes(const cf_filter *filter, uint64_t word, uint64_t tag)
{
    const cf_lanes *lanes = &filter->lanes;
    uint64_t x = (word ^ (tag * lanes->ones)) | lanes->highs; /* no lane is zero: no borrow below */
    uint64_t up_to_difference = x ^ (x - lanes->ones);
    uint64_t least_terminators = lanes->ones << filter->geometry.pair_bits;
    uint64_t beyond = (word | least_terminators) & ~up_to_difference;
    return cf_zero_lanes(lanes, beyond) & ~cf_zero_lanes(lanes, word);
}

/* The top bit of every lane of a word that matches a tag. */
static inline uint64_t cf_matching_lanes(const cf_filter *filter, uint64_t word, uint64_t tag)
{
    if (filter->grown)
        return cf_agreeing_lanes(filter, word, tag);
    return cf_zero_lanes(&filter->lanes, word ^ (tag * filter->lanes.ones));
}

/* The slot of the lowest lane in a set of lanes of word `index`; the set is not empty. */
static inline unsigned cf_first_slot(const cf_lanes *lanes, uint64_t set, unsigned index)
{
    return index * lanes->count + (unsigned)__builtin_ctzll(set) / lanes->width;
}

/* The first empty slot of a bucket, or -1. */
static inline int cf_bucket_free_slot(const cf_filter *filter, uint64_t bucket)
{
    for (unsigned i = 0; i < filter->lanes.words; i++) {
        uint64_t empty = cf_zero_lanes(&filter->lanes, cf_word(filter, bucket, i));
        if (empty != 0)
            return (int)cf_first_slot(&filter->lanes, empty, i);
    }
    return -1;
}

/* ---- slots ---- */

static inline uint64_t cf_slot_at(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    return bucket * filter->bucket_bits + (uint64_t)slot * filter->lanes.width;
}

static inline uint64_t cf_slot_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    return cf_load_bits(filter->table, cf_slot_at(filter, bucket, slot)) & filter->slot_mask;
}

static inline uint64_t cf_payload_at(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    uint64_t tags = (uint64_t)filter->geometry.bucket_size * filter->lanes.width;
    return bucket * filter->bucket_bits + tags + (uint64_t)slot * filter->payload_bits;
}

static inline uint64_t cf_payload_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    if (filter->payload_bits == 0)
        return 0;
    uint64_t bits = cf_load_bits(filter->table, cf_payload_at(filter, bucket, slot));
    return bits & cf_low_bits(filter->payload_bits);
}

/* Overwrites the bits under `mask` at bit offset `at`. They are at most 57, so that they lie within the 8 bytes they
** start in. */
static inline void cf_store_bits(uint8_t *table, uint64_t at, uint64_t mask, uint64_t bits)
{
    uint8_t *p = table + (at >> 3);
    unsigned shift = at & 7;
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | (bits << shift));
}

static inline void cf_payload_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t payload)
{
    if (filter->payload_bits != 0)
        cf_store_bits(filter->writable, cf_payload_at(filter, bucket, slot),
                      cf_low_bits(filter->payload_bits), payload);
}

static inline void cf_slot_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                               uint64_t payload)
{
    cf_store_bits(filter->writable, cf_slot_at(filter, bucket, slot), filter->slot_mask, tag);
    cf_payload_set(filter, bucket, slot, payload);
}

/* ---- entries ---- */

/* Bits that a slot with a terminator knows, pair bits included; the slot is not empty. */
static inline unsigned cf_terminator(const cf_filter *filter, uint64_t tag)
{
    return cf_floor_log2(tag | (uint64_t)1 << filter->geometry.pair_bits);
}

/* What a slot of the bucket at `home` says, seen from that side. The slot is not empty. */
static inline cf_side cf_side_of(const cf_filter *filter, cf_home home, uint64_t tag)
{
    unsigned s = filter->geometry.pair_bits;
    if (!filter->grown)
        return (cf_side){home.base, tag, filter->geometry.fingerprint_bits - s};
    unsigned known = cf_terminator(filter, tag);
    uint64_t behind = (tag & cf_low_bits(known)) >> s;
    return (cf_side){home.base, (tag & filter->pair_mask) | (behind << home.bits | home.extension) << s,
                     home.bits + known - s};
}

/* What a slot at `place` has to hold to say the first `length` remainder bits of a side: its extension's at
** least. Bits that do not fit are forgotten. */
static inline uint64_t cf_tag_of(const cf_filter *filter, cf_place place, unsigned length)
{
    if (!filter->grown)
        return place.tag;
    unsigned known = filter->geometry.pair_bits + length - place.extension;
    if (known >= filter->lanes.width)
        known = filter->lanes.width - 1;
    return (place.tag & cf_low_bits(known)) | (uint64_t)1 << known;
}

#endif
