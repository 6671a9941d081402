#include "test.h"

#include "../src/address.h"

static const uint64_t bucket_counts[] = {
    1, 2, 3, 4, 5, 7, 8, 9, 10, 97, 100, 1000, 1009, 65536, (uint64_t)1 << 32, ((uint64_t)1 << 40) - 1};
enum { COUNTS = sizeof bucket_counts / sizeof bucket_counts[0] };

/* Addresses need no table: a view is enough, however many buckets it speaks of. */
static cf_filter view_of(uint64_t buckets, unsigned f, unsigned s)
{
    cf_filter view = {.geometry = shape_of(buckets, 4, f)};
    view.geometry.pair_bits = (uint8_t)s;
    view.tag_mask = cf_low_bits(f);
    view.pair_mask = cf_low_bits(s);
    view.odd_pairs = buckets % 2 == 0;
    return view;
}

static void assert_side_in_table(const cf_filter *view, cf_side side)
{
    assert_true(side.bucket < view->geometry.buckets);
    assert_true(side.tag != 0 && side.tag <= view->tag_mask);
}

static void check_pair(const cf_filter *view, uint64_t hash)
{
    cf_pair pair = cf_pair_of(view, hash);
    cf_side back = cf_alternate(view, pair.side[1]);
    assert_side_in_table(view, pair.side[0]);
    assert_side_in_table(view, pair.side[1]);
    assert_true(back.bucket == pair.side[0].bucket && back.tag == pair.side[0].tag);
    assert_true((pair.side[0].tag & view->pair_mask) == (pair.side[1].tag & view->pair_mask));
    assert_int_equal(pair.sides, pair.side[0].bucket == pair.side[1].bucket ? 1 : 2);
}

static void alternate_of_the_alternate_is_the_base(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNTS; i++)
        for (unsigned f = 4; f <= 32; f++)
            for (unsigned s = 4; s <= f; s++) {
                cf_filter view = view_of(bucket_counts[i], f, s);
                for (int k = 0; k < 30; k++)
                    check_pair(&view, random64());
            }
}

static void even_tables_have_no_coinciding_pair(void **state)
{
    (void)state;
    for (unsigned i = 0; i < COUNTS; i++) {
        cf_filter view = view_of(bucket_counts[i], 12, 8);
        for (int k = 0; k < 1000 && bucket_counts[i] % 2 == 0; k++)
            assert_int_equal(cf_pair_of(&view, random64()).sides, 2);
    }
}

/* 2j = g has one solution j in an odd table: one pair in m0 has one side. */
static void odd_tables_have_few(void **state)
{
    cf_filter view = view_of(97, 12, 8);
    unsigned single = 0;
    (void)state;
    for (int k = 0; k < 97000; k++)
        single += cf_pair_of(&view, random64()).sides == 1;
    assert_side_in_table(&view, cf_base(&view, 0));
    assert_true(single > 800 && single < 1200);
}

/* As in the paper: with no remainder bits the fingerprint is the same on both sides. */
static void whole_fingerprint_does_not_change(void **state)
{
    (void)state;
    for (unsigned f = 4; f <= 32; f++) {
        cf_filter view = view_of(1000, f, f);
        for (int k = 0; k < 100; k++) {
            cf_pair pair = cf_pair_of(&view, random64());
            assert_true(pair.side[0].tag == pair.side[1].tag);
        }
    }
}

static void zero_fingerprint_becomes_one(void **state)
{
    cf_filter view = view_of(1000, 12, 8);
    (void)state;
    assert_true(cf_base(&view, UINT64_C(0xabcdef0000000000)).tag == 1);
    assert_true(cf_base(&view, UINT64_C(0xabcdef0000000001)).tag == 1);
    assert_true(cf_base(&view, UINT64_C(0xabcdef0000001000)).tag == 1);
    assert_true(cf_base(&view, UINT64_C(0xabcdef0000000800)).tag == 0x800);
}

static void base_bucket_takes_the_high_bits(void **state)
{
    cf_filter view = view_of(1000, 12, 8);
    (void)state;
    assert_true(cf_base(&view, 0).bucket == 0);
    assert_true(cf_base(&view, UINT64_MAX).bucket == 999);
    assert_true(cf_base(&view, (uint64_t)1 << 63).bucket == 500);
}

static void pair_zero_changes_no_remainder_bit(void **state)
{
    cf_filter view = view_of(1000, 16, 8);
    cf_side entry = {123, 0x5a00}, other = cf_alternate(&view, entry);
    (void)state;
    assert_true(cf_pair_mix(0) == 0);
    assert_true(other.tag == entry.tag);
}

/* Buckets of a key's two sides are spread evenly: 5 standard deviations at most from the mean. */
static void alternates_spread_over_the_table(void **state)
{
    enum { M = 50, KEYS = 200000 };
    cf_filter view = view_of(M, 16, 8);
    unsigned count[M] = {0};
    (void)state;
    for (int k = 0; k < KEYS; k++)
        count[cf_pair_of(&view, random64()).side[1].bucket]++;
    for (unsigned i = 0; i < M; i++)
        assert_true(count[i] > KEYS / M - 700 && count[i] < KEYS / M + 700);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(alternate_of_the_alternate_is_the_base),
    cmocka_unit_test(even_tables_have_no_coinciding_pair),
    cmocka_unit_test(odd_tables_have_few),
    cmocka_unit_test(whole_fingerprint_does_not_change),
    cmocka_unit_test(zero_fingerprint_becomes_one),
    cmocka_unit_test(base_bucket_takes_the_high_bits),
    cmocka_unit_test(pair_zero_changes_no_remainder_bit),
    cmocka_unit_test(alternates_spread_over_the_table),
};

RUN_TESTS(tests)
