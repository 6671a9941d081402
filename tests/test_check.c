#include "test.h"

#include "../src/address.h"
#include "../src/bucket.h"

static void assert_damaged(const cf_filter *filter, const char *expected)
{
    const char *why = "";
    assert_int_equal(cf_check(filter, &why), CF_DAMAGED);
    assert_string_equal(why, expected);
}

static test_filter half_full(void)
{
    test_filter made = new_filter(shape_of(33, 4, 11)); /* 1452 bits: 4 left over */
    for (int i = 0; i < 60; i++)
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
    return made;
}

static void sound_filters_pass(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (uint64_t m = 1; m < 30; m++) {
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
    assert_damaged(&made.filter, "the header counts fewer items than slots are occupied");
    made.filter.items += 2;
    assert_sound(&made.filter);
    free_filter(&made);
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
        for (unsigned slot = 0; slot < 4; slot++)
            cf_slot_set(&made.filter, pair.side[side].bucket, slot, pair.side[side].tag);
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
    assert_int_equal(census.sticky, 3 + 3);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sound_filters_pass),      cmocka_unit_test(counts_are_compared),
    cmocka_unit_test(unused_bits_are_checked), cmocka_unit_test(too_many_copies_are_found),
    cmocka_unit_test(census_counts),
};

RUN_TESTS(tests)
