/* SPDX-License-Identifier: MIT */
#include "copies.h"

#include "../table/epochs.h"
#include "eviction.h"

static bool counts(const cf_filter *filter)
{
    return filter->geometry.counter_bits != 0;
}

static unsigned weight_of(const cf_filter *filter, const cf_entry *entry)
{
    /* RULE: a saturated entry weighs max_copies, an entry with a counter weighs nothing */
    return entry->saturated ? filter->geometry.max_copies : !counts(filter);
}

bool cf_is_saturated(const cf_filter *filter, const cf_matches *found)
{
    unsigned weight = 0;
    for (unsigned i = 0; i < found->n; i++)
        weight += weight_of(filter, &found->entry[i]);
    return weight >= filter->geometry.max_copies;
}

/* ---- uniting entries ---- */

/* Replaces these entries, and `added` unless it is NULL, by one entry that stands for all of them, in
** the slot of `stays`, which is one of them. */
static void unite(cf_filter *filter, const cf_entry *entries, unsigned n, const cf_entry *stays,
                  const cf_entry *added)
{
    cf_entry one = *stays;
    uint64_t further = UINT64_MAX, most = filter->view.payload_max; /* copies minus one */
    for (unsigned i = 0; i < n + (added != NULL); i++) {
        const cf_entry *its = i < n ? &entries[i] : added;
        further += its->payload + 1; /* RULE: the united entry counts all copies */
        /* RULE: the united entry has the latest epoch; equivalent < to <=: equally young */
        if (cf_epoch_age(filter, its->payload) < cf_epoch_age(filter, one.payload))
            one.payload = its->payload; /* without epochs or counters all payloads are equal */
    }
    /* RULE: the united entry knows no more than the new entry; equivalent > to >=: the same */
    if (added != NULL && one.side.length > added->side.length)
        one.side.length = added->side.length;
    if (counts(filter))
        /* RULE: a counter stops when it is full; equivalent < to <=: the same */
        one.payload = further < most ? further : most;
    else if (filter->geometry.epochs == 0)
        one.saturated = true; /* RULE: the united entry is saturated */
    bool same = one.payload == stays->payload && one.saturated == stays->saturated &&
                one.side.length == stays->side.length;
    if (n > 1 || !same)
        cf_entries_replace(filter, entries, n, &one);
}

/* ---- adding ---- */

/* Absorbs the new entry if it and these matches weigh max_copies: the longest matches that suffice for
** that are united. Otherwise a match with a counter counts it: if there are max_copies matches; or if
** the match is a prefix of the new entry that knows as many bits, or enough bits beyond its bucket that
** it hardly belongs to another key. */
static bool absorb(cf_filter *filter, const cf_entry *added, const cf_matches *found, bool are_prefixes)
{
    enum { TRUSTED = 4 }; /* remainder bits in the slot: other keys match one entry in 2^(s + 4) */
    unsigned weight = weight_of(filter, added), n = 0, max_copies = filter->geometry.max_copies;
    /* RULE: entries are chosen until they weigh max_copies */
    while (n < found->n && (n == 0 || weight < max_copies))
        weight += weight_of(filter, &found->entry[n++]);
    /* RULE: matches and the new copy are united if they weigh max_copies */
    if (n > 0 && weight >= max_copies) {
        unite(filter, found->entry, n, &found->entry[n - 1], added); /* RULE: the shortest stays */
        return true;
    }
    for (unsigned i = 0; counts(filter) && i < found->n; i++) {
        const cf_entry *match = &found->entry[i];
        unsigned length = match->side.length;
        bool knows = length >= added->side.length || length >= match->extension + TRUSTED;
        if (found->n >= max_copies || (are_prefixes && knows)) {
            unite(filter, match, 1, match, added);
            return true;
        }
    }
    return false;
}

bool cf_copies_add(cf_filter *filter, const cf_pair *pair, const cf_entry *added, bool any)
{
    cf_matches found;
    assert(!added->saturated || filter->view.saturated != 0);
    cf_entries_find(filter, pair, added->payload, false, &found);
    bool is_whole = added->side.length == filter->view.new_length; /* no entry knows more */
    if (found.n == 0 && is_whole)
        return false;
    if (filter->geometry.epochs) {
        bool young = found.n > 0 && (any || found.entry[0].side.length >= added->side.length);
        if (young)
            unite(filter, found.entry, 1, found.entry, added);
        return young;
    }
    if (!filter->view.form.grown) { /* then no entries are united */
        bool saturated =
            cf_is_saturated(filter, &found); /* RULE: before growth max_copies equal entries absorb */
        if (saturated || !counts(filter))
            return saturated;
    }
    if (absorb(filter, added, &found, true))
        return true;
    if (is_whole)
        return false; /* RULE: only merged entries can agree with longer entries */
    /* otherwise a key would be stored again for each length with which merged filters have it */
    cf_entries_find(filter, pair, added->payload, true, &found);
    return absorb(filter, added, &found, false);
}

/* ---- making room ---- */

/* Entries that can be united, so that a new entry whose pair is full gets a slot. */
typedef struct candidate {
    cf_matches found; /* the first n of them are united */
    unsigned n;       /* 0: there are none */
    cf_entry stays;
    bool absorbs; /* the new entry is united with them; otherwise it takes a slot that becomes free */
} candidate;

/* Considers uniting the two longest of these entries, and all that are as long as the second; `goes` is
** one of them, and is not the one that stays. If `goes` is NULL: the new entry, the longest entry, and
** all that are as long. The best fold saturates no unsaturated entry, then keeps most bits. */
static void consider_fold(const cf_matches *found, const cf_entry *goes, unsigned copies,
                          candidate *best)
{
    bool absorbs = goes == NULL;
    unsigned least = absorbs ? 1 : 2, n = least;
    if (found->n < least)
        return;
    while (n < found->n && found->entry[n].side.length == found->entry[least - 1].side.length)
        n++;
    const cf_entry *stays = &found->entry[n - 1]; /* RULE: the shortest entry of a fold stays */
    if (goes && stays->bucket == goes->bucket && stays->slot == goes->slot)
        stays = &found->entry[n - 2];
    bool enough = n + absorbs >= copies || stays->saturated;
    bool better = best->n == 0 || (stays->saturated == best->stays.saturated
                                       ? stays->side.length > best->stays.side.length
                                       : stays->saturated);
    if (enough && better)
        *best = (candidate){.found = *found, .n = n, .stays = *stays, .absorbs = absorbs};
}

bool cf_copies_fold(cf_filter *filter, const cf_pair *pair, const cf_entry *added, unsigned copies)
{
    cf_matches found;
    cf_entry entry;
    candidate best;
    best.n = 0;
    if (!filter->view.form.grown && !counts(filter) && !filter->geometry.epochs)
        return false; /* nothing can be marked as saturated */
    cf_entries_find(filter, pair, added->payload, false, &found);
    consider_fold(&found, NULL, copies, &best);
    for (unsigned i = 0; i < pair->sides; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            if (!cf_entry_at(filter, pair->place[i].bucket, slot, &entry))
                continue;
            cf_prefixes_find(filter, &entry.side, entry.payload, &found);
            consider_fold(&found, &entry, copies, &best);
        }
    if (best.n == 0)
        return false;
    unite(filter, best.found.entry, best.n, &best.stays, best.absorbs ? added : NULL);
    if (!best.absorbs)
        cf_entry_place(filter, pair, added);
    return true;
}

cf_deleted cf_copies_remove(cf_filter *filter, const cf_pair *pair, uint64_t value)
{
    assert(filter->writable != NULL && pair->sides > 0);
    cf_matches found;
    cf_entries_find(filter, pair, value, false, &found);
    if (found.n == 0)
        return CF_ABSENT;
    if (cf_is_saturated(filter, &found)) /* RULE: a saturated key is not deleted */
        return CF_SATURATED;
    cf_entry fewer = found.entry[0];                  /* RULE: the longest match goes */
    bool stays = counts(filter) && fewer.payload > 0; /* RULE: a delete lowers a counter by one */
    fewer.payload -= stays;
    cf_entries_replace(filter, found.entry, 1, stays ? &fewer : NULL);
    if (!stays && cf_overflow_get(filter, fewer.bucket)) /* a stashed entry gets the slot */
        cf_stash_place(filter, cf_stash_of_bucket(filter, fewer.bucket), 0);
    return CF_REMOVED;
}
