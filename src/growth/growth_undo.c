/* SPDX-License-Identifier: MIT */
#include "growth_undo.h"

#include "../entry/spill.h"

void cf_undo_begin(cf_undo *undo, const cf_filter *filter)
{
    undo->then = (cf_before){filter->buckets, filter->split,   filter->length,    filter->occupied,
                             filter->level,   filter->spilled, filter->view.grown};
    undo->bytes = undo->first;
    undo->used = 0;
    undo->room = sizeof undo->first;
    undo->steps = cf_steps_begin(filter);
}

void cf_undo_end(const cf_filter *filter, cf_undo *undo)
{
    if (undo->bytes != undo->first)
        filter->memory.resize(filter->memory.context, undo->bytes, 0);
    cf_undo_begin(undo, filter);
}

/* Bytes of the spill list of `then`, and of a record of this filter. */
static uint64_t list_bytes(const cf_undo *undo)
{
    return (uint64_t)undo->then.spilled * CF_SPILL_ENTRY;
}

static uint64_t record_bytes(const cf_filter *filter)
{
    return (filter->view.form.bucket_bits + 7) / 8;
}

static void keep_list(const cf_filter *filter, cf_undo *undo)
{
    uint64_t from = filter->length - cf_spill_bytes(filter);
    cf_need(filter, from, filter->length);
    memcpy(undo->bytes, filter->bytes + from, cf_in_memory(list_bytes(undo)));
    undo->used = list_bytes(undo);
}

cf_status cf_undo_reserve(const cf_filter *filter, cf_undo *undo)
{
    enum { LONGEST_RECORD = 80, BEYOND = 8 }; /* bytes; reads and writes go beyond */
    uint64_t needed = undo->used + (undo->used == 0 ? list_bytes(undo) : 0) + LONGEST_RECORD + BEYOND;
    if (needed > undo->room) {
        uint64_t room = 2 * needed;
        uint8_t *longer = filter->memory.resize(filter->memory.context,
                                                undo->bytes == undo->first ? NULL : undo->bytes, room);
        if (longer == NULL)
            return CF_NO_MEMORY;
        if (undo->bytes == undo->first)
            memcpy(longer, undo->first, cf_in_memory(undo->used));
        undo->bytes = longer;
        undo->room = room;
    }
    if (undo->used == 0)
        keep_list(filter, undo);
    return CF_OK;
}

enum { STEP = 7 }; /* bytes of a record that one load, or store, reaches */

void cf_undo_push(const cf_filter *filter, uint64_t bucket, cf_undo *undo)
{
    uint64_t bytes = record_bytes(filter);
    uint64_t at = cf_record_at(filter, &filter->view.form, bucket);
    for (uint64_t i = 0; i < bytes; i += STEP)
        cf_store64(undo->bytes + undo->used + i, cf_load_bits(filter->view.table, at + 8 * i));
    undo->used += bytes;
}

void cf_undo_pop(cf_filter *filter, uint64_t bucket, cf_undo *undo)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = cf_record_to_change(filter, form, bucket), bits = form->bucket_bits;
    assert(undo->used >= record_bytes(filter));
    undo->used -= record_bytes(filter);
    for (uint64_t i = 0; i < bits; i += 8 * STEP) {
        uint64_t mask = cf_low_bits(bits - i < 8 * STEP ? (unsigned)(bits - i) : 8 * STEP);
        uint64_t kept = cf_load64(undo->bytes + undo->used + i / 8);
        cf_store_bits(filter->view.writable, at + i, mask, kept & mask);
    }
    cf_overflow_set(filter, bucket, false);
}

void cf_undo_list(cf_filter *filter, const cf_undo *undo)
{
    uint8_t *end = filter->view.writable - CF_HEADER_BYTES + filter->length;
    cf_change(filter, filter->length - cf_spill_bytes(filter), filter->length);
    memcpy(end - cf_spill_bytes(filter), undo->bytes, cf_in_memory(list_bytes(undo)));
    filter->spilled = undo->then.spilled;
    cf_spill_mark_all(filter, true);
}
