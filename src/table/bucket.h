/* SPDX-License-Identifier: MIT */
/*
** bucket.h - one bucket: reading, matching and writing its slots.
**
**      [ tag 0 ][ tag 1 ] ... [ tag b-1 ][ overflow ][ payload 0 ] ... [ payload b-1 ]     bit-packed
**
** Tags: tag.h. The payload of an entry is the number of further copies, or a value with the saturated
** bit above it (copies.h), or its epoch; 0 in an empty slot. The overflow bit is there when the filter
** has a stash (stash.h). Semi-sorted buckets start with a code (semisort.h); a write sorts their slots.
**
** Functions of a kind (lanes.h) take a bucket by the bit where it starts, and lanes by the bits between
** the first one and them.
*/
#ifndef CF_BUCKET_H
#define CF_BUCKET_H

#include "lanes.h"
#include "tag.h"

/* The slots that match a tag, a bit each. */
static CF_ALWAYS_INLINE unsigned cf_slots_by(cf_kind kind, const cf_filter *filter, uint64_t at,
                                             uint64_t tag)
{
    const cf_form *form = &filter->view.form;
    uint64_t stored[CF_BUCKET_MAX];
    unsigned found = 0, b = filter->geometry.bucket_size;
    if (kind.any && !kind.semi && !kind.grown) {
        for (unsigned i = 0; i < b; i++, at += form->lane)
            found |= (unsigned)(((cf_load_bits(filter->view.table, at) ^ tag) & form->slot_mask) == 0)
                     << i;
        return found;
    }
    if (!kind.any) {
        cf_halves alike = cf_alike(form, kind, cf_halves_at(filter, kind, at), tag);
        if ((alike.low | alike.high) == 0)
            return 0;
    }
    cf_tags_by(kind, filter, at, stored);
    for (unsigned i = 0; i < b; i++)
        found |= (unsigned)cf_agrees(filter, kind.grown, stored[i], tag) << i;
    return found;
}

/* Is there an empty slot? Then where the lane of the first one begins. No branch on which it is. */
static CF_ALWAYS_INLINE bool cf_empty_by(cf_kind kind, const cf_filter *filter, uint64_t at,
                                         unsigned *lane)
{
    const cf_form *form = &filter->view.form;
    uint64_t all[CF_BUCKET_MAX];
    *lane = 0;
    if (kind.semi) { /* empty ones come first */
        uint64_t bits = cf_bits_at(filter, kind, at);
        uint64_t top = bits >> CF_CODE_BITS & form->slot_mask >> CF_NIBBLE_BITS;
        return top == 0 && (cf_nibbles_of(bits) & CF_NIBBLE_MASK) == 0;
    }
    if (kind.any) {
        unsigned i = 0, b = filter->geometry.bucket_size;
        for (cf_lanes_by(kind, filter, at, all); i < b && all[i] != 0; i++)
            *lane += form->lane;
        return i < b;
    }
    cf_halves x = cf_halves_at(filter, kind, at);
    cf_halves zero = {cf_zeros(form, x.low), kind.two ? cf_zeros(form, x.high) : 0};
    if ((zero.low | zero.high) == 0)
        return false;
    if (kind.two)
        zero.high &= 0 - (uint64_t)(zero.low == 0);
    *lane = cf_lane_of(form, kind, zero);
    return true;
}

/* ---- two buckets ---- */

/* Where a key may lie: where its buckets start, its tags there, and the bits of their extensions. */
typedef struct cf_spots {
    uint64_t at[2], tag[2];
    unsigned extension[2];
} cf_spots;

static CF_ALWAYS_INLINE cf_spots cf_spots_of(cf_kind kind, const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    cf_place here = cf_locate_by(filter, kind.grown, &base);
    cf_place there = cf_locate_by(filter, kind.grown, &other);
    return (cf_spots){{cf_at_by(kind, filter, here.bucket), cf_at_by(kind, filter, there.bucket)},
                      {here.tag, kind.one ? here.tag : there.tag},
                      {here.extension, there.extension}};
}

/* How many entries of two buckets match a key: 0; 1, and where it is; or more. */
typedef struct cf_found {
    unsigned n, side, lane;
} cf_found;

cf_found cf_find_all(const cf_filter *filter, uint64_t at0, uint64_t at1, uint64_t tag0, uint64_t tag1);

/* Reads both buckets first: their cache misses overlap. Of plain lanes 2 may also mean: unknown. */
static CF_ALWAYS_INLINE cf_found cf_find_by(cf_kind kind, const cf_filter *filter, const cf_spots *spots)
{
    const cf_form *form = &filter->view.form;
    const uint64_t *at = spots->at, *tag = spots->tag;
    if (kind.any)
        return cf_find_all(filter, at[0], at[1], tag[0], tag[1]);
    cf_halves a = cf_alike(form, kind, cf_halves_at(filter, kind, at[0]), tag[0]);
    cf_halves b = cf_alike(form, kind, cf_halves_at(filter, kind, at[1]), tag[1]);
    cf_halves m = {a.low | b.low, a.high | b.high};
    uint64_t all = m.low | m.high;
    if (all == 0)
        return (cf_found){0, 0, 0};
    bool several = ((all & (all - 1)) | (a.low & b.low) | (a.high & b.high) | (m.low & m.high)) != 0;
    if (!kind.grown && !kind.semi && several)
        return (cf_found){2, 0, 0};
    if (kind.grown || CF_UNLIKELY(several))
        return cf_find_all(filter, at[0], at[1], tag[0], tag[1]);
    unsigned lane = cf_lane_of(form, kind, m), side = (a.low | a.high) == 0;
    if (!kind.semi)
        return (cf_found){1, side, lane};
    uint64_t nibbles = cf_nibbles_at(filter, kind, cf_choose(side, at[1], at[0]));
    nibbles >>= cf_slot_of(form, lane) * CF_NIBBLE_BITS;
    return (cf_found){((nibbles ^ tag[0]) & CF_NIBBLE_MASK) == 0, side, lane};
}

/* Does either bucket hold it? Plain lanes that are alike are equal. */
static CF_ALWAYS_INLINE bool cf_holds_by(cf_kind kind, const cf_filter *filter, const cf_spots *spots)
{
    const cf_form *form = &filter->view.form;
    if (kind.any || (kind.semi && !kind.grown))
        return cf_find_by(kind, filter, spots).n != 0;
    cf_halves a = cf_alike(form, kind, cf_halves_at(filter, kind, spots->at[0]), spots->tag[0]);
    cf_halves b = cf_alike(form, kind, cf_halves_at(filter, kind, spots->at[1]), spots->tag[1]);
    if (!kind.grown)
        return (a.low | a.high | b.low | b.high) != 0;
    return ((a.low | a.high) != 0 && cf_slots_by(kind, filter, spots->at[0], spots->tag[0]) != 0) ||
           ((b.low | b.high) != 0 && cf_slots_by(kind, filter, spots->at[1], spots->tag[1]) != 0);
}

/* Before growth: the buckets to which the entries with these tags could move, and fetches them. */
static CF_ALWAYS_INLINE void cf_others_of(const cf_filter *filter, uint64_t bucket, const uint64_t *tag,
                                          uint64_t *to)
{
    for (unsigned i = 0; i < filter->geometry.bucket_size; i++) {
        uint64_t mix = cf_pair_mix(tag[i] & filter->view.pair_mask);
        to[i] = cf_alternate_base(filter->geometry.buckets, bucket, mix);
        cf_bucket_fetch(filter, to[i]);
    }
}

/* ---- payloads and overflow bits ---- */

static inline uint64_t cf_payload_at(const cf_filter *filter, uint64_t at, unsigned slot)
{
    const cf_form *form = &filter->view.form;
    assert(slot < filter->geometry.bucket_size);
    return cf_load_bits(filter->view.table, at + form->payloads_at + slot * form->payload_bits) &
           cf_ones(form->payload_bits);
}

static inline bool cf_overflow_get(const cf_filter *filter, uint64_t bucket)
{
    return filter->geometry.stash_size != 0 &&
           (cf_load_bits(filter->view.table, cf_bucket_at(filter, bucket) + filter->view.form.tag_bits) &
            1);
}

static inline void cf_overflow_set(cf_filter *filter, uint64_t bucket, bool on)
{
    const cf_form *form = &filter->view.form;
    if (cf_overflow_get(filter, bucket) != on)
        cf_store_bits(cf_writable_table(filter), cf_bucket_to_change(filter, bucket) + form->tag_bits, 1,
                      on);
}

/* ---- writing: the pager has been told of the bucket at bit `at` (cf_tell_change) ---- */

/* What lies in a bucket: b slots, in semi-sorted ones four. */
typedef struct cf_contents {
    uint64_t tag[CF_BUCKET_MAX], payload[CF_BUCKET_MAX];
} cf_contents;

/* Writes the lanes of a bucket, which may have bits above them, and its code. */
static CF_ALWAYS_INLINE void cf_lanes_write(cf_kind kind, cf_filter *filter, uint64_t at,
                                            const uint64_t *lane, uint64_t code)
{
    const cf_form *form = &filter->view.form;
    uint8_t *table = cf_writable_table(filter);
    unsigned w = form->lane, first = kind.semi ? CF_CODE_BITS : 0;
    uint64_t mask = kind.semi ? form->slot_mask >> CF_NIBBLE_BITS : form->slot_mask;
    if (cf_in_turn(kind, filter)) {
        for (unsigned i = 0; i < filter->geometry.bucket_size; i++)
            cf_store_bits(table, at + first + i * w, mask, lane[i] & mask);
    } else {
        uint64_t low = (lane[0] & mask) | (lane[1] & mask) << w;
        uint64_t high = (lane[2] & mask) | (lane[3] & mask) << w;
        if (!kind.two) {
            uint64_t tags = cf_low_bits(form->tag_bits), all = low | high << 2 * w;
            cf_store_bits(table, at, tags, (kind.semi ? code | all << CF_CODE_BITS : all) & tags);
            return;
        }
        cf_store_bits(table, at + first, cf_low_bits(2 * w), low);
        cf_store_bits(table, at + first + 2 * w, cf_low_bits(2 * w), high);
    }
    if (kind.semi)
        cf_store_bits(table, at, CF_CODE_MASK, code);
}

/* Payloads of a bucket that are stored at once, and of which one load has all. */
static inline bool cf_has_short_payloads(const cf_filter *filter)
{
    return filter->view.form.payload_bits * filter->geometry.bucket_size <= 57;
}

static inline void cf_payloads_write(cf_filter *filter, uint64_t at, const uint64_t *payload)
{
    unsigned bits = filter->view.form.payload_bits, b = filter->geometry.bucket_size;
    uint8_t *table = cf_writable_table(filter);
    uint64_t all = 0;
    at += filter->view.form.payloads_at;
    if (bits != 0 && cf_has_short_payloads(filter)) {
        for (unsigned i = 0; i < b; i++)
            all |= payload[i] << i * bits;
        cf_store_bits(table, at, cf_ones(b * bits), all);
    } else {
        for (unsigned i = 0; bits != 0 && i < b; i++, at += bits)
            cf_store_bits(table, at, cf_ones(bits), payload[i]);
    }
}

/* Writes tags and payloads, and may sort them. `payload`: NULL where all are 0, and stay so. */
static CF_ALWAYS_INLINE void cf_store_by(cf_kind kind, cf_filter *filter, uint64_t at, uint64_t *tag,
                                         uint64_t *payload)
{
    if (kind.semi && payload != NULL && (payload[0] | payload[1] | payload[2] | payload[3]) != 0)
        cf_semisort(tag, payload);
    else if (kind.semi)
        cf_semisort(tag, NULL);
    cf_lanes_write(kind, filter, at, tag, kind.semi ? cf_code_of_ranks(tag) : 0);
    if (payload != NULL)
        cf_payloads_write(filter, at, payload);
}

/* Empties a slot where lanes are one word, and all payloads 0. */
static CF_ALWAYS_INLINE void cf_semisorted_empty(cf_kind kind, cf_filter *filter, uint64_t at,
                                                 unsigned slot)
{
    const cf_form *form = &filter->view.form;
    uint64_t bits = cf_bits_at(filter, kind, at), tags = cf_low_bits(form->tag_bits);
    uint64_t nibbles = cf_without_lane(cf_nibbles_of(bits), CF_NIBBLE_BITS, slot);
    uint64_t tops = cf_without_lane((bits & tags) >> CF_CODE_BITS, form->lane, slot) << CF_CODE_BITS;
    cf_store_bits(cf_writable_table(filter), at, tags, tops | cf_code_of_nibbles(nibbles));
}

/* `payloads`: room for those of the bucket; NULL as in cf_store_by. */
static CF_ALWAYS_INLINE void cf_semisorted_set(cf_kind kind, cf_filter *filter, uint64_t at,
                                               unsigned slot, uint64_t tag, uint64_t *payloads,
                                               uint64_t payload)
{
    uint64_t rank[CF_BUCKET_MAX];
    cf_lanes_by(kind, filter, at, rank);
    cf_tops_to_ranks(cf_nibbles_at(filter, kind, at), rank);
    for (unsigned i = 0; payloads != NULL && i < CF_SEMISORT_SLOTS; i++)
        payloads[i] = cf_payload_at(filter, at, i);
    cf_semisort_replace(rank, payloads, slot, tag, payload);
    cf_lanes_write(kind, filter, at, rank, cf_code_of_ranks(rank));
    if (payloads != NULL)
        cf_payloads_write(filter, at, payloads);
}

/* Writes the tag of the slot whose lane begins there, in a bucket whose payloads are 0. */
static CF_ALWAYS_INLINE void cf_tag_set(cf_kind kind, cf_filter *filter, uint64_t at, unsigned lane,
                                        uint64_t tag)
{
    const cf_form *form = &filter->view.form;
    if (kind.semi && tag == 0 && !kind.any && !kind.two) {
        cf_semisorted_empty(kind, filter, at, cf_slot_of(form, lane));
    } else if (kind.semi) {
        cf_semisorted_set(kind, filter, at, cf_slot_of(form, lane), tag, NULL, 0);
    } else if (kind.any || kind.two) {
        cf_store_bits(cf_writable_table(filter), at + lane, form->slot_mask, tag);
    } else { /* all of it is in the word in which the bucket starts */
        uint8_t *p = cf_writable_table(filter) + (at >> 3);
        lane += cf_shift_of(kind, at);
        cf_store64(p, (cf_load64(p) & ~(form->slot_mask << lane)) | tag << lane);
    }
}

/* Writes the slot whose lane begins there. Tag 0 empties it. */
static CF_ALWAYS_INLINE void cf_set_by(cf_kind kind, cf_filter *filter, uint64_t at, unsigned lane,
                                       uint64_t tag, uint64_t payload)
{
    const cf_form *form = &filter->view.form;
    unsigned bits = kind.whole ? 0 : form->payload_bits, slot = bits != 0 ? cf_slot_of(form, lane) : 0;
    uint64_t payloads[CF_SEMISORT_SLOTS];
    assert(slot < filter->geometry.bucket_size);
    bool none = bits == 0 || (kind.semi && payload == 0 && cf_has_short_payloads(filter) &&
                              (cf_load_bits(filter->view.table, at + form->payloads_at) &
                               cf_ones(CF_SEMISORT_SLOTS * bits)) == 0);
    if (kind.semi && !none) {
        cf_semisorted_set(kind, filter, at, slot, tag, payloads, payload);
        return;
    }
    cf_tag_set(kind, filter, at, lane, tag);
    if (!none)
        cf_store_bits(cf_writable_table(filter), at + form->payloads_at + slot * bits, cf_ones(bits),
                      payload);
}

/* ---- the same by the number of a bucket ---- */

uint64_t cf_slot_get(const cf_filter *filter, uint64_t bucket, unsigned slot);

static inline uint64_t cf_payload_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    bool any = filter->view.form.payload_bits != 0;
    return any ? cf_payload_at(filter, cf_bucket_at(filter, bucket), slot) : 0;
}

/* The slots that match a tag, a bit each. */
unsigned cf_bucket_find(const cf_filter *filter, uint64_t bucket, uint64_t tag);

void cf_bucket_read(const cf_filter *filter, uint64_t bucket, cf_contents *contents);

/* Writes tags and payloads, but not the overflow bit. The contents may be sorted then. */
void cf_bucket_write(cf_filter *filter, uint64_t bucket, cf_contents *contents);

/* Changes one slot; tag 0 empties it. */
void cf_bucket_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag, uint64_t payload);

/* How the filter does what is done to one key: whenever its header, its bytes or its pages are
** others. */
void cf_set_ways(cf_filter *filter);

/* ---- counts ---- */

/* Slots in use and free. */
static inline uint64_t cf_slots(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

/* Counts one more slot as occupied, or one less. A header that lies may count all of them already, or
** none. */
static inline void cf_count_occupied(cf_filter *filter)
{
    filter->occupied += filter->occupied < cf_slots(filter);
}

static inline void cf_count_emptied(cf_filter *filter)
{
    filter->occupied -= filter->occupied > 0;
}

#endif
