/* SPDX-License-Identifier: MIT */
/*
** spill_model.h - what the tests of the spill list share: a look at a list from outside, and a
** filter that does not grow beside what it must hold exactly.
**
** Before growth an entry is a fingerprint of a pair of buckets (and a value), and the copies of
** each are exact below cap (with counters, below 2^counter_bits) and sticky there. So the model is
** an array, and the filter's answers follow from it for every hash there can be, wherever entries
** lie: in slots or in the list.
*/
#ifndef CUCKOO_SPILL_MODEL_H
#define CUCKOO_SPILL_MODEL_H

#include "../../src/entry/entry.h"
#include "../../src/entry/spill.h"
#include "../../src/table/address.h"
#include "../../src/table/bucket.h"
#include "test.h"

/* ---- the list ---- */

static inline bool spilled_before(const cf_spilled *a, const cf_spilled *b)
{
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket;
    return a->tag != b->tag ? a->tag < b->tag : a->payload < b->payload;
}

/* The other child of the bucket that this one was split from. */
static inline uint64_t sibling_of(const cf_filter *filter, uint64_t bucket)
{
    cf_home home = cf_home_of(filter, bucket);
    return cf_bucket_number(filter, home.base, home.extension ^ (uint64_t)1 << (home.bits - 1));
}

/* Marks the buckets where keys look that entry `index` may match. */
static inline void mark_looks(const cf_filter *filter, unsigned index, bool *named)
{
    cf_entry entry;
    assert_true(cf_spilled_at(filter, index, &entry));
    uint64_t other = other_bucket(filter, &entry);
    named[entry.bucket] = named[other] = true;
    if (!can_move(filter, &entry))
        named[sibling_of(filter, other)] = true;
}

/* Sorted, within its bound, each entry in a full bucket; the overflow bits are those of its entries
** and no others. */
static inline void assert_list(const cf_filter *filter)
{
    bool *named = calloc(filter->buckets, sizeof *named);
    assert_true(filter->spilled <= filter->geometry.spill_bound);
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled entry = cf_spill_get(filter, i), before = cf_spill_get(filter, i ? i - 1 : 0);
        assert_false(spilled_before(&entry, &before));
        assert_int_equal(cf_bucket_free_slot(filter, entry.bucket), -1);
        mark_looks(filter, i, named);
    }
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        assert_int_equal(cf_overflows(filter, bucket), named[bucket]);
    free(named);
}

/* Puts an entry that knows `length` bits of a pair into the list; false: there is no room for
** it. */
static inline bool spill_one(cf_filter *filter, const cf_pair *pair, unsigned length, uint64_t payload)
{
    cf_place place = pair->place[0];
    if (filter->spilled >= filter->geometry.spill_bound ||
        cf_spilled_matches(filter, pair) >= CF_SPILL_COPIES)
        return false;
    cf_spill_add(filter, &(cf_spilled){place.bucket, cf_tag_of(filter, place, length), payload});
    return true;
}

/* An entry of any length that may be there at this stage, void ones among them; into the list when
** there is no slot. */
static inline void put_any_length(cf_filter *filter)
{
    cf_pair pair = cf_pair_of(filter, random64());
    unsigned least = pair.place[0].extension, most = filter->view.new_length;
    unsigned length = random_below(3) ? least : least + (unsigned)random_below(most - least + 1);
    uint64_t payload = random64() & cf_low_bits(filter->view.form.payload_bits);
    int slot = cf_bucket_free_slot(filter, pair.place[0].bucket);
    bool other_is_full = pair.sides == 1 || cf_bucket_free_slot(filter, pair.place[1].bucket) < 0;
    if (slot < 0 && !(other_is_full && spill_one(filter, &pair, length, payload)))
        return;
    if (slot >= 0)
        cf_slot_set(filter, pair.place[0].bucket, (unsigned)slot,
                    cf_tag_of(filter, pair.place[0], length), payload);
    filter->occupied += slot >= 0;
    filter->items += 1 + (filter->geometry.counter_bits ? payload : 0);
}

/* Until so many are spilled; without a list, until six slots of ten are taken. */
static inline void fill_any_lengths(cf_filter *filter, unsigned spilled)
{
    uint64_t slots = filter->buckets * filter->geometry.bucket_size;
    while (filter->geometry.spill_bound ? filter->spilled < spilled : filter->occupied * 10 < slots * 6)
        put_any_length(filter);
}

/* ---- the model ---- */

enum { MODEL_BUCKETS = 16, MODEL_BITS = 8, MODEL_VALUES = 4 };

typedef struct spill_model {
    test_filter made;
    uint64_t most;   /* copies of a class and value that can be told */
    unsigned values; /* that are used: 1 without values */
    uint64_t copies[MODEL_BUCKETS << MODEL_BITS][MODEL_VALUES]; /* of each class */
    uint64_t spilled,
        both_bits; /* entries ever in the list after a call; absent keys with both bits set */
} spill_model;

static inline void new_model(spill_model *model, cf_geometry shape)
{
    memset(model, 0, sizeof *model);
    model->made = new_filter(shape);
    model->most = shape.counter_bits ? (uint64_t)1 << shape.counter_bits : shape.cap;
    model->values = shape.value_bits ? MODEL_VALUES : 1;
}

/* Any shape that the model has room for. */
static inline cf_geometry model_shape(unsigned b, unsigned budget, unsigned bound)
{
    unsigned f = 5 + (unsigned)random_below(MODEL_BITS - 4);
    cf_geometry shape = spilling(shape_of(2 + 2 * random_below(MODEL_BUCKETS / 2), b, f), budget, bound);
    shape.pair_bits = (uint8_t)(random_below(2) ? f : 4 + random_below(f - 3));
    shape.semisorted = b == 4 && random_below(2);
    if (random_below(3) == 0)
        shape.counter_bits = (uint8_t)(1 + random_below(3));
    else if (random_below(3) == 0)
        shape.value_bits = (uint8_t)(2 + random_below(31));
    return shape;
}

static inline size_t index_of_place(const cf_filter *filter, const cf_place *place)
{
    return (size_t)(place->bucket << filter->geometry.fingerprint_bits | place->tag);
}

/* All keys of one fingerprint and pair have one class. */
static inline uint64_t *class_of(spill_model *model, uint64_t hash)
{
    const cf_filter *filter = &model->made.filter;
    cf_pair pair = cf_candidates(filter, hash);
    size_t one = index_of_place(filter, &pair.place[0]), other = index_of_place(filter, &pair.place[1]);
    return model->copies[pair.sides == 2 && other < one ? other : one];
}

/* A hash with this base bucket and fingerprint. */
static inline uint64_t model_hash(const cf_filter *filter, uint64_t base, uint64_t fingerprint)
{
    uint64_t m0 = filter->geometry.buckets, start = UINT64_MAX / m0 * base + (base ? m0 : 0);
    uint64_t hash = ((start >> 32) + 1) << 32 | fingerprint;
    assert_true(cf_scale(hash, m0) == base);
    return hash;
}

static inline uint64_t any_model_hash(const cf_filter *filter)
{
    uint64_t fingerprints = (uint64_t)1 << filter->geometry.fingerprint_bits;
    return model_hash(filter, random_below(filter->geometry.buckets), random_below(fingerprints));
}

/* What the filter says of one hash. */
static inline void assert_answers(spill_model *model, uint64_t hash)
{
    const cf_filter *filter = &model->made.filter;
    const uint64_t *copies = class_of(model, hash);
    uint64_t sum = 0, value = MODEL_VALUES;
    for (unsigned v = 0; v < model->values; v++)
        sum += copies[v];
    assert_int_equal(cf_contains(filter, hash), sum > 0);
    assert_int_equal(cf_count(filter, hash), sum);
    assert_int_equal(cf_get(filter, hash, &value), sum > 0);
    if (sum > 0 && filter->geometry.value_bits)
        assert_true(value < MODEL_VALUES && copies[value] > 0);
    cf_pair pair = cf_candidates(filter, hash);
    model->both_bits += sum == 0 && cf_may_be_spilled(filter, &pair);
}

/* The census counts what is spilled, too; so the error rate is the share of all hashes that are
** found. */
static inline void assert_census(const spill_model *model)
{
    const cf_filter *filter = &model->made.filter;
    cf_census census = cf_take_census(filter);
    uint64_t copies = 0, sticky = 0, found = 0, hashes = filter->geometry.buckets;
    for (size_t i = 0; i < MODEL_BUCKETS << MODEL_BITS; i++)
        for (unsigned v = 0; v < MODEL_VALUES; v++) {
            copies += model->copies[i][v];
            sticky += model->copies[i][v] == model->most;
        }
    for (uint64_t base = 0; base < filter->geometry.buckets; base++)
        for (uint64_t low = 0; low >> filter->geometry.fingerprint_bits == 0; low++)
            found += cf_contains(filter, model_hash(filter, base, low));
    hashes <<= filter->geometry.fingerprint_bits;
    double off = census.fpr - (double)found / (double)hashes;
    assert_true(census.copies == copies && census.sticky == sticky);
    assert_true(off < 1e-9 && off > -1e-9);
}

/* All hashes there are, and all that is counted. */
static inline void assert_all_answers(spill_model *model)
{
    const cf_filter *filter = &model->made.filter;
    for (uint64_t base = 0; base < filter->geometry.buckets; base++)
        for (uint64_t low = 0; low >> filter->geometry.fingerprint_bits == 0; low++)
            assert_answers(model, model_hash(filter, base, low));
    assert_census(model);
}

/* After each call. */
static inline void assert_model(spill_model *model, uint64_t hash)
{
    assert_list(&model->made.filter);
    assert_sound(&model->made.filter);
    assert_answers(model, hash);
    model->spilled += model->made.filter.spilled;
}

static inline cf_status model_add(spill_model *model, uint64_t hash, uint64_t value)
{
    uint64_t *copies = &class_of(model, hash)[value];
    snapshot then = remember(&model->made.filter);
    cf_status status = cf_add_value(&model->made.filter, hash, value);
    if (status == CF_OK) {
        *copies += *copies < model->most;
        assert_int_equal(model->made.filter.items, then.filter.items + 1);
    } else {
        assert_int_equal(status, CF_FULL);
        assert_true(*copies < model->most);
        assert_unchanged(&model->made.filter, &then);
    }
    free(then.bytes);
    assert_model(model, hash);
    return status;
}

static inline void model_delete(spill_model *model, uint64_t hash, uint64_t value)
{
    uint64_t *copies = &class_of(model, hash)[value];
    cf_deleted expected = *copies == 0 ? CF_ABSENT : *copies < model->most ? CF_REMOVED : CF_STICKY;
    assert_int_equal(cf_delete_value(&model->made.filter, hash, value), expected);
    *copies -= expected == CF_REMOVED;
    assert_model(model, hash);
}

/* Adds until as many entries are spilled, or it is full. */
static inline void model_spill(spill_model *model, unsigned spilled)
{
    const cf_filter *filter = &model->made.filter;
    while (filter->spilled < spilled &&
           model_add(model, any_model_hash(filter), random_below(model->values)) == CF_OK)
        continue;
}

static inline void free_model(spill_model *model)
{
    free_filter(&model->made);
}

#endif
