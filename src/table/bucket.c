/* SPDX-License-Identifier: MIT */
#include "bucket.h"

/* ---- forms ---- */

/* Do so many bits, from bit `from` of a bucket on, lie within the 8 bytes in which they start, in every
** bucket? Buckets start at multiples of `step` bits, a divisor of 8. */
static bool fits_word(unsigned from, unsigned bits, unsigned step)
{
    unsigned most = 8 - step + (from & (step - 1)); /* bits before them in their first byte */
    return most + bits <= 64;
}

/* Can the lanes be two halves: loaded as cf_halves_at does, stored as cf_lanes_write does? The second
** word ends with the lanes, as a rule: no cache line more than these is needed. */
static bool set_halves(cf_form *form, unsigned first, unsigned step)
{
    unsigned half = (form->tag_bits - first) / 2, second = first + half, end = form->tag_bits + 8 - step;
    form->second = end > 64 ? (end + 7) / 8 - 8 : 0;
    form->second_bit = second - 8 * form->second;
    return fits_word(first, half, step) && fits_word(second, half, step) &&
           first % 8 + half + 8 - step <= 64 && 8 * form->second <= second;
}

void cf_form_set(cf_form *form, const cf_geometry *shape, bool grown)
{
    unsigned b = shape->bucket_size, nibble = shape->semisorted ? CF_NIBBLE_BITS : 0;
    memset(form, 0, sizeof *form);
    form->semi = shape->semisorted;
    form->grown = grown;
    form->slot_bits = cf_slot_bits(shape, grown);
    form->slot_mask = cf_low_bits(form->slot_bits);
    form->payload_bits = cf_payload_bits(shape, grown);
    unsigned bits = cf_bucket_bits(shape, grown);
    form->bucket_bits = bits;
    form->payloads_at = bits - b * form->payload_bits;
    form->tag_bits = form->payloads_at - (shape->spill_bound != 0);
    unsigned w = form->lane = form->slot_bits - nibble, first = shape->semisorted ? CF_CODE_BITS : 0;
    unsigned step = 1u << cf_lowest_bit(bits | 8);
    form->lane_of = ((1u << 16) + w - 1) / w;
    form->two = b > CF_SEMISORT_SLOTS || !fits_word(0, form->tag_bits, step);
    /* lanes of one bit: cf_zeros would miss some */
    form->any =
        w < 2 || (b < CF_SEMISORT_SLOTS && 3 * w > 63) || (form->two && !set_halves(form, first, step));
    form->two &= !form->any;
    for (unsigned i = 0; i < (form->two ? b / 2 : b) && !form->any; i++)
        form->ones |= (uint64_t)1 << i * w;
    form->highs = form->ones << (w - 1);
    form->known = form->ones << (shape->pair_bits - nibble);
#ifndef CUCKOO_SMALL
    unsigned number = form->grown * 4u + form->semi * 2u + form->two;
    bool whole = !form->two && !grown && bits % 8 == 0 && form->payload_bits == 0;
    bool one = shape->pair_bits == shape->fingerprint_bits;
    form->kind = form->any ? 0 : whole ? (one ? 1u : 3u) + form->semi : 5 + number;
#endif
}

/* ---- two buckets ---- */

static inline unsigned bits_in(unsigned x)
{
    unsigned n = 0;
    for (; x != 0; x &= x - 1)
        n++;
    return n;
}

static CF_ALWAYS_INLINE cf_found find_all(cf_kind kind, const cf_filter *filter, uint64_t at0,
                                          uint64_t at1, uint64_t tag0, uint64_t tag1)
{
    unsigned a = cf_slots_by(kind, filter, at0, tag0), b = cf_slots_by(kind, filter, at1, tag1);
    if ((a | b) == 0)
        return (cf_found){0, 0, 0};
    unsigned slot = cf_lowest_bit(a != 0 ? a : b);
    return (cf_found){bits_in(a) + bits_in(b), a == 0, slot * filter->view.form.lane};
}

cf_found cf_find_all(const cf_filter *filter, uint64_t at0, uint64_t at1, uint64_t tag0, uint64_t tag1)
{
    return CF_BY_FORM(&filter->view.form, find_all, filter, at0, at1, tag0, tag1);
}

/* ---- by the number of a bucket ---- */

uint64_t cf_slot_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_bucket_at(filter, bucket), lane = at + slot * form->lane;
    assert(slot < filter->geometry.bucket_size);
    if (!form->semi)
        return cf_load_bits(filter->view.table, lane) & form->slot_mask;
    uint64_t top = cf_load_bits(filter->view.table, lane + CF_CODE_BITS) & cf_ones(form->lane);
    return top << CF_NIBBLE_BITS |
           (cf_nibbles_at(filter, CF_KIND_ANY(form), at) >> slot * CF_NIBBLE_BITS & CF_NIBBLE_MASK);
}

uint64_t cf_payload_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    return filter->view.form.payload_bits == 0
               ? 0
               : cf_payload_at(filter, cf_bucket_at(filter, bucket), slot);
}

unsigned cf_bucket_find(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    return CF_BY_FORM(&filter->view.form, cf_slots_by, filter, cf_bucket_at(filter, bucket), tag);
}

void cf_bucket_read(const cf_filter *filter, uint64_t bucket, cf_contents *contents)
{
    uint64_t at = cf_bucket_at(filter, bucket);
    CF_BY_FORM(&filter->view.form, cf_tags_by, filter, at, contents->tag);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        contents->payload[slot] = cf_payload_at(filter, at, slot);
}

void cf_bucket_write(cf_filter *filter, uint64_t bucket, cf_contents *contents)
{
    uint64_t at = cf_bucket_to_change(filter, bucket);
    CF_BY_FORM(&filter->view.form, cf_store_by, filter, at, contents);
}

void cf_bucket_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag, uint64_t payload)
{
    uint64_t at = cf_bucket_to_change(filter, bucket);
    CF_BY_FORM(&filter->view.form, cf_set_by, filter, at, slot * filter->view.form.lane, tag, payload);
}
