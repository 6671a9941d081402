/* SPDX-License-Identifier: MIT */
#include "entry.h"

#include "../base/watch.h"
#include "../table/epochs.h"
#include "spill.h"

/* ---- what a slot holds ---- */

static cf_entry decode(const cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t tag,
                       uint64_t payload)
{
    cf_address address = cf_address_of(filter, bucket);
    uint64_t sticky = filter->view.sticky;
    return (cf_entry){.side = cf_side_of(filter, address, tag),
                      .payload = payload & filter->view.payload_max,
                      .sticky = sticky != 0 && (payload & sticky) == sticky,
                      .bucket = bucket,
                      .slot = slot,
                      .extension = address.bits};
}

bool cf_entry_at(const cf_filter *filter, uint64_t bucket, unsigned slot, cf_entry *entry)
{
    uint64_t tag = cf_slot_get(filter, bucket, slot);
    if (tag != 0)
        *entry = decode(filter, bucket, slot, tag, cf_payload_get(filter, bucket, slot));
    return tag != 0;
}

bool cf_spilled_at(const cf_filter *filter, unsigned index, cf_entry *entry)
{
    cf_spilled stored = cf_spill_get(filter, index);
    if (stored.tag == 0 || stored.bucket >= filter->buckets)
        return false;
    *entry = decode(filter, stored.bucket, CF_IN_LIST + index, stored.tag, stored.payload);
    return true;
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

/* What an entry says in the place where it lies. */
static cf_spilled stored_as(const cf_filter *filter, const cf_entry *entry)
{
    cf_place place = cf_locate(filter, &entry->side);
    CF_ASSERT_CONTENT(filter, place.bucket == entry->bucket && place.extension == entry->extension);
    return (cf_spilled){entry->bucket, cf_entry_tag(filter, entry, place),
                        cf_entry_payload(filter, entry)};
}

/* All slots of a bucket with one write, which may give them other numbers. */
static void replace_in_bucket(cf_filter *filter, uint64_t bucket, const cf_entry *entries, unsigned n,
                              const cf_entry *by)
{
    cf_contents contents;
    cf_bucket_read(filter, bucket, &contents);
    for (unsigned i = 0; i < n; i++) {
        unsigned slot = entries[i].slot;
        if (entries[i].bucket != bucket)
            continue;
        CF_ASSERT_CONTENT(filter, contents.tag[slot] != 0);
        bool stays = by != NULL && by->bucket == bucket && by->slot == slot;
        cf_spilled stored = stays ? stored_as(filter, by) : (cf_spilled){0, 0, 0};
        contents.tag[slot] = stored.tag;
        contents.payload[slot] = stored.payload;
        if (stored.tag == 0) /* RULE: slots that are emptied are counted */
            cf_count_emptied(filter);
    }
    cf_bucket_write(filter, bucket, &contents);
}

static void replace_in_list(cf_filter *filter, const cf_entry *entry, const cf_entry *by)
{
    cf_spill_remove(filter, entry->slot - CF_IN_LIST);
    if (by != NULL) {
        cf_spilled stored = stored_as(filter, by);
        cf_spill_add(filter, &stored);
    }
}

/* The most frequent case: one entry, in a slot. */
static void replace_in_slot(cf_filter *filter, const cf_entry *entry, const cf_entry *by)
{
    cf_spilled stored = by != NULL ? stored_as(filter, by) : (cf_spilled){0, 0, 0};
    CF_ASSERT_CONTENT(filter, cf_slot_get(filter, entry->bucket, entry->slot) != 0);
    cf_bucket_set(filter, entry->bucket, entry->slot, stored.tag, stored.payload);
    if (stored.tag == 0)
        cf_count_emptied(filter);
}

void cf_entries_replace(cf_filter *filter, const cf_entry *entries, unsigned n, const cf_entry *by)
{
    assert(n > 0 && n <= CF_MATCHES_MAX);
    if (n == 1) {
        if (entries->slot < CF_IN_LIST)
            replace_in_slot(filter, entries, by);
        else
            replace_in_list(filter, entries, by);
        return;
    }
    assert(filter->geometry.spill_bound == 0);
    unsigned other = 1; /* the first of them that lies in the other bucket of their pair */
    while (other < n && entries[other].bucket == entries[0].bucket)
        other++;
    replace_in_bucket(filter, entries[0].bucket, entries, n, by);
    if (other < n)
        replace_in_bucket(filter, entries[other].bucket, entries, n, by);
}

/* ---- finding ---- */

/* Is this entry to stand before the other? The longer one is; of equally long ones, one that is not
** sticky: it goes first when several become one. */
static bool comes_first(const cf_entry *entry, const cf_entry *other)
{
    if (entry->side.length != other->side.length)
        /* RULE: matches are sorted by total length; equivalent > to >=: they are not equal */
        return entry->side.length > other->side.length;
    return other->sticky && !entry->sticky;
}

static void keep_match(const cf_filter *filter, const cf_entry *entry, uint64_t value, cf_matches *found)
{
    /* RULE: each value has its own copies */
    if (filter->geometry.value_bits && value != CF_ANY_VALUE && entry->payload != value)
        return;
    if (found->n == CF_MATCHES_MAX)
        return; /* bytes that lie */
    unsigned at = found->n++;
    for (; at > 0 && comes_first(entry, &found->entry[at - 1]); at--)
        found->entry[at] = found->entry[at - 1];
    found->entry[at] = *entry;
}

static void find_in_bucket(const cf_filter *filter, const cf_side *side, const cf_place *place,
                           uint64_t value, cf_matches *found)
{
    cf_entry entry;
    unsigned slots = cf_bucket_find(filter, place->bucket, place->tag);
    for (; slots != 0; slots &= slots - 1)
        /* RULE: a match knows no more than the new entry */
        if (cf_entry_at(filter, place->bucket, cf_lowest_bit(slots), &entry) &&
            entry.side.length <= side->length)
            keep_match(filter, &entry, value, found);
}

/* Do an entry and a side agree in all the bits that both know? They lie in one place. */
static bool agrees(const cf_filter *filter, const cf_side *side, const cf_entry *entry)
{
    unsigned least = entry->side.length < side->length ? entry->side.length : side->length;
    /* RULE: what agrees is what both know */
    return ((entry->side.bits ^ side->bits) & cf_low_bits(filter->geometry.pair_bits + least)) == 0;
}

/* All entries of a filter with a list know as much as each other: those that match have the tag, and
** stand together. */
static void find_spilled(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found)
{
    cf_entry entry;
    if (filter->spilled == 0 || !cf_overflow_get(filter, pair->place[0].bucket) ||
        !cf_overflow_get(filter, pair->place[1].bucket))
        return;
    for (unsigned i = 0; i < 2; i++) {
        unsigned first = cf_spill_first(filter, &pair->place[i]), at = first;
        for (; at < filter->spilled && cf_spilled_at(filter, at, &entry) &&
               entry.bucket == pair->place[i].bucket && agrees(filter, &pair->side[i], &entry);
             at++)
            keep_match(filter, &entry, value, found);
        cf_work(filter, at - first);
    }
}

unsigned cf_spilled_matches(const cf_filter *filter, const cf_pair *pair)
{
    cf_matches found;
    found.n = 0;
    find_spilled(filter, pair, CF_ANY_VALUE, &found);
    return found.n;
}

void cf_find_matches(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found)
{
    found->n = 0;
    if (pair->sides == 2 && filter->pages == NULL) /* it is on its way while the first one is read */
        cf_bucket_fetch(filter, pair->place[1].bucket);
    for (unsigned i = 0; i < pair->sides; i++)
        find_in_bucket(filter, &pair->side[i], &pair->place[i], value, found);
    find_spilled(filter, pair, value, found);
}

void cf_find_agreeing(const cf_filter *filter, const cf_pair *pair, uint64_t value, cf_matches *found)
{
    cf_entry entry;
    found->n = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, pair->place[i].bucket, slot, &entry) &&
                agrees(filter, &pair->side[i], &entry))
                keep_match(filter, &entry, value, found);
    find_spilled(filter, pair, value, found);
}

/* ---- looking inside ---- */

uint64_t cf_entry_alternate(const cf_filter *filter, const cf_entry *entry, bool *movable)
{
    cf_side other = cf_alternate(filter, entry->side);
    cf_place there = cf_locate(filter, &other);
    *movable = other.length >= there.extension;
    return there.bucket;
}

uint64_t cf_entry_copies(const cf_filter *filter, const cf_entry *entry)
{
    if (filter->geometry.counter_bits)
        return entry->payload + 1;
    return entry->sticky ? filter->geometry.cap : 1;
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
