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

/* Both words are as one word would be, whichever of them it is. */
static void two_words_are_one_and_one(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        unsigned n = (unsigned)random_below(64);
        uint64_t x[2], z[2], ones[2], left[2];
        for (unsigned k = 0; k < 2; k++) {
            x[k] = random64();
            ones[k] = random64() & random64();
            z[k] = random_below(4) ? x[k] >> n ^ (random64() & random64() & random64()) : random64();
            left[k] = ((x[k] >> n ^ z[k]) - ones[k]) & ~(x[k] >> n ^ z[k]);
        }
        cf_two is =
            cf_two_without((cf_two){x[0], x[1]}, n, (cf_two){z[0], z[1]}, (cf_two){ones[0], ones[1]});
        assert_true(cf_two_word(is, 0) == left[0]);
        assert_true(cf_two_word(is, 1) == left[1]);
    }
}

/* A bit in either word of either pair counts, where the mask has it. */
static void any_bit_of_two_words_is_found(void **state)
{
    const cf_two none = {0, 0};
    (void)state;
    for (unsigned bit = 0; bit < 128; bit++) {
        uint64_t low = bit < 64 ? (uint64_t)1 << bit : 0,
                 high = bit < 64 ? 0 : (uint64_t)1 << (bit - 64);
        const cf_two one = {low, high}, others = {~low, ~high};
        assert_true(cf_two_any(one, none, one));
        assert_true(cf_two_any(none, one, one));
        assert_false(cf_two_any(one, one, others));
        assert_false(cf_two_any(others, none, one));
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
    cmocka_unit_test(two_words_are_one_and_one),
    cmocka_unit_test(any_bit_of_two_words_is_found),
    cmocka_unit_test(multiply_gives_both_halves),
    cmocka_unit_test(rounded_is_as_in_memory),
    cmocka_unit_test(a_flag_is_set_once),
    cmocka_unit_test(hints_change_nothing),
};

RUN_TESTS(tests)
