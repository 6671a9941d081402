/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/shape/load.h"

static const cf_options growing = {.growth = true}, fixed = {.growth = false};

static cf_geometry plan(uint64_t capacity, double fpr, cf_options options)
{
    cf_geometry shape;
    const char *why = "";
    if (cf_plan(capacity, fpr, &options, &shape, &why) != CF_OK)
        fail_msg("cf_plan(%llu, %g): %s", (unsigned long long)capacity, fpr, why);
    return shape;
}

static cf_status status_of(uint64_t capacity, double fpr, cf_options options)
{
    cf_geometry shape = {.buckets = 77};
    const char *why = NULL;
    cf_status status = cf_plan(capacity, fpr, &options, &shape, &why);
    if (status != CF_OK) {
        assert_non_null(why);
        assert_int_equal(shape.buckets, 77); /* unchanged on error */
    }
    return status;
}

static const uint64_t capacities[] = {0,  1,  2,   3,   7,    8,     9,       10,        16,
                                      17, 33, 100, 255, 1000, 12345, 1000000, 123456789, 1000000007};
static const double rates[] = {0.5, 0.3, 0.1, 0.03, 0.0101, 0.01, 0.003, 1e-3, 1e-4, 1e-6, 1e-8};
enum { CAPACITIES = sizeof capacities / sizeof capacities[0], RATES = sizeof rates / sizeof rates[0] };

static void check_promises(uint64_t n, double fpr, cf_options options)
{
    cf_geometry shape = plan(n, fpr, options);
    const char *why = "";
    uint64_t keys = n ? n : 1;
    assert_int_equal(cf_geometry_check(&shape, &why), CF_OK);
    assert_true(cf_load_keys(&shape) >= keys);
    assert_true(cf_expected_fpr(&shape, keys) <= fpr);
    assert_int_equal(shape.capacity, keys);
    assert_int_equal(shape.growth, options.growth);
    if (options.bucket_size)
        assert_int_equal(shape.bucket_size, options.bucket_size);
}

static void plans_keep_both_promises(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CAPACITIES; i++)
        for (unsigned j = 0; j < RATES; j++) {
            check_promises(capacities[i], rates[j], growing);
            check_promises(capacities[i], rates[j], fixed);
            for (unsigned b = 2; b <= 8; b *= 2) {
                check_promises(capacities[i], rates[j], (cf_options){.bucket_size = b});
                check_promises(capacities[i], rates[j], (cf_options){.bucket_size = b, .growth = true});
            }
        }
}

/* All of the fingerprint is pair bits, unless the filter may grow. */
static void pair_bits_follow_the_rules(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 32; f++) {
            cf_options options = {.bucket_size = b, .fingerprint_bits = f};
            cf_geometry shape = plan(100, 0, options);
            assert_int_equal(shape.fingerprint_bits, f);
            assert_int_equal(shape.pair_bits, f);
            options.growth = true;
            bool grows = b == 2 ? f >= 12 : b > 2 && f >= 8;
            assert_int_equal(status_of(100, 0, options), grows ? CF_OK : CF_BAD_ARGUMENT);
            unsigned s = b == 2 ? 8 : f >= 10 ? 6 : f - 4;
            if (grows)
                assert_int_equal(plan(100, 0, options).pair_bits, s);
        }
}

/* Large tables have more pair bits where too many keys would agree in few; three remainder bits are
** left at least. */
static void large_tables_get_more_pair_bits(void **state)
{
    (void)state;
    assert_int_equal(plan(1000000, 0.01, growing).pair_bits, 6);
    assert_int_equal(plan(30000000, 0.01, growing).pair_bits, 7);
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned f = b == 2 ? 12 : 8; f <= 32; f++)
            for (uint64_t n = 1000; n < (uint64_t)1 << 31; n *= 4) {
                cf_options options = {.bucket_size = b, .fingerprint_bits = f, .growth = true};
                cf_geometry shape = plan(n, 0, options);
                unsigned least = b == 2 ? 8 : f >= 10 ? 6 : f - 4;
                assert_in_range(shape.pair_bits, least, shape.buckets > 1024 ? f - 3 : least);
                assert_true(f < 16 || n < 100000 ||
                            n >= (double)cf_geometry_slots(&shape) * (b == 2 ? 0.75 : 0.9));
            }
}

/* ---- how long filters live ---- */

/* f = 7 .. 17. With b = 2 and f < 10 no cap lets a filter live for 100,000 turnovers: then it is
** the largest that leaves other keys their room. */
static const unsigned first_width = 7, caps[3][11] = {
                                           {2, 2, 4, 4, 4, 4, 4, 4, 3, 3, 3}, /* b = 2 */
                                           {6, 6, 5, 5, 4, 4, 4, 4, 4, 3, 3}, /* b = 4 */
                                           {7, 6, 6, 5, 5, 4, 4, 4, 4, 4, 3}, /* b = 8 */
};

static void caps_let_filters_live_long(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 11; k++) {
            unsigned b = 2u << i, f = first_width + k;
            cf_options options = {.bucket_size = b, .fingerprint_bits = f};
            cf_geometry shape = plan(100000, 0, options);
            assert_int_equal(shape.cap, caps[i][k]);
            assert_true(cf_turnovers(&shape) >= 100000 || (b == 2 && f < 10));
            options.counter_bits = 3;
            assert_int_equal(plan(100000, 0, options).cap, caps[i][k]);
        }
}

/* One less, and a filter lives shorter; but never fewer than three copies unless more would crowd
** others (load.h). */
static void caps_are_no_larger_than_that(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 32; f++) {
            cf_geometry shape = plan(1000, 0, (cf_options){.bucket_size = b, .fingerprint_bits = f});
            unsigned most = cf_load_copies(&shape);
            assert_in_range(shape.cap, most < 3 ? most : 3, most);
            assert_true(shape.cap == most || cf_turnovers(&shape) >= 100000);
            shape.cap--;
            assert_true(shape.cap < 3 || cf_turnovers(&shape) < 100000);
        }
    assert_int_equal(plan(1000, 0, (cf_options){.bucket_size = 1, .fingerprint_bits = 20}).cap, 1);
}

static void plans_have_an_even_number_of_buckets(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 32; f++)
            for (uint64_t n = 1; n < 3000; n += 1 + n / 5) {
                cf_geometry shape = plan(n, 0, (cf_options){.bucket_size = b, .fingerprint_bits = f});
                assert_true(shape.buckets >= 2 && shape.buckets % 2 == 0 && shape.cap <= 2 * b);
            }
}

static void turnovers_rise_with_what_is_spent(void **state)
{
    cf_geometry shape = {.buckets = 2};
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f < 32; f++)
            for (unsigned cap = 1; cap < 2 * b; cap++) {
                shape.bucket_size = (uint8_t)b, shape.fingerprint_bits = (uint8_t)f,
                shape.cap = (uint8_t)cap;
                uint64_t turnovers = cf_turnovers(&shape);
                shape.fingerprint_bits++;
                assert_true(cf_turnovers(&shape) >= turnovers);
                shape.fingerprint_bits--, shape.cap++;
                assert_true(cf_turnovers(&shape) + (f < 8) >= turnovers);
            }
    assert_true(cf_turnovers(&shape) <= CF_TURNOVERS_MAX);
}

/* With counters the copies that one entry counts stand for cap. */
static void turnovers_follow_from_counters(void **state)
{
    static const struct {
        unsigned b, f, counter_bits;
        uint64_t turnovers;
    } known[] = {
        {4, 10, 0, 15728},
        {4, 10, 1, 0},
        {4, 10, 2, 62914},
        {8, 11, 2, 62914},
        {4, 7, 2, 122},
        {4, 32, 1, 2684354},
        {4, 7, 3, CF_TURNOVERS_MAX},
        {4, 10, 16, CF_TURNOVERS_MAX},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        cf_geometry shape = {.bucket_size = (uint8_t)known[i].b,
                             .fingerprint_bits = (uint8_t)known[i].f,
                             .counter_bits = (uint8_t)known[i].counter_bits,
                             .cap = 4};
        assert_int_equal(cf_turnovers(&shape), known[i].turnovers);
    }
}

/* Bytes grow with the capacity: 1 % more keys take about 1 % more, or a tenth more or less where
** the planner takes another fingerprint width (plan.c, chosen). */
static void size_is_in_proportion(void **state)
{
    (void)state;
    for (unsigned j = 0; j < RATES; j++)
        for (uint64_t n = 1000; n < 100000000; n += n / 100) {
            cf_geometry now = plan(n, rates[j], growing);
            cf_geometry next = plan(n + n / 100, rates[j], growing);
            double ratio = (double)cf_geometry_bytes(&next) / (double)cf_geometry_bytes(&now);
            assert_true(ratio > 0.89 && ratio < 1.1);
        }
}

static void lower_rates_take_more_bytes_step_by_step(void **state)
{
    uint64_t before = 0;
    (void)state;
    for (double e = 0.02; e > 1e-8; e *= 0.97) {
        cf_geometry shape = plan(1000000, e, growing);
        uint64_t bytes = cf_geometry_bytes(&shape);
        assert_true(bytes >= before && (before == 0 || bytes < before + before / 11));
        before = bytes;
    }
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    assert_int_equal(status_of(100, -0.1, fixed), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 1.0, fixed), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.0 / 0.0, fixed), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0, fixed), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 1e-12, fixed), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 1e-300, fixed), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(CF_CAPACITY_MAX + 1, 0.01, fixed), CF_TOO_BIG);
    assert_int_equal(status_of(UINT64_MAX, 0.01, fixed), CF_TOO_BIG);
    assert_int_equal(status_of(100, 0.01, (cf_options){.bucket_size = 3}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.bucket_size = 16}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.affinity = 4}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.hash = 3}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.collation = 3}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.affinity = 3, .collation = 2}), CF_OK);
    assert_int_equal(status_of(100, 0.01, (cf_options){.fingerprint_bits = 3}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.fingerprint_bits = 33}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.001, (cf_options){.fingerprint_bits = 4}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.counter_bits = 17}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.value_bits = 33}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.counter_bits = UINT32_MAX}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.counter_bits = 1, .value_bits = 1}),
                     CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.overflow_budget = 256}), CF_BAD_ARGUMENT);
    assert_int_equal(status_of(100, 0.01, (cf_options){.spill_bound = 4097}), CF_BAD_ARGUMENT);
}

/* What cannot grow is refused with growth, and planned without. */
static void what_cannot_grow_is_refused(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 16; f++) {
            bool grows = b > 1 && f >= (b == 2 ? 12 : 8);
            cf_options options = {.bucket_size = b, .fingerprint_bits = f, .growth = true};
            assert_int_equal(status_of(100, 0, options), grows ? CF_OK : CF_BAD_ARGUMENT);
            options.growth = false;
            assert_int_equal(status_of(100, 0, options), CF_OK);
        }
}

/* The largest capacity needs fingerprints longer than the shortest, whatever the rate is. */
static void large_capacities_need_long_fingerprints(void **state)
{
    (void)state;
    for (uint64_t capacity = 1000; capacity <= CF_CAPACITY_MAX; capacity *= 1000)
        for (unsigned f = 4; f <= 32; f++) {
            cf_status status = status_of(capacity, 0, (cf_options){.fingerprint_bits = f});
            assert_true(status == CF_OK || status == CF_TOO_BIG);
        }
}

static void a_seed_asks_for_the_keyed_hash(void **state)
{
    static const struct {
        cf_options options;
        bool keyed;
    } cases[] = {{{.seed = 0}, false},
                 {{.seed = 5}, true},
                 {{.seed = INT64_MIN}, true},
                 {{.seed = 0, .hash = CF_HASH_KEYED}, true},
                 {{.seed = 5, .hash = CF_HASH_KEYED}, true},
                 {{.seed = 5, .hash = CF_HASH_XXH3}, false}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_geometry shape = plan(100, 0.01, cases[i].options);
        assert_int_equal(cf_is_keyed(&cases[i].options), cases[i].keyed);
        assert_int_equal(shape.keyed, cases[i].keyed);
    }
}

/* Payloads cost what they take, and change neither promise. */
static void payloads_are_planned(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 32; bits += 4)
        for (int growth = 0; growth < 2; growth++)
            for (uint64_t n = 1; n < 1000000; n = n * 7 + 3) {
                cf_options options = {.growth = growth, .value_bits = bits};
                cf_geometry shape = plan(n, 0.01, options);
                check_promises(n, 0.01, options);
                assert_int_equal(shape.value_bits, bits);
                assert_int_equal(shape.counter_bits, 0);
                uint64_t slot = shape.fingerprint_bits + bits - shape.semisorted;
                assert_int_equal(cf_geometry_bytes(&shape),
                                 64 + (cf_geometry_slots(&shape) * slot + 7) / 8 + 8);
                options = (cf_options){.growth = growth, .counter_bits = bits / 2};
                assert_int_equal(plan(n, 0.01, options).counter_bits, bits / 2);
                assert_int_equal(plan(n, 0.01, options).value_bits, 0);
            }
}

/* Long fingerprints are semi-sorted only where that saves more than three in a hundred bytes. */
static void long_fingerprints_are_plain_where_that_costs_little(void **state)
{
    unsigned seen[2] = {0, 0};
    (void)state;
    for (unsigned i = 0; i < CAPACITIES * RATES * 3; i++) {
        uint64_t n = capacities[i % CAPACITIES];
        double fpr = rates[i / CAPACITIES % RATES];
        cf_options options = {.value_bits = i / (CAPACITIES * RATES) * 16, .growth = i % 2};
        cf_geometry any = plan(n, fpr, options);
        options.layout = CF_LAYOUT_SEMISORT;
        cf_geometry sorted = plan(n, fpr, options);
        options.layout = CF_LAYOUT_PLAIN;
        cf_geometry plain = plan(n, fpr, options);
        uint64_t least = cf_geometry_bytes(&sorted), most = cf_geometry_bytes(&plain);
        if (sorted.fingerprint_bits < 17 || least >= most)
            continue;
        seen[any.semisorted]++;
        assert_int_equal(any.semisorted, 100 * most > 103 * least);
    }
    assert_true(seen[0] > 10 && seen[1] > 10);
}

/* The chance that a planned filter is full too early is at most one in a million: none may fail
** here. */
static void planned_filters_take_their_keys(void **state)
{
    (void)state;
    for (unsigned i = 1; i < CAPACITIES - 3; i++)
        for (unsigned j = 0; j < RATES; j++)
            for (int growth = 0; growth < 2; growth++) {
                cf_options options = {.growth = growth};
                test_filter made = planned_filter(capacities[i], rates[j], options);
                uint64_t rounds = capacities[i] < 100 ? 300 : 30000 / capacities[i] + 1;
                for (uint64_t round = 0; round < rounds; round++) {
                    cf_clear(&made.filter);
                    for (uint64_t k = 0; k < capacities[i]; k++)
                        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
                }
                free_filter(&made);
            }
}

static void wider_is_a_little_more(void **state)
{
    cf_geometry shape = plan(1, 0.01, fixed);
    (void)state;
    for (uint64_t before = shape.buckets; before < (uint64_t)1 << 39; before = shape.buckets) {
        assert_int_equal(cf_plan_wider(&shape), CF_OK);
        assert_true(shape.buckets > before && shape.buckets % 2 == 0);
        assert_true(shape.buckets <= before + before / 32 + 2);
    }
    shape.buckets = CF_CAPACITY_MAX;
    assert_int_equal(cf_plan_wider(&shape), CF_TOO_BIG);
    assert_true(shape.buckets == CF_CAPACITY_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plans_keep_both_promises),
    cmocka_unit_test(pair_bits_follow_the_rules),
    cmocka_unit_test(large_tables_get_more_pair_bits),
    cmocka_unit_test(caps_let_filters_live_long),
    cmocka_unit_test(caps_are_no_larger_than_that),
    cmocka_unit_test(plans_have_an_even_number_of_buckets),
    cmocka_unit_test(turnovers_rise_with_what_is_spent),
    cmocka_unit_test(turnovers_follow_from_counters),
    cmocka_unit_test(size_is_in_proportion),
    cmocka_unit_test(lower_rates_take_more_bytes_step_by_step),
    cmocka_unit_test(bad_arguments_are_refused),
    cmocka_unit_test(what_cannot_grow_is_refused),
    cmocka_unit_test(large_capacities_need_long_fingerprints),
    cmocka_unit_test(a_seed_asks_for_the_keyed_hash),
    cmocka_unit_test(payloads_are_planned),
    cmocka_unit_test(long_fingerprints_are_plain_where_that_costs_little),
    cmocka_unit_test(planned_filters_take_their_keys),
    cmocka_unit_test(wider_is_a_little_more),
};

RUN_TESTS(tests)
