/* SPDX-License-Identifier: MIT */
/*
** quick.h - most calls with one key: a look at its two buckets decides.
**
** Each function here does what the rule for its act does, in fewer steps and in code for one kind of
** bucket (kind.h), where that look shows that the rule is simple; otherwise it calls the rule. The rules
** are cf_insert, cf_copies_remove and cf_entries_find; filter.c says when a filter is asked here.
*/
#ifndef CF_QUICK_H
#define CF_QUICK_H

#include "../insert/growth.h"
#include "../shape/format.h"
#include "../table/bucket.h"

/* The rules (filter.c). */
cf_status cf_add_by_rule(cf_filter *filter, uint64_t hash, uint64_t payload);
cf_deleted cf_delete_by_rule(cf_filter *filter, uint64_t hash, uint64_t value);

/* ---- the two buckets of a key ---- */

/* Where a key may lie: where its buckets start, its tags there, and the bits of their extensions. */
typedef struct cf_spots {
    uint64_t at[2], tag[2];
    unsigned extension[2];
} cf_spots;

/* cf_pair_of, as spots. */
static CF_ALWAYS_INLINE cf_spots cf_any_spots_of(cf_kind kind, const cf_filter *filter, uint64_t hash)
{
    cf_side base = cf_base(filter, hash), other = cf_alternate(filter, base);
    cf_place here = cf_locate_by(filter, kind.grown, &base);
    cf_place there = cf_locate_by(filter, kind.grown, &other);
    uint64_t size = filter->view.form.bucket_bits;
    return (cf_spots){{kind.any ? cf_bucket_at(filter, here.bucket) : here.bucket * size,
                       kind.any ? cf_bucket_at(filter, there.bucket) : there.bucket * size},
                      {here.tag, there.tag},
                      {here.extension, there.extension}};
}

/* The same for every kind: before growth there are no extensions. */
static CF_ALWAYS_INLINE cf_spots cf_spots_of(cf_kind kind, const cf_filter *filter, uint64_t hash)
{
    if (kind.any || kind.grown)
        return cf_any_spots_of(kind, filter, hash);
    const cf_view *view = &filter->view;
    uint64_t m0 = filter->geometry.buckets, bits = cf_key_bits(hash, view->fingerprint_mask);
    uint64_t mix = cf_pair_mix(bits & view->pair_mask), tag = bits & view->fingerprint_mask;
    uint64_t base = cf_high_product(bits, m0), other = cf_alternate_base(m0, base, mix);
    uint64_t there = kind.one ? bits : bits ^ cf_turn_of(mix) << filter->geometry.pair_bits;
    return (cf_spots){{base * view->form.bucket_bits, other * view->form.bucket_bits},
                      {tag, there & view->fingerprint_mask},
                      {0, 0}};
}

/* The same as cf_find_all where lanes `a` of the first bucket and `b` of the second may match. */
static CF_ALWAYS_INLINE cf_found cf_find_alike(cf_kind kind, const cf_filter *filter,
                                               const cf_spots *spots, cf_lanes a, cf_lanes b)
{
    const cf_form *form = &filter->view.form;
    const uint64_t *at = spots->at, *tag = spots->tag;
    cf_lanes both = {a.low | b.low, a.high | b.high, 0};
    uint64_t all = both.low | both.high, twice = (a.low & b.low) | (a.high & b.high);
    bool several = ((all & (all - 1)) | twice | (both.low & both.high)) != 0;
    if (!kind.grown && !kind.semi && several)
        return (cf_found){2, 0, 0};
    if (kind.grown || CF_UNLIKELY(several))
        return cf_find_all(filter, at[0], at[1], tag[0], tag[1]);
    unsigned lane = cf_lane_of(kind, form, both), side = (a.low | a.high) == 0;
    if (!kind.semi)
        return (cf_found){1, side, lane};
    uint64_t nibbles = cf_nibbles_of(cf_lanes_at(kind, filter, cf_choose(side, at[1], at[0])).word);
    nibbles >>= cf_slot_of(form, lane) * CF_NIBBLE_BITS;
    return (cf_found){((nibbles ^ tag[0]) & CF_NIBBLE_MASK) == 0, side, lane};
}

/* How many entries match. Reads both buckets first: their cache misses overlap. Of plain lanes 2 may
** also mean: unknown. */
static CF_ALWAYS_INLINE cf_found cf_find_by(cf_kind kind, const cf_filter *filter, const cf_spots *spots)
{
    const uint64_t *at = spots->at, *tag = spots->tag;
    if (kind.any)
        return cf_find_all(filter, at[0], at[1], tag[0], tag[1]);
    cf_lanes a = cf_alike(kind, filter, at[0], tag[0]), b = cf_alike(kind, filter, at[1], tag[1]);
    if (((a.low | b.low) | (a.high | b.high)) == 0)
        return (cf_found){0, 0, 0};
    return cf_find_alike(kind, filter, spots, a, b);
}

/* True if either bucket has an entry that matches. Plain lanes that are alike are equal. */
static CF_ALWAYS_INLINE bool cf_holds_by(cf_kind kind, const cf_filter *filter, const cf_spots *spots)
{
    const uint64_t *at = spots->at, *tag = spots->tag;
    if (kind.any || (kind.semi && !kind.grown))
        return cf_find_by(kind, filter, spots).n != 0;
    cf_lanes a = cf_alike(kind, filter, at[0], tag[0]), b = cf_alike(kind, filter, at[1], tag[1]);
    if (!kind.grown)
        return (a.low | a.high | b.low | b.high) != 0;
    return ((a.low | a.high) != 0 && cf_slots_by(kind, filter, at[0], tag[0]) != 0) ||
           ((b.low | b.high) != 0 && cf_slots_by(kind, filter, at[1], tag[1]) != 0);
}

/* ---- lookups: cf_entries_find finds some, as far as slots are concerned ---- */

static CF_ALWAYS_INLINE bool cf_look_up(cf_kind kind, const cf_filter *filter, uint64_t hash)
{
    cf_spots spots = cf_spots_of(kind, filter, hash);
    return cf_holds_by(kind, filter, &spots);
}

enum { CF_BATCH = 32 };

/* The same for n keys, CF_BATCH at most, in short steps, each for all keys, which the processor can
** overlap: all buckets are fetched before the first is looked at. Returns how many are there. */
static CF_ALWAYS_INLINE size_t cf_look_up_many(cf_kind kind, const cf_filter *filter,
                                               const uint64_t *hashes, size_t n, bool *answers)
{
    size_t found = 0;
    cf_spots spots[CF_BATCH];
    for (size_t i = 0; i < n; i++) {
        spots[i] = cf_spots_of(kind, filter, hashes[i]);
        cf_prefetch(filter->view.table + spots[i].at[0] / 8);
        cf_prefetch(filter->view.table + spots[i].at[1] / 8);
    }
    for (size_t i = 0; i < n; i++) {
        answers[i] = cf_holds_by(kind, filter, &spots[i]);
        found += answers[i];
    }
    return found;
}

/* ---- adding: view.quick_add ---- */

/* Stores the first copy of a key where one move makes room. The same as cf_evict does: its search looks
** behind these slots first, in this order. Before growth, without a pager or a stash. */
static CF_ALWAYS_INLINE bool cf_add_by_move(cf_kind kind, cf_filter *filter, uint64_t hash,
                                            uint64_t value)
{
    const cf_form *form = &filter->view.form;
    cf_side base = cf_base(filter, hash), side[2] = {base, cf_alternate(filter, base)};
    uint64_t tag[CF_BUCKET_MAX], to[CF_BUCKET_MAX];
    for (unsigned i = 0; i < 2; i++) {
        uint64_t from = side[i].base, at = from * form->bucket_bits;
        cf_tags_by(kind, filter, at, tag);
        cf_others_of(filter, from, tag, to);
        for (unsigned slot = 0, lane; slot < filter->geometry.bucket_size; slot++) {
            uint64_t there = to[slot] * form->bucket_bits;
            if (!cf_empty_by(kind, filter, there, &lane))
                continue;
            cf_side goes = {from, tag[slot], filter->view.new_length};
            cf_set_by(kind, filter, there, lane, cf_alternate(filter, goes).bits,
                      cf_payload_at(filter, at, slot));
            cf_set_by(kind, filter, at, slot * form->lane, side[i].bits & filter->view.fingerprint_mask,
                      value);
            return true;
        }
    }
    return false;
}

static CF_NEVER_INLINE cf_status cf_add_moving(cf_filter *filter, uint64_t hash, uint64_t value)
{
    const cf_form *form = &filter->view.form;
    if (form->any || filter->geometry.stash_size != 0 ||
        !CF_BY_NEW_FORM(form, cf_add_by_move, filter, hash, value))
        return cf_add_by_rule(filter, hash, value);
    cf_count_occupied(filter);
    cf_count_items(filter, 1);
    return CF_OK;
}

/* Stores the first copy of a key in the first free slot of its pair. The same as cf_insert does where no
** entry matches, so that none absorbs the copy, and the table is not crowded, so that none is split. */
static CF_ALWAYS_INLINE cf_status cf_add_quickly(cf_kind kind, cf_filter *filter, uint64_t hash,
                                                 uint64_t value)
{
    if (kind.grown && cf_is_crowded(filter))
        return cf_add_by_rule(filter, hash, value);
    cf_spots spots = cf_spots_of(kind, filter, hash);
    uint64_t at = spots.at[0], tag = spots.tag[0];
    unsigned lane, extension = spots.extension[0];
    if (cf_find_by(kind, filter, &spots).n != 0)
        return cf_add_by_rule(filter, hash, value);
    if (!cf_empty_by(kind, filter, at, &lane)) {
        at = spots.at[1];
        tag = spots.tag[1];
        extension = spots.extension[1];
        if (!cf_empty_by(kind, filter, at, &lane))
            return (kind.any || kind.grown ? cf_add_by_rule : cf_add_moving)(filter, hash, value);
    }
    if (kind.grown)
        tag = cf_tag_of(filter, (cf_place){0, tag, extension}, filter->view.new_length);
    if (kind.any)
        cf_tell_change(filter, at);
    cf_set_by(kind, filter, at, lane, tag, value);
    filter->occupied += filter->occupied < filter->buckets * filter->geometry.bucket_size;
    filter->items += filter->items < CF_ITEMS_MAX;
    return CF_OK;
}

/* ---- deleting: view.quick_delete ---- */

/* Takes out the only entry of a key. The same as cf_copies_remove does where one entry matches that is
** one copy: its payload is 0, and max_copies is more than 1. */
static CF_ALWAYS_INLINE cf_deleted cf_delete_quickly(cf_kind kind, cf_filter *filter, uint64_t hash,
                                                     uint64_t value)
{
    const cf_form *form = &filter->view.form;
    cf_spots spots = cf_spots_of(kind, filter, hash);
    cf_found found = cf_find_by(kind, filter, &spots);
    uint64_t at = cf_choose(found.side, spots.at[1], spots.at[0]);
    if (found.n == 0)
        return CF_ABSENT;
    if (found.n > 1 || (!kind.whole && form->payload_bits != 0 &&
                        cf_payload_at(filter, at, cf_slot_of(form, found.lane)) != 0))
        return cf_delete_by_rule(filter, hash, value);
    if (kind.any)
        cf_tell_change(filter, at);
    cf_set_by(kind, filter, at, found.lane, 0, 0);
    cf_count_emptied(filter);
    filter->items -= filter->items > 0;
    return CF_REMOVED;
}

#endif
