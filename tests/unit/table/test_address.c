/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/address.h"
#include "../../../src/table/open.h"

static const uint64_t bucket_counts[] = {
    2, 4, 6, 8, 10, 14, 16, 94, 100, 1000, 1018, 65536, (uint64_t)1 << 32, ((uint64_t)1 << 40) - 2};
enum { COUNTS = sizeof bucket_counts / sizeof bucket_counts[0] };

/* Addresses need no table: a view is enough, however many buckets it speaks of. */
static cf_filter view_of(uint64_t buckets, unsigned f, unsigned s)
{
    cf_filter view = {.geometry = shape_of(buckets, 4, f)};
    view.geometry.pair_bits = (uint8_t)s;
    view.view.fingerprint_mask = cf_low_bits(f);
    view.view.pair_mask = cf_low_bits(s);
    cf_set_stage(&view, 0, 0, false);
    return view;
}

static bool same_side(cf_side a, cf_side b)
{
    return a.base == b.base && a.bits == b.bits && a.length == b.length;
}

static void assert_side_in_table(const cf_filter *view, cf_side side)
{
    cf_place place = cf_locate(view, &side);
    assert_true(side.base < view->geometry.buckets);
    assert_true(place.bucket == side.base);
    assert_true(place.tag != 0 && place.tag <= view->view.fingerprint_mask);
}

static void check_pair(const cf_filter *view, uint64_t hash)
{
    cf_pair pair = cf_pair_of(view, hash);
    cf_side base = cf_base(view, hash), other = cf_alternate(view, base);
    assert_true(same_side(pair.side[0], base));
    assert_side_in_table(view, base);
    assert_side_in_table(view, other);
    assert_true(same_side(cf_alternate(view, other), base));
    assert_true((base.bits & view->view.pair_mask) == (other.bits & view->view.pair_mask));
    assert_int_equal(pair.sides, 2);
    assert_true(same_side(pair.side[1], other));
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

/* One bucket of a pair is odd, the other one even: for every base bucket and all pair bits of small
** tables. */
static void no_pair_is_one_bucket(void **state)
{
    (void)state;
    for (uint64_t buckets = 2; buckets <= 100; buckets += 2) {
        cf_filter view = view_of(buckets, 8, 8);
        for (uint64_t bits = 1; bits < 256; bits++)
            for (uint64_t base = 0; base < buckets; base++) {
                cf_side other = cf_alternate(&view, (cf_side){base, bits, 0});
                assert_true(other.base < buckets && (base + other.base) % 2 == 1);
            }
    }
}

/* As in the paper: with no remainder bits the fingerprint is the same on both sides. */
static void whole_fingerprint_does_not_change(void **state)
{
    (void)state;
    for (unsigned f = 4; f <= 32; f++) {
        cf_filter view = view_of(1000, f, f);
        for (int k = 0; k < 100; k++) {
            cf_pair pair = cf_pair_of(&view, random64());
            assert_true(pair.place[0].tag == pair.place[1].tag);
        }
    }
}

static uint64_t tag_of(const cf_filter *view, uint64_t hash)
{
    cf_side base = cf_base(view, hash);
    return cf_locate(view, &base).tag;
}

static void zero_fingerprint_becomes_one(void **state)
{
    cf_filter view = view_of(1000, 12, 8);
    (void)state;
    assert_true(tag_of(&view, UINT64_C(0xabcdef0000000000)) == 1);
    assert_true(tag_of(&view, UINT64_C(0xabcdef0000000001)) == 1);
    assert_true(tag_of(&view, UINT64_C(0xabcdef0000001000)) == 1);
    assert_true(tag_of(&view, UINT64_C(0xabcdef0000000800)) == 0x800);
}

/* At every level it is the f bits of creation that count. */
static void zero_fingerprint_becomes_one_at_every_level(void **state)
{
    cf_filter view = view_of(1000, 12, 8);
    (void)state;
    cf_set_stage(&view, 3, 17, true);
    assert_true(cf_base(&view, UINT64_C(0xabcdef0000001000)).bits == UINT64_C(0xabcdef0000001001));
    assert_true(cf_base(&view, UINT64_C(0xabcdef0000000800)).bits == UINT64_C(0xabcdef0000000800));
}

static void base_bucket_takes_the_high_bits(void **state)
{
    cf_filter view = view_of(1000, 12, 8);
    (void)state;
    assert_true(cf_base(&view, 0).base == 0);
    assert_true(cf_base(&view, UINT64_MAX).base == 999);
    assert_true(cf_base(&view, (uint64_t)1 << 63).base == 500);
}

static void pair_zero_changes_no_remainder_bit(void **state)
{
    cf_filter view = view_of(1000, 16, 8);
    cf_side entry = {123, 0x5a00, 8}, other = cf_alternate(&view, entry);
    (void)state;
    assert_true(cf_pair_mix(0) == 0);
    assert_true(other.bits == entry.bits && other.length == 8);
}

/* An entry on its other side is the beginning of its key there, whatever it knows. */
static void alternates_of_a_beginning_are_beginnings(void **state)
{
    (void)state;
    for (unsigned s = 4; s <= 8; s++)
        for (unsigned length = 0; length <= 64 - s; length++) {
            cf_filter view = view_of(1018, 16, s);
            cf_side key = cf_base(&view, random64()), cut = key;
            cut.bits &= cf_low_bits(s + length);
            cut.length = length;
            cf_side other = cf_alternate(&view, cut), whole = cf_alternate(&view, key);
            assert_true(other.base == whole.base && other.length == length);
            assert_true(other.bits == (whole.bits & cf_low_bits(s + length)));
        }
}

/* Buckets of a key's two sides are spread evenly: 5 standard deviations at most from the mean. */
static void alternates_spread_over_the_table(void **state)
{
    enum { M = 50, KEYS = 200000 };
    cf_filter view = view_of(M, 16, 8);
    unsigned count[M] = {0};
    (void)state;
    for (int k = 0; k < KEYS; k++)
        count[cf_alternate(&view, cf_base(&view, random64())).base]++;
    for (unsigned i = 0; i < M; i++)
        assert_true(count[i] > KEYS / M - 700 && count[i] < KEYS / M + 700);
}

/* ---- grown tables ---- */

/* The number of a bucket and its (base, extension) follow from each other, and every number is
** taken. */
static void check_numbers(const cf_filter *view)
{
    uint64_t bits = 0;
    for (uint64_t bucket = 0; bucket < view->buckets; bucket++) {
        cf_home home = cf_home_of(view, bucket);
        uint64_t position = home.base << view->level | (home.extension & cf_low_bits(view->level));
        assert_true(home.base < view->geometry.buckets);
        assert_int_equal(home.bits, view->level + (position < view->split));
        assert_true(home.extension <= cf_low_bits(home.bits));
        assert_true(cf_bucket_number(view, home.base, home.extension) == bucket);
        bits += (uint64_t)1 << (view->level + 1 - home.bits);
    }
    /* the shares that the buckets have of all strings of bits make up the whole */
    assert_true(bits == view->geometry.buckets << (view->level + 1));
}

/* A key lies in the bucket whose base bucket and extension are those that it begins with. */
static void check_place(const cf_filter *view, uint64_t hash)
{
    cf_pair pair = cf_pair_of(view, hash);
    unsigned s = view->geometry.pair_bits;
    for (unsigned i = 0; i < pair.sides; i++) {
        cf_place place = pair.place[i];
        cf_home home = cf_home_of(view, place.bucket);
        uint64_t remainder = pair.side[i].bits >> s;
        uint64_t tag = (pair.side[i].bits & view->view.pair_mask) | remainder >> home.bits << s;
        assert_true(place.bucket < view->buckets);
        assert_true(home.base == pair.side[i].base && home.bits == place.extension);
        assert_true(home.extension == (remainder & cf_low_bits(home.bits)));
        assert_true(place.tag == (tag & slot_mask_of(view, place.bucket)));
    }
    assert_true(pair.sides == 2 && pair.place[0].bucket != pair.place[1].bucket);
}

/* All stages of small tables, one after the other. */
static void grown_buckets_are_numbered_without_a_gap(void **state)
{
    static const uint64_t small[] = {2, 4, 6, 8, 10, 14};
    (void)state;
    for (unsigned i = 0; i < sizeof small / sizeof small[0]; i++)
        for (unsigned level = 0; level <= 4; level++)
            for (uint64_t split = level == 0; split <= small[i] << level; split++) {
                cf_filter view = view_of(small[i], 12, 6);
                cf_set_stage(&view, level, split, true);
                check_numbers(&view);
                for (int k = 0; k < 30; k++)
                    check_place(&view, random64());
            }
}

/* Far up, where the numbers are largest. */
static void large_grown_tables_are_addressed(void **state)
{
    const char *why = "";
    (void)state;
    for (unsigned i = 0; i < COUNTS; i++)
        for (unsigned level = 0; level < 40; level++) {
            cf_filter view = view_of(bucket_counts[i], 12, 6);
            view.geometry.growth = true;
            uint64_t most = bucket_counts[i] << level;
            uint64_t split = most == UINT64_MAX ? 0 : random_below(most + 1);
            if (cf_stage_check(&view.geometry, level, split, &why) != CF_OK || level + split == 0)
                continue;
            cf_set_stage(&view, level, split, true);
            for (int k = 0; k < 200; k++)
                check_place(&view, random64());
        }
}

/* A side that knows too little for the bucket it would have to lie in has no place there. */
static void short_entries_have_no_place_in_split_buckets(void **state)
{
    cf_filter view = view_of(8, 12, 6);
    (void)state;
    cf_set_stage(&view, 2, 16, true); /* base buckets 0 to 3 are split */
    for (int k = 0; k < 1000; k++) {
        cf_side side = cf_base(&view, random64());
        side.length = (unsigned)random_below(4);
        side.bits &= cf_low_bits(6 + side.length);
        cf_side other = cf_alternate(&view, side);
        unsigned here = 2 + (side.base < 4), there = 2 + (other.base < 4);
        cf_pair pair = cf_pair_from(&view, side);
        assert_int_equal(pair.sides, (side.length >= here) + (side.length >= there));
        for (unsigned i = 0; i < pair.sides; i++)
            assert_true(pair.side[i].length >= pair.place[i].extension);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(alternate_of_the_alternate_is_the_base),
    cmocka_unit_test(no_pair_is_one_bucket),
    cmocka_unit_test(whole_fingerprint_does_not_change),
    cmocka_unit_test(zero_fingerprint_becomes_one),
    cmocka_unit_test(zero_fingerprint_becomes_one_at_every_level),
    cmocka_unit_test(base_bucket_takes_the_high_bits),
    cmocka_unit_test(pair_zero_changes_no_remainder_bit),
    cmocka_unit_test(alternates_of_a_beginning_are_beginnings),
    cmocka_unit_test(alternates_spread_over_the_table),
    cmocka_unit_test(grown_buckets_are_numbered_without_a_gap),
    cmocka_unit_test(large_grown_tables_are_addressed),
    cmocka_unit_test(short_entries_have_no_place_in_split_buckets),
};

RUN_TESTS(tests)
