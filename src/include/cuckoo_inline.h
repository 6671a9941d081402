/* SPDX-License-Identifier: MIT */
/*
** cuckoo_inline.h - the half of an open filter that follows from its header and its place (open.c).
*/
#ifndef CF_FILTER_PRIVATE_H
#define CF_FILTER_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/inline.h"

/* How a bucket is written down (bucket.h): four flags choose the code, the rest are its constants. */
typedef struct cf_form {
    bool any;                    /* lanes are loaded one at a time */
    bool semi;                   /* semi-sorted */
    bool two;                    /* lanes are two halves; else, unless `any`, one word */
    bool grown;                  /* tags have terminators */
    unsigned kind;               /* the number of functions for one key (lanes.h) */
    unsigned lane;               /* bits of a lane: what is left of a tag behind the code */
    unsigned lane_of;            /* bit n of a word is in lane n * lane_of >> 16 */
    unsigned second, second_bit; /* the byte where the second half is loaded, its first bit there */
    unsigned slot_bits;          /* of a tag */
    unsigned tag_bits;           /* of all tags of a bucket */
    unsigned payload_bits;       /* of a slot, saturated bit included */
    unsigned payloads_at;        /* bits before the payloads: tags and overflow bit */
    uint64_t bucket_bits;
    uint64_t ones, highs, known; /* of a word, or of both halves: the lowest bit of each lane, the top
                                    one, the lowest that can be a terminator */
    uint64_t slot_mask;          /* the bits of a tag */
} cf_form;

typedef struct cf_view {
    const uint8_t *table;         /* the buckets */
    bool quick;                   /* neither a stash, nor epochs: what buckets say is the answer */
    bool quick_add, quick_delete; /* most keys are added, or deleted, by a look at their buckets */
    bool sealed;                  /* nothing has changed since the header was written (cf_seal) */
    unsigned kind;                /* that of the form; 0 with a pager */
    unsigned new_length;          /* remainder bits that a new entry knows */
    uint64_t payload_max;         /* of an entry, saturated bit apart */
    uint64_t saturated;           /* what marks a payload as saturated; 0: nothing does (copies.h) */
    uint64_t *left; /* units of work that a merge may still do (watch.h); NULL: any number */
    uint64_t fingerprint_mask, level_mask, pair_mask; /* f, level and s low bits */
    cf_form form;                                     /* of the buckets */
    uint64_t whole;         /* bytes of a bucket, where cf_contains itself does the lookup; or 0 */
    uint64_t most, most_of; /* the slots that may be occupied before a table of so many buckets grows */
} cf_view;

/* One strong mix of the pair bits; zero goes to zero. The multipliers are those of MurmurHash3's
** 64-bit finalizer, whose first shift is left out: pair bits are at most 32. g is taken from the
** high bits, x from the low ones, after the last shift. */
CF_INLINE uint64_t cf_pair_mix(uint64_t pair_bits)
{
    uint64_t x = pair_bits * UINT64_C(0xff51afd7ed558ccd);
    return (x ^ (x >> 32)) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* x, of such a mix: the bits by which the remainder is turned. */
CF_INLINE uint64_t cf_turn_of(uint64_t mix)
{
    return mix ^ (mix >> 29);
}

/* The base bucket on the other side, of m0. `mix` is that of the pair bits. */
CF_INLINE uint64_t cf_alternate_base(uint64_t m0, uint64_t base, uint64_t mix)
{
    /* RULE: the buckets of a pair differ in parity */
    uint64_t difference = (cf_high_product(mix, m0) | 1) - base;
    return difference >> 63 != 0 ? difference + m0 : difference;
}

/* The top bits of lanes that are zero. Only the lowest one set is sure: zeros borrow from above. */
CF_INLINE uint64_t cf_zeros(const cf_form *form, uint64_t x)
{
    return (x - form->ones) & ~x & form->highs;
}

#endif
