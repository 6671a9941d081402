/* SPDX-License-Identifier: MIT */
#include "insert.h"

#include "../entry/copies.h"
#include "../entry/eviction.h"
#include "../entry/spill.h"
#include "../table/epochs.h"
#include "growth.h"

/* ---- in a table of a given size ---- */

/* Puts an entry into the list, if there is one that has room. */
static bool spill(cf_filter *filter, const cf_pair *pair, const cf_entry *entry)
{
    cf_place place = pair->place[0];
    /* RULE: few copies of a key are spilled */
    if (filter->spilled == filter->geometry.spill_bound ||
        cf_spilled_matches(filter, pair) >= CF_SPILL_COPIES)
        return false;
    cf_spill_add(filter, &(cf_spilled){place.bucket, cf_entry_tag(filter, entry, place),
                                       cf_entry_payload(filter, entry)});
    return true;
}

/* What is stored of an entry now, and where. */
typedef struct arrival {
    cf_entry entry;
    cf_pair pair;
} arrival;

static arrival arrive(const cf_filter *filter, const cf_entry *entry)
{
    arrival new = {.entry = *entry};
    new.entry.side = cf_new_fingerprint(filter, &entry->side);
    new.pair = cf_pair_from(filter, new.entry.side);
    return new;
}

/* Stores an entry in the table as it is. One that matches takes it up; else it gets a free slot; else
** one is freed, by a path that goes on from `nodes` buckets at most. With a list it gets a line of that
** when no short path is found. */
static cf_status store(cf_filter *filter, const cf_entry *entry, unsigned nodes)
{
    const cf_geometry *shape = &filter->geometry;
    arrival new = arrive(filter, entry);
    if (new.pair.sides == 0)
        return CF_BAD_ARGUMENT;
    if ((shape->epochs ? cf_copies_refresh(filter, &new.pair, &new.entry, false)
                       : cf_copies_add(filter, &new.pair, &new.entry)) ||
        cf_entry_place(filter, &new.pair, &new.entry))
        return CF_OK;
    if (shape->spill_bound > 0 &&
        ((shape->budget > 0 && cf_evict(filter, &new.pair, nodes, shape->budget, &new.entry)) ||
         spill(filter, &new.pair, &new.entry)))
        return CF_OK;
    if (cf_evict(filter, &new.pair, nodes, CF_ANY_NUMBER, &new.entry))
        return CF_OK;
    return shape->epochs && cf_copies_refresh(filter, &new.pair, &new.entry, true) ? CF_OK : CF_FULL;
}

/* ---- in one that may grow ---- */

enum { MOST_STEPS = 16, SEARCH_GROWN = 256 };

/* Buckets that the first search for a path may go on from. In a table that grows every other insertion
** needs a search, and longer ones cost more than the bucket that splitting adds. Few take so
** many. In a filter that ages they say when to split. */
static unsigned search_nodes(const cf_filter *filter)
{
    enum { AGEING = 16 };
    return !filter->view.form.grown  ? CF_SEARCH_BUCKETS
           : filter->geometry.epochs ? AGEING
                                     : SEARCH_GROWN;
}

/* Is this the end, whatever else might be tried? */
static bool is_final(cf_status status)
{
    return status == CF_NO_MEMORY || status == CF_INTERRUPTED;
}

/* Splits buckets of a crowded table; one or two are enough, unless they are full of void entries. Only
** lack of memory, or an interrupt, is an error, so that equal calls give equal bytes or none. */
static cf_status relieve(cf_filter *filter)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    cf_status status = CF_OK;
    for (unsigned i = 0;
         status == CF_OK && i < MOST_STEPS && cf_is_crowded(filter) && cf_may_split(filter); i++)
        status = cf_split_one(filter, &ticker);
    return is_final(status) ? status : CF_OK;
}

/* The first growth takes long anyway: it goes on until the table is crowded no more. A few buckets of a
** large one that is full to the last would hardly ever help the key for which it grows. */
static cf_status split_first(cf_filter *filter)
{
    enum { PARTS = 64 };
    cf_status status;
    do
        status = cf_grow_to(filter, filter->buckets + filter->buckets / PARTS + 1);
    while (status == CF_OK && cf_is_crowded(filter) && cf_may_split(filter));
    return status;
}

/* Splits a few buckets: that takes less time than a search in vain. Or a part of the table, where few
** have not helped, and the values of a key, which stay together, have to be parted from those of
** another one; or where buckets of two hold so few that many places are crowded. */
static cf_status split_some(cf_filter *filter, unsigned tries)
{
    enum { FEW = 4, FEW_TRIES = 6, PARTS = 8 };
    if (!filter->view.form.grown)
        return split_first(filter);
    bool loose = filter->geometry.value_bits || filter->geometry.bucket_size == 2,
         many = loose && tries >= FEW_TRIES;
    return cf_grow_to(filter, filter->buckets + FEW + (many ? filter->buckets / PARTS : 0));
}

/* Folds entries that say the same, `copies` of them at least; 0: none. */
static CF_NEVER_INLINE bool fold(cf_filter *filter, const cf_entry *entry, unsigned copies)
{
    arrival new = arrive(filter, entry);
    return copies > 0 && cf_copies_fold(filter, &new.pair, &new.entry, copies);
}

/* Keys that repeat crowd single places, and splitting helps them little. In a table that has grown
** a path is found, as a rule, up to 80 % and more. The emptier it is where none is found, the fewer
** entries have to say the same to be folded: three are hardly of different keys. 0: none are folded. */
static unsigned copies_to_fold(const cf_filter *filter)
{
    enum { EMPTY = 75, VERY_EMPTY = 60 };
    uint64_t percent = filter->occupied * 100 / cf_slots(filter);
    if (!filter->view.form.grown || percent >= EMPTY)
        return 0;
    return percent >= VERY_EMPTY ? 3 : 2;
}

/* An entry finds no room. Splits some buckets, and tries again, as often as that may help; at last with
** a longer path, or by folding. The splits of an entry that is refused stay: no answer has changed. */
static cf_status insert_splitting(cf_filter *filter, const cf_entry *entry)
{
    enum { ANY = 2 };
    cf_status grown = CF_OK, status = CF_FULL;
    for (unsigned i = 0; status == CF_FULL && grown == CF_OK; i++) {
        if (fold(filter, entry, copies_to_fold(filter)))
            return CF_OK;
        grown = i < MOST_STEPS && cf_may_split(filter) ? split_some(filter, i) : CF_FULL;
        if (is_final(grown))
            return grown;
        status = store(filter, entry, grown == CF_OK ? SEARCH_GROWN : CF_SEARCH_BUCKETS);
    }
    if (status == CF_FULL && fold(filter, entry, ANY))
        return CF_OK;
    return status == CF_FULL ? grown : status;
}

cf_status cf_insert(cf_filter *filter, const cf_entry *entry)
{
    bool grows = filter->geometry.growth && filter->memory.resize != NULL;
    if (filter->writable == NULL)
        return CF_BAD_ARGUMENT;
    if (!grows)
        return store(filter, entry, CF_SEARCH_BUCKETS);
    cf_status status = relieve(filter);
    if (status == CF_OK)
        status = store(filter, entry, search_nodes(filter));
    return status == CF_FULL ? insert_splitting(filter, entry) : status;
}
