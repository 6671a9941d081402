/* SPDX-License-Identifier: MIT */
#include "../many_keys.h"

static const cf_memory memory = {test_resize, UINT64_MAX, NULL};

/* Builds with these keys; cf_build may sort them. */
static cf_status build(cf_filter *filter, keys *all, uint64_t capacity, cf_options options)
{
    const char *why;
    cf_status status = cf_build(filter, all->hash, all->n, capacity, 0.01, &options, &why);
    assert_true(status != CF_BAD_ARGUMENT || why != NULL);
    return status;
}

static void done(cf_filter *filter, keys *all)
{
    filter->memory.resize(NULL, filter->view.writable - CF_HEADER_BYTES, 0);
    free(all->hash);
}

static void test_the_size_is_that_of_the_distinct_keys(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 3000; n = 3 * n + 1) {
        keys all = random_keys(2 * n), other = random_keys(n);
        memcpy(all.hash + n, all.hash, n * sizeof *all.hash);
        memcpy(other.hash, all.hash, n * sizeof *all.hash);
        shuffle(&all);
        cf_filter one = {.memory = memory}, two = {.memory = memory};
        assert_int_equal(build(&one, &all, 0, (cf_options){.growth = true}), CF_OK);
        assert_int_equal(build(&two, &other, 0, (cf_options){.growth = true}), CF_OK);
        assert_true(one.geometry.capacity == (n ? n : 1));
        assert_holds(&one, &other, n);
        assert_true(one.length == two.length && memcmp(one.bytes, two.bytes, one.length) == 0);
        assert_true(one.memory.most == memory.most);
        done(&one, &all);
        done(&two, &other);
    }
}

static void test_a_capacity_makes_filters_that_merge(void **state)
{
    const char *why;
    (void)state;
    keys all = random_keys(900), other = random_keys(5);
    cf_filter one = {.memory = memory}, two = {.memory = memory};
    assert_int_equal(build(&one, &all, 1000, (cf_options){.growth = true}), CF_OK);
    assert_int_equal(build(&two, &other, 1000, (cf_options){.growth = true}), CF_OK);
    assert_int_equal(cf_merge(&one, &two, &why), CF_OK);
    assert_true(one.items == 905);
    done(&one, &all);
    done(&two, &other);
}

static void test_counters_count_repeated_keys(void **state)
{
    (void)state;
    keys all = random_keys(100);
    for (size_t i = 50; i < 100; i++)
        all.hash[i] = all.hash[0];
    cf_filter one = {.memory = memory};
    uint64_t hash = all.hash[0];
    assert_int_equal(build(&one, &all, 0, (cf_options){.counter_bits = 8}), CF_OK);
    assert_true(one.geometry.capacity == 50 && cf_count(&one, hash) == 51);
    done(&one, &all);
}

/* Whatever fails, there are no bytes, and nothing is left behind: the sanitizer would see it. */
static void test_errors_leave_no_bytes(void **state)
{
    asked by = {.watch = {answer, &by}, .at = 1};
    (void)state;
    keys all = random_keys(20000);
    cf_filter one = {.memory = memory};
    assert_int_equal(build(&one, &all, 0, (cf_options){.bucket_size = 3}), CF_BAD_ARGUMENT);
    assert_null(one.bytes);
    one.memory.most = 1000;
    assert_int_equal(build(&one, &all, 0, (cf_options){.growth = true}), CF_TOO_BIG);
    assert_true(one.bytes == NULL && one.geometry.capacity == all.n && one.memory.most == 1000);
    one.memory.most = UINT64_MAX;
    resizes_left = 0;
    assert_int_equal(build(&one, &all, 0, (cf_options){.growth = true}), CF_NO_MEMORY);
    assert_null(one.bytes);
    resizes_left = UINT64_MAX;
    assert_int_equal(build(&one, &all, 0, (cf_options){.growth = true}), CF_OK);
    one.memory.resize(NULL, one.view.writable - CF_HEADER_BYTES, 0);
    one.watch = &by.watch;
    shuffle(&all);
    assert_int_equal(build(&one, &all, 0, (cf_options){.growth = true}), CF_INTERRUPTED);
    assert_null(one.bytes);
    free(all.hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_size_is_that_of_the_distinct_keys),
        cmocka_unit_test(test_a_capacity_makes_filters_that_merge),
        cmocka_unit_test(test_counters_count_repeated_keys),
        cmocka_unit_test(test_errors_leave_no_bytes),
    };
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
