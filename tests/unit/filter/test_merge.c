/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/copies.h"
#include "../../../src/table/address.h"

static void fill(cf_filter *filter, const uint64_t *hashes, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(cf_add(filter, hashes[i]), CF_OK);
}

/* The union holds the keys of both, and what is deleted from it afterwards takes nothing else
** along. */
static void holds_the_keys_of_both(void **state)
{
    enum { N = 1500 };
    uint64_t left[N], right[N];
    const char *why = "";
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        cf_geometry shape = shape_of(4016 / b, b, 14);
        test_filter one = new_filter(shape), two = new_filter(shape);
        for (unsigned i = 0; i < N; i++) {
            left[i] = random64();
            right[i] = random64();
        }
        fill(&one.filter, left, N);
        fill(&two.filter, right, N);
        assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
        assert_int_equal(one.filter.items, 2 * N);
        assert_sound(&one.filter);
        for (unsigned i = 0; i < N; i++)
            assert_true(cf_contains(&one.filter, left[i]) && cf_contains(&one.filter, right[i]));
        for (unsigned i = 0; i < N; i++)
            assert_int_not_equal(cf_delete(&one.filter, left[i]), CF_ABSENT);
        for (unsigned i = 0; i < N; i++)
            assert_true(cf_contains(&one.filter, right[i]));
        free_filter(&one);
        free_filter(&two);
    }
}

static void copies_add_up_to_cap(void **state)
{
    const char *why = "";
    (void)state;
    for (unsigned mine = 0; mine <= 5; mine++)
        for (unsigned theirs = 0; theirs <= 5; theirs++) {
            test_filter one = new_filter(shape_of(30, 8, 16)), two = new_filter(shape_of(30, 8, 16));
            uint64_t hash = random64();
            for (unsigned i = 0; i < mine; i++)
                cf_add(&one.filter, hash);
            for (unsigned i = 0; i < theirs; i++)
                cf_add(&two.filter, hash);
            assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
            unsigned sum = (mine < 4 ? mine : 4) + (theirs < 4 ? theirs : 4);
            assert_int_equal(cf_count(&one.filter, hash), sum < 4 ? sum : 4);
            assert_int_equal(one.filter.items, mine + theirs);
            assert_sound(&one.filter);
            free_filter(&one);
            free_filter(&two);
        }
}

static void assert_mismatch(cf_geometry other, const char *field)
{
    test_filter one = new_filter(shape_of(30, 4, 16)), two = new_filter(other);
    const char *why = "";
    cf_add(&two.filter, 5);
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_MISMATCH);
    assert_string_equal(why, field);
    assert_int_equal(one.filter.items, 0);
    assert_false(cf_contains(&one.filter, 5));
    free_filter(&one);
    free_filter(&two);
}

static void mismatches_are_named(void **state)
{
    cf_geometry other = shape_of(30, 4, 16);
    (void)state;
    other.seed = 1;
    assert_mismatch(other, "seed");
    other = shape_of(30, 4, 16);
    other.keyed = true;
    assert_mismatch(other, "hash");
    assert_mismatch(shape_of(32, 4, 16), "buckets");
    assert_mismatch(shape_of(30, 2, 16), "bucket_size");
    assert_mismatch(shape_of(30, 4, 17), "fingerprint_bits");
    other = shape_of(30, 4, 16);
    other.pair_bits = 6;
    assert_mismatch(other, "pair_bits");
    other = shape_of(30, 4, 16);
    other.cap = 2;
    assert_mismatch(other, "cap");
    other = shape_of(30, 4, 16);
    other.counter_bits = 3;
    assert_mismatch(other, "counter_bits");
    other = shape_of(30, 4, 16);
    other.value_bits = 3;
    assert_mismatch(other, "value_bits");
    other = shape_of(30, 4, 16);
    other.affinity = CF_AFFINITY_REAL;
    assert_mismatch(other, "affinity");
    other = shape_of(30, 4, 16);
    other.collation = CF_COLLATION_NOCASE;
    assert_mismatch(other, "collation");
}

/* A filter that must not grow takes no grown one; whether it might grow does not matter else. */
static void fixed_filters_take_no_grown_ones(void **state)
{
    cf_geometry fixed = growing_shape(30, 4, 16);
    const char *why = "";
    (void)state;
    fixed.growth = false;
    test_filter one = new_filter(fixed), two = growing_filter(growing_shape(30, 4, 16), UINT64_MAX);
    assert_int_equal(cf_add(&two.filter, 5), CF_OK);
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
    assert_int_equal(cf_grow(&two.filter), CF_OK);
    assert_int_equal(cf_mergeable(&one.filter, &two.filter, &why), CF_MISMATCH);
    assert_string_equal(why, "growth");
    assert_int_equal(cf_mergeable(&two.filter, &one.filter, &why), CF_OK);
    assert_int_equal(cf_merge(&two.filter, &one.filter, &why), CF_OK);
    assert_int_equal(cf_count(&two.filter, 5), 2);
    free_filter(&one);
    free_filter(&two);
}

static void too_many_is_full(void **state)
{
    test_filter one = new_filter(shape_of(32, 4, 16)), two = new_filter(shape_of(32, 4, 16));
    const char *why = "";
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(cf_add(&one.filter, random64()), CF_OK);
        assert_int_equal(cf_add(&two.filter, random64()), CF_OK);
    }
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_FULL);
    free_filter(&one);
    free_filter(&two);
}

/* ---- filters that have grown ---- */

enum { MOST_KEYS = 3000 };

typedef struct keyed_filter {
    test_filter made;
    uint64_t hash[MOST_KEYS];
    unsigned keys;
} keyed_filter;

/* Takes `keys` keys, a few of them twice, and then `steps` steps of growth more than it needs. */
static void fill_growing(keyed_filter *one, cf_geometry shape, unsigned keys, unsigned steps)
{
    one->made = growing_filter(shape, UINT64_MAX);
    one->keys = keys;
    for (unsigned i = 0; i < keys; i++) {
        one->hash[i] = i % 10 == 9 ? one->hash[i - 9] : random64();
        assert_int_equal(
            cf_add_value(&one->made.filter, one->hash[i], i % 10 & cf_low_bits(shape.value_bits)),
            CF_OK);
    }
    for (; steps > 0; steps--)
        assert_int_equal(cf_grow(&one->made.filter), CF_OK);
}

static bool has_value(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_matches found;
    cf_find_matches(filter, &pair, value, &found);
    return found.n > 0;
}

static void assert_all_found(const cf_filter *filter, const keyed_filter *one)
{
    for (unsigned i = 0; i < one->keys; i++) {
        assert_true(cf_contains(filter, one->hash[i]));
        assert_true(has_value(filter, one->hash[i], i % 10 & cf_low_bits(filter->geometry.value_bits)));
    }
}

static void delete_all(cf_filter *filter, const keyed_filter *one)
{
    for (unsigned i = 0; i < one->keys; i++)
        assert_int_not_equal(
            cf_delete_value(filter, one->hash[i], i % 10 & cf_low_bits(filter->geometry.value_bits)),
            CF_ABSENT);
}

/* The sum answers for the keys of both, each of which can be deleted from it, and `from` stays
** as it is. */
static void check_sum(cf_geometry shape, unsigned mine, unsigned my_steps, unsigned theirs,
                      unsigned their_steps)
{
    static keyed_filter into, from;
    const char *why = "";
    fill_growing(&into, shape, mine, my_steps);
    fill_growing(&from, shape, theirs, their_steps);
    snapshot then = remember(&from.made.filter);
    cf_filter *sum = &into.made.filter;
    uint64_t least = from.made.filter.buckets > sum->buckets ? from.made.filter.buckets : sum->buckets;
    assert_int_equal(cf_merge(sum, &from.made.filter, &why), CF_OK);
    assert_unchanged(&from.made.filter, &then);
    assert_sound(sum);
    assert_true(sum->buckets >= least);
    assert_int_equal(sum->items, mine + theirs);
    assert_all_found(sum, &into);
    assert_all_found(sum, &from);
    delete_all(sum, &into);
    assert_all_found(sum, &from);
    delete_all(sum, &from);
    assert_sound(sum);
    free(then.bytes);
    free_filter(&into.made);
    free_filter(&from.made);
}

/* From ungrown to level 5, each into each: deeper into shallower, shallower into deeper, and
** entries that know too little for their bucket in the sum: f - s is 4, as few as can be. */
static void filters_of_all_stages_add_up(void **state)
{
    static const unsigned keys[] = {0, 1, 10, 50, 170, 600}, steps[] = {0, 3, 0, 20, 50, 1};
    (void)state;
    for (unsigned b = 4; b <= 8; b *= 2)
        for (uint64_t m = 8; m <= 14; m += 6)
            for (unsigned i = 0; i < 6; i++)
                for (unsigned k = 0; k < 6; k++)
                    check_sum(growing_shape(m, b, b == 4 ? 9 : 8), keys[i], steps[i], keys[k], steps[k]);
}

static void payloads_add_up_at_all_stages(void **state)
{
    static const unsigned keys[] = {5, 60, 300}, steps[] = {0, 70, 5};
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned i = 0; i < 3; i++)
            for (unsigned k = 0; k < 3; k++) {
                cf_geometry shape = growing_shape(10, b, 12);
                shape.counter_bits = 3;
                check_sum(shape, keys[i], steps[i], keys[k], steps[k]);
                shape.counter_bits = 0;
                shape.value_bits = 4;
                check_sum(shape, keys[i], steps[i], keys[k], steps[k]);
            }
}

/* An entry that knows too little for the deeper table becomes several, as if its filter had been
** split as well. */
static void short_entries_become_many(void **state)
{
    cf_geometry shape = growing_shape(4, 4, 8); /* 4 remainder bits */
    const char *why = "";
    (void)state;
    for (int round = 0; round < 20; round++) {
        test_filter shallow = new_filter(shape), deep = filter_at_stage(shape, 6, 4 << 5);
        uint64_t hash = random64();
        deep.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        assert_int_equal(cf_add(&shallow.filter, hash), CF_OK);
        assert_int_equal(cf_merge(&deep.filter, &shallow.filter, &why), CF_OK);
        /* 4 bits where 6 or, in half of the base buckets, 7 are the least to know */
        assert_true(deep.filter.occupied >= 4 && deep.filter.occupied <= 8);
        assert_int_equal(deep.filter.items, 1);
        for (uint64_t high = 0; high < 64; high++) /* all keys that the shallow one answers for */
            assert_true(cf_contains(&deep.filter, (hash & ~(cf_low_bits(6) << 8)) | high << 8));
        assert_sound(&deep.filter);
        free_filter(&shallow);
        free_filter(&deep);
    }
}

/* ---- counters and values ---- */

static void counters_add_up(void **state)
{
    const char *why = "";
    (void)state;
    for (unsigned steps = 0; steps <= 40; steps += 20)
        for (unsigned mine = 0; mine <= 40; mine += 5)
            for (unsigned theirs = 0; theirs <= 40; theirs += 5) {
                cf_geometry shape = growing_shape(30, 8, 16);
                shape.counter_bits = 3;
                test_filter one = growing_filter(shape, UINT64_MAX),
                            two = growing_filter(shape, UINT64_MAX);
                uint64_t hash = random64(), most = 8, left = mine < most ? mine : most;
                uint64_t sum = left + (theirs < most ? theirs : most);
                for (unsigned i = 0; i < mine; i++)
                    assert_int_equal(cf_add(&one.filter, hash), CF_OK);
                for (unsigned i = 0; i < theirs; i++)
                    assert_int_equal(cf_add(&two.filter, hash), CF_OK);
                for (unsigned i = 0; i < steps; i++)
                    assert_int_equal(cf_grow(mine % 2 ? &one.filter : &two.filter), CF_OK);
                assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
                assert_int_equal(cf_count(&one.filter, hash), sum < most ? sum : most);
                assert_int_equal(cf_take_census(&one.filter).sticky, sum >= most);
                assert_int_equal(one.filter.items, mine + theirs);
                assert_sound(&one.filter);
                free_filter(&one);
                free_filter(&two);
            }
}

static void values_are_kept_apart(void **state)
{
    const char *why = "";
    cf_geometry shape = growing_shape(30, 8, 16);
    (void)state;
    shape.value_bits = 4;
    test_filter one = growing_filter(shape, UINT64_MAX), two = growing_filter(shape, UINT64_MAX);
    for (unsigned value = 0; value < 8; value++)
        assert_int_equal(cf_add_value(value % 3 ? &one.filter : &two.filter, 12345, value), CF_OK);
    assert_int_equal(cf_add_value(&two.filter, 12345, 1), CF_OK);
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
    assert_int_equal(cf_count(&one.filter, 12345), 9);
    for (unsigned value = 0; value < 8; value++)
        assert_int_equal(cf_delete_value(&one.filter, 12345, value), CF_REMOVED);
    assert_int_equal(cf_delete_value(&one.filter, 12345, 1), CF_REMOVED);
    assert_int_equal(one.filter.occupied, 0);
    free_filter(&one);
    free_filter(&two);
}

/* ---- what cannot be ---- */

/* `into` holds all that it held, whatever was in the way. */
static void check_failing(uint64_t resizes, uint64_t more, cf_status expected)
{
    static keyed_filter into, from;
    const char *why = "";
    fill_growing(&into, growing_shape(8, 4, 12), 100, 0);
    fill_growing(&from, growing_shape(8, 4, 12), 900, 0);
    resizes_left = resizes;
    into.made.filter.memory.most = into.made.filter.length + more;
    assert_int_equal(cf_merge(&into.made.filter, &from.made.filter, &why), expected);
    resizes_left = UINT64_MAX;
    assert_sound(&into.made.filter);
    assert_all_found(&into.made.filter, &into);
    delete_all(&into.made.filter, &into);
    free_filter(&into.made);
    free_filter(&from.made);
}

static void failed_merges_keep_what_was_there(void **state)
{
    (void)state;
    for (uint64_t more = 0; more < 1500; more += 100)
        check_failing(UINT64_MAX, more, CF_TOO_BIG);
    for (uint64_t resizes = 0; resizes < 10; resizes++)
        check_failing(resizes, 1 << 20, CF_NO_MEMORY);
}

/* A filter that shares its bytes with the other one would count its keys twice. */
static void a_filter_is_not_merged_with_itself(void **state)
{
    const char *why = "";
    cf_filter again;
    test_filter made = new_filter(shape_of(30, 4, 12));
    (void)state;
    cf_add(&made.filter, random64());
    cf_seal(&made.filter);
    snapshot then = remember(&made.filter);
    assert_int_equal(cf_open(&again, made.bytes, made.filter.length, &why), CF_OK);
    assert_int_equal(cf_merge(&made.filter, &again, &why), CF_MISMATCH);
    assert_string_equal(why, "bytes: they are one and the same");
    assert_int_equal(cf_merge(&made.filter, &made.filter, &why), CF_MISMATCH);
    assert_unchanged(&made.filter, &then);
    free(then.bytes);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(holds_the_keys_of_both),
    cmocka_unit_test(copies_add_up_to_cap),
    cmocka_unit_test(mismatches_are_named),
    cmocka_unit_test(fixed_filters_take_no_grown_ones),
    cmocka_unit_test(too_many_is_full),
    cmocka_unit_test(filters_of_all_stages_add_up),
    cmocka_unit_test(payloads_add_up_at_all_stages),
    cmocka_unit_test(short_entries_become_many),
    cmocka_unit_test(counters_add_up),
    cmocka_unit_test(values_are_kept_apart),
    cmocka_unit_test(failed_merges_keep_what_was_there),
    cmocka_unit_test(a_filter_is_not_merged_with_itself),
};

RUN_TESTS(tests)
