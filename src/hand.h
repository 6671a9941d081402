/* SPDX-License-Identifier: MIT */
/*
** hand.h - a whole bucket in hand: taken out of the table, changed, and given back with one write.
**
**      cf_hand_take(filter, kind, bucket, &hand);
**      if (cf_hand_find_empty(filter, kind, &hand, &lane))
**          cf_hand_exchange(filter, kind, &hand, lane, &item);
**      cf_hand_give_back(filter, kind, &hand);
**
** For filters that have not grown and do not tell of their pages. Meanwhile nobody else may change
** the bucket.
*/
#ifndef CF_HAND_H
#define CF_HAND_H

#include "bucket.h"

/* Two frequent kinds of filters have code of their own: buckets of one word, without payloads. It is
** the same code, compiled for what does not change. */
typedef enum cf_kind { CF_ANY_KIND, CF_SHORT_PLAIN, CF_SHORT_SEMISORTED } cf_kind;

#define CF_BY_KIND static CF_ALWAYS_INLINE

/* The tags of a bucket as words of lanes, whatever its layout, and its payloads. */
typedef struct cf_hand {
    uint64_t bucket;
    uint64_t word[CF_BUCKET_MAX], was[CF_BUCKET_MAX]; /* now, and when it was taken */
    uint64_t payload[CF_BUCKET_MAX];
} cf_hand;

static inline cf_kind cf_kind_of(const cf_filter *filter)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    if (lanes->words > 1 || filter->view.form.payload_bits)
        return CF_ANY_KIND;
    return filter->geometry.semisorted ? CF_SHORT_SEMISORTED : CF_SHORT_PLAIN;
}

CF_BY_KIND unsigned cf_kind_words(const cf_filter *filter, cf_kind kind)
{
    return kind == CF_ANY_KIND ? filter->view.form.lanes.words : 1;
}

/* For any kind. */
void cf_hand_take_long(const cf_filter *filter, uint64_t bucket, cf_hand *hand);
void cf_hand_give_back_long(cf_filter *filter, const cf_hand *hand);

CF_BY_KIND void cf_hand_take(const cf_filter *filter, cf_kind kind, uint64_t bucket, cf_hand *hand)
{
    uint64_t at = bucket * filter->view.form.bucket_bits, mask = filter->view.form.lanes.all;
    hand->bucket = bucket;
    if (kind == CF_ANY_KIND)
        cf_hand_take_long(filter, bucket, hand);
    else if (kind == CF_SHORT_PLAIN)
        hand->word[0] = hand->was[0] = cf_load_bits(filter->view.table, at) & mask;
    else
        hand->word[0] = hand->was[0] = cf_semisort_word(filter, &filter->view.form, at, 0);
}

/* Overwrites a word of a plain bucket by another: with one store, which the bits around it
** survive. */
static inline void cf_hand_store(cf_filter *filter, uint64_t at, uint64_t was, uint64_t word)
{
    uint8_t *p = filter->view.writable + (at >> 3);
    cf_store64(p, cf_load64(p) ^ (was ^ word) << (at & 7));
}

CF_BY_KIND void cf_hand_give_back(cf_filter *filter, cf_kind kind, const cf_hand *hand)
{
    uint64_t at = hand->bucket * filter->view.form.bucket_bits;
    if (kind == CF_ANY_KIND)
        cf_hand_give_back_long(filter, hand);
    else if (kind == CF_SHORT_PLAIN)
        cf_hand_store(filter, at, hand->was[0], hand->word[0]);
    else if (hand->was[0] != hand->word[0])
        cf_semisort_word_write(filter, &filter->view.form, at, hand->word[0]);
}

CF_BY_KIND bool cf_hand_holds(const cf_filter *filter, cf_kind kind, const cf_hand *hand, uint64_t tag)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    uint64_t found = 0, wanted = tag * lanes->ones;
    for (unsigned i = 0; i < cf_kind_words(filter, kind); i++)
        found |= cf_any_zero_lane(lanes, hand->word[i] ^ wanted);
    return found != 0;
}

/* Where a slot starts: bit `shift` of word `word`. */
typedef struct cf_lane {
    unsigned word, shift;
} cf_lane;

CF_BY_KIND bool cf_hand_find_empty(const cf_filter *filter, cf_kind kind, const cf_hand *hand,
                                   cf_lane *lane)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    for (unsigned i = 0; i < cf_kind_words(filter, kind); i++) {
        uint64_t empty = cf_any_zero_lane(lanes, hand->word[i]);
        if (empty != 0) {
            *lane = (cf_lane){i, cf_lowest_bit(empty) - (lanes->width - 1)};
            return true;
        }
    }
    return false;
}

/* What an item, or an entry, is in one of its buckets. */
typedef struct cf_item {
    uint64_t tag, payload;
} cf_item;

void cf_hand_exchange_payload(const cf_filter *filter, cf_hand *hand, cf_lane at, uint64_t *payload);

/* Exchanges what a slot holds for an item. */
CF_BY_KIND void cf_hand_exchange(const cf_filter *filter, cf_kind kind, cf_hand *hand, cf_lane at,
                                 cf_item *item)
{
    uint64_t there = hand->word[at.word] >> at.shift & filter->view.form.slot_mask;
    hand->word[at.word] ^= (there ^ item->tag) << at.shift;
    item->tag = there;
    if (kind == CF_ANY_KIND && filter->view.form.payload_bits)
        cf_hand_exchange_payload(filter, hand, at, &item->payload);
}

/* May two slots say the same? Two that are empty do. */
CF_BY_KIND bool cf_hand_may_repeat(const cf_filter *filter, cf_kind kind, const cf_hand *hand)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    uint64_t word = hand->word[0], found = kind == CF_ANY_KIND;
    for (unsigned shift = lanes->width; kind != CF_ANY_KIND && shift < lanes->count * lanes->width;
         shift += lanes->width)
        found |= cf_any_zero_lane(lanes, (word ^ word >> shift) | ~(lanes->all >> shift));
    return found != 0;
}

#endif
