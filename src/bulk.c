/*
** bulk.c - adding many keys: an empty table is filled in one walk.
**
** A key whose base bucket has room is put there. That walks through the table from front to back,
** and writes each bucket once. Else the key goes to its alternate bucket, which may be anywhere: it
** is *in flight* until the line of memory has come, while the walk goes on. Where it lands in a
** full bucket it takes the slot of an entry, which flies on to its own alternate:
**
**      walk    -> [ j ][ j+1 ][ j+2 ] ...                  one bucket after the other
**                   |            ^ full: what it holds flies on
**                   v full       |
**      flights    ( item ) ... ( item )                    some at a time; first in, first out
**
** So the misses of many keys overlap. At a load of 0.95 (f = 12, b = 4) a key needs 1.1 flights in
** the mean, as with any order of evictions; few need so many that an ordinary search ends them.
** There are no random numbers: the slots of full buckets take turns. The bytes follow from the
** sorted keys alone.
**
** Copies. No two entries of one bucket that this puts there say the same: an item that meets its
** like is stored as cf_insert does, which counts or absorbs it, or stores it when there are fewer
** than cap. The other bucket is not looked at, nor what is in flight. So a key that many copies, or
** many keys alike, have crowded may have a few entries more than cap. Each of them is one copy:
** none below cap is lost. At the end one look at all buckets takes out what is beyond cap. With
** counters a key may have two entries, one in each bucket, and its copies are the sum.
**
** In turn. A filter that is not empty, or has to grow, takes the sorted keys one by one; their
** buckets are fetched some keys ahead.
*/
#include "entry.h"
#include "format.h"
#include "hand.h"
#include "insert.h"
#include "sort.h"
#include "walk.h"

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
    __builtin_prefetch(filter->view.table + to.base * filter->view.bucket_bits / 8);
    *flight = (cf_flight){to.base, {to.bits & filter->view.slot_mask, item.payload}, steps};
}

static void count_stored(cf_bulk *bulk)
{
    bulk->filter->occupied += bulk->stored;
    bulk->stored = 0;
}

/* Stores an item in the ordinary way, as if it were an entry of another filter. */
static __attribute__((noinline)) cf_status store(cf_bulk *bulk, uint64_t bucket, cf_item item)
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
    const cf_lanes *lanes = &bulk->filter->view.lanes;
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
    bool room = cf_hand_find_empty(filter, kind, &hand, &lane);
    /* RULE: an item that meets its like is counted or absorbed */
    if (cf_hand_holds(filter, kind, &hand, item.tag) || (!room && steps >= MOST_STEPS))
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
static __attribute__((noinline)) cf_status store_in_hand(cf_bulk *bulk, cf_item item)
{
    cf_hand_give_back(bulk->filter, CF_ANY_KIND, &bulk->hand);
    cf_status status = store(bulk, bulk->hand.bucket, item);
    cf_hand_take(bulk->filter, CF_ANY_KIND, bulk->hand.bucket, &bulk->hand);
    return status;
}

/* Lets items land while a bucket is in hand: they may lie in it. */
static __attribute__((noinline)) cf_status make_way(cf_bulk *bulk)
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
    /* RULE: a key that meets its like is counted or absorbed */
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
static __attribute__((noinline)) cf_status put_copies(cf_bulk *bulk, uint64_t tag, size_t copies)
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
        uint64_t tag = base.bits & bulk->filter->view.slot_mask;
        if (base.base != bulk->hand.bucket) {
            if (cf_tick(ticker, COST * bulk->filter->geometry.bucket_size))
                break;
            status = walk_to(bulk, kind, base.base);
        }
        if (__builtin_expect(i + 1 < n && hashes[i + 1] == hashes[i], 0)) {
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
    /* RULE: no key has more entries than cap */
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
    if (cf_kind_of(filter) == CF_SHORT_PLAIN)
        trim_buckets(filter, CF_SHORT_PLAIN, ticker);
    else
        trim_buckets(filter, CF_ANY_KIND, ticker);
    for (unsigned i = filter->spilled; i > 0; i--)
        if (i <= filter->spilled && cf_spilled_at(filter, i - 1, &entry))
            trim(filter, &entry);
}

/* Fills an empty table. CF_FULL: it is empty again, and *added is 0. */
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

/* Is the table empty, whatever its header says? */
static bool is_empty(const cf_filter *filter, cf_ticker *ticker)
{
    return filter->items == 0 && filter->occupied == 0 && filter->spilled == 0 &&
           cf_first_set(filter, CF_HEADER_BYTES, filter->length, ticker) == filter->length;
}

/* Was the filter planned for these hashes? With counters those that repeat are one. */
static bool has_room(const cf_filter *filter, const uint64_t *hashes, size_t n)
{
    uint64_t capacity = filter->geometry.capacity, distinct = n > 0;
    if (n <= capacity || filter->geometry.counter_bits == 0)
        return n <= capacity;
    for (size_t i = 1; i < n; i++)
        distinct += hashes[i - 1] != hashes[i];
    return distinct <= capacity;
}

/* Can a table be filled, and does it pay? It does not when most of it stays empty. In short
** fingerprints keys meet their likes too often. */
static bool can_fill(const cf_filter *filter, const uint64_t *hashes, size_t n, cf_ticker *ticker)
{
    enum { LEAST_BITS = 8, LEAST_SHARE = 16 };
    const cf_geometry *shape = &filter->geometry;
    return !filter->view.grown && filter->pages == NULL && shape->bucket_size > 1 && shape->cap > 1 &&
           shape->fingerprint_bits >= LEAST_BITS && n >= cf_slots(filter) / LEAST_SHARE &&
           has_room(filter, hashes, n) && is_empty(filter, ticker);
}

/* ---- in turn ---- */

/* Fetches the buckets of a key. */
static void fetch(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    uint64_t here = cf_locate(filter, &base).bucket, there = cf_locate(filter, &other).bucket;
    __builtin_prefetch(filter->view.table + here * filter->view.bucket_bits / 8);
    __builtin_prefetch(filter->view.table + there * filter->view.bucket_bits / 8);
}

static cf_status add_in_turn(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                             cf_ticker *ticker)
{
    enum { AHEAD = 16, LARGE = 1 << 18, SLOW = 100 };
    cf_status status = CF_OK;
    size_t i = 0;
    while (i < n && status == CF_OK) {
        if (n - i > AHEAD && filter->length > LARGE && filter->pages == NULL)
            fetch(filter, hashes[i + AHEAD]);
        status = cf_tick(ticker, SLOW) ? CF_INTERRUPTED : cf_add(filter, hashes[i]);
        i += status == CF_OK;
    }
    *added = i;
    return status;
}

/* ---- the one or the other ---- */

static cf_status add_sorted(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                            cf_ticker *ticker)
{
    cf_status status = CF_FULL;
    if (can_fill(filter, hashes, n, ticker))
        status = fill(filter, hashes, n, added, ticker);
    if (status == CF_FULL && !ticker->stopped)
        status = add_in_turn(filter, hashes, n, added, ticker);
    return ticker->stopped ? CF_INTERRUPTED : status;
}

cf_status cf_add_many(cf_filter *filter, uint64_t *hashes, size_t n, size_t *added)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    size_t in = 0;
    cf_status status = CF_INTERRUPTED, settled = CF_OK;
    if (cf_sort_with(hashes, n, filter->memory.resize, &ticker))
        status = add_sorted(filter, hashes, n, &in, &ticker);
    if (added)
        *added = in;
    if (status != CF_INTERRUPTED)
        settled = cf_settle(filter);
    return status == CF_OK ? settled : status;
}
