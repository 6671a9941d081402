/* SPDX-License-Identifier: MIT */
#include "insert.h"

#include "../entry/copies.h"
#include "../entry/eviction.h"
#include "../entry/spill.h"
#include "../table/epochs.h"
#include "growth.h"

/* ---- in a table of a given size ---- */

static CF_NEVER_INLINE bool place_by_moving(cf_filter *filter, const cf_pair *pair,
                                            cf_search_budget budget, const cf_entry *entry)
{
    cf_search search;
    if (budget.examined == 0 || !cf_eviction_search(filter, pair, budget, &search))
        return false;
    cf_eviction_apply(filter, pair, &search, entry);
    return true;
}

static bool place(cf_filter *filter, const cf_pair *pair, cf_search_budget budget, const cf_entry *entry)
{
    return cf_entry_place(filter, pair, entry) || place_by_moving(filter, pair, budget, entry);
}

/* In a filter that grows, half of the list is left for void entries, which double when their bucket
** is split; and a small table has to grow rather than fill a long list, for entries that are
** spilled know no more than the table's level. */
static bool may_spill(const cf_filter *filter, const cf_pair *pair)
{
    enum { LEAST = 2, SLOTS_PER_ENTRY = 32 };
    unsigned bound = filter->geometry.spill_bound;
    uint64_t few = LEAST + cf_slots(filter) / SLOTS_PER_ENTRY;
    bool room = filter->geometry.growth ? filter->spilled < (bound + 1) / 2 && filter->spilled < few
                                        : filter->spilled < bound;
    /* RULE: few copies of a key are spilled. An item of a merge may know less than entries of the same
    ** key do: they count, too. */
    return room && cf_spilled_agreeing(filter, pair) < CF_SPILL_COPIES;
}

/* After few steps into a slot, or else into the list. */
static bool place_or_spill(cf_filter *filter, const cf_pair *pair, const cf_entry *entry)
{
    cf_search_budget few = {CF_SEARCH_BUCKETS, filter->geometry.budget};
    if (place(filter, pair, few, entry))
        return true;
    if (!may_spill(filter, pair))
        return false;
    cf_spill_add(filter,
                 &(cf_spilled){pair->place[0].bucket, cf_entry_tag(filter, entry, pair->place[0]),
                               cf_entry_payload(filter, entry)});
    return true;
}

/* In a filter that ages: gives an item's epoch, when it is later, to the longest entry that matches it.
** `any`: also to one that knows less than an entry of its own would. That one is often of another key,
** and strangers would match it for longer. False: there is none. */
static bool refresh(cf_filter *filter, const cf_pair *pair, const cf_entry *item, bool any)
{
    cf_matches found;
    unsigned length = item->side.length, new = filter->view.new_length;
    cf_find_matches(filter, pair, CF_ANY_VALUE, &found);
    if (found.n == 0 || (!any && found.entry[0].side.length < (length < new ? length : new)))
        return false;
    cf_entry young = found.entry[0];
    young.payload = item->payload;
    /* RULE: an entry never becomes older; equivalent < to <=: it stays as it is */
    if (cf_epoch_age(filter, young.payload) < cf_epoch_age(filter, found.entry[0].payload))
        cf_entries_replace(filter, found.entry, 1, &young);
    return true;
}

static cf_status store_ageing(cf_filter *filter, const cf_pair *pair, const cf_entry *item,
                              cf_search_budget budget)
{
    bool stored = refresh(filter, pair, item, false) || place(filter, pair, budget, item) ||
                  refresh(filter, pair, item, true);
    return stored ? CF_OK : CF_FULL;
}

static cf_status store_spilling(cf_filter *filter, const cf_pair *pair, const cf_entry *item,
                                cf_search_budget budget, bool key)
{
    if ((!key || cf_entries_matching(filter, pair) > 0) && cf_copies_add(filter, pair, item))
        return CF_OK;
    return place_or_spill(filter, pair, item) || place(filter, pair, budget, item) ? CF_OK : CF_FULL;
}

/* Stores an item in the table as it is, looking for a path among `nodes` buckets. */
static cf_status store_item(cf_filter *filter, const cf_entry *item, unsigned nodes)
{
    cf_pair pair;
    cf_room room;
    cf_search_budget ordinary = {nodes, CF_ANY_NUMBER};
    bool key = item->side.length == CF_WHOLE; /* else longer entries count, too */
    cf_pair_set(filter, &item->side, &pair);
    if (pair.sides == 0)
        return CF_BAD_ARGUMENT;
    if (filter->geometry.epochs)
        return store_ageing(filter, &pair, item, ordinary);
    if (filter->geometry.spill_bound > 0)
        return store_spilling(filter, &pair, item, ordinary, key);
    bool match = cf_slots_match(filter, &pair, &room);
    if ((match || !key) && cf_copies_add(filter, &pair, item))
        return CF_OK;
    if (room.side == 2)
        return place_by_moving(filter, &pair, ordinary, item) ? CF_OK : CF_FULL;
    cf_entry_put(filter, pair.place[room.side], room.slot, item);
    return CF_OK;
}

bool cf_settle_one(cf_filter *filter, unsigned index)
{
    static const cf_search_budget ordinary = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER};
    cf_entry entry;
    if (!cf_spilled_at(filter, index, &entry))
        return false;
    cf_pair pair = cf_pair_from(filter, entry.side);
    if (pair.sides == 0 || !place(filter, &pair, ordinary, &entry))
        return false;
    cf_spill_remove(filter, index);
    return true;
}

/* ---- in one that may grow ---- */

/* The dead take up no room, so that the slots of a filter that ages say nothing. */
static bool crowded(cf_filter *filter)
{
    return filter->view.grown && !filter->geometry.epochs && cf_nearly_full(filter);
}

/* Buckets that the search for a path may go on from. In a table that grows every other insertion
** needs a search, and longer ones cost more than the bucket that splitting adds. Few take so
** many. In a filter that ages they say when to split. */
static unsigned search_nodes(const cf_filter *filter)
{
    enum { GROWN = 256, AGEING = 16 };
    return !filter->view.grown ? CF_SEARCH_BUCKETS : filter->geometry.epochs ? AGEING : GROWN;
}

/* Up to so many buckets a table grows as it must: in a small one a few keys are easily together in
** one place, and one level more often still leaves them so. */
enum { SMALL_TABLE = 4096 };

/* Neither keys that were chosen to crowd one place, nor void entries, of which splitting makes two,
** may let the table grow for ever. A table with more than sixteen slots per item is reported
** full. */
static bool too_empty(const cf_filter *filter)
{
    enum { EMPTIEST = 16 };
    uint64_t most = EMPTIEST * (filter->items + 1);
    return cf_slots(filter) >= most && filter->buckets >= SMALL_TABLE &&
           filter->buckets >= 2 * filter->geometry.buckets;
}

/* One add at most doubles the table. */
static uint64_t most_buckets(const cf_filter *filter)
{
    return 2 * filter->buckets > SMALL_TABLE ? 2 * filter->buckets : SMALL_TABLE;
}

/* Is this the end, whatever else might be tried? */
static bool is_final(cf_status status)
{
    return status == CF_NO_MEMORY || status == CF_INTERRUPTED;
}

/* Splits a few buckets of a crowded table; one or two are enough, unless they are full of void
** entries. In a large table eight at a time take less time than one at each of eight adds. Only lack of
** memory, or an interrupt, is an error, so that equal calls give equal bytes or none. */
static cf_status relieve(cf_filter *filter, cf_undo *undo)
{
    enum { MOST_STEPS = 16, AT_A_TIME = 8 };
    cf_status status = CF_OK;
    unsigned at_a_time = filter->buckets > SMALL_TABLE ? AT_A_TIME : 1;
    for (unsigned i = 0; status == CF_OK && i < MOST_STEPS && !too_empty(filter) &&
                         (i % at_a_time != 0 || crowded(filter));
         i++)
        status = cf_grow_noted(filter, undo);
    cf_spill_follow(filter, &undo->steps);
    return is_final(status) ? status : CF_OK;
}

/* Buckets to split before the next try. One is enough as a rule. A place that needs many gets twice
** as many each time: few searches in vain, and not many more splits than were needed. */
static uint64_t steps_at(unsigned tries)
{
    enum { SINGLE = 8 };
    return tries < SINGLE ? 1 : (uint64_t)1 << (tries - SINGLE);
}

static bool may_grow(const cf_filter *filter, uint64_t most)
{
    return filter->buckets < most && !too_empty(filter);
}

static cf_status grow_by(cf_filter *filter, uint64_t steps, uint64_t most, cf_undo *undo)
{
    cf_status status = may_grow(filter, most) ? CF_OK : CF_FULL;
    for (; status == CF_OK && steps > 0 && may_grow(filter, most); steps--)
        status = cf_grow_noted(filter, undo);
    cf_spill_follow(filter, &undo->steps);
    return status;
}

/* Can growing up to `most` buckets make room for the item? Asked before the first step: a refused
** add costs no growth. */
static bool growth_helps(const cf_filter *filter, const cf_entry *item, uint64_t most)
{
    cf_pair pair;
    cf_pair_set(filter, &item->side, &pair);
    unsigned doublings = 0;
    while (filter->buckets << doublings < most)
        doublings++;
    /* Within a level a bucket may be split once more than the table doubles. */
    unsigned levels = doublings + (filter->split > 0);
    return !too_empty(filter) && cf_splitting_helps(filter, &pair, levels);
}

/* Are there entries to fold? Then the pair of the item, too. */
static bool finds_fold(const cf_filter *filter, const cf_entry *item, unsigned copies, cf_pair *pair,
                       cf_fold *best)
{
    cf_pair_set(filter, &item->side, pair);
    return pair->sides > 0 && cf_find_fold(filter, pair, item, copies, best);
}

static CF_NEVER_INLINE bool has_fold(const cf_filter *filter, const cf_entry *item, unsigned copies)
{
    cf_pair pair;
    cf_fold best;
    return finds_fold(filter, item, copies, &pair, &best);
}

/* Folds entries that say the same, `copies` of them at least, and stores the item. False: there are not
** so many, or there is no way to mark one, or `copies` is 0; nothing has changed. */
static CF_NEVER_INLINE bool fold_entries(cf_filter *filter, const cf_entry *item, unsigned copies)
{
    cf_pair pair;
    cf_fold best;
    bool marks = filter->view.grown || filter->geometry.counter_bits || filter->geometry.epochs;
    if (copies == 0 || !marks || !finds_fold(filter, item, copies, &pair, &best))
        return false;
    cf_copies_fold(filter, &pair, item, &best);
    return true;
}

/* Keys that repeat crowd single places, and splitting helps them little. In a table that has grown
** a path is found, as a rule, up to 80 % and more. The emptier it is where none is found, the fewer
** entries have to say the same to be folded: three are hardly of different keys. Growing from 1,000
** keys to 100,000, four copies each: 151 bits per key, 1,257 without folding; the exact counts of
** keys that come twice stay. 0: none are folded. */
static unsigned copies_to_fold(const cf_filter *filter)
{
    enum { EMPTY = 75, VERY_EMPTY = 60 };
    uint64_t percent = filter->occupied * 100 / cf_slots(filter);
    if (!filter->view.grown || percent >= EMPTY)
        return 0;
    return percent >= VERY_EMPTY ? 3 : 2;
}

/* Does an item of another filter know no more than the numbers of its buckets say? A split makes two of
** it, and growth is taken back. In a merge that has worked much it becomes two at once: more entries. */
static bool becomes_two(const cf_filter *filter, const cf_entry *item)
{
    cf_pair pair = cf_pair_from(filter, item->side);
    bool two = pair.sides < 2;
    for (unsigned i = 0; i < pair.sides; i++)
        two |= item->side.length == pair.place[i].extension;
    return two && filter->view.grown && filter->view.left && filter->view.left[0] < filter->view.left[1];
}

/* Grows until the item finds room. *status: CF_FULL when there is none, because growth ends with
** what is returned. */
static cf_status grow_until_stored(cf_filter *filter, const cf_entry *item, cf_undo *undo,
                                   cf_status *status)
{
    uint64_t most = most_buckets(filter);
    cf_status grown = relieve(filter, undo);
    *status = CF_FULL;
    if (grown == CF_OK && undo->then.buckets != filter->buckets)
        *status = store_item(filter, item, search_nodes(filter));
    if (*status == CF_FULL && grown == CF_OK && becomes_two(filter, item))
        *status = CF_BAD_ARGUMENT;
    if (*status == CF_FULL && grown == CF_OK && !growth_helps(filter, item, most))
        return CF_FULL;
    for (unsigned tries = 0; *status == CF_FULL && grown == CF_OK; tries++) {
        if (fold_entries(filter, item, copies_to_fold(filter))) {
            *status = CF_OK;
            break;
        }
        grown = grow_by(filter, steps_at(tries), most, undo);
        if (grown == CF_OK)
            *status = store_item(filter, item, search_nodes(filter));
    }
    return grown;
}

/* Folds any entries that say the same. Their filter may have to begin to grow, so that there are
** marks. CF_FULL: there are none. Not CF_OK: the filter may have grown. */
static cf_status insert_folding(cf_filter *filter, const cf_entry *item, cf_undo *undo)
{
    enum { ANY = 2 };
    if (fold_entries(filter, item, ANY))
        return CF_OK;
    if (filter->view.grown || filter->geometry.epochs || !has_fold(filter, item, ANY))
        return CF_FULL;
    cf_status status = cf_grow_noted(filter, undo);
    cf_spill_follow(filter, &undo->steps);
    if (status == CF_OK)
        status = store_item(filter, item, search_nodes(filter));
    return status == CF_FULL && fold_entries(filter, item, ANY) ? CF_OK : status;
}

static cf_status insert_growing(cf_filter *filter, const cf_entry *item)
{
    cf_undo undo;
    cf_status status;
    cf_undo_begin(&undo, filter);
    cf_status grown = grow_until_stored(filter, item, &undo, &status);
    if (status != CF_OK) /* RULE: growth in vain is taken back */
        cf_grow_back(filter, &undo);
    cf_undo_end(filter, &undo);
    if (status != CF_FULL || is_final(grown))
        return status == CF_FULL ? grown : status;
    /* Growth does not help: a longer path may. */
    status = store_item(filter, item, CF_SEARCH_BUCKETS);
    if (status == CF_FULL)
        status = insert_folding(filter, item, &undo);
    if (status != CF_OK)
        cf_grow_back(filter, &undo);
    cf_undo_end(filter, &undo);
    return status == CF_FULL ? grown : status;
}

cf_status cf_insert(cf_filter *filter, const cf_entry *item)
{
    bool grows = filter->geometry.growth && filter->memory.resize != NULL;
    if (filter->view.writable == NULL)
        return CF_BAD_ARGUMENT;
    if (!grows)
        return store_item(filter, item, CF_SEARCH_BUCKETS);
    cf_status status = CF_FULL;
    if (!crowded(filter))
        status = store_item(filter, item, search_nodes(filter));
    return status == CF_FULL ? insert_growing(filter, item) : status;
}
