/* SPDX-License-Identifier: MIT */
/* Single calls on small filters, and what a look inside says. */
#include "../../model/checked.h"

/* Each status has a text of its own, and a number that is no status has one, too. */
TEST(every_status_has_a_text)
{
    for (int one = CF_OK; one <= CF_SATURATED + 1; one++) {
        assert_non_null(cf_status_text((cf_status)one));
        for (int other = CF_OK; other < one; other++)
            assert_string_not_equal(cf_status_text((cf_status)one), cf_status_text((cf_status)other));
    }
    assert_string_equal(cf_status_text(CF_OK), "ok");
    assert_string_equal(cf_status_text(CF_INTERRUPTED), "interrupted");
    assert_string_equal(cf_status_text((cf_status)(CF_SATURATED + 1)), "unknown status");
}

/* ---- single calls ---- */

TEST(empty_filter_holds_nothing)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    for (int i = 0; i < 1000; i++)
        assert_false(cf_contains(&made.filter, random64()));
    assert_int_equal(made.filter.items, 0);
    free_filter(&made);
}

/* Each value of a key once, also when it has several copies. */
TEST(all_values_of_a_key)
{
    cf_geometry shape = shape_of(50, 8, 16);
    uint64_t values[CF_VALUES_MAX], hash = random64(), value = 7;
    shape.value_bits = 8;
    test_filter made = new_filter(shape);
    assert_int_equal(cf_get_all(&made.filter, hash, values), 0);
    assert_false(cf_get(&made.filter, hash, &value));
    assert_int_equal(value, 7);
    for (unsigned i = 1; i <= 3; i++)
        for (unsigned copies = 0; copies < 2; copies++)
            assert_int_equal(cf_add_value(&made.filter, hash, 10 * i), CF_OK);
    assert_int_equal(cf_get_all(&made.filter, hash, values), 3);
    assert_int_equal(values[0] + values[1] + values[2], 60);
    assert_true(cf_get(&made.filter, hash, &value));
    assert_int_equal(value, values[0]);
    for (unsigned left = 3; left >= 2; left--) {
        assert_int_equal(cf_delete_value(&made.filter, hash, 20), CF_REMOVED);
        assert_int_equal(cf_get_all(&made.filter, hash, values), left);
    }
    assert_int_equal(cf_delete_value(&made.filter, hash, 20), CF_ABSENT);
    free_filter(&made);
}

/* ---- looking inside ---- */

TEST(candidates_are_two_buckets)
{
    for (unsigned b = 1; b <= 8; b *= 2)
        for (uint64_t buckets = 2; buckets < 40; buckets += 2) {
            test_filter made = growing_filter(growing_shape(buckets, b, 12), UINT64_MAX);
            const cf_filter *filter = &made.filter;
            for (unsigned i = 0; i < 60; i++) {
                cf_pair pair = cf_candidates(filter, random64());
                assert_true(pair.sides == 2 && pair.place[0].bucket != pair.place[1].bucket);
                assert_true(pair.place[0].bucket < filter->buckets);
                assert_true(pair.place[1].bucket < filter->buckets);
                assert_true(i < 5 || probe_split(&made.filter));
            }
            free_filter(&made);
        }
}

/* Both buckets of keys are spread evenly: 5 standard deviations at most from the mean. */
TEST(candidates_spread_over_the_table)
{
    enum { BUCKETS = 100, EACH = 1000 };
    test_filter made = new_filter(shape_of(BUCKETS, 4, 12));
    unsigned seen[2][BUCKETS] = {{0}};
    for (unsigned i = 0; i < BUCKETS * EACH; i++) {
        cf_pair pair = cf_candidates(&made.filter, random64());
        for (unsigned side = 0; side < 2; side++)
            seen[side][pair.place[side].bucket]++;
    }
    for (unsigned i = 0; i < 2 * BUCKETS; i++) {
        int off = (int)seen[i % 2][i / 2] - EACH;
        assert_true(off * off <= 25 * EACH);
    }
    free_filter(&made);
}

/* What a key is stored as: all of its pair bits, and as many remainder bits as there is room for. */
TEST(new_fingerprints_are_cut)
{
    test_filter made = growing_filter(growing_shape(10, 4, 12), UINT64_MAX);
    uint64_t hash = UINT64_MAX;
    unsigned before = 0;
    for (unsigned steps = 0; steps < 80; steps++) {
        cf_side key = cf_candidates(&made.filter, hash).side[0],
                cut = cf_new_fingerprint(&made.filter, &key);
        assert_true(cut.base == key.base && cut.length >= before);
        assert_true(steps > 0 || cut.length == 6);
        assert_true(cut.bits == ((uint64_t)1 << (6 + cut.length)) - 1);
        before = cut.length;
        assert_true(probe_split(&made.filter));
    }
    free_filter(&made);
}

/* The measured error rate is the expected one, within five standard deviations. */
TEST(error_rate_is_as_expected)
{
    enum { PROBES = 200000 };
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned f = 5; f <= 12; f += 7) {
            test_filter made = new_filter(shape_of(4002, b, f));
            while (made.filter.occupied < 4001 * b * 8 / 10)
                cf_add(&made.filter, random64());
            double expected = cf_expected_fpr(&made.filter.geometry, made.filter.occupied);
            unsigned found = 0;
            for (int i = 0; i < PROBES; i++)
                found += cf_contains(&made.filter, random64());
            double mean = expected * PROBES, off = found - mean;
            /* binomial, and the table itself is one of many: 1 % more */
            assert_true(off * off <= 25 * (mean + mean * mean * 1e-4));
            free_filter(&made);
        }
}
