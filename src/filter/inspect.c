/* SPDX-License-Identifier: MIT */
/*
** inspect.c - shows what a filter stores.
**
** The false-positive rate follows from what is stored. The hashes that match an entry begin, on one of
** their two sides, with the bits that it knows. Of two entries of a pair one is a prefix of the other,
** or no hash matches both. So the share of hashes that match anything is the sum over the entries that
** have no shorter prefix among the others.
*/
#include <limits.h>
#include <math.h>

#include "../entry/walk.h"
#include "../insert/copies.h"
#include "../table/epochs.h"

cf_pair cf_candidates(const cf_filter *filter, uint64_t hash)
{
    return cf_pair_of(filter, hash);
}

bool cf_overflows(const cf_filter *filter, uint64_t bucket)
{
    return bucket < filter->buckets && cf_overflow_get(filter, bucket);
}

uint64_t cf_entry_alternate(const cf_filter *filter, const cf_entry *entry, bool *movable)
{
    cf_side other = cf_alternate(filter, entry->side);
    cf_place there = cf_locate(filter, &other);
    *movable = other.length >= there.extension;
    return there.bucket;
}

/* ---- census ---- */

/* The share of all hashes whose base side begins with these bits. Hashes whose lowest f bits are zero
** count as those with 1 there (address.h). */
static double share_of_hashes(const cf_filter *filter, const cf_side *side)
{
    unsigned f = filter->geometry.fingerprint_bits, known = filter->geometry.pair_bits + side->length;
    double share = ldexp(1, -(int)known), moved = ldexp(1, -(int)(known > f ? known : f));
    uint64_t low = side->bits & cf_low_bits(known < f ? known : f);
    share += low == 1 ? moved : low == 0 ? -moved : 0;
    return share / (double)filter->geometry.buckets;
}

/* True if the entry is the first of the entries that are equal to it. */
static bool first_of_equals(const cf_matches *found, const cf_entry *entry)
{
    for (unsigned i = 0; i < found->n && found->entry[i].side.length == entry->side.length; i++) {
        const cf_entry *equal = &found->entry[i];
        if (equal->bucket < entry->bucket ||
            (equal->bucket == entry->bucket && equal->slot < entry->slot))
            return false;
    }
    return true;
}

static void count_entry(const cf_filter *filter, const cf_entry *entry, cf_census *census)
{
    cf_matches same, any;
    if (filter->geometry.epochs && !cf_is_live(filter, entry->payload))
        return; /* it has expired */
    cf_prefixes_find(filter, &entry->side, entry->payload, &same);
    cf_prefixes_find(filter, &entry->side, CF_ANY_VALUE, &any);
    unsigned length = entry->side.length, shortest = any.n ? any.entry[any.n - 1].side.length : length;
    census->occupied += entry->slot < CF_IN_LIST;
    census->copies += cf_entry_copies(filter, entry);
    census->most = any.n > census->most ? any.n : census->most;
    census->shortest = length < census->shortest ? length : census->shortest;
    census->exhausted += filter->view.form.grown && length == entry->extension;
    census->saturated +=
        !filter->geometry.epochs && cf_is_saturated(filter, &same) && first_of_equals(&same, entry);
    if (shortest == length && first_of_equals(&any, entry)) {
        cf_side other = cf_alternate(filter, entry->side);
        census->fpr += share_of_hashes(filter, &entry->side) + share_of_hashes(filter, &other);
    }
}

cf_census cf_take_census(const cf_filter *filter)
{
    enum { COST = 1000 }; /* nanoseconds */
    cf_census census = {.shortest = UINT_MAX};
    cf_entry entry;
    cf_walk walk = cf_walk_begin(filter, filter->watch, COST);
    while (cf_walk_entry(&walk, &entry))
        count_entry(filter, &entry, &census);
    if (census.fpr > 1) /* a corrupt stash: unreachable entries are counted more than once */
        census.fpr = 1;
    census.status = walk.status;
    return census;
}
