/* SPDX-License-Identifier: MIT */
#include "copies.h"

#include "../table/epochs.h"

/* ---- weighing ---- */

static bool counts(const cf_filter *filter)
{
    return filter->geometry.counter_bits != 0;
}

static unsigned weight_of(const cf_filter *filter, const cf_entry *entry)
{
    /* RULE: a sticky entry weighs cap, one that counts weighs nothing */
    return entry->sticky ? filter->geometry.cap : !counts(filter);
}

static unsigned weight_of_all(const cf_filter *filter, const cf_matches *found)
{
    unsigned weight = 0;
    for (unsigned i = 0; i < found->n; i++)
        weight += weight_of(filter, &found->entry[i]);
    return weight;
}

bool cf_is_sticky(const cf_filter *filter, const cf_matches *found)
{
    return weight_of_all(filter, found) >= filter->geometry.cap;
}

/* ---- adding ---- */

/* Makes the shortest of the longest entries sticky that weigh cap with the new entry; the others go. */
static void make_sticky(cf_filter *filter, const cf_entry *added, const cf_matches *found)
{
    unsigned weight = weight_of(filter, added), n = 0;
    do
        weight += weight_of(filter, &found->entry[n++]);
    while (weight < filter->geometry.cap && n < found->n); /* RULE: chosen are as many as weigh cap */
    assert(weight >= filter->geometry.cap);
    cf_entry stays = found->entry[n - 1]; /* RULE: the shortest of the chosen stays */
    /* RULE: what becomes sticky knows no more than the new entry; equivalent > to >=: the same */
    if (stays.side.length > added->side.length)
        stays.side.length = added->side.length;
    else if (n == 1 && stays.sticky)
        return;
    stays.sticky = true; /* RULE: what stays is marked */
    cf_entries_replace(filter, found->entry, n, &stays);
}

/* Absorbs the new entry when it and these matches weigh cap. */
static bool absorb_at_cap(cf_filter *filter, const cf_entry *added, const cf_matches *found)
{
    unsigned weight = weight_of_all(filter, found) + weight_of(filter, added);
    /* RULE: matches and the new copy that weigh cap become one */
    bool sticky = found->n > 0 && weight >= filter->geometry.cap;
    if (sticky)
        make_sticky(filter, added, found);
    return sticky;
}

/* Makes an entry stand for the copies of a new one, too; it forgets what that does not know. */
static void count_on(cf_filter *filter, const cf_entry *match, const cf_entry *added)
{
    cf_entry more = *match;
    uint64_t copies = match->payload + added->payload + 1, most = filter->view.payload_max;
    /* RULE: a counter stops when it is full; equivalent < to <=: the same */
    more.payload = copies < most ? copies : most;
    more.sticky = more.payload == most;
    /* RULE: copies are counted on a prefix of the new entry; equivalent > to >=: the same */
    if (more.side.length > added->side.length)
        more.side.length = added->side.length;
    cf_entries_replace(filter, match, 1, &more);
}

/* Is a match to count the copies of the new entry? It is when there are so many matches that the key
** should not take one more slot. A prefix of the new entry also is when it knows as much as an entry of
** the new entry's own would, or so much beyond its bucket that it is hardly of another key. */
static bool can_count(const cf_filter *filter, const cf_entry *match, unsigned matches,
                      const cf_entry *added, bool is_prefix)
{
    enum { TRUSTED = 4 }; /* remainder bits in the slot: strangers match one entry in 2^(s + 4) */
    unsigned length = match->side.length, new = filter->view.new_length;
    unsigned own = added->side.length < new ? added->side.length : new;
    return matches >= filter->geometry.cap ||
           (is_prefix && (length >= own || length >= match->extension + TRUSTED));
}

/* Absorbs the new entry with these matches, or counts it on one of them. */
static bool absorb(cf_filter *filter, const cf_entry *added, const cf_matches *found, bool are_prefixes)
{
    if (absorb_at_cap(filter, added, found))
        return true;
    for (unsigned i = 0; counts(filter) && i < found->n; i++)
        if (can_count(filter, &found->entry[i], found->n, added, are_prefixes)) {
            count_on(filter, &found->entry[i], added);
            return true;
        }
    return false;
}

bool cf_copies_add(cf_filter *filter, const cf_pair *pair, const cf_entry *added)
{
    cf_matches found;
    assert(!added->sticky || filter->view.sticky != 0);
    cf_find_matches(filter, pair, added->payload, &found);
    if (!filter->view.form.grown) {                 /* and no entries become one */
        bool sticky = cf_is_sticky(filter, &found); /* RULE: before growth cap equal entries absorb */
        if (sticky || !counts(filter))
            return sticky;
    }
    if (absorb(filter, added, &found, true))
        return true;
    if (!filter->view.form.grown || added->side.length == CF_KEY_LENGTH)
        return false; /* RULE: only entries of merges agree with longer entries */
    /* Without this the copies of one key would be stored anew for each length at which it comes from
    ** filters that have grown less, until its pair is full of them. */
    cf_find_agreeing(filter, pair, added->payload, &found);
    return absorb(filter, added, &found, false);
}

/* ---- making room ---- */

/* Is a fold better in which this entry stays? It is when it makes nothing sticky that is not; else
** when it keeps more bits. */
static bool is_better(const cf_entry *stays, const cf_fold *than)
{
    if (than->n == 0)
        return true;
    if (stays->sticky != than->stays.sticky)
        return stays->sticky;
    return stays->side.length > than->stays.side.length;
}

/* The longest two of these entries, with those that are as long as the second, become one; `goes`
** is among them, and does not stay. When `goes` is NULL the new entry becomes one with the longest, and
** those that are as long. */
static void consider_fold(const cf_matches *found, const cf_entry *goes, unsigned copies, cf_fold *best)
{
    bool absorbs = goes == NULL;
    unsigned least = absorbs ? 1 : 2, n = least;
    if (found->n < least)
        return;
    while (n < found->n && found->entry[n].side.length == found->entry[least - 1].side.length)
        n++;
    const cf_entry *stays = &found->entry[n - 1]; /* RULE: the shortest of a fold stays */
    if (goes && stays->bucket == goes->bucket && stays->slot == goes->slot)
        stays = &found->entry[n - 2];
    bool enough = n + absorbs >= copies || stays->sticky;
    if (enough && is_better(stays, best))
        *best = (cf_fold){.found = *found, .n = n, .stays = *stays, .absorbs = absorbs};
}

bool cf_find_fold(const cf_filter *filter, const cf_pair *pair, const cf_entry *added, unsigned copies,
                  cf_fold *best)
{
    cf_matches found;
    cf_entry entry;
    best->n = 0;
    cf_find_matches(filter, pair, added->payload, &found);
    consider_fold(&found, NULL, copies, best);
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            if (!cf_entry_at(filter, pair->place[i].bucket, slot, &entry))
                continue;
            cf_pair its = cf_pair_from(filter, entry.side);
            cf_find_matches(filter, &its, entry.payload, &found);
            consider_fold(&found, &entry, copies, best);
        }
    return best->n > 0;
}

/* Copies that the entries of a fold stand for, all in all, less one. */
static uint64_t further_copies(const cf_filter *filter, const cf_fold *fold, const cf_entry *added)
{
    uint64_t copies = fold->absorbs ? added->payload : UINT64_MAX, most = filter->view.payload_max;
    for (unsigned i = 0; i < fold->n; i++)
        copies += fold->found.entry[i].payload + 1; /* RULE: a fold counts all copies */
    return copies < most ? copies : most;
}

/* The number of the latest epoch in which one of the keys was added for which a fold stands. */
static uint64_t youngest(const cf_filter *filter, const cf_fold *fold, const cf_entry *added)
{
    uint64_t number = fold->absorbs ? added->payload : fold->stays.payload;
    for (unsigned i = 0; i < fold->n; i++)
        if (cf_epoch_age(filter, fold->found.entry[i].payload) < cf_epoch_age(filter, number))
            number = fold->found.entry[i].payload;
    return number;
}

void cf_copies_fold(cf_filter *filter, const cf_pair *pair, const cf_entry *added, const cf_fold *fold)
{
    cf_entry stays = fold->stays;
    bool ages = filter->geometry.epochs != 0;
    assert(filter->view.form.grown || counts(filter) || ages);
    if (counts(filter))
        stays.payload = further_copies(filter, fold, added);
    else if (ages)
        stays.payload = youngest(filter, fold, added); /* RULE: a fold is as young as its youngest */
    stays.sticky = !counts(filter) && !ages;           /* RULE: a fold without counters is sticky */
    cf_entries_replace(filter, fold->found.entry, fold->n, &stays);
    if (!fold->absorbs)
        cf_entry_place(filter, pair, added);
}

/* ---- deleting ---- */

cf_deleted cf_copies_remove(cf_filter *filter, const cf_pair *pair, uint64_t value)
{
    assert(filter->writable != NULL && pair->sides > 0);
    cf_matches found;
    cf_find_matches(filter, pair, value, &found);
    if (found.n == 0)
        return CF_ABSENT;
    if (cf_is_sticky(filter, &found)) /* RULE: what is sticky is not deleted */
        return CF_STICKY;
    cf_entry fewer = found.entry[0];                  /* RULE: the longest match goes */
    bool stays = counts(filter) && fewer.payload > 0; /* RULE: a delete takes one copy off a counter */
    fewer.payload -= stays;
    cf_entries_replace(filter, found.entry, 1, stays ? &fewer : NULL);
    if (!stays && filter->spilled > 0 && found.entry[0].slot < CF_IN_LIST)
        cf_spill_place_in(filter, found.entry[0].bucket);
    return CF_REMOVED;
}
