/* SPDX-License-Identifier: MIT */
/*
** tag.h - what a slot says.
**
** 0: it is empty. Before the first growth all f bits of a fingerprint; from then on entries know
** different numbers of bits, and the highest bit set is a terminator:
**
**      0 .. 0   1   remainder bits behind the extension   pair bits
**               ^ terminator
**
** A slot without terminator, which only hostile bytes have, reads as one that knows no remainder bits.
*/
#ifndef CF_TAG_H
#define CF_TAG_H

#include "address.h"

/* Bits that a slot with a terminator knows, pair bits included; the slot is not empty. */
static inline unsigned cf_terminator(const cf_filter *filter, uint64_t tag)
{
    return cf_floor_log2(tag | (uint64_t)1 << filter->geometry.pair_bits);
}

/* Does what a slot holds agree with a tag in all the bits it knows? Nothing agrees with an empty one. */
CF_FORCED bool cf_agrees(const cf_filter *filter, bool grown, uint64_t stored, uint64_t tag)
{
    /* RULE: an entry matches by the bits it knows */
    uint64_t known = grown ? cf_low_bits(cf_terminator(filter, stored)) : UINT64_MAX;
    return stored != 0 && ((stored ^ tag) & known) == 0;
}

/* With terminators: does the entry of a slot know nothing beyond its bucket? */
static inline bool cf_is_exhausted(const cf_filter *filter, uint64_t tag)
{
    return tag >> filter->geometry.pair_bits <= 1;
}

/* What a slot of the bucket at `address` says, seen from that side. The slot is not empty. */
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

/* What a slot at `place` has to hold to say the first `length` remainder bits of a side, its extension's
** at least. Bits that do not fit are forgotten. */
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
