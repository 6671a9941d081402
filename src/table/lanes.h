/* SPDX-License-Identifier: MIT */
/*
** lanes.h - the slots of one bucket: comparing, reading and writing them, all at once.
**
**      [ tag 0 ][ tag 1 ] ... [ tag b-1 ][ overflow ][ payload 0 ] ... [ payload b-1 ]     bit-packed
**
** Tags: tag.h. The payload of an entry is the number of further copies, or a value with the saturated
** bit above it (copies.h), or its epoch; 0 in an empty slot. Semi-sorted buckets start with a code
** (semisort.h), and a write sorts their slots.
**
** *Lanes* are tags, or the parts that follow the code: up to four in one word, or four or eight in
** halves:
**
**      word     [ lane 3 ][ lane 2 ][ lane 1 ][ lane 0 ]
**      wanted   [   t    ][   t    ][   t    ][   t    ]   = t * ones
**      XOR      a lane is zero exactly where the lane is t
**
** With terminators (tag.h) a lane agrees with t if the lowest bit of the XOR is not below the terminator
** of the lane. Forms that fit neither way (eight lanes of more than 16 bits, a few widths above 20) are
** `any`.
**
** These functions take a bucket as the bit at which it starts, and a lane as the number of bits before
** it; both must be in range. None can fail, whatever the bytes are. Announce writes to the pager first
** (memory.h).
*/
#ifndef CF_LANES_H
#define CF_LANES_H

#include "kind.h"
#include "semisort.h"
#include "tag.h"

/* ---- bits of the table ---- */

/* The bits from bit `at` of the table on: at least 57, and more if `at` is early in a byte. Reads at
** most 8 bytes beyond the table (CF_RESERVED_MIN). */
static inline uint64_t cf_load_bits(const uint8_t *table, uint64_t at)
{
    return cf_load64(table + (at >> 3)) >> (at & 7);
}

/* Overwrites the bits under `mask` at bit `at`. `mask` has one or more low bits, which fit into the 8
** bytes in which they start, as 57 bits always do. */
static inline void cf_store_bits(cf_filter *filter, uint64_t at, uint64_t mask, uint64_t bits)
{
    uint8_t *p = filter->writable + CF_HEADER_BYTES + (at >> 3);
    unsigned shift = at & 7;
    assert(mask != 0 && mask << shift >> shift == mask && (bits & ~mask) == 0);
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | (bits << shift));
}

/* The same as cf_store_bits at bit at + `lane`, if that is in the word in which the bucket starts. */
CF_FORCED void cf_store_in_word(cf_kind kind, cf_filter *filter, uint64_t at, uint64_t mask,
                                uint64_t bits, unsigned lane)
{
    uint8_t *p = filter->writable + CF_HEADER_BYTES + (at >> 3);
    unsigned shift = lane + (kind.whole ? 0 : (unsigned)(at & 7));
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | bits << shift);
}

/* ---- comparing ---- */

/* The lanes of a bucket, all of them in `low` or in two halves, below further bits. `word` begins with
** the bucket, so with the code if there is one. */
typedef struct cf_lanes {
    uint64_t low, high, word;
} cf_lanes;

CF_FORCED cf_lanes cf_lanes_at(cf_kind kind, const cf_filter *filter, uint64_t at)
{
    const cf_form *form = &filter->view.form;
    const uint8_t *p = filter->view.table + (at >> 3);
    unsigned shift = kind.whole ? 0 : at & 7, first = kind.semi ? CF_CODE_BITS : 0;
    uint64_t word = cf_load64(p) >> shift;
    return kind.two ? (cf_lanes){cf_load64(p + first / 8) >> (shift + first % 8),
                                 cf_load64(p + form->second) >> (shift + form->second_bit), word}
                    : (cf_lanes){word >> first, 0, word};
}

/* The bits in which the lanes x differ from `wanted`. A lane is zero, except for a bit that may be its
** terminator, if it agrees in all bits that it knows, or is empty. */
static inline uint64_t cf_disagreement(const cf_form *form, uint64_t x, uint64_t wanted)
{
    uint64_t difference = x ^ wanted, below = ~(difference ^ (difference - form->ones));
    return (x | form->known) & below;
}

/* The top bits of lanes that may match a tag; all others are 0. */
CF_FORCED cf_lanes cf_alike(cf_kind kind, const cf_filter *filter, uint64_t at, uint64_t tag)
{
    const cf_form *form = &filter->view.form;
    uint64_t t = (kind.semi ? tag >> CF_NIBBLE_BITS : tag) * form->ones;
    cf_lanes x = cf_lanes_at(kind, filter, at);
    x.low = kind.grown ? cf_disagreement(form, x.low, t) : x.low ^ t;
    x.high = kind.grown ? cf_disagreement(form, x.high, t) : x.high ^ t;
    return (cf_lanes){cf_zeros(form, x.low), kind.two ? cf_zeros(form, x.high) : 0, 0};
}

/* The first bit of the lane with the lowest set top bit; only one half has any. No branch. */
CF_FORCED unsigned cf_lane_of(cf_kind kind, const cf_form *form, cf_lanes set)
{
    unsigned half = (form->tag_bits - (kind.semi ? CF_CODE_BITS : 0u)) / 2, second = set.high != 0;
    return cf_lowest_bit(set.low | set.high) - (form->lane - 1) + (half & (0 - second));
}

/* The slot of the lane that begins at this bit. */
static inline unsigned cf_slot_of(const cf_form *form, unsigned lane)
{
    enum { SHIFT = 16 };
    return lane * form->lane_of >> SHIFT;
}

/* ---- reading ---- */

/* Eight lanes in halves are compared all at once, but loaded and stored one at a time. */
CF_FORCED void cf_read_in_turn(const cf_filter *filter, uint64_t at, uint64_t *lane)
{
    const cf_form *form = &filter->view.form;
    for (unsigned i = 0; i < filter->geometry.bucket_size; i++, at += form->lane)
        lane[i] = cf_load_bits(filter->view.table, at) & form->lane_mask;
}

/* Reads all lanes of a bucket, with bits above them; or four lanes, of which the last may belong to
** slots that do not exist. With a code they become ranks. */
CF_FORCED void cf_read_by(cf_kind kind, const cf_filter *filter, uint64_t at, uint64_t *lane)
{
    const cf_form *form = &filter->view.form;
    cf_lanes x = cf_lanes_at(kind, filter, at);
    uint64_t nibbles = kind.semi ? cf_nibbles_of(x.word) : 0;
    if (kind.any || (kind.two && !kind.semi && filter->geometry.bucket_size > 4)) {
        cf_read_in_turn(filter, at + (kind.semi ? CF_CODE_BITS : 0), lane);
        for (unsigned i = 0; kind.semi && i < CF_SEMISORT_SLOTS; i++)
            lane[i] |= nibbles >> i * CF_NIBBLE_BITS << CF_RANK_SHIFT;
        return;
    }
    uint64_t mask = form->lane_mask, high = kind.two ? x.high : x.low >> 2 * form->lane;
    lane[0] = (x.low & mask) | nibbles << CF_RANK_SHIFT;
    lane[1] = (x.low >> form->lane & mask) | nibbles >> CF_NIBBLE_BITS << CF_RANK_SHIFT;
    lane[2] = (high & mask) | nibbles >> 2 * CF_NIBBLE_BITS << CF_RANK_SHIFT;
    lane[3] = (high >> form->lane & mask) | nibbles >> 3 * CF_NIBBLE_BITS << CF_RANK_SHIFT;
}

/* Reads all tags of a bucket, or four. */
CF_FORCED void cf_tags_by(cf_kind kind, const cf_filter *filter, uint64_t at, uint64_t *tag)
{
    cf_read_by(kind, filter, at, tag);
    if (kind.semi) {
        tag[0] = cf_tag_of_rank(tag[0]);
        tag[1] = cf_tag_of_rank(tag[1]);
        tag[2] = cf_tag_of_rank(tag[2]);
        tag[3] = cf_tag_of_rank(tag[3]);
    }
}

/* The slots that match a tag, one bit each. */
CF_FORCED unsigned cf_slots_by(cf_kind kind, const cf_filter *filter, uint64_t at, uint64_t tag)
{
    uint64_t stored[CF_BUCKET_MAX];
    unsigned found = 0;
    if (!kind.any) {
        cf_lanes alike = cf_alike(kind, filter, at, tag);
        if ((alike.low | alike.high) == 0)
            return 0;
    }
    cf_tags_by(kind, filter, at, stored);
    for (unsigned i = 0; i < filter->geometry.bucket_size; i++)
        found |= (unsigned)cf_agrees(filter, kind.grown, stored[i], tag) << i;
    return found;
}

/* Sets `lane` to the first bit of the first empty slot. False: there is none. */
CF_FORCED bool cf_empty_in_turn(const cf_filter *filter, uint64_t at, unsigned *lane)
{
    const cf_form *form = &filter->view.form;
    unsigned end = form->lane * filter->geometry.bucket_size;
    for (*lane = 0; *lane < end; *lane += form->lane)
        if ((cf_load_bits(filter->view.table, at + *lane) & form->slot_mask) == 0)
            return true;
    return false;
}

/* The same without a branch on the number of the slot. */
CF_FORCED bool cf_empty_lane(cf_kind kind, const cf_filter *filter, uint64_t at, unsigned *lane)
{
    const cf_form *form = &filter->view.form;
    cf_lanes x = cf_lanes_at(kind, filter, at);
    x = (cf_lanes){cf_zeros(form, x.low), kind.two ? cf_zeros(form, x.high) : 0, 0};
    if ((x.low | x.high) == 0)
        return false;
    x.high &= 0 - (uint64_t)(x.low == 0);
    *lane = cf_lane_of(kind, form, x);
    return true;
}

/* The same for every kind. In semi-sorted buckets empty slots come first. */
CF_FORCED bool cf_empty_by(cf_kind kind, const cf_filter *filter, uint64_t at, unsigned *lane)
{
    uint64_t word = kind.semi ? cf_lanes_at(kind, filter, at).word : 0;
    *lane = 0;
    if (kind.semi)
        return (word >> CF_CODE_BITS & filter->view.form.lane_mask) == 0 &&
               (cf_nibbles_of(word) & CF_NIBBLE_MASK) == 0;
    return kind.any ? cf_empty_in_turn(filter, at, lane) : cf_empty_lane(kind, filter, at, lane);
}

/* ---- payloads ---- */

/* A wide payload may reach into the ninth byte. */
static inline uint64_t cf_payload_at(const cf_filter *filter, uint64_t at, unsigned slot)
{
    const cf_form *form = &filter->view.form;
    assert(slot < filter->geometry.bucket_size);
    at += form->payloads_at + slot * form->payload_bits;
    uint64_t payload = cf_load_bits(filter->view.table, at);
    if (CF_UNLIKELY(form->payload_bits > 57))
        payload |= (uint64_t)filter->view.table[(at >> 3) + 8] << 1 << (63 - (at & 7));
    return payload & cf_ones(form->payload_bits);
}

static inline void cf_payload_store(cf_filter *filter, uint64_t at, unsigned bits, uint64_t payload)
{
    if (CF_UNLIKELY(bits > 57)) {
        cf_store_bits(filter, at, UINT32_MAX, payload & UINT32_MAX);
        at += 32, bits -= 32, payload >>= 32;
    }
    cf_store_bits(filter, at, cf_ones(bits), payload);
}

/* True if one load has all payloads of a bucket; they are then stored at once. */
static inline bool cf_has_short_payloads(const cf_filter *filter)
{
    return filter->view.form.payload_bits * filter->geometry.bucket_size <= 57;
}

/* False if all payloads of a bucket of four are known to be 0. */
static inline bool cf_has_payloads(const cf_filter *filter, uint64_t at)
{
    unsigned bits = CF_SEMISORT_SLOTS * filter->view.form.payload_bits;
    at += filter->view.form.payloads_at;
    return bits > 57 || (bits != 0 && (cf_load_bits(filter->view.table, at) & cf_ones(bits)) != 0);
}

static inline void cf_payloads_write(cf_filter *filter, uint64_t at, const uint64_t *payload)
{
    unsigned bits = filter->view.form.payload_bits, b = filter->geometry.bucket_size;
    uint64_t all = 0;
    at += filter->view.form.payloads_at;
    if (bits != 0 && cf_has_short_payloads(filter)) {
        for (unsigned i = 0; i < b; i++)
            all |= payload[i] << i * bits;
        cf_store_bits(filter, at, cf_ones(b * bits), all);
    } else {
        for (unsigned i = 0; bits != 0 && i < b; i++, at += bits)
            cf_payload_store(filter, at, bits, payload[i]);
    }
}

static inline void cf_payload_write(cf_filter *filter, uint64_t at, unsigned slot, uint64_t payload)
{
    unsigned bits = filter->view.form.payload_bits;
    cf_payload_store(filter, at + filter->view.form.payloads_at + slot * bits, bits, payload);
}

/* ---- writing ---- */

CF_FORCED void cf_write_in_turn(cf_filter *filter, uint64_t at, const uint64_t *lane)
{
    const cf_form *form = &filter->view.form;
    for (unsigned i = 0; i < filter->geometry.bucket_size; i++, at += form->lane)
        cf_store_bits(filter, at, form->lane_mask, lane[i] & form->lane_mask);
}

CF_FORCED void cf_write_halves(cf_filter *filter, uint64_t at, uint64_t low, uint64_t high)
{
    cf_store_bits(filter, at, filter->view.form.stored, low);
    cf_store_bits(filter, at + 2 * filter->view.form.lane, filter->view.form.stored, high);
}

/* Writes all lanes of a bucket; in semi-sorted buckets ranks, in order. */
CF_FORCED void cf_write_by(cf_kind kind, cf_filter *filter, uint64_t at, const uint64_t *lane)
{
    const cf_form *form = &filter->view.form;
    uint64_t first = kind.semi ? CF_CODE_BITS : 0, code = kind.semi ? cf_code_of_ranks(lane) : 0;
    uint64_t mask = form->lane_mask, low = (lane[0] & mask) | (lane[1] & mask) << form->lane;
    uint64_t high = (lane[2] & mask) | (lane[3] & mask) << form->lane, two = 2 * form->lane;
    if (kind.any || (kind.two && !kind.semi && filter->geometry.bucket_size > 4))
        cf_write_in_turn(filter, at + first, lane);
    else if (kind.two)
        cf_write_halves(filter, at + first, low, high);
    else
        cf_store_bits(filter, at, form->stored, (code | (low | high << two) << first) & form->stored);
    if (kind.semi && (kind.any || kind.two))
        cf_store_bits(filter, at, CF_CODE_MASK, code);
}

/* Writes tags and payloads, and may sort them. `payload`: NULL if all are 0 and stay 0. */
CF_FORCED void cf_store_by(cf_kind kind, cf_filter *filter, uint64_t at, uint64_t *tag,
                           uint64_t *payload)
{
    if (kind.semi && payload != NULL && (payload[0] | payload[1] | payload[2] | payload[3]) != 0)
        cf_semisort(tag, payload);
    else if (kind.semi)
        cf_semisort(tag, NULL);
    cf_write_by(kind, filter, at, tag);
    if (payload != NULL)
        cf_payloads_write(filter, at, payload);
}

/* Empties a semi-sorted slot, if the lanes are one word and all payloads 0. */
CF_FORCED void cf_sorted_empty(cf_kind kind, cf_filter *filter, uint64_t at, unsigned slot)
{
    const cf_form *form = &filter->view.form;
    uint64_t word = cf_lanes_at(kind, filter, at).word & form->stored;
    uint64_t nibbles = cf_without_lane(cf_nibbles_of(word), CF_NIBBLE_BITS, slot);
    uint64_t tops = cf_without_lane(word >> CF_CODE_BITS, form->lane, slot) << CF_CODE_BITS;
    cf_store_bits(filter, at, form->stored, tops | cf_code_of_nibbles(nibbles));
}

/* Writes a slot among sorted ones; `payload` is NULL if all payloads of the bucket are 0 and stay 0. */
CF_FORCED void cf_sorted_put(cf_kind kind, cf_filter *filter, uint64_t at, unsigned slot, uint64_t tag,
                             const uint64_t *payload)
{
    uint64_t rank[CF_SEMISORT_SLOTS], payloads[CF_SEMISORT_SLOTS];
    cf_read_by(kind, filter, at, rank);
    for (unsigned i = 0; payload != NULL && i < CF_SEMISORT_SLOTS; i++)
        payloads[i] = cf_payload_at(filter, at, i);
    cf_semisort_replace(rank, payload ? payloads : NULL, slot, tag, payload ? *payload : 0);
    cf_write_by(kind, filter, at, rank);
    if (payload != NULL)
        cf_payloads_write(filter, at, payloads);
}

/* Writes the slot whose lane begins at this bit. Tag 0 empties it. */
CF_FORCED void cf_set_by(cf_kind kind, cf_filter *filter, uint64_t at, unsigned lane, uint64_t tag,
                         uint64_t payload)
{
    const cf_form *form = &filter->view.form;
    unsigned slot = kind.semi ? cf_slot_of(form, lane) : 0;
    if (kind.semi && !kind.bare && (payload != 0 || cf_has_payloads(filter, at)))
        cf_sorted_put(kind, filter, at, slot, tag, &payload);
    else if (kind.semi && tag == 0 && !kind.any && !kind.two)
        cf_sorted_empty(kind, filter, at, slot);
    else if (kind.semi)
        cf_sorted_put(kind, filter, at, slot, tag, NULL);
    else if (kind.any || kind.two)
        cf_store_bits(filter, at + lane, form->slot_mask, tag);
    else
        cf_store_in_word(kind, filter, at, form->slot_mask, tag, lane);
    if (!kind.semi && !kind.bare && form->payload_bits != 0)
        cf_payload_write(filter, at, cf_slot_of(form, lane), payload);
}

#endif
