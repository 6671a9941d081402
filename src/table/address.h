/* SPDX-License-Identifier: MIT */
/*
** address.h - from a hash to the two buckets of its key, and back.
**
**      base bucket  j  = floor(hash * m0 / 2^64)            the high bits; m0 is even
**      pair bits    p  = the lowest s bits of the hash
**      remainder    R  = the bits above them, lowest first
**      alternate    j' = (g(p) - j) mod m0                  g is odd; known from (j, p) alone
**                   R' = R XOR x(p)
**
** Applying this twice is the identity, g - (g - j) = j, for every even m0; the XOR of the paper
** (equation 1) needs a power of two. An entry does not know on which side it is, and need not. j + j' is
** g or g + m0, which is odd, so one of j and j' is odd and the other one is even.
**
** The fingerprint of f bits is p and the first bits of R. Growth (growth.h) turns remainder bits into
** address bits, lowest first. A bucket is then (j, e): base bucket j, and extension e, the first
** remainder bits of all its entries: `level` of them, or one more if the bucket is already split, that
** is, if j * 2^level + e < split. Growth appends buckets; the number of a bucket is
**
**      e = 0:                      j
**      else, t = floor(log2 e):    (m0 + j) * 2^t + e - 2^t
**
** - A fingerprint is never zero, because zero marks an empty slot: a hash whose lowest f bits are zero
**   gets bit 0 set before anything else, at every level. x(0) = 0, so it is not zero on the alternate
**   side either.
** - The two buckets of a key always differ. If about one key in m0 had a single bucket, a few keys could
**   crowd one bucket.
** - The whole fingerprint is pair bits, as in the paper, unless the filter may grow: growth takes its
**   address bits from the remainder. With few pair bits many keys share one pair of buckets, which 2b of
**   them fill: with s = 8, b = 2 and a million keys this happens in one of two thousand fillings to a
**   load factor of 0.85. A filter that grows then splits.
** - x makes one table of the extensions of all base buckets; without it each base bucket would form a
**   small table with the base buckets that it is paired with.
*/
#ifndef CF_ADDRESS_H
#define CF_ADDRESS_H

#include "../base/bits.h"
#include "../include/cuckoo_inspect.h"

/* The same entry or key, seen from its other side. */
static inline cf_side cf_alternate(const cf_filter *filter, cf_side from)
{
    unsigned s = filter->geometry.pair_bits;
    uint64_t mix = cf_pair_mix(from.bits & filter->view.pair_mask);
    from.base = cf_alternate_base(filter->geometry.buckets, from.base, mix);
    /* RULE: the alternate XORs the known bits with bits that follow from the pair bits */
    from.bits ^= cf_turn_of(mix) << s & cf_low_bits(s + from.length);
    return from;
}

/* The length of a key: it knows more bits than any entry. */
enum { CF_KEY_LENGTH = 255 };

/* A key on its base side. */
static inline cf_side cf_base(const cf_filter *filter, uint64_t hash)
{
    uint64_t bits = cf_key_bits(hash, filter->view.fingerprint_mask);
    return (cf_side){cf_high_product(bits, filter->geometry.buckets), bits, CF_KEY_LENGTH};
}

/* The number of bucket (base, extension). No branch: it would be unpredictable. */
static inline uint64_t cf_bucket_number(const cf_filter *filter, uint64_t base, uint64_t extension)
{
    unsigned t = cf_floor_log2(extension | 1);
    uint64_t more = (filter->geometry.buckets - 1) & (0 - (uint64_t)(extension != 0));
    return ((base + more) << t) + extension;
}

/* 1 if the bucket of this base and remainder is already split, otherwise 0. */
static inline unsigned cf_is_split(const cf_filter *filter, uint64_t base, uint64_t remainder)
{
    /* RULE: the buckets before the split pointer are split */
    return (base << filter->level | (remainder & filter->view.level_mask)) < filter->split;
}

/* A bucket: base bucket, extension, and the number of bits of the extension. */
typedef struct cf_address {
    uint64_t base, extension;
    unsigned bits;
} cf_address;

/* The bucket of this base and remainder. */
static inline cf_address cf_address_in(const cf_filter *filter, uint64_t base, uint64_t remainder)
{
    unsigned bits = filter->level + cf_is_split(filter, base, remainder);
    return (cf_address){base, remainder & cf_ones(bits), bits};
}

/* The place of a side, if it knows at least the bits of the extension there. `grown`: form.grown. */
CF_FORCED cf_place cf_locate_by(const cf_filter *filter, bool grown, const cf_side *side)
{
    if (!grown)
        return (cf_place){side->base, side->bits & filter->view.fingerprint_mask, 0};
    unsigned s = filter->geometry.pair_bits;
    uint64_t remainder = side->bits >> s;
    cf_address address = cf_address_in(filter, side->base, remainder);
    uint64_t tag = (side->bits & filter->view.pair_mask) | remainder >> address.bits << s;
    uint64_t bucket = cf_bucket_number(filter, side->base, address.extension);
    return (cf_place){bucket, tag & filter->view.form.slot_mask, address.bits};
}

CF_FORCED cf_place cf_locate(const cf_filter *filter, const cf_side *side)
{
    return cf_locate_by(filter, filter->view.form.grown, side);
}

/* The address of a bucket with this number. */
static inline cf_address cf_address_of(const cf_filter *filter, uint64_t bucket)
{
    uint64_t m0 = filter->geometry.buckets;
    cf_address address = {bucket, 0, 0};
    if (!filter->view.form.grown)
        return address;
    if (bucket >= m0) {
        unsigned t = cf_floor_log2(bucket) - cf_floor_log2(m0);
        t -= bucket >> t < m0;
        address.base = (bucket >> t) - m0;
        address.extension = ((uint64_t)1 << t) | (bucket & cf_low_bits(t));
    }
    address.bits = filter->level + cf_is_split(filter, address.base, address.extension);
    return address;
}

/* The places where an entry or a key can be, seen from one side. There are fewer than two if it knows
** too few bits, because it comes from a filter that has grown less. */
static inline cf_pair cf_pair_from(const cf_filter *filter, cf_side one)
{
    cf_side other = cf_alternate(filter, one);
    cf_pair pair = {{one, other}, {cf_locate(filter, &one), cf_locate(filter, &other)}, 1};
    /* RULE: a side that knows too few bits has no place */
    if (one.length < pair.place[0].extension) {
        pair.side[0] = pair.side[1];
        pair.place[0] = pair.place[1];
        pair.sides = 0;
    }
    /* RULE: an alternate that knows too few bits has no place */
    pair.sides += other.length >= pair.place[1].extension;
    return pair;
}

static inline cf_pair cf_pair_of(const cf_filter *filter, uint64_t hash)
{
    return cf_pair_from(filter, cf_base(filter, hash));
}

#endif
