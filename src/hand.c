#include "hand.h"

void cf_hand_take_payloads(const cf_filter *filter, cf_hand *hand)
{
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        hand->payload[slot] = cf_payload_get(filter, hand->bucket, slot);
}

void cf_hand_exchange_payload(const cf_filter *filter, cf_hand *hand, cf_lane at, uint64_t *payload)
{
    const cf_lanes *lanes = &filter->view.lanes;
    unsigned slot = at.word * lanes->count + at.shift / lanes->width;
    uint64_t with = hand->payload[slot];
    hand->payload[slot] = *payload;
    *payload = with;
}
