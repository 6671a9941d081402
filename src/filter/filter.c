/* SPDX-License-Identifier: MIT */
/*
** filter.c - calls with one key, or with many to look up.
*/
#include "../base/watch.h"
#include "../entry/entry.h"
#include "../insert/copies.h"
#include "../insert/eviction.h"
#include "../table/epochs.h"
#include "quick.h"

/* ---- lookups ---- */

CF_COPIES(bool, cf_look_up, (const cf_filter *filter, uint64_t hash), filter, hash)
typedef bool look_up(const cf_filter *filter, uint64_t hash);
static look_up *const look_up_of[] = CF_COPIES_OF(cf_look_up);

/* True if an entry of the stash matches. */
static CF_NEVER_INLINE bool is_stashed(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    /* cf_stashed_matches checks this as well, but computing a pair takes as long as the lookup */
    if (!cf_overflow_get(filter, base.base) || !cf_overflow_get(filter, other.base))
        return false;
    cf_pair pair = cf_pair_of(filter, hash);
    return cf_stashed_matches(filter, &pair) != 0;
}

/* True if an entry matches that has not expired. */
static CF_NEVER_INLINE bool contains_live(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    for (const cf_place *at = pair.place; at < pair.place + pair.sides; at++)
        for (unsigned slots = cf_bucket_find(filter, at->bucket, at->tag); slots != 0;
             slots &= slots - 1)
            if (cf_is_live(filter, cf_payload_get(filter, at->bucket, cf_lowest_bit(slots))))
                return true;
    return false;
}

static CF_NEVER_INLINE bool contains_by_rule(const cf_filter *filter, uint64_t hash)
{
    if (filter->geometry.epochs)
        return contains_live(filter, hash);
    return look_up_of[filter->view.kind](filter, hash) ||
           (filter->stashed != 0 && is_stashed(filter, hash));
}

bool cf_contains_any(const cf_filter *filter, uint64_t hash)
{
    return CF_LIKELY(filter->view.quick) ? look_up_of[filter->view.kind](filter, hash)
                                         : contains_by_rule(filter, hash);
}

CF_COPIES(size_t, cf_look_up_many,
          (const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers), filter, hashes, n,
          answers)
typedef size_t look_up_many(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers);
static look_up_many *const look_up_many_of[] = CF_COPIES_OF(cf_look_up_many);

size_t cf_contains_many(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers)
{
    size_t found = 0;
    bool in_memory = filter->pages == NULL, quick = in_memory && filter->geometry.epochs == 0;
    for (size_t from = 0; from < n; from += CF_BATCH) {
        size_t some = n - from < CF_BATCH ? n - from : CF_BATCH;
        if (quick)
            found += look_up_many_of[filter->view.kind](filter, hashes + from, some, answers + from);
        for (size_t i = from; !quick && in_memory && i < from + some; i++)
            cf_key_fetch(filter, hashes[i]);
        for (size_t i = from; !quick && i < from + some; i++)
            found += answers[i] = cf_contains_any(filter, hashes[i]);
        for (size_t i = from; quick && filter->stashed != 0 && i < from + some; i++)
            if (!answers[i])
                found += answers[i] = is_stashed(filter, hashes[i]);
    }
    return found;
}

static void find_entries(const cf_filter *filter, uint64_t hash, cf_matches *found)
{
    cf_side base = cf_base(filter, hash);
    cf_prefixes_find(filter, &base, CF_ANY_VALUE, found);
}

uint64_t cf_count(const cf_filter *filter, uint64_t hash)
{
    cf_matches found;
    uint64_t copies = 0;
    if (filter->geometry.epochs)
        return cf_contains_any(filter, hash);
    find_entries(filter, hash, &found);
    for (unsigned i = 0; i < found.n; i++)
        copies += cf_entry_copies(filter, &found.entry[i]);
    bool exact = filter->geometry.counter_bits || filter->geometry.value_bits;
    return exact || copies < filter->geometry.max_copies ? copies : filter->geometry.max_copies;
}

bool cf_get(const cf_filter *filter, uint64_t hash, uint64_t *value)
{
    cf_matches found;
    if (filter->geometry.value_bits == 0)
        return false;
    find_entries(filter, hash, &found);
    if (found.n > 0)
        *value = found.entry[0].payload;
    return found.n > 0;
}

unsigned cf_get_all(const cf_filter *filter, uint64_t hash, uint64_t *values)
{
    cf_matches found;
    unsigned n = 0;
    if (filter->geometry.value_bits == 0)
        return 0;
    find_entries(filter, hash, &found);
    for (unsigned i = 0; i < found.n; i++) {
        unsigned known = 0;
        while (known < n && values[known] != found.entry[i].payload)
            known++;
        values[known] = found.entry[i].payload;
        n += known == n;
    }
    return n;
}

/* ---- adding ---- */

CF_NEVER_INLINE cf_status cf_add_by_rule(cf_filter *filter, uint64_t hash, uint64_t payload)
{
    cf_entry item = {.side = cf_base(filter, hash), .payload = payload};
    cf_status status = cf_insert(filter, &item);
    if (filter->geometry.epochs)
        filter->items = filter->occupied;
    else if (status == CF_OK)
        cf_count_items(filter, 1);
    return cf_full_or(filter, status);
}

CF_COPIES(cf_status, cf_add_quickly, (cf_filter * filter, uint64_t hash, uint64_t value), filter, hash,
          value)
typedef cf_status change(cf_filter *filter, uint64_t hash, uint64_t value);
static change *const add_quickly_of[] = CF_COPIES_OF(cf_add_quickly);

/* True if a first change only has to break the seal to take the quick way. */
static bool waits_for_unseal(const cf_filter *filter)
{
    return filter->view.sealed && filter->writable != NULL && filter->pages == NULL &&
           filter->geometry.epochs == 0 && filter->stashed == 0;
}

static CF_NEVER_INLINE cf_status add_first(cf_filter *filter, uint64_t hash, uint64_t value)
{
    uint64_t length = filter->length, split = filter->split;
    cf_unseal(filter);
    cf_status status = add_quickly_of[filter->view.kind](filter, hash, value);
    if (status != CF_OK && filter->length == length && filter->split == split) /* it has not grown */
        cf_reseal(filter);
    return status;
}

cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    if (CF_UNLIKELY(value >> filter->geometry.value_bits != 0))
        return CF_BAD_ARGUMENT;
    if (CF_LIKELY(filter->view.quick_add))
        return add_quickly_of[filter->view.kind](filter, hash, value);
    if (waits_for_unseal(filter))
        return add_first(filter, hash, value);
    return cf_add_by_rule(filter, hash,
                          filter->geometry.epochs ? cf_epoch_number(filter->epoch) : value);
}

cf_status cf_add(cf_filter *filter, uint64_t hash)
{
    return CF_LIKELY(filter->view.quick_add) ? add_quickly_of[filter->view.kind](filter, hash, 0)
                                             : cf_add_value(filter, hash, 0);
}

cf_status cf_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch)
{
    if (filter->geometry.epochs == 0 || filter->epoch - epoch >= CF_EPOCH_NUMBERS)
        return CF_BAD_ARGUMENT;
    return cf_add_by_rule(filter, hash, cf_epoch_number(epoch));
}

/* ---- deleting ---- */

CF_NEVER_INLINE cf_deleted cf_delete_by_rule(cf_filter *filter, uint64_t hash, uint64_t value)
{
    if (filter->writable == NULL)
        return CF_READ_ONLY;
    cf_pair pair = cf_pair_of(filter, hash);
    cf_deleted deleted = cf_copies_remove(filter, &pair, value);
    filter->items -= deleted == CF_REMOVED && filter->items > 0;
    if (deleted == CF_REMOVED && filter->stashed > 0)
        cf_stash_place(filter, (unsigned)(pair.place[0].bucket % filter->stashed), CF_SEARCH_BUCKETS);
    return deleted;
}

CF_COPIES(cf_deleted, cf_delete_quickly, (cf_filter * filter, uint64_t hash, uint64_t value), filter,
          hash, value)
static change *const delete_quickly_of[] = CF_COPIES_OF(cf_delete_quickly);

static CF_NEVER_INLINE cf_deleted delete_first(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_unseal(filter);
    change *way = filter->view.quick_delete ? delete_quickly_of[filter->view.kind] : cf_delete_by_rule;
    cf_deleted deleted = way(filter, hash, value);
    if (deleted != CF_REMOVED)
        cf_reseal(filter);
    return deleted;
}

cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    if (CF_UNLIKELY(value >> filter->geometry.value_bits != 0))
        return CF_BAD_ARGUMENT;
    if (CF_LIKELY(filter->view.quick_delete))
        return delete_quickly_of[filter->view.kind](filter, hash, value);
    return (waits_for_unseal(filter) ? delete_first : cf_delete_by_rule)(filter, hash, value);
}

cf_deleted cf_delete(cf_filter *filter, uint64_t hash)
{
    return cf_delete_value(filter, hash, 0);
}

cf_status cf_settle(cf_filter *filter)
{
    enum { COST = 2000 }; /* nanoseconds */
    cf_ticker ticker = cf_ticker_of(filter->watch);
    if (filter->writable == NULL)
        return CF_READ_ONLY;
    for (unsigned i = filter->stashed; i > 0 && !cf_tick(&ticker, COST); i--)
        cf_stash_place(filter, i - 1, CF_SEARCH_BUCKETS);
    return ticker.stopped ? CF_INTERRUPTED : CF_OK;
}
