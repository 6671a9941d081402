/*
** filter.c - one filter: making and opening it; contains, count, add, delete.
*/
#include "address.h"
#include "bucket.h"
#include "eviction.h"
#include "format.h"
#include "place.h"

/* ---- making and opening ---- */

static void set_view(cf_filter *filter, const cf_header *header, const uint8_t *bytes, uint64_t length,
                     uint8_t *writable)
{
    const cf_geometry *g = &header->geometry;
    filter->geometry = *g;
    filter->items = header->items;
    filter->occupied = header->occupied;
    filter->length = length;
    filter->bytes = bytes;
    filter->table = bytes + CF_HEADER_BYTES;
    filter->writable = writable ? writable + CF_HEADER_BYTES : NULL;
    filter->tag_mask = cf_low_bits(g->fingerprint_bits);
    filter->pair_mask = cf_low_bits(g->pair_bits);
    filter->bucket_bits = (uint64_t)g->bucket_size * g->fingerprint_bits;
    filter->odd_pairs = g->buckets % 2 == 0;
    cf_lanes_set(&filter->lanes, g->fingerprint_bits, g->bucket_size);
}

void cf_create(cf_filter *filter, const cf_geometry *shape, uint8_t *bytes)
{
    uint64_t length = cf_geometry_bytes(shape);
    cf_header header = {.geometry = *shape, .reserved = CF_RESERVED_MIN};
    memset(bytes + CF_HEADER_BYTES, 0, length - CF_HEADER_BYTES);
    cf_header_encode(&header, bytes);
    set_view(filter, &header, bytes, length, bytes);
}

static cf_status open_view(cf_filter *filter, const uint8_t *bytes, size_t length, uint8_t *writable,
                           const char **why)
{
    cf_header header;
    cf_status status = cf_header_decode(bytes, length, &header, why);
    if (status == CF_OK)
        set_view(filter, &header, bytes, length, writable);
    return status;
}

cf_status cf_open(cf_filter *filter, const uint8_t *bytes, size_t length, const char **why)
{
    return open_view(filter, bytes, length, NULL, why);
}

/* All that a view says but where the bytes are follows from the header and the length. */
static bool same_header(const cf_reader *reader, const uint8_t *bytes, size_t length)
{
    uint64_t differ = 0;
    if (length != reader->filter.length || length == 0)
        return false; /* a reader that has not opened anything has length 0 */
    for (unsigned i = 0; i < CF_HEADER_BYTES; i += 8)
        differ |= cf_load64(bytes + i) ^ cf_load64(reader->header + i);
    return differ == 0;
}

cf_status cf_reader_open(cf_reader *reader, const uint8_t *bytes, size_t length, const char **why)
{
    if (same_header(reader, bytes, length)) {
        reader->filter.bytes = bytes;
        reader->filter.table = bytes + CF_HEADER_BYTES;
        return CF_OK;
    }
    cf_status status = cf_open(&reader->filter, bytes, length, why);
    if (status == CF_OK)
        memcpy(reader->header, bytes, CF_HEADER_BYTES);
    return status;
}

cf_status cf_open_writable(cf_filter *filter, uint8_t *bytes, size_t length, const char **why)
{
    return open_view(filter, bytes, length, bytes, why);
}

void cf_seal(cf_filter *filter)
{
    uint64_t plain = cf_geometry_bytes(&filter->geometry) - CF_RESERVED_MIN;
    cf_header header = {.geometry = filter->geometry,
                        .items = filter->items,
                        .occupied = filter->occupied,
                        .reserved = (uint32_t)(filter->length - plain)};
    cf_header_encode(&header, filter->writable - CF_HEADER_BYTES);
}

void cf_clear(cf_filter *filter)
{
    memset(filter->writable, 0, filter->length - CF_HEADER_BYTES);
    filter->items = filter->occupied = 0;
    cf_seal(filter);
}

/* ---- asking ---- */

/* Does either of two buckets of several words hold its tag? Not inlined: it would cost the short form its
** registers. */
static __attribute__((noinline)) bool in_long_buckets(const cf_filter *filter, cf_side base,
                                                      cf_side other)
{
    const cf_lanes *lanes = &filter->lanes;
    uint64_t found = 0;
    for (unsigned i = 0; i < lanes->words; i++) {
        found |= cf_any_zero_lane(lanes, cf_word(filter, base.bucket, i) ^ (base.tag * lanes->ones));
        found |= cf_any_zero_lane(lanes, cf_word(filter, other.bucket, i) ^ (other.tag * lanes->ones));
    }
    return found != 0;
}

/* The same for one bucket of one word. */
static inline uint64_t in_short_bucket(const cf_filter *filter, cf_side want)
{
    uint64_t word = cf_load_bits(filter->table, want.bucket * filter->bucket_bits);
    return cf_any_zero_lane(&filter->lanes, word ^ (want.tag * filter->lanes.ones));
}

/* Both buckets are read before anything is decided, so that their cache misses overlap. */
bool cf_contains(const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash);
    cf_side other = cf_alternate(filter, base);
    if (other.bucket == base.bucket)
        other.tag = base.tag; /* a pair of one side: as cf_count sees it */
    if (filter->lanes.words > 1)
        return in_long_buckets(filter, base, other);
    return (in_short_bucket(filter, base) | in_short_bucket(filter, other)) != 0;
}

unsigned cf_copies(const cf_filter *filter, const cf_pair *pair)
{
    unsigned found = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        found += cf_bucket_count(filter, pair->side[i]);
    return found;
}

unsigned cf_count(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    return cf_copies(filter, &pair);
}

/* ---- changing ---- */

/* Puts an entry into the first empty slot of its pair. */
static bool place_directly(cf_filter *filter, const cf_pair *pair)
{
    for (unsigned i = 0; i < pair->sides; i++) {
        int slot = cf_bucket_free_slot(filter, pair->side[i].bucket);
        if (slot >= 0) {
            cf_slot_set(filter, pair->side[i].bucket, (unsigned)slot, pair->side[i].tag);
            return true;
        }
    }
    return false;
}

static bool place_by_moving(cf_filter *filter, const cf_pair *pair)
{
    cf_search search;
    if (!cf_eviction_search(filter, pair, &search))
        return false;
    cf_eviction_apply(filter, pair, &search);
    return true;
}

cf_status cf_place(cf_filter *filter, const cf_pair *pair)
{
    if (cf_copies(filter, pair) >= filter->geometry.cap)
        return CF_OK;
    if (!place_directly(filter, pair) && !place_by_moving(filter, pair))
        return CF_FULL;
    /* A header that lies may count all the slots already; it must not be made to count more. */
    filter->occupied += filter->occupied < cf_geometry_slots(&filter->geometry);
    return CF_OK;
}

cf_status cf_add(cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_status status = cf_place(filter, &pair);
    filter->items += status == CF_OK && filter->items < CF_ITEMS_MAX;
    return status;
}

cf_status cf_add_many(cf_filter *filter, const uint64_t *hashes, size_t n, size_t *added)
{
    cf_status status = CF_OK;
    size_t i = 0;
    while (i < n && (status = cf_add(filter, hashes[i])) == CF_OK)
        i++;
    if (added)
        *added = i;
    return status;
}

static bool remove_one(cf_filter *filter, const cf_pair *pair)
{
    for (unsigned i = 0; i < pair->sides; i++) {
        int slot = cf_bucket_find(filter, pair->side[i]);
        if (slot >= 0) {
            cf_slot_set(filter, pair->side[i].bucket, (unsigned)slot, 0);
            return true;
        }
    }
    return false;
}

cf_deleted cf_delete(cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    if (cf_copies(filter, &pair) >= filter->geometry.cap)
        return CF_STICKY;
    if (!remove_one(filter, &pair))
        return CF_ABSENT;
    filter->items -= filter->items > 0;
    filter->occupied -= filter->occupied > 0;
    return CF_REMOVED;
}

/* ---- looking inside ---- */

cf_pair cf_candidates(const cf_filter *filter, uint64_t hash)
{
    return cf_pair_of(filter, hash);
}

uint64_t cf_tag_at(const cf_filter *filter, uint64_t bucket, unsigned slot)
{
    return cf_slot_get(filter, bucket, slot);
}

cf_side cf_other_side(const cf_filter *filter, cf_side from)
{
    return cf_alternate(filter, from);
}
