/* SPDX-License-Identifier: MIT */
/*
** walk.h - walks over the buckets that are not empty, or over all entries.
**
**      cf_walk walk = cf_walk_begin(filter, watch, COST);   cf_entry entry;
**      while (cf_walk_next(&walk))                          while (cf_walk_entry(&walk, &entry))
**          ... walk.bucket ...                                  ... entry ...
**      return walk.status;                                  return walk.status;
**
** An empty bucket is all zeros, and stretches of zeros are cheap, or free if cf_pages knows them. So the
** time of a walk depends on what was stored, not on what a header claims.
*/
#ifndef CF_WALK_H
#define CF_WALK_H

#include "../base/watch.h"
#include "../include/cuckoo_inspect.h"

typedef struct cf_walk {
    const cf_filter *filter;
    uint64_t bucket;  /* the current one; filter->buckets at the end */
    unsigned slot;    /* the next one in `bucket`; then the next in the stash */
    unsigned cost;    /* nanoseconds that the caller takes for a bucket */
    cf_ticker ticker; /* callers may count further work with it */
    cf_status status; /* CF_OK; CF_INTERRUPTED: stopped by the watch */
} cf_walk;

cf_walk cf_walk_begin(const cf_filter *filter, const cf_watch *watch, unsigned cost);

/* Moves to the next bucket in whose bytes a bit is set, which may belong to a neighbouring bucket.
** False: the end, or the watch said stop. */
bool cf_walk_next(cf_walk *walk);

/* Moves to the next entry: first those in slots, bucket by bucket, then those in the stash. */
bool cf_walk_entry(cf_walk *walk, cf_entry *entry);

/* The offset of the first nonzero byte of the blob from `from` to before `to`; `to` if there is none, or
** if stopped. */
uint64_t cf_first_set(const cf_filter *filter, uint64_t from, uint64_t to, cf_ticker *ticker);

#endif
