/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/address.h"

enum { MOST_KEYS = 20000 };

static uint64_t hashes[MOST_KEYS];

static test_filter grown_filter(cf_geometry shape, unsigned keys)
{
    test_filter made = growing_filter(shape, UINT64_MAX);
    for (unsigned i = 0; i < keys; i++) {
        hashes[i] = random64();
        assert_int_equal(cf_add(&made.filter, hashes[i]), CF_OK);
    }
    return made;
}

/* After all but `left` keys are deleted it is smaller, holds them, and lets them be deleted. */
static void check_shrinking(cf_geometry shape, unsigned keys, unsigned left)
{
    test_filter made = grown_filter(shape, keys), smaller = growing_filter(shape, UINT64_MAX);
    for (unsigned i = left; i < keys; i++)
        assert_int_not_equal(cf_delete(&made.filter, hashes[i]), CF_ABSENT);
    uint64_t length = made.filter.length;
    assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
    assert_true(smaller.filter.length < length && smaller.filter.buckets < made.filter.buckets);
    assert_int_equal(smaller.filter.items, made.filter.items);
    assert_sound(&smaller.filter);
    for (unsigned i = 0; i < left; i++)
        assert_true(cf_contains(&smaller.filter, hashes[i]));
    for (unsigned i = 0; i < left; i++) {
        assert_int_not_equal(cf_delete(&smaller.filter, hashes[i]), CF_ABSENT);
        if (i % 100 == 0)
            for (unsigned j = i + 1; j < left; j++)
                assert_true(cf_contains(&smaller.filter, hashes[j]));
    }
    free_filter(&made);
    free_filter(&smaller);
}

static void what_has_lost_keys_becomes_smaller(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned left = 0; left <= 1000; left = left ? left * 10 : 1) {
            cf_geometry shape = growing_shape(10, b, 16);
            check_shrinking(shape, 3000, left);
            check_shrinking(spilling(shape, 5, 100), 3000, left);
            if (b == 4)
                check_shrinking(semisorted(shape), 3000, left);
            shape.counter_bits = 3;
            check_shrinking(shape, 3000, left);
        }
}

/* Where nothing was forgotten it is again what it was before it grew. */
static void it_can_be_as_before_growth(void **state)
{
    cf_geometry shape = growing_shape(100, 4, 16);
    test_filter made = growing_filter(shape, UINT64_MAX), smaller = growing_filter(shape, UINT64_MAX);
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(cf_add(&made.filter, hashes[i] = random64()), CF_OK);
    snapshot then = remember(&made.filter);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(cf_grow(&made.filter), CF_OK);
    assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
    assert_false(smaller.filter.view.grown);
    assert_int_equal(smaller.filter.length, then.filter.length);
    assert_int_equal(smaller.filter.occupied, 100);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(cf_delete(&smaller.filter, hashes[i]), CF_REMOVED);
    free(then.bytes);
    free_filter(&made);
    free_filter(&smaller);
}

/* The error rate is that of a filter which has grown so far, not more. */
static void it_errs_no_more_than_one_that_has_grown_so_far(void **state)
{
    cf_geometry shape = growing_shape(64, 4, 12);
    test_filter made = grown_filter(shape, 20000), smaller = growing_filter(shape, UINT64_MAX);
    (void)state;
    for (unsigned i = 2000; i < 20000; i++)
        cf_delete(&made.filter, hashes[i]);
    assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
    test_filter fresh = grown_filter(shape, 2000);
    double rate = cf_take_census(&smaller.filter).fpr, usual = cf_take_census(&fresh.filter).fpr;
    assert_true(rate < 1.5 * usual);
    free_filter(&made);
    free_filter(&smaller);
    free_filter(&fresh);
}

static void what_would_not_gain_stays(void **state)
{
    test_filter full = grown_filter(growing_shape(10, 4, 16), 3000);
    test_filter plain = grown_filter(growing_shape(1000, 4, 16), 10);
    cf_filter *filters[2] = {&full.filter, &plain.filter};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        test_filter into = growing_filter(filters[i]->geometry, UINT64_MAX);
        assert_int_equal(cf_shrink(&into.filter, filters[i]), CF_FULL);
        assert_int_equal(into.filter.occupied, 0);
        assert_false(into.filter.view.grown);
        free_filter(&into);
    }
    free_filter(&full);
    free_filter(&plain);
}

/* Keys that crowd a few places need more buckets than their number says. */
static void it_never_becomes_larger(void **state)
{
    unsigned shrunk = 0;
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        cf_geometry shape = growing_shape(2 + 2 * random_below(4), 4, 12);
        test_filter made = growing_filter(shape, 100000), smaller = growing_filter(shape, UINT64_MAX);
        uint64_t clump = random64();
        unsigned n = 0;
        for (unsigned i = 0; i < 40; i++) {
            hashes[n] = i % 2 ? random64() : clump ^ random_below(8) << 10;
            n += cf_add(&made.filter, hashes[n]) == CF_OK;
        }
        cf_status status = cf_shrink(&smaller.filter, &made.filter);
        assert_true(status == CF_OK || status == CF_FULL);
        if (status == CF_OK) {
            shrunk++;
            assert_true(smaller.filter.length <= made.filter.length - made.filter.length / 8);
            assert_sound(&smaller.filter);
            for (unsigned i = 0; i < n; i++)
                assert_true(cf_contains(&smaller.filter, hashes[i]));
        }
        free_filter(&made);
        free_filter(&smaller);
    }
    assert_true(shrunk > 0 && shrunk < 300);
}

static void without_memory_it_says_so(void **state)
{
    cf_geometry shape = growing_shape(10, 4, 16);
    test_filter made = grown_filter(shape, 3000);
    (void)state;
    for (unsigned i = 1000; i < 3000; i++)
        cf_delete(&made.filter, hashes[i]);
    for (uint64_t resizes = 0; resizes < 3; resizes++) {
        test_filter into = growing_filter(shape, UINT64_MAX);
        resizes_left = resizes;
        assert_int_equal(cf_shrink(&into.filter, &made.filter), CF_NO_MEMORY);
        resizes_left = UINT64_MAX;
        free_filter(&into);
    }
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_has_lost_keys_becomes_smaller),
    cmocka_unit_test(it_can_be_as_before_growth),
    cmocka_unit_test(it_errs_no_more_than_one_that_has_grown_so_far),
    cmocka_unit_test(what_would_not_gain_stays),
    cmocka_unit_test(it_never_becomes_larger),
    cmocka_unit_test(without_memory_it_says_so),
};

RUN_TESTS(tests)
