#include "growth.h"

#include "bucket.h"
#include "format.h"

/* ---- stages ---- */

unsigned cf_growth_bits(unsigned level)
{
    uint64_t n = level + 1;
    return 1 + cf_floor_log2(n * n);
}

unsigned cf_slot_bits(const cf_geometry *shape, unsigned level, bool grown)
{
    unsigned f = shape->fingerprint_bits;
    return grown ? f + cf_growth_bits(level) + 1 : f;
}

uint64_t cf_buckets_at(const cf_geometry *shape, unsigned level, uint64_t split)
{
    return (shape->buckets << level) + split;
}

/* Bits of one bucket record. */
static uint64_t record_bits(const cf_geometry *shape, unsigned level, bool grown)
{
    unsigned payload = shape->counter_bits + shape->value_bits;
    return shape->bucket_size * (uint64_t)(cf_slot_bits(shape, level, grown) + payload);
}

uint64_t cf_bytes_at(const cf_geometry *shape, unsigned level, uint64_t split, bool grown)
{
    uint64_t bits = cf_buckets_at(shape, level, split) * record_bits(shape, level, grown);
    return CF_HEADER_BYTES + (bits + 7) / 8 + CF_RESERVED_MIN;
}

/* Remainder bits that the hash has, besides base bucket and pair bits. */
static unsigned remainder_bits(const cf_geometry *shape)
{
    return 64 - shape->pair_bits - cf_bits_for(shape->buckets);
}

static cf_status refuse(cf_status status, const char **why, const char *reason)
{
    *why = reason;
    return status;
}

cf_status cf_stage_check(const cf_geometry *shape, unsigned level, uint64_t split, const char **why)
{
    if (!shape->growth && cf_is_grown(level, split))
        return refuse(CF_BAD_ARGUMENT, why, "grown, though it must not grow");
    if (level >= 40 || shape->buckets > CF_CAPACITY_MAX >> level)
        return refuse(CF_TOO_BIG, why, "more buckets than the format has numbers for");
    if (level + 1 >= remainder_bits(shape) && cf_is_grown(level, split))
        return refuse(CF_TOO_BIG, why, "more buckets than the hash has bits for");
    if (split > shape->buckets << level)
        return refuse(CF_BAD_ARGUMENT, why, "the split pointer is beyond the level");
    return CF_OK;
}

void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown)
{
    const cf_geometry *g = &filter->geometry;
    unsigned width = cf_slot_bits(g, level, grown), most = remainder_bits(g);
    unsigned length = g->fingerprint_bits - g->pair_bits + (grown ? level + cf_growth_bits(level) : 0);
    filter->level = level;
    filter->split = split;
    filter->grown = grown;
    filter->buckets = cf_buckets_at(g, level, split);
    filter->new_length = grown && length > most ? most : length;
    filter->level_mask = cf_low_bits(level);
    filter->slot_mask = cf_low_bits(width);
    filter->bucket_bits = record_bits(g, level, grown);
    cf_lanes_set(&filter->lanes, width, g->bucket_size, filter->bucket_bits);
}

/* ---- rewriting for another width of slots ---- */

/* A plain fingerprint gets a terminator, or loses it. */
static uint64_t recoded(const cf_filter *old, const cf_filter *changed, uint64_t tag)
{
    uint64_t terminator = (uint64_t)1 << changed->geometry.fingerprint_bits;
    if (tag == 0 || old->grown == changed->grown)
        return tag;
    return changed->grown ? tag | terminator : tag & (terminator - 1);
}

static void rewrite_bucket(const cf_filter *old, cf_filter *changed, uint64_t bucket)
{
    uint64_t tag[CF_BUCKET_MAX], payload[CF_BUCKET_MAX];
    unsigned b = old->geometry.bucket_size;
    for (unsigned slot = 0; slot < b; slot++) {
        tag[slot] = recoded(old, changed, cf_slot_get(old, bucket, slot));
        payload[slot] = cf_payload_get(old, bucket, slot);
    }
    for (unsigned slot = 0; slot < b; slot++)
        cf_slot_set(changed, bucket, slot, tag[slot], payload[slot]);
}

/* The same buckets with wider slots, in place: from the last one down, so that none is overwritten before it is
** read. There is room. */
static void widen(cf_filter *filter, unsigned level)
{
    cf_filter old = *filter;
    cf_set_stage(filter, level, 0, true);
    if (filter->bucket_bits == old.bucket_bits)
        return;
    for (uint64_t bucket = filter->buckets; bucket-- > 0;)
        rewrite_bucket(&old, filter, bucket);
}

/* Back again: to the stage before. */
static void narrow(cf_filter *filter, unsigned level, uint64_t split, bool grown)
{
    cf_filter old = *filter;
    cf_set_stage(filter, level, split, grown);
    if (filter->bucket_bits == old.bucket_bits)
        return;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        rewrite_bucket(&old, filter, bucket);
}

/* ---- splitting a bucket, and taking it back ---- */

static bool is_void(const cf_filter *filter, uint64_t tag)
{
    return tag >> filter->geometry.pair_bits <= 1;
}

/* A tag whose first remainder bit has become an address bit. */
static uint64_t without_first_bit(const cf_filter *filter, uint64_t tag)
{
    unsigned s = filter->geometry.pair_bits;
    return (tag & filter->pair_mask) | tag >> (s + 1) << s;
}

static uint64_t with_first_bit(const cf_filter *filter, uint64_t tag, uint64_t bit)
{
    unsigned s = filter->geometry.pair_bits;
    return (tag & filter->pair_mask) | (tag >> s << 1 | bit) << s;
}

static uint64_t slots_of(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

/* The bucket at the split pointer. */
static uint64_t bucket_to_split(const cf_filter *filter, uint64_t position)
{
    return cf_bucket_number(filter, position >> filter->level, position & cf_low_bits(filter->level));
}

/* Slots keep their places, so that the step can be taken back. */
static void split_slot(cf_filter *filter, uint64_t low, uint64_t high, unsigned slot)
{
    uint64_t tag = cf_slot_get(filter, low, slot), payload = cf_payload_get(filter, low, slot);
    bool both = is_void(filter, tag), up = tag >> filter->geometry.pair_bits & 1;
    uint64_t child = both ? tag : without_first_bit(filter, tag);
    bool keep = tag != 0 && (both || !up), give = tag != 0 && (both || up);
    cf_slot_set(filter, low, slot, keep ? child : 0, keep ? payload : 0);
    cf_slot_set(filter, high, slot, give ? child : 0, give ? payload : 0);
    filter->occupied += keep && give && filter->occupied < slots_of(filter);
}

static void split_bucket(cf_filter *filter)
{
    uint64_t low = bucket_to_split(filter, filter->split), high = filter->buckets;
    filter->buckets++;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        split_slot(filter, low, high, slot);
    filter->split++;
}

static void join_slot(cf_filter *filter, uint64_t low, uint64_t high, unsigned slot)
{
    uint64_t tag = cf_slot_get(filter, low, slot), up = cf_slot_get(filter, high, slot);
    uint64_t from = up != 0 && tag == 0 ? high : low, payload = cf_payload_get(filter, from, slot);
    if (up != 0 && tag == 0)
        tag = with_first_bit(filter, up, 1);
    else if (up == 0 && tag != 0)
        tag = with_first_bit(filter, tag, 0);
    cf_slot_set(filter, low, slot, tag, payload);
    cf_slot_set(filter, high, slot, 0, 0);
}

/* Takes the last split back; nothing has happened since. */
static void join_buckets(cf_filter *filter)
{
    filter->split--;
    filter->buckets--;
    uint64_t low = bucket_to_split(filter, filter->split), high = filter->buckets;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        join_slot(filter, low, high, slot);
}

/* ---- room ---- */

/* Makes the blob as long as asked for, with an eighth to spare, so that most steps find room. */
static cf_status make_room(cf_filter *filter, uint64_t bytes)
{
    cf_memory memory = filter->memory;
    uint64_t spare = bytes / 8 < UINT32_MAX / 2 ? bytes / 8 : UINT32_MAX / 2;
    if (bytes <= filter->length)
        return CF_OK;
    if (bytes > memory.most)
        return CF_TOO_BIG;
    uint64_t length = spare < memory.most - bytes ? bytes + spare : memory.most;
    uint8_t *longer = memory.resize(filter->writable - CF_HEADER_BYTES, length);
    if (longer == NULL)
        return CF_NO_MEMORY;
    memset(longer + filter->length, 0, length - filter->length);
    filter->bytes = longer;
    filter->writable = longer + CF_HEADER_BYTES;
    filter->table = filter->writable;
    filter->length = length;
    return CF_OK;
}

cf_status cf_grow(cf_filter *filter)
{
    const char *why;
    unsigned level = filter->level;
    uint64_t split = filter->split;
    bool level_done = split == filter->geometry.buckets << level;
    if (level_done)
        level++, split = 0;
    if (!filter->geometry.growth || filter->memory.resize == NULL ||
        cf_stage_check(&filter->geometry, level, split + 1, &why) != CF_OK)
        return CF_FULL;
    cf_status status = make_room(filter, cf_bytes_at(&filter->geometry, level, split + 1, true));
    if (status != CF_OK)
        return status;
    if (level_done || !filter->grown)
        widen(filter, level);
    split_bucket(filter);
    return CF_OK;
}

/* Zeroes what lies behind the last bucket. */
static void clear_rest(cf_filter *filter)
{
    uint64_t bits = filter->buckets * filter->bucket_bits;
    uint8_t *p = filter->writable + bits / 8, *end = filter->writable - CF_HEADER_BYTES + filter->length;
    if (bits % 8 != 0)
        *p++ &= (uint8_t)cf_low_bits(bits % 8);
    memset(p, 0, (size_t)(end - p));
}

void cf_grow_back(cf_filter *filter, const cf_filter *then)
{
    if (filter->buckets == then->buckets)
        return;
    while (filter->buckets > then->buckets) {
        if (filter->split == 0)
            narrow(filter, filter->level - 1, then->geometry.buckets << (filter->level - 1), true);
        join_buckets(filter);
    }
    if (filter->level != then->level || filter->grown != then->grown)
        narrow(filter, then->level, then->split, then->grown);
    clear_rest(filter);
    filter->occupied = then->occupied;
    filter->length = then->length;
}
