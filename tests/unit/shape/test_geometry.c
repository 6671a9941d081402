/* SPDX-License-Identifier: MIT */
#include "../test.h"

static cf_status check(cf_geometry shape)
{
    const char *why = NULL;
    cf_status status = cf_geometry_check(&shape, &why);
    if (status != CF_OK)
        assert_non_null(why);
    return status;
}

static void sound_shapes_are_taken(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++) {
            assert_int_equal(check(shape_of(2, b, f)), CF_OK);
            assert_int_equal(check(shape_of((uint64_t)1 << 32, b, f)), CF_OK);
        }
}

static void unsound_fields_are_named(void **state)
{
    cf_geometry shape = shape_of(10, 4, 12);
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        cf_geometry bad = shape;
        bad.bucket_size = (uint8_t)b;
        bad.cap = 1;
        bool sound = b == 1 || b == 2 || b == 4 || b == 8;
        assert_int_equal(check(bad), sound ? CF_OK : CF_BAD_ARGUMENT);
        bad = shape;
        bad.fingerprint_bits = (uint8_t)b;
        assert_int_equal(check(bad), b >= 12 && b <= 32 ? CF_OK : CF_BAD_ARGUMENT); /* s = 12 */
        bad = shape;
        bad.pair_bits = (uint8_t)b;
        assert_int_equal(check(bad), b >= 4 && b <= 12 ? CF_OK : CF_BAD_ARGUMENT);
        bad = shape;
        bad.cap = (uint8_t)b;
        assert_int_equal(check(bad), b >= 1 && b <= 8 ? CF_OK : CF_BAD_ARGUMENT);
        bad = shape;
        bad.buckets = b;
        assert_int_equal(check(bad), b > 0 && b % 2 == 0 ? CF_OK : CF_BAD_ARGUMENT);
        bad = shape;
        bad.affinity = (uint8_t)b;
        assert_int_equal(check(bad), b <= 3 ? CF_OK : CF_BAD_ARGUMENT);
        bad = shape;
        bad.collation = (uint8_t)b;
        assert_int_equal(check(bad), b <= 2 ? CF_OK : CF_BAD_ARGUMENT);
    }
}

static void payload_fields_are_checked(void **state)
{
    cf_geometry shape = shape_of(10, 4, 12);
    (void)state;
    for (unsigned bits = 0; bits < 256; bits++) {
        cf_geometry other = shape;
        other.counter_bits = (uint8_t)bits;
        assert_int_equal(check(other), bits <= 16 ? CF_OK : CF_BAD_ARGUMENT);
        other.value_bits = 1;
        assert_int_equal(check(other), bits == 0 ? CF_OK : CF_BAD_ARGUMENT);
        other.counter_bits = 0;
        other.value_bits = (uint8_t)bits;
        assert_int_equal(check(other), bits <= 32 ? CF_OK : CF_BAD_ARGUMENT);
    }
}

/* Base bucket and fingerprint may use 64 bits of the hash together, not 65. */
static void hash_bits_are_enough(void **state)
{
    (void)state;
    assert_int_equal(check(shape_of(0, 4, 12)), CF_BAD_ARGUMENT);
    assert_int_equal(check(shape_of((uint64_t)1 << 32, 4, 32)), CF_OK);
    assert_int_equal(check(shape_of(((uint64_t)1 << 32) + 2, 4, 32)), CF_TOO_BIG);
    assert_int_equal(check(shape_of((uint64_t)1 << 40, 8, 24)), CF_OK);
    assert_int_equal(check(shape_of(((uint64_t)1 << 40) + 2, 8, 4)), CF_TOO_BIG);
    assert_int_equal(check(shape_of(UINT64_MAX - 1, 8, 4)), CF_TOO_BIG);
}

static void bytes_are_header_table_and_reserve(void **state)
{
    cf_geometry shape = shape_of(2, 1, 4);
    (void)state;
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 1 + 8);
    shape = shape_of(6, 2, 5);
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 8 + 8);
    shape.value_bits = 3;
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 12 + 8);
    shape.value_bits = 0;
    shape.counter_bits = 16;
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 32 + 8);
    shape = shape_of((uint64_t)1 << 32, 8, 32);
    assert_true(cf_geometry_bytes(&shape) == 64 + ((uint64_t)1 << 37) + 8);
    assert_true(cf_geometry_slots(&shape) == (uint64_t)1 << 35);
}

static void assert_close(double value, double expected)
{
    assert_true(value > expected * 0.999999 && value < expected * 1.000001);
}

/* Two full buckets of four: 1 - (1 - p)^8, p with the zero fingerprint counted as one. */
static void expected_rate_follows_the_formula(void **state)
{
    cf_geometry shape = shape_of(1000, 4, 8);
    double p = 258.0 / 65536, miss = 1;
    (void)state;
    for (int i = 0; i < 8; i++)
        miss *= 1 - p;
    assert_close(cf_expected_fpr(&shape, 4000), 1 - miss);
    assert_true(cf_expected_fpr(&shape, 0) == 0);
    shape = shape_of(2, 4, 8); /* half full: four slots are all there is to compare */
    assert_close(cf_expected_fpr(&shape, 4), 1 - (1 - p) * (1 - p) * (1 - p) * (1 - p));
}

/* ---- stages ---- */

/* f + 2 + floor(2 log2(level + 1)): the last level of each width. */
static void slots_widen_by_the_schedule(void **state)
{
    static const unsigned last[] = {0, 0, 2, 3, 5, 7, 11, 15, 22, 31, 45};
    cf_geometry shape = growing_shape(10, 4, 13);
    unsigned more = 2;
    (void)state;
    assert_int_equal(cf_slot_bits(&shape, 0, false), 13);
    assert_int_equal(cf_slot_bits(&shape, 0, true), 13 + 3);
    for (unsigned level = 1; level < 40; level++) {
        while (last[more] < level)
            more++;
        assert_int_equal(cf_slot_bits(&shape, level, true), 13 + 2 + more);
    }
}

/* W = f - s + 1 + floor(2 log2(level)) remainder bits behind the level, from level 2 on; never more
** than the hash has. */
static void new_entries_know_more_with_every_level(void **state)
{
    static const unsigned w[] = {1, 2, 2, 3, 4, 4, 5, 5};
    cf_geometry shape = growing_shape(10, 4, 13);
    (void)state;
    for (unsigned level = 0; level < 8; level++) {
        assert_int_equal(cf_new_length(&shape, level, true), level + 13 - 6 + 1 + w[level]);
        assert_true(cf_buckets_at(&shape, level, 1) == (10u << level) + 1);
        assert_int_equal(cf_slot_bits(&shape, level, true), 13 + 2 + w[level]);
    }
    assert_int_equal(cf_new_length(&shape, 0, false), 13 - 6);
    shape = growing_shape((uint64_t)1 << 20, 4, 32);
    assert_int_equal(cf_new_length(&shape, 10, true), 64 - 6 - 20);
}

static cf_status status_at(cf_geometry shape, unsigned level, uint64_t split)
{
    const char *why = NULL;
    cf_status status = cf_stage_check(&shape, level, split, &why);
    assert_true(status == CF_OK || why != NULL);
    return status;
}

static void stages_have_limits(void **state)
{
    cf_geometry shape = growing_shape(10, 4, 13), fixed = shape_of(10, 4, 13);
    (void)state;
    assert_int_equal(status_at(shape, 0, 0), CF_OK);
    assert_int_equal(status_at(shape, 3, 80), CF_OK);
    assert_int_equal(status_at(shape, 3, 81), CF_BAD_ARGUMENT);
    assert_int_equal(status_at(shape, 36, 1), CF_OK);
    assert_int_equal(status_at(shape, 37, 1), CF_TOO_BIG); /* 10 * 2^37 > 2^40 buckets */
    assert_int_equal(status_at(shape, 40, 0), CF_TOO_BIG);
    assert_int_equal(status_at(shape, UINT32_MAX, 0), CF_TOO_BIG);
    assert_int_equal(status_at(fixed, 0, 0), CF_OK);
    assert_int_equal(status_at(fixed, 0, 1), CF_BAD_ARGUMENT);
    assert_int_equal(status_at(fixed, 1, 0), CF_BAD_ARGUMENT);
    shape = growing_shape((uint64_t)1 << 32, 4, 32);
    shape.pair_bits = 28; /* 64 - 32 - 28 = 4 remainder bits */
    assert_int_equal(status_at(shape, 2, 1), CF_OK);
    assert_int_equal(status_at(shape, 3, 0), CF_TOO_BIG);
    shape.pair_bits = 32;
    assert_int_equal(status_at(shape, 0, 0), CF_OK);
    assert_int_equal(status_at(shape, 0, 1), CF_TOO_BIG);
}

/* One sticky bit above the value once grown; with counters no bit is spent. */
static void payloads_get_a_sticky_bit_by_growth(void **state)
{
    (void)state;
    for (unsigned value = 0; value <= CF_VALUE_MAX; value++)
        for (unsigned counter = 0; counter <= (value ? 0 : CF_COUNTER_MAX); counter++) {
            cf_geometry shape = spilling(growing_shape(10, 4, 12), 0, value % 3);
            shape.value_bits = (uint8_t)value;
            shape.counter_bits = (uint8_t)counter;
            unsigned payload = counter ? counter : value + 1, overflow = value % 3 > 0;
            assert_int_equal(cf_payload_bits(&shape, false), value + counter);
            assert_int_equal(cf_payload_bits(&shape, true), payload);
            assert_true(cf_record_bits(&shape, 0, false) == 4 * (12 + value + counter) + overflow);
            assert_true(cf_record_bits(&shape, 0, true) == 4 * (12 + 3 + payload) + overflow);
            assert_true(cf_record_bits(&shape, 1, true) == 4 * (12 + 4 + payload) + overflow);
            uint64_t bits = 13 * cf_record_bits(&shape, 1, true);
            assert_true(cf_bytes_at(&shape, 0, 3, true) == 64 + (bits + 7) / 8 + 8 + 16 * (value % 3));
            shape.semisorted = true;
            assert_int_equal(cf_tag_bits(&shape, 1, true), 4 * 16 - 4);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sound_shapes_are_taken),
    cmocka_unit_test(unsound_fields_are_named),
    cmocka_unit_test(payload_fields_are_checked),
    cmocka_unit_test(hash_bits_are_enough),
    cmocka_unit_test(bytes_are_header_table_and_reserve),
    cmocka_unit_test(expected_rate_follows_the_formula),
    cmocka_unit_test(slots_widen_by_the_schedule),
    cmocka_unit_test(new_entries_know_more_with_every_level),
    cmocka_unit_test(stages_have_limits),
    cmocka_unit_test(payloads_get_a_sticky_bit_by_growth),
};

RUN_TESTS(tests)
