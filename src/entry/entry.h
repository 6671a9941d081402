/* SPDX-License-Identifier: MIT */
/*
** entry.h - one stored entry: reading it, changing it, removing it; finding the entries that match.
**
** An entry is in a slot or in the stash. It *knows* n remainder bits: they are stored in it or implied
** by its bucket. It *matches* a key if it is in one of the key's two buckets and all its bits agree with
** the key.
*/
#ifndef CF_ENTRY_H
#define CF_ENTRY_H

#include "../shape/geometry.h"
#include "../table/bucket.h"
#include "stash.h"

enum { CF_MATCHES_MAX = CF_VALUES_MAX /* 2 * CF_BUCKET_MAX in slots, CF_STASH_COPIES in the list */ };

/* Matching entries of a pair: longest first, then unsaturated before saturated, base side before
** alternate, lower slots first. */
typedef struct cf_matches {
    cf_entry entry[CF_MATCHES_MAX];
    unsigned n;
} cf_matches;

/* Counts work on a filter during a merge. A unit is a bucket that is searched or rewritten, or an entry
** of the stash that is read. True: the allowed work is used up. */
static inline bool cf_work(const cf_filter *filter, uint64_t units)
{
    uint64_t *left = filter->view.left;
    if (left == NULL)
        return false;
    *left -= units < *left ? units : *left;
    return *left == 0;
}

/* An entry as it is stored at a place: in a slot or in the stash. */
static inline cf_record cf_record_of(const cf_filter *filter, cf_place place, const cf_entry *entry)
{
    CF_ASSERT_CONTENT(filter, entry->side.length >= place.extension);
    assert(!entry->saturated || filter->view.saturated != 0);
    return (cf_record){place.bucket, cf_tag_of(filter, place, entry->side.length),
                       entry->saturated ? entry->payload | filter->view.saturated : entry->payload};
}

/* Stores an additional entry in a slot that is empty or whose entry has moved. Counts `occupied`. */
static inline void cf_entry_put(cf_filter *filter, cf_place place, unsigned slot, const cf_entry *entry)
{
    cf_record stored = cf_record_of(filter, place, entry);
    cf_bucket_set(filter, place.bucket, slot, stored.tag, stored.payload);
    cf_count_occupied(filter);
}

/* Stores an entry in the first usable slot of its pair. False: there is none. */
bool cf_entry_place(cf_filter *filter, const cf_pair *pair, const cf_entry *entry);

/* Removes entries that one call has found; in a filter with a stash n must be 1. If `by` is not NULL, it
** is a changed copy of one of them and takes its place; it knows no more than before, at least its
** extension. */
void cf_entries_replace(cf_filter *filter, const cf_entry *entries, unsigned n, const cf_entry *by);

/* The number of stashed entries that match a key, at most CF_MATCHES_MAX. */
unsigned cf_stashed_matches(const cf_filter *filter, const cf_pair *pair);

#define CF_ANY_VALUE UINT64_MAX

/* The entries that match a key, or that are prefixes of `pair`; in a filter with values only those with
** this value, unless it is CF_ANY_VALUE. `longer`: also entries that know more than `pair` and agree
** with it in all bits that both know. */
void cf_entries_find(const cf_filter *filter, const cf_pair *pair, uint64_t value, bool longer,
                     cf_matches *found);

/* The same for one side: the entries that are prefixes of it. */
static inline void cf_prefixes_find(const cf_filter *filter, const cf_side *side, uint64_t value,
                                    cf_matches *found)
{
    cf_pair pair = cf_pair_from(filter, *side);
    cf_entries_find(filter, &pair, value, false, found);
}

/* True if the pair of a side is full of prefixes of it or, with `longer`, of entries that agree with it.
** Then splitting buckets frees no slot. */
bool cf_key_is_full(const cf_filter *filter, const cf_side *side, bool longer);

#endif
