/* SPDX-License-Identifier: MIT */
#include "undo.h"

#include "bucket.h"
#include "open.h"
#include "spill.h"

void cf_undo_begin(cf_undo *undo, const cf_filter *filter)
{
    undo->then = *filter;
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

static uint64_t record_bytes(const cf_filter *filter, uint64_t bucket)
{
    return (cf_form_of(filter, bucket)->bucket_bits + 7) / 8;
}

/* Room for the next record, whatever its width, and for the list when it is the first. */
static cf_status reserve(const cf_filter *filter, cf_undo *undo)
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
    return CF_OK;
}

static void note_list(const cf_filter *filter, cf_undo *undo)
{
    const uint8_t *list = filter->bytes + filter->length - cf_spill_bytes(filter);
    cf_need(filter, filter->length - cf_spill_bytes(filter), filter->length);
    memcpy(undo->bytes, list, cf_in_memory(list_bytes(undo)));
    undo->used = list_bytes(undo);
}

/* Bit by bit, the overflow bit included: nobody reads that. */
static void note_record(const cf_filter *filter, uint64_t bucket, cf_undo *undo)
{
    enum { STEP = 7 }; /* bytes that one load reaches */
    const cf_form *form = cf_form_of(filter, bucket);
    uint64_t at = cf_record_at(filter, form, bucket), bytes = record_bytes(filter, bucket);
    for (uint64_t i = 0; i < bytes; i += STEP)
        cf_store64(undo->bytes + undo->used + i, cf_load_bits(filter->view.table, at + 8 * i));
    undo->used += bytes;
}

cf_status cf_grow_on_noted(cf_filter *filter, cf_undo *undo)
{
    cf_status status = reserve(filter, undo);
    if (status == CF_OK && undo->used == 0)
        note_list(filter, undo);
    if (status == CF_OK)
        status = cf_grow_prepare(filter, &undo->steps);
    if (status != CF_OK)
        return status;
    note_record(filter, cf_bucket_to_split(filter), undo);
    cf_grow_split(filter, &undo->steps);
    return CF_OK;
}

cf_status cf_grow_noted(cf_filter *filter, cf_undo *undo)
{
    cf_status status = cf_grow_on_noted(filter, undo);
    cf_grow_follow(filter, &undo->steps);
    return status;
}

static void take_record(const cf_filter *filter, uint64_t bucket, cf_record *record, cf_undo *undo)
{
    cf_filter scratch = *filter;
    assert(undo->used >= record_bytes(filter, bucket));
    undo->used -= record_bytes(filter, bucket);
    scratch.view.table = undo->bytes + undo->used; /* its bucket 0 is the record */
    scratch.view.form = *cf_form_of(filter, bucket);
    scratch.view.narrow_buckets = 0;
    scratch.pages = NULL;
    cf_record_read(&scratch, 0, record);
}

/* ---- taking growth back ---- */

/* Takes the last split back. */
static void join_buckets(cf_filter *filter, cf_undo *undo)
{
    static const cf_record nothing;
    cf_record record;
    assert(filter->split > 0);
    filter->split--;
    filter->buckets--;
    uint64_t low = cf_bucket_to_split(filter);
    take_record(filter, low, &record, undo);
    cf_record_write(filter, low, &record);
    cf_record_write(filter, filter->buckets, &nothing);
    /* RULE: a bucket that was widened for a split becomes narrow again */
    if (filter->view.narrow_buckets != cf_narrow_at(&filter->geometry, filter->level, filter->split))
        cf_narrow_bucket(filter);
}

/* Zeroes what lies behind the last bucket, to the end of a blob of this length. */
static void clear_rest(cf_filter *filter, uint64_t length)
{
    uint64_t bits =
        cf_table_bits(&filter->geometry, filter->level, filter->split, filter->view.form.grown);
    uint8_t *p = filter->view.writable + bits / 8,
            *end = filter->view.writable - CF_HEADER_BYTES + length;
    cf_change(filter, CF_HEADER_BYTES + bits / 8, length);
    if (bits % 8 != 0)
        *p++ &= (uint8_t)cf_low_bits(bits % 8);
    memset(p, 0, (size_t)(end - p));
}

static void restore_list(cf_filter *filter, const cf_undo *undo)
{
    uint8_t *end = filter->view.writable - CF_HEADER_BYTES + filter->length;
    cf_change(filter, filter->length - cf_spill_bytes(filter), filter->length);
    memcpy(end - cf_spill_bytes(filter), undo->bytes, cf_in_memory(list_bytes(undo)));
    filter->spilled = undo->then.spilled;
    cf_spill_set_bits(filter);
}

/* Is it as long, and are as many buckets narrow? */
static bool has_form_of(const cf_filter *filter, const cf_filter *then)
{
    return filter->length == then->length && filter->view.form.grown == then->view.form.grown &&
           filter->view.narrow_buckets == then->view.narrow_buckets;
}

void cf_grow_back(cf_filter *filter, cf_undo *undo)
{
    const cf_filter *then = &undo->then;
    assert(filter->buckets >= then->buckets && filter->length >= then->length);
    cf_grow_follow(filter, &undo->steps);
    if (filter->buckets == then->buckets && has_form_of(filter, then))
        return;
    cf_spill_clear_bits(filter);
    while (filter->buckets > then->buckets) {
        if (filter->split == 0)
            cf_set_stage(filter, filter->level - 1, filter->buckets / 2, true);
        join_buckets(filter, undo);
    }
    if (!then->view.grown)
        cf_end_growth(filter, then);
    else if (filter->level != then->level)
        cf_set_stage(filter, then->level, then->split, true);
    clear_rest(filter, filter->length);
    filter->occupied = then->occupied; /* RULE: the count of slots is taken back */
    filter->length = then->length;
    restore_list(filter, undo);
}
