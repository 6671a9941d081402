/* SPDX-License-Identifier: MIT */
/*
** bulk_add.c - adding many keys: sorted, then all at once or in turn.
**
** An empty table that was planned for as many keys is filled in one walk, from front to back. A key
** whose base bucket has room is put there. Else it goes to its alternate bucket, which may be
** anywhere: it is *in flight* until the line of memory has come, while the walk goes on. Where it
** lands in a full bucket it takes the slot of an entry, which flies on to its own alternate:
**
**      walk    -> [ j ][ j+1 ][ j+2 ] ...                  one bucket after the other
**                   |            ^ full: what it holds flies on
**                   v full       |
**      flights    ( tag ) ... ( tag )                      some at a time; first in, first out
**
** So the misses of many keys overlap. At a load of 0.95 (f = 12, b = 4) a key needs 1.1 flights in
** the mean, as with any order of evictions; few need so many that an ordinary search ends them.
** There are no random numbers: the slots of full buckets take turns. The bytes follow from the
** sorted keys alone.
**
** Only plain tables without payloads are filled so. For a semi-sorted table, or one with a spill
** list, a plain *twin* of the same shape is filled, and its buckets are copied. Tables with counters
** or values take their keys in turn. So does a table in which the walk has found no room, after it
** was emptied again: then the keys before the first that has no room are in.
**
** Copies. A tag that lands beside its like is stored as cf_insert does, which absorbs it or stores
** it when there are fewer than cap. What is in flight is not counted then, so a key may have a few
** entries more than cap in the end. One look at all buckets takes them out.
*/
#include "../entry/entry.h"
#include "../entry/walk.h"
#include "../growth/insert.h"
#include "../shape/format.h"
#include "../table/bucket.h"
#include "sort.h"

/* ---- tags in flight ---- */

enum {
    FLIGHTS = 64,     /* tags for which there is room */
    ALOFT = 32,       /* that stay in flight from one bucket to the next: their misses overlap */
    MOST_STEPS = 250, /* flights of one tag, and of those it drives out, before a search is made */
    COST = 40         /* of a key, nanoseconds */
};

typedef struct cf_flight {
    uint64_t bucket;     /* where it is going to land */
    uint32_t tag, steps; /* what it is there; flights before this one */
} cf_flight;

typedef struct cf_bulk {
    cf_filter *filter;
    cf_flight flight[FLIGHTS];
    unsigned first, flying;
    unsigned turn; /* the slot that is next to be driven out of a full bucket */
} cf_bulk;

/* The first slot of a bucket that holds a tag, 0 for an empty one: where it starts in the table.
** `words` is filter->view.form.lanes.words, or the constant 1, which needs no loop. */
static CF_ALWAYS_INLINE bool find_tag(const cf_filter *filter, unsigned words, uint64_t bucket,
                                      uint64_t tag, uint64_t *at)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    *at = bucket * filter->view.form.bucket_bits;
    for (unsigned i = 0; i < words; i++, *at += (uint64_t)lanes->count * lanes->width) {
        uint64_t word = cf_load_bits(filter->view.table, *at);
        uint64_t found = cf_any_zero_lane(lanes, word ^ tag * lanes->ones);
        if (found != 0) {
            *at += cf_lowest_bit(found) - (lanes->width - 1);
            return true;
        }
    }
    return false;
}

/* Puts a tag into the slot at bit `at`; returns what was there. */
static inline uint64_t exchange(cf_filter *filter, uint64_t at, uint64_t tag)
{
    uint8_t *p = filter->view.writable + (at >> 3);
    uint64_t word = cf_load64(p), there = word >> (at & 7) & filter->view.form.slot_mask;
    cf_store64(p, word ^ (there ^ tag) << (at & 7));
    return there;
}

/* Sends what does not stay in a bucket to its other one. */
static inline void send(cf_bulk *bulk, uint64_t bucket, uint64_t tag, unsigned steps)
{
    const cf_filter *filter = bulk->filter;
    cf_side to = cf_alternate(filter, (cf_side){bucket, tag, filter->view.new_length});
    cf_prefetch(filter->view.table + to.base * filter->view.form.bucket_bits / 8);
    bulk->flight[(bulk->first + bulk->flying++) % FLIGHTS] =
        (cf_flight){to.base, (uint32_t)to.bits, steps};
}

/* Stores a tag in the ordinary way, as if it were an entry of another filter. */
static CF_NEVER_INLINE cf_status store(cf_bulk *bulk, uint64_t bucket, uint64_t tag)
{
    cf_entry entry = {.side = {bucket, tag, bulk->filter->view.new_length}};
    return cf_insert(bulk->filter, &entry);
}

/* Puts a tag into a bucket, when its like or an empty slot is there. False: the bucket is full. */
static CF_ALWAYS_INLINE bool place_tag(cf_bulk *bulk, unsigned words, uint64_t bucket, uint64_t tag,
                                       cf_status *status)
{
    cf_filter *filter = bulk->filter;
    uint64_t at;
    *status = CF_OK;
    if (find_tag(filter, words, bucket, tag, &at)) {
        *status = store(bulk, bucket, tag);
        return true;
    }
    if (!find_tag(filter, words, bucket, 0, &at))
        return false;
    exchange(filter, at, tag);
    filter->occupied++;
    return true;
}

/* The tag that has been in flight longest lands. In a full bucket the slots take turns, so that what
** has just come stays. */
static CF_ALWAYS_INLINE cf_status land(cf_bulk *bulk, unsigned words)
{
    cf_filter *filter = bulk->filter;
    cf_flight flight = bulk->flight[bulk->first];
    cf_status status;
    bulk->first = (bulk->first + 1) % FLIGHTS;
    bulk->flying--;
    if (place_tag(bulk, words, flight.bucket, flight.tag, &status))
        return status;
    if (flight.steps >= MOST_STEPS)
        return store(bulk, flight.bucket, flight.tag);
    uint64_t slot = bulk->turn++ & (filter->geometry.bucket_size - 1u);
    uint64_t at = flight.bucket * filter->view.form.bucket_bits + slot * filter->view.form.lanes.width;
    send(bulk, flight.bucket, exchange(filter, at, flight.tag), flight.steps + 1);
    return CF_OK;
}

/* Lets tags land until no more than so many fly. */
static CF_NEVER_INLINE cf_status land_until(cf_bulk *bulk, unsigned flying)
{
    unsigned words = bulk->filter->view.form.lanes.words;
    cf_status status = CF_OK;
    while (status == CF_OK && bulk->flying > flying)
        status = words == 1 ? land(bulk, 1) : land(bulk, words);
    return status;
}

/* ---- the walk ---- */

/* Puts a key into its base bucket, or sends it on. */
static CF_ALWAYS_INLINE cf_status put(cf_bulk *bulk, unsigned words, uint64_t bucket, uint64_t tag)
{
    cf_status status;
    if (place_tag(bulk, words, bucket, tag, &status))
        return status;
    status = bulk->flying == FLIGHTS ? land_until(bulk, ALOFT) : CF_OK;
    if (status == CF_OK)
        send(bulk, bucket, tag, 0);
    return status;
}

/* Puts keys into the filter, as far as the ticker lets it: the first *added ones. Between two buckets
** tags land. */
static cf_status walk(cf_bulk *bulk, const uint64_t *hashes, size_t n, size_t *added, cf_ticker *ticker)
{
    const cf_filter *filter = bulk->filter;
    unsigned words = filter->view.form.lanes.words;
    cf_status status = CF_OK;
    uint64_t bucket = 0;
    size_t i = 0;
    for (; i < n && status == CF_OK && !cf_tick(ticker, COST); i++) {
        cf_side base = cf_base(filter, hashes[i]);
        uint64_t tag = base.bits & filter->view.form.slot_mask;
        if (base.base != bucket)
            status = land_until(bulk, ALOFT);
        bucket = base.base;
        if (status == CF_OK)
            status = words == 1 ? put(bulk, 1, bucket, tag) : put(bulk, words, bucket, tag);
    }
    *added = i;
    return status == CF_OK ? land_until(bulk, 0) : status;
}

/* ---- no more than cap ---- */

/* Takes out what the keys of a bucket have beyond cap, when two of its slots say the same. */
static CF_NEVER_INLINE void trim_bucket(cf_filter *filter, uint64_t bucket)
{
    const cf_form *form = &filter->view.form;
    unsigned cap = filter->geometry.cap, words = form->lanes.words;
    uint64_t first, record = cf_record_at(filter, form, bucket);
    cf_entry entry;
    cf_matches found;
    for (unsigned slot = 1; slot < filter->geometry.bucket_size; slot++) {
        uint64_t tag = cf_slot_get(filter, bucket, slot);
        find_tag(filter, words, bucket, tag, &first);
        if (first == record + (uint64_t)slot * form->lanes.width ||
            !cf_entry_at(filter, bucket, slot, &entry))
            continue;
        cf_pair pair = cf_pair_from(filter, entry.side);
        cf_find_matches(filter, &pair, CF_ANY_VALUE, &found);
        if (found.n > cap) /* RULE: no key has more entries than cap */
            cf_entries_replace(filter, found.entry + cap, found.n - cap, NULL);
    }
}

/* May two slots of a bucket say the same? Two that are empty do. */
static inline bool may_repeat(const cf_filter *filter, uint64_t bucket)
{
    const cf_lanes *lanes = &filter->view.form.lanes;
    uint64_t word = cf_load_bits(filter->view.table, bucket * filter->view.form.bucket_bits), found = 0;
    for (unsigned shift = lanes->width; shift < lanes->count * lanes->width; shift += lanes->width)
        found |= cf_any_zero_lane(lanes, (word ^ word >> shift) | ~(lanes->all >> shift));
    return found != 0 || lanes->words > 1;
}

/* A key with more than two entries has two in one bucket. */
static void trim(cf_filter *filter, cf_ticker *ticker)
{
    enum { TRIM_COST = 5 };
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++) {
        if (may_repeat(filter, bucket))
            trim_bucket(filter, bucket);
        cf_tick(ticker, TRIM_COST);
    }
}

/* Fills a plain table without payloads. When it is not CF_OK, the filter is empty again. */
static cf_status fill(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                      cf_ticker *ticker)
{
    cf_bulk bulk = {.filter = filter};
    cf_memory memory = filter->memory;
    assert(filter->view.simple && !filter->geometry.semisorted && !filter->view.form.payload_bits);
    filter->memory.resize = NULL; /* it must not grow while tags fly */
    cf_status status = walk(&bulk, hashes, n, added, ticker);
    filter->memory = memory;
    if (status != CF_OK) {
        cf_clear(filter);
        *added = 0;
        return status;
    }
    trim(filter, ticker);
    cf_count_items(filter, *added);
    return CF_OK;
}

/* ---- tables that are not plain ---- */

static bool is_plain(const cf_geometry *shape)
{
    return !shape->semisorted && shape->spill_bound == 0;
}

/* Writes the buckets of a plain table into one of zeros. */
static void copy_buckets(cf_filter *filter, const cf_filter *twin, cf_ticker *ticker)
{
    enum { COPY_COST = 30 };
    const cf_form *form = &filter->view.form;
    cf_record record = {.payload = {0}};
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++) {
        if (filter->geometry.semisorted && form->lanes.words == 1) {
            uint64_t word = cf_word(twin, &twin->view.form, bucket, 0);
            cf_semisort_word_write(filter, form, bucket * form->bucket_bits, word);
        } else {
            cf_tags_read(twin, bucket, record.tag);
            cf_record_write(filter, bucket, &record);
        }
        cf_tick(ticker, COPY_COST);
    }
    filter->items = twin->items;
    filter->occupied = twin->occupied;
}

static cf_status fill_twin(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                           cf_ticker *ticker)
{
    cf_geometry shape = filter->geometry;
    shape.semisorted = false;
    shape.spill_bound = shape.budget = 0;
    uint64_t bytes = sizeof(cf_filter) + cf_geometry_bytes(&shape);
    cf_filter *twin = (void *)filter->memory.resize(filter->memory.context, NULL, bytes);
    if (twin == NULL)
        return CF_NO_MEMORY;
    cf_create(twin, &shape, (uint8_t *)(twin + 1));
    cf_status status = fill(twin, hashes, n, added, ticker);
    if (status == CF_OK)
        copy_buckets(filter, twin, ticker);
    filter->memory.resize(filter->memory.context, (uint8_t *)twin, 0);
    return status;
}

/* ---- the one or the other ---- */

/* Is the table empty, whatever its header says? No, too, when the ticker has ended the look: what was
** not seen may be there. */
static bool is_empty(const cf_filter *filter, cf_ticker *ticker)
{
    return filter->items == 0 && filter->occupied == 0 && filter->spilled == 0 &&
           cf_first_set(filter, CF_HEADER_BYTES, filter->length, ticker) == filter->length &&
           !ticker->stopped;
}

/* Can a table be filled with n keys, and does it pay? All of its buckets have to be as they were when
** it was made. It does not pay when most of the table stays empty. With short fingerprints too many
** keys look equal. */
static bool can_fill(const cf_filter *filter, size_t n, cf_ticker *ticker)
{
    enum { LEAST_BITS = 8, LEAST_SHARE = 16 };
    const cf_geometry *shape = &filter->geometry;
    /* RULE: a table that has bytes to spare is not filled: its bytes would be others */
    if (filter->length > cf_geometry_bytes(shape) || filter->view.writable == NULL)
        return false;
    return filter->pages == NULL && filter->view.form.payload_bits == 0 && shape->bucket_size > 1 &&
           shape->cap > 1 && shape->fingerprint_bits >= LEAST_BITS && n <= shape->capacity &&
           n >= cf_slots(filter) / LEAST_SHARE && (is_plain(shape) || filter->memory.resize != NULL) &&
           is_empty(filter, ticker);
}

static cf_status add_in_turn(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                             cf_ticker *ticker)
{
    enum { AHEAD = 16, LARGE = 1 << 18, SLOW = 100 };
    cf_status status = CF_OK;
    size_t i = 0;
    while (i < n && status == CF_OK) {
        if (n - i > AHEAD && filter->length > LARGE && filter->pages == NULL)
            cf_key_fetch(filter, hashes[i + AHEAD]);
        status = cf_tick(ticker, SLOW) ? CF_INTERRUPTED : cf_add(filter, hashes[i]);
        i += status == CF_OK;
    }
    *added = i;
    return status;
}

static cf_status add_in_order(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                              cf_ticker *ticker)
{
    cf_status status = CF_FULL;
    if (can_fill(filter, n, ticker))
        status = (is_plain(&filter->geometry) ? fill : fill_twin)(filter, hashes, n, added, ticker);
    if (status == CF_FULL && !ticker->stopped)
        status = add_in_turn(filter, hashes, n, added, ticker);
    return ticker->stopped ? CF_INTERRUPTED : status;
}

/* Is the filter going to grow for so many keys? */
static bool outgrows(const cf_filter *filter, size_t n)
{
    const cf_geometry *shape = &filter->geometry;
    uint64_t planned = cf_planned_entries(shape->capacity, shape->epochs);
    return shape->growth && filter->memory.resize != NULL && filter->occupied + n > planned;
}

static void multiply(uint64_t *hashes, size_t n, uint64_t by)
{
    for (size_t i = 0; i < n; i++)
        hashes[i] *= by;
}

/* Sorted, as a rule. For a filter that is going to grow in an order without pattern, that of their
** products with an odd number: the first of many sorted keys all belong in one bucket, and would find
** no room there before the table has grown for the others. */
static bool put_in_order(const cf_filter *filter, uint64_t *hashes, size_t n, cf_ticker *ticker)
{
    static const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), inverse = UINT64_C(0xf1de83e19937733d);
    bool scatters = outgrows(filter, n);
    if (scatters)
        multiply(hashes, n, factor);
    bool done = cf_sort_with(hashes, n, &filter->memory, ticker);
    if (scatters)
        multiply(hashes, n, inverse);
    return done;
}

cf_status cf_add_many(cf_filter *filter, uint64_t *hashes, size_t n, size_t *added)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    size_t in = 0;
    cf_status status = CF_INTERRUPTED, settled = CF_OK;
    if (put_in_order(filter, hashes, n, &ticker))
        status = add_in_order(filter, hashes, n, &in, &ticker);
    if (added)
        *added = in;
    if (in > 0 && status != CF_INTERRUPTED)
        settled = cf_settle(filter);
    return status == CF_OK ? settled : status;
}
