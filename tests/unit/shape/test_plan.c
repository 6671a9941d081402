/* SPDX-License-Identifier: MIT */
/* What the planner promises: room, error rate, a long life; and which shapes are sound. */
#include "../test.h"

#include <math.h>

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

/* ---- shapes ---- */

static void check_plan(uint64_t n, double fpr, cf_options options)
{
    cf_geometry shape = plan(n, fpr, options);
    const char *why = "";
    uint64_t least = n ? n : 1;
    unsigned f = shape.fingerprint_bits, s = shape.pair_bits;
    assert_int_equal(cf_geometry_check(&shape, &why), CF_OK);
    assert_true(cf_geometry_slots(&shape) >= least && shape.capacity == least);
    assert_true(fpr == 0 || cf_expected_fpr(&shape, least) <= fpr);
    assert_int_equal(shape.growth, options.growth);
    assert_true(!options.bucket_size || shape.bucket_size == options.bucket_size);
    assert_true(!options.fingerprint_bits || f == options.fingerprint_bits);
    assert_true(shape.counter_bits == options.counter_bits && shape.value_bits == options.value_bits);
    assert_true(options.growth ? s < f : s == f); /* remainder bits are for growth */
    uint64_t bits = f + shape.counter_bits + shape.value_bits - shape.semisorted;
    assert_true(cf_geometry_bytes(&shape) == 64 + (cf_geometry_slots(&shape) * bits + 7) / 8 + 8);
}

TEST(plans_keep_their_promises)
{
    for (unsigned i = 0; i < CAPACITIES; i++)
        for (unsigned j = 0; j < RATES; j++)
            for (unsigned b = 0; b <= 8; b = b ? 2 * b : 2)
                for (unsigned growth = 0; growth < 2; growth++)
                    check_plan(capacities[i], rates[j],
                               (cf_options){.bucket_size = b, .growth = growth});
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 32; f++)
            for (uint64_t n = 1; n < 3000; n += 1 + n / 5)
                check_plan(n, 0, (cf_options){.bucket_size = b, .fingerprint_bits = f});
    for (unsigned bits = 0; bits <= 32; bits += 4)
        for (uint64_t n = 1; n < 1000000; n = n * 7 + 3) {
            check_plan(n, 0.01, (cf_options){.value_bits = bits, .growth = n % 2});
            check_plan(n, 0.01, (cf_options){.counter_bits = bits / 2, .growth = n % 2});
        }
}

/* Buckets are semi-sorted where they can be, unless plain ones are asked for: that takes fewer bytes. */
TEST(the_smaller_layout_is_chosen)
{
    for (unsigned i = 0; i < CAPACITIES * RATES * 3; i++) {
        uint64_t n = capacities[i % CAPACITIES];
        double fpr = rates[i / CAPACITIES % RATES];
        cf_options options = {.value_bits = i / (CAPACITIES * RATES) * 16, .growth = i % 2};
        cf_geometry any = plan(n, fpr, options);
        options.layout = CF_LAYOUT_SEMISORT;
        cf_geometry sorted = plan(n, fpr, options);
        options.layout = CF_LAYOUT_PLAIN;
        cf_geometry plain = plan(n, fpr, options);
        assert_true(sorted.semisorted && !plain.semisorted);
        assert_true(any.semisorted == (any.bucket_size == 4 && any.fingerprint_bits > 4));
        assert_true(cf_geometry_bytes(&any) <= cf_geometry_bytes(&sorted));
        assert_true(cf_geometry_bytes(&any) <= cf_geometry_bytes(&plain));
    }
}

/* The thresholds of large tables: paper, section 4. What may grow has a little less. */
TEST(large_tables_are_well_filled)
{
    for (unsigned growth = 0; growth < 2; growth++)
        for (unsigned b = 2; b <= 8; b *= 2) {
            cf_options options = {.bucket_size = b, .fingerprint_bits = 16, .growth = growth};
            cf_geometry shape = plan(30000000, 0, options);
            double load = 30000000.0 / (double)cf_geometry_slots(&shape);
            assert_true(load > (b == 2 ? growth ? 0.75 : 0.84 : b == 4 ? growth ? 0.9 : 0.96 : 0.9));
        }
}

/* ---- options ---- */

/* Two fewer would be too few: 2 n slots with fingerprints of f bits are compared, in all buckets. */
TEST(a_rate_takes_the_fewest_buckets)
{
    unsigned tight = 0;
    for (unsigned i = 0; i < 500; i++) {
        const char *why;
        cf_geometry roomy, shape;
        uint64_t n = 10 + random64() % 5000;
        double fpr = 0.4 * pow(2, -(double)(random64() % 1200) / 100);
        cf_options options = {.fingerprint_bits = 8 + i % 8, .layout = CF_LAYOUT_PLAIN};
        if (cf_plan(n, 0.5, &options, &roomy, &why) != CF_OK ||
            cf_plan(n, fpr, &options, &shape, &why) != CF_OK || shape.buckets == roomy.buckets)
            continue;
        double match = pow(2, -(int)shape.fingerprint_bits) + 2 * pow(4, -(int)shape.fingerprint_bits);
        assert_true(2 * (double)n * match / (double)shape.buckets <= fpr);
        assert_true(2 * (double)n * match / (double)(shape.buckets - 2) > fpr);
        tight++;
    }
    assert_true(tight > 50);
}

TEST(bad_arguments_are_refused)
{
    static const struct {
        uint64_t capacity;
        double fpr;
        cf_options options;
        cf_status expected;
    } cases[] = {{100, -0.1, {0}, CF_BAD_ARGUMENT},
                 {100, 1.0, {0}, CF_BAD_ARGUMENT},
                 {100, NAN, {0}, CF_BAD_ARGUMENT},
                 {100, 0, {0}, CF_BAD_ARGUMENT},
                 {100, 1e-12, {0}, CF_BAD_ARGUMENT},
                 {100, 1e-300, {0}, CF_BAD_ARGUMENT},
                 {CF_CAPACITY_MAX + 1, 0.01, {0}, CF_TOO_BIG},
                 {UINT64_MAX, 0.01, {0}, CF_TOO_BIG},
                 {100, 0.01, {.bucket_size = 3}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.bucket_size = 16}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.affinity = (cf_affinity)4}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.hash = (cf_hash_choice)3}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.collation = (cf_collation)3}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.affinity = CF_AFFINITY_REAL, .collation = CF_COLLATION_RTRIM}, CF_OK},
                 {100, 0.01, {.fingerprint_bits = 3}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.fingerprint_bits = 33}, CF_BAD_ARGUMENT},
                 {100, 0.001, {.fingerprint_bits = 4}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.counter_bits = 17}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.value_bits = 63}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.counter_bits = UINT32_MAX}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.counter_bits = 1, .value_bits = 1}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.max_kicks = 256}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.stash_size = 4097}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.epochs = 16}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.epochs = 3, .counter_bits = 1}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.epochs = 3, .value_bits = 1}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.epochs = 3, .stash = true}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.growth = true, .stash = true}, CF_BAD_ARGUMENT},
                 {100, 0.01, {.growth = true, .max_kicks = 3, .stash_size = 9}, CF_OK}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(status_of(cases[i].capacity, cases[i].fpr, cases[i].options),
                         cases[i].expected);
}

/* What cannot grow is refused with growth, and planned without. The largest capacities need fingerprints
** longer than the shortest. */
TEST(some_widths_are_refused)
{
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 32; f++) {
            bool grows = b > 1 && f >= (b == 2 ? 12 : 8);
            cf_options options = {.bucket_size = b, .fingerprint_bits = f, .growth = true};
            assert_int_equal(status_of(100, 0, options), grows ? CF_OK : CF_BAD_ARGUMENT);
            options.growth = false;
            assert_int_equal(status_of(100, 0, options), CF_OK);
            for (uint64_t n = 1000; n <= CF_CAPACITY_MAX; n *= 1000) {
                cf_status status = status_of(n, 0, (cf_options){.fingerprint_bits = f});
                assert_true(status == CF_OK || status == CF_TOO_BIG);
            }
        }
}

TEST(a_seed_asks_for_the_keyed_hash)
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
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(cf_is_keyed(&cases[i].options), cases[i].keyed);
        assert_int_equal(plan(100, 0.01, cases[i].options).keyed, cases[i].keyed);
    }
}

/* ---- how long filters live ---- */

/* Filters live for 100,000 turnovers, with no more copies than that takes: but never fewer than three,
** unless more would crowd other keys. */
TEST(caps_let_filters_live_long)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned f = 7; f <= 32; f++)
            for (unsigned counters = 0; counters < 4; counters += 3) {
                cf_options options = {.bucket_size = b, .fingerprint_bits = f, .counter_bits = counters};
                cf_geometry shape = plan(100000, 0, options);
                assert_true(counters > 0 || b == 2 ? shape.max_copies >= 2 : shape.max_copies >= 3);
                shape.counter_bits = 0;
                assert_true(cf_turnovers(&shape) >= 100000 || (b == 2 && f < 15));
                shape.max_copies--;
                assert_true(shape.max_copies < 3 || (b == 2 && f < 15) || cf_turnovers(&shape) < 100000);
            }
    assert_int_equal(plan(1000, 0, (cf_options){.bucket_size = 1, .fingerprint_bits = 20}).max_copies,
                     1);
}

/* With counters the copies that one entry counts stand for max_copies. */
TEST(turnovers_follow_from_counters)
{
    static const struct {
        unsigned b, f, counter_bits;
        uint64_t turnovers;
    } known[] = {{4, 10, 0, 15728},
                 {4, 10, 1, 0},
                 {4, 10, 2, 62914},
                 {8, 11, 2, 62914},
                 {4, 7, 2, 122},
                 {4, 32, 1, 2684354},
                 {4, 7, 3, CF_TURNOVERS_MAX},
                 {4, 10, 16, CF_TURNOVERS_MAX}};
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        cf_geometry shape = {.bucket_size = (uint8_t)known[i].b,
                             .fingerprint_bits = (uint8_t)known[i].f,
                             .counter_bits = (uint8_t)known[i].counter_bits,
                             .max_copies = 4};
        assert_int_equal(cf_turnovers(&shape), known[i].turnovers);
    }
}

/* ---- room ---- */

/* Fills it with what it was planned for, in turn, all at once, and sorted in turn; how often it was full too
** early. */
static unsigned fill_planned(uint64_t n, double fpr, cf_options options, unsigned rounds)
{
    unsigned full = 0;
    test_filter made = planned_filter(n, fpr, options);
    for (unsigned round = 0; round < rounds; round++) {
        keys all = random_keys(n);
        cf_status status = CF_OK;
        cf_clear(&made.filter);
        if (round % 3 == 2)
            assert_int_equal(cf_sort(all.hash, n, NULL), CF_OK);
        if (round % 3 == 1)
            status = cf_add_many(&made.filter, all.hash, n, NULL);
        for (uint64_t i = 0; round % 3 != 1 && i < n && status == CF_OK; i++)
            status = cf_add(&made.filter, all.hash[i]);
        assert_true(status == CF_OK || status == (options.growth ? CF_NEEDS_MEMORY : CF_FULL));
        full += status != CF_OK;
        if (status == CF_OK)
            assert_all_found(&made.filter, &all);
        free(all.hash);
    }
    free_filter(&made);
    return full;
}

/* Buckets of one or two are full too early now and then: a build tries a larger table. */
static void build_planned(uint64_t n, cf_options options)
{
    const char *why;
    keys all = random_keys(n);
    cf_filter made = {.memory = {test_resize, UINT64_MAX, NULL}};
    assert_int_equal(cf_build(&made, all.hash, n, 0, 0, &options, &why), CF_OK);
    assert_all_found(&made, &all);
    test_resize(NULL, bytes_of(&made), 0);
    free(all.hash);
}

/* The chance that a planned filter is full too early is some millionths: of these some 70,000 few may be. */
TEST(planned_filters_take_their_keys)
{
    unsigned full = 0;
    for (unsigned i = 1; capacities[i] < 20000; i++)
        for (unsigned j = 0; j < RATES; j++)
            for (unsigned growth = 0; growth < 2; growth++)
                full += fill_planned(capacities[i], rates[j], (cf_options){.growth = growth},
                                     capacities[i] < 100 ? 150 : 6000 / (unsigned)capacities[i] + 2);
    for (unsigned b = 1; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 16; f += f < 10 ? 1 : 3)
            for (unsigned layout = 0; layout < 2; layout++) {
                cf_options options = {.bucket_size = b, .fingerprint_bits = f};
                options.layout = layout && b == 4 && f > 4 ? CF_LAYOUT_SEMISORT : CF_LAYOUT_PLAIN;
                options.growth = layout && b > 1 && f >= (b == 2 ? 12 : 8);
                for (uint64_t n = 1; n < 4000; n += 1 + random_below(n))
                    if (b < 4)
                        build_planned(n, options);
                    else
                        full += fill_planned(n, 0, options, 1500 / (unsigned)n + 3);
            }
    assert_true(full <= 4);
}

/* Those of a filter that ages have room for one more epoch, which is on its way out. */
TEST(plans_have_room_for_one_more_epoch)
{
    enum { KEYS = 6000 };
    for (unsigned epochs = 1; epochs <= CF_EPOCHS_MAX; epochs++) {
        uint64_t most = KEYS + (KEYS + epochs - 1) / epochs;
        cf_geometry shape = plan(KEYS, 0.001, (cf_options){.epochs = epochs, .growth = epochs % 2});
        cf_geometry plain = plan(most, 0.001, (cf_options){.growth = epochs % 2});
        assert_true(cf_planned_entries(KEYS, epochs) == most && cf_planned_entries(KEYS, 0) == KEYS);
        assert_true(shape.capacity == KEYS && shape.max_copies == 1 && shape.epochs == epochs);
        assert_true(cf_geometry_slots(&shape) == cf_geometry_slots(&plain));
        test_filter made = new_filter(shape);
        for (uint64_t i = 0; i < most; i++)
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        free_filter(&made);
    }
}

/* ---- which shapes are sound ---- */

static cf_status check(cf_geometry shape)
{
    const char *why = NULL;
    cf_status status = cf_geometry_check(&shape, &why);
    assert_int_equal(status == CF_OK, why == NULL);
    return status;
}

TEST(fields_of_shapes_are_checked)
{
    for (unsigned i = 0; i < 256; i++) {
        uint8_t n = (uint8_t)i;
        cf_geometry good = shape_of(10, 4, 12), bad[9];
        for (unsigned k = 0; k < 9; k++)
            bad[k] = good;
        bad[0].bucket_size = n, bad[0].max_copies = 1;
        bad[1].fingerprint_bits = n; /* s = 12 */
        bad[2].pair_bits = n;
        bad[3].max_copies = n;
        bad[4].buckets = n;
        bad[5].affinity = n;
        bad[6].collation = n;
        bad[7].counter_bits = n;
        bad[8].value_bits = n;
        const bool sound[9] = {i == 1 || i == 2 || i == 4 || i == 8,
                               i >= 12 && i <= 32,
                               i >= 4 && i <= 12,
                               i >= 1 && i <= 8,
                               i > 0 && i % 2 == 0,
                               i <= 3,
                               i <= 2,
                               i <= 16,
                               i <= 62};
        for (unsigned k = 0; k < 9; k++)
            assert_int_equal(check(bad[k]), sound[k] ? CF_OK : CF_BAD_ARGUMENT);
        bad[7].value_bits = 1;
        assert_int_equal(check(bad[7]), i == 0 ? CF_OK : CF_BAD_ARGUMENT);
    }
}

TEST(bytes_are_header_table_list_and_reserve)
{
    cf_geometry shape = shape_of(2, 1, 4);
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 1 + 8);
    shape = shape_of(6, 2, 5);
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 8 + 8);
    shape.value_bits = 3;
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 12 + 8);
    shape.value_bits = 0;
    shape.counter_bits = 16;
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 32 + 8);
    shape = stashing(shape_of(8, 4, 12), 1, 3); /* with an overflow bit for each bucket */
    assert_int_equal(cf_geometry_bytes(&shape), 64 + 49 + 8 + 3 * 16);
    shape = shape_of((uint64_t)1 << 32, 8, 32);
    assert_true(cf_geometry_bytes(&shape) == 64 + ((uint64_t)1 << 37) + 8);
    assert_true(cf_geometry_slots(&shape) == (uint64_t)1 << 35);
}

/* Two full buckets of four: 1 - (1 - p)^8, p with the zero fingerprint counted as one. */
TEST(expected_rate_follows_the_formula)
{
    cf_geometry shape = shape_of(1000, 4, 8);
    double miss = 1 - 258.0 / 65536;
    assert_true(fabs(cf_expected_fpr(&shape, 4000) / (1 - pow(miss, 8)) - 1) < 1e-6);
    assert_true(cf_expected_fpr(&shape, 0) == 0);
    shape = shape_of(2, 4, 8); /* half full: four slots are all there is to compare */
    assert_true(fabs(cf_expected_fpr(&shape, 4) / (1 - pow(miss, 4)) - 1) < 1e-6);
}
