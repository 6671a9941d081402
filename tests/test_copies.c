#include "test.h"

#include "../src/address.h"
#include "../src/bucket.h"
#include "../src/copies.h"
#include "../src/spill.h"

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
    assert_int_equal(filter->occupied, cap);
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

/* Copies of different levels know different numbers of bits. When one more is absorbed they are made
** equal, so that whoever matches one matches all, and the key stays sticky while the filter grows on. */
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

/* All matches of a key that absorbed an add are equally long, or at least cap of them are. */
static void absorbing_makes_a_class_of_equals(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 200; round++) {
            test_filter made = growing_filter(growing_shape(6, b, 16), UINT64_MAX);
            uint64_t hash = random64(), occupied = UINT64_MAX;
            unsigned cap = made.filter.geometry.cap;
            while (occupied != made.filter.occupied) { /* until an add is absorbed */
                for (uint64_t steps = random_below(9); steps > 0; steps--)
                    assert_int_equal(cf_grow(&made.filter), CF_OK);
                occupied = made.filter.occupied;
                assert_int_equal(cf_add(&made.filter, hash), CF_OK);
            }
            cf_pair pair = cf_pair_of(&made.filter, hash);
            cf_matches found;
            cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &found);
            unsigned most = 0;
            for (unsigned i = 0; i < found.n; i++) {
                unsigned equal = 0;
                for (unsigned k = 0; k < found.n; k++)
                    equal += found.match[k].length == found.match[i].length;
                most = equal > most ? equal : most;
            }
            assert_true(most >= cap);
            free_filter(&made);
        }
}

/* An entry that knows too little for the longer extension cannot be made equal to one that lies there:
** then one copy more is stored, and from there on all are absorbed. */
static void entries_that_cannot_be_cut_are_left_out_of_the_class(void **state)
{
    (void)state;
    for (unsigned b = 4; b <= 8; b *= 2)
        for (int round = 0; round < 50; round++) {
            test_filter made = filter_at_stage(growing_shape(50, b, 16), 1, 50);
            uint64_t hash = half_split_key(&made.filter);
            cf_pair pair = cf_pair_of(&made.filter, hash);
            unsigned cap = made.filter.geometry.cap;
            cf_slot_set(&made.filter, pair.place[1].bucket, 0, cf_tag_of(&made.filter, pair.place[1], 1),
                        0);
            made.filter.occupied = made.filter.items = 1;
            for (unsigned i = 0; i < 10 * cap; i++)
                assert_int_equal(cf_add(&made.filter, hash), CF_OK);
            assert_int_equal(made.filter.occupied, cap + 1);
            assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
            assert_int_equal(cf_slot_get(&made.filter, pair.place[1].bucket, 0),
                             cf_tag_of(&made.filter, pair.place[1], 1));
            assert_sound(&made.filter);
            free_filter(&made);
        }
}

/* Fills all slots of a bucket but `left` with entries that the key does not match. */
static void fill_with_strangers(cf_filter *filter, cf_place place, unsigned left)
{
    for (unsigned i = left; i < filter->geometry.bucket_size; i++) {
        cf_place other = {place.bucket, place.tag ^ 1 ^ (uint64_t)i << 8, place.extension};
        cf_slot_set(filter, place.bucket, (unsigned)cf_bucket_free_slot(filter, place.bucket),
                    cf_tag_of(filter, other, filter->view.new_length), 0);
        filter->occupied++;
        filter->items++;
    }
}

/* A copy of a key that knows `length` bits, in a slot if there is one, or else in the list. */
static void put_copy(cf_filter *filter, const cf_pair *pair, unsigned length)
{
    int slot = cf_bucket_free_slot(filter, pair->place[0].bucket);
    if (slot < 0)
        assert_true(cf_spill_add(filter, pair, length, 0));
    else
        cf_slot_set(filter, pair->place[0].bucket, (unsigned)slot,
                    cf_tag_of(filter, pair->place[0], length), 0);
    filter->occupied += slot >= 0;
    filter->items++;
}

/* Members of a class that are spilled are cut as those in slots, and keep the key sticky as these do. */
static void classes_reach_into_the_list(void **state)
{
    unsigned spilled = 0;
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 60; round++) {
            cf_geometry shape = spilling(shape_with(b, 0, 0), 0, 20);
            shape.semisorted = b == 4 && round % 2;
            test_filter made = filter_at_stage(shape, 1, 50);
            cf_filter *filter = &made.filter;
            uint64_t hash = half_split_key(filter);
            cf_pair pair = cf_pair_of(filter, hash);
            unsigned most = pair.place[0].extension + 5, shortest = most;
            fill_with_strangers(filter, pair.place[0], (unsigned)random_below(shape.cap));
            fill_with_strangers(filter, pair.place[1], 0);
            for (unsigned i = 0; i < shape.cap; i++) {
                unsigned length = most - (unsigned)random_below(5);
                put_copy(filter, &pair, length);
                shortest = length < shortest ? length : shortest;
            }
            unsigned listed = filter->spilled;
            assert_int_equal(cf_add(filter, hash), CF_OK);
            assert_int_equal(filter->spilled, listed);
            cf_matches found;
            cf_find_matches(filter, &pair, CF_ANY_VALUE, &found);
            assert_int_equal(found.n, shape.cap);
            assert_int_equal(found.match[0].length, shortest);
            assert_int_equal(found.match[found.n - 1].length, shortest);
            assert_int_equal(cf_delete(filter, hash), CF_STICKY);
            assert_sound(filter);
            spilled += listed;
            free_filter(&made);
        }
    assert_true(spilled > 100);
}

/* ---- counters ---- */

static void check_counters(cf_filter *filter, unsigned bits)
{
    uint64_t hash = random64(), each = (uint64_t)1 << bits, cap = filter->geometry.cap;
    for (uint64_t n = 1; n < cap * each; n++) {
        assert_int_equal(cf_add(filter, hash), CF_OK);
        assert_int_equal(cf_count(filter, hash), n);
        assert_int_equal(filter->occupied, (n + each - 1) / each);
    }
    for (uint64_t n = cap * each - 1; n-- > 0;) {
        assert_int_equal(cf_delete(filter, hash), CF_REMOVED);
        assert_int_equal(cf_count(filter, hash), n);
    }
    assert_int_equal(cf_delete(filter, hash), CF_ABSENT);
    assert_true(filter->occupied == 0 && filter->items == 0);
    for (uint64_t n = 1; n <= cap * each + 5; n++)
        assert_int_equal(cf_add(filter, hash), CF_OK);
    assert_int_equal(cf_count(filter, hash), cap * each);
    assert_int_equal(cf_delete(filter, hash), CF_STICKY);
    assert_int_equal(cf_count(filter, hash), cap * each);
    assert_int_equal(filter->occupied, cap);
    assert_sound(filter);
}

/* Up to 2^c copies in one entry, then in further ones; sticky only when cap of them are at their
** maximum. */
static void counters_are_exact_up_to_cap_full_entries(void **state)
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

/* Adds and deletes in any order, between any number of steps of growth. */
static void counters_stay_exact_through_growth(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bits = 3; bits <= 9; bits += 3) {
            cf_geometry shape = growing_shape(6, b, 24);
            shape.counter_bits = (uint8_t)bits;
            test_filter made = growing_filter(shape, UINT64_MAX);
            uint64_t hash = random64(), expected = 0, limit = (uint64_t)1 << bits;
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
    cmocka_unit_test(absorbing_makes_a_class_of_equals),
    cmocka_unit_test(entries_that_cannot_be_cut_are_left_out_of_the_class),
    cmocka_unit_test(classes_reach_into_the_list),
    cmocka_unit_test(counters_are_exact_up_to_cap_full_entries),
    cmocka_unit_test(counters_stay_exact_through_growth),
    cmocka_unit_test(values_are_kept_and_deleted_one_by_one),
    cmocka_unit_test(cap_counts_per_value),
};

RUN_TESTS(tests)
