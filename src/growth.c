#include "growth.h"

#include "bucket.h"
#include "format.h"
#include "growth_log.h"
#include "spill.h"
#include "watch.h"

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

/* Bits of the tags of one bucket. */
static unsigned tag_bits(const cf_geometry *shape, unsigned level, bool grown)
{
    unsigned bits = shape->bucket_size * cf_slot_bits(shape, level, grown);
    return shape->semisorted ? bits - CF_SEMISORT_SAVES : bits;
}

/* Bits of one bucket record. */
static uint64_t record_bits(const cf_geometry *shape, unsigned level, bool grown)
{
    unsigned payload = shape->counter_bits + shape->value_bits, overflow = shape->spill_bound != 0;
    return tag_bits(shape, level, grown) + overflow + (uint64_t)shape->bucket_size * payload;
}

uint64_t cf_bytes_at(const cf_geometry *shape, unsigned level, uint64_t split, bool grown)
{
    uint64_t bits = cf_buckets_at(shape, level, split) * record_bits(shape, level, grown);
    return CF_HEADER_BYTES + (bits + 7) / 8 + CF_RESERVED_MIN +
           (uint64_t)shape->spill_bound * CF_SPILL_ENTRY;
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

static void set_lanes(cf_filter *filter, unsigned width)
{
    const cf_geometry *g = &filter->geometry;
    if (g->semisorted)
        cf_semisort_lanes_set(filter, width);
    else
        cf_lanes_set(&filter->lanes, width, g->bucket_size, filter->bucket_bits, g->pair_bits);
}

static cf_lookup lookup_of(const cf_filter *filter)
{
    if (!filter->simple || filter->pages)
        return CF_LOOKUP_ANY;
    if (filter->geometry.semisorted)
        return filter->lane_of ? CF_LOOKUP_SEMISORTED : CF_LOOKUP_ANY;
    return filter->lanes.words == 1 ? CF_LOOKUP_PLAIN : CF_LOOKUP_ANY;
}

void cf_set_stage(cf_filter *filter, unsigned level, uint64_t split, bool grown)
{
    const cf_geometry *g = &filter->geometry;
    unsigned width = cf_slot_bits(g, level, grown), most = remainder_bits(g);
    unsigned length = g->fingerprint_bits - g->pair_bits + (grown ? level + cf_growth_bits(level) : 0);
    filter->level = level;
    filter->split = split;
    filter->grown = grown;
    filter->simple = !grown && g->spill_bound == 0;
    filter->buckets = cf_buckets_at(g, level, split);
    filter->new_length = grown && length > most ? most : length;
    filter->level_mask = cf_low_bits(level);
    filter->slot_mask = cf_low_bits(width);
    filter->bucket_bits = record_bits(g, level, grown);
    filter->tag_bits = tag_bits(g, level, grown);
    set_lanes(filter, width);
    filter->lookup = lookup_of(filter);
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
    cf_record record;
    bool overflow = cf_overflow_get(old, bucket);
    cf_record_read(old, bucket, &record);
    for (unsigned slot = 0; slot < old->geometry.bucket_size; slot++)
        record.tag[slot] = recoded(old, changed, record.tag[slot]);
    cf_record_write(changed, bucket, &record);
    if (changed->geometry.spill_bound)
        cf_overflow_set(changed, bucket, overflow);
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
    if (!old.grown)
        cf_spill_recode(filter);
}

void cf_narrow(cf_filter *filter, unsigned level, uint64_t split, bool grown)
{
    cf_filter old = *filter;
    cf_set_stage(filter, level, split, grown);
    if (filter->bucket_bits == old.bucket_bits)
        return;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        rewrite_bucket(&old, filter, bucket);
}

/* ---- splitting a bucket ---- */

static uint64_t slots_of(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

uint64_t cf_bucket_to_split(const cf_filter *filter, uint64_t position)
{
    return cf_bucket_number(filter, position >> filter->level, position & cf_low_bits(filter->level));
}

/* Where the entry of a slot goes: stays in `low`, goes to `high`, or both. */
static void split_slot(cf_filter *filter, unsigned slot, cf_record *low, cf_record *high)
{
    uint64_t tag = low->tag[slot], payload = low->payload[slot];
    bool both = cf_is_void(filter, tag), up = cf_next_bit(filter, tag);
    uint64_t child = both ? tag : cf_without_next_bit(filter, tag);
    bool keep = tag != 0 && (both || !up), give = tag != 0 && (both || up);
    low->tag[slot] = keep ? child : 0;
    low->payload[slot] = keep ? payload : 0;
    high->tag[slot] = give ? child : 0;
    high->payload[slot] = give ? payload : 0;
    filter->occupied += keep && give && filter->occupied < slots_of(filter);
}

/* ---- room ---- */

/* The blob has become longer: zeroes, and the spill list at the end. */
static void lengthen(cf_filter *filter, uint8_t *longer, uint64_t length)
{
    uint64_t list = cf_spill_bytes(filter), old = filter->length - list;
    cf_change(filter, old, length);
    memset(longer + filter->length, 0, length - filter->length);
    memmove(longer + length - list, longer + old, list);
    memset(longer + old, 0, list < length - filter->length ? list : length - filter->length);
    filter->bytes = longer;
    filter->writable = longer + CF_HEADER_BYTES;
    filter->table = filter->writable;
    filter->length = length;
}

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
    lengthen(filter, longer, length);
    return CF_OK;
}

/* ---- one step ---- */

/* Where the next step begins. */
typedef struct next_step {
    unsigned level;
    uint64_t split;
    bool begins_level; /* all buckets of the one before are split */
} next_step;

static next_step step_of(const cf_filter *filter)
{
    if (filter->split == filter->geometry.buckets << filter->level)
        return (next_step){filter->level + 1, 0, true};
    return (next_step){filter->level, filter->split, false};
}

/* Can the step be done? Makes room for it. */
static cf_status prepare(cf_filter *filter, const next_step *step)
{
    const char *why;
    if (!filter->geometry.growth || filter->memory.resize == NULL ||
        cf_stage_check(&filter->geometry, step->level, step->split + 1, &why) != CF_OK)
        return CF_FULL;
    if (filter->spilled != 0) {
        cf_filter there = *filter;
        there.level = step->level;
        if (!cf_spill_can_split(filter, cf_bucket_to_split(&there, step->split)))
            return CF_FULL;
    }
    return make_room(filter, cf_bytes_at(&filter->geometry, step->level, step->split + 1, true));
}

static void split_bucket(cf_filter *filter, cf_growth_log *log)
{
    uint64_t low = cf_bucket_to_split(filter, filter->split), high = filter->buckets;
    cf_record stays, goes;
    bool spilled = cf_spill_prepare_split(filter, low);
    filter->buckets++;
    cf_record_read(filter, low, &stays);
    if (log != NULL)
        cf_log_record(filter, &stays, log);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        split_slot(filter, slot, &stays, &goes);
    cf_record_write(filter, low, &stays);
    cf_record_write(filter, high, &goes);
    filter->split++;
    if (spilled)
        cf_spill_split(filter, low, high);
}

cf_status cf_grow_logged(cf_filter *filter, cf_growth_log *log)
{
    next_step step = step_of(filter);
    cf_status status = log ? cf_log_reserve(filter, log) : CF_OK;
    if (status == CF_OK)
        status = prepare(filter, &step); /* last, for it lengthens the blob */
    if (status != CF_OK)
        return status;
    if (log != NULL && log->used == 0)
        cf_log_list(filter, log);
    if (step.begins_level || !filter->grown)
        widen(filter, step.level);
    split_bucket(filter, log);
    return CF_OK;
}

cf_status cf_grow(cf_filter *filter)
{
    return cf_grow_logged(filter, NULL);
}

cf_status cf_grow_to(cf_filter *filter, uint64_t buckets)
{
    enum { COST = 100 }; /* nanoseconds */
    cf_ticker ticker = cf_ticker_of(filter->watch);
    cf_status status = CF_OK;
    while (status == CF_OK && filter->buckets < buckets)
        status = cf_tick(&ticker, COST) ? CF_INTERRUPTED : cf_grow(filter);
    return status;
}
