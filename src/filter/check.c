/* SPDX-License-Identifier: MIT */
/*
** check.c - walking over all the buckets: what opening, in constant time, cannot see.
**
** The error rate is computed from what is stored. The hashes that match an entry are those that
** begin, on one of their two sides, with what it knows; of two entries of a pair either one knows
** all that the other does, or no hash matches both. So the share of hashes that match anything is
** the sum over the entries that no shorter one covers.
*/
#include <limits.h>
#include <math.h>

#include "../entry/copies.h"
#include "../entry/spill.h"
#include "../entry/walk.h"
#include "../table/epochs.h"

/* The entries that match everything this one does, itself included. */
static void find_prefixes(const cf_filter *filter, const cf_entry *entry, uint64_t value,
                          cf_matches *found)
{
    cf_pair pair = cf_pair_from(filter, entry->side);
    cf_find_matches(filter, &pair, value, found);
}

/* ---- census ---- */

/* The share of all hashes whose base side begins so. Hashes whose lowest f bits are zero count as
** those that have 1 there (address.h). */
static double share_of_hashes(const cf_filter *filter, const cf_side *side)
{
    unsigned f = filter->geometry.fingerprint_bits, known = filter->geometry.pair_bits + side->length;
    double share = ldexp(1, -(int)known), moved = ldexp(1, -(int)(known > f ? known : f));
    uint64_t low = side->bits & cf_low_bits(known < f ? known : f);
    share += low == 1 ? moved : low == 0 ? -moved : 0;
    return share / (double)filter->geometry.buckets;
}

static double share_matched(const cf_filter *filter, const cf_entry *entry)
{
    cf_side other = cf_alternate(filter, entry->side);
    return share_of_hashes(filter, &entry->side) + share_of_hashes(filter, &other);
}

/* Is the entry the first of those that are equal to it? */
static bool first_of_equals(const cf_matches *found, const cf_entry *entry)
{
    for (unsigned i = 0; i < found->n && found->entry[i].side.length == entry->side.length; i++) {
        const cf_entry *equal = &found->entry[i];
        if (equal->bucket < entry->bucket ||
            (equal->bucket == entry->bucket && equal->slot < entry->slot))
            return false;
    }
    return true;
}

static void count_entry(const cf_filter *filter, const cf_entry *entry, cf_census *census)
{
    cf_matches same, any;
    if (filter->geometry.epochs && !cf_is_live(filter, entry->payload))
        return; /* it is as good as gone */
    find_prefixes(filter, entry, entry->payload, &same);
    find_prefixes(filter, entry, CF_ANY_VALUE, &any);
    unsigned length = entry->side.length, shortest = any.n ? any.entry[any.n - 1].side.length : length;
    census->occupied += entry->slot < CF_IN_LIST;
    census->copies += cf_entry_copies(filter, entry);
    census->shortest = length < census->shortest ? length : census->shortest;
    census->voids += filter->view.form.grown && length == entry->extension;
    census->sticky +=
        !filter->geometry.epochs && cf_is_sticky(filter, &same) && first_of_equals(&same, entry);
    if (shortest == length && first_of_equals(&any, entry))
        census->fpr += share_matched(filter, entry);
}

cf_census cf_take_census(const cf_filter *filter)
{
    enum { COST = 1000 }; /* nanoseconds */
    cf_census census = {.shortest = UINT_MAX};
    cf_entry entry;
    cf_walk walk = cf_walk_begin(filter, COST);
    while (cf_walk_entry(&walk, &entry))
        count_entry(filter, &entry, &census);
    if (census.fpr > 1) /* lines of a list that lies, which no lookup finds, each count anew */
        census.fpr = 1;
    census.status = walk.status;
    return census;
}

/* ---- check ---- */

/* Counts slots and copies. */
static cf_status check_entry(const cf_filter *filter, const cf_entry *entry, cf_census *seen,
                             const char **why)
{
    cf_matches found;
    seen->occupied += entry->slot < CF_IN_LIST;
    seen->copies += cf_entry_copies(filter, entry);
    if (filter->view.form.grown) {
        if (entry->side.length > filter->view.new_length)
            return cf_refuse(CF_DAMAGED, why,
                             "an entry knows more bits than this level of growth gives");
        return CF_OK;
    }
    /* Before growth all entries know as much, and the copies of a key are those that are equal. */
    find_prefixes(filter, entry, entry->payload, &found);
    if (found.n > filter->geometry.cap)
        return cf_refuse(CF_DAMAGED, why, "a key has more copies than cap allows");
    return CF_OK;
}

static cf_status check_slot(const cf_filter *filter, uint64_t bucket, unsigned slot, cf_census *seen,
                            const char **why)
{
    cf_entry entry;
    if (cf_entry_at(filter, bucket, slot, &entry))
        return check_entry(filter, &entry, seen, why);
    if (cf_payload_get(filter, bucket, slot) != 0)
        return cf_refuse(CF_DAMAGED, why, "an empty slot has a counter, a value or a sticky bit");
    return CF_OK;
}

/* A spilled entry whose buckets have a free slot should have been moved there. */
static bool could_lie_in_slot(const cf_filter *filter, const cf_entry *entry)
{
    bool movable;
    uint64_t other = cf_entry_alternate(filter, entry, &movable);
    return cf_bucket_free_slot(filter, entry->bucket) >= 0 || cf_bucket_free_slot(filter, other) >= 0;
}

static cf_status check_spilled(const cf_filter *filter, unsigned index, cf_census *seen,
                               const char **why)
{
    cf_entry entry;
    if (!cf_spilled_at(filter, index, &entry))
        return CF_OK; /* cf_spill_check has seen to it */
    if (could_lie_in_slot(filter, &entry))
        return cf_refuse(CF_DAMAGED, why, "a spilled entry has room in its buckets");
    /* RULE: of the entries of a key no more are spilled than can be found */
    cf_pair pair = cf_pair_from(filter, entry.side);
    if (cf_spilled_matches(filter, &pair) > CF_SPILL_COPIES)
        return cf_refuse(CF_DAMAGED, why, "the spill list has more entries of a key than are found");
    return check_entry(filter, &entry, seen, why);
}

/* Overflow bits are set for entries of the list, and for nothing else. */
static cf_status check_overflow(const cf_filter *filter, const char **why)
{
    enum { COST = 10, LOOK = 20 }; /* nanoseconds */
    uint64_t set = 0;
    cf_walk walk = cf_walk_begin(filter, COST);
    while (filter->geometry.spill_bound != 0 && cf_walk_next(&walk)) {
        if (!cf_overflow_get(filter, walk.bucket))
            continue;
        if (++set > 2 * (uint64_t)filter->spilled || !cf_spill_names(filter, walk.bucket))
            return cf_refuse(CF_DAMAGED, why, "an overflow bit is set for nothing");
        cf_tick(&walk.ticker, LOOK * filter->spilled);
    }
    return walk.status;
}

static cf_status check_list(const cf_filter *filter, cf_census *seen, const char **why)
{
    enum { COST = 400, LINE = 20 }; /* nanoseconds */
    cf_ticker ticker = cf_ticker_of(filter->watch);
    cf_status status = cf_spill_check(filter, why);
    if (status == CF_OK)
        status = check_overflow(filter, why);
    for (unsigned i = 0; status == CF_OK && i < filter->spilled; i++)
        status = cf_tick(&ticker, COST + LINE * filter->spilled) ? CF_INTERRUPTED
                                                                 : check_spilled(filter, i, seen, why);
    return status;
}

/* ---- what is not in buckets ---- */

/* Are the bits of the table, or behind it, from `from` to before `to` zero? */
static bool are_zero(const cf_filter *filter, uint64_t from, uint64_t to, cf_ticker *ticker)
{
    const uint8_t *table = filter->bytes + CF_HEADER_BYTES;
    uint64_t end = (to + 7) / 8, at = from / 8 - 1;
    for (;;) {
        at = cf_first_set(filter, CF_HEADER_BYTES + at + 1, CF_HEADER_BYTES + end, ticker) -
             CF_HEADER_BYTES;
        if (at >= end)
            return true;
        unsigned below = at * 8 < from ? from % 8 : 0, bits = to - at * 8 < 8 ? to % 8 : 8;
        if ((table[at] & cf_low_bits(bits)) >> below != 0)
            return false;
    }
}

/* The bits behind the last bucket, the reserved bytes, and the rest of the spill list. */
static cf_status check_rest(const cf_filter *filter, const char **why)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    uint64_t end = cf_table_bits(&filter->geometry, filter->level, filter->split);
    uint64_t whole = (end + 7) / 8 * 8, length = (filter->length - CF_HEADER_BYTES) * 8;
    uint64_t list = length - cf_spill_bytes(filter) * 8;
    const struct {
        uint64_t from, to;
        const char *why;
    } zero[] = {{end, whole, "the bits behind the last bucket are not zero"},
                {whole, list, "the reserved bytes are not zero"},
                {list + (uint64_t)filter->spilled * CF_SPILL_ENTRY * 8, length,
                 "the reserved bytes are not zero"}};
    for (unsigned i = 0; i < sizeof zero / sizeof zero[0]; i++)
        if (!are_zero(filter, zero[i].from, zero[i].to, &ticker))
            return cf_refuse(CF_DAMAGED, why, zero[i].why);
    return ticker.stopped ? CF_INTERRUPTED : CF_OK;
}

/* ---- the whole ---- */

static cf_status check_buckets(const cf_filter *filter, cf_census *seen, const char **why)
{
    enum { COST = 400 }; /* nanoseconds */
    cf_status status = CF_OK;
    cf_walk walk = cf_walk_begin(filter, COST);
    while (status == CF_OK && cf_walk_next(&walk)) {
        cf_contents contents;
        cf_bucket_read(filter, walk.bucket, &contents);
        if (filter->geometry.semisorted &&
            !cf_semisort_in_order(cf_code_at(filter, cf_bucket_at(filter, walk.bucket)), contents.tag))
            return cf_refuse(CF_DAMAGED, why, "a semi-sorted bucket is not in order");
        for (unsigned slot = 0; status == CF_OK && slot < filter->geometry.bucket_size; slot++)
            status = check_slot(filter, walk.bucket, slot, seen, why);
    }
    return status == CF_OK ? walk.status : status;
}

/* Is any key sticky? CF_INTERRUPTED: that is not known. */
static cf_status find_sticky(const cf_filter *filter, bool *any)
{
    enum { COST = 400 }; /* nanoseconds */
    cf_entry entry;
    cf_matches found;
    cf_walk walk = cf_walk_begin(filter, COST);
    *any = false;
    while (!*any && cf_walk_entry(&walk, &entry)) {
        find_prefixes(filter, &entry, entry.payload, &found);
        *any = cf_is_sticky(filter, &found);
    }
    return walk.status;
}

/* Each item is a copy of an entry's, unless a sticky key has absorbed it. Where a filter has grown
** there may be more copies than items: void entries are in several buckets, and count as one
** item. */
static cf_status check_total(const cf_filter *filter, const cf_census *seen, const char **why)
{
    bool any;
    if (seen->occupied != filter->occupied)
        return cf_refuse(CF_DAMAGED, why, "the header does not count the occupied slots right");
    if (!filter->view.form.grown && filter->items < seen->copies)
        return cf_refuse(CF_DAMAGED, why, "the header counts fewer items than the entries stand for");
    if (filter->items <= seen->copies)
        return CF_OK;
    cf_status status = find_sticky(filter, &any);
    if (status == CF_OK && !any)
        return cf_refuse(CF_DAMAGED, why, "the header counts more items than the entries stand for");
    return status;
}

cf_status cf_check(const cf_filter *filter, const char **why)
{
    cf_census seen = {.occupied = 0};
    cf_status status = check_rest(filter, why);
    if (status == CF_OK)
        status = check_buckets(filter, &seen, why);
    if (status == CF_OK)
        status = check_list(filter, &seen, why);
    return status == CF_OK ? check_total(filter, &seen, why) : status;
}
