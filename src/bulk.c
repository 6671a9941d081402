/* SPDX-License-Identifier: MIT */
#include "bulk.h"

#include "entry.h"
#include "format.h"
#include "hand.h"
#include "insert.h"

/* ---- items in flight ---- */

enum {
    FLIGHTS = 64,     /* items for which there is room */
    ALOFT = 32,       /* that stay in flight from one bucket to the next: their misses overlap */
    MOST_STEPS = 250, /* flights of one item, and of those it drives out, before a search is made */
    COST = 40         /* of a key or a flight, nanoseconds */
};

typedef struct cf_flight {
    uint64_t bucket; /* where it is going to land */
    cf_item item;
    unsigned steps; /* flights before this one */
} cf_flight;

typedef struct cf_bulk {
    cf_filter *filter;
    cf_hand hand; /* of the walk */
    cf_flight flight[FLIGHTS];
    unsigned first, flying;
    unsigned turn;   /* the slot that is next to be driven out of a full bucket */
    bool met;        /* some item has met its like */
    uint64_t stored; /* entries put into empty slots and not counted as occupied yet */
} cf_bulk;

static unsigned length_of(const cf_filter *filter)
{
    return filter->geometry.fingerprint_bits - filter->geometry.pair_bits;
}

/* Sends what does not stay in a bucket to its other one. */
CF_BY_KIND void send(cf_bulk *bulk, uint64_t bucket, cf_item item, unsigned steps)
{
    const cf_filter *filter = bulk->filter;
    cf_flight *flight = &bulk->flight[(bulk->first + bulk->flying++) % FLIGHTS];
    cf_side to = cf_alternate(filter, (cf_side){bucket, item.tag, length_of(filter)});
    cf_bucket_fetch(filter, to.base);
    *flight = (cf_flight){to.base, {to.bits & filter->view.form.slot_mask, item.payload}, steps};
}

static void count_stored(cf_bulk *bulk)
{
    bulk->filter->occupied += bulk->stored;
    bulk->stored = 0;
}

/* Stores an item in the ordinary way, as if it were an entry of another filter. */
static CF_NEVER_INLINE cf_status store(cf_bulk *bulk, uint64_t bucket, cf_item item)
{
    cf_filter *filter = bulk->filter;
    bool full = filter->geometry.counter_bits && item.payload == cf_payload_max(&filter->geometry);
    cf_entry entry = {
        .side = {bucket, item.tag, length_of(filter)}, .payload = item.payload, .sticky = full};
    bulk->met = true;
    count_stored(bulk);
    return cf_insert(filter, &entry);
}

/* The slot that is to be driven out next; each in its turn, so that what has just come stays. */
CF_BY_KIND cf_lane next_out(cf_bulk *bulk, cf_kind kind)
{
    const cf_lanes *lanes = &bulk->filter->view.form.lanes;
    unsigned slot = bulk->turn++ & (bulk->filter->geometry.bucket_size - 1u), lane = slot;
    if (kind == CF_ANY_KIND)
        lane &= lanes->count - 1;
    return (cf_lane){kind == CF_ANY_KIND ? slot / lanes->count : 0, lane * lanes->width};
}

/* The item that has been in flight longest lands. */
CF_BY_KIND cf_status land(cf_bulk *bulk, cf_kind kind)
{
    cf_filter *filter = bulk->filter;
    const cf_flight *flight = &bulk->flight[bulk->first];
    uint64_t bucket = flight->bucket;
    cf_item item = flight->item;
    unsigned steps = flight->steps;
    cf_hand hand;
    cf_lane lane;
    bulk->first = (bulk->first + 1) % FLIGHTS;
    bulk->flying--;
    cf_hand_take(filter, kind, bucket, &hand);
    bool room = cf_hand_find_empty(filter, kind, &hand, &lane), stuck = !room && steps >= MOST_STEPS;
    /* RULE: an item that meets its like is counted or absorbed; equivalent always: the ordinary way
    ** stores any */
    if (cf_hand_holds(filter, kind, &hand, item.tag) || stuck)
        return store(bulk, bucket, item);
    if (!room)
        lane = next_out(bulk, kind);
    cf_hand_exchange(filter, kind, &hand, lane, &item);
    cf_hand_give_back(filter, kind, &hand);
    if (!room)
        send(bulk, bucket, item, steps + 1);
    bulk->stored += room;
    return CF_OK;
}

/* Lets items land until no more than so many fly. */
CF_BY_KIND cf_status land_until(cf_bulk *bulk, cf_kind kind, unsigned flying)
{
    cf_status status = CF_OK;
    while (status == CF_OK && bulk->flying > flying)
        status = land(bulk, kind);
    return status;
}

/* ---- the walk ---- */

/* Stores an item in its base bucket, which is in hand, in the ordinary way. */
static CF_NEVER_INLINE cf_status store_in_hand(cf_bulk *bulk, cf_item item)
{
    cf_hand_give_back(bulk->filter, CF_ANY_KIND, &bulk->hand);
    cf_status status = store(bulk, bulk->hand.bucket, item);
    cf_hand_take(bulk->filter, CF_ANY_KIND, bulk->hand.bucket, &bulk->hand);
    return status;
}

/* Lets items land while a bucket is in hand: they may lie in it. */
static CF_NEVER_INLINE cf_status make_way(cf_bulk *bulk)
{
    cf_hand_give_back(bulk->filter, CF_ANY_KIND, &bulk->hand);
    cf_status status = land_until(bulk, CF_ANY_KIND, ALOFT);
    cf_hand_take(bulk->filter, CF_ANY_KIND, bulk->hand.bucket, &bulk->hand);
    return status;
}

/* Puts a key into its base bucket, which is in hand, or sends it on. */
CF_BY_KIND cf_status put(cf_bulk *bulk, cf_kind kind, cf_item item)
{
    cf_hand *hand = &bulk->hand;
    cf_lane lane;
    /* RULE: a key that meets its like is counted or absorbed; equivalent always: the ordinary way
    ** stores any */
    if (cf_hand_holds(bulk->filter, kind, hand, item.tag))
        return store_in_hand(bulk, item);
    if (cf_hand_find_empty(bulk->filter, kind, hand, &lane)) {
        cf_hand_exchange(bulk->filter, kind, hand, lane, &item);
        bulk->stored++;
        return CF_OK;
    }
    cf_status status = bulk->flying == FLIGHTS ? make_way(bulk) : CF_OK;
    if (status == CF_OK)
        send(bulk, hand->bucket, item, 0);
    return status;
}

/* Stores copies of one key: one entry that counts them, or as many as there may be. */
static CF_NEVER_INLINE cf_status put_copies(cf_bulk *bulk, uint64_t tag, size_t copies)
{
    const cf_geometry *shape = &bulk->filter->geometry;
    uint64_t most = cf_payload_max(shape), more = copies - 1;
    cf_status status = CF_OK;
    if (shape->counter_bits)
        return put(bulk, CF_ANY_KIND, (cf_item){tag, more < most ? more : most});
    for (size_t i = 0; status == CF_OK && i < copies && i < shape->cap; i++)
        status = put(bulk, CF_ANY_KIND, (cf_item){tag, 0});
    return status;
}

/* On to another bucket. Between two of them items land. */
CF_BY_KIND cf_status walk_to(cf_bulk *bulk, cf_kind kind, uint64_t bucket)
{
    cf_hand_give_back(bulk->filter, kind, &bulk->hand);
    cf_status status = land_until(bulk, kind, ALOFT);
    cf_hand_take(bulk->filter, kind, bucket, &bulk->hand);
    return status;
}

/* How often the first hash is there. */
static size_t repeats_of(const uint64_t *hashes, size_t n)
{
    size_t repeats = 1;
    while (repeats < n && hashes[repeats] == hashes[0])
        repeats++;
    return repeats;
}

/* Puts keys into the filter, as far as the ticker lets it: the first *added ones. */
CF_BY_KIND cf_status walk(cf_bulk *bulk, cf_kind kind, const uint64_t *hashes, size_t n, size_t *added,
                          cf_ticker *ticker)
{
    cf_status status = CF_OK;
    size_t i = 0, copies = 1;
    cf_hand_take(bulk->filter, kind, 0, &bulk->hand);
    for (; i < n && status == CF_OK; i += copies, copies = 1) {
        cf_side base = cf_base(bulk->filter, hashes[i]);
        uint64_t tag = base.bits & bulk->filter->view.form.slot_mask;
        if (base.base != bulk->hand.bucket) {
            if (cf_tick(ticker, COST * bulk->filter->geometry.bucket_size))
                break;
            status = walk_to(bulk, kind, base.base);
        }
        if (CF_UNLIKELY(i + 1 < n && hashes[i + 1] == hashes[i])) {
            copies = repeats_of(hashes + i, n - i);
            status = status == CF_OK ? put_copies(bulk, tag, copies) : status;
        } else if (status == CF_OK) {
            status = put(bulk, kind, (cf_item){tag, 0});
        }
    }
    cf_hand_give_back(bulk->filter, kind, &bulk->hand);
    *added = i;
    return status == CF_OK ? land_until(bulk, kind, 0) : status;
}

static cf_status walk_by_kind(cf_bulk *bulk, const uint64_t *hashes, size_t n, size_t *added,
                              cf_ticker *ticker)
{
    switch (cf_kind_of(bulk->filter)) {
    case CF_SHORT_PLAIN:
        return walk(bulk, CF_SHORT_PLAIN, hashes, n, added, ticker);
    case CF_SHORT_SEMISORTED:
        return walk(bulk, CF_SHORT_SEMISORTED, hashes, n, added, ticker);
    default:
        return walk(bulk, CF_ANY_KIND, hashes, n, added, ticker);
    }
}

/* ---- no more than cap ---- */

/* Takes out what a key has beyond cap. */
static void trim(cf_filter *filter, const cf_entry *entry)
{
    unsigned cap = filter->geometry.cap;
    cf_matches found;
    cf_pair pair = cf_pair_from(filter, entry->side);
    cf_find_matches(filter, &pair, CF_ANY_VALUE, &found);
    if (found.n <= cap)
        return;
    /* RULE: no key has more entries than cap; equivalent without, zero: all are alike, and NULL is 0 */
    cf_entries_replace(filter, found.entry + cap, found.n - cap, NULL);
    cf_entries_drain_into(filter, found.entry + cap, found.n - cap);
}

/* Has the entry in a slot its like in another one before it? */
static bool has_like_before(const uint64_t *tag, unsigned slot)
{
    for (unsigned i = 0; i < slot; i++)
        if (tag[i] == tag[slot])
            return tag[slot] != 0;
    return false;
}

static void trim_bucket(cf_filter *filter, uint64_t bucket)
{
    cf_entry entry;
    uint64_t tag[CF_BUCKET_MAX];
    cf_tags_read(filter, bucket, tag);
    for (unsigned slot = 1; slot < filter->geometry.bucket_size; slot++)
        if (has_like_before(tag, slot) && cf_entry_at(filter, bucket, slot, &entry)) {
            trim(filter, &entry);
            cf_tags_read(filter, bucket, tag);
        }
}

CF_BY_KIND void trim_buckets(cf_filter *filter, cf_kind kind, cf_ticker *ticker)
{
    enum { TRIM_COST = 5 };
    cf_hand hand;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++) {
        cf_hand_take(filter, kind, bucket, &hand);
        if (cf_hand_may_repeat(filter, kind, &hand))
            trim_bucket(filter, bucket);
        cf_tick(ticker, TRIM_COST);
    }
}

/* A key with more than two entries has two in one bucket, or some in the list. */
static void trim_all(cf_filter *filter, cf_ticker *ticker)
{
    cf_entry entry;
    cf_kind kind = cf_kind_of(filter);
    if (kind == CF_SHORT_PLAIN)
        trim_buckets(filter, CF_SHORT_PLAIN, ticker);
    else if (kind == CF_SHORT_SEMISORTED)
        trim_buckets(filter, CF_SHORT_SEMISORTED, ticker);
    else
        trim_buckets(filter, CF_ANY_KIND, ticker);
    for (unsigned i = filter->spilled; i > 0; i--)
        if (i <= filter->spilled && cf_spilled_at(filter, i - 1, &entry))
            trim(filter, &entry);
}

static cf_status fill(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                      cf_ticker *ticker)
{
    cf_bulk bulk = {.filter = filter};
    cf_memory memory = filter->memory;
    filter->memory.resize = NULL; /* it must not grow while items fly */
    cf_status status = walk_by_kind(&bulk, hashes, n, added, ticker);
    filter->memory = memory;
    if (status != CF_OK) {
        cf_clear(filter);
        *added = 0;
        return status;
    }
    count_stored(&bulk);
    cf_count_items(filter, *added);
    if (bulk.met && filter->geometry.counter_bits == 0)
        trim_all(filter, ticker);
    return ticker->stopped ? CF_INTERRUPTED : CF_OK;
}

/* ---- semi-sorted tables ---- */

/* Is a plain table filled first? */
static bool has_twin(const cf_filter *filter)
{
    return cf_kind_of(filter) == CF_SHORT_SEMISORTED && filter->geometry.spill_bound == 0 &&
           filter->memory.resize != NULL;
}

/* A plain filter of the same shape, empty; NULL: no memory. */
static uint8_t *make_twin(const cf_filter *filter, cf_filter *twin)
{
    cf_geometry shape = filter->geometry;
    shape.semisorted = false;
    uint8_t *bytes = filter->memory.resize(filter->memory.context, NULL, cf_geometry_bytes(&shape));
    if (bytes)
        cf_create(twin, &shape, bytes);
    return bytes;
}

/* Sorts each bucket of a plain table into a semi-sorted one of zeros. */
static void sort_buckets(cf_filter *filter, const cf_filter *twin, cf_ticker *ticker)
{
    enum { SORT_COST = 30 };
    const cf_form *form = &filter->view.form;
    cf_hand hand;
    assert(cf_kind_of(twin) == CF_SHORT_PLAIN);
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++) {
        cf_hand_take(twin, CF_SHORT_PLAIN, bucket, &hand);
        if (hand.word[0] != 0)
            cf_semisort_word_write(filter, form, bucket * form->bucket_bits, hand.word[0]);
        cf_tick(ticker, SORT_COST);
    }
    filter->items = twin->items;
    filter->occupied = twin->occupied;
}

cf_status cf_bulk_fill(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                       cf_ticker *ticker)
{
    cf_filter twin;
    if (!has_twin(filter))
        return fill(filter, hashes, n, added, ticker);
    *added = 0;
    uint8_t *bytes = make_twin(filter, &twin);
    if (bytes == NULL)
        return CF_NO_MEMORY;
    cf_status status = fill(&twin, hashes, n, added, ticker);
    if (status == CF_OK || status == CF_INTERRUPTED)
        sort_buckets(filter, &twin, ticker);
    filter->memory.resize(filter->memory.context, bytes, 0);
    return status;
}
