/* SPDX-License-Identifier: MIT */
#include "fast_path.h"

/* ---- lookups ---- */

static inline uint64_t bits_of(uint64_t byte, unsigned shift)
{
    return byte * 8 + shift;
}

static bool has_for_sure(const cf_filter *filter, uint64_t at, uint64_t tag)
{
    const cf_form *form = &filter->view.form;
    uint64_t found = 0;
    for (unsigned i = 0; i < form->lanes.words; i++)
        found |= cf_any_zero_lane(&form->lanes,
                                  cf_semisort_word(filter, form, at, i) ^ tag * form->lanes.ones);
    return found != 0;
}

bool cf_semisorted_has_for_sure(const cf_filter *filter, uint64_t hash)
{
    cf_spots spots = cf_spots_of(filter, hash, false);
    return has_for_sure(filter, bits_of(spots.byte, spots.shift), spots.tag) ||
           has_for_sure(filter, bits_of(spots.byte2, spots.shift2), spots.tag2);
}

/* What is known of the keys of a batch. */
typedef struct cf_batch {
    uint64_t key[CF_BATCH], mix[CF_BATCH];
    cf_spots spots[CF_BATCH];
} cf_batch;

/* One long chain of dependent instructions for each key would keep the processor from working on
** several at a time: short steps, each for all keys. The buckets are fetched before the first is
** looked at. `kind` is a constant. */
static CF_ALWAYS_INLINE size_t look_up(const cf_filter *filter, const uint64_t *hashes, size_t n,
                                       bool *answers, cf_fast kind, cf_batch *batch)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        batch->key[i] = cf_key_bits(filter, hashes[i]);
        batch->mix[i] = cf_pair_mix(batch->key[i] & filter->view.pair_mask);
    }
    for (size_t i = 0; i < n; i++) {
        cf_side base = {cf_scale(batch->key[i], filter->geometry.buckets), batch->key[i], CF_WHOLE};
        batch->spots[i] = cf_spots_by(filter, base, batch->mix[i], cf_is_whole(kind));
        cf_prefetch(filter->view.table + batch->spots[i].byte);
        cf_prefetch(filter->view.table + batch->spots[i].byte2);
    }
    for (size_t i = 0; i < n; i++) {
        answers[i] = cf_spots_have(filter, kind, &batch->spots[i], hashes[i]);
        found += answers[i];
    }
    return found;
}

size_t cf_fast_contains(const cf_filter *filter, const uint64_t *hashes, size_t n, bool *answers)
{
    cf_batch batch; /* one, not one for each kind */
    assert(n <= CF_BATCH && filter->view.lookup != CF_FAST_NONE);
    switch (filter->view.lookup) {
    case CF_FAST_WHOLE:
        return look_up(filter, hashes, n, answers, CF_FAST_WHOLE, &batch);
    case CF_FAST_PLAIN:
        return look_up(filter, hashes, n, answers, CF_FAST_PLAIN, &batch);
    case CF_FAST_SEMISORTED:
        return look_up(filter, hashes, n, answers, CF_FAST_SEMISORTED, &batch);
    case CF_FAST_WIDE:
        return look_up(filter, hashes, n, answers, CF_FAST_WIDE, &batch);
    case CF_FAST_WIDE_WHOLE:
        return look_up(filter, hashes, n, answers, CF_FAST_WIDE_WHOLE, &batch);
    case CF_FAST_WIDE_LONG:
        return look_up(filter, hashes, n, answers, CF_FAST_WIDE_LONG, &batch);
    default:
        return look_up(filter, hashes, n, answers, CF_FAST_WIDE_SEMISORTED, &batch);
    }
}

/* ---- plain buckets ---- */

static CF_ALWAYS_INLINE bool may_have_pages(cf_fast kind)
{
    return kind != CF_FAST_WHOLE && kind != CF_FAST_WIDE && kind != CF_FAST_WIDE_WHOLE;
}

/* Changes one lane of a bucket by XOR, the first one of `same`. Some kinds have no pager to be told. */
static CF_ALWAYS_INLINE void change_lane(cf_filter *filter, cf_fast kind, uint64_t byte, unsigned shift,
                                         uint64_t same, uint64_t difference)
{
    const cf_form *form = &filter->view.form;
    cf_lane_at lane = cf_first_lane(form, cf_is_wide(kind), same);
    uint8_t *p = filter->view.writable + byte + lane.byte;
    unsigned bit = lane.bit + shift;
    if (kind == CF_FAST_WIDE_LONG) {
        p += bit / 8;
        bit %= 8;
    }
    if (may_have_pages(kind) && CF_UNLIKELY(filter->pages != NULL))
        cf_change_bits(filter, bits_of(byte, shift), form->bucket_bits);
    cf_store64(p, cf_load64(p) ^ difference << bit);
}

/* The choice between two buckets cannot be predicted: no branch. */
static CF_ALWAYS_INLINE void change_first(cf_filter *filter, cf_fast kind, const cf_spots *spots,
                                          cf_same same)
{
    bool first = same.lanes != 0; /* RULE: the base bucket comes first */
    change_lane(filter, kind, first ? spots->byte : spots->byte2, first ? spots->shift : spots->shift2,
                first ? same.lanes : same.lanes2, first ? spots->tag : spots->tag2);
}

static CF_ALWAYS_INLINE bool add_plain(cf_filter *filter, cf_fast kind, const cf_spots *spots)
{
    bool wide = cf_is_wide(kind);
    const cf_form *form = &filter->view.form;
    cf_words words = cf_words_at(filter, kind, spots);
    cf_words left = cf_words_without(form, wide, words, spots->tag, spots->tag2);
    cf_same empty = cf_plain_same(filter, wide, words, 0, 0);
    if (cf_either_has(form, &form->lanes, wide, left.word, left.word2))
        return false;
    if (empty.lanes != 0)
        change_lane(filter, kind, spots->byte, spots->shift, empty.lanes, spots->tag);
    else if (empty.lanes2 != 0)
        change_lane(filter, kind, spots->byte2, spots->shift2, empty.lanes2, spots->tag2);
    else
        return false;
    cf_count_occupied(filter);
    return true;
}

static CF_ALWAYS_INLINE cf_deleted delete_plain(cf_filter *filter, cf_fast kind, const cf_spots *spots)
{
    bool wide = cf_is_wide(kind);
    cf_words words = cf_words_at(filter, kind, spots);
    cf_same same = cf_plain_same(filter, wide, words, spots->tag, spots->tag2);
    if ((same.lanes | same.lanes2) == 0)
        return CF_ABSENT;
    if (!cf_is_single(same.lanes, same.lanes2))
        return CF_STICKY;
    change_first(filter, kind, spots, same);
    cf_count_emptied(filter);
    return CF_REMOVED;
}

/* ---- semi-sorted buckets ---- */

/* Empty slots come first, with tag 0. */
static inline bool has_empty_slot(const cf_filter *filter, uint64_t byte, unsigned shift)
{
    uint64_t bits = cf_load64(filter->view.table + byte) >> shift;
    uint64_t top = bits >> CF_CODE_BITS & cf_ones(filter->view.form.tops.width);
    return (top | (cf_nibbles_of(bits) & CF_NIBBLE_MASK)) == 0;
}

static inline void change_slot(cf_filter *filter, const cf_spots *spots, bool second, unsigned slot,
                               uint64_t tag)
{
    const cf_form *form = &filter->view.form;
    uint64_t at = second ? bits_of(spots->byte2, spots->shift2) : bits_of(spots->byte, spots->shift);
    if (CF_UNLIKELY(filter->pages != NULL))
        cf_change_bits(filter, at, form->bucket_bits);
    cf_semisort_set(filter, form, at, slot, tag, 0);
}

static CF_ALWAYS_INLINE bool add_semisorted(cf_filter *filter, bool wide, const cf_spots *spots)
{
    bool first = has_empty_slot(filter, spots->byte, spots->shift);
    if (!first && !has_empty_slot(filter, spots->byte2, spots->shift2))
        return false;
    if (cf_semisort_find(filter, wide, true, spots).has != 0)
        return false;
    change_slot(filter, spots, !first, 0, first ? spots->tag : spots->tag2);
    cf_count_occupied(filter);
    return true;
}

static CF_ALWAYS_INLINE cf_deleted delete_semisorted(cf_filter *filter, bool wide, const cf_spots *spots)
{
    cf_semisort_found found = cf_semisort_find(filter, wide, true, spots);
    if (found.has != 1)
        return found.has == 0 ? CF_ABSENT : CF_STICKY;
    change_slot(filter, spots, found.second, found.slot, 0);
    cf_count_emptied(filter);
    return CF_REMOVED;
}

/* ---- all of them ---- */

/* Kinds that may have pages tell of them. */
static CF_ALWAYS_INLINE cf_spots spots_to_change(const cf_filter *filter, cf_fast kind, uint64_t hash)
{
    cf_spots spots = cf_spots_of(filter, hash, cf_is_whole(kind));
    if (may_have_pages(kind) && CF_UNLIKELY(filter->pages != NULL)) {
        cf_need_bits(filter, bits_of(spots.byte, spots.shift), filter->view.form.bucket_bits);
        cf_need_bits(filter, bits_of(spots.byte2, spots.shift2), filter->view.form.bucket_bits);
    }
    return spots;
}

static CF_ALWAYS_INLINE bool add_by(cf_filter *filter, cf_fast kind, uint64_t hash)
{
    cf_spots spots = spots_to_change(filter, kind, hash);
    return cf_is_semisorted(kind) ? add_semisorted(filter, cf_is_wide(kind), &spots)
                                  : add_plain(filter, kind, &spots);
}

/* For kinds that are not met most. noinline keeps registers free in the short ways, and calls of a pager
** out of them. */
static CF_NEVER_INLINE bool add_otherwise(cf_filter *filter, uint64_t hash)
{
    cf_fast kind = filter->view.change;
    return kind == CF_FAST_SEMISORTED   ? add_by(filter, CF_FAST_SEMISORTED, hash)
           : kind == CF_FAST_PLAIN      ? add_by(filter, CF_FAST_PLAIN, hash)
           : kind == CF_FAST_WIDE_PAGED ? add_by(filter, CF_FAST_WIDE_PAGED, hash)
           : kind == CF_FAST_WIDE_LONG  ? add_by(filter, CF_FAST_WIDE_LONG, hash)
                                        : add_by(filter, CF_FAST_WIDE_SEMISORTED, hash);
}

static CF_NEVER_INLINE bool add_wide(cf_filter *filter, uint64_t hash)
{
    return filter->view.change == CF_FAST_WIDE ? add_by(filter, CF_FAST_WIDE, hash)
                                               : add_by(filter, CF_FAST_WIDE_WHOLE, hash);
}

bool cf_fast_add(cf_filter *filter, uint64_t hash)
{
    cf_fast kind = filter->view.change;
    assert(filter->view.writable != NULL && kind != CF_FAST_NONE);
    if (kind == CF_FAST_WHOLE)
        return add_by(filter, CF_FAST_WHOLE, hash);
    return may_have_pages(kind) ? add_otherwise(filter, hash) : add_wide(filter, hash);
}

static CF_ALWAYS_INLINE cf_deleted delete_by(cf_filter *filter, cf_fast kind, uint64_t hash,
                                             uint64_t value, cf_deleter *otherwise)
{
    cf_spots spots = spots_to_change(filter, kind, hash);
    cf_deleted deleted = cf_is_semisorted(kind) ? delete_semisorted(filter, cf_is_wide(kind), &spots)
                                                : delete_plain(filter, kind, &spots);
    if (CF_UNLIKELY(deleted == CF_STICKY))
        return otherwise(filter, hash, value);
    filter->items -= deleted == CF_REMOVED && filter->items > 0;
    return deleted;
}

static CF_NEVER_INLINE cf_deleted delete_otherwise(cf_filter *filter, uint64_t hash, uint64_t value,
                                                   cf_deleter *otherwise)
{
    cf_fast kind = filter->view.change;
    return kind == CF_FAST_SEMISORTED   ? delete_by(filter, CF_FAST_SEMISORTED, hash, value, otherwise)
           : kind == CF_FAST_PLAIN      ? delete_by(filter, CF_FAST_PLAIN, hash, value, otherwise)
           : kind == CF_FAST_WIDE_PAGED ? delete_by(filter, CF_FAST_WIDE_PAGED, hash, value, otherwise)
           : kind == CF_FAST_WIDE_LONG
               ? delete_by(filter, CF_FAST_WIDE_LONG, hash, value, otherwise)
               : delete_by(filter, CF_FAST_WIDE_SEMISORTED, hash, value, otherwise);
}

static CF_NEVER_INLINE cf_deleted delete_wide(cf_filter *filter, uint64_t hash, uint64_t value,
                                              cf_deleter *otherwise)
{
    return delete_by(filter, CF_FAST_WIDE, hash, value, otherwise);
}

static CF_NEVER_INLINE cf_deleted delete_wide_whole(cf_filter *filter, uint64_t hash, uint64_t value,
                                                    cf_deleter *otherwise)
{
    return delete_by(filter, CF_FAST_WIDE_WHOLE, hash, value, otherwise);
}

cf_deleted cf_fast_delete(cf_filter *filter, uint64_t hash, uint64_t value, cf_deleter *otherwise)
{
    cf_fast kind = filter->view.change;
    assert(filter->view.writable != NULL && kind != CF_FAST_NONE);
    if (kind == CF_FAST_WHOLE)
        return delete_by(filter, CF_FAST_WHOLE, hash, value, otherwise);
    return kind == CF_FAST_WIDE_WHOLE ? delete_wide_whole(filter, hash, value, otherwise)
           : kind == CF_FAST_WIDE     ? delete_wide(filter, hash, value, otherwise)
                                      : delete_otherwise(filter, hash, value, otherwise);
}
