/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/copies.h"
#include "../../../src/table/address.h"
#include "../../../src/table/bucket.h"

/* A filter at some stage: 0 is plain, the others are in the middle of a level or at its end. */
enum { STAGES = 6 };

static test_filter filter_in(unsigned stage, cf_geometry shape)
{
    static const unsigned levels[STAGES] = {0, 0, 0, 1, 2, 4};
    uint64_t most = shape.buckets << levels[stage];
    uint64_t splits[STAGES] = {0, 1, most, most / 2, 0, most / 3};
    return filter_at_stage(shape, levels[stage], splits[stage]);
}

static cf_geometry shape_with(unsigned b, unsigned counter_bits, unsigned value_bits)
{
    cf_geometry shape = growing_shape(50, b, 16);
    shape.counter_bits = (uint8_t)counter_bits;
    shape.value_bits = (uint8_t)value_bits;
    return shape;
}

/* ---- cap ---- */

static void check_cap(cf_filter *filter)
{
    uint64_t hash = random64();
    unsigned cap = filter->geometry.cap;
    for (unsigned copies = 1; copies < cap; copies++) {
        for (unsigned i = 0; i < copies; i++) {
            assert_int_equal(cf_add(filter, hash), CF_OK);
            assert_int_equal(cf_count(filter, hash), i + 1);
        }
        for (unsigned left = copies; left-- > 0;) {
            assert_int_equal(cf_delete(filter, hash), CF_REMOVED);
            assert_int_equal(cf_count(filter, hash), left);
        }
        assert_int_equal(cf_delete(filter, hash), CF_ABSENT);
        assert_true(filter->items == 0 && filter->occupied == 0);
    }
    for (unsigned copies = 1; copies <= 3 * cap; copies++) {
        assert_int_equal(cf_add(filter, hash), CF_OK);
        assert_int_equal(cf_count(filter, hash), copies < cap ? copies : cap);
    }
    assert_int_equal(filter->occupied, filter->view.grown ? 1 : cap); /* once grown, one entry says it */
    for (int i = 0; i < 100; i++)
        assert_int_equal(cf_delete(filter, hash), CF_STICKY);
    assert_int_equal(cf_count(filter, hash), cap);
    assert_int_equal(filter->items, 3 * cap);
    assert_sound(filter);
}

static void copies_are_exact_below_cap_and_sticky_at_it(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++)
            for (int round = 0; round < 20; round++) {
                test_filter made = filter_in(stage, shape_with(b, 0, 0));
                check_cap(&made.filter);
                free_filter(&made);
            }
}

/* Copies of different levels know different numbers of bits. The mark goes to one that is a prefix
** of all, and the key stays sticky while the filter grows on. */
static void sticky_keys_stay_sticky_through_growth(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 40; round++) {
            test_filter made = growing_filter(growing_shape(6, b, 16), UINT64_MAX);
            uint64_t hash = random64();
            unsigned cap = made.filter.geometry.cap;
            for (unsigned copies = 1; copies <= 2 * cap; copies++) {
                assert_int_equal(cf_add(&made.filter, hash), CF_OK);
                for (uint64_t steps = random_below(6); steps > 0; steps--)
                    assert_int_equal(cf_grow(&made.filter), CF_OK);
            }
            assert_true(cf_count(&made.filter, hash) >= cap);
            for (int i = 0; i < 60; i++) {
                assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
                assert_int_equal(cf_grow(&made.filter), CF_OK);
                assert_sound(&made.filter);
            }
            free_filter(&made);
        }
}

/* Before growth nothing is marked: cap equal entries say it, and go on saying it when the filter
** has grown. */
static void sticky_keys_of_before_are_not_marked_by_growth(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 40; round++) {
            test_filter made = growing_filter(growing_shape(6, b, 16), UINT64_MAX);
            uint64_t hash = random64();
            unsigned cap = made.filter.geometry.cap;
            for (unsigned copies = 0; copies < cap + 3; copies++)
                assert_int_equal(cf_add(&made.filter, hash), CF_OK);
            for (int i = 0; i < 60; i++) {
                cf_matches found;
                assert_int_equal(cf_grow(&made.filter), CF_OK);
                cf_pair pair = cf_pair_of(&made.filter, hash);
                cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &found);
                assert_int_equal(found.n, cap);
                for (unsigned k = 0; k < found.n; k++)
                    assert_false(found.entry[k].sticky);
                assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
            }
            assert_int_equal(cf_add(&made.filter, hash), CF_OK); /* now there is a mark */
            assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
            assert_int_equal(cf_count(&made.filter, hash), cap);
            assert_sound(&made.filter);
            free_filter(&made);
        }
}

/* However small a filter began, keys that come several times do not fill one that may grow, nor
** make it large. */
static void check_repeated(cf_options options, uint64_t capacity, bool in_turn)
{
    enum { KEYS = 1500, COPIES = 9 };
    static uint64_t hash[KEYS];
    options.growth = true;
    test_filter made = planned_filter(capacity, 0.01, options);
    made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    for (unsigned i = 0; i < KEYS; i++)
        hash[i] = random64();
    for (unsigned i = 0; i < KEYS * COPIES; i++)
        if (cf_add(&made.filter, hash[in_turn ? i / COPIES : i % KEYS]) != CF_OK)
            fail_msg("full with %u items in %u buckets", i, (unsigned)made.filter.buckets);
    assert_sound(&made.filter);
    assert_int_equal(made.filter.items, KEYS * COPIES);
    assert_true(made.filter.buckets * made.filter.geometry.bucket_size < 12 * KEYS);
    for (unsigned i = 0; i < KEYS; i++) {
        assert_true(cf_count(&made.filter, hash[i]) >= made.filter.geometry.cap);
        assert_int_equal(cf_delete(&made.filter, hash[i]), CF_STICKY);
    }
    free_filter(&made);
}

static void keys_that_come_often_do_not_fill_it(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned kind = 0; kind < (b == 4 ? 4 : 2); kind++)
            for (unsigned seed = 0; seed < 2; seed++) {
                cf_options options = {.bucket_size = b, .overflow = kind & 1};
                if (b == 4 && kind & 2)
                    options.layout = CF_LAYOUT_SEMISORT;
                check_repeated(options, 10, seed % 2);
                check_repeated(options, 300, seed % 2);
            }
}

/* Many keys of one pair, each often there, are one entry each: they fit where their copies would
** not. */
static void sticky_keys_of_one_pair_take_one_slot_each(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 10);
        uint64_t hash = random64() | 1;
        if (cf_pair_of(&made.filter, hash).sides == 2) {
            for (unsigned key = 0; key < 6; key++)
                for (unsigned i = 0; i < 5; i++)
                    assert_int_equal(cf_add(&made.filter, hash ^ (uint64_t)key << 9), CF_OK);
            assert_int_equal(made.filter.occupied, 6);
            assert_int_equal(made.filter.items, 30);
            assert_int_equal(cf_add(&made.filter, hash ^ 6 << 9), CF_OK); /* one that is not sticky */
            assert_int_equal(cf_delete(&made.filter, hash ^ 6 << 9), CF_REMOVED);
            assert_false(cf_contains(&made.filter, hash ^ 6 << 9));
            for (unsigned key = 0; key < 6; key++)
                assert_int_equal(cf_delete(&made.filter, hash ^ (uint64_t)key << 9), CF_STICKY);
            assert_sound(&made.filter);
        }
        free_filter(&made);
    }
}

/* ---- counters ---- */

static void check_counters(cf_filter *filter, unsigned bits)
{
    uint64_t hash = random64(), most = (uint64_t)1 << bits;
    for (uint64_t n = 1; n < most; n++) {
        assert_int_equal(cf_add(filter, hash), CF_OK);
        assert_int_equal(cf_count(filter, hash), n);
        assert_int_equal(filter->occupied, 1);
    }
    for (uint64_t n = most - 1; n-- > 0;) {
        assert_int_equal(cf_delete(filter, hash), CF_REMOVED);
        assert_int_equal(cf_count(filter, hash), n);
    }
    assert_int_equal(cf_delete(filter, hash), CF_ABSENT);
    assert_true(filter->occupied == 0 && filter->items == 0);
    for (uint64_t n = 1; n <= most + 5; n++)
        assert_int_equal(cf_add(filter, hash), CF_OK);
    assert_int_equal(cf_count(filter, hash), most);
    assert_int_equal(cf_delete(filter, hash), CF_STICKY);
    assert_int_equal(cf_count(filter, hash), most);
    assert_int_equal(filter->occupied, 1);
    assert_int_equal(filter->items, most + 5);
    assert_sound(filter);
}

/* Exact below 2^c copies, in one entry; a full counter is the mark. */
static void counters_are_exact_below_their_maximum(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++)
            for (unsigned bits = 1; bits <= (stage == 3 ? CF_COUNTER_MAX : 6);
                 bits += bits < 6 ? 1 : 5) {
                test_filter made = filter_in(stage, shape_with(b, bits, 0));
                check_counters(&made.filter, bits);
                free_filter(&made);
            }
}

/* Two counters of a key, and one more copy of it. */
static void fold_two_counters(cf_filter *filter)
{
    uint64_t hash = random64(), copies = 1;
    cf_entry item = {.side = cf_base(filter, hash)};
    cf_pair pair;
    cf_fold fold;
    cf_pair_set(filter, &item.side, &pair);
    for (unsigned i = 0; i < 2; i++) {
        item.payload = random_below(20);
        copies += item.payload + 1;
        assert_true(cf_entry_place(filter, &pair, &item));
    }
    item.payload = 0;
    assert_true(cf_find_fold(filter, &pair, &item, 3, &fold));
    cf_copies_fold(filter, &pair, &item, &fold);
    filter->items = copies;
    assert_int_equal(filter->occupied, 1);
    for (; copies > 0; copies--) {
        assert_int_equal(cf_count(filter, hash), copies);
        assert_int_equal(cf_delete(filter, hash), CF_REMOVED);
    }
    assert_true(filter->items == 0 && filter->occupied == 0);
}

static void counters_that_fold_stay_exact(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++) {
            test_filter made = filter_in(stage, shape_with(b, 6, 0));
            fold_two_counters(&made.filter);
            free_filter(&made);
        }
}

/* Adds and deletes in any order, between any number of steps of growth. */
static void counters_stay_exact_through_growth(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bits = 3; bits <= 9; bits += 3) {
            cf_geometry shape = growing_shape(6, b, 24);
            shape.counter_bits = (uint8_t)bits;
            test_filter made = growing_filter(shape, UINT64_MAX);
            uint64_t hash = random64(), expected = 0, limit = ((uint64_t)1 << bits) - 1;
            for (int i = 0; i < 2000; i++) {
                if (random_below(2) && expected < limit) {
                    assert_int_equal(cf_add(&made.filter, hash), CF_OK);
                    expected++;
                } else if (expected > 0) {
                    assert_int_equal(cf_delete(&made.filter, hash), CF_REMOVED);
                    expected--;
                }
                if (i % 20 == 0)
                    assert_int_equal(cf_grow(&made.filter), CF_OK);
                assert_int_equal(cf_count(&made.filter, hash), expected);
                assert_int_equal(made.filter.items, expected);
            }
            assert_sound(&made.filter);
            free_filter(&made);
        }
}

/* ---- values ---- */

static void check_values(cf_filter *filter)
{
    uint64_t hash = random64(), value = 77;
    unsigned b = filter->geometry.bucket_size;
    assert_false(cf_get(filter, hash, &value));
    assert_int_equal(value, 77);
    for (unsigned v = 0; v < b; v++) {
        assert_int_equal(cf_add_value(filter, hash, v), CF_OK);
        assert_true(cf_get(filter, hash, &value));
        assert_int_equal(value, 0); /* of equally long ones the first */
        assert_int_equal(cf_count(filter, hash), v + 1);
    }
    assert_int_equal(cf_delete_value(filter, hash, b), CF_ABSENT);
    for (unsigned v = 0; v < b; v++) {
        assert_true(cf_get(filter, hash, &value));
        assert_int_equal(value, v);
        assert_int_equal(cf_delete_value(filter, hash, v), CF_REMOVED);
        assert_int_equal(cf_delete_value(filter, hash, v), CF_ABSENT);
    }
    assert_false(cf_contains(filter, hash));
    assert_true(filter->items == 0 && filter->occupied == 0);
    assert_sound(filter);
}

static void values_are_kept_and_deleted_one_by_one(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++)
            for (unsigned bits = 4; bits <= CF_VALUE_MAX; bits += 7) {
                test_filter made = filter_in(stage, shape_with(b, 0, bits));
                check_values(&made.filter);
                free_filter(&made);
            }
}

/* A key is sticky for one value and exact for another. */
static void cap_counts_per_value(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++) {
            test_filter made = filter_in(stage, shape_with(b, 0, 8));
            cf_filter *filter = &made.filter;
            uint64_t hash = random64(), cap = filter->geometry.cap;
            for (unsigned i = 0; i < 3 * cap; i++)
                assert_int_equal(cf_add_value(filter, hash, 200), CF_OK);
            assert_int_equal(cf_count(filter, hash), cap);
            for (unsigned i = 0; i + 1 < cap; i++)
                assert_int_equal(cf_add_value(filter, hash, 100), CF_OK);
            assert_int_equal(cf_count(filter, hash), 2 * cap - 1);
            assert_int_equal(cf_delete_value(filter, hash, 200), CF_STICKY);
            for (unsigned i = 0; i + 1 < cap; i++)
                assert_int_equal(cf_delete_value(filter, hash, 100), CF_REMOVED);
            assert_int_equal(cf_delete_value(filter, hash, 100), CF_ABSENT);
            assert_int_equal(cf_count(filter, hash), cap);
            assert_int_equal(cf_take_census(filter).sticky, 1);
            assert_sound(filter);
            free_filter(&made);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(copies_are_exact_below_cap_and_sticky_at_it),
    cmocka_unit_test(sticky_keys_stay_sticky_through_growth),
    cmocka_unit_test(sticky_keys_of_before_are_not_marked_by_growth),
    cmocka_unit_test(keys_that_come_often_do_not_fill_it),
    cmocka_unit_test(sticky_keys_of_one_pair_take_one_slot_each),
    cmocka_unit_test(counters_are_exact_below_their_maximum),
    cmocka_unit_test(counters_stay_exact_through_growth),
    cmocka_unit_test(counters_that_fold_stay_exact),
    cmocka_unit_test(values_are_kept_and_deleted_one_by_one),
    cmocka_unit_test(cap_counts_per_value),
};

RUN_TESTS(tests)
