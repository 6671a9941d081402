/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/base/bits.h"

static void low_bits_covers_all_widths(void **state)
{
    (void)state;
    assert_true(cf_low_bits(0) == 0);
    assert_true(cf_low_bits(1) == 1);
    assert_true(cf_low_bits(63) == UINT64_MAX >> 1);
    assert_true(cf_low_bits(64) == UINT64_MAX);
}

static void bits_for_is_exact(void **state)
{
    (void)state;
    assert_int_equal(cf_bits_for(1), 0);
    for (unsigned n = 0; n < 64; n++) {
        uint64_t power = (uint64_t)1 << n;
        assert_int_equal(cf_bits_for(power), n);
        assert_int_equal(cf_bits_for(power + 1), n + 1);
    }
}

static void scale_stays_below_n(void **state)
{
    (void)state;
    assert_true(cf_scale(0, 7) == 0);
    assert_true(cf_scale(UINT64_MAX, 7) == 6);
    assert_true(cf_scale(UINT64_MAX, 1) == 0);
    assert_true(cf_scale((uint64_t)1 << 63, 10) == 5);
}

static void choose_takes_one_of_two(void **state)
{
    (void)state;
    assert_true(cf_choose(true, 5, UINT64_MAX) == 5);
    assert_true(cf_choose(false, 5, UINT64_MAX) == UINT64_MAX);
}

static void products_compare_exactly(void **state)
{
    (void)state;
    assert_true(cf_product_at_most(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX));
    assert_false(cf_product_at_most(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1));
    assert_true(cf_product_at_most(6, 6, 4, 9));
    assert_false(cf_product_at_most(6, 6, 5, 7));
    assert_true(cf_product_at_most(UINT64_MAX, 1, 2, (uint64_t)1 << 63));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(low_bits_covers_all_widths),
    cmocka_unit_test(bits_for_is_exact),
    cmocka_unit_test(scale_stays_below_n),
    cmocka_unit_test(choose_takes_one_of_two),
    cmocka_unit_test(products_compare_exactly),
};

RUN_TESTS(tests)
