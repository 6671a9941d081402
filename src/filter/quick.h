/* SPDX-License-Identifier: MIT */
/*
** quick.h - most calls with one key: reading its two buckets decides.
**
** Each function here does the same as the rule for its operation, in fewer steps and in code for one
** kind of bucket (kind.h), if those buckets show that the case is simple; otherwise it calls the rule.
** The rules are cf_insert, cf_copies_remove and cf_entries_find; filter.c decides when to come here.
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

/* A place of a key: the first bit of its bucket, the tag there, and the bits of the extension. */
typedef struct cf_spot {
    uint64_t at, tag;
    unsigned extension;
} cf_spot;

/* The place of a side, whose bucket will be read. */
CF_FORCED cf_spot cf_spot_of(cf_kind kind, const cf_filter *filter, const cf_side *side)
{
    cf_place place = cf_locate_by(filter, kind.grown, side);
    uint64_t at = place.bucket * filter->view.form.bucket_bits;
    return (cf_spot){kind.any ? cf_bucket_at(filter, place.bucket) : at, place.tag, place.extension};
}

/* The two places of a key, as cf_pair_of finds them. Before growth there are no extensions. */
CF_FORCED void cf_spots_of(cf_kind kind, const cf_filter *filter, uint64_t hash, cf_spot *spot)
{
    if (kind.any || kind.grown) {
        cf_side side = cf_base(filter, hash), other_side = cf_alternate(filter, side);
        spot[0] = cf_spot_of(kind, filter, &side);
        spot[1] = cf_spot_of(kind, filter, &other_side);
        return;
    }
    const cf_view *view = &filter->view;
    uint64_t m0 = filter->geometry.buckets, bits = cf_key_bits(hash, view->fingerprint_mask);
    uint64_t mix = cf_pair_mix(bits & view->pair_mask), tag = bits & view->fingerprint_mask;
    uint64_t base = cf_high_product(bits, m0), other = cf_alternate_base(m0, base, mix);
    uint64_t there = kind.one ? bits : bits ^ cf_turn_of(mix) << filter->geometry.pair_bits;
    spot[0] = (cf_spot){base * view->form.bucket_bits, tag, 0};
    spot[1] = (cf_spot){other * view->form.bucket_bits, there & view->fingerprint_mask, 0};
}

/* The same as cf_find_all if lanes `a` of the first bucket and `b` of the second may match. */
CF_FORCED cf_found cf_find_alike(cf_kind kind, const cf_filter *filter, const cf_spot *spot, cf_lanes a,
                                 cf_lanes b)
{
    const cf_form *form = &filter->view.form;
    cf_lanes both = {a.low | b.low, a.high | b.high, 0};
    uint64_t all = both.low | both.high, twice = (a.low & b.low) | (a.high & b.high);
    bool several = ((all & (all - 1)) | twice | (both.low & both.high)) != 0;
    if (!kind.grown && !kind.semi && several)
        return (cf_found){2, 0, 0};
    if (kind.grown || CF_UNLIKELY(several))
        return cf_find_all(filter, spot[0].at, spot[1].at, spot[0].tag, spot[1].tag);
    unsigned lane = cf_lane_of(kind, form, both), side = (a.low | a.high) == 0;
    if (!kind.semi)
        return (cf_found){1, side, lane};
    uint64_t nibbles =
        cf_nibbles_of(cf_lanes_at(kind, filter, cf_choose(side, spot[1].at, spot[0].at)).word);
    nibbles >>= cf_slot_of(form, lane) * CF_NIBBLE_BITS;
    return (cf_found){((nibbles ^ spot[0].tag) & CF_NIBBLE_MASK) == 0, side, lane};
}

/* The number of entries that match. Reads both buckets first, so that their cache misses overlap. With
** plain lanes 2 may also mean that the number is unknown. */
CF_FORCED cf_found cf_find_by(cf_kind kind, const cf_filter *filter, const cf_spot *spot)
{
    if (kind.any)
        return cf_find_all(filter, spot[0].at, spot[1].at, spot[0].tag, spot[1].tag);
    cf_lanes a = cf_alike(kind, filter, spot[0].at, spot[0].tag);
    cf_lanes b = cf_alike(kind, filter, spot[1].at, spot[1].tag);
    if (((a.low | b.low) | (a.high | b.high)) == 0)
        return (cf_found){0, 0, 0};
    return cf_find_alike(kind, filter, spot, a, b);
}

/* True if either bucket has an entry that matches. Plain lanes that may match do match. */
CF_FORCED bool cf_holds_by(cf_kind kind, const cf_filter *filter, const cf_spot *spot)
{
    if (kind.any || (kind.semi && !kind.grown))
        return cf_find_by(kind, filter, spot).n != 0;
    cf_lanes a = cf_alike(kind, filter, spot[0].at, spot[0].tag);
    cf_lanes b = cf_alike(kind, filter, spot[1].at, spot[1].tag);
    if (!kind.grown)
        return (a.low | a.high | b.low | b.high) != 0;
    return ((a.low | a.high) != 0 && cf_slots_by(kind, filter, spot[0].at, spot[0].tag) != 0) ||
           ((b.low | b.high) != 0 && cf_slots_by(kind, filter, spot[1].at, spot[1].tag) != 0);
}

/* ---- lookups: as cf_entries_find, among the slots ---- */

CF_FORCED bool cf_look_up(cf_kind kind, const cf_filter *filter, uint64_t hash)
{
    cf_spot spot[2];
    cf_spots_of(kind, filter, hash, spot);
    return cf_holds_by(kind, filter, spot);
}

enum { CF_BATCH = 32 };

/* The same for n keys, at most CF_BATCH, in short steps that each process all keys, so that they overlap
** in the processor: all buckets are fetched before the first is read. Returns how many are found. */
CF_FORCED size_t cf_look_up_many(cf_kind kind, const cf_filter *filter, const uint64_t *hashes, size_t n,
                                 bool *answers)
{
    size_t found = 0;
    cf_spot spot[CF_BATCH][2];
    for (size_t i = 0; i < n; i++) {
        cf_spots_of(kind, filter, hashes[i], spot[i]);
        cf_prefetch(filter->view.table + spot[i][0].at / 8);
        cf_prefetch(filter->view.table + spot[i][1].at / 8);
    }
    for (size_t i = 0; i < n; i++) {
        answers[i] = cf_holds_by(kind, filter, spot[i]);
        found += answers[i];
    }
    return found;
}

/* ---- adding: view.quick_add ---- */

/* Stores the first copy of a key if a single move frees a slot. The same as cf_evict, whose search
** examines these slots first, in this order. Before growth, without a pager or a stash. */
CF_FORCED bool cf_add_by_move(cf_kind kind, cf_filter *filter, uint64_t hash, uint64_t value)
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

/* Stores the first copy of a key in the first free slot of its pair. The same as cf_insert if no entry
** matches, so that none absorbs the copy, and the table is not crowded, so that no bucket is split. */
CF_FORCED cf_status cf_add_quickly(cf_kind kind, cf_filter *filter, uint64_t hash, uint64_t value)
{
    if (kind.grown && cf_is_crowded(filter))
        return cf_add_by_rule(filter, hash, value);
    cf_spot spot[2];
    unsigned lane;
    cf_spots_of(kind, filter, hash, spot);
    if (cf_find_by(kind, filter, spot).n != 0)
        return cf_add_by_rule(filter, hash, value);
    cf_spot to = spot[0];
    if (!cf_empty_by(kind, filter, to.at, &lane)) {
        to = spot[1];
        if (!cf_empty_by(kind, filter, to.at, &lane))
            return (kind.any || kind.grown ? cf_add_by_rule : cf_add_moving)(filter, hash, value);
    }
    if (kind.grown)
        to.tag = cf_tag_of(filter, (cf_place){0, to.tag, to.extension}, filter->view.new_length);
    if (kind.any)
        cf_tell_change(filter, to.at);
    cf_set_by(kind, filter, to.at, lane, to.tag, value);
    filter->occupied += filter->occupied < filter->buckets * filter->geometry.bucket_size;
    filter->items += filter->items < CF_ITEMS_MAX;
    return CF_OK;
}

/* ---- deleting: view.quick_delete ---- */

/* Deletes the only entry of a key. The same as cf_copies_remove if one entry matches and is one copy:
** its payload is 0, and max_copies is more than 1. */
CF_FORCED cf_deleted cf_delete_quickly(cf_kind kind, cf_filter *filter, uint64_t hash, uint64_t value)
{
    const cf_form *form = &filter->view.form;
    cf_spot spot[2];
    cf_spots_of(kind, filter, hash, spot);
    cf_found found = cf_find_by(kind, filter, spot);
    uint64_t at = cf_choose(found.side, spot[1].at, spot[0].at);
    if (found.n == 0)
        return CF_ABSENT;
    if (found.n > 1 || (!kind.whole && form->payload_bits != 0 &&
                        cf_payload_at(filter, at, cf_slot_of(form, found.lane)) != 0))
        return cf_delete_by_rule(filter, hash, value);
    if (kind.any)
        cf_tell_change(filter, at);
    kind.bare |= !kind.semi; /* this slot has no payload */
    cf_set_by(kind, filter, at, found.lane, 0, 0);
    cf_count_emptied(filter);
    filter->items -= filter->items > 0;
    return CF_REMOVED;
}

#endif
