/*
** merge.c - the multiset sum of two filters.
**
** An entry knows the two places where it may lie (address.h), so the entries of one filter are added to
** another of the same shape without their keys. Copies add up, up to cap; a key that is sticky in one
** is sticky in the sum.
*/
#include "address.h"
#include "bucket.h"
#include "format.h"
#include "place.h"

static cf_status mismatch(const char **why, const char *field)
{
    *why = field;
    return CF_MISMATCH;
}

cf_status cf_mergeable(const cf_filter *one, const cf_filter *other, const char **why)
{
    const cf_geometry *a = &one->geometry, *b = &other->geometry;
    if (a->seed != b->seed)
        return mismatch(why, "seed");
    if (a->buckets != b->buckets)
        return mismatch(why, "buckets");
    if (a->bucket_size != b->bucket_size)
        return mismatch(why, "bucket_size");
    if (a->fingerprint_bits != b->fingerprint_bits)
        return mismatch(why, "fingerprint_bits");
    if (a->pair_bits != b->pair_bits)
        return mismatch(why, "pair_bits");
    if (a->cap != b->cap)
        return mismatch(why, "cap");
    return CF_OK;
}

static void count_items(cf_filter *filter, uint64_t more)
{
    filter->items = more < CF_ITEMS_MAX - filter->items ? filter->items + more : CF_ITEMS_MAX;
}

static cf_status merge_bucket(cf_filter *into, const cf_filter *from, uint64_t bucket)
{
    for (unsigned slot = 0; slot < from->geometry.bucket_size; slot++) {
        cf_side entry = {bucket, cf_slot_get(from, bucket, slot)};
        if (entry.tag == 0)
            continue;
        cf_pair pair = cf_pair_from(into, entry);
        if (cf_place(into, &pair) != CF_OK)
            return CF_FULL;
        count_items(into, 1);
    }
    return CF_OK;
}

cf_status cf_merge(cf_filter *into, const cf_filter *from, const char **why)
{
    cf_status status = cf_mergeable(into, from, why);
    for (uint64_t bucket = 0; status == CF_OK && bucket < from->geometry.buckets; bucket++)
        status = merge_bucket(into, from, bucket);
    if (status == CF_OK && from->items > from->occupied)
        count_items(into, from->items - from->occupied); /* adds that sticky keys absorbed */
    return status;
}
