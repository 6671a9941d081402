/* SPDX-License-Identifier: MIT */
#include "format.h"

#include "../base/bits.h"
#include "../include/cuckoo_exact.h"
#include "../include/cuckoo_key.h"

static const uint8_t magic[3] = {0xcf, 0x63, 0x6b};

enum { FLAG_GROWTH = 1, FLAG_VALUES = 2, FLAG_SEMISORTED = 4, FLAG_AGEING = 0x80 };
enum { AFFINITY_SHIFT = 3, COLLATION_SHIFT = 5, RULE_MASK = 3 };

/* Fields that describe the state of a filter: offset, length in bytes, type and name in memory. */
#define FIELDS(F)                                                                                       \
    F(5, 1, uint8_t, geometry.bucket_size)                                                              \
    F(6, 1, uint8_t, geometry.fingerprint_bits)                                                         \
    F(7, 1, uint8_t, geometry.pair_bits)                                                                \
    F(8, 1, uint8_t, geometry.max_copies)                                                               \
    F(10, 1, unsigned, level)                                                                           \
    F(14, 2, uint16_t, geometry.stash_size)                                                             \
    F(16, 2, unsigned, stashed)                                                                         \
    F(18, 6, uint64_t, geometry.buckets)                                                                \
    F(24, 8, int64_t, geometry.seed)                                                                    \
    F(32, 6, uint64_t, split)                                                                           \
    F(44, 6, uint64_t, occupied)                                                                        \
    F(50, 6, uint64_t, geometry.capacity)

/* The other fields. The last word has the reserve in its low half and the checksum in its high half. */
enum { AT_VERSION = 3, AT_HASH = 4, AT_SLOT_BITS = 9, AT_PAYLOAD_BITS = 11, AT_FLAGS = 12 };
enum { AT_BUDGET = 13, AT_ITEMS = 38, AT_LAST = 56, ITEMS_BYTES = 6 };

/* Stores the low `size` bytes of a number over zeros; at + 8 must be inside the header, as in get. */
static inline void put(uint8_t *at, unsigned size, uint64_t number)
{
    cf_store64(at, cf_load64(at) | (number & cf_low_bits(8 * size)));
}

static inline uint64_t get(const uint8_t *at, unsigned size)
{
    return cf_load64(at) & cf_low_bits(8 * size);
}

static uint8_t encode_flags(const cf_geometry *g)
{
    unsigned flags = (g->growth ? FLAG_GROWTH : 0) | (g->value_bits ? FLAG_VALUES : 0) |
                     (g->semisorted ? FLAG_SEMISORTED : 0) | (g->epochs ? FLAG_AGEING : 0);
    unsigned rule = (unsigned)g->affinity << AFFINITY_SHIFT | (unsigned)g->collation << COLLATION_SHIFT;
    return (uint8_t)(flags | rule);
}

void cf_header_encode(const cf_filter *filter, uint8_t *bytes)
{
    const cf_geometry *g = &filter->geometry;
    uint64_t plain = cf_bytes_at(g, filter->level, filter->split);
    memset(bytes, 0, CF_HEADER_BYTES);
    memcpy(bytes, magic, sizeof magic);
    bytes[AT_VERSION] = CF_FORMAT_VERSION;
    bytes[AT_HASH] = (uint8_t)(cf_hash_identity(g) | g->key_types << CF_TYPES_SHIFT);
    bytes[AT_SLOT_BITS] = (uint8_t)cf_slot_bits(g, cf_is_grown(filter->level, filter->split));
    bytes[AT_PAYLOAD_BITS] = g->epochs ? CF_EPOCH_BITS : g->counter_bits | g->value_bits;
    bytes[AT_FLAGS] = encode_flags(g);
    bytes[AT_BUDGET] = g->budget | g->epochs;
#define STORE(at, size, type, field) put(bytes + (at), size, (uint64_t)filter->field);
    FIELDS(STORE)
    put(bytes + AT_ITEMS, ITEMS_BYTES, g->epochs ? filter->epoch : filter->items);
    put(bytes + AT_LAST, 4, filter->length - plain + CF_RESERVED_MIN);
    put(bytes + AT_LAST, 8, (uint64_t)cf_checksum(bytes) << 32);
}

bool cf_is_exact(const uint8_t *bytes, size_t length)
{
    static const uint8_t exact[3] = {CF_EXACT_MAGIC};
    return length >= sizeof exact && memcmp(bytes, exact, sizeof exact) == 0;
}

/* CF_OK if this is a filter of a readable version, without anything unknown to this version. */
static cf_status check_identity(const uint8_t *bytes, uint64_t length, const char **why)
{
    /* RULE: a blob without the magic is no filter; equivalent < to <=: every filter is longer */
    if (length < CF_HEADER_BYTES || memcmp(bytes, magic, sizeof magic) != 0)
        return cf_refuse(CF_DAMAGED, why,
                         cf_is_exact(bytes, (size_t)length)
                             ? "an exact filter: open it with cf_exact_open"
                             : "not a cuckoo filter");
    /* RULE: any other format version is rejected */
    if (bytes[AT_VERSION] < CF_FORMAT_VERSION)
        return cf_refuse(CF_DAMAGED, why, "an earlier format, which is not supported");
    if (bytes[AT_VERSION] > CF_FORMAT_VERSION)
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown format version"));
    /* RULE: a header matches its checksum */
    if (cf_load64(bytes + AT_LAST) >> 32 != cf_checksum(bytes))
        return (uint32_t) ~(cf_load64(bytes + AT_LAST) >> 32) == cf_checksum(bytes)
                   ? cf_refuse(CF_DAMAGED, why,
                               "changed, but not sealed: call cf_seal after the last change")
                   : cf_refuse(CF_DAMAGED, why, "the header does not match its checksum");
    /* RULE: an unknown hash is rejected */
    if (!cf_knows_hash(bytes[AT_HASH] & CF_HASH_MASK))
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown hash, key rule or flag"));
    /* RULE: an unknown flag is rejected; equivalent without 6: the bit above is rejected as unknown */
    if ((bytes[AT_FLAGS] >> COLLATION_SHIFT & RULE_MASK) > CF_COLLATION_RTRIM ||
        (bytes[AT_FLAGS] & (FLAG_AGEING | FLAG_VALUES)) == (FLAG_AGEING | FLAG_VALUES))
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown hash, key rule or flag"));
    return CF_OK;
}

static void decode_fields(const uint8_t *bytes, cf_filter *filter)
{
    cf_geometry *g = &filter->geometry;
    unsigned flags = bytes[AT_FLAGS];
    bool ages = (flags & FLAG_AGEING) != 0, values = (flags & FLAG_VALUES) != 0;
    uint64_t items = get(bytes + AT_ITEMS, ITEMS_BYTES);
#define LOAD(at, size, type, field) filter->field = (type)get(bytes + (at), size);
    FIELDS(LOAD)
    g->keyed = (bytes[AT_HASH] & CF_HASH_MASK) == CF_IDENTITY_KEYED;
    g->key_types = bytes[AT_HASH] >> CF_TYPES_SHIFT;
    g->growth = (flags & FLAG_GROWTH) != 0;
    g->value_bits = values ? bytes[AT_PAYLOAD_BITS] : 0;
    g->counter_bits = values || ages ? 0 : bytes[AT_PAYLOAD_BITS];
    g->epochs = ages ? bytes[AT_BUDGET] : 0;
    g->semisorted = (flags & FLAG_SEMISORTED) != 0;
    g->affinity = flags >> AFFINITY_SHIFT & RULE_MASK;
    g->collation = flags >> COLLATION_SHIFT & RULE_MASK;
    g->budget = ages ? 0 : bytes[AT_BUDGET];
    filter->items = ages ? filter->occupied : items;
    filter->epoch = ages ? items : 0;
}

/* What is wrong with the shape or with its stage of growth; NULL: nothing. */
static const char *shape_fault(const uint8_t *bytes, const cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    const char *why;
    /* RULE: the shape in a header is valid */
    if (cf_geometry_check(g, &why) != CF_OK)
        return why;
    /* RULE: a filter with epochs has at least one, and epoch numbers as its payload */
    if (bytes[AT_FLAGS] & FLAG_AGEING && (g->epochs == 0 || bytes[AT_PAYLOAD_BITS] != CF_EPOCH_BITS))
        return "it has epochs, but not of 4 bits";
    /* RULE: values have at least one bit */
    if ((bytes[AT_FLAGS] & FLAG_VALUES) && g->value_bits == 0)
        return "values of zero bits";
    /* RULE: the stage of growth is possible */
    if (cf_stage_check(g, filter->level, filter->split, &why) != CF_OK)
        return why;
    /* RULE: the width of slots matches the stage of growth */
    if (bytes[AT_SLOT_BITS] != cf_slot_bits(g, cf_is_grown(filter->level, filter->split)))
        return "the width of slots is not that of its stage of growth";
    return NULL;
}

/* What is wrong with the counts, if the shape is valid; NULL: nothing. */
static const char *count_fault(const uint8_t *bytes, const cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    uint64_t planned = cf_bytes_at(g, filter->level, filter->split) - CF_RESERVED_MIN;
    uint32_t reserved = (uint32_t)cf_load64(bytes + AT_LAST);
    /* RULE: the reserve is not shorter than the format needs */
    if (reserved < CF_RESERVED_MIN)
        return "the header promises fewer reserved bytes than the format needs";
    /* RULE: the length matches the header; equivalent without 2, < to <=: a difference below
    ** zero is larger than any reserve, and no reserve is zero */
    if (filter->length < planned || filter->length - planned != reserved)
        return "the length does not match the header: cut off, or not one filter";
    /* RULE: the stash does not exceed its bound */
    if (filter->stashed > g->stash_size)
        return "the stash holds more than its bound";
    /* RULE: items need occupied slots or stashed entries */
    if (filter->items > 0 && filter->occupied == 0 && filter->stashed == 0)
        return "the header counts items, but neither occupied slots nor stashed entries";
    /* RULE: no more slots are occupied than exist */
    if (filter->occupied > g->bucket_size * cf_buckets_at(g, filter->level, filter->split))
        return "the header counts more occupied slots than there are";
    return NULL;
}

cf_status cf_header_decode(cf_filter *filter, const uint8_t *bytes, uint64_t length, const char **why)
{
    cf_status status = check_identity(bytes, length, why);
    if (status != CF_OK)
        return status;
    decode_fields(bytes, filter);
    filter->length = length;
    const char *fault = shape_fault(bytes, filter);
    if (fault == NULL)
        fault = count_fault(bytes, filter);
    return fault ? cf_refuse(CF_DAMAGED, why, fault) : CF_OK;
}
