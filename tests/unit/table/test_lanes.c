/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/lanes.h"

static const unsigned bucket_sizes[] = {1, 2, 4, 8};

enum { WIDEST = 44 /* f = 32 at level 39 */ };

/* ---- bits of the table ---- */

static void load_bits_reads_any_offset(void **state)
{
    uint8_t table[40];
    (void)state;
    for (unsigned i = 0; i < sizeof table; i++)
        table[i] = (uint8_t)random64();
    for (unsigned at = 0; at < 180; at++) {
        unsigned bits = 64 - at % 8; /* all that the 8 bytes hold from there */
        uint64_t expected = 0;
        for (unsigned k = 0; k < bits; k++)
            expected |= (uint64_t)(table[(at + k) / 8] >> ((at + k) % 8) & 1) << k;
        assert_true((cf_load_bits(table, at) & cf_low_bits(bits)) == expected);
    }
}

/* And writing changes these bits alone. */
static void store_bits_leaves_the_others(void **state)
{
    uint8_t table[32], before[32];
    (void)state;
    for (unsigned bits = 1; bits <= 57; bits++)
        for (unsigned at = 0; at < 128; at++) {
            uint64_t mask = cf_low_bits(bits), value = random64() & mask;
            for (unsigned i = 0; i < sizeof table; i++)
                before[i] = table[i] = (uint8_t)random64();
            cf_store_bits(table, at, mask, value);
            for (unsigned k = 0; k < 8 * sizeof table; k++) {
                unsigned was = before[k / 8], now = table[k / 8];
                uint64_t expected = k >= at && k < at + bits ? value >> (k - at) : was >> k % 8;
                assert_int_equal(now >> k % 8 & 1, expected & 1);
            }
        }
}

/* Up to 121 bits, or as many as end with the 16th byte. */
static void store_wide_leaves_the_others(void **state)
{
    uint8_t table[32], before[32];
    (void)state;
    for (unsigned bits = 58; bits <= 128; bits++)
        for (unsigned at = 0; at % 8 + bits <= 128 && at < 64; at++) {
            uint64_t low = random64(), high = random64();
            cf_wide value = {low, bits > 64 ? high & cf_low_bits(bits - 64) : 0};
            value.low &= cf_low_bits(bits);
            for (unsigned i = 0; i < sizeof table; i++)
                before[i] = table[i] = (uint8_t)random64();
            cf_store_wide(table, at, bits, value);
            for (unsigned k = 0; k < 8 * sizeof table; k++) {
                unsigned i = k - at, was = before[k / 8] >> k % 8 & 1, now = table[k / 8] >> k % 8 & 1;
                bool inside = k >= at && i < bits;
                uint64_t expected = !inside ? was : i < 64 ? value.low >> i : value.high >> (i - 64);
                assert_int_equal(now, expected & 1);
            }
        }
}

static void wide_of_is_a_shift(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 128; n++) {
        uint64_t x = random64();
        cf_wide wide = cf_wide_of(x, n);
        for (unsigned k = 0; k < 128; k++) {
            uint64_t expected = k >= n && k - n < 64 ? x >> (k - n) & 1 : 0;
            assert_int_equal((k < 64 ? wide.low >> k : wide.high >> (k - 64)) & 1, expected);
        }
    }
}

/* ---- words ---- */

/* No word of any bucket needs a ninth byte, whatever payload lies between the buckets. */
static void words_lie_within_eight_bytes(void **state)
{
    (void)state;
    for (unsigned width = CF_FINGERPRINT_MIN; width <= WIDEST; width++)
        for (unsigned payload = 0; payload <= CF_VALUE_MAX; payload++)
            for (unsigned i = 0; i < 4; i++) {
                cf_lanes lanes;
                uint64_t bucket_bits = bucket_sizes[i] * (width + payload);
                cf_lanes_set(&lanes, width, bucket_sizes[i], bucket_bits, 4);
                uint64_t bits = lanes.width * lanes.count;
                for (uint64_t at = 0; at < 16; at++)
                    for (unsigned word = 0; word < lanes.words; word++)
                        assert_true((at * bucket_bits + word * bits) % 8 + bits <= 64);
            }
}

/* As many lanes in a word as before there were payloads: filters of then are read as fast. */
static void plain_words_are_as_wide_as_they_can_be(void **state)
{
    static const unsigned lanes_of_8[] = {8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4}; /* f = 4 .. 16 */
    cf_lanes lanes;
    (void)state;
    for (unsigned f = 4; f <= 16; f++) {
        cf_lanes_set(&lanes, f, 8, 8 * f, 4);
        assert_int_equal(lanes.count, lanes_of_8[f - 4]);
    }
}

static void lanes_cover_the_bucket(void **state)
{
    (void)state;
    for (unsigned width = CF_FINGERPRINT_MIN; width <= WIDEST; width++)
        for (unsigned i = 0; i < 4; i++) {
            cf_lanes lanes;
            cf_lanes_set(&lanes, width, bucket_sizes[i], bucket_sizes[i] * (width + width % 3), 4);
            uint64_t ones = 0;
            for (unsigned k = 0; k < lanes.count; k++)
                ones |= (uint64_t)1 << (k * width);
            assert_int_equal(lanes.count * lanes.words, bucket_sizes[i]);
            assert_true(lanes.count * width <= 64);
            assert_true(lanes.ones == ones);
            assert_true(lanes.highs == ones << (width - 1));
        }
}

/* By the definition: wherever a bucket starts, its first bits end within the 8 bytes of the first
** of them. */
static void fits_word_is_about_every_bucket(void **state)
{
    (void)state;
    for (uint64_t bucket_bits = 4; bucket_bits <= 300; bucket_bits++)
        for (unsigned bits = 1; bits <= 64; bits++) {
            bool fits = true;
            for (uint64_t bucket = 0; bucket < 8; bucket++)
                fits &= bucket * bucket_bits % 8 + bits <= 64;
            assert_int_equal(cf_fits_word(bucket_bits, bits), fits);
        }
}

/* ---- wide buckets ---- */

/* A form for slots in buckets that are so many bits longer than their tags. */
static cf_form wide_form(unsigned width, unsigned b, unsigned more)
{
    cf_form form = {.tag_bits = width * b, .bucket_bits = width * b + more};
    cf_lanes_set(&form.lanes, width, b, form.bucket_bits, 4);
    cf_wide_set(&form, 0, width, b);
    return form;
}

static uint64_t slot_at(const uint8_t *table, unsigned at, unsigned width)
{
    return cf_load_bits(table, at) & cf_low_bits(width);
}

/* Bit by bit: all below the highest bit set agree, the pair bits at least; an empty lane is one
** that knows only these. */
static bool agrees(uint64_t lane, uint64_t tag, unsigned width, unsigned pair_bits)
{
    unsigned known = pair_bits;
    for (unsigned i = pair_bits; i < width; i++)
        known = lane >> i & 1 ? i : known;
    return ((lane ^ tag) & cf_low_bits(known)) == 0;
}

/* Is any slot compatible with the tag? */
static void assert_any_compatible(const cf_form *form, unsigned b, unsigned start, const uint8_t *table,
                                  uint64_t tag)
{
    unsigned width = form->lanes.width, pair_bits = (unsigned)random_below(width);
    bool any = false;
    for (unsigned slot = 0; slot < b; slot++)
        any |= agrees(slot_at(table, start + slot * width, width), tag, width, pair_bits);
    cf_wide halves = cf_load_halves(form, table + start / 8, 0, start % 8);
    assert_int_equal(cf_any_compatible(form, halves, form->ones[0], tag, pair_bits) != 0, any);
}

/* The first lane that holds a tag is the first slot that does, wherever a bucket starts. */
static void assert_first_lane(const cf_form *form, unsigned b, unsigned start, const uint8_t *table,
                              uint64_t tag)
{
    unsigned width = form->lanes.width, first = 0;
    while (first < b && slot_at(table, start + first * width, width) != tag)
        first++;
    cf_laid bits = form->ninth ? cf_load_long_lanes(form, table + start / 8, start % 8)
                               : cf_load_lanes(form, true, table + start / 8, 0, start % 8);
    cf_laid left = cf_without(form, &form->lanes, true, bits, tag), none = {0};
    uint64_t same = cf_same_lanes(form, &form->lanes, true, 0, left);
    assert_int_equal(same != 0, first < b);
    assert_int_equal(cf_either_has(form, &form->lanes, true, left, none), first < b);
    assert_int_equal(cf_either_has(form, &form->lanes, true, none, left), first < b);
    if (cf_has_halves(form)) {
        assert_true(cf_same_by_words(form, table + start / 8, 0, start % 8, tag) == same);
        assert_any_compatible(form, b, start, table, tag);
    }
    if (first == b)
        return;
    cf_lane_at lane = cf_first_lane(form, true, same);
    assert_int_equal(8 * lane.byte + lane.bit, first * width);
}

static void first_lane_of_wide_buckets(void **state)
{
    unsigned forms = 0;
    (void)state;
    for (unsigned i = 0; i < 33 * 3 * 4; i++) {
        unsigned width = i % 33, b = 2u << i / 33 % 3, more = i / 99 * 4;
        if (width < CF_FINGERPRINT_MIN)
            continue;
        cf_form form = wide_form(width, b, more);
        forms += form.is_wide;
        for (unsigned k = 0; form.is_wide && k < 4000; k++) {
            uint8_t table[64 + 17 * 8] = {0};
            unsigned start = (unsigned)((k % 8) * form.bucket_bits);
            uint64_t tag = random64() & cf_low_bits(width);
            for (unsigned at = 0; at + 8 <= sizeof table; at += 8)
                cf_store64(table + at, k % 3 ? random64() : 0);
            for (unsigned slot = 0; slot < b; slot++)
                if (random_below(3) > 0)
                    cf_store_bits(table, start + slot * width, cf_low_bits(width),
                                  tag ^ (random_below(2) ? (uint64_t)1 << random_below(width) : 0));
            assert_first_lane(&form, b, start, table, tag);
            assert_first_lane(&form, b, start, table, 0);
        }
    }
    assert_true(forms > 40);
}

/* ---- comparing ---- */

/* Lanes as they can be in a word: so wide, so many, with so many pair bits. */
typedef void lanes_check(const cf_lanes *lanes, unsigned pair_bits);

static void for_all_lanes(lanes_check *check)
{
    for (unsigned width = 2; width <= WIDEST; width++)
        for (unsigned count = 1; count <= 8 && count * width <= 64; count *= 2) {
            unsigned pair_bits = (unsigned)random_below(width);
            cf_lanes lanes;
            cf_lanes_fill(&lanes, width, count, 1, pair_bits);
            check(&lanes, pair_bits);
        }
}

/* Lanes of a few different contents, whose neighbours differ in one bit, and above them
** anything. */
static uint64_t random_word(const cf_lanes *lanes, uint64_t tag)
{
    uint64_t word = lanes->count * lanes->width < 64 ? random64() << lanes->count * lanes->width : 0;
    uint64_t mask = cf_low_bits(lanes->width);
    for (unsigned i = 0; i < lanes->count; i++) {
        uint64_t pool[] = {0,          tag,     tag ^ (uint64_t)1 << random_below(lanes->width),
                           random64(), tag - 1, tag + 1};
        word |= (pool[random_below(6)] & mask) << i * lanes->width;
    }
    return word;
}

static uint64_t lane_of(const cf_lanes *lanes, uint64_t word, unsigned i)
{
    return word >> i * lanes->width & cf_low_bits(lanes->width);
}

static uint64_t top_of(const cf_lanes *lanes, unsigned i)
{
    return (uint64_t)1 << ((i + 1) * lanes->width - 1);
}

static void check_zero_lanes(const cf_lanes *lanes, unsigned pair_bits)
{
    (void)pair_bits;
    for (int k = 0; k < 300; k++) {
        uint64_t tag = random64() & cf_low_bits(lanes->width), expected = 0;
        uint64_t x = random_word(lanes, tag) ^ (random_below(2) ? tag * lanes->ones : 0);
        for (unsigned i = 0; i < lanes->count; i++)
            expected |= lane_of(lanes, x, i) == 0 ? top_of(lanes, i) : 0;
        assert_true(cf_zero_lanes(lanes, x) == expected);
        assert_int_equal(cf_any_zero_lane(lanes, x) != 0, expected != 0);
    }
}

static void zero_lanes_are_those_of_a_loop(void **state)
{
    (void)state;
    for_all_lanes(check_zero_lanes);
}

static void check_agreeing_lanes(const cf_lanes *lanes, unsigned pair_bits)
{
    for (int k = 0; k < 300; k++) {
        uint64_t tag = random64() & cf_low_bits(lanes->width), word = random_word(lanes, tag);
        uint64_t agreeing = 0, empty = 0;
        for (unsigned i = 0; i < lanes->count; i++) {
            uint64_t lane = lane_of(lanes, word, i);
            empty |= lane == 0 ? top_of(lanes, i) : 0;
            agreeing |= agrees(lane, tag, lanes->width, pair_bits) ? top_of(lanes, i) : 0;
        }
        assert_true(cf_compatible_lanes(lanes, word, tag) == agreeing);
        assert_true(cf_agreeing_lanes(lanes, word, tag) == (agreeing & ~empty));
    }
}

static void agreeing_lanes_are_those_of_a_loop(void **state)
{
    (void)state;
    for_all_lanes(check_agreeing_lanes);
}

/* Lane by lane, for every bit: those where it is set, or those where it is not, and the bits above it
** one place down. */
static void check_without_bit(const cf_lanes *lanes, unsigned pair_bits)
{
    (void)pair_bits;
    for (unsigned bit = 0; bit < lanes->width; bit++)
        for (int k = 0; k < 30; k++) {
            uint64_t word = random_word(lanes, random64() & cf_low_bits(lanes->width)), kept[2] = {0, 0};
            for (unsigned i = 0; i < lanes->count; i++) {
                uint64_t lane = lane_of(lanes, word, i);
                uint64_t rest = lane % ((uint64_t)1 << bit) | lane >> bit >> 1 << bit;
                kept[lane >> bit & 1] |= rest << i * lanes->width;
            }
            assert_true(cf_lanes_without_bit(lanes, word, bit, false) == kept[0]);
            assert_true(cf_lanes_without_bit(lanes, word, bit, true) == kept[1]);
        }
}

static void lanes_without_a_bit_are_those_of_a_loop(void **state)
{
    (void)state;
    for_all_lanes(check_without_bit);
}

static void first_slot_is_that_of_the_lowest_lane(void **state)
{
    (void)state;
    for (unsigned width = 4; width <= 16; width++) {
        cf_lanes lanes;
        cf_lanes_fill(&lanes, width, 4, 2, 4);
        for (unsigned set = 1; set < 16; set++) {
            uint64_t tops = 0;
            for (unsigned i = 0; i < 4; i++)
                tops |= set >> i & 1 ? top_of(&lanes, i) : 0;
            unsigned first = set & 1 ? 0 : set & 2 ? 1 : set & 4 ? 2 : 3;
            assert_int_equal(cf_first_slot(&lanes, tops, 0), first);
            assert_int_equal(cf_first_slot(&lanes, tops, 1), 4 + first);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(load_bits_reads_any_offset),
    cmocka_unit_test(store_bits_leaves_the_others),
    cmocka_unit_test(store_wide_leaves_the_others),
    cmocka_unit_test(wide_of_is_a_shift),
    cmocka_unit_test(words_lie_within_eight_bytes),
    cmocka_unit_test(plain_words_are_as_wide_as_they_can_be),
    cmocka_unit_test(lanes_cover_the_bucket),
    cmocka_unit_test(fits_word_is_about_every_bucket),
    cmocka_unit_test(first_lane_of_wide_buckets),
    cmocka_unit_test(zero_lanes_are_those_of_a_loop),
    cmocka_unit_test(agreeing_lanes_are_those_of_a_loop),
    cmocka_unit_test(lanes_without_a_bit_are_those_of_a_loop),
    cmocka_unit_test(first_slot_is_that_of_the_lowest_lane),
};

RUN_TESTS(tests)
