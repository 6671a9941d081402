/* SPDX-License-Identifier: MIT */
/*
** filter.c - one filter in use: contains, count, get, add, delete; looking at single entries.
*/
#include "../base/watch.h"
#include "../insert/copies.h"
#include "../insert/eviction.h"
#include "../insert/growth.h"
#include "../shape/format.h"
#include "../table/epochs.h"

/* ---- asking ---- */

static CF_NEVER_INLINE bool is_stashed(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    /* cf_stashed_matches would say so, too; but a pair takes as long to make as the lookup before */
    if (!cf_overflow_get(filter, base.base) || !cf_overflow_get(filter, other.base))
        return false;
    cf_pair pair = cf_pair_of(filter, hash);
    return cf_stashed_matches(filter, &pair) != 0;
}

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

static CF_ALWAYS_INLINE bool has(cf_kind kind, const cf_filter *filter, uint64_t hash)
{
    cf_spots spots = cf_spots_of(kind, filter, hash);
    return cf_holds_by(kind, filter, &spots);
}

CF_OWN(bool, has, (const cf_filter *filter, uint64_t hash), filter, hash);

/* Filters that age, and such with a stash. */
static CF_NEVER_INLINE bool contains_otherwise(const cf_filter *filter, uint64_t hash)
{
    if (filter->geometry.epochs)
        return contains_live(filter, hash);
    return CF_OF_KIND(has, filter)(filter, hash) || (filter->stashed != 0 && is_stashed(filter, hash));
}

bool cf_contains_any(const cf_filter *filter, uint64_t hash)
{
    return CF_LIKELY(filter->view.quick) ? CF_OF_KIND(has, filter)(filter, hash)
                                         : contains_otherwise(filter, hash);
}

/* ---- asking for many ---- */

enum { BATCH = 32 };

/* Short steps, each for all keys, which the processor can overlap. All buckets are fetched before the
** first is looked at. */
static CF_ALWAYS_INLINE size_t look_up(cf_kind kind, const cf_filter *filter, const uint64_t *hashes,
                                       size_t n, bool *answers)
{
    size_t found = 0;
    cf_spots spots[BATCH];
    for (size_t i = 0; i < n; i++) {
        spots[i] = cf_spots_of(kind, filter, hashes[i]);
        cf_prefetch(filter->view.table + spots[i].at[0] / 8);
        cf_prefetch(filter->view.table + spots[i].at[1] / 8);
    }
    for (size_t i = 0; i < n; i++) {
        answers[i] = cf_holds_by(kind, filter, &spots[i]);
        found += answers[i];
    }
    return found;
}

CF_OWN(size_t, look_up, (const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers),
       filter, hashes, n, answers);

size_t cf_contains_many(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers)
{
    size_t found = 0;
    bool in_memory = filter->pages == NULL, quick = in_memory && filter->geometry.epochs == 0;
    for (size_t from = 0; from < n; from += BATCH) {
        size_t some = n - from < BATCH ? n - from : BATCH;
        if (quick)
            found += CF_OF_KIND(look_up, filter)(filter, hashes + from, some, answers + from);
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

static CF_NEVER_INLINE cf_status add_otherwise(cf_filter *filter, uint64_t hash, uint64_t payload)
{
    cf_entry item = {.side = cf_base(filter, hash), .payload = payload};
    cf_status status = cf_insert(filter, &item);
    if (filter->geometry.epochs)
        filter->items = filter->occupied;
    else if (status == CF_OK)
        cf_count_items(filter, 1);
    return cf_full_or(filter, status);
}

static inline cf_status count_added(cf_filter *filter)
{
    cf_count_occupied(filter);
    filter->items += filter->items < CF_ITEMS_MAX; /* cf_count_items, shorter */
    return CF_OK;
}

/* Stores the first copy of a key where one move makes room, on the path that a search would find. */
static CF_ALWAYS_INLINE bool move_by(cf_kind kind, cf_filter *filter, uint64_t hash, uint64_t value)
{
    const cf_form *form = &filter->view.form;
    cf_side base = cf_base(filter, hash), side[2] = {base, cf_alternate(filter, base)};
    uint64_t tag[CF_BUCKET_MAX], to[CF_BUCKET_MAX];
    for (unsigned i = 0; i < 2; i++) {
        uint64_t from = side[i].base, at = cf_at_by(kind, filter, from);
        cf_tags_by(kind, filter, at, tag);
        cf_others_of(filter, from, tag, to);
        for (unsigned slot = 0, lane; slot < filter->geometry.bucket_size; slot++) {
            uint64_t there = cf_at_by(kind, filter, to[slot]);
            if (!cf_empty_by(kind, filter, there, &lane))
                continue;
            cf_side goes = {from, tag[slot], filter->view.new_length};
            cf_set_by(kind, filter, there, lane, cf_alternate(filter, goes).bits,
                      cf_payload_at(filter, at, slot));
            cf_set_by(kind, filter, at, slot * form->lane, side[i].bits & filter->view.fingerprint_mask,
                      value);
            return true;
        }
    }
    return false;
}

/* Before growth, without a pager: adds the first copy of a key whose pair is full. */
static CF_NEVER_INLINE cf_status add_moving(cf_filter *filter, uint64_t hash, uint64_t value)
{
    const cf_form *form = &filter->view.form;
    if (form->any || filter->geometry.stash_size != 0 ||
        !CF_BY_NEW_FORM(form, move_by, filter, hash, value))
        return add_otherwise(filter, hash, value);
    return count_added(filter);
}

/* Stores the first copy of a key where its pair has an empty slot, as cf_insert would do. */
static CF_ALWAYS_INLINE cf_status add(cf_kind kind, cf_filter *filter, uint64_t hash, uint64_t value)
{
    if (kind.grown && cf_is_crowded(filter))
        return add_otherwise(filter, hash, value);
    cf_spots spots = cf_spots_of(kind, filter, hash);
    uint64_t at = spots.at[0], tag = spots.tag[0];
    unsigned lane, extension = spots.extension[0];
    if (cf_find_by(kind, filter, &spots).n != 0)
        return add_otherwise(filter, hash, value);
    if (!cf_empty_by(kind, filter, at, &lane)) {
        at = spots.at[1];
        tag = spots.tag[1];
        extension = spots.extension[1];
        if (!cf_empty_by(kind, filter, at, &lane))
            return kind.any || kind.grown ? add_otherwise(filter, hash, value)
                                          : add_moving(filter, hash, value);
    }
    if (kind.grown)
        tag = cf_tag_of(filter, (cf_place){0, tag, extension}, filter->view.new_length);
    cf_tell_change(kind, filter, at);
    cf_set_by(kind, filter, at, lane, tag, value);
    return count_added(filter);
}

CF_OWN(cf_status, add, (cf_filter * filter, uint64_t hash, uint64_t value), filter, hash, value);

cf_status cf_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch)
{
    if (filter->geometry.epochs == 0 || filter->epoch - epoch >= CF_EPOCH_NUMBERS)
        return CF_BAD_ARGUMENT;
    return add_otherwise(filter, hash, cf_epoch_number(epoch));
}

/* Is it only the seal that keeps the first change of a filter from the quick way? */
static bool waits_for_unseal(const cf_filter *filter)
{
    return filter->view.sealed && filter->writable != NULL && filter->pages == NULL &&
           filter->geometry.epochs == 0 && filter->stashed == 0;
}

static CF_NEVER_INLINE cf_status add_first(cf_filter *filter, uint64_t hash, uint64_t value)
{
    uint64_t length = filter->length, split = filter->split;
    cf_unseal(filter);
    cf_status status = CF_OF_KIND(add, filter)(filter, hash, value);
    if (status != CF_OK && filter->length == length && filter->split == split) /* it has not grown */
        cf_reseal(filter);
    return status;
}

cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    if (CF_UNLIKELY(value >> filter->geometry.value_bits != 0))
        return CF_BAD_ARGUMENT;
    if (CF_LIKELY(filter->view.quick_add))
        return CF_OF_KIND(add, filter)(filter, hash, value);
    if (waits_for_unseal(filter))
        return add_first(filter, hash, value);
    return add_otherwise(filter, hash, filter->geometry.epochs ? cf_epoch_number(filter->epoch) : value);
}

cf_status cf_add(cf_filter *filter, uint64_t hash)
{
    return cf_add_value(filter, hash, 0);
}

/* ---- deleting ---- */

static CF_NEVER_INLINE cf_deleted delete_otherwise(cf_filter *filter, uint64_t hash, uint64_t value)
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

/* Takes out the only entry of a key, if it is the only copy, as cf_copies_remove would do. */
static CF_ALWAYS_INLINE cf_deleted take(cf_kind kind, cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_spots spots = cf_spots_of(kind, filter, hash);
    cf_found found = cf_find_by(kind, filter, &spots);
    uint64_t at = cf_choose(found.side, spots.at[1], spots.at[0]);
    if (found.n == 0)
        return CF_ABSENT;
    if (found.n > 1 || (!kind.whole && filter->view.form.payload_bits != 0 &&
                        cf_payload_at(filter, at, cf_slot_of(&filter->view.form, found.lane)) != 0))
        return delete_otherwise(filter, hash, value);
    cf_tell_change(kind, filter, at);
    cf_set_by(kind, filter, at, found.lane, 0, 0);
    cf_count_emptied(filter);
    filter->items -= filter->items > 0;
    return CF_REMOVED;
}

CF_OWN(cf_deleted, take, (cf_filter * filter, uint64_t hash, uint64_t value), filter, hash, value);

static CF_NEVER_INLINE cf_deleted delete_first(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_unseal(filter);
    cf_deleted deleted = filter->view.quick_delete ? CF_OF_KIND(take, filter)(filter, hash, value)
                                                   : delete_otherwise(filter, hash, value);
    if (deleted != CF_REMOVED)
        cf_reseal(filter);
    return deleted;
}

cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    if (CF_UNLIKELY(value >> filter->geometry.value_bits != 0))
        return CF_BAD_ARGUMENT;
    if (CF_LIKELY(filter->view.quick_delete))
        return CF_OF_KIND(take, filter)(filter, hash, value);
    return (waits_for_unseal(filter) ? delete_first : delete_otherwise)(filter, hash, value);
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

cf_deleted cf_delete(cf_filter *filter, uint64_t hash)
{
    return cf_delete_value(filter, hash, 0);
}

cf_pair cf_candidates(const cf_filter *filter, uint64_t hash)
{
    return cf_pair_of(filter, hash);
}

bool cf_overflows(const cf_filter *filter, uint64_t bucket)
{
    return bucket < filter->buckets && cf_overflow_get(filter, bucket);
}
