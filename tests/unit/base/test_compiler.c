/* SPDX-License-Identifier: MIT */
/*
** test_compiler.c - what compilers offer, against plain loops. Also built with CF_PLAIN_C.
*/
#include "../test.h"

#include "../../../src/base/compiler.h"

static void loads_and_stores_are_little_endian(void **state)
{
    uint8_t bytes[9] = {0xaa, 1, 2, 3, 4, 5, 6, 7, 0x88};
    (void)state;
    assert_true(cf_load64(bytes + 1) == UINT64_C(0x8807060504030201));
    cf_store64(bytes + 1, UINT64_C(0x0102030405060708));
    assert_int_equal(bytes[0], 0xaa);
    assert_int_equal(bytes[1], 8);
    assert_int_equal(bytes[8], 1);
}

static void numbers_of_bits_are_exact(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 64; n++) {
        uint64_t power = (uint64_t)1 << n;
        assert_int_equal(cf_floor_log2(power), n);
        assert_int_equal(cf_floor_log2(power | (power - 1)), n);
        assert_int_equal(cf_lowest_bit(power), n);
        assert_int_equal(cf_lowest_bit(~(power - 1)), n);
        assert_int_equal(cf_lowest_bit(power | (uint64_t)1 << 63), n);
    }
}

/* Long multiplication in digits of 16 bits, as at school. */
static void multiply_slowly(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
    uint32_t digit[9] = {0};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++) {
            uint64_t product = (a >> (16 * i) & 0xffff) * (b >> (16 * j) & 0xffff);
            for (unsigned k = i + j; product != 0; k++) {
                product += digit[k];
                digit[k] = product & 0xffff;
                product >>= 16;
            }
        }
    *low = *high = 0;
    for (unsigned i = 0; i < 4; i++) {
        *low |= (uint64_t)digit[i] << (16 * i);
        *high |= (uint64_t)digit[i + 4] << (16 * i);
    }
}

static void multiply_gives_both_halves(void **state)
{
    (void)state;
    for (int i = 0; i < 10000; i++) {
        uint64_t a = random64() >> random_below(64), b = random64() >> random_below(64);
        uint64_t high, low, expected_high, expected_low;
        low = cf_multiply(a, b, &high);
        multiply_slowly(a, b, &expected_high, &expected_low);
        assert_true(low == expected_low && high == expected_high);
    }
}

/* 2^53 + 1 has one digit too many for a double. */
static void rounded_is_as_in_memory(void **state)
{
    volatile uint64_t odd = (UINT64_C(1) << 53) + 1;
    (void)state;
    assert_true(cf_rounded((double)odd) == 9007199254740992.0);
}

static void a_flag_is_set_once(void **state)
{
    static cf_flag flag = CF_FLAG_CLEAR;
    (void)state;
    assert_false(cf_flag_set(&flag));
    assert_true(cf_flag_set(&flag));
    cf_flag_clear(&flag);
    assert_false(cf_flag_set(&flag));
}

static void hints_change_nothing(void **state)
{
    (void)state;
    cf_prefetch(NULL);
    assert_true(CF_LIKELY(state != NULL || true));
    assert_false(CF_UNLIKELY(false));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(loads_and_stores_are_little_endian),
    cmocka_unit_test(numbers_of_bits_are_exact),
    cmocka_unit_test(multiply_gives_both_halves),
    cmocka_unit_test(rounded_is_as_in_memory),
    cmocka_unit_test(a_flag_is_set_once),
    cmocka_unit_test(hints_change_nothing),
};

RUN_TESTS(tests)
