/* SPDX-License-Identifier: MIT */
/* cf_check names what is wrong; cf_take_census counts what is there. */
#include "../../probe.h"
#include "../test.h"

static void assert_damaged(const cf_filter *filter, const char *expected)
{
    const char *why = "";
    assert_int_equal(cf_check(filter, &why), CF_DAMAGED);
    assert_string_equal(why, expected);
}

/* Fingerprints are long: no two keys say the same, which would make them saturated. */
static test_filter half_full(void)
{
    test_filter made = new_filter(shape_of(66, 2, 27)); /* 3564 bits: 4 left over */
    for (int i = 0; i < 60; i++)
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
    return made;
}

static const char slots_wrong[] = "the header has a wrong number of occupied slots";
static const char too_few[] = "the header counts fewer items than the entries represent";
static const char too_many[] = "the header counts more items than the entries represent";
static const char too_often[] = "a key has more copies than max_copies allows";

TEST(counts_are_compared)
{
    const uint64_t most = ((uint64_t)1 << 48) - 1;
    for (unsigned grown = 0; grown < 2; grown++) {
        test_filter made = half_full();
        if (grown) {
            free_filter(&made);
            made = growing_filter(growing_shape(10, 4, 20), UINT64_MAX);
            while (made.filter.buckets < 25)
                assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        }
        cf_filter *filter = &made.filter;
        uint64_t occupied = filter->occupied, items = filter->items;
        filter->occupied = occupied + 1;
        assert_damaged(filter, slots_wrong);
        filter->occupied = occupied - 1;
        assert_damaged(filter, slots_wrong);
        filter->occupied = occupied;
        filter->items = items - 1;
        if (!grown) /* else some entries are halves of others */
            assert_damaged(filter, too_few);
        filter->items = items + 1;
        assert_damaged(filter, too_many);
        filter->items = most;
        assert_damaged(filter, too_many);
        filter->items = items;
        assert_sound(filter);
        free_filter(&made);
    }
}

/* What a saturated key has absorbed nobody knows: any number of items is possible then. */
TEST(saturated_keys_may_have_absorbed_anything)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        cf_geometry shape = kind == 2 ? growing_shape(10, 4, 28) : shape_of(10, 4, 28);
        shape.counter_bits = kind == 1 ? 2 : 0;
        test_filter made = growing_filter(shape, UINT64_MAX);
        uint64_t hash = random64(), most = shape.counter_bits ? 4 : 3;
        for (unsigned i = 0; kind == 2 && i < 300; i++)
            assert_int_equal(cf_add(&made.filter, ~hash - i * UINT64_C(0x123456789abcdef)), CF_OK);
        for (uint64_t i = 1; i < most; i++)
            assert_int_equal(cf_add(&made.filter, hash), CF_OK);
        made.filter.items++;
        assert_damaged(&made.filter, too_many);
        made.filter.items--;
        assert_int_equal(cf_add(&made.filter, hash), CF_OK);
        assert_sound(&made.filter);
        made.filter.items = ((uint64_t)1 << 48) - 1;
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

TEST(unused_bits_are_checked)
{
    test_filter made = half_full();
    uint8_t *behind = made.bytes + 64 + 3564 / 8;
    for (unsigned bit = 3564 % 8; bit < 8; bit++) {
        *behind ^= (uint8_t)(1 << bit);
        assert_damaged(&made.filter, "the bits behind the last bucket are not zero");
        *behind ^= (uint8_t)(1 << bit);
    }
    for (unsigned i = 1; i <= 8; i++) {
        behind[i] = 1;
        assert_damaged(&made.filter, "the reserved bytes are not zero");
        behind[i] = 0;
    }
    assert_sound(&made.filter);
    free_filter(&made);
}

/* Cap copies of each value, not of all of them together. */
TEST(too_many_copies_are_found)
{
    for (unsigned valued = 0; valued < 2; valued++) {
        cf_geometry shape = shape_of(34, 4, 11);
        uint64_t hash = random64();
        shape.value_bits = valued ? 5 : 0;
        test_filter made = new_filter(shape);
        for (unsigned i = 0; i < 4; i++)
            assert_true(probe_put(&made.filter, hash, 0, i));
        if (valued)
            assert_sound(&made.filter);
        else
            assert_damaged(&made.filter, too_often);
        free_filter(&made);
        made = new_filter(shape);
        for (unsigned i = 0; i < 4; i++)
            assert_true(probe_put(&made.filter, hash, 0, 7));
        assert_damaged(&made.filter, too_often);
        free_filter(&made);
    }
}

TEST(payloads_of_empty_slots_are_found)
{
    cf_geometry shape = shape_of(34, 4, 11);
    shape.value_bits = 5;
    test_filter made = new_filter(shape);
    for (unsigned payload = 0; payload < 2; payload++) {
        probe_write(&made.filter, 32, 3, 0, payload);
        if (payload == 0)
            assert_sound(&made.filter);
        else
            assert_damaged(&made.filter, "an empty slot has a counter, a value or a saturated bit");
    }
    free_filter(&made);
}

/* In a bucket that is split the widest slot has one bit more than an entry may know. */
TEST(entries_know_no_more_than_the_level_gives)
{
    test_filter made = growing_filter(growing_shape(10, 4, 12), UINT64_MAX);
    cf_filter *filter = &made.filter;
    while (filter->level < 1 || filter->split < 7)
        assert_true(probe_split(filter));
    uint64_t top = (uint64_t)1 << (probe_slot_bits(filter) - 1);
    filter->occupied = filter->items = 1;
    probe_write(filter, 9, 0, top | 5, 0); /* not split */
    assert_sound(filter);
    probe_write(filter, 9, 0, 0, 0);
    probe_write(filter, 0, 0, top | 5, 0); /* split */
    assert_damaged(filter, "an entry has more bits than this level of growth allows");
    probe_write(filter, 0, 0, top >> 1 | 5, 0);
    assert_sound(filter);
    probe_write(filter, 0, 0, 5, 0); /* it reads as one that knows no remainder bits */
    assert_sound(filter);
    free_filter(&made);
}

/* Four nibbles have one code, and codes beyond the last say nothing. */
TEST(codes_of_semisorted_buckets_are_checked)
{
    enum { CODES = 3876 };
    for (unsigned code = 0; code < 4096; code += code < CODES - 2 ? 97 : 1) {
        test_filter made = new_filter(semisorted(shape_of(10, 4, 12)));
        const char *why = "";
        made.bytes[64] = (uint8_t)code, made.bytes[65] = (uint8_t)(code >> 8);
        made.filter.occupied = cf_take_census(&made.filter).occupied;
        made.filter.items = made.filter.occupied;
        cf_status status = cf_check(&made.filter, &why);
        assert_true(code < CODES ? status == CF_OK || strstr(why, "copies") : status == CF_DAMAGED);
        free_filter(&made);
    }
}

/* ---- the stash ---- */

/* Lines that lie, and bits that are missing or too many. */
TEST(every_lie_of_a_list_is_told)
{
    enum { BOUND = 24, LINE = 16 };
    for (unsigned round = 0; round < 200; round++) {
        test_filter made = new_filter(stashing(shape_of(20, 4, 12), 0, BOUND));
        const char *why = "";
        while (made.filter.stashed < 6)
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        assert_sound(&made.filter);
        uint8_t *list = made.bytes + made.filter.length - BOUND * LINE;
        uint8_t *line = list + LINE * random_below(5), other[LINE];
        switch (round % 4) {
        case 0: /* two lines change places */
            memcpy(other, line, LINE);
            memcpy(line, line + LINE, LINE);
            memcpy(line + LINE, other, LINE);
            break;
        case 1: /* one is of a bucket that there is not */
            line[round % 8 == 1 ? 0 : 4] ^=
                (uint8_t)(round % 8 == 1 ? 32u << random_below(3) : 1u << random_below(8));
            break;
        case 2: /* one is empty */
            memset(line, 0, LINE);
            break;
        default: /* there is something behind the last one */
            list[LINE * 6 + random_below(LINE * (BOUND - 6))] = 1;
            break;
        }
        bool same = round % 4 == 0 && memcmp(line, line + LINE, LINE) == 0;
        assert_int_equal(cf_check(&made.filter, &why), same ? CF_OK : CF_DAMAGED);
        free_filter(&made);
    }
}

/* A key with nine lines, of which a lookup would find eight; none of its values is there too often. */
TEST(a_list_has_eight_entries_of_a_key)
{
    enum { SLOTS = 2 * 4, MOST = 8 };
    cf_geometry shape = stashing(shape_of(20, 4, 12), 0, 24);
    shape.value_bits = 8;
    test_filter made = new_filter(shape);
    cf_place place = cf_candidates(&made.filter, 12345).place[0];
    for (uint64_t value = 0; value < SLOTS + MOST; value++)
        assert_int_equal(cf_add_value(&made.filter, 12345, value), CF_OK);
    assert_int_equal(cf_add_value(&made.filter, 12345, SLOTS + MOST), CF_FULL);
    assert_int_equal(made.filter.stashed, MOST);
    assert_sound(&made.filter);
    probe_stash(&made.filter, place.bucket, place.tag);
    assert_damaged(&made.filter, "the stash has more entries of a key than are found");
    free_filter(&made);
}

/* ---- the census ---- */

TEST(census_counts)
{
    for (unsigned bits = 0; bits < 3; bits += 2) {
        cf_geometry shape = shape_of(64, 4, 20);
        shape.counter_bits = (uint8_t)bits;
        test_filter made = new_filter(shape);
        for (uint64_t copies = 1; copies <= 4; copies++)
            for (unsigned i = 0; i < copies + (copies == 4 ? 8 : 0); i++)
                cf_add(&made.filter, copies * UINT64_C(0x3333333333333333));
        cf_census census = cf_take_census(&made.filter);
        assert_int_equal(census.occupied, bits ? 4 : 1 + 2 + 3 + 3);
        assert_int_equal(census.copies, bits ? 1 + 2 + 3 + 4 : 1 + 2 + 3 + 3);
        assert_int_equal(census.saturated, bits ? 1 : 2); /* fingerprints, not slots */
        assert_true(census.exhausted == 0 && census.shortest == 0 && census.status == CF_OK);
        free_filter(&made);
    }
}

/* The share of hashes found, of all there can be when 6 bits choose the base bucket and the f lowest the
** fingerprint: the others do not matter. */
static double share_found(const cf_filter *filter)
{
    unsigned f = filter->geometry.fingerprint_bits;
    uint64_t found = 0;
    for (uint64_t base = 0; base < 64; base++)
        for (uint64_t low = 0; low < (uint64_t)1 << f; low++)
            found += cf_contains(filter, base << 58 | low);
    return (double)found / (double)((uint64_t)64 << f);
}

/* Exact, repeated and zero fingerprints included, in slots and in the list. */
TEST(census_knows_the_error_rate)
{
    for (unsigned b = 1; b <= 8; b *= 2)
        for (uint64_t m = 2; m <= 64; m *= 2) {
            cf_geometry shape = shape_of(m, b, 9);
            test_filter made = new_filter(random_below(2) ? stashing(shape, 0, 9) : shape);
            assert_true(cf_take_census(&made.filter).fpr == 0);
            cf_add(&made.filter, 0); /* becomes 1 */
            for (uint64_t i = 0; i < m * b; i++)
                cf_add(&made.filter, i % 3 ? random64() : random64() & ~UINT64_C(511));
            double off = cf_take_census(&made.filter).fpr - share_found(&made.filter);
            assert_true(off < 1e-9 && off > -1e-9);
            free_filter(&made);
        }
}

/* Entries of all lengths, which cover each other or do not: five standard deviations at most from what
** random hashes find. */
TEST(census_knows_the_error_rate_of_grown_filters)
{
    enum { PROBES = 200000 };
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t m = 2; m <= 10; m += 4) {
            test_filter made = growing_filter(growing_shape(m, b, 12), UINT64_MAX);
            for (int i = 0; i < 2000; i++)
                cf_add(&made.filter, random64());
            double expected = cf_take_census(&made.filter).fpr, found = 0;
            for (int i = 0; i < PROBES; i++)
                found += cf_contains(&made.filter, random64());
            double off = found - expected * PROBES;
            assert_true(expected > 0 && off * off <= 25 * expected * PROBES);
            free_filter(&made);
        }
}
