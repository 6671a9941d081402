/*
** address.h - from a hash to the two places where its key may lie.
**
**      base bucket  j  = floor(hash * m0 / 2^64)            the high bits; any m0
**      tag          t  = the lowest f bits of the hash      pair bits p lowest, remainder bits above
**      alternate    j' = (g(p) - j) mod m0                  known from (j, t) alone
**                   t' = t with x(p) XORed into its remainder bits
**
** Going there and back is the identity for every m0, as with the XOR of the paper (equation 1), which
** needs m0 to be a power of two: g - (g - j) = j, and the pair bits do not change. An entry does not
** know on which side it is, and need not.
**
** - A tag is never zero, for zero marks an empty slot: a hash whose lowest f bits are zero gets bit 0
**   set before anything else. x(0) = 0, so an alternate tag is not zero either.
** - When m0 is even, g is made odd. Then j and j' differ in parity, and no key has to live in one
**   bucket alone. With coinciding pairs (about one key in m0) a few keys can crowd one bucket, which is
**   what limits small tables: at m0 = 20, b = 4, one filling in a million must not fail, and that
**   would allow a load of about 0.4 instead of 0.5.
**   When m0 is odd, 2j = g has one solution for every p: such a pair has one side only.
** - All of the fingerprint is pair bits, as in the paper, unless the filter may grow: growth takes its
**   address bits from the remainder. With few pair bits many different keys share one pair of buckets,
**   2b of them fill it, and one more has no place: with s = 8, b = 2 and a million keys that happens in
**   one filling of two thousand at a load of 0.85. Keys that agree in pair and fingerprint are copies to
**   the filter, kept up to cap. In small tables, where several fingerprints share an alternate, pairs still can
**   overflow: load.h.
** - x matters once growth turns remainder bits into address bits; then it makes all the extensions of
**   the table one table. It is here from the first day because it is part of where entries lie.
*/
#ifndef CF_ADDRESS_H
#define CF_ADDRESS_H

#include "bits.h"
#include "cuckoo_filter.h"

/* One strong mix of the pair bits; zero goes to zero. The multipliers are those of MurmurHash3's
** 64-bit finalizer, whose first shift is left out: pair bits are at most 32. g is taken from the
** high bits, x from the low ones. */
static inline uint64_t cf_pair_mix(uint64_t pair_bits)
{
    uint64_t x = pair_bits * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 32)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 29);
}

static inline cf_side cf_alternate(const cf_filter *filter, cf_side from)
{
    uint64_t m0 = filter->geometry.buckets;
    uint64_t mix = cf_pair_mix(from.tag & filter->pair_mask);
    uint64_t difference = (cf_scale(mix, m0) | filter->odd_pairs) - from.bucket;
    cf_side to;
    to.bucket = difference + ((int64_t)difference < 0 ? m0 : 0);
    to.tag = from.tag ^ ((mix << filter->geometry.pair_bits) & filter->tag_mask);
    return to;
}

static inline cf_pair cf_pair_from(const cf_filter *filter, cf_side one)
{
    cf_pair pair;
    pair.side[0] = one;
    pair.side[1] = cf_alternate(filter, one);
    pair.sides = pair.side[1].bucket == one.bucket ? 1 : 2;
    return pair;
}

static inline cf_side cf_base(const cf_filter *filter, uint64_t hash)
{
    hash += (hash & filter->tag_mask) == 0; /* sets bit 0 */
    return (cf_side){cf_scale(hash, filter->geometry.buckets), hash & filter->tag_mask};
}

static inline cf_pair cf_pair_of(const cf_filter *filter, uint64_t hash)
{
    return cf_pair_from(filter, cf_base(filter, hash));
}

#endif
