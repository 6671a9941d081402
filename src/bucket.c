#include "bucket.h"

void cf_record_read(const cf_filter *filter, uint64_t bucket, cf_record *record)
{
    cf_tags_read(filter, bucket, record->tag);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        record->payload[slot] = cf_payload_get(filter, bucket, slot);
}

static void payloads_write(cf_filter *filter, uint64_t bucket, const uint64_t *payload)
{
    uint64_t mask = cf_low_bits(filter->view.payload_bits);
    for (unsigned slot = 0; mask != 0 && slot < filter->geometry.bucket_size; slot++)
        cf_store_bits(filter, cf_payload_at(filter, bucket, slot), mask, payload[slot]);
}

/* The payloads come to be in the order of their slots. */
static void semisorted_write(cf_filter *filter, uint64_t bucket, const uint64_t *tag, uint64_t *payload)
{
    cf_semisort_write(filter, cf_record_at(filter, bucket), tag, payload);
    payloads_write(filter, bucket, payload);
}

void cf_record_write(cf_filter *filter, uint64_t bucket, const cf_record *record)
{
    if (filter->geometry.semisorted) {
        uint64_t payload[CF_SEMISORT_SLOTS];
        memcpy(payload, record->payload, sizeof payload);
        semisorted_write(filter, bucket, record->tag, payload);
        return;
    }
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        cf_store_bits(filter, cf_slot_at(filter, bucket, slot), filter->view.slot_mask,
                      record->tag[slot]);
    payloads_write(filter, bucket, record->payload);
}

void cf_semisorted_slot_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                            uint64_t payload)
{
    cf_record record;
    if (filter->view.payload_bits == 0) {
        cf_semisort_set(filter, cf_record_at(filter, bucket), slot, tag);
        return;
    }
    cf_record_read(filter, bucket, &record);
    record.tag[slot] = tag;
    record.payload[slot] = payload;
    semisorted_write(filter, bucket, record.tag, record.payload);
}
