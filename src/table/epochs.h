/* SPDX-License-Identifier: MIT */
/*
** epochs.h - which entries have expired in a filter with epochs (cuckoo_filter.h). Expired entries are
** never found or moved, and their slots count as free.
**
** **A number is reused only when no entry has it any more.** cf_advance and cf_age_to remove expired
** entries before the number of the next epoch comes round again.
*/
#ifndef CF_EPOCHS_H
#define CF_EPOCHS_H

#include "bucket.h"

static inline unsigned cf_epoch_number(uint64_t epoch)
{
    return epoch % CF_EPOCH_NUMBERS;
}

/* Sets the current epoch; entries of the last `epochs` epochs are live. */
void cf_set_epoch(cf_filter *filter, uint64_t epoch);

/* How many epochs ago the current epoch had this number. */
static inline unsigned cf_epoch_age(const cf_filter *filter, uint64_t number)
{
    return cf_epoch_number(filter->epoch - number);
}

static inline bool cf_is_live(const cf_filter *filter, uint64_t number)
{
    return filter->live >> number & 1;
}

/* The first slot of a bucket with an expired entry, or -1; without epochs none expires. */
static inline int cf_dead_slot(const cf_filter *filter, uint64_t bucket)
{
    /* RULE: an expired entry takes no slot */
    for (unsigned i = 0; filter->geometry.epochs && i < filter->geometry.bucket_size; i++)
        if (!cf_is_live(filter, cf_payload_get(filter, bucket, i)))
            return (int)i;
    return -1;
}

/* The first usable slot of a bucket: empty, or with an expired entry; or -1. */
CF_FORCED int cf_usable_by(cf_kind kind, const cf_filter *filter, uint64_t bucket)
{
    unsigned lane;
    bool empty = cf_empty_by(kind, filter, cf_bucket_at(filter, bucket), &lane);
    return empty ? (int)cf_slot_of(&filter->view.form, lane) : cf_dead_slot(filter, bucket);
}

static inline int cf_bucket_usable_slot(const cf_filter *filter, uint64_t bucket)
{
    return CF_BY_FORM(&filter->view.form, cf_usable_by, filter, bucket);
}

/* Call this before another entry, which will be counted, takes a usable slot. */
static inline void cf_slot_claim(cf_filter *filter, uint64_t bucket, unsigned slot)
{
    if (filter->geometry.epochs && cf_slot_get(filter, bucket, slot) != 0)
        cf_count_emptied(filter); /* RULE: a reused slot is not counted twice */
}

/* Empties the slots, of a bucket that was read, with one of these numbers. True if there were any. */
static inline bool cf_bucket_drop(cf_filter *filter, cf_contents *contents, uint32_t numbers)
{
    bool any = false;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        if (contents->tag[slot] != 0 && numbers >> contents->payload[slot] & 1) {
            contents->tag[slot] = contents->payload[slot] = 0;
            cf_count_emptied(filter);
            any = true;
        }
    return any;
}

#endif
