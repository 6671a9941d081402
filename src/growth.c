#include "growth.h"

#include "bucket.h"
#include "format.h"
#include "spill.h"

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

/* ---- splitting a bucket ---- */

static uint64_t slots_of(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

/* The bucket at a split pointer. */
static uint64_t bucket_to_split(const cf_filter *filter, uint64_t position)
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

static uint64_t list_bytes(const cf_filter *filter)
{
    return (uint64_t)filter->geometry.spill_bound * CF_SPILL_ENTRY;
}

/* The blob has become longer: zeroes, and the spill list at the end. */
static void lengthen(cf_filter *filter, uint8_t *longer, uint64_t length)
{
    uint64_t list = list_bytes(filter), old = filter->length - list;
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

/* ---- the log ---- */

void cf_growth_log_begin(cf_growth_log *log, const cf_filter *filter)
{
    log->then = *filter;
    log->bytes = log->first;
    log->used = 0;
    log->room = sizeof log->first;
}

void cf_growth_log_end(const cf_filter *filter, cf_growth_log *log)
{
    if (log->bytes != log->first)
        filter->memory.resize(log->bytes, 0);
    cf_growth_log_begin(log, filter);
}

/* Bytes of the spill list of `then`, and of a record of this filter. */
static uint64_t list_logged(const cf_growth_log *log)
{
    return (uint64_t)log->then.spilled * CF_SPILL_ENTRY;
}

static uint64_t record_bytes(const cf_filter *filter)
{
    return (filter->bucket_bits + 7) / 8;
}

/* Makes room for the next record, whatever its width, and for the list when it is the first. */
static cf_status log_reserve(const cf_filter *filter, cf_growth_log *log)
{
    enum { LONGEST_RECORD = 80, BEYOND = 8 }; /* bytes; reads and writes go beyond */
    uint64_t needed = log->used + (log->used == 0 ? list_logged(log) : 0) + LONGEST_RECORD + BEYOND;
    if (needed > log->room) {
        uint64_t room = 2 * needed;
        uint8_t *longer = filter->memory.resize(log->bytes == log->first ? NULL : log->bytes, room);
        if (longer == NULL)
            return CF_NO_MEMORY;
        if (log->bytes == log->first)
            memcpy(longer, log->first, log->used);
        log->bytes = longer;
        log->room = room;
    }
    return CF_OK;
}

/* A view of the log, whose bucket 0 is the record at `at`. */
static cf_filter view_of(const cf_filter *filter, const cf_growth_log *log, uint64_t at)
{
    cf_filter view = *filter;
    view.writable = log->bytes + at;
    view.table = view.writable;
    view.pages = NULL;
    return view;
}

static void log_list(const cf_filter *filter, cf_growth_log *log)
{
    const uint8_t *list = filter->bytes + filter->length - list_bytes(filter);
    cf_need(filter, filter->length - list_bytes(filter), filter->length);
    memcpy(log->bytes, list, list_logged(log));
    log->used = list_logged(log);
}

static void log_record(const cf_filter *filter, const cf_record *record, cf_growth_log *log)
{
    cf_filter view = view_of(filter, log, log->used);
    memset(view.writable, 0, record_bytes(filter));
    cf_record_write(&view, 0, record);
    log->used += record_bytes(filter);
}

static void unlog_record(const cf_filter *filter, cf_record *record, cf_growth_log *log)
{
    log->used -= record_bytes(filter);
    cf_filter view = view_of(filter, log, log->used);
    cf_record_read(&view, 0, record);
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
        if (!cf_spill_can_split(filter, bucket_to_split(&there, step->split)))
            return CF_FULL;
    }
    return make_room(filter, cf_bytes_at(&filter->geometry, step->level, step->split + 1, true));
}

static void split_bucket(cf_filter *filter, cf_growth_log *log)
{
    uint64_t low = bucket_to_split(filter, filter->split), high = filter->buckets;
    cf_record stays, goes;
    bool spilled = cf_spill_prepare_split(filter, low);
    filter->buckets++;
    cf_record_read(filter, low, &stays);
    if (log != NULL)
        log_record(filter, &stays, log);
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
    cf_status status = log ? log_reserve(filter, log) : CF_OK;
    if (status == CF_OK)
        status = prepare(filter, &step); /* last, for it lengthens the blob */
    if (status != CF_OK)
        return status;
    if (log != NULL && log->used == 0)
        log_list(filter, log);
    if (step.begins_level || !filter->grown)
        widen(filter, step.level);
    split_bucket(filter, log);
    return CF_OK;
}

cf_status cf_grow(cf_filter *filter)
{
    return cf_grow_logged(filter, NULL);
}

/* ---- taking growth back ---- */

/* Takes the last split back. */
static void join_buckets(cf_filter *filter, cf_growth_log *log)
{
    static const cf_record nothing;
    cf_record record;
    filter->split--;
    filter->buckets--;
    unlog_record(filter, &record, log);
    cf_record_write(filter, bucket_to_split(filter, filter->split), &record);
    cf_record_write(filter, filter->buckets, &nothing);
}

/* Zeroes what lies behind the last bucket, to the end of a blob of this length. */
static void clear_rest(cf_filter *filter, uint64_t length)
{
    uint64_t bits = filter->buckets * filter->bucket_bits;
    uint8_t *p = filter->writable + bits / 8, *end = filter->writable - CF_HEADER_BYTES + length;
    cf_change(filter, CF_HEADER_BYTES + bits / 8, length);
    if (bits % 8 != 0)
        *p++ &= (uint8_t)cf_low_bits(bits % 8);
    memset(p, 0, (size_t)(end - p));
}

static void restore_list(cf_filter *filter, const cf_growth_log *log)
{
    uint8_t *end = filter->writable - CF_HEADER_BYTES + filter->length;
    cf_change(filter, filter->length - list_bytes(filter), filter->length);
    memcpy(end - list_bytes(filter), log->bytes, list_logged(log));
    filter->spilled = log->then.spilled;
    cf_spill_set_bits(filter);
}

void cf_grow_back(cf_filter *filter, cf_growth_log *log)
{
    const cf_filter *then = &log->then;
    if (filter->buckets == then->buckets)
        return;
    cf_spill_clear_bits(filter);
    while (filter->buckets > then->buckets) {
        if (filter->split == 0)
            narrow(filter, filter->level - 1, then->geometry.buckets << (filter->level - 1), true);
        join_buckets(filter, log);
    }
    if (filter->level != then->level || filter->grown != then->grown)
        narrow(filter, then->level, then->split, then->grown);
    clear_rest(filter, filter->length);
    filter->occupied = then->occupied;
    filter->length = then->length;
    restore_list(filter, log);
}
