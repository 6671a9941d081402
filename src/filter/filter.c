/* SPDX-License-Identifier: MIT */
/*
** filter.c - one filter in use: contains, count, get, add, delete; looking at single entries.
*/
#include "../base/watch.h"
#include "../entry/copies.h"
#include "../entry/spill.h"
#include "../growth/insert.h"
#include "../shape/format.h"
#include "../table/epochs.h"
#include "../table/fast_path.h"
#include "ageing.h"

/* ---- asking ---- */

/* May a bucket hold its tag? The tops of a semi-sorted one, as a rule, say that it does not. */
static CF_ALWAYS_INLINE bool tops_allow(const cf_filter *filter, const cf_form *form, cf_place want)
{
    return !filter->geometry.semisorted || form->tops.words != 1 ||
           cf_tops_allow(filter, form, cf_record_at(filter, form, want.bucket), want.tag);
}

/* Does it hold it? */
static CF_ALWAYS_INLINE bool holds(const cf_filter *filter, cf_place want)
{
    const cf_form *form = &filter->view.form;
    uint64_t found = 0;
    if (!tops_allow(filter, form, want))
        return false;
    for (unsigned i = 0; i < form->lanes.words; i++)
        found |= cf_matching_lanes(filter, cf_word(filter, form, want.bucket, i), want.tag);
    return found != 0;
}

static CF_NEVER_INLINE bool is_spilled(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    return cf_spilled_matches(filter, &pair) != 0;
}

/* Only then the list is asked. */
static inline bool both_overflow(const cf_filter *filter, uint64_t here, uint64_t there)
{
    return filter->spilled != 0 && cf_overflow_get(filter, here) && cf_overflow_get(filter, there);
}

/* The same for a filter that ages, and an entry with one of these numbers. */
static bool holds_live(const cf_filter *filter, cf_place want, uint32_t numbers)
{
    const cf_form *form = &filter->view.form;
    if (!tops_allow(filter, form, want))
        return false;
    for (unsigned i = 0; i < form->lanes.words; i++) {
        uint64_t lanes = cf_matching_lanes(filter, cf_word(filter, form, want.bucket, i), want.tag);
        for (; lanes != 0; lanes &= lanes - 1) {
            unsigned slot = cf_first_slot(&form->lanes, lanes, i);
            if (numbers >> cf_payload_get(filter, want.bucket, slot) & 1)
                return true;
        }
    }
    return false;
}

bool cf_contains_live(const cf_filter *filter, uint64_t hash, uint32_t numbers)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    cf_place here = cf_locate(filter, &base), there = cf_locate(filter, &other);
    return holds_live(filter, here, numbers) || holds_live(filter, there, numbers);
}

/* All kinds of filters. */
static CF_NEVER_INLINE bool contains_any(const cf_filter *filter, uint64_t hash)
{
    if (filter->geometry.epochs)
        return cf_contains_live(filter, hash, filter->view.live);
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    cf_place here = cf_locate(filter, &base), there = cf_locate(filter, &other);
    return holds(filter, here) || holds(filter, there) ||
           (both_overflow(filter, here.bucket, there.bucket) && is_spilled(filter, hash));
}

static CF_NEVER_INLINE bool contains_semisorted(const cf_filter *filter, uint64_t hash)
{
    return cf_has(filter, CF_FAST_SEMISORTED, hash);
}

/* Plain buckets that are not whole bytes. */
static CF_NEVER_INLINE bool contains_plain(const cf_filter *filter, uint64_t hash)
{
    return cf_has(filter, CF_FAST_PLAIN, hash);
}

static CF_NEVER_INLINE bool contains_wide(const cf_filter *filter, uint64_t hash)
{
    return cf_has(filter, CF_FAST_WIDE, hash);
}

static CF_NEVER_INLINE bool contains_wide_whole(const cf_filter *filter, uint64_t hash)
{
    return cf_has(filter, CF_FAST_WIDE_WHOLE, hash);
}

static CF_NEVER_INLINE bool contains_wide_long(const cf_filter *filter, uint64_t hash)
{
    return cf_has(filter, CF_FAST_WIDE_LONG, hash);
}

static CF_NEVER_INLINE bool contains_wide_semisorted(const cf_filter *filter, uint64_t hash)
{
    return cf_has(filter, CF_FAST_WIDE_SEMISORTED, hash);
}

bool cf_contains(const cf_filter *filter, uint64_t hash)
{
    cf_fast kind = CF_QUICK(filter->view.lookup);
    if (CF_LIKELY(kind == CF_FAST_WHOLE))
        return cf_has(filter, CF_FAST_WHOLE, hash);
    if (kind > CF_FAST_SEMISORTED)
        return kind == CF_FAST_WIDE         ? contains_wide(filter, hash)
               : kind == CF_FAST_WIDE_WHOLE ? contains_wide_whole(filter, hash)
               : kind == CF_FAST_WIDE_LONG  ? contains_wide_long(filter, hash)
                                            : contains_wide_semisorted(filter, hash);
    return kind == CF_FAST_SEMISORTED ? contains_semisorted(filter, hash)
           : kind == CF_FAST_PLAIN    ? contains_plain(filter, hash)
                                      : contains_any(filter, hash);
}

/* ---- asking for many ---- */

static size_t contains_in_turn(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers)
{
    size_t found = 0;
    for (size_t i = 0; i < n && filter->pages == NULL; i++)
        cf_key_fetch(filter, hashes[i]);
    for (size_t i = 0; i < n; i++) {
        answers[i] = contains_any(filter, hashes[i]);
        found += answers[i];
    }
    return found;
}

size_t cf_contains_many(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers)
{
    size_t found = 0;
    for (size_t from = 0; from < n; from += CF_BATCH) {
        size_t some = n - from < CF_BATCH ? n - from : CF_BATCH;
        found += CF_QUICK(filter->view.lookup) != CF_FAST_NONE
                     ? cf_fast_contains(filter, hashes + from, some, answers + from)
                     : contains_in_turn(filter, hashes + from, some, answers + from);
    }
    return found;
}

uint64_t cf_count(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_matches found;
    uint64_t copies = 0;
    if (filter->geometry.epochs)
        return cf_contains(filter, hash);
    cf_find_matches(filter, &pair, CF_ANY_VALUE, &found);
    for (unsigned i = 0; i < found.n; i++)
        copies += cf_entry_copies(filter, &found.entry[i]);
    bool exact = filter->geometry.counter_bits || filter->geometry.value_bits;
    return exact || copies < filter->geometry.cap ? copies : filter->geometry.cap;
}

bool cf_get(const cf_filter *filter, uint64_t hash, uint64_t *value)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_matches found;
    cf_find_matches(filter, &pair, CF_ANY_VALUE, &found);
    if (found.n > 0)
        *value = found.entry[0].payload;
    return found.n > 0;
}

unsigned cf_get_all(const cf_filter *filter, uint64_t hash, uint64_t *values)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_matches found;
    unsigned n = 0;
    cf_find_matches(filter, &pair, CF_ANY_VALUE, &found);
    for (unsigned i = 0; i < found.n; i++) {
        unsigned known = 0;
        while (known < n && values[known] != found.entry[i].payload)
            known++;
        values[known] = found.entry[i].payload;
        n += known == n;
    }
    return n;
}

/* ---- changing ---- */

static CF_NEVER_INLINE cf_status insert_hash(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_entry item = {.side = cf_base(filter, hash), .payload = value};
    return cf_insert(filter, &item);
}

cf_status cf_add_epoch(cf_filter *filter, uint64_t hash, uint64_t epoch)
{
    assert(filter->geometry.epochs > 0 && filter->epoch - epoch < CF_EPOCH_NUMBERS);
    cf_status status = insert_hash(filter, hash, cf_epoch_number(epoch));
    filter->items = filter->occupied;
    return status;
}

cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    assert(value <= cf_low_bits(filter->geometry.value_bits));
    if (filter->geometry.epochs)
        return cf_add_epoch(filter, hash, filter->epoch);
    bool quick = CF_QUICK(filter->view.change) != CF_FAST_NONE && cf_fast_add(filter, hash);
    cf_status status = quick ? CF_OK : insert_hash(filter, hash, value);
    filter->items += status == CF_OK && filter->items < CF_ITEMS_MAX;
    return status;
}

cf_status cf_add(cf_filter *filter, uint64_t hash)
{
    return cf_add_value(filter, hash, 0);
}

static CF_NEVER_INLINE cf_deleted take_out(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_pair pair = cf_pair_of(filter, hash);
    if (filter->view.writable == NULL)
        return CF_STICKY;
    cf_deleted deleted = cf_copies_remove(filter, &pair, value);
    filter->items -= deleted == CF_REMOVED && filter->items > 0;
    if (deleted == CF_REMOVED && filter->spilled > 0)
        cf_settle_one(filter, (unsigned)(pair.place[0].bucket % filter->spilled));
    return deleted;
}

cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    return CF_QUICK(filter->view.change) != CF_FAST_NONE ? cf_fast_delete(filter, hash, value, take_out)
                                                         : take_out(filter, hash, value);
}

cf_status cf_settle(cf_filter *filter)
{
    enum { COST = 2000 }; /* nanoseconds */
    cf_ticker ticker = cf_ticker_of(filter->watch);
    if (filter->view.writable == NULL)
        return CF_BAD_ARGUMENT;
    for (unsigned i = filter->spilled; i > 0 && !cf_tick(&ticker, COST); i--)
        cf_settle_one(filter, i - 1);
    return ticker.stopped ? CF_INTERRUPTED : CF_OK;
}

cf_deleted cf_delete(cf_filter *filter, uint64_t hash)
{
    return cf_delete_value(filter, hash, 0);
}

/* ---- looking inside ---- */

cf_pair cf_candidates(const cf_filter *filter, uint64_t hash)
{
    return cf_pair_of(filter, hash);
}

bool cf_overflows(const cf_filter *filter, uint64_t bucket)
{
    return cf_overflow_get(filter, bucket);
}

cf_side cf_new_fingerprint(const cf_filter *filter, const cf_side *key)
{
    cf_side cut = *key;
    if (cut.length > filter->view.new_length)
        cut.length = filter->view.new_length;
    cut.bits &= cf_low_bits(filter->geometry.pair_bits + cut.length);
    return cut;
}
