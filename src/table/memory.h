/* SPDX-License-Identifier: MIT */
/*
** memory.h - the bytes of a filter: where a bucket starts, its pager and its seal.
**
** Before bytes are read, the pager is told (cf_need), if there is one; before they are changed, cf_change
** tells it and breaks the seal of the header. Code for a kind of bucket without pager leaves that out.
*/
#ifndef CF_MEMORY_H
#define CF_MEMORY_H

#include "address.h"
#include "kind.h"

/* For what follows from the contents of the table: from pages that read as zeros nothing (cf_pages). */
#define CF_ASSERT_CONTENT(filter, condition) assert((filter)->pages != NULL || (condition))

/* Tells the pager of bytes of the blob that are going to be read. */
CF_FORCED void cf_need(const cf_filter *filter, uint64_t from, uint64_t to)
{
    if (CF_UNLIKELY(filter->pages != NULL))
        filter->pages->need(filter->pages->context, from, to);
}

/* Breaks the seal of the header: a filter that was changed cannot be opened until cf_seal. cf_reseal
** takes it back when nothing else has changed. */
void cf_unseal(cf_filter *filter);
void cf_reseal(cf_filter *filter);

/* The same as cf_need for bytes that are going to be changed, and breaks the seal. */
CF_FORCED void cf_change(cf_filter *filter, uint64_t from, uint64_t to)
{
    if (CF_UNLIKELY(filter->view.sealed))
        cf_unseal(filter);
    if (CF_UNLIKELY(filter->pages != NULL))
        filter->pages->change(filter->pages->context, from, to);
}

/* Sets the fields of the view that choose the code for calls with one key: whenever the header, the
** bytes or the pages of the filter are others. */
void cf_set_ways(cf_filter *filter);

/* Sets level and split pointer, and all of the view that follows from them and from the geometry. */
void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown);

/* ---- buckets ---- */

/* Where a bucket starts, in bits of the table; it is going to be read. */
CF_FORCED uint64_t cf_bucket_at(const cf_filter *filter, uint64_t bucket)
{
    uint64_t bits = filter->view.form.bucket_bits, at = bucket * bits;
    cf_need(filter, CF_HEADER_BYTES + at / 8, CF_HEADER_BYTES + (at + bits + 7) / 8);
    return at;
}

/* The bucket that starts there is going to be changed. */
CF_FORCED void cf_tell_change(cf_filter *filter, uint64_t at)
{
    uint64_t bits = filter->view.form.bucket_bits;
    assert(filter->writable != NULL);
    cf_change(filter, CF_HEADER_BYTES + at / 8, CF_HEADER_BYTES + (at + bits + 7) / 8);
}

/* Where a bucket starts that is going to be changed. */
static inline uint64_t cf_bucket_to_change(cf_filter *filter, uint64_t bucket)
{
    uint64_t at = bucket * filter->view.form.bucket_bits;
    cf_tell_change(filter, at);
    return at;
}

/* ---- for filters that are all in memory ---- */

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

/* Before growth: the buckets to which the entries with these tags could move, and fetches them. */
CF_FORCED void cf_others_of(const cf_filter *filter, uint64_t bucket, const uint64_t *tag, uint64_t *to)
{
    for (unsigned i = 0; i < filter->geometry.bucket_size; i++) {
        uint64_t mix = cf_pair_mix(tag[i] & filter->view.pair_mask);
        to[i] = cf_alternate_base(filter->geometry.buckets, bucket, mix);
        cf_bucket_fetch(filter, to[i]);
    }
}

#endif
