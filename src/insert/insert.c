/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include "copies.h"
#include "eviction.h"

static bool stash(cf_filter *filter, const cf_pair *pair, const cf_entry *entry)
{
    /* RULE: at most CF_STASH_COPIES copies of a key are stashed */
    if (filter->stashed == filter->geometry.stash_size ||
        cf_stashed_matches(filter, pair) >= CF_STASH_COPIES)
        return false;
    cf_record line = cf_record_of(filter, pair->place[0], entry);
    cf_stash_add(filter, &line);
    return true;
}

/* Stores an entry in the table without growth: absorbed or counted by a match, in a free slot, in a slot
** that an eviction path frees (at most `nodes` buckets are expanded), or, without a short path, in the
** stash. */
static cf_status store(cf_filter *filter, const cf_entry *entry, unsigned nodes)
{
    const cf_geometry *shape = &filter->geometry;
    cf_entry new = {.payload = entry->payload, .saturated = entry->saturated};
    new.side = cf_new_fingerprint(filter, &entry->side);
    cf_pair pair = cf_pair_from(filter, new.side);
    if (pair.sides == 0)
        return CF_BAD_ARGUMENT;
    if (cf_copies_add(filter, &pair, &new, false) || cf_entry_place(filter, &pair, &new))
        return CF_OK;
    if ((shape->budget > 0 && cf_evict(filter, &pair, nodes, shape->budget, &new)) ||
        stash(filter, &pair, &new) || cf_evict(filter, &pair, nodes, CF_ANY_NUMBER, &new))
        return CF_OK;
    return shape->epochs && cf_copies_add(filter, &pair, &new, true) ? CF_OK : CF_FULL;
}

enum { MOST_STEPS = 16 };

/* True if nothing else may be tried. */
static bool is_final(cf_status status)
{
    return status == CF_NO_MEMORY || status == CF_INTERRUPTED;
}

/* Splits buckets of a crowded table: one or two, or more if they are full of exhausted entries. Only
** lack of memory, or an interrupt, is an error, so that equal calls give equal bytes or none. */
static cf_status relieve(cf_filter *filter)
{
    cf_status status = CF_OK;
    for (unsigned i = 0;
         status == CF_OK && i < MOST_STEPS && cf_is_crowded(filter) && cf_may_split(filter); i++)
        status = cf_grow_to(filter, filter->buckets + 1);
    return is_final(status) ? status : CF_OK;
}

/* Splits a few buckets, which takes less time than a search that fails. If a few have not helped, splits
** a part of the table: in a filter with values, which are together, and with buckets of two, where many
** buckets stay crowded. The first growth takes long anyway, and continues until the table is no longer
** crowded; a few buckets of a large full table would hardly ever help the key. */
static cf_status split_some(cf_filter *filter, unsigned tries)
{
    enum { FEW = 4, FEW_TRIES = 6, PARTS = 8, FIRST_PARTS = 64 };
    bool first = !filter->view.form.grown;
    bool loose = filter->geometry.value_bits || filter->geometry.bucket_size == 2;
    cf_status status;
    do {
        uint64_t buckets = filter->buckets, part = loose && tries >= FEW_TRIES ? buckets / PARTS : 0;
        status = cf_grow_to(filter, buckets + (first ? buckets / FIRST_PARTS + 1 : FEW + part));
    } while (first && status == CF_OK && cf_is_crowded(filter) && cf_may_split(filter));
    return status;
}

/* Folds equal entries, and stores the new one. Repeated keys crowd single buckets, where splitting helps
** little. In a grown table a path is usually found up to 80 % and more: the emptier the table without
** one, the fewer equal entries are needed. `last`: any two are folded, as a last resort. */
static CF_NEVER_INLINE bool fold(cf_filter *filter, const cf_entry *entry, bool last)
{
    enum { EMPTY = 75, VERY_EMPTY = 60 };
    uint64_t percent = filter->occupied * 100 / cf_slots(filter);
    if (!last && (!filter->view.form.grown || percent >= EMPTY))
        return false;
    cf_entry new = {.payload = entry->payload, .saturated = entry->saturated};
    new.side = cf_new_fingerprint(filter, &entry->side);
    cf_pair pair = cf_pair_from(filter, new.side);
    return cf_copies_fold(filter, &pair, &new, last || percent < VERY_EMPTY ? 2 : 3);
}

/* If there is no slot, splits a few buckets and retries, up to MOST_STEPS times; finally it searches a
** longer path, then folds. In a growing table every other insertion needs a search, and long searches
** cost more than the bucket that a split adds; with epochs they decide when to split. */
cf_status cf_insert(cf_filter *filter, const cf_entry *entry)
{
    enum { SEARCH_GROWN = 256, SEARCH_AGEING = 16 };
    if (filter->writable == NULL)
        return CF_READ_ONLY;
    if (!filter->geometry.growth || filter->memory.resize == NULL)
        return store(filter, entry, CF_SEARCH_BUCKETS);
    unsigned nodes = !filter->view.form.grown  ? CF_SEARCH_BUCKETS
                     : filter->geometry.epochs ? SEARCH_AGEING
                                               : SEARCH_GROWN;
    /* RULE: no table grows for a key with as many values as slots; equivalent without 2, false to true:
    ** fewer copies than that are stored of a key, and a new entry knows most */
    if (filter->geometry.value_bits != 0 && cf_key_is_full(filter, &entry->side, false)) {
        cf_status only = store(filter, entry, CF_SEARCH_BUCKETS);
        return only == CF_FULL && fold(filter, entry, true) ? CF_OK : only;
    }
    cf_status grown = relieve(filter);
    cf_status status = grown == CF_OK ? store(filter, entry, nodes) : grown;
    for (unsigned i = 0; status == CF_FULL && grown == CF_OK; i++) {
        if (fold(filter, entry, false))
            return CF_OK;
        grown = i < MOST_STEPS && cf_may_split(filter) ? split_some(filter, i) : CF_FULL;
        nodes = grown == CF_OK ? SEARCH_GROWN : CF_SEARCH_BUCKETS;
        status = is_final(grown) ? grown : store(filter, entry, nodes);
    }
    if (status != CF_FULL)
        return status;
    return fold(filter, entry, true) ? CF_OK : grown;
}
