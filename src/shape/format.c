/* SPDX-License-Identifier: MIT */
#include "format.h"

#include "../base/bits.h"
#include "../cuckoo_exact.h"

static const uint8_t magic[3] = {0xcf, 0x63, 0x6b};

enum { FLAG_GROWTH = 1, FLAG_VALUES = 2, FLAG_SEMISORTED = 4, FLAG_AGEING = 0x80 };
enum { AFFINITY_SHIFT = 3, COLLATION_SHIFT = 5, RULE_MASK = 3 };

/* Where each field stands: see the table in format.h. */
enum { AT_VERSION = 3, AT_HASH = 4, AT_BUCKET_SIZE = 5, AT_FINGERPRINT_BITS = 6, AT_PAIR_BITS = 7 };
enum { AT_CAP = 8, AT_SLOT_BITS = 9, AT_LEVEL = 10, AT_PAYLOAD_BITS = 11, AT_FLAGS = 12 };
enum { AT_OVERFLOW_BUDGET = 13, AT_SPILL_BOUND = 14, AT_SPILLED = 16, AT_BUCKETS = 18, AT_SEED = 24 };
enum { AT_SPLIT_POINTER = 32, AT_ITEMS = 38, AT_OCCUPIED = 44, AT_CAPACITY = 50, AT_RESERVED = 56 };
enum { AT_CHECKSUM = 60 };

/* Loads 1 to 6 bytes; at + 8 must lie inside the header. */
static uint64_t load_bytes(const uint8_t *at, unsigned bytes)
{
    return cf_load64(at) & cf_low_bits(8 * bytes);
}

static uint32_t load32(const uint8_t *header, unsigned offset)
{
    return (uint32_t)(cf_load64(header + offset - 4) >> 32);
}

static uint8_t encode_flags(const cf_geometry *g)
{
    unsigned flags = (g->growth ? FLAG_GROWTH : 0) | (g->value_bits ? FLAG_VALUES : 0) |
                     (g->semisorted ? FLAG_SEMISORTED : 0) | (g->epochs ? FLAG_AGEING : 0);
    unsigned rule = (unsigned)g->affinity << AFFINITY_SHIFT | (unsigned)g->collation << COLLATION_SHIFT;
    return (uint8_t)(flags | rule);
}

void cf_header_encode(const cf_header *header, uint8_t *bytes)
{
    const cf_geometry *g = &header->geometry;
    memset(bytes, 0, CF_HEADER_BYTES);
    memcpy(bytes, magic, sizeof magic);
    bytes[AT_VERSION] = CF_FORMAT_VERSION;
    bytes[AT_HASH] = cf_hash_identity(g);
    bytes[AT_BUCKET_SIZE] = g->bucket_size;
    bytes[AT_FINGERPRINT_BITS] = g->fingerprint_bits;
    bytes[AT_PAIR_BITS] = g->pair_bits;
    bytes[AT_CAP] = g->cap;
    bytes[AT_SLOT_BITS] = (uint8_t)cf_slot_bits(g, cf_is_grown(header->level, header->split));
    bytes[AT_LEVEL] = (uint8_t)header->level;
    bytes[AT_PAYLOAD_BITS] = g->epochs ? CF_EPOCH_BITS : g->counter_bits | g->value_bits;
    bytes[AT_FLAGS] = encode_flags(g);
    bytes[AT_OVERFLOW_BUDGET] = g->budget | g->epochs;
    /* From front to back: each is stored as a whole word, and the next one replaces the zeros. */
    cf_store64(bytes + AT_SPILL_BOUND, g->spill_bound);
    cf_store64(bytes + AT_SPILLED, header->spilled);
    cf_store64(bytes + AT_BUCKETS, g->buckets);
    cf_store64(bytes + AT_SEED, (uint64_t)g->seed);
    cf_store64(bytes + AT_SPLIT_POINTER, header->split);
    cf_store64(bytes + AT_ITEMS, g->epochs ? header->epoch : header->items);
    cf_store64(bytes + AT_OCCUPIED, header->occupied);
    cf_store64(bytes + AT_CAPACITY, g->capacity);
    cf_store64(bytes + AT_RESERVED, header->reserved);
    cf_store64(bytes + AT_RESERVED, header->reserved | (uint64_t)cf_checksum(bytes) << 32);
}

bool cf_is_exact(const uint8_t *bytes, size_t length)
{
    static const uint8_t exact[3] = {CF_EXACT_MAGIC};
    return length >= sizeof exact && memcmp(bytes, exact, sizeof exact) == 0;
}

/* Is this a filter at all, whole, of a version that can be read, and with nothing that this one does not
** know? */
static cf_status check_identity(const uint8_t *bytes, uint64_t length, const char **why)
{
    /* RULE: a blob without the magic is no filter; equivalent < to <=: no filter is only a
    ** header */
    if (length < CF_HEADER_BYTES || memcmp(bytes, magic, sizeof magic) != 0)
        return cf_refuse(CF_DAMAGED, why,
                         cf_is_exact(bytes, (size_t)length)
                             ? "an exact filter: open it with cf_exact_open"
                             : "not a cuckoo filter");
    /* RULE: another format version is refused */
    if (bytes[AT_VERSION] < CF_FORMAT_VERSION)
        return cf_refuse(CF_DAMAGED, why, "of an earlier format, which nothing reads");
    if (bytes[AT_VERSION] > CF_FORMAT_VERSION)
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown format version"));
    /* RULE: a header matches its checksum */
    if (load32(bytes, AT_CHECKSUM) != cf_checksum(bytes))
        return cf_refuse(CF_DAMAGED, why, "the header does not match its checksum");
    /* RULE: an unknown hash is refused */
    if (!cf_knows_hash(bytes[AT_HASH]))
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown hash"));
    /* RULE: an unknown flag is refused; equivalent without 6: the bit above is refused as
    ** unknown */
    if ((bytes[AT_FLAGS] >> COLLATION_SHIFT & RULE_MASK) > CF_COLLATION_RTRIM ||
        (bytes[AT_FLAGS] & (FLAG_AGEING | FLAG_VALUES)) == (FLAG_AGEING | FLAG_VALUES))
        return cf_refuse(CF_NEWER, why, CF_LATER("unknown flag"));
    return CF_OK;
}

static void decode_fields(const uint8_t *bytes, cf_header *header)
{
    cf_geometry *g = &header->geometry;
    unsigned flags = bytes[AT_FLAGS];
    bool ages = (flags & FLAG_AGEING) != 0, values = (flags & FLAG_VALUES) != 0;
    g->buckets = load_bytes(bytes + AT_BUCKETS, 6);
    g->capacity = load_bytes(bytes + AT_CAPACITY, 6);
    g->seed = (int64_t)cf_load64(bytes + AT_SEED);
    g->keyed = bytes[AT_HASH] == CF_IDENTITY_KEYED;
    g->bucket_size = bytes[AT_BUCKET_SIZE];
    g->fingerprint_bits = bytes[AT_FINGERPRINT_BITS];
    g->pair_bits = bytes[AT_PAIR_BITS];
    g->cap = bytes[AT_CAP];
    g->growth = (flags & FLAG_GROWTH) != 0;
    g->value_bits = values ? bytes[AT_PAYLOAD_BITS] : 0;
    g->counter_bits = values || ages ? 0 : bytes[AT_PAYLOAD_BITS];
    g->epochs = ages ? bytes[AT_OVERFLOW_BUDGET] : 0;
    g->semisorted = (flags & FLAG_SEMISORTED) != 0;
    g->affinity = flags >> AFFINITY_SHIFT & RULE_MASK;
    g->collation = flags >> COLLATION_SHIFT & RULE_MASK;
    g->budget = ages ? 0 : bytes[AT_OVERFLOW_BUDGET];
    g->spill_bound = (uint16_t)load_bytes(bytes + AT_SPILL_BOUND, 2);
    header->level = bytes[AT_LEVEL];
    header->split = load_bytes(bytes + AT_SPLIT_POINTER, 6);
    header->reserved = load32(bytes, AT_RESERVED);
    header->spilled = (unsigned)load_bytes(bytes + AT_SPILLED, 2);
    header->occupied = load_bytes(bytes + AT_OCCUPIED, 6);
    header->items = load_bytes(bytes + (ages ? AT_OCCUPIED : AT_ITEMS), 6);
    header->epoch = ages ? load_bytes(bytes + AT_ITEMS, 6) : 0;
}

/* What is wrong with the shape, or with its stage of growth, from which the width of slots follows;
** NULL: nothing. */
static const char *shape_fault(const uint8_t *bytes, const cf_header *header)
{
    const cf_geometry *g = &header->geometry;
    const char *why;
    /* RULE: the shape in a header is sound */
    if (cf_geometry_check(g, &why) != CF_OK)
        return why;
    /* RULE: what ages has epochs, and their numbers as its payload */
    if (bytes[AT_FLAGS] & FLAG_AGEING && (g->epochs == 0 || bytes[AT_PAYLOAD_BITS] != CF_EPOCH_BITS))
        return "it ages, but not by epochs of 4 bits";
    /* RULE: values have bits */
    if ((bytes[AT_FLAGS] & FLAG_VALUES) && g->value_bits == 0)
        return "values of no bits";
    /* RULE: the stage of growth is possible */
    if (cf_stage_check(g, header->level, header->split, &why) != CF_OK)
        return why;
    /* RULE: the width of slots says whether it has grown */
    if (bytes[AT_SLOT_BITS] != cf_slot_bits(g, cf_is_grown(header->level, header->split)))
        return "the width of slots is not that of its stage of growth";
    return NULL;
}

/* What is wrong with the counts, of a sound shape; NULL: nothing. */
static const char *count_fault(const cf_header *header, uint64_t length)
{
    const cf_geometry *g = &header->geometry;
    uint64_t planned = cf_bytes_at(g, header->level, header->split) - CF_RESERVED_MIN;
    /* RULE: the reserve is as large as the format needs */
    if (header->reserved < CF_RESERVED_MIN)
        return "the header promises fewer reserved bytes than the format needs";
    /* RULE: the length is that of the header; equivalent without 2, < to <=: a difference below
    ** zero is larger than any reserve, and no reserve is zero */
    if (length < planned || length - planned != header->reserved)
        return "the length does not match the header: cut off, or not one filter";
    /* RULE: the spill list keeps its bound */
    if (header->spilled > g->spill_bound)
        return "the spill list holds more than its bound";
    /* RULE: items are somewhere */
    if (header->items > 0 && header->occupied == 0 && header->spilled == 0)
        return "the header counts items, but neither occupied slots nor spilled entries";
    /* RULE: no more slots are occupied than there are */
    if (header->occupied > g->bucket_size * cf_buckets_at(g, header->level, header->split))
        return "the header counts more occupied slots than there are";
    return NULL;
}

cf_status cf_header_decode(const uint8_t *bytes, uint64_t length, cf_header *header, const char **why)
{
    cf_status status = check_identity(bytes, length, why);
    if (status != CF_OK)
        return status;
    decode_fields(bytes, header);
    const char *fault = shape_fault(bytes, header);
    if (fault == NULL)
        fault = count_fault(header, length);
    return fault ? cf_refuse(CF_DAMAGED, why, fault) : CF_OK;
}
