/* SPDX-License-Identifier: MIT */
/*
** spill_follow.h - the spill list follows a row of splits, all at once.
**
** When a bucket is split, the entries of the list that lie in it get other buckets and tags, and
** overflow bits change wherever an entry can be looked for. Finding the entries that have the bucket
** in their pair takes a walk over the list. One insertion may split thousands of buckets. So the
** list stays as it is while buckets of one level are split, and follows once, in one walk:
**
**      cf_lag lag = {0};
**      cf_spill_can_split(filter, bucket, &lag)       is there room in the list for the next split?
**      cf_spill_note_split(filter, bucket, &lag)      before each split
**      cf_spill_follow(filter, &lag)                  at last
**
** In between the list is that of the first split, and nobody else may look at it. Each bucket is
** split at most once in between, because the level stays the same.
*/
#ifndef CF_SPILL_FOLLOW_H
#define CF_SPILL_FOLLOW_H

#include "cuckoo_filter.h"

/* Splits that the list has not followed. Starts with {0}. */
typedef struct cf_lag {
    bool any;      /* a bucket with an overflow bit was split; else the list is as it should be */
    uint64_t from; /* the split pointer before that */
    unsigned more; /* entries by which the list may become longer */
    unsigned next; /* by which it may with the split that was asked for last */
} cf_lag;

/* Is there room in the list when this bucket is split, too? */
bool cf_spill_can_split(const cf_filter *filter, uint64_t bucket, cf_lag *lag);

/* The bucket that was asked for is going to be split: it is the one at the split pointer. */
void cf_spill_note_split(cf_filter *filter, uint64_t bucket, cf_lag *lag);

/* There is a lag (lag->any). Entries of buckets that were split go to the children; those for which
** there is a free slot in them take it. The list is sorted, and has its overflow bits. Time
** proportional to the list. */
void cf_spill_follow(cf_filter *filter, cf_lag *lag);

#endif
