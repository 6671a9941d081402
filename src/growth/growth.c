/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include "../entry/spill.h"
#include "../table/epochs.h"
#include "../table/open.h"

/* ---- rewriting buckets for another width of slots ---- */

static void clear_record(cf_filter *filter, const cf_form *form, uint64_t bucket)
{
    uint64_t at = cf_record_to_change(filter, form, bucket), end = at + form->bucket_bits;
    for (; at < end; at += CF_STORE_BITS) {
        unsigned bits = end - at < CF_STORE_BITS ? (unsigned)(end - at) : CF_STORE_BITS;
        cf_store_bits(filter->view.writable, at, cf_low_bits(bits), 0);
    }
}

/* From now on so many buckets are narrow: one more, or one less. The bucket between is written anew: as
** a wide one it has room, because those behind it are wide; as a narrow one its entries fit, because
** nothing but growth has happened. What is left between narrow buckets and others is all zeros. */
static void move_border(cf_filter *filter, uint64_t narrow_buckets)
{
    uint64_t before = filter->view.narrow_buckets,
             bucket = narrow_buckets < before ? narrow_buckets : before;
    cf_record record;
    const cf_form *old = cf_form_of(filter, bucket);
    bool overflow = cf_overflow_get(filter, bucket);
    cf_work(filter, 1);
    cf_record_read(filter, bucket, &record);
    clear_record(filter, old, bucket);
    filter->view.narrow_buckets = narrow_buckets;
    const cf_form *new = cf_form_of(filter, bucket);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size && new->grown != old->grown; slot++) {
        uint64_t tag = record.tag[slot]; /* a plain fingerprint gets a terminator, or loses it */
        record.tag[slot] =
            new->grown ? cf_with_terminator(filter, tag) : tag & filter->view.fingerprint_mask;
        record.payload[slot] &= cf_low_bits(new->payload_bits); /* hostile bytes may have more */
    }
    cf_record_write(filter, bucket, &record);
    if (overflow)
        cf_overflow_set(filter, bucket, true);
}

static void recode_list(cf_filter *filter)
{
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled line = cf_spill_get(filter, i);
        line.tag = cf_with_terminator(filter, line.tag);
        cf_spill_put(filter, i, &line);
    }
}

/* Widens some buckets, or all that are left, unless it is to stop. Before growth they get
** terminators. There is room. */
static void widen_buckets(cf_filter *filter, uint64_t n, cf_ticker *ticker)
{
    enum { COST = 100 }; /* nanoseconds */
    if (!filter->view.form.grown)
        cf_set_preparing(filter, filter->buckets);
    for (; n > 0 && filter->view.narrow_buckets > 0 && !cf_tick(ticker, COST); n--)
        move_border(filter, filter->view.narrow_buckets - 1);
}

/* Back: a filter of one level, without splits, becomes as it was then, before growth. */
static void end_growth(cf_filter *filter, const cf_before *then)
{
    bool prepared = then->form_grown;
    uint64_t narrow = prepared ? then->narrow_buckets : filter->buckets;
    assert(filter->level == 0 && filter->split == 0 && !then->grown);
    if (filter->view.grown)
        cf_set_preparing(filter, 0);
    while (filter->view.form.grown && filter->view.narrow_buckets < narrow)
        move_border(filter, filter->view.narrow_buckets + 1);
    if (!prepared)
        cf_set_stage(filter, 0, 0, false);
}

static cf_status begin_growth(cf_filter *filter, cf_ticker *ticker)
{
    cf_undo undo;
    cf_undo_begin(&undo, filter);
    widen_buckets(filter, filter->buckets, ticker);
    if (ticker->stopped) {
        end_growth(filter, &undo.then);
        return CF_INTERRUPTED;
    }
    cf_set_stage(filter, 0, 0, true);
    recode_list(filter);
    return CF_OK;
}

/* ---- splitting a bucket ---- */

static void split_slot(cf_filter *filter, unsigned slot, cf_record *low, cf_record *high)
{
    uint64_t tag = low->tag[slot], payload = low->payload[slot];
    cf_children to = cf_children_of(filter, tag);
    low->tag[slot] = to.low ? to.tag : 0;
    low->payload[slot] = to.low ? payload : 0; /* RULE: the child that stays keeps count and mark */
    high->tag[slot] = to.high ? to.tag : 0;
    high->payload[slot] = to.high ? payload : 0; /* RULE: the child that goes keeps count and mark */
    if (to.low && to.high)
        cf_count_occupied(filter);
}

/* The bucket that is split at this stage. */
static uint64_t bucket_at(const cf_filter *filter, unsigned level, uint64_t split)
{
    return cf_bucket_number(filter, split >> level, split & cf_low_bits(level));
}

/* Is there a void entry in a word? */
static bool has_void(const cf_filter *filter, const cf_lanes *lanes, uint64_t word)
{
    uint64_t behind = ~(lanes->ones * (2 * filter->view.pair_mask + 1));
    return cf_zero_lanes(lanes, word & behind) != cf_zero_lanes(lanes, word);
}

/* Splits the entries of a plain bucket all at once, when none of them is void and no payload is to go
** along. False: nothing has changed. */
static bool split_lanes(cf_filter *filter, uint64_t low, uint64_t high)
{
    const cf_form *form = cf_form_of(filter, low);
    const cf_lanes *lanes = &form->lanes;
    unsigned bits = filter->geometry.bucket_size * form->payload_bits, s = filter->geometry.pair_bits;
    if (filter->geometry.semisorted || form != cf_form_of(filter, high) || bits > CF_STORE_BITS)
        return false;
    uint64_t at = cf_record_to_change(filter, form, low), word[CF_BUCKET_MAX];
    bool any = (cf_load_bits(filter->view.table, at + form->payloads_at) & cf_ones(bits)) != 0;
    for (unsigned i = 0; i < lanes->words; i++) {
        word[i] = cf_word_at(filter, form, at, i);
        any |= has_void(filter, lanes, word[i]);
    }
    if (any)
        return false;
    uint64_t to = cf_record_to_change(filter, form, high);
    if (bits > 0) /* hostile bytes may have something behind the last bucket */
        cf_store_bits(filter->view.writable, to + form->payloads_at, cf_ones(bits), 0);
    for (unsigned i = 0; i < lanes->words; i++) {
        unsigned before = i * lanes->count * lanes->width;
        cf_store_bits(filter->view.writable, at + before, lanes->all,
                      cf_lanes_without_bit(lanes, word[i], s, false));
        cf_store_bits(filter->view.writable, to + before, lanes->all,
                      cf_lanes_without_bit(lanes, word[i], s, true));
    }
    return true;
}

static void split_bucket(cf_filter *filter, uint64_t low)
{
    cf_record stays, goes;
    uint64_t high = filter->buckets++;
    filter->split++;
    if (!CF_IS_SMALL && !filter->geometry.epochs && split_lanes(filter, low, high))
        return;
    cf_record_read(filter, low, &stays);
    if (filter->geometry.epochs) /* RULE: a split drops the dead */
        cf_record_drop(filter, &stays, ~filter->view.live);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        split_slot(filter, slot, &stays, &goes);
    cf_record_write(filter, low, &stays);
    cf_record_write(filter, high, &goes);
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

/* Makes the blob as long as asked for, and an eighth longer, so that most steps find room; but not so
** much that making it zero takes long. */
static cf_status make_longer(cf_filter *filter, uint64_t bytes)
{
    enum { MOST_SPARE = 1 << 20 };
    cf_memory memory = filter->memory;
    uint64_t spare = bytes / 8 < MOST_SPARE ? bytes / 8 : MOST_SPARE;
    if (bytes <= filter->length)
        return CF_OK;
    if (bytes > memory.most)
        return CF_TOO_BIG;
    uint64_t length = spare < memory.most - bytes ? bytes + spare : memory.most;
    uint8_t *longer = memory.resize(memory.context, filter->view.writable - CF_HEADER_BYTES, length);
    if (longer == NULL)
        return CF_NO_MEMORY;
    lengthen(filter, longer, length);
    return CF_OK;
}

/* ---- when ---- */

/* Above this share of occupied slots a table that has grown splits before an add: where searches begin
** to be long. It is less than in a new table, because as many keys fall into a bucket that is not split
** yet as into both children of one that is. In the midst of a level, where most buckets are full and
** what is empty lies behind the split pointer, it is less still. From 440,000 to 960,000 keys, b = 4,
** f = 12, with 88 % throughout, or 85, 84, 82 % in the midst, searches go on from 2.1, 1.35, 1.2, 1.0
** buckets a key; slots take 1, 1.022, 1.03, 1.045 times as many bits on the whole. */
static uint64_t most_occupied(const cf_filter *filter)
{
    enum { PARTS = 64, DIP = 40, SMALL = 800, LARGE = 880 }; /* of a thousand */
    uint64_t x = filter->split * PARTS / (filter->geometry.buckets << filter->level);
    uint64_t dip = DIP * 4 * x * (PARTS - x) / (PARTS * PARTS);
    uint64_t most = (filter->geometry.bucket_size <= 2 ? SMALL : LARGE) - dip;
    return cf_slots(filter) * most / 1000;
}

bool cf_nearly_full(cf_filter *filter)
{
    if (filter->view.most_of != filter->buckets) {
        filter->view.most_of = filter->buckets;
        filter->view.most = most_occupied(filter);
    }
    return filter->occupied > filter->view.most;
}

/* ---- one step ---- */

/* May the filter come to this stage? */
static bool may_be_at(const cf_filter *filter, unsigned level, uint64_t split)
{
    const char *why;
    const cf_geometry *g = &filter->geometry;
    return g->growth && filter->memory.resize != NULL && cf_stage_check(g, level, split, &why) == CF_OK;
}

bool cf_can_prepare_growth(const cf_filter *filter)
{
    enum { LARGE = 1024 };
    bool prepared = filter->view.form.grown && filter->view.narrow_buckets == 0;
    return !filter->view.grown && !prepared && filter->buckets > LARGE &&
           filter->geometry.spill_bound == 0;
}

cf_status cf_prepare_growth(cf_filter *filter, uint64_t buckets)
{
    cf_ticker unasked = cf_ticker_of(NULL);
    assert(!filter->view.grown && filter->geometry.spill_bound == 0);
    if (!may_be_at(filter, 0, 1))
        return CF_FULL;
    cf_status status = make_longer(filter, cf_bytes_at(&filter->geometry, 0, 0, true));
    if (status == CF_OK)
        widen_buckets(filter, buckets, &unasked);
    return status;
}

/* All of a step that can fail, and what has to be widened for it. */
static cf_status prepare_step(cf_filter *filter, cf_steps *steps)
{
    enum { COST = 100, BUCKETS = 2 }; /* nanoseconds; that are written, besides their slots */
    const cf_geometry *g = &filter->geometry;
    bool begins_level = filter->split == g->buckets << filter->level;
    unsigned level = filter->level + begins_level;
    uint64_t split = begins_level ? 0 : filter->split;
    if (cf_tick(&steps->ticker, COST) || cf_work(filter, BUCKETS + g->bucket_size))
        return CF_INTERRUPTED;
    if (begins_level)
        cf_spill_follow(filter, steps);
    if (!may_be_at(filter, level, split + 1) ||
        !cf_spill_can_split(filter, bucket_at(filter, level, split), steps))
        return CF_FULL;
    cf_status status = make_longer(filter, cf_bytes_at(g, level, split + 1, true));
    if (status == CF_OK && !filter->view.grown)
        status = begin_growth(filter, &steps->ticker);
    if (status != CF_OK)
        return status;
    if (begins_level)
        cf_set_stage(filter, level, 0, true);
    if (filter->view.narrow_buckets > 0)
        move_border(filter, filter->view.narrow_buckets - 1);
    return CF_OK;
}

/* `undo`: NULL, or where the bucket is kept. */
static cf_status grow_step(cf_filter *filter, cf_steps *steps, cf_undo *undo)
{
    cf_status status = undo ? cf_undo_reserve(filter, undo) : CF_OK;
    if (status == CF_OK)
        status = prepare_step(filter, steps);
    if (status != CF_OK)
        return status;
    uint64_t bucket = bucket_at(filter, filter->level, filter->split);
    assert(filter->view.grown && filter->split < filter->geometry.buckets << filter->level);
    if (undo)
        cf_undo_push(filter, bucket, undo);
    cf_spill_note_split(filter, bucket, steps);
    split_bucket(filter, bucket);
    return CF_OK;
}

cf_status cf_grow_noted(cf_filter *filter, cf_undo *undo)
{
    return grow_step(filter, &undo->steps, undo);
}

cf_status cf_grow_to(cf_filter *filter, uint64_t buckets)
{
    cf_steps steps = cf_steps_begin(filter);
    cf_status status = CF_OK;
    while (status == CF_OK && filter->buckets < buckets)
        status = grow_step(filter, &steps, NULL);
    cf_spill_follow(filter, &steps);
    return status;
}

cf_status cf_grow(cf_filter *filter)
{
    return cf_grow_to(filter, filter->buckets + 1);
}

/* ---- taking growth back ---- */

/* Takes the last split back. */
static void join_buckets(cf_filter *filter, cf_undo *undo)
{
    static const cf_record nothing;
    assert(filter->split > 0);
    filter->split--;
    filter->buckets--;
    cf_undo_pop(filter, bucket_at(filter, filter->level, filter->split), undo);
    cf_record_write(filter, filter->buckets, &nothing);
    /* RULE: a bucket that was widened for a split becomes narrow again */
    if (filter->view.narrow_buckets != cf_narrow_at(&filter->geometry, filter->level, filter->split))
        move_border(filter, filter->view.narrow_buckets + 1);
}

/* Zeroes what lies behind the last bucket, to the end of a blob of this length. */
static void clear_rest(cf_filter *filter, uint64_t length)
{
    uint64_t bits =
        cf_table_bits(&filter->geometry, filter->level, filter->split, filter->view.form.grown);
    uint8_t *p = filter->view.writable + bits / 8,
            *end = filter->view.writable - CF_HEADER_BYTES + length;
    cf_change(filter, CF_HEADER_BYTES + bits / 8, length);
    if (bits % 8 != 0)
        *p++ &= (uint8_t)cf_low_bits(bits % 8);
    memset(p, 0, (size_t)(end - p));
}

void cf_grow_back(cf_filter *filter, cf_undo *undo)
{
    const cf_before *then = &undo->then;
    assert(filter->buckets >= then->buckets && filter->length >= then->length);
    cf_spill_follow(filter, &undo->steps);
    if (filter->buckets == then->buckets && filter->length == then->length &&
        filter->view.form.grown == then->form_grown &&
        filter->view.narrow_buckets == then->narrow_buckets)
        return;
    cf_spill_mark_all(filter, false);
    while (filter->buckets > then->buckets) {
        if (filter->split == 0)
            cf_set_stage(filter, filter->level - 1, filter->buckets / 2, true);
        join_buckets(filter, undo);
    }
    if (!then->grown)
        end_growth(filter, then);
    else if (filter->level != then->level)
        cf_set_stage(filter, then->level, then->split, true);
    clear_rest(filter, filter->length);
    filter->occupied = then->occupied; /* RULE: the count of slots is taken back */
    filter->length = then->length;
    cf_undo_list(filter, undo);
}
