/* SPDX-License-Identifier: MIT */
/*
** bucket.h - one bucket record: reading, matching and writing its slots.
**
**      [ tag 0 ][ tag 1 ] ... [ tag b-1 ][ overflow ][ payload 0 ] ... [ payload b-1 ]     bit-packed
**
** A slot holds 0 when it is empty. Before the first growth it holds a fingerprint, all f bits. From
** then on entries know different numbers of bits, and the highest bit set is a terminator:
**
**      0 .. 0   1   remainder bits behind the extension   pair bits
**               ^ terminator
**
** A slot without terminator, which only hostile bytes have, reads as one that knows no remainder
** bits. The payload of an entry is the number of further copies, or a value with the sticky bit
** above it (copies.h); 0 in an empty slot. The overflow bit is there when the filter has a spill
** list (spill.h). Semi-sorted buckets keep their tags in another way (semisort.h), and their slots
** in an order of their own: after a write, slots of the bucket have other numbers.
**
** The tags of a bucket are read as words, all the slots of a word at once (lanes.h). Nothing here
** can fail; buckets and slots are in range.
*/
#ifndef CF_BUCKET_H
#define CF_BUCKET_H

#include "address.h"
#include "semisort.h"

/* ---- whole buckets ---- */

typedef struct cf_record {
    uint64_t tag[CF_BUCKET_MAX], payload[CF_BUCKET_MAX]; /* by slot, up to b of them */
} cf_record;

/* Where it starts, in bits of the table. */
static inline uint64_t cf_record_at(const cf_filter *filter, const cf_form *form, uint64_t bucket)
{
    uint64_t at = bucket * form->bucket_bits;
    if (CF_UNLIKELY(filter->pages != NULL))
        cf_need_bits(filter, at, form->bucket_bits);
    return at;
}

/* The same for a bucket that is going to be changed. */
static inline uint64_t cf_record_to_change(const cf_filter *filter, const cf_form *form, uint64_t bucket)
{
    uint64_t at = bucket * form->bucket_bits;
    assert(filter->view.writable != NULL);
    if (CF_UNLIKELY(filter->pages != NULL))
        cf_change_bits(filter, at, form->bucket_bits);
    return at;
}

/* Starts to load a bucket into the cache; for filters that are all in memory. */
static inline void cf_bucket_fetch(const cf_filter *filter, uint64_t bucket)
{
    cf_prefetch(filter->view.table + bucket * filter->view.form.bucket_bits / 8);
}

/* The same for the buckets of a key. */
static inline void cf_key_fetch(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    cf_bucket_fetch(filter, cf_locate(filter, &base).bucket);
    cf_bucket_fetch(filter, cf_locate(filter, &other).bucket);
}

void cf_record_read(const cf_filter *filter, uint64_t bucket, cf_record *record);

/* Only the tags, all b of them. */
static inline void cf_tags_read(const cf_filter *filter, uint64_t bucket, uint64_t *tag)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_at(filter, form, bucket);
    if (filter->geometry.semisorted) {
        cf_semisort_read(filter, form, at, tag);
        return;
    }
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++, at += form->lanes.width)
        tag[slot] = cf_load_bits(filter->view.table, at) & form->slot_mask;
}

/* Writes tags and payloads, but not the overflow bit. */
void cf_record_write(cf_filter *filter, uint64_t bucket, const cf_record *record);

/* ---- words ---- */

/* Word number `index` of the bucket that starts at bit `at`. */
static inline uint64_t cf_word_at(const cf_filter *filter, const cf_form *form, uint64_t at,
                                  unsigned index)
{
    if (filter->geometry.semisorted)
        return cf_semisort_word(filter, form, at, index);
    return cf_load_bits(filter->view.table, at + index * form->lanes.width * form->lanes.count);
}

/* The same of a bucket by its number. */
static inline uint64_t cf_word(const cf_filter *filter, const cf_form *form, uint64_t bucket,
                               unsigned index)
{
    return cf_word_at(filter, form, cf_record_at(filter, form, bucket), index);
}

/* How many words of the bucket at bit `at` may hold a tag: none when its tops say that it is not
** there. */
static CF_ALWAYS_INLINE unsigned cf_words_to_read(const cf_filter *filter, const cf_form *form,
                                                  uint64_t at, uint64_t tag)
{
    if (filter->geometry.semisorted && form->tops.words == 1 && !cf_tops_allow(filter, form, at, tag))
        return 0;
    return form->lanes.words;
}

/* The top bit of every lane of a word that matches a tag. */
static inline uint64_t cf_matching_lanes(const cf_filter *filter, uint64_t word, uint64_t tag)
{
    const cf_form *form = &filter->view.form;
    return filter->view.grown ? cf_agreeing_lanes(&form->lanes, word, tag)
                              : cf_zero_lanes(&form->lanes, word ^ tag * form->lanes.ones);
}

/* ---- slots ---- */

static inline uint64_t cf_slot_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_at(filter, form, bucket);
    assert(slot < filter->geometry.bucket_size);
    if (filter->geometry.semisorted)
        return cf_semisort_tag(filter, form, at, slot);
    return cf_load_bits(filter->view.table, at + slot * form->lanes.width) & form->slot_mask;
}

static inline uint64_t cf_payload_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    const cf_form *form = &filter->view.form;
    assert(slot < filter->geometry.bucket_size);
    if (form->payload_bits == 0)
        return 0;
    uint64_t at = cf_record_at(filter, form, bucket) + form->payloads_at + slot * form->payload_bits;
    return cf_load_bits(filter->view.table, at) & cf_low_bits(form->payload_bits);
}

/* Changes one slot. Its bucket may then have its slots in another order, when it is semi-sorted. */
void cf_semisorted_slot_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                            uint64_t payload);

static CF_ALWAYS_INLINE void cf_slot_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                                         uint64_t payload)
{
    if (filter->geometry.semisorted) {
        cf_semisorted_slot_set(filter, bucket, slot, tag, payload);
        return;
    }
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_to_change(filter, form, bucket);
    uint8_t *table = filter->view.writable;
    assert(slot < filter->geometry.bucket_size);
    cf_store_bits(table, at + slot * form->lanes.width, form->slot_mask, tag);
    if (form->payload_bits != 0)
        cf_store_bits(table, at + form->payloads_at + slot * form->payload_bits,
                      cf_low_bits(form->payload_bits), payload);
}

/* Slots in use by the table, occupied or not. */
static inline uint64_t cf_slots(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

/* Counts one more slot as occupied. A header that lies may count all of them already: never more
** than there are. */
static inline void cf_count_occupied(cf_filter *filter)
{
    filter->occupied += filter->occupied < cf_slots(filter);
}

/* Counts one slot less. The count of a header that lies may be 0. */
static inline void cf_count_emptied(cf_filter *filter)
{
    filter->occupied -= filter->occupied > 0;
}

/* The first empty slot of a plain bucket that is wide, by its lanes, or -1. No branch: which word it is
** in cannot be predicted. */
static CF_ALWAYS_INLINE int cf_wide_free_slot(const cf_filter *filter, const cf_form *form, cf_wide bits)
{
    uint64_t ones = form->ones[0];
    uint64_t low = (bits.low - ones) & ~bits.low & form->highs;
    uint64_t high = (bits.high - ones) & ~bits.high & form->highs;
    if ((low | high) == 0)
        return -1;
    unsigned half = low == 0 ? filter->geometry.bucket_size / 2u : 0;
    return (int)(half + cf_lowest_bit(cf_choose(low == 0, high, low)) / form->lanes.width);
}

/* The first empty slot of a bucket, or -1. */
static CF_ALWAYS_INLINE int cf_bucket_free_slot(const cf_filter *filter, uint64_t bucket)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_at(filter, form, bucket);
    if (filter->geometry.semisorted) /* empty slots come first */
        return cf_semisort_has_empty(filter, form, at) ? 0 : -1;
    if (cf_has_halves(form))
        return cf_wide_free_slot(filter, form,
                                 cf_load_halves(form, filter->view.table + at / 8, 0, at % 8));
    for (unsigned i = 0; i < form->lanes.words; i++) {
        uint64_t empty = cf_any_zero_lane(&form->lanes, cf_word_at(filter, form, at, i));
        if (empty != 0)
            return (int)cf_first_slot(&form->lanes, empty, i);
    }
    return -1;
}

/* Does any entry of a bucket match its tag? And the first empty slot of plain ones. */
static inline bool cf_look_any(const cf_filter *filter, const cf_place *place, int *empty_slot)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_at(filter, form, place->bucket), tag = place->tag, matching = 0;
    unsigned words = cf_words_to_read(filter, form, at, tag);
    for (unsigned i = 0; i < words; i++) {
        uint64_t word = cf_word_at(filter, form, at, i), empty = cf_any_zero_lane(&form->lanes, word);
        matching |= cf_matching_lanes(filter, word, tag);
        if (*empty_slot < 0 && empty != 0 && !filter->geometry.semisorted)
            *empty_slot = (int)cf_first_slot(&form->lanes, empty, i);
    }
    if (filter->geometry.semisorted)
        *empty_slot = cf_semisort_has_empty(filter, form, at) - 1; /* they come first */
    return matching != 0;
}

/* The same in a wide bucket that has grown, with fewer steps. `semisorted`: a constant. */
static CF_ALWAYS_INLINE bool cf_look_wide(const cf_filter *filter, const cf_form *form, bool semisorted,
                                          const cf_place *place, int *empty_slot)
{
    unsigned first = semisorted ? CF_CODE_BITS : 0, nibble = semisorted ? CF_NIBBLE_BITS : 0;
    uint64_t at = cf_record_at(filter, form, place->bucket);
    cf_wide bits = cf_load_halves(form, filter->view.table + at / 8, first, at % 8);
    if (cf_any_compatible(form, bits, form->ones[0] >> first % 8, place->tag >> nibble,
                          filter->geometry.pair_bits - nibble) != 0)
        return cf_look_any(filter, place, empty_slot);
    if (!semisorted)
        *empty_slot = cf_wide_free_slot(filter, form, bits);
    else if ((bits.low & cf_ones(form->tops.width)) == 0) /* slot 0, as a rule */
        *empty_slot = cf_semisort_has_empty(filter, form, at) - 1;
    return false;
}

static inline bool cf_bucket_look(const cf_filter *filter, const cf_place *place, int *empty_slot)
{
    const cf_form *form = &filter->view.form;
    if (!cf_has_halves(form) || !filter->view.grown)
        return cf_look_any(filter, place, empty_slot);
    return filter->geometry.semisorted ? cf_look_wide(filter, form, true, place, empty_slot)
                                       : cf_look_wide(filter, form, false, place, empty_slot);
}

/* ---- overflow bits ---- */

static inline bool cf_overflow_get(const cf_filter *filter, uint64_t bucket)
{
    const cf_form *form = &filter->view.form;
    return filter->geometry.spill_bound != 0 &&
           (cf_load_bits(filter->view.table, cf_record_at(filter, form, bucket) + form->tag_bits) & 1);
}

static inline void cf_overflow_set(cf_filter *filter, uint64_t bucket, bool on)
{
    const cf_form *form = &filter->view.form;
    if (cf_overflow_get(filter, bucket) != on)
        cf_store_bits(filter->view.writable, cf_record_to_change(filter, form, bucket) + form->tag_bits,
                      1, on);
}

/* ---- entries ---- */

/* Bits that a slot with a terminator knows, pair bits included; the slot is not empty. */
static inline unsigned cf_terminator(const cf_filter *filter, uint64_t tag)
{
    return cf_floor_log2(tag | (uint64_t)1 << filter->geometry.pair_bits);
}

/* With terminators: does the entry of a slot know nothing beyond its bucket? */
static inline bool cf_is_void(const cf_filter *filter, uint64_t tag)
{
    return tag >> filter->geometry.pair_bits <= 1;
}

/* What a plain fingerprint says in a slot with a terminator; 0: nothing. */
static inline uint64_t cf_with_terminator(const cf_filter *filter, uint64_t tag)
{
    return tag == 0 ? 0 : tag | (uint64_t)1 << filter->geometry.fingerprint_bits;
}

/* Where an entry goes when its bucket is split, and what its slot says there. */
typedef struct cf_children {
    bool low, high;
    uint64_t tag;
} cf_children;

static inline cf_children cf_children_of(const cf_filter *filter, uint64_t tag)
{
    unsigned s = filter->geometry.pair_bits;
    if (tag == 0) /* an empty slot, or a line of the list that lies */
        return (cf_children){false, false, 0};
    if (cf_is_void(filter, tag)) /* RULE: a void entry goes to both children */
        return (cf_children){true, true, tag};
    bool up = tag >> s & 1;
    /* RULE: the bit that leaves a slot is the first behind the pair bits */
    return (cf_children){!up, up, (tag & filter->view.pair_mask) | tag >> (s + 1) << s};
}

/* What a slot of the bucket at `home` says, seen from that side. The slot is not empty. */
static inline cf_side cf_side_of(const cf_filter *filter, cf_home home, uint64_t tag)
{
    unsigned s = filter->geometry.pair_bits;
    if (!filter->view.grown)
        return (cf_side){home.base, tag & filter->view.fingerprint_mask,
                         filter->geometry.fingerprint_bits - s};
    unsigned known = cf_terminator(filter, tag);
    uint64_t behind = (tag & cf_low_bits(known)) >> s;
    return (cf_side){home.base,
                     (tag & filter->view.pair_mask) | (behind << home.bits | home.extension) << s,
                     home.bits + known - s};
}

/* What a slot at `place` has to hold to say the first `length` remainder bits of a side: its
** extension's at least. Bits that do not fit are forgotten. */
static inline uint64_t cf_tag_of(const cf_filter *filter, cf_place place, unsigned length)
{
    const cf_form *form = &filter->view.form;
    if (!filter->view.grown)
        return place.tag;
    unsigned known = filter->geometry.pair_bits + length - place.extension;
    if (known >= form->lanes.width)
        known = form->lanes.width - 1;
    return (place.tag & cf_low_bits(known)) | (uint64_t)1 << known;
}

/* What the slot of an entry in the bucket at `home` has to hold in its other bucket, `to`. */
static inline uint64_t cf_tag_there(const cf_filter *filter, cf_home home, uint64_t tag, uint64_t to)
{
    unsigned s = filter->geometry.pair_bits, f = filter->geometry.fingerprint_bits;
    unsigned length = home.bits + (filter->view.grown ? cf_terminator(filter, tag) : f) - s;
    uint64_t pair = tag & filter->view.pair_mask, mix = cf_pair_mix(pair);
    uint64_t remainder = (tag >> s << home.bits | home.extension) ^ mix; /* and what is beyond length */
    cf_home there = cf_home_in(filter, cf_alternate_base(filter, home.base, mix), remainder);
    CF_ASSERT_CONTENT(filter, length >= there.bits &&
                                  to == cf_bucket_number(filter, there.base, there.extension));
    uint64_t bits = (pair | remainder >> there.bits << s) & filter->view.form.slot_mask;
    return cf_tag_of(filter, (cf_place){to, bits, there.bits}, length);
}

#endif
