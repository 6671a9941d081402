#include "test.h"

#include "../src/bucket.h"

static const unsigned bucket_sizes[] = {1, 2, 4, 8};

/* Fills a table slot by slot with random tags, keeping them in an array beside it. */
static void fill(cf_filter *filter, uint64_t *expected)
{
    unsigned b = filter->geometry.bucket_size;
    for (uint64_t i = 0; i < filter->geometry.buckets; i++)
        for (unsigned slot = 0; slot < b; slot++) {
            uint64_t tag = random64() & filter->tag_mask;
            cf_slot_set(filter, i, slot, tag);
            expected[i * b + slot] = tag;
        }
}

static void check_slots(const cf_filter *filter, const uint64_t *expected)
{
    unsigned b = filter->geometry.bucket_size;
    for (uint64_t i = 0; i < filter->geometry.buckets; i++)
        for (unsigned slot = 0; slot < b; slot++)
            assert_true(cf_slot_get(filter, i, slot) == expected[i * b + slot]);
}

/* Every width and bucket size; 17 buckets, so that records start at every bit of a byte. */
static void slots_keep_what_is_written(void **state)
{
    (void)state;
    for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned i = 0; i < 4; i++) {
            uint64_t expected[17 * 8];
            test_filter made = new_filter(shape_of(17, bucket_sizes[i], f));
            fill(&made.filter, expected);
            check_slots(&made.filter, expected);
            for (int k = 0; k < 200; k++) {
                uint64_t at = random_below(17), tag = random64() & made.filter.tag_mask;
                unsigned slot = (unsigned)random_below(bucket_sizes[i]);
                cf_slot_set(&made.filter, at, slot, tag);
                expected[at * bucket_sizes[i] + slot] = tag;
            }
            check_slots(&made.filter, expected);
            free_filter(&made);
        }
}

static void check_matching(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    unsigned expected = 0;
    int first = -1;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        if (cf_slot_get(filter, bucket, slot) == tag) {
            expected++;
            first = first < 0 ? (int)slot : first;
        }
    assert_int_equal(cf_bucket_count(filter, (cf_side){bucket, tag}), expected);
    assert_int_equal(cf_bucket_find(filter, (cf_side){bucket, tag}), first);
    if (tag == 0)
        assert_int_equal(cf_bucket_free_slot(filter, bucket), first);
}

static bool any_match(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < filter->lanes.words; i++)
        found |=
            cf_any_zero_lane(&filter->lanes, cf_word(filter, bucket, i) ^ (tag * filter->lanes.ones));
    return found != 0;
}

/* Comparing all lanes at once says what comparing slot by slot says; few different tags, and
** neighbours that differ in one bit, so that borrows between lanes would show. */
static void matching_agrees_with_a_slot_loop(void **state)
{
    (void)state;
    for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned i = 0; i < 4; i++) {
            test_filter made = new_filter(shape_of(17, bucket_sizes[i], f));
            uint64_t top = (uint64_t)1 << (f - 1), mask = made.filter.tag_mask;
            uint64_t pool[] = {0, 1, 2, 3, top, top - 1, top + 1, mask, mask - 1, 5 & mask};
            for (int k = 0; k < 400; k++) {
                uint64_t at = random_below(17);
                cf_slot_set(&made.filter, at, (unsigned)random_below(bucket_sizes[i]),
                            pool[random_below(10)]);
                for (unsigned p = 0; p < 10; p++) {
                    check_matching(&made.filter, at, pool[p]);
                    bool there = cf_bucket_count(&made.filter, (cf_side){at, pool[p]}) > 0;
                    assert_int_equal(any_match(&made.filter, at, pool[p]), there);
                }
            }
            free_filter(&made);
        }
}

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

/* No word of any bucket needs a ninth byte. */
static void words_lie_within_eight_bytes(void **state)
{
    (void)state;
    for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned i = 0; i < 4; i++) {
            cf_lanes lanes;
            cf_lanes_set(&lanes, f, bucket_sizes[i]);
            unsigned bits = lanes.width * lanes.count;
            for (unsigned word = 0; word < 64; word++)
                assert_true(word * bits % 8 + bits <= 64);
        }
}

static void lanes_cover_the_bucket(void **state)
{
    (void)state;
    for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned i = 0; i < 4; i++) {
            cf_lanes lanes;
            cf_lanes_set(&lanes, f, bucket_sizes[i]);
            uint64_t ones = 0;
            for (unsigned k = 0; k < lanes.count; k++)
                ones |= (uint64_t)1 << (k * f);
            assert_int_equal(lanes.count * lanes.words, bucket_sizes[i]);
            assert_true(lanes.count * f <= 64);
            assert_true(lanes.ones == ones);
            assert_true(lanes.highs == ones << (f - 1));
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(slots_keep_what_is_written), cmocka_unit_test(matching_agrees_with_a_slot_loop),
    cmocka_unit_test(load_bits_reads_any_offset), cmocka_unit_test(words_lie_within_eight_bytes),
    cmocka_unit_test(lanes_cover_the_bucket),
};

RUN_TESTS(tests)
