/* SPDX-License-Identifier: MIT */
/* Values of up to 62 bits, and filters that get more bits for them. */
#include "../../probe.h"
#include "../test.h"

static uint64_t value_of(uint64_t hash, unsigned bits)
{
    return (hash * 0x9E3779B97F4A7C15) >> (64 - bits);
}

/* Two values of each key; every tenth pair is saturated. */
static test_filter with_values(cf_geometry shape, unsigned n, uint64_t *hashes)
{
    test_filter made = growing_filter(shape, UINT64_MAX);
    unsigned bits = shape.value_bits;
    for (unsigned i = 0; i < n; i++) {
        hashes[i] = random64();
        assert_int_equal(cf_add_value(&made.filter, hashes[i], value_of(hashes[i], bits)), CF_OK);
        assert_int_equal(cf_add_value(&made.filter, hashes[i], value_of(~hashes[i], bits)), CF_OK);
        for (unsigned copy = 0; i % 10 == 0 && copy < 2 * CF_BUCKET_MAX; copy++)
            assert_int_equal(cf_add_value(&made.filter, hashes[i], value_of(hashes[i], bits)), CF_OK);
    }
    return made;
}

static void assert_values(const cf_filter *filter, unsigned bits, const uint64_t *hashes, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t values[CF_VALUES_MAX];
        unsigned found = 0, count = cf_get_all(filter, hashes[i], values);
        for (unsigned j = 0; j < count; j++)
            found += values[j] == value_of(hashes[i], bits) || values[j] == value_of(~hashes[i], bits);
        assert_int_equal(found, 2);
    }
    assert_sound(filter);
}

TEST(wide_values_are_kept_and_get_wider)
{
    enum { N = 1500 };
    uint64_t hashes[N];
    for (unsigned b = 4; b <= 8;
         b *= 2) /* two values of each key need more room than buckets of two have */
        for (unsigned bits = 20; bits <= CF_WIDE_VALUE_MAX; bits += 7)
            for (unsigned n = 100; n <= N; n += N - 100) {
                cf_geometry shape = growing_shape(100, b, 16);
                shape.value_bits = (uint8_t)bits;
                test_filter made = with_values(shape, n, hashes);
                assert_values(&made.filter, bits, hashes, n);
                for (unsigned more = bits; more <= CF_WIDE_VALUE_MAX; more += 6) {
                    shape.value_bits = (uint8_t)more;
                    test_filter wide = growing_filter(shape, UINT64_MAX);
                    assert_int_equal(cf_widen(&wide.filter, &made.filter), CF_OK);
                    assert_values(&wide.filter, bits, hashes, n);
                    assert_int_equal(wide.filter.items, made.filter.items);
                    for (unsigned i = 1; i < n; i += 2)
                        assert_int_equal(
                            cf_delete_value(&wide.filter, hashes[i], value_of(hashes[i], bits)),
                            i % 10 ? CF_REMOVED : CF_SATURATED);
                    assert_sound(&wide.filter);
                    free_filter(&wide);
                }
                free_filter(&made);
            }
}

TEST(only_an_empty_filter_of_the_same_shape_gets_wider)
{
    uint64_t hash;
    cf_geometry shape = growing_shape(100, 4, 16), other = shape;
    shape.value_bits = 20;
    test_filter made = with_values(shape, 1, &hash), wide = growing_filter(shape, UINT64_MAX);
    assert_int_equal(cf_widen(&made.filter, &wide.filter), CF_MISMATCH);
    shape.value_bits = 19;
    test_filter narrow = growing_filter(shape, UINT64_MAX);
    assert_int_equal(cf_widen(&narrow.filter, &made.filter), CF_MISMATCH);
    other.value_bits = 30;
    other.buckets = 102;
    test_filter larger = growing_filter(other, UINT64_MAX);
    assert_int_equal(cf_widen(&larger.filter, &made.filter), CF_MISMATCH);
    test_filter *all[] = {&made, &wide, &narrow, &larger};
    for (int i = 0; i < 4; i++)
        free_filter(all[i]);
}

TEST(a_stash_has_no_room_for_wide_values)
{
    const char *why = "";
    cf_geometry shape;
    cf_options options = {.value_bits = CF_WIDE_VALUE_MAX, .stash = true};
    assert_int_equal(cf_plan(100, 0.01, &options, &shape, &why), CF_BAD_ARGUMENT);
    assert_string_equal(why, "with stash=on value_bits are at most 32");
    options.stash = false;
    assert_int_equal(cf_plan(100, 0.01, &options, &shape, &why), CF_OK);
}
