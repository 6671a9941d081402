/*
** semisort.h - buckets of four slots, one bit per slot smaller (paper, section 5.2).
**
**      [ code, 12 bits ][ top 0 ][ top 1 ][ top 2 ][ top 3 ] [ overflow ] [ payload 0 ] ... [ payload 3 ]
**
** The order of the slots of a bucket says nothing, so they are sorted by their low nibbles. Four sorted nibbles can be
** one of 3,876 values: 12 bits, instead of 16, number them. The other bits of each slot, its top, follow in
** that order; slots of equal nibbles are sorted by their tops, then by their payloads, so that equal contents are
** equal bytes. An empty slot is 0, as everywhere, and so comes first. The nibble is part of the pair bits, and a
** terminator is always in the top.
**
** Writing a slot may thus change the number of the others in its bucket. Codes from 3,876 on, which only hostile bytes
** have, read as four nibbles of zero.
**
** Reading: the tops are lanes of their own. Where no top agrees with what is wanted, which is the rule for keys that
** are not there, nothing more is read. Else the code is decoded by a table of 8 KB, and tops and nibbles are put together
** to the word that a plain bucket would have.
*/
#ifndef CF_SEMISORT_H
#define CF_SEMISORT_H

#include "lanes.h"

enum {
    CF_NIBBLE_BITS = 4,
    CF_CODE_BITS = 12,
    CF_SEMISORT_SLOTS = 4,
    CF_SEMISORT_SAVES = CF_NIBBLE_BITS * CF_SEMISORT_SLOTS - CF_CODE_BITS /* bits per bucket */
};

/* By code: the sorted nibbles, the least in the lowest bits. */
extern const uint16_t cf_semisort_nibbles[1 << CF_CODE_BITS];

/* The code of four sorted nibbles. */
unsigned cf_semisort_code(unsigned nibbles);

/* Constants for slots of `width` bits: whole ones, and their tops. */
void cf_semisort_lanes_set(cf_lanes *lanes, cf_lanes *tops, unsigned width, unsigned pair_bits);

/* The four nibbles of the bucket whose record starts at bit `at`. */
static inline uint64_t cf_nibbles_at(const cf_filter *filter, uint64_t at)
{
    return cf_semisort_nibbles[cf_load_bits(filter->table, at) & cf_low_bits(CF_CODE_BITS)];
}

/* The tops of word `index`, and above them whatever follows. */
static inline uint64_t cf_tops_at(const cf_filter *filter, uint64_t at, unsigned index)
{
    uint64_t before = (uint64_t)index * filter->tops.width * filter->tops.count;
    return cf_load_bits(filter->table, at + CF_CODE_BITS + before);
}

/* Moves up to four lanes of `width` bits apart, so that `more` zero bits are above each. */
static inline uint64_t cf_spread(uint64_t x, unsigned count, unsigned width, unsigned more)
{
    uint64_t lane = cf_low_bits(width), two = cf_low_bits(2 * width);
    if (count == 4)
        x = (x & two) | (x >> 2 * width & two) << 2 * (width + more);
    else if (count == 1)
        return x & lane;
    uint64_t even = lane | (count == 4 ? lane << 2 * (width + more) : 0);
    return (x & even) | (x & even << width) << more;
}

/* Word `index` as a plain bucket would have it. */
static inline uint64_t cf_semisort_word(const cf_filter *filter, uint64_t at, unsigned index)
{
    unsigned count = filter->lanes.count, top = filter->tops.width;
    uint64_t nibbles = cf_nibbles_at(filter, at) >> index * count * CF_NIBBLE_BITS;
    uint64_t tops = cf_tops_at(filter, at, index);
    return cf_spread(tops, count, top, CF_NIBBLE_BITS) << CF_NIBBLE_BITS |
           cf_spread(nibbles, count, CF_NIBBLE_BITS, top);
}

/* The tag in a slot. */
static inline uint64_t cf_semisort_tag(const cf_filter *filter, uint64_t at, unsigned slot)
{
    unsigned top = filter->tops.width;
    uint64_t nibble = cf_nibbles_at(filter, at) >> slot * CF_NIBBLE_BITS & cf_low_bits(CF_NIBBLE_BITS);
    uint64_t bits = cf_load_bits(filter->table, at + CF_CODE_BITS + (uint64_t)slot * top);
    return (bits & cf_low_bits(top)) << CF_NIBBLE_BITS | nibble;
}

/* Can a key with this tag be in the bucket, by what the tops say? Without terminators; with them. */
static inline uint64_t cf_tops_allow(const cf_filter *filter, uint64_t at, uint64_t tag)
{
    uint64_t tops = cf_tops_at(filter, at, 0);
    return cf_any_zero_lane(&filter->tops, tops ^ ((tag >> CF_NIBBLE_BITS) * filter->tops.ones));
}

static inline uint64_t cf_grown_tops_allow(const cf_filter *filter, uint64_t at, uint64_t tag)
{
    return cf_compatible_lanes(&filter->tops, cf_tops_at(filter, at, 0), tag >> CF_NIBBLE_BITS);
}

/* Is this bucket one that cf_semisort_write writes? Ties broken by payloads are not looked at. */
bool cf_semisort_in_order(const cf_filter *filter, uint64_t at);

/* Sorts four slots and writes them at bit `at` of the writable table; with `payload_bits`, sorts the payloads with
** them, but writes none. */
void cf_semisort_write(cf_filter *filter, uint64_t at, uint64_t *tag, uint64_t *payload);

#endif
