/* SPDX-License-Identifier: MIT */
/*
** entry.h - one stored entry: reading it, changing it, taking it out; the entries of a pair that
** match.
**
** An entry lies in a slot, or in the stash. It *knows* n remainder bits: they are stored in
** it, or implied by its bucket. It *matches* a key when it lies in one of the key's two buckets and
** all that it knows agrees with the key.
*/
#ifndef CF_ENTRY_H
#define CF_ENTRY_H

#include "../shape/geometry.h"
#include "../table/bucket.h"
#include "stash.h"

enum { CF_MATCHES_MAX = CF_VALUES_MAX /* 2 * CF_BUCKET_MAX in slots, CF_STASH_COPIES in the list */ };

/* Entries of a pair; longest first; of equally long ones, saturated ones last; then base side and
** lower slots first. */
typedef struct cf_matches {
    cf_entry entry[CF_MATCHES_MAX];
    unsigned n;
} cf_matches;

/* Counts work on a filter, in a merge: a unit is a bucket that is looked behind or written anew, or a
** line of the stash. True: what was allowed is done. */
static inline bool cf_work(const cf_filter *filter, uint64_t units)
{
    uint64_t *left = filter->view.left;
    if (left == NULL)
        return false;
    *left -= units < *left ? units : *left;
    return *left == 0;
}

/* What is stored of an entry, or of a key, in a place: in a slot, or in the list. */
static inline cf_record cf_record_of(const cf_filter *filter, cf_place place, const cf_entry *entry)
{
    CF_ASSERT_CONTENT(filter, entry->side.length >= place.extension);
    assert(!entry->saturated || filter->view.saturated != 0);
    return (cf_record){place.bucket, cf_tag_of(filter, place, entry->side.length),
                       entry->saturated ? entry->payload | filter->view.saturated : entry->payload};
}

/* Puts a further entry into a slot of a place: an empty one, or one whose entry has moved. Counts
** `occupied`. */
static inline void cf_entry_put(cf_filter *filter, cf_place place, unsigned slot, const cf_entry *entry)
{
    cf_record stored = cf_record_of(filter, place, entry);
    cf_bucket_set(filter, place.bucket, slot, stored.tag, stored.payload);
    cf_count_occupied(filter);
}

/* Puts an entry into the first usable slot of its pair. False: there is none. */
bool cf_entry_place(cf_filter *filter, const cf_pair *pair, const cf_entry *entry);

/* Takes out entries that one call has found; only one of a filter with a stash. `by` is one of
** them, which stays and says something else: it knows no more than before, but its extension at least;
** NULL: all go. */
void cf_entries_replace(cf_filter *filter, const cf_entry *entries, unsigned n, const cf_entry *by);

/* How many entries of the list match a key; more than CF_MATCHES_MAX are not counted. */
unsigned cf_stashed_matches(const cf_filter *filter, const cf_pair *pair);

#define CF_ANY_VALUE UINT64_MAX

/* The entries that match a key, or that know no more than `pair` and agree with it; with values,
** those of this value, unless it is CF_ANY_VALUE. `longer`: also those that know more than `pair` but
** agree with it in all that both know. */
void cf_entries_find(const cf_filter *filter, const cf_pair *pair, uint64_t value, bool longer,
                     cf_matches *found);

/* The same for a side: those that know no more than it. */
static inline void cf_prefixes_find(const cf_filter *filter, const cf_side *side, uint64_t value,
                                    cf_matches *found)
{
    cf_pair pair = cf_pair_from(filter, *side);
    cf_entries_find(filter, &pair, value, false, found);
}

/* Is the pair of a side full of entries of one key: of prefixes of it, or `longer`, of any that agree?
** Then splitting buckets makes no room. */
bool cf_key_is_full(const cf_filter *filter, const cf_side *side, bool longer);

#endif
