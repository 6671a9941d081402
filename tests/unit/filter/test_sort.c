/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/filter/sort.h"

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_sort(uint64_t *hashes, size_t n)
{
    uint64_t *expected = malloc((n + 1) * sizeof *expected);
    size_t distinct = 0;
    memcpy(expected, hashes, n * sizeof *hashes);
    qsort(expected, n, sizeof *expected, compare);
    for (size_t i = 0; i < n; i++)
        if (distinct == 0 || expected[distinct - 1] != expected[i])
            expected[distinct++] = expected[i];
    uint64_t *copy = malloc((n + 1) * sizeof *copy);
    cf_ticker ticker = cf_ticker_of(NULL);
    memcpy(copy, hashes, n * sizeof *copy);
    assert_int_equal(cf_sort(hashes, n, NULL), CF_OK);
    assert_true(cf_sort_with(copy, n, &(cf_memory){test_resize, 0, NULL}, &ticker));
    assert_memory_equal(copy, hashes, n * sizeof *copy);
    free(copy);
    assert_int_equal(cf_drop_repeated(hashes, n), distinct);
    assert_memory_equal(hashes, expected, distinct * sizeof *hashes);
    free(expected);
}

/* All bits, the high or the low bits only, few values, one value, sorted; random ones, and some near
** each other or alike; reversed. */
static uint64_t hash_of_kind(unsigned kind, size_t i, size_t n)
{
    switch (kind) {
    case 0:
        return random64();
    case 1:
        return random64() << 40;
    case 2:
        return random64() >> 40;
    case 3:
        return random_below(10) << 60;
    case 4:
        return 42;
    case 5:
        return i;
    case 6:
        return i % 40 ? random64() : random64() >> 20;
    case 7:
        return i % 300 ? random64() : 42;
    default:
        return n - i;
    }
}

static void sorts_and_drops_repeats(void **state)
{
    static const size_t sizes[] = {0,   1,   2,    47,   48,   49,     50,    255,
                                   256, 257, 2047, 2048, 5000, 100000, 300000};
    uint64_t *hashes = malloc(300000 * sizeof *hashes);
    (void)state;
    for (unsigned kind = 0; kind < 9; kind++)
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            for (size_t i = 0; i < sizes[k]; i++)
                hashes[i] = hash_of_kind(kind, i, sizes[k]);
            check_sort(hashes, sizes[k]);
        }
    free(hashes);
}

/* One part of the hashes has just no room, or just room: the largest part is some standard deviations
** larger than the mean. */
static void a_part_may_be_a_little_too_large(void **state)
{
    enum { N = 1 << 14, PARTS = 4, MEAN = N / PARTS };
    uint64_t *hashes = malloc(N * sizeof *hashes);
    (void)state;
    for (size_t crowd = MEAN + 900; crowd < MEAN + 1200; crowd++) {
        cf_ticker ticker = cf_ticker_of(NULL);
        for (size_t i = 0; i < N; i++)
            hashes[i] = random64() >> 2 | (uint64_t)(i < crowd ? 0 : 1 + i % (PARTS - 1)) << 62;
        assert_true(cf_sort_with(hashes, N, &(cf_memory){test_resize, 0, NULL}, &ticker));
        for (size_t i = 1; i < N; i++)
            assert_true(hashes[i - 1] <= hashes[i]);
    }
    free(hashes);
}

static void sorted_build_holds_all(void **state)
{
    enum { N = 50000 };
    uint64_t *hashes = malloc(N * sizeof *hashes);
    size_t added = 0;
    (void)state;
    for (size_t i = 0; i < N; i++)
        hashes[i] = random64();
    assert_int_equal(cf_sort(hashes, N, NULL), CF_OK);
    size_t n = cf_drop_repeated(hashes, N);
    test_filter made = planned_filter(n, 0.001, (cf_options){.growth = true});
    assert_int_equal(cf_add_many(&made.filter, hashes, n, &added), CF_OK);
    assert_int_equal(added, n);
    for (size_t i = 0; i < n; i++)
        assert_true(cf_contains(&made.filter, hashes[i]));
    assert_sound(&made.filter);
    free_filter(&made);
    free(hashes);
}

static void add_many_says_where_it_stopped(void **state)
{
    uint64_t hashes[100];
    size_t added = 0;
    test_filter made = new_filter(shape_of(4, 4, 16));
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        hashes[i] = random64();
    assert_int_equal(cf_add_many(&made.filter, hashes, 100, &added), CF_FULL);
    assert_int_equal(added, made.filter.items);
    assert_true(added >= 4 && added <= 16); /* as many as a bucket has slots, at least */
    for (size_t i = 0; i < added; i++)
        assert_true(cf_contains(&made.filter, hashes[i]));
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sorts_and_drops_repeats),
    cmocka_unit_test(a_part_may_be_a_little_too_large),
    cmocka_unit_test(sorted_build_holds_all),
    cmocka_unit_test(add_many_says_where_it_stopped),
};

RUN_TESTS(tests)
