#include "place.h"

#include "bucket.h"
#include "eviction.h"
#include "spill.h"

/* A new entry, before it has a slot. */
static cf_newcomer newcomer_of(const cf_filter *filter, const cf_item *item)
{
    cf_newcomer entry = {.length = item->side.length, .payload = item->payload};
    if (entry.length > filter->new_length)
        entry.length = filter->new_length;
    return entry;
}

/* Puts an entry into the first empty slot of its pair. */
static bool place_directly(cf_filter *filter, const cf_pair *pair, const cf_newcomer *entry)
{
    for (unsigned i = 0; i < pair->sides; i++) {
        cf_place there = pair->place[i];
        int slot = cf_bucket_free_slot(filter, there.bucket);
        if (slot >= 0) {
            cf_slot_set(filter, there.bucket, (unsigned)slot, cf_tag_of(filter, there, entry->length),
                        entry->payload);
            return true;
        }
    }
    return false;
}

static bool place_by_moving(cf_filter *filter, const cf_pair *pair, cf_search_budget budget,
                            const cf_newcomer *entry)
{
    cf_search search;
    if (budget.examined == 0 || !cf_eviction_search(filter, pair, budget, &search))
        return false;
    cf_eviction_apply(filter, pair, &search, entry);
    return true;
}

/* Into an empty slot, or one that can be emptied. */
static bool place(cf_filter *filter, const cf_pair *pair, cf_search_budget budget,
                  const cf_newcomer *entry)
{
    if (!place_directly(filter, pair, entry) && !place_by_moving(filter, pair, budget, entry))
        return false;
    /* A header that lies may count all the slots already; it must not be made to count more. */
    filter->occupied += filter->occupied < filter->buckets * filter->geometry.bucket_size;
    return true;
}

/* In a filter that grows, half of the list is left for void entries, which double when their bucket is split; and a small
** table has to grow rather than fill a long list, for entries that are spilled know no more than the table's level. */
static bool may_spill(const cf_filter *filter)
{
    enum { LEAST = 2, SLOTS_PER_ENTRY = 32 };
    unsigned bound = filter->geometry.spill_bound;
    uint64_t few = LEAST + filter->buckets * filter->geometry.bucket_size / SLOTS_PER_ENTRY;
    if (!filter->geometry.growth)
        return filter->spilled < bound;
    return filter->spilled < (bound + 1) / 2 && filter->spilled < few;
}

/* After few steps into a slot, or else into the list. */
static bool place_or_spill(cf_filter *filter, const cf_pair *pair, const cf_newcomer *entry)
{
    cf_search_budget few = {CF_SEARCH_BUCKETS, filter->geometry.budget};
    return place(filter, pair, few, entry) || cf_spill_add(filter, pair, entry->length, entry->payload);
}

cf_status cf_store(cf_filter *filter, const cf_pair *pair, unsigned budget, cf_item *item)
{
    bool key = item->side.length == CF_WHOLE; /* else longer entries count, too */
    if ((!key || cf_entries_matching(filter, pair) > 0) && cf_copies_absorb(filter, pair, item))
        return CF_OK;
    cf_newcomer entry = newcomer_of(filter, item);
    if (may_spill(filter) && place_or_spill(filter, pair, &entry))
        return CF_OK;
    cf_search_budget ordinary = {budget, CF_ANY_NUMBER};
    return place(filter, pair, ordinary, &entry) ? CF_OK : CF_FULL;
}

bool cf_settle_one(cf_filter *filter, unsigned index)
{
    static const cf_search_budget ordinary = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER};
    cf_spilled spilled = cf_spill_get(filter, index);
    if (spilled.bucket >= filter->buckets || spilled.tag == 0)
        return false;
    cf_side side = cf_side_of(filter, cf_home_of(filter, spilled.bucket), spilled.tag);
    cf_pair pair = cf_pair_from(filter, side);
    cf_newcomer entry = {.length = side.length, .payload = spilled.payload};
    if (pair.sides == 0 || !place(filter, &pair, ordinary, &entry))
        return false;
    cf_spill_remove(filter, index);
    return true;
}
