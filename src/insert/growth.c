/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include "../base/watch.h"
#include "../entry/entry.h"
#include "../table/epochs.h"

/* ---- the first growth ---- */

/* Rewrites a bucket in the other form, in the same bytes: tags get a terminator, or lose it. */
static void rewrite_bucket(const cf_filter *from, cf_filter *to, uint64_t bucket)
{
    cf_contents contents;
    cf_work(to, 1);
    cf_bucket_read(from, bucket, &contents);
    for (unsigned slot = 0; slot < to->geometry.bucket_size; slot++) {
        uint64_t tag = contents.tag[slot];
        if (!to->view.form.grown)
            contents.tag[slot] = tag & to->view.fingerprint_mask;
        else if (tag != 0)
            contents.tag[slot] = tag | (uint64_t)1 << to->geometry.fingerprint_bits;
    }
    cf_bucket_write(to, bucket, &contents);
}

/* Widens all buckets, the last one first: each is written where buckets behind it have been. If
** interrupted, narrows them again in reverse order, and restores the bytes behind them. */
static cf_status begin_growth(cf_filter *filter, cf_ticker *ticker)
{
    enum { COST = 100 }; /* nanoseconds */
    cf_filter plain = *filter, grown;
    uint64_t bucket = filter->buckets, bits = bucket * filter->view.form.bucket_bits;
    uint64_t end = CF_HEADER_BYTES + (bits + 7) / 8;
    cf_need(filter, end - 1, end);
    uint8_t last = filter->bytes[end - 1];
    cf_set_stage(filter, 0, 0, true);
    while (bucket > 0 && !cf_tick(ticker, COST))
        rewrite_bucket(&plain, filter, --bucket);
    if (bucket == 0)
        return CF_OK;
    grown = *filter;
    cf_set_stage(filter, 0, 0, false);
    for (; bucket < filter->buckets; bucket++)
        rewrite_bucket(&grown, filter, bucket);
    cf_change(filter, end - 1, filter->length);
    memset(filter->writable + end, 0, cf_in_memory(filter->length - end));
    filter->writable[end - 1] = last;
    return CF_INTERRUPTED;
}

/* ---- splitting a bucket ---- */

static uint64_t bucket_at(const cf_filter *filter, uint64_t split)
{
    return cf_bucket_number(filter, split >> filter->level, split & cf_low_bits(filter->level));
}

/* Splits the bucket at the split pointer into itself, `low`, and a new last bucket, `high`. */
static void split_bucket(cf_filter *filter)
{
    unsigned s = filter->geometry.pair_bits;
    uint64_t bucket = bucket_at(filter, filter->split++), last = filter->buckets++;
    cf_contents low, high;
    cf_bucket_read(filter, bucket, &low);
    if (filter->geometry.epochs) /* RULE: a split drops expired entries */
        cf_bucket_drop(filter, &low, ~filter->live);
    high = low; /* with counters and marks */
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        uint64_t tag = low.tag[slot];
        if (tag != 0 &&
            cf_is_exhausted(filter, tag)) { /* RULE: an exhausted entry goes to both children */
            cf_count_occupied(filter);
            continue;
        }
        bool up = tag >> s & 1; /* RULE: the bit that leaves a slot is the first after the pair bits */
        cf_contents *has = up ? &high : &low, *lacks = up ? &low : &high;
        has->tag[slot] = (tag & filter->view.pair_mask) | tag >> (s + 1) << s;
        lacks->tag[slot] = lacks->payload[slot] = 0;
    }
    cf_bucket_write(filter, bucket, &low);
    cf_bucket_write(filter, last, &high);
}

cf_status cf_make_longer(cf_filter *filter, uint64_t bytes)
{
    enum { MOST_SPARE = 1 << 20 };
    cf_memory memory = filter->memory;
    uint64_t most = cf_most(&memory);
    uint64_t spare = bytes / 8 < MOST_SPARE ? bytes / 8 : MOST_SPARE;
    if (bytes <= filter->length)
        return CF_OK;
    if (bytes > most)
        return CF_TOO_BIG;
    uint64_t length = spare < most - bytes ? bytes + spare : most;
    uint8_t *longer = memory.resize(memory.context, filter->writable, length);
    if (longer == NULL)
        return CF_NO_MEMORY;
    memset(longer + filter->length, 0, cf_in_memory(length - filter->length));
    cf_rebase(filter, longer, longer);
    filter->length = length;
    return CF_OK;
}

/* ---- when ---- */

/* A grown table splits before an add once searches become long. That is at a lower load factor than in a
** new table, because a bucket that is not split yet gets as many keys as both children of a split one;
** and still lower in the middle of a level. From 440,000 to 960,000 keys, b = 4, f = 12, with 88 %
** throughout, or 85, 84, 82 % in the middle, searches expand 2.1, 1.35, 1.2, 1.0 buckets per key; slots
** take 1, 1.022, 1.03, 1.045 times as many bits overall. */
bool cf_is_crowded(cf_filter *filter)
{
    enum { PARTS = 64, DIP = 40, SMALL = 800, LARGE = 880 }; /* of a thousand */
    cf_view *view = &filter->view;
    if (!view->form.grown || filter->geometry.epochs)
        return false;
    if (view->most_of != filter->buckets) {
        uint64_t x = filter->split * PARTS / (filter->geometry.buckets << filter->level);
        uint64_t dip = DIP * 4 * x * (PARTS - x) / (PARTS * PARTS);
        uint64_t most = (filter->geometry.bucket_size <= 2 ? SMALL : LARGE) - dip;
        view->most_of = filter->buckets;
        view->most = cf_slots(filter) * most / 1000;
    }
    return filter->occupied > view->most;
}

/* True if most entries in the buckets that are split next are exhausted, so that splitting frees hardly
** any slot. Without epochs only corrupt input has this, so only a few steps check it. */
static bool splits_in_vain(const cf_filter *filter)
{
    enum { SOME = 16, STEPS = 64, LOOKS = 4 };
    bool ages = filter->geometry.epochs != 0;
    uint64_t entries = 0, exhausted = 0, end = filter->geometry.buckets << filter->level;
    if (!ages && filter->split % STEPS >= LOOKS)
        return false;
    for (uint64_t i = 0; i < SOME; i++) {
        uint64_t bucket = bucket_at(filter, (filter->split + i) % end);
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            uint64_t tag = cf_slot_get(filter, bucket, slot);
            entries += tag != 0;
            exhausted += tag != 0 && cf_is_exhausted(filter, tag);
        }
    }
    return ages ? 2 * exhausted > entries : 8 * exhausted > 7 * entries;
}

bool cf_may_split(const cf_filter *filter)
{
    enum { FEW = 64 };
    uint64_t slots = cf_slots(filter), occupied = filter->occupied, items = filter->items;
    bool values = filter->geometry.value_bits != 0;
    if (!filter->view.form.grown)
        return true;
    /* RULE: a table stops growing if most entries are exhausted: with epochs they count as items, and
    ** a corrupt header may count any number */
    if (splits_in_vain(filter))
        return false;
    return slots <= (values ? 8 : 2) * occupied + FEW && slots <= (values ? 8 : 4) * items + FEW;
}

/* ---- one step ---- */

/* Splits the bucket at the split pointer; errors as cf_grow_to. */
static cf_status split_one(cf_filter *filter, cf_ticker *ticker)
{
    enum { COST = 100, BUCKETS = 2 }; /* nanoseconds; written buckets, besides their slots */
    const cf_geometry *g = &filter->geometry;
    const char *why;
    bool begins_level = filter->split == g->buckets << filter->level;
    unsigned level = filter->level + begins_level;
    uint64_t split = begins_level ? 0 : filter->split;
    if (cf_tick(ticker, COST) || cf_work(filter, BUCKETS + g->bucket_size))
        return CF_INTERRUPTED;
    if (!g->growth || filter->memory.resize == NULL ||
        cf_stage_check(g, level, split + 1, &why) != CF_OK)
        return CF_FULL;
    cf_status status = cf_make_longer(filter, cf_bytes_at(g, level, split + 1));
    if (status == CF_OK && !filter->view.form.grown)
        status = begin_growth(filter, ticker);
    if (status != CF_OK)
        return status;
    if (begins_level)
        cf_set_stage(filter, level, 0, true);
    split_bucket(filter);
    return CF_OK;
}

cf_status cf_grow_to(cf_filter *filter, uint64_t buckets)
{
    cf_ticker ticker = cf_ticker_of(filter->watch);
    cf_status status = CF_OK;
    while (status == CF_OK && filter->buckets < buckets)
        status = split_one(filter, &ticker);
    return status;
}
