#include "test.h"

#include "../src/load.h"

/* Keys promised for m buckets: all of the fingerprint pair bits, or s of 24 for a table that grows. */
static uint64_t promised(unsigned b, unsigned f, unsigned s, uint64_t m)
{
    cf_geometry shape = shape_of(m, b, f);
    shape.pair_bits = (uint8_t)s;
    return cf_load_keys(&shape);
}

static void keys_rise(unsigned b, unsigned f, unsigned s)
{
    uint64_t before = 0;
    for (uint64_t m = 1; m < (uint64_t)1 << 40; m += m < 5000 ? 1 : m / 50) {
        uint64_t keys = promised(b, f, s, m);
        assert_true(keys <= m * b && keys >= (m == 1 ? b : 2 * b));
        assert_true(m <= CF_LOAD_RISES || keys >= before);
        before = keys;
    }
}

/* More buckets never hold fewer keys: the planner searches by halving. */
static void keys_rise_with_buckets(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 13; f++)
            keys_rise(b, f, f);
    for (unsigned s = 4; s <= 6; s++) {
        keys_rise(4, 24, s);
        keys_rise(8, 24, s);
    }
    keys_rise(2, 24, 8);
}

/* The thresholds of large tables that do not grow: paper, section 4. */
static void large_tables_reach_the_thresholds(void **state)
{
    uint64_t m = (uint64_t)1 << 25;
    (void)state;
    assert_true((double)promised(2, 12, 12, m) / (double)(2 * m) > 0.86);
    assert_true((double)promised(4, 12, 12, m) / (double)(4 * m) > 0.967);
    assert_true((double)promised(8, 12, 12, m) / (double)(8 * m) > 0.985);
}

static void two_buckets_take_all_their_slots(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        assert_int_equal(promised(b, 4, 4, 1), b);
        assert_int_equal(promised(b, 4, 4, 2), 2 * b);
        test_filter made = new_filter(shape_of(2, b, 32));
        for (unsigned i = 0; i < 2 * b; i++)
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        free_filter(&made);
    }
}

/* Fills tables of m buckets with as many keys as promised, over many streams of keys. */
static void fill_as_promised(unsigned b, unsigned f, unsigned s, uint64_t m, unsigned rounds)
{
    cf_geometry shape = shape_of(m, b, f);
    shape.pair_bits = (uint8_t)s;
    test_filter made = new_filter(shape);
    uint64_t keys = cf_load_keys(&shape);
    for (unsigned round = 0; round < rounds; round++) {
        cf_clear(&made.filter);
        for (uint64_t i = 0; i < keys; i++)
            if (cf_add(&made.filter, random64()) != CF_OK)
                fail_msg("b=%u f=%u s=%u m=%llu: full at key %llu of %llu", b, f, s,
                         (unsigned long long)m, (unsigned long long)i, (unsigned long long)keys);
    }
    free_filter(&made);
}

static void fill_at_all_sizes(unsigned b, unsigned f, unsigned s)
{
    for (uint64_t m = 2; m <= 40; m += 2)
        fill_as_promised(b, f, s, m, 2000 / (unsigned)m + 20);
    for (uint64_t m = 48; m < 1200; m += 30)
        fill_as_promised(b, f, s, m, 4);
}

/* At most one filling in a million may fail: none of these few ten thousand. */
static void promised_keys_fit(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 16; f += f < 10 ? 1 : 3)
            fill_at_all_sizes(b, f, f);
    for (unsigned s = 4; s <= 6; s++) {
        fill_at_all_sizes(4, s + 4, s);
        fill_at_all_sizes(4, 20, s);
        fill_at_all_sizes(8, 20, s);
    }
    fill_at_all_sizes(2, 20, 8);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(keys_rise_with_buckets),
    cmocka_unit_test(large_tables_reach_the_thresholds),
    cmocka_unit_test(two_buckets_take_all_their_slots),
    cmocka_unit_test(promised_keys_fit),
};

RUN_TESTS(tests)
