/* SPDX-License-Identifier: MIT */
/*
** memory.h - the bytes of a filter: where a bucket starts, its pager and its seal.
**
** The pager, if there is one, is called before bytes are read (cf_need) and before they are changed
** (cf_change, which also breaks the seal of the header). Code for kinds without a pager skips both.
*/
#ifndef CF_MEMORY_H
#define CF_MEMORY_H

#include "address.h"
#include "kind.h"

/* For conditions that depend on the table: pages that read as zeros do not meet them (cf_pages). */
#define CF_ASSERT_CONTENT(filter, condition) assert((filter)->pages != NULL || (condition))

/* Announces to the pager that bytes of the blob will be read. */
CF_FORCED void cf_need(const cf_filter *filter, uint64_t from, uint64_t to)
{
    if (CF_UNLIKELY(filter->pages != NULL))
        filter->pages->need(filter->pages->context, from, to);
}

/* Breaks the seal of the header: a changed filter cannot be opened until cf_seal. cf_reseal restores the
** seal if nothing else has changed. */
void cf_unseal(cf_filter *filter);
void cf_reseal(cf_filter *filter);

/* The same as cf_need for bytes that will be changed; breaks the seal. */
CF_FORCED void cf_change(cf_filter *filter, uint64_t from, uint64_t to)
{
    if (CF_UNLIKELY(filter->view.sealed))
        cf_unseal(filter);
    if (CF_UNLIKELY(filter->pages != NULL))
        filter->pages->change(filter->pages->context, from, to);
}

/* Sets the fields of the view that choose the code for calls with one key. Call it whenever the header,
** the bytes or the pages of the filter have changed. */
void cf_set_ways(cf_filter *filter);

/* Sets level and split pointer, and all of the view that depends on them and on the geometry. */
void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown);

/* ---- buckets ---- */

/* The first bit of a bucket, which will be read, in the table. */
CF_FORCED uint64_t cf_bucket_at(const cf_filter *filter, uint64_t bucket)
{
    uint64_t bits = filter->view.form.bucket_bits, at = bucket * bits;
    cf_need(filter, CF_HEADER_BYTES + at / 8, CF_HEADER_BYTES + (at + bits + 7) / 8);
    return at;
}

/* Announces that the bucket that starts at bit `at` will be changed. */
CF_FORCED void cf_tell_change(cf_filter *filter, uint64_t at)
{
    uint64_t bits = filter->view.form.bucket_bits;
    assert(filter->writable != NULL);
    cf_change(filter, CF_HEADER_BYTES + at / 8, CF_HEADER_BYTES + (at + bits + 7) / 8);
}

/* The first bit of a bucket that will be changed. */
static inline uint64_t cf_bucket_to_change(cf_filter *filter, uint64_t bucket)
{
    uint64_t at = bucket * filter->view.form.bucket_bits;
    cf_tell_change(filter, at);
    return at;
}

/* ---- for filters that are entirely in memory ---- */

/* Starts to load a bucket into the cache. */
static inline void cf_bucket_fetch(const cf_filter *filter, uint64_t bucket)
{
    cf_prefetch(filter->view.table + bucket * filter->view.form.bucket_bits / 8);
}

/* The same for the buckets of a key. */
static inline void cf_key_fetch(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    cf_bucket_fetch(filter, cf_locate(filter, &base).bucket);
    cf_bucket_fetch(filter, cf_locate(filter, &other).bucket);
}

/* Before growth: the buckets to which the entries with these tags could move; fetches them. */
CF_FORCED void cf_others_of(const cf_filter *filter, uint64_t bucket, const uint64_t *tag, uint64_t *to)
{
    for (unsigned i = 0; i < filter->geometry.bucket_size; i++) {
        uint64_t mix = cf_pair_mix(tag[i] & filter->view.pair_mask);
        to[i] = cf_alternate_base(filter->geometry.buckets, bucket, mix);
        cf_bucket_fetch(filter, to[i]);
    }
}

#endif
