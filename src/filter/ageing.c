/* SPDX-License-Identifier: MIT */
#include "ageing.h"

#include "../entry/walk.h"
#include "../table/epochs.h"
#include "../table/open.h"

void cf_set_live(cf_filter *filter, uint32_t numbers)
{
    assert(filter->geometry.epochs > 0);
    filter->view.live = numbers;
}

bool cf_epoch_is_live(const cf_filter *filter, uint64_t epoch)
{
    /* RULE: an epoch of which the number is used again is dead */
    return filter->epoch - epoch < CF_EPOCH_NUMBERS && cf_is_live(filter, cf_epoch_number(epoch));
}

/* ---- taking out ---- */

uint64_t cf_sweep(cf_filter *filter, uint32_t numbers, uint64_t from, uint64_t buckets)
{
    cf_record record;
    uint64_t end = buckets < filter->buckets - from ? from + buckets : filter->buckets;
    cf_walk walk = cf_walk_begin(filter, 0);
    walk.ticker = cf_ticker_of(NULL); /* half of a sweep would be no epoch's state */
    walk.next = from;
    assert(filter->geometry.epochs > 0 && from <= filter->buckets);
    while (walk.next < end && cf_walk_next(&walk) && walk.bucket < end) {
        cf_record_read(filter, walk.bucket, &record);
        if (cf_record_drop(filter, &record, numbers))
            cf_record_write(filter, walk.bucket, &record);
    }
    filter->items = filter->occupied;
    return end;
}

void cf_renew(cf_filter *filter)
{
    cf_record record;
    cf_walk walk = cf_walk_begin(filter, 0);
    walk.ticker = cf_ticker_of(NULL);
    while (cf_walk_next(&walk)) {
        cf_record_read(filter, walk.bucket, &record);
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (record.tag[slot] != 0 && cf_is_live(filter, record.payload[slot]))
                record.payload[slot] = cf_epoch_number(filter->epoch);
        cf_record_write(filter, walk.bucket, &record);
    }
}

/* ---- epochs ---- */

/* The numbers that are live now and will be at that epoch. */
static uint32_t live_then(const cf_filter *filter, uint64_t epoch)
{
    uint32_t numbers = 0;
    for (uint64_t age = (epoch - filter->epoch) & cf_low_bits(48), i = 0; age < filter->geometry.epochs;
         age++, i++)
        numbers |= (uint32_t)1 << cf_epoch_number(filter->epoch - i);
    return numbers & filter->view.live;
}

void cf_age_to(cf_filter *filter, uint64_t epoch)
{
    assert(filter->geometry.epochs > 0);
    if (filter->view.writable == NULL)
        return;
    cf_sweep(filter, ~live_then(filter, epoch), 0, filter->buckets);
    cf_set_epoch(filter, epoch);
}

static uint64_t next_epoch(const cf_filter *filter)
{
    return (filter->epoch + 1) & cf_low_bits(48);
}

void cf_advance(cf_filter *filter)
{
    cf_age_to(filter, next_epoch(filter));
}

void cf_begin_epoch(cf_filter *filter)
{
    cf_set_epoch(filter, next_epoch(filter));
}
