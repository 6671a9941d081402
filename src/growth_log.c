#include "growth_log.h"

#include "format.h"
#include "growth.h"
#include "spill.h"

void cf_growth_log_begin(cf_growth_log *log, const cf_filter *filter)
{
    log->then = *filter;
    log->bytes = log->first;
    log->used = 0;
    log->room = sizeof log->first;
}

void cf_growth_log_end(const cf_filter *filter, cf_growth_log *log)
{
    if (log->bytes != log->first)
        filter->memory.resize(log->bytes, 0);
    cf_growth_log_begin(log, filter);
}

/* Bytes of the spill list of `then`, and of a record of this filter. */
static uint64_t list_logged(const cf_growth_log *log)
{
    return (uint64_t)log->then.spilled * CF_SPILL_ENTRY;
}

static uint64_t record_bytes(const cf_filter *filter)
{
    return (filter->bucket_bits + 7) / 8;
}

cf_status cf_log_reserve(const cf_filter *filter, cf_growth_log *log)
{
    enum { LONGEST_RECORD = 80, BEYOND = 8 }; /* bytes; reads and writes go beyond */
    uint64_t needed = log->used + (log->used == 0 ? list_logged(log) : 0) + LONGEST_RECORD + BEYOND;
    if (needed > log->room) {
        uint64_t room = 2 * needed;
        uint8_t *longer = filter->memory.resize(log->bytes == log->first ? NULL : log->bytes, room);
        if (longer == NULL)
            return CF_NO_MEMORY;
        if (log->bytes == log->first)
            memcpy(longer, log->first, log->used);
        log->bytes = longer;
        log->room = room;
    }
    return CF_OK;
}

/* A view of the log, whose bucket 0 is the record at `at`. */
static cf_filter view_of(const cf_filter *filter, const cf_growth_log *log, uint64_t at)
{
    cf_filter view = *filter;
    view.writable = log->bytes + at;
    view.table = view.writable;
    view.pages = NULL;
    return view;
}

void cf_log_list(const cf_filter *filter, cf_growth_log *log)
{
    const uint8_t *list = filter->bytes + filter->length - cf_spill_bytes(filter);
    cf_need(filter, filter->length - cf_spill_bytes(filter), filter->length);
    memcpy(log->bytes, list, list_logged(log));
    log->used = list_logged(log);
}

void cf_log_record(const cf_filter *filter, const cf_record *record, cf_growth_log *log)
{
    cf_filter view = view_of(filter, log, log->used);
    memset(view.writable, 0, record_bytes(filter));
    cf_record_write(&view, 0, record);
    log->used += record_bytes(filter);
}

static void unlog_record(const cf_filter *filter, cf_record *record, cf_growth_log *log)
{
    log->used -= record_bytes(filter);
    cf_filter view = view_of(filter, log, log->used);
    cf_record_read(&view, 0, record);
}

/* ---- taking growth back ---- */

/* Takes the last split back. */
static void join_buckets(cf_filter *filter, cf_growth_log *log)
{
    static const cf_record nothing;
    cf_record record;
    filter->split--;
    filter->buckets--;
    unlog_record(filter, &record, log);
    cf_record_write(filter, cf_bucket_to_split(filter, filter->split), &record);
    cf_record_write(filter, filter->buckets, &nothing);
}

/* Zeroes what lies behind the last bucket, to the end of a blob of this length. */
static void clear_rest(cf_filter *filter, uint64_t length)
{
    uint64_t bits = filter->buckets * filter->bucket_bits;
    uint8_t *p = filter->writable + bits / 8, *end = filter->writable - CF_HEADER_BYTES + length;
    cf_change(filter, CF_HEADER_BYTES + bits / 8, length);
    if (bits % 8 != 0)
        *p++ &= (uint8_t)cf_low_bits(bits % 8);
    memset(p, 0, (size_t)(end - p));
}

static void restore_list(cf_filter *filter, const cf_growth_log *log)
{
    uint8_t *end = filter->writable - CF_HEADER_BYTES + filter->length;
    cf_change(filter, filter->length - cf_spill_bytes(filter), filter->length);
    memcpy(end - cf_spill_bytes(filter), log->bytes, list_logged(log));
    filter->spilled = log->then.spilled;
    cf_spill_set_bits(filter);
}

void cf_grow_back(cf_filter *filter, cf_growth_log *log)
{
    const cf_filter *then = &log->then;
    if (filter->buckets == then->buckets)
        return;
    cf_spill_clear_bits(filter);
    while (filter->buckets > then->buckets) {
        if (filter->split == 0)
            cf_narrow(filter, filter->level - 1, then->geometry.buckets << (filter->level - 1), true);
        join_buckets(filter, log);
    }
    if (filter->level != then->level || filter->grown != then->grown)
        cf_narrow(filter, then->level, then->split, then->grown);
    clear_rest(filter, filter->length);
    filter->occupied = then->occupied;
    filter->length = then->length;
    restore_list(filter, log);
}
