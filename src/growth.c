/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include "bucket.h"
#include "entry.h"
#include "open.h"
#include "spill.h"
#include "watch.h"

/* ---- rewriting buckets for another width of slots ---- */

static uint64_t with_terminator(const cf_filter *filter, uint64_t tag)
{
    return tag == 0 ? 0 : tag | (uint64_t)1 << filter->geometry.fingerprint_bits;
}

/* A plain fingerprint gets a terminator, or loses it. */
static uint64_t recoded(const cf_filter *filter, bool grown, uint64_t tag)
{
    return grown ? with_terminator(filter, tag) : tag & filter->view.fingerprint_mask;
}

static void clear_record(cf_filter *filter, const cf_form *form, uint64_t bucket)
{
    uint64_t at = bucket * form->bucket_bits, end = at + form->bucket_bits;
    for (; at < end; at += CF_STORE_BITS) {
        uint64_t left = end - at;
        cf_store_bits(filter, at, cf_low_bits(left < CF_STORE_BITS ? (unsigned)left : CF_STORE_BITS), 0);
    }
}

/* Writes the bucket next to the border anew: from then on so many buckets are narrow. What is left
** between narrow buckets and others is all zeros. */
static void move_border(cf_filter *filter, uint64_t bucket, uint64_t narrow_buckets)
{
    cf_record record;
    const cf_form *old = cf_form_of(filter, bucket);
    bool overflow = cf_overflow_get(filter, bucket);
    cf_record_read(filter, bucket, &record);
    clear_record(filter, old, bucket);
    filter->view.narrow_buckets = narrow_buckets;
    const cf_form *new = cf_form_of(filter, bucket);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size && new->grown != old->grown; slot++) {
        record.tag[slot] = recoded(filter, new->grown, record.tag[slot]);
        record.payload[slot] &= cf_low_bits(new->payload_bits); /* hostile bytes may have more */
    }
    cf_record_write(filter, bucket, &record);
    if (overflow)
        cf_overflow_set(filter, bucket, true);
}

/* The last narrow bucket: there is room above it, for those behind it are wide. */
static void widen_bucket(cf_filter *filter)
{
    move_border(filter, filter->view.narrow_buckets - 1, filter->view.narrow_buckets - 1);
}

void cf_narrow_bucket(cf_filter *filter)
{
    move_border(filter, filter->view.narrow_buckets, filter->view.narrow_buckets + 1);
}

static void recode_list(cf_filter *filter)
{
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled line = cf_spill_get(filter, i);
        line.tag = with_terminator(filter, line.tag);
        cf_spill_put(filter, i, &line);
    }
}

/* Widens some buckets, or all that are left. Before growth they get terminators. There is room. */
static void widen_buckets(cf_filter *filter, uint64_t n)
{
    if (!filter->view.form.grown)
        cf_set_preparing(filter, filter->buckets);
    for (; n > 0 && filter->view.narrow_buckets > 0; n--)
        widen_bucket(filter);
}

static void begin_growth(cf_filter *filter)
{
    widen_buckets(filter, filter->buckets);
    cf_set_stage(filter, 0, 0, true);
    recode_list(filter);
}

void cf_end_growth(cf_filter *filter, const cf_filter *then)
{
    bool prepared = then->view.form.grown;
    uint64_t narrow = prepared ? then->view.narrow_buckets : filter->buckets;
    assert(filter->level == 0 && filter->split == 0 && !then->view.grown);
    if (filter->view.grown)
        cf_set_preparing(filter, 0);
    while (filter->view.form.grown && filter->view.narrow_buckets < narrow)
        cf_narrow_bucket(filter);
    if (!prepared)
        cf_set_stage(filter, 0, 0, false);
}

/* ---- splitting a bucket ---- */

/* Where an entry goes when its bucket is split, and what its slot says there. */
typedef struct cf_children {
    bool low, high;
    uint64_t tag;
} cf_children;

static cf_children children_of(const cf_filter *filter, uint64_t tag)
{
    if (tag == 0) /* an empty slot, or a line of the list that lies */
        return (cf_children){false, false, 0};
    bool both = cf_is_void(filter, tag), up = !both && cf_next_bit(filter, tag);
    /* RULE: a void entry goes to both children, any other where its next bit says */
    return (cf_children){!up, both || up, both ? tag : cf_without_next_bit(filter, tag)};
}

static void split_slot(cf_filter *filter, unsigned slot, cf_record *low, cf_record *high)
{
    uint64_t tag = low->tag[slot], payload = low->payload[slot];
    cf_children to = children_of(filter, tag);
    low->tag[slot] = to.low ? to.tag : 0;
    low->payload[slot] = to.low ? payload : 0; /* RULE: the child that stays keeps count and mark */
    high->tag[slot] = to.high ? to.tag : 0;
    high->payload[slot] = to.high ? payload : 0; /* RULE: the child that goes keeps count and mark */
    if (to.low && to.high)
        cf_count_occupied(filter);
}

static uint64_t bucket_at(const cf_filter *filter, unsigned level, uint64_t split)
{
    return cf_bucket_number(filter, split >> level, split & cf_low_bits(level));
}

uint64_t cf_bucket_to_split(const cf_filter *filter)
{
    return bucket_at(filter, filter->level, filter->split);
}

/* ---- spilled entries of a bucket that is split ---- */

static bool overflows(const cf_filter *filter, uint64_t bucket)
{
    return filter->spilled > 0 && cf_overflow_get(filter, bucket);
}

/* Gives an entry an empty slot of the child; false: there is none. */
static bool give_slot(cf_filter *filter, uint64_t child, const cf_spilled *line)
{
    int slot = cf_bucket_free_slot(filter, child);
    if (slot < 0)
        return false;
    cf_slot_set(filter, child, (unsigned)slot, line->tag, line->payload);
    cf_count_occupied(filter);
    return true;
}

/* Those that stay are rewritten in place; those for the new bucket go to the end, which is where
** they belong. */
static void split_list(cf_filter *filter, uint64_t low, uint64_t high)
{
    unsigned at = cf_spill_first(filter, low);
    while (cf_spill_lies_in(filter, at, low)) {
        cf_spilled line = cf_spill_get(filter, at);
        cf_children to = children_of(filter, line.tag); /* a spilled entry splits as one in a slot */
        cf_spilled stays = {low, to.tag, line.payload}, goes = {high, to.tag, line.payload};
        /* RULE: a spilled entry stays in the list when its bucket is full; equivalent without: it
        ** is moved to the slot below */
        if (to.low && !give_slot(filter, low, &stays))
            cf_spill_put(filter, at++, &stays);
        else
            cf_spill_take_out(filter, at);
        /* In a list that lies there may be no room. */
        bool room = filter->spilled < filter->geometry.spill_bound;
        /* RULE: a spilled entry follows to the new bucket */
        if (to.high && !give_slot(filter, high, &goes) && room)
            cf_spill_put(filter, filter->spilled++, &goes);
    }
    cf_spill_after_split(filter, low, high);
    cf_entries_drain(filter, low);
    cf_entries_drain(filter, high);
}

/* Counts one more entry of the bucket that is going to be split, in a filter of the stage now. */
static void count_children(const cf_filter *filter, uint64_t tag, unsigned *low, unsigned *high)
{
    cf_children to = children_of(filter, filter->view.grown ? tag : with_terminator(filter, tag));
    *low += to.low;
    *high += to.high;
}

static unsigned beyond(unsigned entries, unsigned slots)
{
    return entries > slots ? entries - slots : 0;
}

/* Is there room in the list for what a bucket has spilled, when it is split? */
static bool list_can_split(const cf_filter *filter, uint64_t bucket)
{
    unsigned low = 0, high = 0, b = filter->geometry.bucket_size;
    uint64_t tag[CF_BUCKET_MAX];
    if (!overflows(filter, bucket))
        return true;
    cf_tags_read(filter, bucket, tag);
    for (unsigned slot = 0; slot < b; slot++)
        count_children(filter, tag[slot], &low, &high);
    unsigned first = cf_spill_first(filter, bucket), at = first;
    for (; cf_spill_lies_in(filter, at, bucket); at++)
        count_children(filter, cf_spill_get(filter, at).tag, &low, &high);
    /* RULE: a split needs room in the list for what it doubles */
    return filter->spilled - (at - first) + beyond(low, b) + beyond(high, b) <=
           filter->geometry.spill_bound;
}

/* ---- room ---- */

/* The spill list goes to the end, from where the end was. */
static void move_list(cf_filter *filter, uint64_t end)
{
    uint64_t list = cf_spill_bytes(filter), moved = filter->length - end;
    uint8_t *old = filter->view.writable - CF_HEADER_BYTES + end - list;
    cf_change(filter, end - list, end);
    cf_change(filter, filter->length - list, filter->length);
    memmove(old + moved, old, cf_in_memory(list));
    memset(old, 0, cf_in_memory(list < moved ? list : moved));
}

/* The blob has become longer: zeros, and the spill list at the end. Nobody is told of the zeros, for
** nothing was there (cf_pages). */
static void lengthen(cf_filter *filter, uint8_t *longer, uint64_t length)
{
    uint64_t end = filter->length;
    memset(longer + end, 0, cf_in_memory(length - end));
    cf_rebase(filter, longer, longer);
    filter->length = length;
    if (filter->geometry.spill_bound > 0)
        move_list(filter, end);
}

/* Bytes to spare: an eighth, so that most steps find room; but not so many that making them zero
** takes long. */
static uint64_t spare_for(uint64_t bytes)
{
    enum { MOST = 1 << 20 };
    return bytes / 8 < MOST ? bytes / 8 : MOST;
}

/* Makes the blob as long as asked for, with some bytes to spare. */
static cf_status make_longer(cf_filter *filter, uint64_t bytes)
{
    cf_memory memory = filter->memory;
    uint64_t spare = spare_for(bytes);
    if (bytes <= filter->length)
        return CF_OK;
    if (bytes > memory.most)
        return CF_TOO_BIG;
    uint64_t length = spare < memory.most - bytes ? bytes + spare : memory.most;
    uint8_t *longer = memory.resize(filter->view.writable - CF_HEADER_BYTES, length);
    if (longer == NULL)
        return CF_NO_MEMORY;
    lengthen(filter, longer, length);
    return CF_OK;
}

/* ---- one step ---- */

/* May the filter come to this stage? */
static bool may_be_at(const cf_filter *filter, unsigned level, uint64_t split)
{
    const char *why;
    const cf_geometry *g = &filter->geometry;
    return g->growth && filter->memory.resize != NULL && cf_stage_check(g, level, split, &why) == CF_OK;
}

cf_status cf_prepare_growth(cf_filter *filter, uint64_t buckets)
{
    assert(!filter->view.grown && filter->geometry.spill_bound == 0);
    if (!may_be_at(filter, 0, 1))
        return CF_FULL;
    cf_status status = make_longer(filter, cf_bytes_at(&filter->geometry, 0, 0, true));
    if (status == CF_OK)
        widen_buckets(filter, buckets);
    return status;
}

cf_status cf_grow_prepare(cf_filter *filter)
{
    const cf_geometry *g = &filter->geometry;
    bool begins_level = filter->split == g->buckets << filter->level;
    unsigned level = filter->level + begins_level;
    uint64_t split = begins_level ? 0 : filter->split;
    if (!may_be_at(filter, level, split + 1) || !list_can_split(filter, bucket_at(filter, level, split)))
        return CF_FULL;
    cf_status status = make_longer(filter, cf_bytes_at(g, level, split + 1, true));
    if (status != CF_OK)
        return status;
    if (!filter->view.grown)
        begin_growth(filter);
    if (begins_level)
        cf_set_stage(filter, level, 0, true);
    if (filter->view.narrow_buckets > 0)
        widen_bucket(filter);
    return CF_OK;
}

void cf_grow_split(cf_filter *filter)
{
    uint64_t low = cf_bucket_to_split(filter), high = filter->buckets;
    cf_record stays, goes;
    bool spilled = overflows(filter, low);
    assert(filter->view.grown && filter->split < filter->geometry.buckets << filter->level);
    if (spilled)
        cf_spill_before_split(filter, low);
    filter->buckets++;
    cf_record_read(filter, low, &stays);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        split_slot(filter, slot, &stays, &goes);
    cf_record_write(filter, low, &stays);
    cf_record_write(filter, high, &goes);
    filter->split++;
    if (spilled)
        split_list(filter, low, high);
}

cf_status cf_grow(cf_filter *filter)
{
    cf_status status = cf_grow_prepare(filter);
    if (status == CF_OK)
        cf_grow_split(filter);
    return status;
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
