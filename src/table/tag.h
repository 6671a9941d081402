/* SPDX-License-Identifier: MIT */
/*
** tag.h - the tag in a slot.
**
** 0 means empty. Before the first growth a tag is the whole fingerprint of f bits; from then on entries
** know different numbers of bits, and the highest set bit is a terminator:
**
**      0 .. 0   1   remainder bits behind the extension   pair bits
**               ^ terminator
**
** A tag without a terminator (corrupt input only) is read as one without remainder bits.
*/
#ifndef CF_TAG_H
#define CF_TAG_H

#include "address.h"

/* The number of bits that a tag with a terminator knows, pair bits included; the slot is not empty. */
static inline unsigned cf_terminator(const cf_filter *filter, uint64_t tag)
{
    return cf_floor_log2(tag | (uint64_t)1 << filter->geometry.pair_bits);
}

/* True if a stored tag agrees with another tag in all bits that it knows; an empty slot never does. */
CF_FORCED bool cf_agrees(const cf_filter *filter, bool grown, uint64_t stored, uint64_t tag)
{
    /* RULE: an entry matches by the bits it knows */
    uint64_t known = grown ? cf_low_bits(cf_terminator(filter, stored)) : UINT64_MAX;
    return stored != 0 && ((stored ^ tag) & known) == 0;
}

/* With terminators: true if the entry of a slot is exhausted: it knows nothing beyond its bucket. */
static inline bool cf_is_exhausted(const cf_filter *filter, uint64_t tag)
{
    return tag >> filter->geometry.pair_bits <= 1;
}

/* The side that a tag stores in the bucket at `address`. The slot is not empty. */
static inline cf_side cf_side_of(const cf_filter *filter, cf_address address, uint64_t tag)
{
    unsigned s = filter->geometry.pair_bits;
    if (!filter->view.form.grown)
        return (cf_side){address.base, tag & filter->view.fingerprint_mask,
                         filter->geometry.fingerprint_bits - s};
    unsigned known = cf_terminator(filter, tag);
    uint64_t behind = (tag & cf_low_bits(known)) >> s;
    return (cf_side){address.base,
                     (tag & filter->view.pair_mask) | (behind << address.bits | address.extension) << s,
                     address.bits + known - s};
}

/* The tag that stores the first `length` remainder bits of a side at `place`; `length` is at least the
** extension there. Bits that do not fit are dropped. */
static inline uint64_t cf_tag_of(const cf_filter *filter, cf_place place, unsigned length)
{
    const cf_form *form = &filter->view.form;
    if (!filter->view.form.grown)
        return place.tag;
    unsigned known = filter->geometry.pair_bits + length - place.extension;
    if (known >= form->slot_bits)
        known = form->slot_bits - 1;
    return (place.tag & cf_low_bits(known)) | (uint64_t)1 << known;
}

#endif
