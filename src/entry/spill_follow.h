/* SPDX-License-Identifier: MIT */
/*
** spill_follow.h - the spill list follows a row of splits, all at once.
**
** When a bucket is split, the entries of the list that lie in it get other buckets and tags, and
** overflow bits change wherever an entry can be looked for. Finding these entries takes a walk over the
** list, and a merge may split thousands of buckets. So the list stays as it is while buckets of
** one level are split, and follows once, in one walk:
**
**      cf_steps steps = cf_steps_begin(filter);
**      cf_spill_can_split(filter, bucket, &steps)     is there room in the list for the next split?
**      cf_spill_note_split(filter, bucket, &steps)    before each split
**      cf_spill_follow(filter, &steps)                at last
**
** In between the list is that of the first split, and nobody else may look at it. Each bucket is
** split at most once in between, because the level stays the same.
*/
#ifndef CF_SPILL_FOLLOW_H
#define CF_SPILL_FOLLOW_H

#include "../base/watch.h"

/* A row of splits, as far as the list has not followed. */
typedef struct cf_steps {
    bool any;         /* a bucket with an overflow bit was split; else the list is as it should be */
    uint64_t from;    /* the split pointer before that */
    unsigned more;    /* entries by which the list may become longer */
    unsigned next;    /* by which it may with the split that was asked for last */
    cf_ticker ticker; /* asks the watch of the filter */
} cf_steps;

static inline cf_steps cf_steps_begin(const cf_filter *filter)
{
    return (cf_steps){.ticker = cf_ticker_of(filter->watch)};
}

/* Is there room in the list when this bucket is split, too? Follows when there is none before. */
bool cf_spill_can_split(cf_filter *filter, uint64_t bucket, cf_steps *steps);

/* The bucket that was asked for is going to be split: it is the one at the split pointer. */
void cf_spill_note_split(cf_filter *filter, uint64_t bucket, cf_steps *steps);

/* Entries of buckets that were split go to the children; those for which there is a free slot in them
** take it. The list is sorted, and has its overflow bits. Time proportional to the list; none when
** nothing has to follow. */
void cf_spill_follow(cf_filter *filter, cf_steps *steps);

#endif
