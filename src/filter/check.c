/* SPDX-License-Identifier: MIT */
/*
** check.c - walks over all buckets, to check what opening in constant time cannot.
*/
#include "../entry/walk.h"
#include "../insert/copies.h"
#include "../table/epochs.h"

/* ---- checks: each returns what is wrong, or NULL ---- */

/* What is wrong with a bucket, apart from its entries. */
static const char *bucket_fault(cf_walk *walk)
{
    enum { LOOK = 20 }; /* nanoseconds, for a stashed entry */
    const cf_filter *filter = walk->filter;
    cf_contents record;
    cf_bucket_read(filter, walk->bucket, &record);
    if (filter->geometry.semisorted &&
        !cf_semisort_in_order(cf_load_bits(filter->view.table, cf_bucket_at(filter, walk->bucket)) &
                                  CF_CODE_MASK,
                              record.tag))
        return "a semi-sorted bucket is not in order";
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        if (record.tag[slot] == 0 && record.payload[slot] != 0)
            return "an empty slot has a counter, a value or a saturated bit";
    if (!cf_overflow_get(filter, walk->bucket))
        return NULL;
    cf_tick(&walk->ticker, LOOK * filter->stashed);
    return cf_stash_of_bucket(filter, walk->bucket) < filter->stashed
               ? NULL
               : "an overflow bit is set, but nothing overflowed";
}

/* A stashed entry whose buckets have a free slot should have been moved there. */
static const char *stashed_fault(const cf_filter *filter, const cf_entry *entry)
{
    cf_pair pair = cf_pair_from(filter, entry->side);
    if (cf_bucket_usable_slot(filter, pair.place[0].bucket) >= 0 ||
        cf_bucket_usable_slot(filter, pair.place[1].bucket) >= 0)
        return "a stashed entry has room in its buckets";
    /* RULE: no more entries of a key are stashed than a lookup can find */
    if (cf_stashed_matches(filter, &pair) > CF_STASH_COPIES)
        return "the stash has more entries of a key than are found";
    return NULL;
}

/* What is wrong with an entry; counts slots and copies, and whether any key is saturated. Before growth
** all entries know the same number of bits, and the copies of a key are its equal entries. */
static const char *entry_fault(const cf_filter *filter, const cf_entry *entry, cf_census *seen)
{
    cf_matches found;
    bool grown = filter->view.form.grown, listed = entry->slot >= CF_IN_LIST;
    const char *fault = listed ? stashed_fault(filter, entry) : NULL;
    seen->occupied += !listed;
    seen->copies += cf_entry_copies(filter, entry);
    found.n = 0;
    /* Once grown, this is computed only while items exceed the entries */
    if (!grown || (filter->items > filter->occupied && seen->saturated == 0))
        cf_prefixes_find(filter, &entry->side, entry->payload, &found);
    seen->saturated += cf_is_saturated(filter, &found);
    return fault ? fault
           : entry->side.length > filter->view.new_length
               ? "an entry has more bits than this level of growth allows"
           : !grown && found.n > filter->geometry.max_copies
               ? "a key has more copies than max_copies allows"
               : NULL;
}

static const char *entries_fault(cf_walk *walk, cf_census *seen)
{
    const cf_filter *filter = walk->filter;
    const char *fault = NULL;
    cf_entry entry;
    while (fault == NULL && cf_walk_next(walk)) {
        fault = bucket_fault(walk);
        for (unsigned slot = 0; fault == NULL && slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, walk->bucket, slot, &entry))
                fault = entry_fault(filter, &entry, seen);
    }
    while (fault == NULL && cf_walk_entry(walk, &entry))
        fault = entry_fault(filter, &entry, seen);
    return fault;
}

static const char *rest_fault(const cf_filter *filter, cf_ticker *ticker)
{
    uint64_t bits = filter->buckets * filter->view.form.bucket_bits;
    uint64_t table = CF_HEADER_BYTES + (bits + 7) / 8, length = filter->length; /* where they end */
    uint64_t list = length - (uint64_t)filter->geometry.stash_size * CF_STASH_ENTRY;
    uint64_t rest = list + (uint64_t)filter->stashed * CF_STASH_ENTRY;
    if (bits % 8 != 0 && cf_first_set(filter, table - 1, table, ticker) < table &&
        filter->bytes[table - 1] >> bits % 8 != 0)
        return "the bits behind the last bucket are not zero";
    if (cf_first_set(filter, table, list, ticker) < list ||
        cf_first_set(filter, rest, length, ticker) < length)
        return "the reserved bytes are not zero";
    return NULL;
}

/* Each item is a copy in some entry, unless a saturated key has absorbed it. Once grown there may be
** more copies than items: exhausted entries are in several buckets, but count as one item. */
static const char *total_fault(const cf_filter *filter, const cf_census *seen)
{
    if (seen->occupied != filter->occupied)
        return "the header has a wrong number of occupied slots";
    if (!filter->view.form.grown && filter->items < seen->copies)
        return "the header counts fewer items than the entries represent";
    if (filter->items > seen->copies && seen->saturated == 0)
        return "the header counts more items than the entries represent";
    return NULL;
}

cf_status cf_check(const cf_filter *filter, const char **why)
{
    enum { COST = 400 }; /* nanoseconds */
    cf_census seen = {.occupied = 0};
    cf_walk walk = cf_walk_begin(filter, filter->watch, COST);
    const char *fault = rest_fault(filter, &walk.ticker);
    if (fault == NULL && !walk.ticker.stopped)
        fault = cf_stash_fault(filter);
    if (fault == NULL && !walk.ticker.stopped)
        fault = entries_fault(&walk, &seen);
    if (fault == NULL && !walk.ticker.stopped)
        fault = total_fault(filter, &seen);
    if (fault != NULL)
        return cf_refuse(CF_DAMAGED, why, fault);
    return walk.ticker.stopped ? CF_INTERRUPTED : CF_OK;
}
