/* SPDX-License-Identifier: MIT */
#include "bucket.h"

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
    CF_BY_FORM(&filter->view.form, cf_store_by, filter, at, contents->tag, contents->payload);
}

void cf_bucket_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag, uint64_t payload)
{
    uint64_t at = cf_bucket_to_change(filter, bucket);
    CF_BY_FORM(&filter->view.form, cf_set_by, filter, at, slot * filter->view.form.lane, tag, payload);
}

/* ---- how, and whether the header is right ---- */

void cf_set_ways(cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    cf_view *view = &filter->view;
    view->table = filter->bytes + CF_HEADER_BYTES;
    view->kind = filter->pages ? 0 : view->form.kind;
    view->quick = g->stash_size == 0 && g->epochs == 0;
    view->whole = view->kind == CF_KIND_OF_WHOLE && view->quick ? view->form.bucket_bits / 8 : 0;
    view->quick_add =
        g->epochs == 0 && filter->stashed == 0 && filter->writable != NULL && !view->sealed;
    /* RULE: only what has one value, and may have two copies, is deleted so; equivalent removed: all
    ** deletes take the other way */
    view->quick_delete = view->quick && view->quick_add && g->max_copies > 1 && g->value_bits == 0;
}

/* The complement of a checksum is none: only a header that was sealed can be opened. */
static void set_sealed(cf_filter *filter, bool sealed)
{
    filter->view.sealed = false; /* else cf_change would call cf_unseal */
    cf_change(filter, 0, CF_HEADER_BYTES);
    for (unsigned i = CF_HEADER_BYTES - 4; i < CF_HEADER_BYTES; i++)
        filter->writable[i] ^= UINT8_MAX;
    filter->view.sealed = sealed;
    cf_set_ways(filter);
}

CF_NEVER_INLINE void cf_unseal(cf_filter *filter)
{
    set_sealed(filter, false);
}

void cf_reseal(cf_filter *filter)
{
    set_sealed(filter, true);
}
