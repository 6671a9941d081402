/* SPDX-License-Identifier: MIT */
#include "bucket.h"

void cf_record_read(const cf_filter *filter, uint64_t bucket, cf_record *record)
{
    cf_tags_read(filter, bucket, record->tag);
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_at(filter, form, bucket) + form->payloads_at;
    uint64_t mask = cf_low_bits(form->payload_bits);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++, at += form->payload_bits)
        record->payload[slot] = cf_load_bits(filter->view.table, at) & mask;
}

void cf_record_write(cf_filter *filter, uint64_t bucket, const cf_record *record)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_to_change(filter, form, bucket), payload[CF_BUCKET_MAX];
    uint64_t mask = cf_low_bits(form->payload_bits);
    unsigned b = filter->geometry.bucket_size;
    memcpy(payload, record->payload, sizeof payload); /* a constant: no call */
    if (filter->geometry.semisorted)
        cf_semisort_write(filter, form, at, record->tag, payload);
    else
        for (unsigned slot = 0; slot < b; slot++)
            cf_store_bits(filter->view.writable, at + slot * form->lanes.width, form->slot_mask,
                          record->tag[slot]);
    at += form->payloads_at;
    for (unsigned slot = 0; mask != 0 && slot < b; slot++, at += form->payload_bits)
        cf_store_bits(filter->view.writable, at, mask, payload[slot]);
}

void cf_semisorted_slot_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                            uint64_t payload)
{
    cf_record record;
    const cf_form *form = &filter->view.form;
    if (form->is_short) {
        cf_semisort_set(filter, form, cf_record_to_change(filter, form, bucket), slot, tag, payload);
        return;
    }
    cf_record_read(filter, bucket, &record);
    record.tag[slot] = tag;
    record.payload[slot] = payload;
    cf_record_write(filter, bucket, &record);
}
