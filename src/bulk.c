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
** Copies. Two entries of one bucket that this puts there never say the same: an item that meets its
** like is stored as cf_insert does, which counts or absorbs it. It meets no like in the other
** bucket, for that is not looked at. So before cf_insert comes, there are at most two entries for
** keys that share fingerprint and pair, and cap is two or more. With cf_insert, and with items in
** flight which it does not see, there may be a few more than cap; these say "cap or more", too. No
** copy below cap is lost: items are dropped only when cap entries are there. With counters such
** keys may have two entries, one in each bucket, and their copies are the sum.
**
** In turn. A filter that is not empty, or has to grow, takes the sorted keys one by one; their
** buckets are fetched some keys ahead.
*/
#include "bucket.h"
#include "entry.h"
#include "format.h"
#include "insert.h"
#include "sort.h"
#include "walk.h"

/* ---- a bucket in hand ---- */

/* Its tags as words of lanes, whatever its layout, and its payloads. */
typedef struct cf_hand {
    uint64_t bucket;
    bool changed;
    uint64_t word[CF_BUCKET_MAX];
    uint64_t payload[CF_BUCKET_MAX];
} cf_hand;

static inline void take(const cf_filter *filter, uint64_t bucket, cf_hand *hand)
{
    const cf_lanes *lanes = &filter->view.lanes;
    uint64_t mask = cf_low_bits(lanes->count * lanes->width);
    hand->bucket = bucket;
    hand->changed = false;
    for (unsigned i = 0; i < lanes->words; i++)
        hand->word[i] = cf_word(filter, bucket, i) & mask;
    for (unsigned slot = 0; filter->view.payload_bits && slot < filter->geometry.bucket_size; slot++)
        hand->payload[slot] = cf_payload_get(filter, bucket, slot);
}

static inline void give_back(cf_filter *filter, cf_hand *hand)
{
    if (hand->changed)
        cf_words_write(filter, hand->bucket, hand->word, hand->payload);
    hand->changed = false;
}

static inline bool holds(const cf_filter *filter, const cf_hand *hand, uint64_t tag)
{
    const cf_lanes *lanes = &filter->view.lanes;
    uint64_t found = 0;
    for (unsigned i = 0; i < lanes->words; i++)
        found |= cf_any_zero_lane(lanes, hand->word[i] ^ tag * lanes->ones);
    return found != 0;
}

/* Where slots start: bit `shift` of word `word`. */
typedef struct cf_lane {
    unsigned word, shift;
} cf_lane;

static inline bool find_empty(const cf_filter *filter, const cf_hand *hand, cf_lane *lane)
{
    const cf_lanes *lanes = &filter->view.lanes;
    for (unsigned i = 0; i < lanes->words; i++) {
        uint64_t empty = cf_any_zero_lane(lanes, hand->word[i]);
        if (empty != 0) {
            *lane = (cf_lane){i, (unsigned)__builtin_ctzll(empty) - (lanes->width - 1)};
            return true;
        }
    }
    return false;
}

/* Exchanges what a slot holds for a tag and its payload, and the other way round. */
static inline void exchange(const cf_filter *filter, cf_hand *hand, cf_lane at, uint64_t *tag,
                            uint64_t *payload)
{
    const cf_lanes *lanes = &filter->view.lanes;
    uint64_t there = hand->word[at.word] >> at.shift & filter->view.slot_mask;
    hand->word[at.word] ^= (there ^ *tag) << at.shift;
    hand->changed = true;
    *tag = there;
    if (filter->view.payload_bits) {
        unsigned slot = at.word * lanes->count + at.shift / lanes->width;
        uint64_t with = hand->payload[slot];
        hand->payload[slot] = *payload;
        *payload = with;
    }
}

/* ---- items in flight ---- */

enum {
    FLIGHTS = 64,     /* items for which there is room */
    ALOFT = 32,       /* that stay in flight from one bucket to the next: their misses overlap */
    MOST_STEPS = 250, /* flights of one item, and of those it drives out, before a search is made */
    COST = 40         /* of a key or a flight, nanoseconds */
};

typedef struct cf_flight {
    uint64_t bucket; /* where it is going to land */
    uint64_t tag, payload;
    unsigned steps; /* flights before this one */
} cf_flight;

typedef struct cf_bulk {
    cf_filter *filter;
    cf_hand hand; /* of the walk */
    cf_flight flight[FLIGHTS];
    unsigned first, flying;
    unsigned turn;   /* the slot that is next to be driven out of a full bucket */
    uint64_t stored; /* entries put into empty slots */
} cf_bulk;

/* Sends what does not stay in a bucket to its other one. */
static inline void send(cf_bulk *bulk, uint64_t bucket, uint64_t tag, uint64_t payload, unsigned steps)
{
    const cf_filter *filter = bulk->filter;
    unsigned length = filter->geometry.fingerprint_bits - filter->geometry.pair_bits;
    cf_side to = cf_alternate(filter, (cf_side){bucket, tag, length});
    __builtin_prefetch(filter->view.table + to.base * filter->view.bucket_bits / 8);
    bulk->flight[(bulk->first + bulk->flying++) % FLIGHTS] =
        (cf_flight){to.base, to.bits & filter->view.slot_mask, payload, steps};
}

/* Stores an item as if it were an entry of another filter. */
static cf_status store(cf_filter *filter, uint64_t bucket, uint64_t tag, uint64_t payload)
{
    bool full = filter->geometry.counter_bits && payload == cf_payload_max(&filter->geometry);
    unsigned length = filter->geometry.fingerprint_bits - filter->geometry.pair_bits;
    cf_entry item = {.side = {bucket, tag, length}, .payload = payload, .sticky = full};
    return cf_insert(filter, &item);
}

/* The slot that is to be driven out next; each in its turn, so that what has just come stays. */
static cf_lane next_out(cf_bulk *bulk)
{
    const cf_lanes *lanes = &bulk->filter->view.lanes;
    unsigned slot = bulk->turn++ % bulk->filter->geometry.bucket_size;
    return (cf_lane){slot / lanes->count, slot % lanes->count * lanes->width};
}

/* The item that has been in flight longest lands. */
static cf_status land(cf_bulk *bulk)
{
    cf_filter *filter = bulk->filter;
    cf_flight item = bulk->flight[bulk->first];
    cf_hand hand;
    cf_lane lane;
    bulk->first = (bulk->first + 1) % FLIGHTS;
    bulk->flying--;
    take(filter, item.bucket, &hand);
    bool room = find_empty(filter, &hand, &lane);
    /* RULE: no two entries of a bucket that a bulk build puts there say the same */
    if (holds(filter, &hand, item.tag) || (!room && item.steps >= MOST_STEPS))
        return store(filter, item.bucket, item.tag, item.payload);
    if (!room)
        lane = next_out(bulk);
    exchange(filter, &hand, lane, &item.tag, &item.payload);
    give_back(filter, &hand);
    if (!room)
        send(bulk, item.bucket, item.tag, item.payload, item.steps + 1);
    bulk->stored += room;
    return CF_OK;
}

/* Lets items land until no more than so many fly. */
static cf_status land_until(cf_bulk *bulk, unsigned flying, cf_ticker *ticker)
{
    cf_status status = CF_OK;
    for (; status == CF_OK && bulk->flying > flying; cf_tick(ticker, COST))
        status = land(bulk);
    return status;
}

/* ---- the walk ---- */

/* Stores an item in its base bucket, which is in hand, in the ordinary way. */
static cf_status store_in_hand(cf_bulk *bulk, uint64_t tag, uint64_t payload)
{
    give_back(bulk->filter, &bulk->hand);
    cf_status status = store(bulk->filter, bulk->hand.bucket, tag, payload);
    take(bulk->filter, bulk->hand.bucket, &bulk->hand);
    return status;
}

/* Lets items land while a bucket is in hand: they may lie in it. */
static cf_status make_way(cf_bulk *bulk, cf_ticker *ticker)
{
    give_back(bulk->filter, &bulk->hand);
    cf_status status = land_until(bulk, ALOFT, ticker);
    take(bulk->filter, bulk->hand.bucket, &bulk->hand);
    return status;
}

/* Puts a key into its base bucket, which is in hand, or sends it on. */
static inline cf_status put(cf_bulk *bulk, uint64_t tag, uint64_t payload, cf_ticker *ticker)
{
    cf_hand *hand = &bulk->hand;
    cf_lane lane;
    if (holds(bulk->filter, hand, tag))
        return store_in_hand(bulk, tag, payload);
    if (find_empty(bulk->filter, hand, &lane)) {
        exchange(bulk->filter, hand, lane, &tag, &payload);
        bulk->stored++;
        return CF_OK;
    }
    cf_status status = bulk->flying == FLIGHTS ? make_way(bulk, ticker) : CF_OK;
    if (status == CF_OK)
        send(bulk, hand->bucket, tag, payload, 0);
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

/* Stores copies of one key: one entry that counts them, or as many as there may be. */
static cf_status put_copies(cf_bulk *bulk, uint64_t tag, size_t copies, cf_ticker *ticker)
{
    const cf_geometry *shape = &bulk->filter->geometry;
    uint64_t most = cf_payload_max(shape), more = copies - 1;
    cf_status status = CF_OK;
    if (shape->counter_bits)
        return put(bulk, tag, more < most ? more : most, ticker);
    for (size_t i = 0; status == CF_OK && i < copies && i < shape->cap; i++)
        status = put(bulk, tag, 0, ticker);
    return status;
}

/* On to another bucket. Between two of them items land. */
static cf_status walk_to(cf_bulk *bulk, uint64_t bucket, cf_ticker *ticker)
{
    cf_status status = CF_OK;
    give_back(bulk->filter, &bulk->hand);
    if (bulk->flying > ALOFT)
        status = land_until(bulk, ALOFT, ticker);
    take(bulk->filter, bucket, &bulk->hand);
    return status;
}

/* Puts the first *added keys at least into the filter, and as many more as the ticker lets it. */
static cf_status walk(cf_bulk *bulk, const uint64_t *hashes, size_t n, size_t *added, cf_ticker *ticker)
{
    cf_status status = CF_OK;
    size_t i = 0, copies;
    take(bulk->filter, 0, &bulk->hand);
    for (; i < n && status == CF_OK && !cf_tick(ticker, COST); i += copies) {
        cf_side base = cf_base(bulk->filter, hashes[i]);
        copies = repeats_of(hashes + i, n - i);
        if (base.base != bulk->hand.bucket)
            status = walk_to(bulk, base.base, ticker);
        if (status == CF_OK)
            status = put_copies(bulk, base.bits & bulk->filter->view.slot_mask, copies, ticker);
    }
    give_back(bulk->filter, &bulk->hand);
    *added = i;
    return status == CF_OK ? land_until(bulk, 0, ticker) : status;
}

/* Fills an empty table. CF_FULL: it is empty again, and *added is 0. */
static cf_status fill(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added,
                      cf_ticker *ticker)
{
    cf_bulk bulk = {.filter = filter};
    cf_memory memory = filter->memory;
    filter->memory.resize = NULL; /* it must not grow while items fly */
    cf_status status = walk(&bulk, hashes, n, added, ticker);
    filter->memory = memory;
    if (status != CF_OK) {
        cf_clear(filter);
        *added = 0;
        return status;
    }
    filter->occupied += bulk.stored;
    cf_count_items(filter, *added);
    return ticker->stopped ? CF_INTERRUPTED : CF_OK;
}

/* Is the table empty, whatever its header says? */
static bool is_empty(const cf_filter *filter, cf_ticker *ticker)
{
    return filter->items == 0 && filter->occupied == 0 && filter->spilled == 0 &&
           cf_first_set(filter, CF_HEADER_BYTES, filter->length, ticker) == filter->length;
}

/* Is there a slot for each hash? Few may repeat: copies without counters are stored one by one. */
static bool has_room(const cf_filter *filter, const uint64_t *hashes, size_t n)
{
    enum { OF = 16 };
    size_t distinct = n > 0;
    if (n > filter->geometry.capacity && filter->geometry.counter_bits == 0)
        return false;
    for (size_t i = 1; i < n; i++)
        distinct += hashes[i - 1] != hashes[i];
    return distinct <= filter->geometry.capacity &&
           (n - distinct < n / OF || filter->geometry.counter_bits);
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
