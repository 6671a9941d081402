#include "test.h"

static void fill(cf_filter *filter, const uint64_t *hashes, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(cf_add(filter, hashes[i]), CF_OK);
}

/* The union holds the keys of both, and what is deleted from it afterwards takes nothing else along. */
static void holds_the_keys_of_both(void **state)
{
    enum { N = 1500 };
    uint64_t left[N], right[N];
    const char *why = "";
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        cf_geometry shape = shape_of(4001 / b, b, 14);
        test_filter one = new_filter(shape), two = new_filter(shape);
        for (unsigned i = 0; i < N; i++) {
            left[i] = random64();
            right[i] = random64();
        }
        fill(&one.filter, left, N);
        fill(&two.filter, right, N);
        assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
        assert_int_equal(one.filter.items, 2 * N);
        assert_sound(&one.filter);
        for (unsigned i = 0; i < N; i++)
            assert_true(cf_contains(&one.filter, left[i]) && cf_contains(&one.filter, right[i]));
        for (unsigned i = 0; i < N; i++)
            assert_int_not_equal(cf_delete(&one.filter, left[i]), CF_ABSENT);
        for (unsigned i = 0; i < N; i++)
            assert_true(cf_contains(&one.filter, right[i]));
        free_filter(&one);
        free_filter(&two);
    }
}

static void copies_add_up_to_cap(void **state)
{
    const char *why = "";
    (void)state;
    for (unsigned mine = 0; mine <= 5; mine++)
        for (unsigned theirs = 0; theirs <= 5; theirs++) {
            test_filter one = new_filter(shape_of(31, 8, 16)), two = new_filter(shape_of(31, 8, 16));
            uint64_t hash = random64();
            for (unsigned i = 0; i < mine; i++)
                cf_add(&one.filter, hash);
            for (unsigned i = 0; i < theirs; i++)
                cf_add(&two.filter, hash);
            assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
            unsigned sum = (mine < 4 ? mine : 4) + (theirs < 4 ? theirs : 4);
            assert_int_equal(cf_count(&one.filter, hash), sum < 4 ? sum : 4);
            assert_int_equal(one.filter.items, mine + theirs);
            assert_sound(&one.filter);
            free_filter(&one);
            free_filter(&two);
        }
}

static void assert_mismatch(cf_geometry other, const char *field)
{
    test_filter one = new_filter(shape_of(31, 4, 16)), two = new_filter(other);
    const char *why = "";
    cf_add(&two.filter, 5);
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_MISMATCH);
    assert_string_equal(why, field);
    assert_int_equal(one.filter.items, 0);
    assert_false(cf_contains(&one.filter, 5));
    free_filter(&one);
    free_filter(&two);
}

static void mismatches_are_named(void **state)
{
    cf_geometry other = shape_of(31, 4, 16);
    (void)state;
    other.seed = 1;
    assert_mismatch(other, "seed");
    assert_mismatch(shape_of(32, 4, 16), "buckets");
    assert_mismatch(shape_of(31, 2, 16), "bucket_size");
    assert_mismatch(shape_of(31, 4, 17), "fingerprint_bits");
    other = shape_of(31, 4, 16);
    other.pair_bits = 6;
    assert_mismatch(other, "pair_bits");
    other = shape_of(31, 4, 16);
    other.cap = 2;
    assert_mismatch(other, "cap");
}

static void too_many_is_full(void **state)
{
    test_filter one = new_filter(shape_of(32, 4, 16)), two = new_filter(shape_of(32, 4, 16));
    const char *why = "";
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(cf_add(&one.filter, random64()), CF_OK);
        assert_int_equal(cf_add(&two.filter, random64()), CF_OK);
    }
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_FULL);
    free_filter(&one);
    free_filter(&two);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(holds_the_keys_of_both),
    cmocka_unit_test(copies_add_up_to_cap),
    cmocka_unit_test(mismatches_are_named),
    cmocka_unit_test(too_many_is_full),
};

RUN_TESTS(tests)
