/* SPDX-License-Identifier: MIT */
/*
** bulk_add.c - adds many keys: sorted, either all at once or one by one.
**
** An empty table that was planned for this many keys is filled in two walks over them. The first walk
** writes each bucket once, with the first b keys that have it as base bucket. The second walk sends the
** others, about every fifth key, to their alternate buckets, which may be anywhere: a tag is *in flight*
** until its cache line has come, while the walk continues. If it lands in a full bucket, it takes the
** slot of an entry, which flies on to its own alternate:
**
**      walk    -> [ j ][ j+1 ][ j+2 ] ...                  one bucket after the other
**                   |            ^ full: an entry flies on
**                   v            |
**      flights    ( tag ) ... ( tag )                      some at a time; first in, first out
**
** So the cache misses of many keys overlap. A tag that has flown too often is inserted by an ordinary
** search; few are. The slots of full buckets take turns, so the bytes depend on the sorted keys alone.
**
** Tables with counters or values add their keys one by one. So does a table that was full in the walk,
** after it was cleared: then the keys before the first that does not fit are in.
**
** Copies. A tag that lands in a bucket with the same tag goes through cf_insert, which absorbs it once
** there are max_copies of them. Copies in flight are not counted there, so a key may end with a few
** entries too many: a last walk over all buckets removes them.
*/
#include "bulk_add.h"
#include "../entry/entry.h"
#include "../entry/walk.h"
#include "../insert/growth.h"
#include "../shape/format.h"

/* ---- tags in flight ---- */

enum {
    FLIGHTS = 64,    /* tags, at most */
    ALOFT = 32,      /* tags that stay in flight: their cache misses overlap */
    MOST_STEPS = 250 /* flights of a tag, and of those it evicts, before a search */
};

typedef struct cf_flight {
    uint64_t bucket;     /* where it will land */
    uint32_t tag, steps; /* its tag there; flights before this one */
} cf_flight;

typedef struct cf_bulk {
    cf_flight flight[FLIGHTS];
    unsigned first, flying;
    unsigned turn; /* the next slot to be evicted from a full bucket */
} cf_bulk;

/* Sends a tag from a bucket to its other one. */
static inline void send(cf_bulk *bulk, const cf_filter *filter, uint64_t bucket, uint64_t tag,
                        unsigned steps)
{
    cf_side to = cf_alternate(filter, (cf_side){bucket, tag, filter->view.new_length});
    cf_bucket_fetch(filter, to.base);
    bulk->flight[(bulk->first + bulk->flying++) % FLIGHTS] =
        (cf_flight){to.base, (uint32_t)to.bits, steps};
}

/* Lands the first tag in flight. In a full bucket the slots take turns, so a new entry stays. */
CF_FORCED cf_status land(cf_kind kind, cf_bulk *bulk, cf_filter *filter)
{
    cf_flight flight = bulk->flight[bulk->first];
    uint64_t at = flight.bucket * filter->view.form.bucket_bits, tag[CF_BUCKET_MAX];
    bulk->first = (bulk->first + 1) % FLIGHTS;
    bulk->flying--;
    if (CF_UNLIKELY(cf_slots_by(kind, filter, at, flight.tag) != 0 || flight.steps >= MOST_STEPS)) {
        /* by the ordinary rule, as an entry of another filter */
        cf_entry entry = {.side = {flight.bucket, flight.tag, filter->view.new_length}};
        return cf_insert(filter, &entry);
    }
    unsigned lane;
    if (cf_empty_by(kind, filter, at, &lane)) {
        filter->occupied++;
    } else {
        unsigned slot = bulk->turn++ & (filter->geometry.bucket_size - 1u);
        cf_tags_by(kind, filter, at, tag);
        send(bulk, filter, flight.bucket, tag[slot], flight.steps + 1);
        lane = slot * filter->view.form.lane;
    }
    kind.bare = true;
    cf_set_by(kind, filter, at, lane, flight.tag, 0);
    return CF_OK;
}

/* ---- the two walks ---- */

enum { COST = 20 }; /* nanoseconds for a key in one walk */

/* The first walk, in which bulk is the constant NULL, writes all base buckets. The second one sends the
** remaining keys to their alternates, and leaves `aloft` tags in flight. */
CF_FORCED cf_status walk_bases(cf_kind kind, cf_filter *filter, const uint64_t *hashes, size_t n,
                               cf_bulk *bulk, unsigned aloft, cf_ticker *ticker)
{
    cf_status status = CF_OK;
    unsigned b = filter->geometry.bucket_size, max_copies = filter->geometry.max_copies;
    const uint64_t mask = filter->view.fingerprint_mask;
    for (size_t i = 0; i < n && status == CF_OK;) {
        uint64_t tag[CF_BUCKET_MAX] = {0}, bucket = cf_base(filter, hashes[i]).base;
        unsigned used = 0;
        for (; i < n && cf_base(filter, hashes[i]).base == bucket; i++) {
            if (i >= max_copies && hashes[i] == hashes[i - max_copies])
                continue; /* at most max_copies equal keys are stored */
            uint64_t its = cf_key_bits(hashes[i], mask) & mask;
            if (used++ < b) {
                tag[used - 1] = its;
            } else if (bulk != NULL) {
                send(bulk, filter, bucket, its, 0);
                while (status == CF_OK && bulk->flying > ALOFT)
                    status = land(kind, bulk, filter);
            }
        }
        if (bulk == NULL) {
            cf_store_by(kind, filter, bucket * filter->view.form.bucket_bits, tag, NULL);
            filter->occupied += used < b ? used : b;
        }
        if (cf_tick(ticker, COST * used))
            return CF_INTERRUPTED;
    }
    while (bulk != NULL && status == CF_OK && bulk->flying > aloft)
        status = land(kind, bulk, filter);
    return status;
}

/* The number of keys before the last bucket, which may continue in the next part. */
static size_t whole_buckets(const cf_filter *filter, const cf_many *keys)
{
    size_t n = keys->n;
    while (n > 0 && cf_base(filter, keys->at[n - 1]).base == cf_base(filter, keys->at[keys->n - 1]).base)
        n--;
    return n;
}

/* Separate functions use less stack. */
static CF_NEVER_INLINE cf_status walk_first(cf_filter *filter, const uint64_t *hashes, size_t n,
                                            cf_ticker *ticker)
{
    return CF_BY_NEW_FORM(&filter->view.form, walk_bases, filter, hashes, n, NULL, 0, ticker);
}

static CF_NEVER_INLINE cf_status walk_again(cf_filter *filter, const uint64_t *hashes, size_t n,
                                            cf_bulk *bulk, unsigned aloft, cf_ticker *ticker)
{
    return CF_BY_NEW_FORM(&filter->view.form, walk_bases, filter, hashes, n, bulk, aloft, ticker);
}

static cf_status walk_parts(cf_filter *filter, cf_collected *keys, cf_bulk *bulk, cf_ticker *ticker)
{
    cf_status status = CF_OK;
    size_t carried = 0;
    for (unsigned i = 1; i <= keys->parts && status == CF_OK; i++) {
        cf_many part;
        if (!cf_collected_part(keys, i - 1, carried, &part))
            return CF_NO_MEMORY;
        bool last = i == keys->parts;
        size_t n = last ? part.n : whole_buckets(filter, &part);
        carried = part.n - n;
        status = bulk ? walk_again(filter, part.at, n, bulk, last ? 0 : ALOFT, ticker)
                      : walk_first(filter, part.at, n, ticker);
    }
    return status;
}

/* ---- at most max_copies ---- */

/* Removes the entries beyond max_copies of the key that `entry` matches. */
static CF_NEVER_INLINE void trim_key(cf_filter *filter, const cf_entry *entry)
{
    unsigned max_copies = filter->geometry.max_copies;
    cf_matches found;
    cf_prefixes_find(filter, &entry->side, CF_ANY_VALUE, &found);
    for (; found.n > max_copies; cf_prefixes_find(filter, &entry->side, CF_ANY_VALUE, &found))
        /* RULE: no key has more than max_copies; equivalent without: all of its entries are equal */
        cf_entries_replace(filter, found.entry + max_copies, 1, NULL);
}

/* A key with more than two entries has two in one bucket, or one in the stash. */
CF_FORCED void trim_by(cf_kind kind, cf_filter *filter, cf_ticker *ticker)
{
    enum { TRIM_COST = 5 };
    uint64_t tag[CF_BUCKET_MAX];
    cf_entry entry;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++) {
        bool repeats = false;
        cf_tags_by(kind, filter, bucket * filter->view.form.bucket_bits, tag);
        for (unsigned i = 1; i < filter->geometry.bucket_size; i++)
            for (unsigned before = 0; before < i; before++)
                repeats |= tag[i] == tag[before] && tag[i] != 0;
        for (unsigned slot = 0; CF_UNLIKELY(repeats) && slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, bucket, slot, &entry))
                trim_key(filter, &entry);
        cf_tick(ticker, TRIM_COST);
    }
    for (unsigned i = filter->stashed; i-- > 0;)
        if (i < filter->stashed && cf_stashed_at(filter, i, &entry))
            trim_key(filter, &entry);
}

static CF_NEVER_INLINE void trim(cf_filter *filter, cf_ticker *ticker)
{
    CF_BY_NEW_FORM(&filter->view.form, trim_by, filter, ticker);
}

/* Fills an empty table. On error it is empty again, with its header unchanged. */
static cf_status fill(cf_filter *filter, cf_collected *keys, cf_ticker *ticker)
{
    cf_bulk bulk = {.flying = 0};
    cf_memory memory = filter->memory;
    uint8_t key_types = filter->geometry.key_types, header[CF_HEADER_BYTES];
    const bool sealed = filter->view.sealed;
    memcpy(header, filter->bytes, sizeof header);
    filter->memory.resize = NULL; /* it must not grow while tags are in flight */
    if (sealed)
        cf_unseal(filter);
    cf_status status = walk_parts(filter, keys, NULL, ticker);
    if (status == CF_OK)
        status = walk_parts(filter, keys, &bulk, ticker);
    if (status == CF_OK)
        trim(filter, ticker);
    filter->memory = memory;
    if (status == CF_OK) {
        cf_count_items(filter, keys->n);
    } else {
        cf_clear(filter);
        memcpy(filter->writable, header, sizeof header);
        filter->view.sealed = sealed;
        cf_set_ways(filter);
    }
    filter->geometry.key_types = key_types;
    return status;
}

/* ---- all at once, or one by one ---- */

/* True if a table can be filled with n keys at once, and should. All of its buckets must be empty,
** whatever its header says. It is not worth it if most of the table stays empty. With short fingerprints
** too many keys are equal. */
static bool can_fill(const cf_filter *filter, size_t n, cf_ticker *ticker)
{
    enum { LEAST_BITS = 8, LEAST_SHARE = 16 };
    const cf_geometry *shape = &filter->geometry;
    /* RULE: a table with spare bytes is not filled, because its bytes would differ */
    if (filter->length > cf_geometry_bytes(shape))
        return false;
    return filter->pages == NULL && filter->view.form.payload_bits == 0 && shape->bucket_size > 1 &&
           shape->max_copies > 1 && shape->fingerprint_bits >= LEAST_BITS && n <= shape->capacity &&
           n >= cf_slots(filter) / LEAST_SHARE && filter->items == 0 && filter->occupied == 0 &&
           filter->stashed == 0 &&
           cf_first_set(filter, CF_HEADER_BYTES, filter->length, ticker) == filter->length &&
           !ticker->stopped;
}

static cf_status add_part(cf_filter *filter, const cf_many *keys, size_t *added, cf_ticker *ticker)
{
    enum { AHEAD = 16, LARGE = 1 << 18, SLOW = 100 };
    const unsigned words = keys->words;
    cf_status status = CF_OK;
    for (size_t i = 0; i < keys->n && status == CF_OK; i++) {
        const uint64_t *at = keys->at + i * words;
        if (keys->n - i > AHEAD && filter->length > LARGE && filter->pages == NULL)
            cf_key_fetch(filter, at[AHEAD * words]);
        status =
            cf_tick(ticker, SLOW) ? CF_INTERRUPTED : cf_add_value(filter, at[0], words > 1 ? at[1] : 0);
        *added += status == CF_OK;
    }
    return status;
}

static cf_status add_in_turn(cf_filter *filter, cf_collected *keys, size_t *added, cf_ticker *ticker)
{
    cf_status status = CF_OK;
    cf_many part;
    for (unsigned i = 0; i < keys->parts && status == CF_OK; i++)
        status =
            cf_collected_part(keys, i, 0, &part) ? add_part(filter, &part, added, ticker) : CF_NO_MEMORY;
    return status;
}

/* Sorts the keys, unless the filter will grow. Then it takes them in the order of their products with an
** odd number, which has no pattern: the first of many sorted keys all belong to one bucket, and would
** find no slot there before the table has grown for the others. False if sorting was stopped. */
static bool put_in_order(const cf_filter *filter, const cf_many *keys)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    static const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), inverse = UINT64_C(0xf1de83e19937733d);
    const cf_geometry *shape = &filter->geometry;
    uint64_t *hashes = keys->at;
    size_t n = keys->n;
    bool grows = shape->growth && filter->memory.resize != NULL &&
                 filter->occupied + n > cf_planned_entries(shape->capacity, shape->epochs);
    for (size_t i = 0; grows && i < n; i++)
        hashes[i] *= factor;
    bool sorted = cf_sort_many(keys, &filter->memory, &ticker);
    for (size_t i = 0; grows && i < n; i++)
        hashes[i] *= inverse;
    return sorted;
}

cf_status cf_add_sorted(cf_filter *filter, cf_collected *keys, size_t *added)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    size_t in = 0;
    cf_status status = CF_FULL;
    if (!keys->valued && can_fill(filter, keys->n, &ticker))
        status = fill(filter, keys, &ticker);
    if (status == CF_OK)
        in = keys->n;
    else if (status == CF_FULL && !ticker.stopped)
        status = add_in_turn(filter, keys, &in, &ticker);
    if (added)
        *added = in;
    if (ticker.stopped)
        return CF_INTERRUPTED;
    cf_status settled = in > 0 ? cf_settle(filter) : CF_OK;
    return status == CF_OK ? settled : status;
}

cf_status cf_add_many(cf_filter *filter, uint64_t *hashes, size_t n, size_t *added)
{
    if (added)
        *added = 0;
    if (filter->writable == NULL)
        return CF_READ_ONLY;
    if (hashes == NULL && n > 0)
        return CF_BAD_ARGUMENT;
    cf_many keys = {hashes, n, 1};
    cf_collected list = cf_collected_of(&keys);
    return put_in_order(filter, &keys) ? cf_add_sorted(filter, &list, added) : CF_INTERRUPTED;
}
