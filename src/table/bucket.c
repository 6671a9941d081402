/* SPDX-License-Identifier: MIT */
#include "bucket.h"

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
    CF_BY_FORM(&filter->view.form, cf_store_by, filter, at, contents->tag, contents->payload);
}

void cf_bucket_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag, uint64_t payload)
{
    uint64_t at = cf_bucket_to_change(filter, bucket);
    CF_BY_FORM(&filter->view.form, cf_set_by, filter, at, slot * filter->view.form.lane, tag, payload);
}

unsigned cf_bucket_find(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    return CF_BY_FORM(&filter->view.form, cf_slots_by, filter, cf_bucket_at(filter, bucket), tag);
}

uint64_t cf_slot_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_bucket_at(filter, bucket), lane = at + slot * form->lane;
    assert(slot < filter->geometry.bucket_size);
    if (!form->semi)
        return cf_load_bits(filter->view.table, lane) & form->slot_mask;
    uint64_t top = cf_load_bits(filter->view.table, lane + CF_CODE_BITS) & cf_ones(form->lane);
    uint64_t nibbles = cf_nibbles_of(cf_load_bits(filter->view.table, at));
    return top << CF_NIBBLE_BITS | (nibbles >> slot * CF_NIBBLE_BITS & CF_NIBBLE_MASK);
}

void cf_overflow_set(cf_filter *filter, uint64_t bucket, bool on)
{
    if (cf_overflow_get(filter, bucket) != on)
        cf_store_bits(filter, cf_bucket_to_change(filter, bucket) + filter->view.form.tag_bits, 1, on);
}

static inline unsigned bits_in(unsigned x)
{
    unsigned n = 0;
    for (; x != 0; x &= x - 1)
        n++;
    return n;
}

CF_FORCED cf_found find_all(cf_kind kind, const cf_filter *filter, uint64_t at0, uint64_t at1,
                            uint64_t tag0, uint64_t tag1)
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
