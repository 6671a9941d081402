/* SPDX-License-Identifier: MIT */
/* Long work asks its watch, ends when that says stop, and has lost nothing then. */
#include "../test.h"

enum { N = 6000 };

static uint64_t hashes[N];

static asked *ask(asked *by, unsigned at, cf_filter *filter)
{
    *by = (asked){{answer, by}, 0, at};
    if (filter)
        filter->watch = &by->watch;
    return by;
}

static void add_random(cf_filter *filter, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(cf_add(filter, hashes[i] = random64()), CF_OK);
}

/* ---- sorting ---- */

static uint64_t sum_of(const uint64_t *all, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += all[i] * (all[i] | 1);
    return sum;
}

/* Random; one long round, which carries each hash to where the next one belongs; all of one digit;
** all equal. */
static uint64_t hash_of_kind(unsigned kind, uint64_t i, uint64_t n)
{
    return kind == 0 ? random64() : kind == 1 ? (i + 1) % n << 40 : kind == 2 ? random64() >> 8 : 7;
}

TEST(an_interrupted_sort_keeps_all_hashes)
{
    enum { MANY = 100000 };
    uint64_t *many = malloc(MANY * sizeof *many);
    asked by;
    for (unsigned kind = 0; kind < 4; kind++)
        for (unsigned at = 1; at < 100; at = at * 2 + 1) {
            for (size_t i = 0; i < MANY; i++)
                many[i] = hash_of_kind(kind, i, MANY);
            uint64_t sum = sum_of(many, MANY);
            cf_status status = cf_sort(many, MANY, &ask(&by, at, NULL)->watch);
            assert_int_equal(status, by.questions == at ? CF_INTERRUPTED : CF_OK);
            assert_true(by.questions <= at && (by.questions == at || at > 5));
            assert_true(sum_of(many, MANY) == sum);
            assert_int_equal(cf_sort(many, MANY, NULL), CF_OK);
            for (size_t i = 1; i < MANY; i++)
                assert_true(many[i - 1] <= many[i]);
        }
    free(many);
}

/* ---- looking ---- */

/* At each question that comes while buckets, overflow bits, the list and its rest are looked at. */
TEST(looking_is_interrupted)
{
    asked by;
    const char *why = "";
    for (unsigned kind = 0; kind < 2; kind++) {
        test_filter made = kind ? growing_filter(growing_shape(600, 4, 12), UINT64_MAX)
                                : new_filter(stashing(shape_of(300, 4, 12), 0, 3000));
        cf_status status = CF_INTERRUPTED;
        unsigned at = 0;
        add_random(&made.filter, kind ? 3000 : 1300);
        assert_true(kind == 1 || made.filter.stashed > 50);
        snapshot then = remember(&made.filter);
        while (status == CF_INTERRUPTED) {
            ask(&by, ++at, &made.filter);
            status = cf_check(&made.filter, &why);
            assert_int_equal(by.questions, status == CF_OK ? at - 1 : at);
        }
        assert_int_equal(status, CF_OK);
        assert_true(at > 10);
        for (at = 1; at < 8; at = 2 * at + 1) {
            ask(&by, at, &made.filter);
            assert_int_equal(cf_take_census(&made.filter).status, CF_INTERRUPTED);
            assert_int_equal(by.questions, at);
        }
        made.filter.watch = NULL;
        assert_unchanged(&made.filter, &then);
        free(then.bytes);
        free_filter(&made);
    }
}

/* An item too many makes cf_check look for saturated keys, in the same walk. */
TEST(looking_for_saturated_keys_is_interrupted)
{
    test_filter made = growing_filter(growing_shape(500, 4, 20), UINT64_MAX);
    asked by;
    const char *why = "";
    add_random(&made.filter, 3000);
    ask(&by, 0, &made.filter);
    assert_int_equal(cf_check(&made.filter, &why), CF_OK);
    unsigned once = by.questions;
    made.filter.items++;
    ask(&by, once / 2, &made.filter);
    assert_int_equal(cf_check(&made.filter, &why), CF_INTERRUPTED);
    ask(&by, 0, &made.filter);
    assert_int_equal(cf_check(&made.filter, &why), CF_DAMAGED);
    assert_int_equal(by.questions, once);
    free_filter(&made);
}

/* ---- changing ---- */

/* An add that is interrupted while the filter grows changes no answer. */
TEST(an_add_that_grows_is_interrupted)
{
    asked by;
    test_filter made = growing_filter(growing_shape(1200, 4, 12), UINT64_MAX);
    unsigned interrupted = 0;
    for (unsigned i = 0; i < N; i++) {
        snapshot then = remember(&made.filter);
        ask(&by, 1, &made.filter);
        cf_status status = cf_add(&made.filter, random64());
        if (status == CF_INTERRUPTED) {
            assert_same_answers(&made.filter, &then);
            assert_sound(&made.filter);
            interrupted++;
            made.filter.watch = NULL;
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        }
        free(then.bytes);
    }
    assert_true(interrupted > 0);
    made.filter.watch = NULL;
    assert_sound(&made.filter);
    free_filter(&made);
}

TEST(what_was_added_before_stays)
{
    asked by;
    for (unsigned i = 0; i < N; i++)
        hashes[i] = random64();
    for (unsigned at = 1; at < 16; at = 2 * at + 1) {
        test_filter made = growing_filter(growing_shape(10, 4, 12), UINT64_MAX);
        size_t added = 0;
        ask(&by, at, &made.filter);
        assert_int_equal(cf_add_many(&made.filter, hashes, N, &added), CF_INTERRUPTED);
        assert_true(by.questions == at && (added > 0 || at == 1) && added < N);
        made.filter.watch = NULL;
        assert_holds(&made.filter, &(keys){hashes, N}, added);
        free_filter(&made);
    }
}

TEST(a_merge_is_interrupted)
{
    asked by;
    const char *why = "";
    for (unsigned at = 1; at < 40; at = 2 * at + 1) {
        test_filter into = growing_filter(growing_shape(50, 4, 12), UINT64_MAX);
        test_filter from = growing_filter(growing_shape(50, 4, 12), UINT64_MAX);
        add_random(&from.filter, 4000);
        add_random(&into.filter, 1000);
        snapshot then = remember(&into.filter);
        ask(&by, at, &into.filter);
        assert_int_equal(cf_merge(&into.filter, &from.filter, &why), CF_INTERRUPTED);
        assert_int_equal(by.questions, at);
        assert_unchanged(&into.filter, &then);
        free(then.bytes);
        free_filter(&into);
        free_filter(&from);
    }
}

/* From the census that comes first to the last entry. */
TEST(shrinking_is_interrupted)
{
    asked by;
    unsigned interrupted = 0;
    cf_status status = CF_INTERRUPTED;
    test_filter from = growing_filter(growing_shape(50, 4, 12), UINT64_MAX);
    add_random(&from.filter, N);
    for (unsigned i = 0; i < N - 1000; i++)
        cf_delete(&from.filter, hashes[i]);
    for (unsigned at = 1; status == CF_INTERRUPTED; at += 5) {
        test_filter into = growing_filter(from.filter.geometry, UINT64_MAX);
        ask(&by, at, &into.filter);
        status = cf_shrink(&into.filter, &from.filter);
        interrupted += status == CF_INTERRUPTED;
        assert_true(status == CF_OK || by.questions == at);
        free_filter(&into);
    }
    assert_int_equal(status, CF_OK);
    assert_true(interrupted >= 10);
    free_filter(&from);
}
