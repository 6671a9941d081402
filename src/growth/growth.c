/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include "../base/watch.h"
#include "../table/bucket.h"
#include "../table/epochs.h"
#include "../table/open.h"

/* ---- the first growth ---- */

/* Writes a bucket as the other form says it: a fingerprint gets a terminator, or loses it. Both are
** views of the same bytes. */
static void rewrite_bucket(const cf_filter *from, cf_filter *to, uint64_t bucket)
{
    cf_record record;
    cf_work(to, 1);
    cf_record_read(from, bucket, &record);
    for (unsigned slot = 0; slot < to->geometry.bucket_size; slot++) {
        uint64_t tag = record.tag[slot];
        record.tag[slot] =
            to->view.form.grown ? cf_with_terminator(to, tag) : tag & to->view.fingerprint_mask;
    }
    cf_record_write(to, bucket, &record);
}

/* Zeroes what lies behind the last bucket, to before byte `end` of the table. */
static void clear_behind(cf_filter *filter, uint64_t end)
{
    uint64_t bits = filter->buckets * filter->view.form.bucket_bits;
    uint8_t *p = cf_writable_table(filter) + bits / 8;
    cf_change(filter, CF_HEADER_BYTES + bits / 8, CF_HEADER_BYTES + end);
    if (bits % 8 != 0)
        *p++ &= (uint8_t)cf_low_bits(bits % 8);
    memset(p, 0, (size_t)(cf_writable_table(filter) + end - p));
}

/* All buckets become wider, the last one first: each is written where those behind it have been. There
** is room. When it is to stop, they become plain again, the last one that was written first. */
static cf_status begin_growth(cf_filter *filter, cf_ticker *ticker)
{
    enum { COST = 100 }; /* nanoseconds */
    cf_filter plain = *filter, grown;
    uint64_t bucket = filter->buckets;
    cf_set_stage(filter, 0, 0, true);
    while (bucket > 0 && !cf_tick(ticker, COST))
        rewrite_bucket(&plain, filter, --bucket);
    if (bucket == 0)
        return CF_OK;
    grown = *filter;
    cf_set_stage(filter, 0, 0, false);
    for (; bucket < filter->buckets; bucket++)
        rewrite_bucket(&grown, filter, bucket);
    clear_behind(filter, (filter->buckets * grown.view.form.bucket_bits + 7) / 8);
    return CF_INTERRUPTED;
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

static void split_bucket(cf_filter *filter, uint64_t low)
{
    cf_record stays, goes;
    uint64_t high = filter->buckets++;
    filter->split++;
    cf_record_read(filter, low, &stays);
    if (filter->geometry.epochs) /* RULE: a split drops the dead */
        cf_record_drop(filter, &stays, ~filter->live);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        split_slot(filter, slot, &stays, &goes);
    cf_record_write(filter, low, &stays);
    cf_record_write(filter, high, &goes);
}

/* ---- room ---- */

/* Makes the blob as long as asked for, and an eighth longer, so that most steps find room; but not so
** much that making it zero takes long. Nobody is told of the zeros, for nothing was there (cf_pages). */
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
    uint8_t *longer = memory.resize(memory.context, filter->writable, length);
    if (longer == NULL)
        return CF_NO_MEMORY;
    memset(longer + filter->length, 0, cf_in_memory(length - filter->length));
    cf_rebase(filter, longer, longer);
    filter->length = length;
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

bool cf_splits_in_vain(const cf_filter *filter)
{
    enum { SOME = 16 };
    uint64_t entries = 0, voids = 0, end = filter->geometry.buckets << filter->level;
    for (uint64_t i = 0; filter->view.form.grown && i < SOME; i++) {
        uint64_t bucket = bucket_at(filter, filter->level, (filter->split + i) % end);
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            uint64_t tag = cf_slot_get(filter, bucket, slot);
            entries += tag != 0;
            voids += tag != 0 && cf_is_void(filter, tag);
        }
    }
    return 2 * voids > entries;
}

/* May the filter come to this stage? */
static bool may_be_at(const cf_filter *filter, unsigned level, uint64_t split)
{
    const char *why;
    const cf_geometry *g = &filter->geometry;
    return g->growth && filter->memory.resize != NULL && cf_stage_check(g, level, split, &why) == CF_OK;
}

/* All of a step that can fail, and what comes before its split. */
static cf_status prepare_step(cf_filter *filter, cf_ticker *ticker)
{
    enum { COST = 100, BUCKETS = 2 }; /* nanoseconds; that are written, besides their slots */
    const cf_geometry *g = &filter->geometry;
    bool begins_level = filter->split == g->buckets << filter->level;
    unsigned level = filter->level + begins_level;
    uint64_t split = begins_level ? 0 : filter->split;
    if (cf_tick(ticker, COST) || cf_work(filter, BUCKETS + g->bucket_size))
        return CF_INTERRUPTED;
    if (!may_be_at(filter, level, split + 1))
        return CF_FULL;
    cf_status status = make_longer(filter, cf_bytes_at(g, level, split + 1));
    if (status == CF_OK && !filter->view.form.grown)
        status = begin_growth(filter, ticker);
    if (status != CF_OK)
        return status;
    if (begins_level)
        cf_set_stage(filter, level, 0, true);
    return CF_OK;
}

static cf_status grow_step(cf_filter *filter, cf_ticker *ticker)
{
    cf_status status = prepare_step(filter, ticker);
    if (status != CF_OK)
        return status;
    uint64_t bucket = bucket_at(filter, filter->level, filter->split);
    assert(filter->view.form.grown && filter->split < filter->geometry.buckets << filter->level);
    split_bucket(filter, bucket);
    return CF_OK;
}

cf_status cf_grow_to(cf_filter *filter, uint64_t buckets)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    cf_status status = CF_OK;
    while (status == CF_OK && filter->buckets < buckets)
        status = grow_step(filter, &ticker);
    return status;
}

cf_status cf_grow(cf_filter *filter)
{
    return cf_grow_to(filter, filter->buckets + 1);
}
