/* SPDX-License-Identifier: MIT */
/*
** walk.h - one walk over the buckets that may hold something, or over all entries.
**
**      cf_walk walk = cf_walk_begin(filter, watch, COST);   cf_entry entry;
**      while (cf_walk_next(&walk))                          while (cf_walk_entry(&walk, &entry))
**          ... walk.bucket ...                                  ... entry ...
**      return walk.status;                                  return walk.status;
**
** An empty bucket is all zeros. Stretches of zeros cost next to nothing, or nothing where cf_pages
** knows of them. So the time of a walk follows from what was stored, not from what a header claims.
*/
#ifndef CF_WALK_H
#define CF_WALK_H

#include "../base/watch.h"
#include "../include/cuckoo_inspect.h"

typedef struct cf_walk {
    const cf_filter *filter;
    uint64_t bucket;  /* the one that was found; filter->buckets: all have been seen */
    unsigned slot;    /* where to look on in `bucket`; then in the stash */
    unsigned cost;    /* of what the caller does with a bucket, nanoseconds */
    cf_ticker ticker; /* the caller may tell it of further work */
    cf_status status; /* CF_OK; CF_INTERRUPTED: the watch has ended the walk */
} cf_walk;

cf_walk cf_walk_begin(const cf_filter *filter, const cf_watch *watch, unsigned cost);

/* On to the next bucket in whose bytes a bit is set: perhaps one of a bucket beside it. False: there is
** none, or the watch said stop. */
bool cf_walk_next(cf_walk *walk);

/* On to the next entry: those in slots, bucket by bucket, then those of the stash. */
bool cf_walk_entry(cf_walk *walk, cf_entry *entry);

/* The first byte of the blob from `from` to before `to` that is not zero; `to` when there is none,
** or when the ticker says stop. */
uint64_t cf_first_set(const cf_filter *filter, uint64_t from, uint64_t to, cf_ticker *ticker);

#endif
