/* SPDX-License-Identifier: MIT */
/*
** shrink.c - a filter that has lost keys becomes smaller again.
**
** Its entries are added to an empty filter of the same geometry, as in a merge, that has grown only
** as far as they need. There slots are narrower: an entry forgets what it knows beyond the length
** of new ones. That is sound (growth.h): what is left is a prefix of the same keys, and entries
** that have become equal count as copies of one key.
*/
#include "growth.h"
#include "merge.h"
#include "walk.h"

/* Could it be one that has not grown? There slots have no sticky bit, entries know as much as new
** ones, and void ones that have doubled would be more copies than there are items. */
static bool is_as_before_growth(const cf_filter *filter, const cf_census *census)
{
    unsigned whole = filter->geometry.fingerprint_bits - filter->geometry.pair_bits;
    /* RULE: marks need a grown filter; equivalent without: it only becomes less small */
    bool marks = census->sticky > 0 && filter->geometry.counter_bits == 0;
    return census->shortest >= whole && census->copies <= filter->items && !marks;
}

/* Buckets for its entries, with a tenth to spare beyond what a table that grows fills. They are
** counted: a header that lies must not let `into` grow. Nor is a table that was planned for far
** more keys worth its first step of growth, which rewrites all of it. */
static uint64_t buckets_needed(const cf_filter *filter, const cf_census *census)
{
    enum { EMPTIEST = 16 };
    uint64_t b = filter->geometry.bucket_size, percent = b <= 2 ? 65 : 80;
    uint64_t needed = (census->occupied + filter->spilled) * 100 / (percent * b) + 1;
    uint64_t least = filter->geometry.buckets;
    if (needed > least)
        return needed;
    if (is_as_before_growth(filter, census))
        return least;
    return needed > least / EMPTIEST ? least + 1 : filter->buckets;
}

/* Clumped entries may make it grow further than was needed: then it is not worth it. */
static cf_status fill_smaller(cf_filter *into, const cf_filter *from, uint64_t buckets)
{
    uint64_t allowed = into->memory.most, most = from->length - from->length / 8;
    into->memory.most = most < allowed ? most : allowed;
    cf_status status = cf_grow_to(into, buckets);
    const char *why;
    if (status == CF_OK)
        status = cf_merge_entries(into, from, &why);
    into->memory.most = allowed;
    return status == CF_TOO_BIG ? CF_FULL : status;
}

/* CF_OK and how many buckets to grow to. CF_FULL: it is not worth it. */
static cf_status plan_smaller(const cf_filter *into, const cf_filter *from, uint64_t *buckets)
{
    if (!from->view.grown)
        return CF_FULL;
    cf_filter watched = *from;
    watched.watch = into->watch;
    cf_census census = cf_take_census(&watched);
    if (census.status != CF_OK)
        return census.status;
    *buckets = buckets_needed(from, &census);
    return *buckets < from->buckets - from->buckets / 8 ? CF_OK : CF_FULL;
}

cf_status cf_shrink(cf_filter *into, const cf_filter *from)
{
    uint64_t buckets;
    cf_status status = plan_smaller(into, from, &buckets);
    if (status == CF_OK)
        status = fill_smaller(into, from, buckets);
    if (status != CF_OK)
        return status;
    into->items = from->items;
    return cf_settle(into);
}
