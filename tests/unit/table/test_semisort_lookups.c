/* SPDX-License-Identifier: MIT */
/* Looking for keys in semi-sorted buckets: the short ways answer as the long ones do, and as plain
** buckets do. */
#include "../test.h"

#include "../../../src/table/address.h"
#include "../../../src/table/bucket.h"

enum { SLOTS = CF_SEMISORT_SLOTS, BUCKETS = 16 };

/* ---- two buckets at once ---- */

/* Slot by slot, after decoding. */
static bool bucket_has(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    uint64_t stored[SLOTS];
    bool found = false;
    cf_tags_read(filter, bucket, stored);
    for (unsigned i = 0; i < SLOTS; i++)
        found |= stored[i] == tag;
    return found;
}

static cf_spots spots_of(const cf_filter *filter, uint64_t bucket, uint64_t tag, uint64_t bucket2,
                         uint64_t tag2)
{
    uint64_t at = cf_record_at(filter, &filter->view.form, bucket);
    uint64_t at2 = cf_record_at(filter, &filter->view.form, bucket2);
    return (cf_spots){at / 8, at2 / 8, tag, tag2, at % 8, at2 % 8};
}

/* How often it was 0, 1, and 2: cannot tell. */
static unsigned answers[3];

/* 0 and 1 are right; 2 sends the caller the long way. */
static void assert_pair(const cf_filter *filter, uint64_t bucket, uint64_t tag, uint64_t bucket2,
                        uint64_t tag2)
{
    bool expected = bucket_has(filter, bucket, tag) || bucket_has(filter, bucket2, tag2);
    const cf_form *form = &filter->view.form;
    cf_spots spots = spots_of(filter, bucket, tag, bucket2, tag2);
    cf_semisort_found found = form->is_wide ? cf_semisort_find(filter, true, false, &spots)
                                            : cf_semisort_find(filter, false, false, &spots);
    cf_semisort_found again = form->is_wide ? cf_semisort_find(filter, true, true, &spots) : found;
    assert_int_equal(again.has, found.has);
    assert_int_equal(again.second, found.second);
    assert_int_equal(again.slot, found.slot);
    answers[found.has]++;
    if (found.has < 2)
        assert_int_equal(found.has, expected);
    if (found.has == 1)
        assert_true(found.second ? cf_slot_get(filter, bucket2, found.slot) == tag2
                                 : cf_slot_get(filter, bucket, found.slot) == tag);
}

/* What differs from the tag in the nibble, in the top, in both, in one bit, or not; or nothing. */
static uint64_t like(const cf_filter *filter, uint64_t tag, unsigned how)
{
    uint64_t top = filter->view.form.slot_mask & ~(uint64_t)15;
    switch (how) {
    case 0:
        return 0;
    case 1:
        return tag;
    case 2:
        return tag ^ (1 + random_below(15));
    case 3:
        return tag ^ (random64() & top);
    case 4:
        return random64() & filter->view.form.slot_mask;
    default:
        return tag ^ (uint64_t)1 << random_below(filter->view.form.lanes.width);
    }
}

enum { KINDS = 6 };

static void write_like(cf_filter *filter, uint64_t bucket, uint64_t tag, unsigned kinds)
{
    cf_record record = {{0}, {0}};
    for (unsigned i = 0; i < SLOTS; i++, kinds /= KINDS)
        record.tag[i] = like(filter, tag, kinds % KINDS);
    cf_record_write(filter, bucket, &record);
}

/* All tags of 8 bits, beside all kinds of buckets. */
static void short_lookups_are_right_for_all_tags_of_8_bits(void **state)
{
    test_filter made = new_filter(semisorted(shape_of(BUCKETS, 4, 8)));
    (void)state;
    assert_true(made.filter.view.form.lane_of != 0);
    for (uint64_t tag = 1; tag < 256; tag++)
        for (unsigned kinds = 0; kinds < KINDS * KINDS * KINDS * KINDS; kinds++) {
            uint64_t bucket = random_below(BUCKETS), other = random_below(BUCKETS);
            uint64_t tag2 = (tag & 15) | (random64() & 0xf0);
            write_like(&made.filter, other, tag2, (unsigned)random_below(KINDS * KINDS * KINDS * KINDS));
            write_like(&made.filter, bucket, tag, kinds);
            if (tag2 == 0 || other == bucket)
                tag2 = tag;
            assert_pair(&made.filter, bucket, tag, other, tag2);
            assert_pair(&made.filter, other, tag2, bucket, tag);
        }
    free_filter(&made);
}

static void check_pairs(cf_filter *filter)
{
    for (int k = 0; k < 20000; k++) {
        uint64_t bucket = random_below(BUCKETS), other = random_below(BUCKETS);
        uint64_t tag = 1 + random_below(filter->view.form.slot_mask),
                 top = filter->view.form.slot_mask & ~(uint64_t)15;
        uint64_t tag2 = (tag & 15) | (random_below(2) ? tag & top : random64() & top);
        write_like(filter, other, tag2, (unsigned)random_below(KINDS * KINDS * KINDS * KINDS));
        write_like(filter, bucket, tag, (unsigned)random_below(KINDS * KINDS * KINDS * KINDS));
        if (random_below(50) == 0) /* any code */
            cf_store_bits(filter->view.writable, cf_record_at(filter, &filter->view.form, bucket),
                          cf_low_bits(CF_CODE_BITS), random_below(1 << CF_CODE_BITS));
        assert_pair(filter, bucket, tag, other, tag2 ? tag2 : tag);
    }
}

/* All widths that have a short way, with payloads between the buckets. */
static void short_lookups_are_right_at_all_widths(void **state)
{
    uint64_t widths = 0;
    (void)state;
    for (unsigned f = 5; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned payload = 0; payload < 4; payload++) {
            cf_geometry shape = semisorted(shape_of(BUCKETS, 4, f));
            shape.value_bits = (uint8_t)payload;
            test_filter made = new_filter(shape);
            if (made.filter.view.form.lane_of) {
                check_pairs(&made.filter);
                widths |= (uint64_t)1 << f;
            }
            free_filter(&made);
        }
    assert_true(widths == (cf_low_bits(33) & ~cf_low_bits(6))); /* f = 6 .. 32 */
    assert_true(answers[0] > 1000 && answers[1] > 1000 && answers[2] > 1000);
}

/* ---- the filter of tops ---- */

static bool slow_match(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    uint64_t stored[SLOTS];
    bool found = false;
    cf_tags_read(filter, bucket, stored);
    for (unsigned i = 0; i < SLOTS; i++)
        found |= stored[i] != 0 && cf_tag_agrees(filter, stored[i], tag);
    return found;
}

/* Slots that agree with the tag, or with another, up to a terminator anywhere, or are like it, or
** anything. */
static void write_grown(cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    cf_record record = {{0}, {0}};
    if (random_below(2))
        tag = random64() & slot_mask_of(filter, bucket);
    for (unsigned i = 0; i < SLOTS; i++) {
        unsigned s = filter->geometry.pair_bits, width = cf_form_of(filter, bucket)->lanes.width;
        unsigned known = s + (unsigned)random_below(width - s);
        record.tag[i] = (tag & cf_low_bits(known)) | (uint64_t)1 << known;
        if (random_below(2))
            record.tag[i] = like(filter, record.tag[i], (unsigned)random_below(KINDS)) &
                            slot_mask_of(filter, bucket);
    }
    cf_record_write(filter, bucket, &record);
}

/* It lets through all that matches, and of the others some are kept out. */
static void check_tops(cf_filter *filter)
{
    unsigned excluded = 0, matched = 0;
    for (int k = 0; k < 2000; k++) {
        uint64_t bucket = random_below(filter->buckets),
                 tag = 1 + random_below(slot_mask_of(filter, bucket));
        if (filter->view.grown)
            write_grown(filter, bucket, tag);
        else
            write_like(filter, bucket, tag, (unsigned)random_below(KINDS * KINDS * KINDS * KINDS));
        bool allowed = cf_tops_allow(filter, cf_form_of(filter, bucket),
                                     cf_record_at(filter, cf_form_of(filter, bucket), bucket), tag);
        bool matches = slow_match(filter, bucket, tag);
        assert_true(allowed || !matches);
        excluded += !allowed;
        matched += matches;
    }
    assert_true(excluded > 0 && matched > 0);
}

static void tops_exclude_no_match(void **state)
{
    unsigned grown = 0;
    (void)state;
    for (unsigned f = 6; f <= 16; f++)
        for (unsigned s = 4; s <= f; s++)
            for (unsigned level = 0; level < 4; level++) {
                cf_geometry shape = semisorted(growing_shape(BUCKETS, 4, f));
                shape.pair_bits = (uint8_t)s;
                test_filter made = filter_at_stage(shape, level, random_below(2));
                if (made.filter.view.form.tops.words == 1) {
                    check_tops(&made.filter);
                    grown += made.filter.view.grown;
                }
                free_filter(&made);
            }
    assert_true(grown > 50);
}

/* ---- whole filters ---- */

static void assert_answers_agree(const cf_filter *filter, uint64_t hash)
{
    uint64_t value;
    bool found = cf_count(filter, hash) > 0;
    assert_int_equal(cf_contains(filter, hash), found);
    assert_int_equal(cf_get(filter, hash, &value), found);
}

/* The hash of a key that an entry matches, now and then with other bits beyond. */
static uint64_t hash_like_an_entry(const cf_filter *filter)
{
    cf_entry entry;
    uint64_t hash = random64();
    if (cf_entry_at(filter, random_below(filter->buckets), (unsigned)random_below(SLOTS), &entry)) {
        unsigned known = filter->geometry.pair_bits + entry.side.length;
        do
            hash = (random64() & ~cf_low_bits(known)) | entry.side.bits;
        while (cf_scale(hash, filter->geometry.buckets) != entry.side.base);
    }
    return hash;
}

/* Any bytes in the table: hostile codes, slots without order and terminator. */
static void check_noise(cf_geometry shape, unsigned level, uint64_t split)
{
    test_filter made = filter_at_stage(shape, level, split);
    cf_filter *filter = &made.filter;
    uint64_t bytes = cf_table_bits(&shape, level, split, filter->view.grown) / 8, found = 0;
    uint8_t mask = random_below(2) ? 0xff : (uint8_t)random64();
    for (uint64_t i = 0; i < bytes; i++)
        filter->view.writable[i] = (uint8_t)random64() & mask;
    for (int i = 0; i < 200; i++) {
        uint64_t hash = random_below(2) ? random64() : hash_like_an_entry(filter);
        assert_answers_agree(filter, hash);
        found += cf_contains(filter, hash);
    }
    assert_true(found > 0 || mask != 0xff);
    free_filter(&made);
}

static void all_ways_to_ask_agree_whatever_the_bytes(void **state)
{
    (void)state;
    for (unsigned f = 5; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned level = 0; level < 4; level++)
            for (int payload = 0; payload < 12; payload++) {
                cf_geometry shape = semisorted(shape_of(2 + 2 * random_below(BUCKETS / 2), 4, f));
                shape.pair_bits = (uint8_t)(4 + random_below(f - 3));
                shape.growth = true;
                shape.spill_bound = (uint16_t)random_below(3);
                shape.value_bits = (uint8_t)(payload < 4 ? 0 : random_below(33));
                check_noise(shape, level, random_below((shape.buckets << level) + 1));
            }
}

/* ---- the twin in plain buckets ---- */

/* The same shape twice, of the same keys. */
typedef struct twins {
    test_filter plain, sorted;
    uint64_t key[600];
    unsigned keys;
} twins;

static void new_twins(twins *t, cf_geometry shape)
{
    t->plain = growing_filter(shape, UINT64_MAX);
    t->sorted = growing_filter(semisorted(shape), UINT64_MAX);
    t->keys = 0;
}

static void free_twins(twins *t)
{
    free_filter(&t->plain);
    free_filter(&t->sorted);
}

static void assert_same_answers(const twins *t, unsigned probes)
{
    for (unsigned i = 0; i < probes; i++) {
        uint64_t hash = i < t->keys ? t->key[i] : random64();
        uint64_t copies = cf_count(&t->plain.filter, hash);
        assert_int_equal(cf_count(&t->sorted.filter, hash), copies);
        assert_int_equal(cf_contains(&t->plain.filter, hash), copies > 0);
        assert_answers_agree(&t->sorted.filter, hash);
    }
    assert_int_equal(t->plain.filter.items, t->sorted.filter.items);
    if (t->plain.filter.geometry.counter_bits ==
        0) { /* which entry counts a copy depends on their order */
        uint64_t plain = t->plain.filter.occupied + t->plain.filter.spilled;
        uint64_t sorted = t->sorted.filter.occupied + t->sorted.filter.spilled;
        /* And which of equally long ones go for a mark. */
        uint64_t differ = t->plain.filter.geometry.cap * cf_take_census(&t->plain.filter).sticky;
        assert_true(plain + differ >= sorted && sorted + differ >= plain);
    }
}

/* Adds a key to both, an old one now and then; neither grows. False: one of them is full. */
static bool add_to_both(twins *t)
{
    bool old = t->keys == 600 || (t->keys > 0 && random_below(4) == 0);
    uint64_t key = old ? t->key[random_below(t->keys)] : random64();
    uint64_t value = random64() & cf_low_bits(t->plain.filter.geometry.value_bits);
    cf_memory memory = t->plain.filter.memory;
    t->plain.filter.memory.resize = t->sorted.filter.memory.resize = NULL;
    bool stored = cf_add_value(&t->plain.filter, key, value) == CF_OK &&
                  cf_add_value(&t->sorted.filter, key, value) == CF_OK;
    t->plain.filter.memory = t->sorted.filter.memory = memory;
    if (!old)
        t->key[t->keys++] = key;
    return stored;
}

static void delete_from_both(twins *t)
{
    uint64_t key = t->key[random_below(t->keys)];
    uint64_t value = random64() & cf_low_bits(t->plain.filter.geometry.value_bits);
    assert_int_equal(cf_delete_value(&t->plain.filter, key, value),
                     cf_delete_value(&t->sorted.filter, key, value));
}

/* Adds and deletes until one is full. */
static void live_alike(cf_geometry shape)
{
    static twins t;
    new_twins(&t, shape);
    for (int i = 0; i < 2000 && add_to_both(&t); i++) {
        if (random_below(3) == 0)
            delete_from_both(&t);
        if (random_below(20) == 0) {
            assert_same_answers(&t, t.keys + 100);
            assert_sound(&t.sorted.filter);
        }
    }
    free_twins(&t);
}

static cf_geometry twin_shape(unsigned f)
{
    cf_geometry shape = shape_of(2 + 2 * random_below(20), 4, f);
    if (random_below(3) == 0)
        shape = spilling(shape, (unsigned)random_below(11), 1 + (unsigned)random_below(20));
    if (random_below(3) == 0)
        shape.counter_bits = (uint8_t)random_below(4);
    else if (random_below(3) == 0)
        shape.value_bits = (uint8_t)random_below(3);
    return shape;
}

static void semisorted_filters_answer_as_plain_ones(void **state)
{
    (void)state;
    for (unsigned f = 5; f <= CF_FINGERPRINT_MAX; f++)
        for (int round = 0; round < 6; round++)
            live_alike(twin_shape(f));
}

/* Step by step, as far as no entry is void. */
static void grow_alike(cf_geometry shape)
{
    static twins t;
    new_twins(&t, shape);
    for (uint64_t level = 0; level < 3; level++) {
        for (uint64_t i = 0; i < 2 * shape.buckets << level && add_to_both(&t); i++)
            continue;
        for (uint64_t i = 0; i < shape.buckets << level; i++) {
            assert_int_equal(cf_grow(&t.plain.filter), CF_OK);
            assert_int_equal(cf_grow(&t.sorted.filter), CF_OK);
            assert_same_answers(&t, t.keys + 100);
        }
        assert_sound(&t.sorted.filter);
    }
    free_twins(&t);
}

static void semisorted_filters_grow_as_plain_ones(void **state)
{
    (void)state;
    for (unsigned f = 10; f <= CF_FINGERPRINT_MAX; f++) {
        cf_geometry shape = growing_shape(8, 4, f);
        grow_alike(shape);
        shape.value_bits = 5;
        grow_alike(spilling(shape, 0, 30));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(short_lookups_are_right_for_all_tags_of_8_bits),
    cmocka_unit_test(short_lookups_are_right_at_all_widths),
    cmocka_unit_test(tops_exclude_no_match),
    cmocka_unit_test(all_ways_to_ask_agree_whatever_the_bytes),
    cmocka_unit_test(semisorted_filters_answer_as_plain_ones),
    cmocka_unit_test(semisorted_filters_grow_as_plain_ones),
};

RUN_TESTS(tests)
