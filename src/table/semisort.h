/* SPDX-License-Identifier: MIT */
/*
** semisort.h - buckets of four slots, one bit per slot smaller (paper, section 5.2).
**
**      [ code, 12 bits ][ top 0 ][ top 1 ][ top 2 ][ top 3 ][ overflow ][ payload 0 ] .. [ payload 3 ]
**
** The order of the slots of a bucket says nothing, so they are sorted by their low nibbles. Four
** sorted nibbles can be one of 3,876 values: 12 bits, instead of 16, number them. The other bits of
** each slot, its top, follow in that order; slots of equal nibbles are sorted by their tops, then
** by their payloads, so that equal contents are equal bytes. An empty slot is 0, as everywhere, and
** so comes first. The nibble is part of the pair bits, and a terminator is always in the top. Codes
** from 3,876 on, which only hostile bytes have, read as four nibbles of zero.
**
** Reading: the tops are lanes of their own. Where no top agrees with what is wanted, as a rule that of
** keys that are not there, nothing more is read. Else a table of 8 KB decodes the code, and tops and
** nibbles are put together to the word that a plain bucket would have.
**
** Writing a slot may change the numbers of the others in its bucket.
*/
#ifndef CF_SEMISORT_H
#define CF_SEMISORT_H

#include "lanes.h"

enum { CF_NIBBLE_BITS = 4, CF_CODE_BITS = 12, CF_SEMISORT_SLOTS = 4 };
enum { CF_NIBBLE_MASK = (1 << CF_NIBBLE_BITS) - 1, CF_CODE_MASK = (1 << CF_CODE_BITS) - 1 };
_Static_assert(CF_SEMISORT_SAVES == CF_NIBBLE_BITS * CF_SEMISORT_SLOTS - CF_CODE_BITS,
               "what a code saves");

/* Bit n is in lane n * lane_of >> CF_LANE_OF_SHIFT: a division by the width of lanes, for bits of a
** word. */
enum { CF_LANE_OF_SHIFT = 16 };

/* The code of four sorted nibbles, the least in the lowest bits; and back, from bits that begin with
** it. */
unsigned cf_semisort_code(unsigned nibbles);
#ifdef CUCKOO_SMALL
uint64_t cf_nibbles_of(uint64_t bits);
#else
extern const uint16_t cf_semisort_nibbles[1 << CF_CODE_BITS];
static inline uint64_t cf_nibbles_of(uint64_t bits)
{
    return cf_semisort_nibbles[bits & ((1 << CF_CODE_BITS) - 1)];
}
#endif

/* The constants of a form for slots of `width` bits; its other fields are set already. */
void cf_semisort_lanes_set(cf_form *form, unsigned width, unsigned pair_bits);

/* The four nibbles of the bucket whose record starts at bit `at`. */
static inline uint64_t cf_nibbles_at(const cf_filter *filter, uint64_t at)
{
    return cf_nibbles_of(cf_load_bits(filter->view.table, at));
}

/* The tops from slot `first` on, as many as lie in a word, and above them whatever follows. */
static inline uint64_t cf_tops_at(const cf_filter *filter, const cf_form *form, uint64_t at,
                                  unsigned first)
{
    return cf_load_bits(filter->view.table, at + CF_CODE_BITS + (uint64_t)first * form->tops.width);
}

/* Moves lanes apart, and drops what is above them. */
static inline uint64_t cf_spread_lanes(const cf_spread *spread, uint64_t x)
{
    x = (x & spread->stay_two) | (x & spread->move_two) << spread->by_two;
    return (x & spread->stay) | (x & spread->move) << spread->by;
}

/* Word `index` as a plain bucket would have it. */
static inline uint64_t cf_semisort_word(const cf_filter *filter, const cf_form *form, uint64_t at,
                                        unsigned index)
{
    unsigned first = index * form->lanes.count;
    uint64_t nibbles = cf_nibbles_at(filter, at) >> first * CF_NIBBLE_BITS;
    uint64_t tops = cf_spread_lanes(&form->spread_tops, cf_tops_at(filter, form, at, first));
    return tops << CF_NIBBLE_BITS | cf_spread_lanes(&form->spread_nibbles, nibbles);
}

/* The tag in a slot. */
static inline uint64_t cf_semisort_tag(const cf_filter *filter, const cf_form *form, uint64_t at,
                                       unsigned slot)
{
    uint64_t nibble = cf_nibbles_at(filter, at) >> slot * CF_NIBBLE_BITS & cf_low_bits(CF_NIBBLE_BITS);
    uint64_t top = cf_tops_at(filter, form, at, slot) & cf_low_bits(form->tops.width);
    return top << CF_NIBBLE_BITS | nibble;
}

/* Is slot 0 empty? Its nibble is asked for only when its top is zero. */
static inline bool cf_semisort_has_empty(const cf_filter *filter, const cf_form *form, uint64_t at)
{
    uint64_t top = cf_tops_at(filter, form, at, 0) & cf_low_bits(form->tops.width);
    return top == 0 && cf_semisort_tag(filter, form, at, 0) == 0;
}

/* Can a key with this tag be in the bucket, by what its tops say? All of them are in one word. */
static inline bool cf_tops_allow(const cf_filter *filter, const cf_form *form, uint64_t at, uint64_t tag)
{
    uint64_t tops = cf_tops_at(filter, form, at, 0), wanted = tag >> CF_NIBBLE_BITS;
    return filter->view.grown ? cf_compatible_lanes(&form->tops, tops, wanted) != 0
                              : cf_any_zero_lane(&form->tops, tops ^ wanted * form->tops.ones) != 0;
}

/* The lane of which the top bit is set, as cf_same_lanes sets it; no other one is. */
static CF_ALWAYS_INLINE unsigned cf_single_lane(const cf_form *form, bool wide, uint64_t same)
{
    return wide ? 2u * ((same & form->highs) == 0) + ((same & form->evens) == 0)
                : cf_lowest_bit(same) * form->lane_of >> CF_LANE_OF_SHIFT;
}

/* Where one of two buckets holds its tag. */
typedef struct cf_semisort_found {
    unsigned has;  /* 0: neither does; 1: one of them, once; 2: this cannot tell */
    bool second;   /* has == 1: it is the second bucket */
    unsigned slot; /* has == 1: there */
} cf_semisort_found;

/* Does either of two buckets that have not grown hold its tag? The tags agree in their nibbles,
** because both are of one key. For forms with lane_of; `wide`: is_wide, a constant. When the key is
** there, as a rule one top of eight agrees, and its nibble decides. */
static CF_ALWAYS_INLINE cf_semisort_found cf_semisort_find(const cf_filter *filter, bool wide,
                                                           bool change, const cf_spots *spots)
{
    const cf_form *form = &filter->view.form;
    const uint8_t *p = filter->view.table + spots->byte, *p2 = filter->view.table + spots->byte2;
    uint64_t wanted = spots->tag >> CF_NIBBLE_BITS, wanted2 = spots->tag2 >> CF_NIBBLE_BITS;
    cf_laid tops = cf_load_lanes(form, wide, p, CF_CODE_BITS, spots->shift);
    cf_laid tops2 = cf_load_lanes(form, wide, p2, CF_CODE_BITS, spots->shift2);
    uint64_t bits = tops.one, bits2 = tops2.one, agree, agree2;
    if (wide && change) {
        agree = cf_same_by_words(form, p, CF_CODE_BITS, spots->shift, wanted);
        agree2 = cf_same_by_words(form, p2, CF_CODE_BITS, spots->shift2, wanted2);
        if ((agree | agree2) == 0)
            return (cf_semisort_found){0, false, 0};
    } else {
        tops.one >>= CF_CODE_BITS;
        tops2.one >>= CF_CODE_BITS;
        tops = cf_without(form, &form->tops, wide, tops, wanted);
        tops2 = cf_without(form, &form->tops, wide, tops2, wanted2);
        if (!cf_either_has(form, &form->tops, wide, tops, tops2))
            return (cf_semisort_found){0, false, 0};
        agree = cf_same_lanes(form, &form->tops, wide, CF_CODE_BITS, tops);
        agree2 = cf_same_lanes(form, &form->tops, wide, CF_CODE_BITS, tops2);
    }
    if (!cf_is_single(agree, agree2))
        return (cf_semisort_found){2, false, 0};
    bool second = agree == 0;
    uint64_t code = second ? bits2 : bits;
    if (wide)
        code = cf_load_bits(filter->view.table, cf_choose(second, spots->byte2 * 8 + spots->shift2,
                                                          spots->byte * 8 + spots->shift));
    unsigned lane = cf_single_lane(form, wide, agree | agree2);
    uint64_t nibbles = cf_nibbles_of(code) >> lane * CF_NIBBLE_BITS;
    bool has = ((nibbles ^ spots->tag) & CF_NIBBLE_MASK) == 0;
    return (cf_semisort_found){has, second, lane};
}

/* Is this bucket one that cf_semisort_write writes? Ties broken by payloads are not looked at. */
bool cf_semisort_in_order(const cf_filter *filter, const cf_form *form, uint64_t at);

/* Bits of the payloads of a bucket whose form is short, when a slot is going to get this one; 0: all of
** them are 0, as most that are marks, and stay so. */
static inline unsigned cf_payloads_at(const cf_filter *filter, const cf_form *form, uint64_t at,
                                      uint64_t payload)
{
    unsigned bits = form->payload_bits;
    uint64_t all = cf_load_bits(filter->view.table, at + form->payloads_at);
    return payload == 0 && (all & cf_ones(CF_SEMISORT_SLOTS * bits)) == 0 ? 0 : bits;
}

/* The four tags of a bucket. */
void cf_semisort_read(const cf_filter *filter, const cf_form *form, uint64_t at, uint64_t *tag);

/* Sorts four slots, and their payloads with them, and writes the tags at bit `at` of the table. */
void cf_semisort_write(cf_filter *filter, const cf_form *form, uint64_t at, const uint64_t *tag,
                       uint64_t *payload);

/* The same for a word of four lanes, in a bucket without payloads. */
void cf_semisort_word_write(cf_filter *filter, const cf_form *form, uint64_t at, uint64_t word);

/* Changes one slot of a bucket whose form is short. Slots may have other numbers then. Tag 0 empties
** it, whatever the payload: that of hostile bytes may be any. */
void cf_semisort_set(cf_filter *filter, const cf_form *form, uint64_t at, unsigned slot, uint64_t tag,
                     uint64_t payload);

#endif
