/* SPDX-License-Identifier: MIT */
#include "hand.h"

void cf_hand_take_long(const cf_filter *filter, uint64_t bucket, cf_hand *hand)
{
    for (unsigned i = 0; i < filter->view.form.lanes.words; i++)
        hand->word[i] = hand->was[i] =
            cf_word(filter, &filter->view.form, bucket, i) & filter->view.form.lanes.all;
    for (unsigned slot = 0; filter->view.form.payload_bits && slot < filter->geometry.bucket_size;
         slot++)
        hand->payload[slot] = cf_payload_get(filter, bucket, slot);
}

static void write_record(cf_filter *filter, const cf_hand *hand)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    cf_record record;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        uint64_t word = hand->word[slot / lanes->count];
        record.tag[slot] = word >> slot % lanes->count * lanes->width & filter->view.form.slot_mask;
        record.payload[slot] = filter->view.form.payload_bits ? hand->payload[slot] : 0;
    }
    cf_record_write(filter, hand->bucket, &record);
}

void cf_hand_give_back_long(cf_filter *filter, const cf_hand *hand)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    uint64_t at = hand->bucket * filter->view.form.bucket_bits;
    if (memcmp(hand->word, hand->was, lanes->words * sizeof hand->word[0]) == 0)
        return;
    if (filter->geometry.semisorted || filter->view.form.payload_bits) {
        write_record(filter, hand);
        return;
    }
    for (unsigned i = 0; i < lanes->words; i++)
        cf_hand_store(filter, at + (uint64_t)i * lanes->count * lanes->width, hand->was[i],
                      hand->word[i]);
}

void cf_hand_exchange_payload(const cf_filter *filter, cf_hand *hand, cf_lane at, uint64_t *payload)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    unsigned slot = at.word * lanes->count + at.shift / lanes->width;
    uint64_t with = hand->payload[slot];
    hand->payload[slot] = *payload;
    *payload = with;
}
