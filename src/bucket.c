/* SPDX-License-Identifier: MIT */
#include "bucket.h"

/* Payloads that are loaded, or stored, together. */
static unsigned payloads_at_once(const cf_filter *filter, const cf_form *form)
{
    unsigned b = filter->geometry.bucket_size;
    return b * form->payload_bits <= CF_STORE_BITS ? b : 1;
}

static void payloads_read(const cf_filter *filter, uint64_t bucket, uint64_t *payload)
{
    const cf_form *form = cf_form_of(filter, bucket);
    unsigned width = form->payload_bits, n = payloads_at_once(filter, form);
    uint64_t mask = cf_low_bits(width);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot += n) {
        uint64_t bits = cf_load_bits(filter->view.table, cf_payload_at(filter, form, bucket, slot));
        for (unsigned i = 0; i < n; i++, bits >>= width)
            payload[slot + i] = bits & mask;
    }
}

static void payloads_write(cf_filter *filter, uint64_t bucket, const uint64_t *payload)
{
    const cf_form *form = cf_form_of(filter, bucket);
    unsigned width = form->payload_bits, n = payloads_at_once(filter, form);
    for (unsigned slot = 0; width != 0 && slot < filter->geometry.bucket_size; slot += n) {
        uint64_t bits = 0;
        for (unsigned i = 0; i < n; i++)
            bits |= payload[slot + i] << i * width;
        cf_store_bits(filter, cf_payload_at(filter, form, bucket, slot), cf_low_bits(n * width), bits);
    }
}

void cf_record_read(const cf_filter *filter, uint64_t bucket, cf_record *record)
{
    cf_tags_read(filter, bucket, record->tag);
    payloads_read(filter, bucket, record->payload);
}

void cf_record_write(cf_filter *filter, uint64_t bucket, const cf_record *record)
{
    const cf_form *form = cf_form_of(filter, bucket);
    uint64_t at = cf_record_at(filter, form, bucket);
    if (filter->geometry.semisorted) {
        uint64_t payload[CF_SEMISORT_SLOTS];
        memcpy(payload, record->payload, sizeof payload);
        cf_semisort_write(filter, form, at, record->tag, payload);
        payloads_write(filter, bucket, payload);
        return;
    }
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++, at += form->lanes.width)
        cf_store_bits(filter, at, form->slot_mask, record->tag[slot]);
    payloads_write(filter, bucket, record->payload);
}

void cf_semisorted_slot_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                            uint64_t payload)
{
    cf_record record;
    const cf_form *form = cf_form_of(filter, bucket);
    if (form->is_short) {
        cf_semisort_set(filter, form, cf_record_at(filter, form, bucket), slot, tag, payload);
        return;
    }
    cf_record_read(filter, bucket, &record);
    record.tag[slot] = tag;
    record.payload[slot] = payload;
    cf_record_write(filter, bucket, &record);
}
