/* SPDX-License-Identifier: MIT */
/*
** bucket.h - buckets by number, in code for the kind of the filter (lanes.h).
*/
#ifndef CF_BUCKET_H
#define CF_BUCKET_H

#include "lanes.h"
#include "memory.h"

/* The contents of a bucket: b slots, four in semi-sorted buckets. */
typedef struct cf_contents {
    uint64_t tag[CF_BUCKET_MAX], payload[CF_BUCKET_MAX];
} cf_contents;

void cf_bucket_read(const cf_filter *filter, uint64_t bucket, cf_contents *contents);

/* Writes tags and payloads, but not the overflow bit. May sort the contents. */
void cf_bucket_write(cf_filter *filter, uint64_t bucket, cf_contents *contents);

/* Changes one slot; tag 0 empties it. */
void cf_bucket_set(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag, uint64_t payload);

/* The slots that match a tag, a bit each. */
unsigned cf_bucket_find(const cf_filter *filter, uint64_t bucket, uint64_t tag);

uint64_t cf_slot_get(const cf_filter *filter, uint64_t bucket, unsigned slot);

static inline uint64_t cf_payload_get(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    bool any = filter->view.form.payload_bits != 0;
    return any ? cf_payload_at(filter, cf_bucket_at(filter, bucket), slot) : 0;
}

/* The overflow bit of a bucket, if the filter has a stash (stash.h). */
static inline bool cf_overflow_get(const cf_filter *filter, uint64_t bucket)
{
    return filter->geometry.stash_size != 0 &&
           (cf_load_bits(filter->view.table, cf_bucket_at(filter, bucket) + filter->view.form.tag_bits) &
            1);
}

void cf_overflow_set(cf_filter *filter, uint64_t bucket, bool on);

/* The number of entries in two buckets that match a key: 0; 1, with its place; or more. */
typedef struct cf_found {
    unsigned n, side, lane;
} cf_found;

cf_found cf_find_all(const cf_filter *filter, uint64_t at0, uint64_t at1, uint64_t tag0, uint64_t tag1);

/* ---- counts ---- */

/* Slots, in use or free. */
static inline uint64_t cf_slots(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

/* Counts one more occupied slot, or one less. A corrupt header may already count all, or none. */
static inline void cf_count_occupied(cf_filter *filter)
{
    filter->occupied += filter->occupied < cf_slots(filter);
}

static inline void cf_count_emptied(cf_filter *filter)
{
    filter->occupied -= filter->occupied > 0;
}

#endif
