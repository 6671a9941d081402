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

static void semisorted_write(cf_filter *filter, uint64_t bucket, cf_record *record)
{
    cf_semisort_write(filter, cf_record_at(filter, bucket), record->tag, record->payload);
    payloads_write(filter, bucket, record->payload);
}

void cf_record_write(cf_filter *filter, uint64_t bucket, const cf_record *record)
{
    if (filter->geometry.semisorted) {
        cf_record sorted = *record;
        semisorted_write(filter, bucket, &sorted);
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
    cf_record_read(filter, bucket, &record);
    record.tag[slot] = tag;
    record.payload[slot] = payload;
    semisorted_write(filter, bucket, &record);
}
