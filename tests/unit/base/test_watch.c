/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/base/watch.h"
#include "../../../src/filter/sort.h"

static void watch_with(asked *by, unsigned at, cf_filter *filter)
{
    *by = (asked){{answer, by}, 0, at};
    if (filter)
        filter->watch = &by->watch;
}

static void questions_come_with_the_work_done(void **state)
{
    asked by;
    (void)state;
    watch_with(&by, 3, NULL);
    cf_ticker ticker = cf_ticker_of(&by.watch), nobody = cf_ticker_of(NULL);
    for (unsigned i = 1; i < 3 * CF_WATCH_NANOSECONDS / 16; i++)
        assert_false(cf_tick(&ticker, 16));
    assert_int_equal(by.questions, 2);
    assert_true(cf_tick(&ticker, 16));
    for (unsigned i = 0; i < 100; i++) {
        assert_true(cf_tick(&ticker, CF_WATCH_NANOSECONDS)); /* for good, without another question */
        assert_false(cf_tick(&nobody, CF_WATCH_NANOSECONDS));
    }
    assert_int_equal(by.questions, 3);
}

/* ---- sorting ---- */

static uint64_t sum_of(const uint64_t *hashes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += hashes[i] * (hashes[i] | 1);
    return sum;
}

/* Random; one long round, which carries each hash to where the next one belongs; all of one digit;
** all equal. */
static uint64_t hash_of_kind(unsigned kind, uint64_t i, uint64_t n)
{
    switch (kind) {
    case 0:
        return random64();
    case 1:
        return (i + 1) % n << 40;
    case 2:
        return random64() >> 8;
    default:
        return 7;
    }
}

/* In place, or with room. */
static cf_status sort(uint64_t *hashes, size_t n, bool room, const cf_watch *watch)
{
    cf_ticker ticker = cf_ticker_of(watch);
    if (!room)
        return cf_sort(hashes, n, watch);
    return cf_sort_with(hashes, n, &(cf_memory){test_resize, 0, NULL}, &ticker) ? CF_OK : CF_INTERRUPTED;
}

static void an_interrupted_sort_keeps_all_hashes(void **state)
{
    enum { N = 200000 };
    uint64_t *hashes = malloc(N * sizeof *hashes);
    asked by;
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++)
        for (unsigned at = 1; at < 200; at = at * 3 / 2 + 1) {
            for (size_t i = 0; i < N; i++)
                hashes[i] = hash_of_kind(kind / 2, i, N);
            uint64_t sum = sum_of(hashes, N);
            watch_with(&by, at, NULL);
            cf_status status = sort(hashes, N, kind % 2, &by.watch);
            assert_int_equal(status, by.questions == at ? CF_INTERRUPTED : CF_OK);
            assert_true(by.questions <= at && (by.questions == at || at > 10));
            assert_true(sum_of(hashes, N) == sum);
            assert_int_equal(cf_sort(hashes, N, NULL), CF_OK);
            for (size_t i = 1; i < N; i++)
                assert_true(hashes[i - 1] <= hashes[i]);
        }
    free(hashes);
}

/* ---- filters ---- */

static void add_random(cf_filter *filter, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(cf_add(filter, random64()), CF_OK);
}

static void looking_is_interrupted(void **state)
{
    test_filter made = growing_filter(spilling(growing_shape(1000, 4, 12), 0, 20), UINT64_MAX);
    asked by;
    const char *why = "";
    (void)state;
    add_random(&made.filter, 8000);
    snapshot then = remember(&made.filter);
    for (unsigned at = 1; at < 40; at = 2 * at + 1) {
        watch_with(&by, at, &made.filter);
        assert_int_equal(cf_check(&made.filter, &why), CF_INTERRUPTED);
        assert_int_equal(by.questions, at);
        watch_with(&by, at, &made.filter);
        assert_int_equal(cf_take_census(&made.filter).status, CF_INTERRUPTED);
        assert_int_equal(by.questions, at);
    }
    watch_with(&by, 0, &made.filter);
    assert_int_equal(cf_check(&made.filter, &why), CF_OK);
    assert_true(by.questions > 40);
    assert_int_equal(cf_take_census(&made.filter).status, CF_OK);
    assert_unchanged(&made.filter, &then);
    free(then.bytes);
    free_filter(&made);
}

/* At each question that comes while buckets, overflow bits, the list and its rest are looked at. */
static void checks_of_a_list_are_interrupted(void **state)
{
    test_filter made = new_filter(spilling(shape_of(300, 4, 12), 0, 3000));
    asked by;
    const char *why = "";
    cf_status status = CF_INTERRUPTED;
    unsigned at = 0;
    (void)state;
    add_random(&made.filter, 1300);
    assert_true(made.filter.spilled > 50);
    while (status == CF_INTERRUPTED) {
        watch_with(&by, ++at, &made.filter);
        status = cf_check(&made.filter, &why);
        assert_int_equal(by.questions, status == CF_OK ? at - 1 : at);
    }
    assert_int_equal(status, CF_OK);
    assert_true(at > made.filter.spilled / 20);
    free_filter(&made);
}

/* The second walk, which looks for sticky keys, is interrupted as well. */
static void looking_for_sticky_keys_is_interrupted(void **state)
{
    test_filter made = growing_filter(growing_shape(500, 4, 20), UINT64_MAX);
    asked by;
    const char *why = "";
    (void)state;
    add_random(&made.filter, 3000);
    watch_with(&by, 0, &made.filter);
    assert_int_equal(cf_check(&made.filter, &why), CF_OK);
    unsigned once = by.questions;
    made.filter.items++;
    watch_with(&by, once + 5, &made.filter);
    assert_int_equal(cf_check(&made.filter, &why), CF_INTERRUPTED);
    watch_with(&by, 0, &made.filter);
    assert_int_equal(cf_check(&made.filter, &why), CF_DAMAGED);
    free_filter(&made);
}

static void what_was_added_before_stays(void **state)
{
    enum { N = 3000 };
    static uint64_t hashes[N];
    asked by;
    (void)state;
    for (unsigned i = 0; i < N; i++)
        hashes[i] = random64();
    for (unsigned at = 1; at < 16; at = 2 * at + 1) {
        test_filter made = growing_filter(growing_shape(10, 4, 12), UINT64_MAX);
        size_t added = 0;
        watch_with(&by, at, &made.filter);
        assert_int_equal(cf_add_many(&made.filter, hashes, N, &added), CF_INTERRUPTED);
        assert_true(by.questions == at && (added > 0 || at == 1) && added < N);
        assert_int_equal(made.filter.items, added);
        for (size_t i = 0; i < added; i++)
            assert_true(cf_contains(&made.filter, hashes[i]));
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void a_merge_is_interrupted(void **state)
{
    asked by;
    const char *why = "";
    (void)state;
    for (unsigned at = 1; at < 40; at = 2 * at + 1) {
        test_filter into = growing_filter(growing_shape(50, 4, 12), UINT64_MAX);
        test_filter from = growing_filter(growing_shape(50, 4, 12), UINT64_MAX);
        uint64_t kept = random64();
        assert_int_equal(cf_add(&into.filter, kept), CF_OK);
        add_random(&into.filter, 1000);
        add_random(&from.filter, 4000);
        watch_with(&by, at, &into.filter);
        assert_int_equal(cf_merge(&into.filter, &from.filter, &why), CF_INTERRUPTED);
        assert_int_equal(by.questions, at);
        assert_true(cf_contains(&into.filter, kept));
        watch_with(&by, 0, &into.filter);
        assert_sound(&into.filter);
        free_filter(&into);
        free_filter(&from);
    }
}

/* From the census that comes first to the last entry. */
static void shrinking_is_interrupted(void **state)
{
    enum { N = 8000 };
    static uint64_t hashes[N];
    asked by;
    unsigned interrupted = 0;
    cf_status status = CF_INTERRUPTED;
    (void)state;
    test_filter from = growing_filter(growing_shape(50, 4, 12), UINT64_MAX);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(cf_add(&from.filter, hashes[i] = random64()), CF_OK);
    for (unsigned i = 0; i < N - 1000; i++)
        cf_delete(&from.filter, hashes[i]);
    for (unsigned at = 1; status == CF_INTERRUPTED; at += 5) {
        test_filter into = growing_filter(from.filter.geometry, UINT64_MAX);
        watch_with(&by, at, &into.filter);
        status = cf_shrink(&into.filter, &from.filter);
        interrupted += status == CF_INTERRUPTED;
        assert_true(status == CF_OK || by.questions == at);
        free_filter(&into);
    }
    assert_int_equal(status, CF_OK);
    assert_true(interrupted >= 10);
    free_filter(&from);
}

static void settling_is_interrupted(void **state)
{
    test_filter made = new_filter(spilling(shape_of(1000, 4, 12), 0, 800));
    asked by;
    (void)state;
    while (made.filter.spilled < 700)
        add_random(&made.filter, 1);
    watch_with(&by, 2, &made.filter);
    assert_int_equal(cf_settle(&made.filter), CF_INTERRUPTED);
    assert_int_equal(by.questions, 2);
    watch_with(&by, 0, &made.filter);
    assert_sound(&made.filter);
    assert_true(made.filter.spilled > 600);
    assert_int_equal(cf_settle(&made.filter), CF_OK);
    assert_sound(&made.filter);
    assert_true(made.filter.spilled < 600);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(questions_come_with_the_work_done),
    cmocka_unit_test(an_interrupted_sort_keeps_all_hashes),
    cmocka_unit_test(looking_is_interrupted),
    cmocka_unit_test(checks_of_a_list_are_interrupted),
    cmocka_unit_test(looking_for_sticky_keys_is_interrupted),
    cmocka_unit_test(what_was_added_before_stays),
    cmocka_unit_test(a_merge_is_interrupted),
    cmocka_unit_test(shrinking_is_interrupted),
    cmocka_unit_test(settling_is_interrupted),
};

RUN_TESTS(tests)
