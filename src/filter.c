/*
** filter.c - one filter in use: contains, count, get, add, delete; looking at single entries.
*/
#include "bucket.h"
#include "copies.h"
#include "format.h"
#include "insert.h"
#include "spill.h"
#include "watch.h"

/* ---- asking ---- */

/* Does either of two buckets hold its tag? noinline keeps registers free in the fast path.
** Arguments are scalars: structs would be passed in memory and stall the loads. */
static __attribute__((noinline)) bool in_long_buckets(const cf_filter *filter, uint64_t here,
                                                      uint64_t tag_here, uint64_t there,
                                                      uint64_t tag_there)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < filter->view.lanes.words; i++) {
        found |= cf_matching_lanes(filter, cf_word(filter, here, i), tag_here);
        found |= cf_matching_lanes(filter, cf_word(filter, there, i), tag_there);
    }
    return found != 0;
}

/* The same for plain buckets of one word. */
static inline uint64_t in_plain_bucket(const cf_filter *filter, cf_place want)
{
    uint64_t word = cf_load_bits(filter->view.table, want.bucket * filter->view.bucket_bits);
    return cf_any_zero_lane(&filter->view.lanes, word ^ (want.tag * filter->view.lanes.ones));
}

/* For plain buckets with terminators of one word. */
static inline uint64_t in_grown_bucket(const cf_filter *filter, cf_place want)
{
    uint64_t word = cf_load_bits(filter->view.table, cf_record_at(filter, want.bucket));
    return cf_agreeing_lanes(&filter->view.lanes, word, want.tag);
}

/* The same for semi-sorted buckets, with terminators or without. */
static inline bool in_semisorted_buckets(const cf_filter *filter, cf_place here, cf_place there)
{
    uint64_t at = cf_record_at(filter, here.bucket), at2 = cf_record_at(filter, there.bucket);
    if (!cf_tops_allow(filter, at, here.tag) && !cf_tops_allow(filter, at2, there.tag))
        return false;
    return (cf_matching_lanes(filter, cf_semisort_word(filter, at, 0), here.tag) |
            cf_matching_lanes(filter, cf_semisort_word(filter, at2, 0), there.tag)) != 0;
}

static inline bool in_buckets(const cf_filter *filter, cf_place here, cf_place there)
{
    if (filter->view.lanes.words > 1)
        return in_long_buckets(filter, here.bucket, here.tag, there.bucket, there.tag);
    if (filter->geometry.semisorted)
        return in_semisorted_buckets(filter, here, there);
    if (filter->view.grown)
        return (in_grown_bucket(filter, here) | in_grown_bucket(filter, there)) != 0;
    return in_long_buckets(filter, here.bucket, here.tag, there.bucket, there.tag);
}

static __attribute__((noinline)) bool is_spilled(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    return cf_spill_matching(filter, &pair) != 0;
}

/* All kinds of filters. */
static __attribute__((noinline)) bool contains_any(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash);
    cf_side other = cf_alternate(filter, base);
    cf_place here = cf_locate(filter, &base), there = cf_locate(filter, &other);
    if (here.bucket == there.bucket)
        there.tag = here.tag; /* a pair of one side */
    return in_buckets(filter, here, there) || (filter->spilled != 0 && is_spilled(filter, hash));
}

/* The places of a key in a filter that has not grown. Both buckets are read before anything is
** decided, so that their cache misses overlap. */
static inline void locate_plain(const cf_filter *filter, uint64_t hash, cf_place *here, cf_place *there)
{
    cf_side base = cf_base(filter, hash);
    cf_side other = cf_alternate(filter, base);
    *here = (cf_place){base.base, base.bits & filter->view.slot_mask, 0};
    *there = (cf_place){other.base, other.bits & filter->view.slot_mask, 0};
    if (there->bucket == here->bucket)
        there->tag = here->tag; /* a pair of one side */
}

static __attribute__((noinline)) bool contains_semisorted(const cf_filter *filter, uint64_t hash)
{
    cf_place here, there;
    locate_plain(filter, hash, &here, &there);
    unsigned has = cf_semisorted_pair_has(filter, here.bucket * filter->view.bucket_bits, here.tag,
                                          there.bucket * filter->view.bucket_bits, there.tag);
    return has < 2 ? has : in_long_buckets(filter, here.bucket, here.tag, there.bucket, there.tag);
}

bool cf_contains(const cf_filter *filter, uint64_t hash)
{
    if (filter->view.lookup == CF_LOOKUP_SEMISORTED)
        return contains_semisorted(filter, hash);
    if (filter->view.lookup == CF_LOOKUP_ANY)
        return contains_any(filter, hash);
    cf_place here, there;
    locate_plain(filter, hash, &here, &there);
    return (in_plain_bucket(filter, here) | in_plain_bucket(filter, there)) != 0;
}

uint64_t cf_count(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_matches found;
    uint64_t copies = 0;
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

cf_status cf_add_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_entry item = {.side = cf_base(filter, hash), .payload = value};
    assert(value <= cf_low_bits(filter->geometry.value_bits));
    cf_status status = cf_insert(filter, &item);
    filter->items += status == CF_OK && filter->items < CF_ITEMS_MAX;
    return status;
}

cf_status cf_add(cf_filter *filter, uint64_t hash)
{
    return cf_add_value(filter, hash, 0);
}

cf_deleted cf_delete_value(cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_side base = cf_base(filter, hash);
    cf_pair pair;
    cf_pair_set(filter, &base, &pair);
    cf_deleted deleted = cf_copies_remove(filter, &pair, value);
    if (deleted == CF_REMOVED && filter->spilled > 0)
        cf_settle_one(filter, (unsigned)(pair.place[0].bucket % filter->spilled));
    filter->items -= deleted == CF_REMOVED && filter->items > 0;
    return deleted;
}

cf_status cf_settle(cf_filter *filter)
{
    enum { COST = 2000 }; /* nanoseconds */
    cf_ticker ticker = cf_ticker_of(filter->watch);
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
