/* SPDX-License-Identifier: MIT */
#include "entry.h"

#include "../table/epochs.h"

/* ---- reading ---- */

static bool decode(const cf_filter *filter, cf_record stored, unsigned slot, cf_entry *entry)
{
    uint64_t saturated = filter->view.saturated;
    if (stored.tag == 0 || stored.bucket >= filter->buckets)
        return false;
    cf_address address = cf_address_of(filter, stored.bucket);
    *entry = (cf_entry){.side = cf_side_of(filter, address, stored.tag),
                        .payload = stored.payload & filter->view.payload_max,
                        .saturated = saturated != 0 && (stored.payload & saturated) == saturated,
                        .bucket = stored.bucket,
                        .slot = slot,
                        .extension = address.bits};
    return true;
}

bool cf_entry_at(const cf_filter *filter, uint64_t bucket, unsigned slot, cf_entry *entry)
{
    if (bucket >= filter->buckets || slot >= filter->geometry.bucket_size)
        return false;
    cf_record stored = {bucket, cf_slot_get(filter, bucket, slot), cf_payload_get(filter, bucket, slot)};
    return decode(filter, stored, slot, entry);
}

bool cf_stashed_at(const cf_filter *filter, unsigned index, cf_entry *entry)
{
    return index < filter->stashed &&
           decode(filter, cf_stash_get(filter, index), CF_IN_LIST + index, entry);
}

/* ---- changing ---- */

bool cf_entry_place(cf_filter *filter, const cf_pair *pair, const cf_entry *entry)
{
    for (unsigned i = 0; i < pair->sides; i++) {
        int slot = cf_bucket_usable_slot(filter, pair->place[i].bucket);
        if (slot >= 0) {
            cf_slot_claim(filter, pair->place[i].bucket, (unsigned)slot);
            cf_entry_put(filter, pair->place[i], (unsigned)slot, entry);
            return true;
        }
    }
    return false;
}

/* Removes the given entries that are in slots of `bucket`, and stores `by` in its slot, in a single
** write, because a write may reorder the slots. */
static void replace_in(cf_filter *filter, uint64_t bucket, const cf_entry *entries, unsigned n,
                       const cf_entry *by, cf_record stored)
{
    cf_contents contents;
    cf_bucket_read(filter, bucket, &contents);
    for (unsigned i = 0; i < n; i++)
        if (entries[i].bucket == bucket)
            contents.tag[entries[i].slot] = contents.payload[entries[i].slot] = 0;
    if (by != NULL && by->bucket == bucket) {
        contents.tag[by->slot] = stored.tag;
        contents.payload[by->slot] = stored.payload;
    }
    cf_bucket_write(filter, bucket, &contents);
}

void cf_entries_replace(cf_filter *filter, const cf_entry *entries, unsigned n, const cf_entry *by)
{
    cf_record stored = {0, 0, 0};
    assert(n > 0 && n <= CF_MATCHES_MAX && (n == 1 || filter->geometry.stash_size == 0));
    if (by != NULL)
        stored = cf_record_of(filter, cf_locate(filter, &by->side), by);
    CF_ASSERT_CONTENT(filter, by == NULL || stored.bucket == by->bucket);
    if (entries->slot >= CF_IN_LIST) {
        cf_stash_remove(filter, entries->slot - CF_IN_LIST);
        if (by != NULL)
            cf_stash_add(filter, &stored);
        return;
    }
    unsigned other = 1; /* the first entry in the other bucket of their pair */
    while (other < n && entries[other].bucket == entries->bucket)
        other++;
    if (n == 1) /* the most frequent case */
        cf_bucket_set(filter, entries->bucket, entries->slot, stored.tag, stored.payload);
    else
        replace_in(filter, entries->bucket, entries, n, by, stored);
    if (other < n)
        replace_in(filter, entries[other].bucket, entries, n, by, stored);
    for (unsigned i = by != NULL; i < n; i++) /* RULE: emptied slots are no longer occupied */
        cf_count_emptied(filter);
}

/* ---- finding ---- */

/* The rank of a match, highest first: by length, saturated entries after others of equal length. */
static unsigned rank_of(const cf_entry *entry)
{
    unsigned rank = 2 * entry->side.length; /* RULE: longer matches come first */
    return rank + !entry->saturated;
}

static void keep_match(const cf_filter *filter, const cf_entry *entry, uint64_t value, cf_matches *found)
{
    /* RULE: each value has its own copies */
    if (filter->geometry.value_bits && value != CF_ANY_VALUE && entry->payload != value)
        return;
    if (found->n == CF_MATCHES_MAX)
        return; /* corrupt input only */
    unsigned at = found->n++;
    for (; at > 0 && rank_of(entry) > rank_of(&found->entry[at - 1]); at--)
        found->entry[at] = found->entry[at - 1];
    found->entry[at] = *entry;
}

/* True if an entry and a side, in the same bucket, agree in all bits that both know. */
static bool agrees(const cf_filter *filter, const cf_side *side, const cf_entry *entry)
{
    unsigned least = entry->side.length < side->length ? entry->side.length : side->length;
    /* RULE: only bits that both know are compared */
    return ((entry->side.bits ^ side->bits) & cf_low_bits(filter->geometry.pair_bits + least)) == 0;
}

/* All entries of a filter with a stash know the same number of bits: entries that match have the same
** tag, and are next to each other in the list. */
static void find_stashed(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found)
{
    cf_entry entry;
    if (filter->stashed == 0 || !cf_overflow_get(filter, pair->place[0].bucket) ||
        !cf_overflow_get(filter, pair->place[1].bucket))
        return;
    for (unsigned i = 0; i < 2; i++) {
        cf_record like = {pair->place[i].bucket, pair->place[i].tag, 0};
        unsigned first = cf_stash_position(filter, &like), at = first;
        for (; at < filter->stashed && cf_stashed_at(filter, at, &entry) &&
               entry.bucket == like.bucket && agrees(filter, &pair->side[i], &entry);
             at++)
            keep_match(filter, &entry, value, found);
        cf_work(filter, at - first);
    }
}

unsigned cf_stashed_matches(const cf_filter *filter, const cf_pair *pair)
{
    cf_matches found;
    found.n = 0;
    find_stashed(filter, pair, CF_ANY_VALUE, &found);
    return found.n;
}

void cf_entries_find(const cf_filter *filter, const cf_pair *pair, uint64_t value, bool longer,
                     cf_matches *found)
{
    cf_entry entry;
    found->n = 0;
    if (pair->sides == 2 && filter->pages == NULL) /* it is loaded while the first one is read */
        cf_bucket_fetch(filter, pair->place[1].bucket);
    for (unsigned i = 0; i < pair->sides; i++) {
        const cf_side *side = &pair->side[i];
        uint64_t bucket = pair->place[i].bucket;
        unsigned slots = longer ? (1u << filter->geometry.bucket_size) - 1
                                : cf_bucket_find(filter, bucket, pair->place[i].tag);
        for (; slots != 0; slots &= slots - 1)
            /* RULE: a match knows no more than the new entry */
            if (cf_entry_at(filter, bucket, cf_lowest_bit(slots), &entry) &&
                (longer ? agrees(filter, side, &entry) : entry.side.length <= side->length))
                keep_match(filter, &entry, value, found);
    }
    find_stashed(filter, pair, value, found);
}

CF_NEVER_INLINE bool cf_key_is_full(const cf_filter *filter, const cf_side *side, bool longer)
{
    cf_matches found;
    cf_pair pair = cf_pair_from(filter, *side);
    cf_entries_find(filter, &pair, CF_ANY_VALUE, longer, &found);
    return found.n >= pair.sides * filter->geometry.bucket_size;
}

/* ---- looking inside ---- */

uint64_t cf_entry_copies(const cf_filter *filter, const cf_entry *entry)
{
    if (filter->geometry.counter_bits)
        return entry->payload + 1;
    return entry->saturated ? filter->geometry.max_copies : 1;
}

bool cf_entry_matches(const cf_filter *filter, const cf_entry *entry, const cf_side *key)
{
    return agrees(filter, key, entry) &&
           (!filter->geometry.epochs || cf_is_live(filter, entry->payload));
}

cf_side cf_new_fingerprint(const cf_filter *filter, const cf_side *key)
{
    cf_side cut = *key;
    if (cut.length > filter->view.new_length)
        cut.length = filter->view.new_length;
    cut.bits &= cf_low_bits(filter->geometry.pair_bits + cut.length);
    return cut;
}
