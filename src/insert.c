/*
** insert.c - when a filter grows: before an add that finds it crowded, and for one that finds no room.
*/
#include "insert.h"

#include "address.h"
#include "eviction.h"
#include "growth_log.h"
#include "join.h"
#include "place.h"
#include "spill.h"

static uint64_t slots_of(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

/* Slots occupied of 100 above which a table that has grown splits before an add: where searches begin to be long. It
** is less than in a new table, for as many keys fall into a bucket that is not split yet as into both children of one
** that is. From 4,000 to 500,000 keys, b = 4, f = 10: 314 ns per key at 90 %, 425 at 91, more than 1,000 at 93. */
static unsigned crowded_percent(unsigned b)
{
    return b <= 2 ? 80 : 91;
}

static bool crowded(const cf_filter *filter)
{
    return filter->grown &&
           filter->occupied * 100 > slots_of(filter) * crowded_percent(filter->geometry.bucket_size);
}

/* Buckets that the search for a path may go on from. In a table that grows every other insertion needs a search, and
** longer ones cost more than the bucket that splitting adds. With 64 instead of 256 the load falls half way
** through a level, where paths are longest, from 0.81 to 0.79 items per slot. */
static unsigned search_budget(const cf_filter *filter)
{
    enum { GROWN = 256 };
    return filter->grown ? GROWN : CF_SEARCH_BUCKETS;
}

/* Up to so many buckets a table grows as it must: in a small one a few keys are easily together in one place, and one
** level more often still leaves them so. */
enum { SMALL_TABLE = 4096 };

/* Neither keys that were chosen to crowd one place, nor void entries, of which splitting makes two, may let the table
** grow for ever: with more than sixteen slots for every item it is full all the same. */
static bool too_empty(const cf_filter *filter)
{
    enum { EMPTIEST = 16 };
    uint64_t most = EMPTIEST * (filter->items + 1);
    return slots_of(filter) >= most && filter->buckets >= SMALL_TABLE &&
           filter->buckets >= 2 * filter->geometry.buckets;
}

/* One add at most doubles the table. */
static uint64_t most_buckets(const cf_filter *filter)
{
    return 2 * filter->buckets > SMALL_TABLE ? 2 * filter->buckets : SMALL_TABLE;
}

/* An insertion under way: the item, of which some copies may be stored before it is over. */
typedef struct insertion {
    cf_item *item;
    cf_growth_log log; /* growth from here on can be taken back */
    uint64_t most;     /* buckets */
} insertion;

static void fill_room_left(cf_filter *filter, const cf_joined *joined)
{
    for (unsigned i = 0; i < joined->buckets; i++)
        cf_spill_drain(filter, joined->bucket[i]);
}

/* With classes folded or joined when there is no room otherwise. */
static cf_status store(cf_filter *filter, cf_item *item, unsigned budget, bool at_any_price)
{
    cf_pair pair;
    cf_joined joined;
    cf_pair_set(filter, &item->side, &pair);
    if (pair.sides == 0)
        return CF_BAD_ARGUMENT;
    cf_status status = cf_store(filter, &pair, budget, item);
    if (status != CF_FULL || !cf_join_classes(filter, &pair, item, at_any_price, &joined))
        return status;
    uint64_t before = item->payload;
    status = cf_store(filter, &pair, budget, item);
    if (status == CF_FULL && item->payload == before)
        cf_join_back(filter, &joined);
    else
        fill_room_left(filter, &joined);
    return status;
}

static cf_status store_more(cf_filter *filter, insertion *run)
{
    uint64_t before = run->item->payload;
    cf_status status = store(filter, run->item, search_budget(filter), false);
    if (run->item->payload != before)
        cf_growth_log_end(filter, &run->log);
    return status;
}

static cf_status grow_by(cf_filter *filter, uint64_t steps, insertion *run)
{
    cf_status status = filter->buckets < run->most && !too_empty(filter) ? CF_OK : CF_FULL;
    for (; status == CF_OK && steps > 0 && filter->buckets < run->most; steps--)
        status = cf_grow_logged(filter, &run->log);
    return status;
}

/* Buckets to split before the next try. One is enough as a rule. A place that needs many gets twice as many each
** time: few searches in vain, and not many more splits than were needed. */
static uint64_t steps_at(unsigned tries)
{
    enum { SINGLE = 8 };
    return tries < SINGLE ? 1 : (uint64_t)1 << (tries - SINGLE);
}

/* Splits a few buckets of a crowded table; one or two are enough, unless they are full of void entries. Only lack of
** memory is an error, so that equal calls give equal bytes or none. */
static cf_status relieve(cf_filter *filter, insertion *run)
{
    enum { MOST_STEPS = 16 };
    cf_status status = CF_OK;
    for (unsigned i = 0; status == CF_OK && i < MOST_STEPS && crowded(filter) && !too_empty(filter); i++)
        status = cf_grow_logged(filter, &run->log);
    return status == CF_NO_MEMORY ? CF_NO_MEMORY : CF_OK;
}

/* Grows until the item finds room; takes it all back when it does not. */
static cf_status insert_growing(cf_filter *filter, insertion *run)
{
    cf_status status = CF_FULL, grown = CF_OK;
    if (crowded(filter)) {
        grown = relieve(filter, run);
        if (grown == CF_OK)
            status = store_more(filter, run);
    }
    for (unsigned tries = 0; status == CF_FULL && grown == CF_OK; tries++) {
        grown = grow_by(filter, steps_at(tries), run);
        if (grown == CF_OK)
            status = store_more(filter, run);
    }
    if (status != CF_FULL)
        return status;
    cf_grow_back(filter, &run->log);
    return grown;
}

cf_status cf_insert(cf_filter *filter, cf_item *item)
{
    bool grows = filter->geometry.growth && filter->memory.resize != NULL;
    cf_status status = CF_FULL;
    if (!grows || !crowded(filter))
        status = store(filter, item, grows ? search_budget(filter) : CF_SEARCH_BUCKETS, !grows);
    if (status != CF_FULL || !grows)
        return status;
    insertion run = {.item = item, .most = most_buckets(filter)};
    cf_growth_log_begin(&run.log, filter);
    cf_status grown = insert_growing(filter, &run);
    cf_growth_log_end(filter, &run.log);
    if (grown == CF_OK || grown == CF_BAD_ARGUMENT || grown == CF_NO_MEMORY)
        return grown;
    /* Growth does not help: a longer path may. */
    status = store(filter, item, CF_SEARCH_BUCKETS, true);
    return status == CF_FULL ? grown : status;
}
