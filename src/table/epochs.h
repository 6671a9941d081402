/* SPDX-License-Identifier: MIT */
/*
** epochs.h - which entries are live in a filter that ages (cuckoo_filter.h). The others are dead: not
** found, not moved, and their slots are as good as empty.
**
** **Numbers are used again only when no entry carries them any more.** cf_advance and cf_age_to take out
** what dies before the number of the next epoch comes back.
*/
#ifndef CF_EPOCHS_H
#define CF_EPOCHS_H

#include "bucket.h"

static inline unsigned cf_epoch_number(uint64_t epoch)
{
    return epoch % CF_EPOCH_NUMBERS;
}

/* Sets the present epoch; live are the numbers of the last `epochs` epochs. */
void cf_set_epoch(cf_filter *filter, uint64_t epoch);

/* How many epochs ago was this the number of the present one? */
static inline unsigned cf_epoch_age(const cf_filter *filter, uint64_t number)
{
    return cf_epoch_number(filter->epoch - number);
}

static inline bool cf_is_live(const cf_filter *filter, uint64_t number)
{
    return filter->live >> number & 1;
}

/* The first slot of a dead entry of a bucket, or -1; without epochs none dies. */
static inline int cf_dead_slot(const cf_filter *filter, uint64_t bucket)
{
    /* RULE: a dead entry takes no slot */
    for (unsigned i = 0; filter->geometry.epochs && i < filter->geometry.bucket_size; i++)
        if (!cf_is_live(filter, cf_payload_get(filter, bucket, i)))
            return (int)i;
    return -1;
}

/* The first slot of a bucket that an entry can have: an empty one, or that of a dead entry; or -1. */
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

/* A usable slot is about to be given to another entry, which is going to be counted. */
static inline void cf_slot_claim(cf_filter *filter, uint64_t bucket, unsigned slot)
{
    if (filter->geometry.epochs && cf_slot_get(filter, bucket, slot) != 0)
        cf_count_emptied(filter); /* RULE: the dead are not counted twice */
}

/* Empties the slots of a bucket, as it was read, that carry one of these numbers. Are there any? */
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
