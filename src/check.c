/*
** check.c - walking over all the buckets: what opening, in constant time, cannot see.
**
** The error rate is computed from what is stored. The hashes that match an entry are those that begin, on one of
** their two sides, with what it knows; of two entries of a pair either one knows all that the other does, or no
** hash matches both. So the share of hashes that match anything is the sum over the entries that no shorter one
** covers.
*/
#include <limits.h>
#include <math.h>

#include "bucket.h"
#include "copies.h"
#include "format.h"
#include "spill.h"

static cf_status damaged(const char **why, const char *reason)
{
    *why = reason;
    return CF_DAMAGED;
}

/* The entries that match everything this one does, itself included. */
static void find_prefixes(const cf_filter *filter, const cf_entry *entry, uint64_t value,
                          cf_matches *found)
{
    cf_pair pair = cf_pair_from(filter, entry->side);
    cf_find_matches(filter, &pair, value, found);
}

/* ---- census ---- */

/* The share of all hashes whose base side begins so. Hashes whose lowest f bits are zero count as those that have 1
** there (address.h). */
static double share_of_hashes(const cf_filter *filter, const cf_side *side)
{
    unsigned f = filter->geometry.fingerprint_bits, known = filter->geometry.pair_bits + side->length;
    double share = ldexp(1, -(int)known), moved = ldexp(1, -(int)(known > f ? known : f));
    uint64_t low = side->bits & cf_low_bits(known < f ? known : f);
    share += low == 1 ? moved : low == 0 ? -moved : 0;
    return share / (double)filter->geometry.buckets;
}

static double share_matched(const cf_filter *filter, const cf_entry *entry, uint64_t bucket)
{
    cf_side other = cf_alternate(filter, entry->side);
    double share = share_of_hashes(filter, &entry->side);
    if (entry->alternate != bucket)
        share += share_of_hashes(filter, &other);
    return share;
}

/* Is the entry at this place, of this length, the first of those that are equal to it? */
static bool first_of_equals(const cf_matches *found, uint64_t bucket, unsigned slot, unsigned length)
{
    for (unsigned i = 0; i < found->n && found->match[i].length == length; i++) {
        const cf_match *equal = &found->match[i];
        if (equal->bucket < bucket || (equal->bucket == bucket && equal->slot < slot))
            return false;
    }
    return true;
}

static void count_entry(const cf_filter *filter, const cf_entry *entry, uint64_t bucket, unsigned slot,
                        cf_census *census)
{
    cf_matches same, any;
    find_prefixes(filter, entry, entry->payload, &same);
    find_prefixes(filter, entry, CF_ANY_VALUE, &any);
    unsigned length = entry->side.length, shortest = any.n ? any.match[any.n - 1].length : length;
    census->copies += entry->copies;
    census->shortest = length < census->shortest ? length : census->shortest;
    census->voids += filter->grown && length == cf_home_of(filter, bucket).bits;
    census->sticky += cf_matches_sticky(filter, &same) && first_of_equals(&same, bucket, slot, length);
    if (shortest == length && first_of_equals(&any, bucket, slot, length))
        census->fpr += share_matched(filter, entry, bucket);
}

cf_census cf_take_census(const cf_filter *filter)
{
    cf_census census = {.shortest = UINT_MAX};
    cf_entry entry;
    uint64_t bucket_of_spilled;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, bucket, slot, &entry)) {
                census.occupied++;
                count_entry(filter, &entry, bucket, slot, &census);
            }
    for (unsigned i = 0; i < filter->spilled; i++)
        if (cf_spilled_at(filter, i, &bucket_of_spilled, &entry))
            count_entry(filter, &entry, bucket_of_spilled, CF_IN_LIST + i, &census);
    return census;
}

/* ---- check ---- */

/* Before growth all entries know as much, and the copies of a key are those that are equal. */
static cf_status check_plain_entry(const cf_filter *filter, const cf_entry *entry, const char **why)
{
    cf_matches found;
    find_prefixes(filter, entry, entry->payload, &found);
    if (found.n > filter->geometry.cap)
        return damaged(why, "a key has more copies than cap allows");
    return CF_OK;
}

static cf_status check_grown_entry(const cf_filter *filter, const cf_entry *entry, uint64_t tag,
                                   const char **why)
{
    if (cf_is_folded(filter, tag) && filter->geometry.counter_bits &&
        entry->payload != cf_most_further_copies(&filter->geometry))
        return damaged(why, "a slot without terminator has a counter that is not at its maximum");
    if (entry->side.length > filter->new_length)
        return damaged(why, "an entry knows more bits than this level of growth gives");
    return CF_OK;
}

/* What check_slot counts. */
typedef struct counts {
    uint64_t occupied, copies;
} counts;

static cf_status check_slot(const cf_filter *filter, uint64_t bucket, unsigned slot, counts *seen,
                            const char **why)
{
    cf_entry entry;
    if (cf_entry_at(filter, bucket, slot, &entry)) {
        seen->occupied++;
        seen->copies += entry.copies;
        return filter->grown ? check_grown_entry(filter, &entry, cf_slot_get(filter, bucket, slot), why)
                             : check_plain_entry(filter, &entry, why);
    }
    if (cf_payload_get(filter, bucket, slot) != 0)
        return damaged(why, "an empty slot has a counter or a value");
    return CF_OK;
}

/* Room in the pair of a spilled entry would have been taken by it. (Once grown, not all: an entry that was void learns
** of its other bucket when its own is split.) */
static bool has_room(const cf_filter *filter, const cf_entry *entry, uint64_t bucket)
{
    return cf_bucket_free_slot(filter, bucket) >= 0 ||
           (!filter->grown && cf_bucket_free_slot(filter, entry->alternate) >= 0);
}

static cf_status check_spilled(const cf_filter *filter, unsigned index, counts *seen, const char **why)
{
    cf_entry entry;
    uint64_t bucket;
    if (!cf_spilled_at(filter, index, &bucket, &entry))
        return CF_OK; /* cf_spill_fault has seen to it */
    seen->copies += entry.copies;
    if (entry.folded)
        return damaged(why, "a spilled entry has no terminator");
    if (has_room(filter, &entry, bucket))
        return damaged(why, "a spilled entry has room in its buckets");
    return filter->grown ? check_grown_entry(filter, &entry, cf_spill_get(filter, index).tag, why)
                         : check_plain_entry(filter, &entry, why);
}

static cf_status check_list(const cf_filter *filter, counts *seen, const char **why)
{
    const char *fault = cf_spill_fault(filter);
    cf_status status = fault ? damaged(why, fault) : CF_OK;
    for (unsigned i = 0; status == CF_OK && i < filter->spilled; i++)
        status = check_spilled(filter, i, seen, why);
    return status;
}

/* The slots of a semi-sorted bucket are in order, their code is one. */
static cf_status check_order(const cf_filter *filter, uint64_t bucket, const char **why)
{
    if (filter->geometry.semisorted && !cf_semisort_in_order(filter, cf_record_at(filter, bucket)))
        return damaged(why, "a semi-sorted bucket is not in order");
    return CF_OK;
}

/* The bits behind the last bucket, the reserved bytes, and the rest of the spill list. */
static cf_status check_rest(const cf_filter *filter, const char **why)
{
    uint64_t table_bits = filter->buckets * filter->bucket_bits;
    const uint8_t *end = filter->bytes + filter->length;
    const uint8_t *used = end - cf_spill_bytes(filter),
                  *unused = used + (uint64_t)filter->spilled * CF_SPILL_ENTRY;
    const uint8_t *p = filter->table + table_bits / 8;
    cf_need(filter, CF_HEADER_BYTES + table_bits / 8, filter->length);
    if (table_bits % 8 != 0 && *p++ >> (table_bits % 8) != 0)
        return damaged(why, "the bits behind the last bucket are not zero");
    for (; p < end; p++)
        if (*p != 0 && (p < used || p >= unused))
            return damaged(why, "the reserved bytes are not zero");
    return CF_OK;
}

cf_status cf_check(const cf_filter *filter, const char **why)
{
    counts seen = {0, 0};
    cf_status status = check_rest(filter, why);
    for (uint64_t bucket = 0; status == CF_OK && bucket < filter->buckets; bucket++) {
        status = check_order(filter, bucket, why);
        for (unsigned slot = 0; status == CF_OK && slot < filter->geometry.bucket_size; slot++)
            status = check_slot(filter, bucket, slot, &seen, why);
    }
    if (status == CF_OK)
        status = check_list(filter, &seen, why);
    if (status != CF_OK)
        return status;
    if (seen.occupied != filter->occupied)
        return damaged(why, "the header does not count the occupied slots right");
    /* void entries are in several buckets, and count as one item */
    if (!filter->grown && filter->items < seen.copies)
        return damaged(why, "the header counts fewer items than the entries stand for");
    return CF_OK;
}
