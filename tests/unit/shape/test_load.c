/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include <math.h>

#include "../../../src/shape/load.h"

/* Keys promised for m buckets: all of the fingerprint pair bits, or s of 24 for a table that
** grows. */
static uint64_t promised(unsigned b, unsigned f, unsigned s, uint64_t m)
{
    cf_geometry shape = shape_of(m, b, f);
    shape.pair_bits = (uint8_t)s;
    return cf_load_keys(&shape);
}

static void keys_rise(unsigned b, unsigned f, unsigned s)
{
    uint64_t before = 0;
    for (uint64_t m = 2; m < (uint64_t)1 << 40; m += m < 5000 ? 2 : m / 100 * 2) {
        uint64_t keys = promised(b, f, s, m);
        assert_true(keys <= m * b && keys >= 2 * b);
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
    for (unsigned s = 4; s <= 9; s++)
        for (unsigned b = 2; b <= 8; b *= 2)
            keys_rise(b, 24, s);
}

/* Sets of more than 2b keys, of so many, that agree in pair bits and pair of buckets. */
static double crowded_sets(unsigned b, unsigned s, uint64_t m, uint64_t keys)
{
    double k = 2 * b + 1, pairs = (double)m * pow(2, s - 1);
    return exp(k * log((double)keys) - lgamma(k + 1) - (k - 1) * log(pairs));
}

/* With few pair bits too many keys share a pair in one filling of a million: no trial would show
** it. */
static void pairs_are_not_crowded(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned s = 4; s <= 12; s++)
            for (uint64_t m = 2; m < (uint64_t)1 << 40; m += 2 + m / 8 * 2) {
                uint64_t keys = promised(b, 24, s, m);
                assert_true(keys == 2 * b || crowded_sets(b, s, m, keys) < 3.5e-7);
            }
    /* nor is the table emptier than that takes */
    assert_true(crowded_sets(4, 5, 1 << 20, promised(4, 24, 5, 1 << 20)) > 1.5e-7);
    assert_true(crowded_sets(2, 8, 1 << 20, promised(2, 24, 8, 1 << 20)) > 1.5e-7);
}

/* Classes of equal entries: n of them that share buckets, with more than (n + 1) * b entries. */
static double crowded_classes(const cf_geometry *shape, unsigned n)
{
    double width = pow(2, shape->fingerprint_bits), m = (double)shape->buckets;
    double k = (n + 1) * shape->bucket_size + 1;
    double mean = n * 2 * (double)shape->capacity / m / width;
    return m * width / 2 * pow(2 * width, n - 1) * exp(k * log(mean) - lgamma(k + 1));
}

/* With as many copies as cap allows, classes must not take the room of others. */
static void copies_do_not_crowd(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 32; f++)
            for (uint64_t m = 2; m < (uint64_t)1 << 32; m += 2 + m / 4 * 2) {
                cf_geometry shape = shape_of(m, b, f);
                unsigned most = cf_load_copies(&shape);
                assert_true(most == b || (b > 1 && crowded_classes(&shape, 3) < 4e-7));
                assert_true(most <= b * 3 / 2 || (most == 2 * b && crowded_classes(&shape, 2) < 4e-7));
            }
}

static void logarithms_are_rounded_down(void **state)
{
    (void)state;
    for (uint64_t x = 1; x < (uint64_t)1 << 62; x += 1 + x / 5) {
        double exact = log2((double)x) * (1 << CF_LOG_BITS);
        assert_true((double)cf_log2_units(x) <= exact + 1e-9 && (double)cf_log2_units(x) > exact - 1.01);
    }
}

/* The thresholds of large tables that do not grow: paper, section 4. */
static void large_tables_reach_the_thresholds(void **state)
{
    uint64_t m = (uint64_t)1 << 25;
    (void)state;
    assert_true((double)promised(2, 12, 12, m) / (double)(2 * m) > 0.84);
    assert_true((double)promised(4, 12, 12, m) / (double)(4 * m) > 0.96);
    assert_true((double)promised(8, 12, 12, m) / (double)(8 * m) > 0.985);
}

static void two_buckets_take_all_their_slots(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        assert_int_equal(promised(b, 4, 4, 2), 2 * b);
        test_filter made = new_filter(shape_of(2, b, 32));
        for (unsigned i = 0; i < 2 * b; i++)
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        free_filter(&made);
    }
}

/* The shape with the cap that is planned for it. */
static cf_geometry planned_shape(unsigned b, unsigned f, unsigned s, uint64_t m)
{
    cf_geometry shape = shape_of(m, b, f), plan;
    cf_options options = {.bucket_size = b, .fingerprint_bits = f};
    const char *why;
    assert_int_equal(cf_plan(1000, 0, &options, &plan, &why), CF_OK);
    shape.pair_bits = (uint8_t)s;
    shape.cap = plan.cap;
    return shape;
}

static cf_status add_in_turn(cf_filter *filter, const uint64_t *hashes, uint64_t n, size_t *added)
{
    cf_status status = CF_OK;
    for (*added = 0; status == CF_OK && *added < n; *added += status == CF_OK)
        status = cf_add(filter, hashes[*added]);
    return status;
}

/* Fills tables of m buckets with as many keys as promised, over many streams of keys: in turn, all at
** once, and sorted in turn. Returns how many fillings failed. */
static unsigned fill_as_promised(unsigned b, unsigned f, unsigned s, uint64_t m, unsigned rounds)
{
    cf_geometry shape = planned_shape(b, f, s, m);
    test_filter made = new_filter(shape);
    uint64_t keys = cf_load_keys(&shape), *hashes = malloc(keys * sizeof *hashes);
    size_t added;
    unsigned failed = 0;
    for (unsigned round = 0; round < rounds; round++) {
        cf_clear(&made.filter);
        for (uint64_t i = 0; i < keys; i++)
            hashes[i] = random64();
        if (round % 3 == 2)
            assert_int_equal(cf_sort(hashes, keys, NULL), CF_OK);
        if ((round % 3 == 1 ? cf_add_many(&made.filter, hashes, keys, &added)
                            : add_in_turn(&made.filter, hashes, keys, &added)) != CF_OK) {
            printf("# b=%u f=%u s=%u m=%llu: full at key %llu of %llu\n", b, f, s, (unsigned long long)m,
                   (unsigned long long)added, (unsigned long long)keys);
            failed++;
        }
    }
    free(hashes);
    free_filter(&made);
    return failed;
}

static unsigned fill_at_all_sizes(unsigned b, unsigned f, unsigned s)
{
    unsigned failed = fill_as_promised(b, f, s, 5000, 2);
    for (uint64_t m = 2; m <= 40; m += 2)
        failed += fill_as_promised(b, f, s, m, 2000 / (unsigned)m + 20);
    for (uint64_t m = 48; m < 1200; m += 30)
        failed += fill_as_promised(b, f, s, m, 4);
    return failed;
}

/* At most one filling in a million may fail: hardly one of these 200,000. */
static void promised_keys_fit(void **state)
{
    unsigned failed = 0;
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 16; f += f < 10 ? 1 : 3)
            failed += fill_at_all_sizes(b, f, f);
    for (unsigned s = 4; s <= 7; s++) {
        failed += fill_at_all_sizes(4, s + 4, s);
        failed += fill_at_all_sizes(4, 20, s);
        failed += fill_at_all_sizes(8, 20, s);
    }
    failed += fill_at_all_sizes(2, 20, 8);
    assert_true(failed <= 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(keys_rise_with_buckets),
    cmocka_unit_test(pairs_are_not_crowded),
    cmocka_unit_test(copies_do_not_crowd),
    cmocka_unit_test(logarithms_are_rounded_down),
    cmocka_unit_test(large_tables_reach_the_thresholds),
    cmocka_unit_test(two_buckets_take_all_their_slots),
    cmocka_unit_test(promised_keys_fit),
};

RUN_TESTS(tests)
