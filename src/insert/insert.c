/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include "copies.h"
#include "eviction.h"

static bool stash(cf_filter *filter, const cf_pair *pair, const cf_entry *entry)
{
    /* RULE: few copies of a key are stashed */
    if (filter->stashed == filter->geometry.stash_size ||
        cf_stashed_matches(filter, pair) >= CF_STASH_COPIES)
        return false;
    cf_record line = cf_record_of(filter, pair->place[0], entry);
    cf_stash_add(filter, &line);
    return true;
}

/* Stores an entry in the table as it is: it is taken up by one that matches, or gets a free slot, or one
** that is freed, by a path that goes on from `nodes` buckets at most; or a line of the list when no
** short path is found. */
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

/* Is this the end, whatever else might be tried? */
static bool is_final(cf_status status)
{
    return status == CF_NO_MEMORY || status == CF_INTERRUPTED;
}

/* Splits buckets of a crowded table: one or two, unless they are full of exhausted entries. Only lack of
** memory, or an interrupt, is an error, so that equal calls give equal bytes or none. */
static cf_status relieve(cf_filter *filter)
{
    cf_status status = CF_OK;
    for (unsigned i = 0;
         status == CF_OK && i < MOST_STEPS && cf_is_crowded(filter) && cf_may_split(filter); i++)
        status = cf_grow_to(filter, filter->buckets + 1);
    return is_final(status) ? status : CF_OK;
}

/* Splits a few buckets, which takes less time than a search in vain; or, when few have not helped, a
** part of the table: where the values of a key, which stay together, have to be parted from those of
** another one, and where buckets of two leave many places crowded. The first growth takes long anyway:
** it goes on until the table is crowded no more. A few buckets of a large full one would hardly ever
** help the key. */
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

/* Folds entries that say the same, and stores the new one. Keys that repeat crowd single places, where
** splitting helps little. In a table that has grown a path is found, as a rule, up to 80 % and more: the
** emptier it is without one, the fewer entries have to say the same. `last`: nothing else is left to
** try, so any two are folded. */
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

/* Where an entry finds no room, some buckets are split, and it is tried again, as often as that may
** help; at last with a longer path, or by folding. In a table that grows every other insertion needs a
** search, and long ones cost more than the bucket that splitting adds; in a filter that ages they say
** when to split. */
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
    /* RULE: a key with as many values as its buckets have slots does not make the table grow */
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
