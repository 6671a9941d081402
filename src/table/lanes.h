/* SPDX-License-Identifier: MIT */
/*
** lanes.h - bits of the table: loading them, storing them, telling the pager of it; and several slots
** compared at once.
**
** A word is up to 64 bits of a bucket that hold 1, 2, 4 or 8 whole slots (lanes), and all the lanes
** of a word are compared at once:
**
**      word     [ tag 3 ][ tag 2 ][ tag 1 ][ tag 0 ]
**      wanted   [   t   ][   t   ][   t   ][   t   ]   = t * ones
**      XOR      a lane is zero exactly where the tag is t
**
** With terminators (bucket.h), an entry matches when it agrees with t below its terminator: when
** the lowest bit of the XOR is not below its highest bit. Nothing here can fail.
*/
#ifndef CF_LANES_H
#define CF_LANES_H

#include "../base/bits.h"
#include "../shape/geometry.h"

/* ---- bits of the table ---- */

/* For what follows from the contents of the table. Pages that cannot be provided read as zeros: then
** nothing follows (cf_pages). */
#define CF_ASSERT_CONTENT(filter, condition) assert((filter)->pages != NULL || (condition))

/* The word or slot at bit offset `at` of the table, up to 64 bits, and above them whatever follows.
** None needs a ninth byte (lanes.c). Reads at most 8 bytes beyond the table (CF_RESERVED_MIN). */
static inline uint64_t cf_load_bits(const uint8_t *table, uint64_t at)
{
    return cf_load64(table + (at >> 3)) >> (at & 7);
}

/* Tells the pager of bytes of the blob that are going to be read, or changed. */
static inline void cf_need(const cf_filter *filter, uint64_t from, uint64_t to)
{
    if (filter->pages)
        filter->pages->need(filter->pages->context, from, to);
}

static inline void cf_change(const cf_filter *filter, uint64_t from, uint64_t to)
{
    if (filter->pages)
        filter->pages->change(filter->pages->context, from, to);
}

/* The same for bits of the table. */
static inline void cf_need_bits(const cf_filter *filter, uint64_t at, uint64_t bits)
{
    cf_need(filter, CF_HEADER_BYTES + (at >> 3), CF_HEADER_BYTES + ((at + bits + 7) >> 3));
}

static inline void cf_change_bits(const cf_filter *filter, uint64_t at, uint64_t bits)
{
    cf_change(filter, CF_HEADER_BYTES + (at >> 3), CF_HEADER_BYTES + ((at + bits + 7) >> 3));
}

/* So many bits lie within the 8 bytes they start in, wherever that is. */
enum { CF_STORE_BITS = 57 };

/* Overwrites the bits under `mask` at bit offset `at`. The mask is low bits, one at least, that lie
** within the 8 bytes they start in. The pager has been told (cf_change_bits). */
static inline void cf_store_bits(uint8_t *table, uint64_t at, uint64_t mask, uint64_t bits)
{
    uint8_t *p = table + (at >> 3);
    unsigned shift = at & 7;
    assert(mask != 0 && mask << shift >> shift == mask && (bits & ~mask) == 0);
    cf_store64(p, (cf_load64(p) & ~(mask << shift)) | (bits << shift));
}

/* x << n, for n below 128: the low and the high 64 bits. */
static inline cf_wide cf_wide_of(uint64_t x, unsigned n)
{
    assert(n < 128);
    return n < 64 ? (cf_wide){x << n, x >> 1 >> (63 - n)} : (cf_wide){0, x << (n - 64)};
}

/* Overwrites so many bits at bit offset `at`, which lie within the 16 bytes they start in, with bits
** that are so many at most. The pager has been told. */
static inline void cf_store_wide(uint8_t *table, uint64_t at, unsigned bits, cf_wide value)
{
    uint8_t *p = table + (at >> 3);
    unsigned shift = at & 7, end = bits + shift;
    uint64_t low = cf_low_bits(end) >> shift << shift, high = end > 64 ? cf_low_bits(end - 64) : 0;
    assert(end <= 128);
    cf_store64(p, (cf_load64(p) & ~low) | value.low << shift);
    cf_store64(p + 8, (cf_load64(p + 8) & ~high) | value.high << shift | value.low >> 1 >> (63 - shift));
}

/* ---- lanes ---- */

/* The places of a key: where in the table its two buckets start, and the tags there. */
typedef struct cf_spots {
    uint64_t byte, byte2;
    uint64_t tag, tag2;
    unsigned shift, shift2; /* bits of the first byte before the bucket */
} cf_spots;

/* Constants for slots of `width` bits in buckets of b, which are `bucket_bits` apart; `pair_bits`
** of a slot are below the lowest terminator. */
void cf_lanes_set(cf_lanes *lanes, unsigned width, unsigned b, uint64_t bucket_bits, unsigned pair_bits);

/* Do `bits` bits at the start of a bucket lie within the 8 bytes in which they start, in every
** bucket? */
bool cf_fits_word(uint64_t bucket_bits, unsigned bits);

/* Says whether a form is wide, and sets its constants for `count` lanes of `width` bits, which begin
** at bit `first` of a bucket. Its other fields are set already.
** The second word starts at byte `second` of a bucket, and its lanes at bit `second_bit` of what is
** loaded there. Where a half of the lanes may lie in nine bytes `ninth` is not 0: they are loaded from
** that bit of the byte on. */
void cf_wide_set(cf_form *form, unsigned first, unsigned width, unsigned count);

/* Constants for `count` lanes of `width` bits to a word. */
void cf_lanes_fill(cf_lanes *lanes, unsigned width, unsigned count, unsigned words, unsigned pair_bits);

/* Is any lane of x zero? Bits above the lanes do not count. Exact: a borrow starts at a zero lane
** only. The lowest lane set is zero; lanes of two bits or more that are zero are all set, others
** may be, too. */
static inline uint64_t cf_any_zero_lane(const cf_lanes *lanes, uint64_t x)
{
    return (x - lanes->ones) & ~x & lanes->highs;
}

/* Lanes of a bucket, in `one` word, or, where `wide`, a constant, says so, in `two`, from bit `shift`
** of each on. */
typedef struct cf_laid {
    uint64_t one;
    cf_two two;
    unsigned shift;
} cf_laid;

/* 64 bits from bit n of the byte at p on, from up to nine bytes. */
static inline uint64_t cf_load_nine(const uint8_t *p, unsigned n)
{
    p += n / 8;
    return cf_load64(p) >> n % 8 | cf_load64(p + 1) << (8 - n % 8);
}

/* Those of a bucket at bit `shift` of a byte. Wide: the first word begins at bit `first` of the
** bucket. */
static CF_ALWAYS_INLINE cf_laid cf_load_lanes(const cf_form *form, bool wide, const uint8_t *p,
                                              unsigned first, unsigned shift)
{
    return wide ? (cf_laid){.two = {cf_load64(p + first / 8), cf_load64(p + form->second)},
                            .shift = shift}
                : (cf_laid){.one = cf_load64(p) >> shift};
}

/* The same of a wide form with `ninth`. */
static inline cf_laid cf_load_long_lanes(const cf_form *form, const uint8_t *p, unsigned shift)
{
    return (cf_laid){
        .two = {cf_load_nine(p, shift), cf_load_nine(p + form->second, shift + form->ninth)}};
}

/* The lanes of a bucket without a tag: their top bits are left where a lane may hold it. `lanes` are
** those of one word. */
static CF_ALWAYS_INLINE cf_laid cf_without(const cf_form *form, const cf_lanes *lanes, bool wide,
                                           cf_laid bits, uint64_t tag)
{
    const uint64_t *ones = form->ones;
    uint64_t x = bits.one ^ tag * lanes->ones;
    cf_two tags = {tag * ones[0], tag * ones[1]};
    return wide
               ? (cf_laid){.two = cf_two_without(bits.two, bits.shift, tags, (cf_two){ones[0], ones[1]})}
               : (cf_laid){.one = (x - lanes->ones) & ~x};
}

/* Does either of two buckets hold its tag, by what is left of them? */
static CF_ALWAYS_INLINE bool cf_either_has(const cf_form *form, const cf_lanes *lanes, bool wide,
                                           cf_laid left, cf_laid left2)
{
    return wide ? cf_two_any(left.two, left2.two, (cf_two){form->tops_of[0], form->tops_of[1]})
                : ((left.one | left2.one) & lanes->highs) != 0;
}

/* So far the top bits of the second word are moved down to stand beside those of the first one, where
** none are: lanes have more bits. */
enum { CF_BESIDE = 1 };

/* Which lanes hold the tag, by what is left: as cf_any_zero_lane. `first` as above. */
static CF_ALWAYS_INLINE uint64_t cf_same_lanes(const cf_form *form, const cf_lanes *lanes, bool wide,
                                               unsigned first, cf_laid left)
{
    return wide ? (cf_two_word(left.two, 0) & form->tops_of[0]) >> first % 8 |
                      (cf_two_word(left.two, 1) & form->tops_of[1]) >> (form->second_bit + CF_BESIDE)
                : left.one & lanes->highs;
}

static inline bool cf_has_halves(const cf_form *form)
{
    return !CF_IS_SMALL && form->is_wide && form->ninth == 0;
}

/* Both halves of the lanes of a wide bucket that has no `ninth`, each from bit 0 of a word on. */
static CF_ALWAYS_INLINE cf_wide cf_load_halves(const cf_form *form, const uint8_t *p, unsigned first,
                                               unsigned shift)
{
    return (cf_wide){cf_load64(p + first / 8) >> (shift + first % 8),
                     cf_load64(p + form->second) >> (shift + form->second_bit)};
}

/* The same from a wide bucket at bit `shift` of a byte, without vectors: what is to be changed there is
** known sooner. */
static CF_ALWAYS_INLINE uint64_t cf_same_by_words(const cf_form *form, const uint8_t *p, unsigned first,
                                                  unsigned shift, uint64_t tag)
{
    uint64_t ones = form->ones[0] >> first % 8;
    cf_wide bits = cf_load_halves(form, p, first, shift);
    uint64_t low = bits.low ^ tag * ones, high = bits.high ^ tag * ones;
    return ((low - ones) & ~low & form->highs) | ((high - ones) & ~high & form->highs) >> CF_BESIDE;
}

/* Where a lane is: the byte of its bucket in which its word starts, and its first bit there. */
typedef struct cf_lane_at {
    unsigned byte, bit;
} cf_lane_at;

/* The first lane that holds a tag, where lanes begin at bit 0 of a bucket. No branch: which word it is
** in cannot be predicted. */
static CF_ALWAYS_INLINE cf_lane_at cf_first_lane(const cf_form *form, bool wide, uint64_t same)
{
    if (!wide)
        return (cf_lane_at){0, cf_lowest_bit(same) + 1 - form->lanes.width};
    uint64_t low = same & form->highs;
    unsigned second = low == 0;
    return (cf_lane_at){second * form->second,
                        cf_lowest_bit(low != 0 ? low : same) + form->first_bit[second]};
}

/* Is exactly one bit set in two words that are not both 0? */
static inline bool cf_is_single(uint64_t one, uint64_t other)
{
    uint64_t any = one | other;
    return ((any & (any - 1)) | (one & other)) == 0;
}

/* The top bit of every lane of x that is zero. */
static inline uint64_t cf_zero_lanes(const cf_lanes *lanes, uint64_t x)
{
    uint64_t rest = lanes->highs - lanes->ones; /* each lane: all ones but the top bit */
    return ~(((x & rest) + rest) | x) & lanes->highs;
}

/* The top bit of every lane that is empty, or whose entry, with terminator, agrees with `tag` in
** all the bits it knows. */
static inline uint64_t cf_compatible_lanes(const cf_lanes *lanes, uint64_t word, uint64_t tag)
{
    uint64_t x = (word ^ (tag * lanes->ones)) | lanes->highs; /* no lane is zero: no borrow below */
    uint64_t up_to_difference = x ^ (x - lanes->ones);
    uint64_t beyond = (word | lanes->terminators) & ~up_to_difference;
    return cf_zero_lanes(lanes, beyond);
}

/* The same in both halves of a wide bucket, with fewer steps; only bits of `highs` count, and they say
** no more than whether there is any such lane. `ones`: bit 0 of each; `pair_bits`: those of a lane. */
static CF_ALWAYS_INLINE uint64_t cf_any_compatible(const cf_form *form, cf_wide bits, uint64_t ones,
                                                   uint64_t tag, unsigned pair_bits)
{
    uint64_t wanted = tag * ones, known = ones << pair_bits, highs = form->highs;
    uint64_t low = bits.low ^ wanted, high = bits.high ^ wanted;
    low = (bits.low | known) & ~(low ^ (low - ones));
    high = (bits.high | known) & ~(high ^ (high - ones));
    return (((low - ones) & ~low) | ((high - ones) & ~high)) & highs;
}

/* The same without those that are empty. */
static inline uint64_t cf_agreeing_lanes(const cf_lanes *lanes, uint64_t word, uint64_t tag)
{
    return cf_compatible_lanes(lanes, word, tag) & ~cf_zero_lanes(lanes, word);
}

/* The lanes of a word whose bit number `bit` is 0, or, `up`, 1, without that bit; the others become
** zero. Top bits are 0 then. */
static inline uint64_t cf_lanes_without_bit(const cf_lanes *lanes, uint64_t word, unsigned bit, bool up)
{
    uint64_t with = word >> bit & lanes->ones, below = (lanes->ones << bit) - lanes->ones;
    uint64_t gone = (with << lanes->width) - with; /* all bits of the lanes that have it */
    uint64_t rest = (word & below) | (word >> 1 & ~below & lanes->all & ~lanes->highs);
    return up ? rest & gone : rest & ~gone;
}

/* The slot of the lowest lane in a set of lanes of word `index`; the set is not empty. */
static inline unsigned cf_first_slot(const cf_lanes *lanes, uint64_t set, unsigned index)
{
    assert(set != 0 && index < lanes->words);
    return index * lanes->count + cf_lowest_bit(set) / lanes->width;
}

#endif
