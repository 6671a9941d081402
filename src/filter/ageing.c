/* SPDX-License-Identifier: MIT */
#include "../entry/walk.h"
#include "../table/epochs.h"

bool cf_epoch_is_live(const cf_filter *filter, uint64_t epoch)
{
    /* RULE: an epoch whose number has been reused has expired */
    return filter->epoch - epoch < CF_EPOCH_NUMBERS && cf_is_live(filter, cf_epoch_number(epoch));
}

/* Removes the entries of epochs with these numbers. Not interruptible: a half-done sweep would match no
** epoch. */
static void take_out(cf_filter *filter, uint32_t numbers)
{
    cf_contents contents;
    for (cf_walk walk = cf_walk_begin(filter, NULL, 0); cf_walk_next(&walk);) {
        cf_bucket_read(filter, walk.bucket, &contents);
        if (cf_bucket_drop(filter, &contents, numbers))
            cf_bucket_write(filter, walk.bucket, &contents);
    }
    filter->items = filter->occupied;
}

/* CF_OK if the epoch of a filter may change. */
static cf_status age_fault(const cf_filter *filter)
{
    return filter->geometry.epochs == 0 ? CF_BAD_ARGUMENT
           : filter->writable == NULL   ? CF_READ_ONLY
                                        : CF_OK;
}

cf_status cf_sweep(cf_filter *filter)
{
    cf_status status = age_fault(filter);
    if (status == CF_OK)
        take_out(filter, ~filter->live);
    return status;
}

cf_status cf_renew(cf_filter *filter)
{
    cf_contents contents;
    cf_status status = age_fault(filter);
    if (status != CF_OK)
        return status;
    for (cf_walk walk = cf_walk_begin(filter, NULL, 0); cf_walk_next(&walk);) {
        cf_bucket_read(filter, walk.bucket, &contents);
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (contents.tag[slot] != 0 && cf_is_live(filter, contents.payload[slot]))
                contents.payload[slot] = cf_epoch_number(filter->epoch);
        cf_bucket_write(filter, walk.bucket, &contents);
    }
    return CF_OK;
}

/* The numbers that are live now and still will be at `epoch`. */
static uint32_t live_then(const cf_filter *filter, uint64_t epoch)
{
    uint32_t numbers = 0;
    for (uint64_t age = (epoch - filter->epoch) & cf_low_bits(48), i = 0; age < filter->geometry.epochs;
         age++, i++)
        numbers |= (uint32_t)1 << cf_epoch_number(filter->epoch - i);
    return numbers & filter->live;
}

static cf_status age_to(cf_filter *filter, uint64_t epoch)
{
    cf_status status = age_fault(filter);
    if (status != CF_OK)
        return status;
    cf_change(filter, 0, CF_HEADER_BYTES);
    take_out(filter, ~live_then(filter, epoch));
    cf_set_epoch(filter, epoch);
    return CF_OK;
}

cf_status cf_age_to(cf_filter *filter, uint64_t epoch)
{
    return epoch < filter->epoch || epoch > cf_low_bits(48) ? CF_BAD_ARGUMENT : age_to(filter, epoch);
}

cf_status cf_advance(cf_filter *filter)
{
    return age_to(filter, (filter->epoch + 1) & cf_low_bits(48));
}
