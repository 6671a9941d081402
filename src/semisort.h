/*
** semisort.h - buckets of four slots, one bit per slot smaller (paper, section 5.2).
**
**      [ code, 12 bits ][ top 0 ][ top 1 ][ top 2 ][ top 3 ][ overflow ][ payload 0 ] .. [ payload 3 ]
**
** The order of the slots of a bucket says nothing, so they are sorted by their low nibbles. Four
** sorted nibbles can be one of 3,876 values: 12 bits, instead of 16, number them. The other bits of
** each slot, its top, follow in that order; slots of equal nibbles are sorted by their tops, then
** by their payloads, so that equal contents are equal bytes. An empty slot is 0, as everywhere, and
** so comes first. The nibble is part of the pair bits, and a terminator is always in the top.
**
** Writing a slot may thus change the number of the others in its bucket. Codes from 3,876 on, which
** only hostile bytes have, read as four nibbles of zero.
**
** Reading: the tops are lanes of their own. Where no top agrees with what is wanted, which is the
** rule for keys that are not there, nothing more is read. Else the code is decoded by a table of 8
** KB, and tops and nibbles are put together to the word that a plain bucket would have.
*/
#ifndef CF_SEMISORT_H
#define CF_SEMISORT_H

#include "lanes.h"

enum { CF_NIBBLE_BITS = 4, CF_CODE_BITS = 12, CF_SEMISORT_SLOTS = 4 };
_Static_assert(CF_SEMISORT_SAVES == CF_NIBBLE_BITS * CF_SEMISORT_SLOTS - CF_CODE_BITS,
               "what a code saves");

/* Bit n is in lane n * lane_of >> CF_LANE_OF_SHIFT: a division by the width of lanes, for bits of a
** word. */
enum { CF_LANE_OF_SHIFT = 16 };

/* By code: the sorted nibbles, the least in the lowest bits. */
extern const uint16_t cf_semisort_nibbles[1 << CF_CODE_BITS];

/* The code of four sorted nibbles. */
unsigned cf_semisort_code(unsigned nibbles);

/* The constants of a view for slots of `width` bits. */
void cf_semisort_lanes_set(cf_filter *filter, unsigned width);

/* The four nibbles of the bucket whose record starts at bit `at`. */
static inline uint64_t cf_nibbles_at(const cf_filter *filter, uint64_t at)
{
    return cf_semisort_nibbles[cf_load_bits(filter->view.table, at) & cf_low_bits(CF_CODE_BITS)];
}

/* The tops of word `index`, and above them whatever follows. */
static inline uint64_t cf_tops_at(const cf_filter *filter, uint64_t at, unsigned index)
{
    uint64_t before = (uint64_t)index * filter->view.tops.width * filter->view.tops.count;
    return cf_load_bits(filter->view.table, at + CF_CODE_BITS + before);
}

/* Moves lanes apart, and drops what is above them. */
static inline uint64_t cf_spread_lanes(const cf_spread *spread, uint64_t x)
{
    x = (x & spread->stay_two) | (x & spread->move_two) << spread->by_two;
    return (x & spread->stay) | (x & spread->move) << spread->by;
}

/* Word `index` as a plain bucket would have it. */
static inline uint64_t cf_semisort_word(const cf_filter *filter, uint64_t at, unsigned index)
{
    uint64_t nibbles = cf_nibbles_at(filter, at) >> index * filter->view.tops.count * CF_NIBBLE_BITS;
    uint64_t tops = cf_spread_lanes(&filter->view.spread_tops, cf_tops_at(filter, at, index));
    return tops << CF_NIBBLE_BITS | cf_spread_lanes(&filter->view.spread_nibbles, nibbles);
}

/* The tag in a slot. */
static inline uint64_t cf_semisort_tag(const cf_filter *filter, uint64_t at, unsigned slot)
{
    unsigned top = filter->view.tops.width;
    uint64_t nibble = cf_nibbles_at(filter, at) >> slot * CF_NIBBLE_BITS & cf_low_bits(CF_NIBBLE_BITS);
    uint64_t bits = cf_load_bits(filter->view.table, at + CF_CODE_BITS + (uint64_t)slot * top);
    return (bits & cf_low_bits(top)) << CF_NIBBLE_BITS | nibble;
}

/* Can a key with this tag be in the bucket, by what the tops of its one word say? */
static inline bool cf_tops_allow(const cf_filter *filter, uint64_t at, uint64_t tag)
{
    uint64_t tops = cf_tops_at(filter, at, 0), wanted = tag >> CF_NIBBLE_BITS;
    return filter->view.grown
               ? cf_compatible_lanes(&filter->view.tops, tops, wanted) != 0
               : cf_any_zero_lane(&filter->view.tops, tops ^ wanted * filter->view.tops.ones) != 0;
}

/* Does either of two buckets that have not grown, at `at` and `at2`, hold its tag? The tags agree
** in their nibbles, for they are those of one key. For filters with filter->view.lane_of. When the
** key is there, as a rule one top of eight agrees, and its nibble decides; 2: several do, and this
** cannot tell. */
static inline unsigned cf_semisorted_pair_has(const cf_filter *filter, uint64_t at, uint64_t tag,
                                              uint64_t at2, uint64_t tag2)
{
    const cf_lanes *tops = &filter->view.tops;
    uint64_t bits = cf_load_bits(filter->view.table, at), bits2 = cf_load_bits(filter->view.table, at2);
    uint64_t x = bits >> CF_CODE_BITS ^ (tag >> CF_NIBBLE_BITS) * tops->ones;
    uint64_t x2 = bits2 >> CF_CODE_BITS ^ (tag2 >> CF_NIBBLE_BITS) * tops->ones;
    uint64_t agree = cf_any_zero_lane(tops, x), agree2 = cf_any_zero_lane(tops, x2),
             any = agree | agree2;
    if (any == 0)
        return 0;
    if (((any & (any - 1)) | (agree & agree2)) != 0)
        return 2;
    uint64_t code = (agree ? bits : bits2) & cf_low_bits(CF_CODE_BITS);
    unsigned lane = (unsigned)__builtin_ctzll(any) * filter->view.lane_of >> CF_LANE_OF_SHIFT;
    return ((cf_semisort_nibbles[code] >> lane * CF_NIBBLE_BITS ^ tag) & cf_low_bits(CF_NIBBLE_BITS)) ==
           0;
}

/* Is this bucket one that cf_semisort_write writes? Ties broken by payloads are not looked at. */
bool cf_semisort_in_order(const cf_filter *filter, uint64_t at);

/* The four tags of a bucket. */
void cf_semisort_read(const cf_filter *filter, uint64_t at, uint64_t *tag);

/* Sorts four slots and writes them at bit `at` of the writable table; with `payload_bits`, sorts
** the payloads with them, but writes none. */
void cf_semisort_write(cf_filter *filter, uint64_t at, uint64_t *tag, uint64_t *payload);

/* The same for buckets of one word without payloads. */
void cf_semisort_word_write(cf_filter *filter, uint64_t at, uint64_t word);

#endif
