/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/address.h"
#include "../../../src/table/bucket.h"

/* Changes the payload of a slot alone. */
static void set_payload(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t payload)
{
    cf_slot_set(filter, bucket, slot, cf_slot_get(filter, bucket, slot), payload);
}

static void assert_damaged(const cf_filter *filter, const char *expected)
{
    const char *why = "";
    assert_int_equal(cf_check(filter, &why), CF_DAMAGED);
    assert_string_equal(why, expected);
}

static test_filter half_full(void)
{
    test_filter made = new_filter(shape_of(66, 2, 11)); /* 1452 bits: 4 left over */
    for (int i = 0; i < 60; i++)
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
    return made;
}

static void sound_filters_pass(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (uint64_t m = 2; m < 60; m += 2) {
            test_filter made = new_filter(shape_of(m, b, 9));
            while (cf_add(&made.filter, random64()) == CF_OK)
                assert_sound(&made.filter);
            free_filter(&made);
        }
}

static void counts_are_compared(void **state)
{
    test_filter made = half_full();
    (void)state;
    made.filter.occupied++;
    assert_damaged(&made.filter, "the header does not count the occupied slots right");
    made.filter.occupied -= 2;
    assert_damaged(&made.filter, "the header does not count the occupied slots right");
    made.filter.occupied++;
    made.filter.items = made.filter.occupied - 1;
    assert_damaged(&made.filter, "the header counts fewer items than the entries stand for");
    made.filter.items += 2;
    assert_damaged(&made.filter, "the header counts more items than the entries stand for");
    made.filter.items = CF_ITEMS_MAX;
    assert_damaged(&made.filter, "the header counts more items than the entries stand for");
    free_filter(&made);
}

/* What a sticky key has absorbed nobody knows: any number of items is possible then. */
static void sticky_keys_may_have_absorbed_anything(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        cf_geometry shape = kind == 2 ? growing_shape(10, 4, 12) : shape_of(10, 4, 12);
        shape.counter_bits = kind == 1 ? 2 : 0;
        test_filter made = growing_filter(shape, UINT64_MAX);
        uint64_t hash = random64(), most = shape.counter_bits ? 4 : 3;
        for (unsigned i = 0; kind == 2 && i < 300; i++)
            assert_int_equal(cf_add(&made.filter, ~hash - i * UINT64_C(0x123456789abcdef)), CF_OK);
        for (uint64_t i = 1; i < most; i++)
            assert_int_equal(cf_add(&made.filter, hash), CF_OK);
        made.filter.items++;
        assert_damaged(&made.filter, "the header counts more items than the entries stand for");
        made.filter.items--;
        assert_int_equal(cf_add(&made.filter, hash), CF_OK);
        assert_sound(&made.filter);
        made.filter.items = CF_ITEMS_MAX;
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void unused_bits_are_checked(void **state)
{
    test_filter made = half_full();
    (void)state;
    uint8_t *behind = made.bytes + 64 + 1452 / 8;
    *behind ^= 0x80;
    assert_damaged(&made.filter, "the bits behind the last bucket are not zero");
    *behind ^= 0x80;
    for (unsigned i = 1; i <= 8; i++) {
        behind[i] = 1;
        assert_damaged(&made.filter, "the reserved bytes are not zero");
        behind[i] = 0;
    }
    assert_sound(&made.filter);
    free_filter(&made);
}

static void too_many_copies_are_found(void **state)
{
    test_filter made = half_full();
    (void)state;
    cf_pair pair = cf_pair_of(&made.filter, random64());
    for (unsigned side = 0; side < pair.sides; side++)
        for (unsigned slot = 0; slot < made.filter.geometry.bucket_size; slot++)
            cf_slot_set(&made.filter, pair.place[side].bucket, slot, pair.place[side].tag, 0);
    assert_damaged(&made.filter, "a key has more copies than cap allows");
    free_filter(&made);
}

static void census_counts(void **state)
{
    test_filter made = new_filter(shape_of(64, 4, 20));
    (void)state;
    for (unsigned copies = 1; copies <= 4; copies++)
        for (unsigned i = 0; i < copies; i++)
            cf_add(&made.filter, copies * UINT64_C(0x3333333333333333));
    cf_census census = cf_take_census(&made.filter);
    assert_int_equal(census.occupied, 1 + 2 + 3 + 3);
    assert_int_equal(census.copies, 1 + 2 + 3 + 3);
    assert_int_equal(census.sticky, 2); /* fingerprints, not slots */
    assert_int_equal(census.voids, 0);
    free_filter(&made);
}

static void census_counts_what_counters_hold(void **state)
{
    cf_geometry shape = shape_of(64, 4, 20);
    (void)state;
    shape.counter_bits = 2;
    test_filter made = new_filter(shape);
    for (unsigned i = 0; i < 3; i++)
        cf_add(&made.filter, UINT64_C(0x3333333333333333));
    for (unsigned i = 0; i < 3 * 4; i++) /* sticky from the fourth on */
        cf_add(&made.filter, UINT64_C(0x6666666666666666));
    cf_census census = cf_take_census(&made.filter);
    assert_int_equal(census.occupied, 1 + 1);
    assert_int_equal(census.copies, 3 + 4);
    assert_int_equal(census.sticky, 1);
    free_filter(&made);
}

/* ---- the error rate that the entries show ---- */

/* The share of hashes found, of all there can be when 6 bits choose the base bucket and the f
** lowest the fingerprint: the others do not matter. */
static double share_found(const cf_filter *filter)
{
    unsigned f = filter->geometry.fingerprint_bits;
    uint64_t found = 0;
    for (uint64_t base = 0; base < 64; base++)
        for (uint64_t low = 0; low < (uint64_t)1 << f; low++)
            found += cf_contains(filter, base << 58 | low);
    return (double)found / (double)((uint64_t)64 << f);
}

static void assert_close(double value, double expected)
{
    assert_true(value > expected * 0.999999 && value < expected * 1.000001);
}

/* Exact, repeated and zero fingerprints included. */
static void census_knows_the_error_rate(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (uint64_t m = 2; m <= 64; m *= 2) {
            test_filter made = new_filter(shape_of(m, b, 9));
            assert_true(cf_take_census(&made.filter).fpr == 0);
            cf_add(&made.filter, 0); /* becomes 1 */
            for (uint64_t i = 0; i < m * b; i++)
                cf_add(&made.filter, i % 3 ? random64() : random64() & ~UINT64_C(511));
            assert_close(cf_take_census(&made.filter).fpr, share_found(&made.filter));
            free_filter(&made);
        }
}

/* Entries of all lengths, which cover each other or do not: five standard deviations at most from
** what random hashes find. */
static void census_knows_the_error_rate_of_grown_filters(void **state)
{
    enum { PROBES = 400000 };
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t m = 2; m <= 10; m += 4) {
            test_filter made = growing_filter(growing_shape(m, b, 12), UINT64_MAX);
            for (int i = 0; i < 2000; i++)
                cf_add(&made.filter, random64());
            double expected = cf_take_census(&made.filter).fpr, found = 0;
            for (int i = 0; i < PROBES; i++)
                found += cf_contains(&made.filter, random64());
            double off = found - expected * PROBES;
            assert_true(expected > 0 && off * off <= 25 * expected * PROBES);
            free_filter(&made);
        }
}

/* ---- grown tables ---- */

static test_filter half_grown(void)
{
    test_filter made = growing_filter(growing_shape(10, 4, 12), UINT64_MAX);
    while (made.filter.buckets < 25)
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
    assert_sound(&made.filter);
    return made;
}

/* Some occupied slot. */
static void find_entry(const cf_filter *filter, uint64_t *bucket, unsigned *slot, cf_entry *entry)
{
    do {
        *bucket = random_below(filter->buckets);
        *slot = (unsigned)random_below(filter->geometry.bucket_size);
    } while (!cf_entry_at(filter, *bucket, *slot, entry));
}

static void grown_entries_are_checked(void **state)
{
    test_filter made = half_grown();
    cf_entry entry;
    uint64_t bucket;
    unsigned slot;
    (void)state;
    find_entry(&made.filter, &bucket, &slot, &entry);
    uint64_t tag = cf_slot_get(&made.filter, bucket, slot);
    cf_slot_set(&made.filter, bucket, slot, (tag & made.filter.view.pair_mask) | 1, 0);
    assert_sound(&made.filter); /* it reads as one that knows no remainder bits */
    cf_slot_set(&made.filter, bucket, slot, tag, 0);
    made.filter.occupied--;
    assert_damaged(&made.filter, "the header does not count the occupied slots right");
    made.filter.occupied++;
    assert_sound(&made.filter);
    free_filter(&made);
}

/* In a bucket that is split the widest slot has one bit more than an entry may know. */
static void grown_entries_know_no_more_than_the_level_gives(void **state)
{
    test_filter made = filter_at_stage(growing_shape(10, 4, 12), 1, 7);
    uint64_t top = (uint64_t)1 << (made.filter.view.form.lanes.width - 1);
    (void)state;
    made.filter.occupied = made.filter.items = 1;
    cf_slot_set(&made.filter, 9, 0, top | 5, 0); /* not split */
    assert_sound(&made.filter);
    cf_slot_set(&made.filter, 9, 0, 0, 0);
    cf_slot_set(&made.filter, 0, 0, top | 5, 0); /* split */
    assert_damaged(&made.filter, "an entry knows more bits than this level of growth gives");
    cf_slot_set(&made.filter, 0, 0, top >> 1 | 5, 0);
    assert_sound(&made.filter);
    free_filter(&made);
}

/* ---- payloads ---- */

static void payloads_of_empty_slots_are_found(void **state)
{
    cf_geometry shape = shape_of(34, 4, 11);
    (void)state;
    shape.value_bits = 5;
    test_filter made = new_filter(shape);
    assert_int_equal(cf_add_value(&made.filter, 12345, 31), CF_OK);
    assert_sound(&made.filter);
    set_payload(&made.filter, 32, 3, 1);
    assert_damaged(&made.filter, "an empty slot has a counter, a value or a sticky bit");
    set_payload(&made.filter, 32, 3, 0);
    assert_sound(&made.filter);
    free_filter(&made);
}

/* Cap copies of each value, not of all of them together. */
static void copies_of_one_value_are_counted(void **state)
{
    cf_geometry shape = shape_of(34, 4, 11);
    (void)state;
    shape.value_bits = 5;
    test_filter made = new_filter(shape);
    cf_pair pair = cf_pair_of(&made.filter, random64());
    for (unsigned slot = 0; slot < 4; slot++)
        cf_slot_set(&made.filter, pair.place[0].bucket, slot, pair.place[0].tag, slot);
    made.filter.occupied = made.filter.items = 4;
    assert_sound(&made.filter);
    for (unsigned slot = 0; slot < 4; slot++)
        set_payload(&made.filter, pair.place[0].bucket, slot, 7);
    assert_damaged(&made.filter, "a key has more copies than cap allows");
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sound_filters_pass),
    cmocka_unit_test(counts_are_compared),
    cmocka_unit_test(sticky_keys_may_have_absorbed_anything),
    cmocka_unit_test(unused_bits_are_checked),
    cmocka_unit_test(too_many_copies_are_found),
    cmocka_unit_test(census_counts),
    cmocka_unit_test(census_counts_what_counters_hold),
    cmocka_unit_test(census_knows_the_error_rate),
    cmocka_unit_test(census_knows_the_error_rate_of_grown_filters),
    cmocka_unit_test(grown_entries_are_checked),
    cmocka_unit_test(grown_entries_know_no_more_than_the_level_gives),
    cmocka_unit_test(payloads_of_empty_slots_are_found),
    cmocka_unit_test(copies_of_one_value_are_counted),
};

RUN_TESTS(tests)
