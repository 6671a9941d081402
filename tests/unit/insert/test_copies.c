/* SPDX-License-Identifier: MIT */
/* Copies of a key, counted, valued or neither: exact below a limit, saturated at it; at any stage of growth. */
#include "../../model/checked.h"

static const unsigned stages[] = {0, 1, 7, 16, 45};
enum { STAGES = sizeof stages / sizeof stages[0] };

static void split(cf_filter *filter, uint64_t steps)
{
    for (; steps > 0; steps--)
        assert_true(probe_split(filter));
}

static test_filter filter_in(unsigned stage, unsigned b, unsigned counter, unsigned value)
{
    cf_geometry shape = growing_shape(10, b, 16);
    shape.counter_bits = (uint8_t)counter;
    shape.value_bits = (uint8_t)value;
    test_filter made = growing_filter(shape, UINT64_MAX);
    split(&made.filter, stages[stage]);
    return made;
}

/* ---- copies of one key ---- */

static void take_exactly(cf_filter *filter, uint64_t hash, uint64_t copies)
{
    for (uint64_t n = 1; n <= copies; n++) {
        assert_int_equal(cf_add(filter, hash), CF_OK);
        assert_int_equal(cf_count(filter, hash), n);
        assert_true(!filter->geometry.counter_bits || filter->occupied == 1);
    }
    for (uint64_t left = copies; left-- > 0;) {
        assert_int_equal(cf_delete(filter, hash), CF_REMOVED);
        assert_int_equal(cf_count(filter, hash), left);
    }
    assert_int_equal(cf_delete(filter, hash), CF_ABSENT);
    assert_true(filter->items == 0 && filter->occupied == 0);
}

/* Counted up to the limit, and as many slots in use as say so. */
static void be_saturated(cf_filter *filter, uint64_t hash, uint64_t limit, uint64_t slots)
{
    for (uint64_t n = 1; n <= limit + 5; n++) {
        assert_int_equal(cf_add(filter, hash), CF_OK);
        assert_int_equal(cf_count(filter, hash), n < limit ? n : limit);
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(cf_delete(filter, hash), CF_SATURATED);
    assert_true(cf_count(filter, hash) == limit && filter->items == limit + 5);
    assert_int_equal(filter->occupied, slots);
    assert_int_equal(cf_take_census(filter).saturated, 1);
    assert_sound(filter);
}

TEST(copies_are_exact_below_their_limit_and_saturated_at_it)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++)
            for (unsigned bits = 0; bits <= (stage == 3 ? 11 : 6); bits += bits < 6 ? 1 : 5) {
                test_filter made = filter_in(stage, b, bits, 0);
                uint64_t hash = random64(), max_copies = made.filter.geometry.max_copies;
                uint64_t limit = bits ? (uint64_t)1 << bits : max_copies;
                for (uint64_t copies = 1; copies < limit; copies += 1 + copies / 4)
                    take_exactly(&made.filter, hash, copies);
                take_exactly(&made.filter, hash, limit - 1);
                /* once grown, one entry says it */
                be_saturated(&made.filter, hash, limit, bits == 0 && stage == 0 ? max_copies : 1);
                free_filter(&made);
            }
}

/* Copies of different levels know different numbers of bits; the key stays saturated while the filter grows
** on. So does one that was saturated before it grew, with max_copies equal entries. */
TEST(saturated_keys_stay_saturated_through_growth)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 40; round++) {
            test_filter made = growing_filter(growing_shape(6, b, 16), UINT64_MAX);
            uint64_t hash = random64();
            unsigned max_copies = made.filter.geometry.max_copies;
            for (unsigned copies = 1; copies <= 2 * max_copies; copies++) {
                assert_int_equal(cf_add(&made.filter, hash), CF_OK);
                split(&made.filter, round % 2 ? random_below(6) : 0);
            }
            for (int i = 0; i < 60; i++) {
                assert_true(cf_count(&made.filter, hash) >= max_copies);
                assert_int_equal(cf_delete(&made.filter, hash), CF_SATURATED);
                split(&made.filter, 1);
            }
            assert_sound(&made.filter);
            free_filter(&made);
        }
}

/* A delete takes the entry that knows most: the others may be needed by keys that agree in fewer bits. */
TEST(deletes_take_the_longest_match)
{
    for (unsigned b = 4; b <= 8; b *= 2)
        for (unsigned round = 0; round < 200; round++) {
            cf_geometry shape = growing_shape(6, b, 9);
            test_filter made = growing_filter(shape, UINT64_MAX);
            cf_filter *filter = begin_checked(&made.filter);
            uint64_t hash = random64();
            for (unsigned i = 0; i < 2 + round % 2; i++) { /* alike in 9 bits, and in more */
                cf_add_checked(filter, i == 0 ? hash : hash ^ UINT64_C(1) << (8 + random_below(12)));
                for (uint64_t steps = random_below(20); steps > 0; steps--)
                    cf_split_checked(filter);
            }
            cf_add_checked(filter, hash);
            cf_delete_checked(filter, hash);
            cf_delete_checked(filter, hash);
            end_checked(filter);
            free_filter(&made);
        }
}

/* ---- many keys ---- */

/* However small a filter began, keys that come several times do not fill one that may grow, nor
** make it large. */
static void check_repeated(cf_options options, uint64_t capacity, bool in_turn)
{
    enum { KEYS = 1000, COPIES = 9 };
    options.growth = true;
    test_filter made = planned_filter(capacity, 0.01, options);
    keys all = random_keys(KEYS);
    made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    for (unsigned i = 0; i < KEYS * COPIES; i++)
        assert_int_equal(cf_add(&made.filter, all.hash[in_turn ? i / COPIES : i % KEYS]), CF_OK);
    assert_sound(&made.filter);
    assert_int_equal(made.filter.items, KEYS * COPIES);
    assert_true(made.filter.buckets * made.filter.geometry.bucket_size < 12 * KEYS);
    for (unsigned i = 0; i < KEYS; i++) {
        assert_true(cf_count(&made.filter, all.hash[i]) >= made.filter.geometry.max_copies);
        assert_int_equal(cf_delete(&made.filter, all.hash[i]), CF_SATURATED);
    }
    free(all.hash);
    free_filter(&made);
}

TEST(keys_that_come_often_do_not_fill_it)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned kind = 0; kind < (b == 4 ? 4 : 2); kind++) {
            cf_options options = {.bucket_size = b};
            if (b == 4 && kind & 2)
                options.layout = CF_LAYOUT_SEMISORT;
            check_repeated(options, 10, kind & 1);
            check_repeated(options, 300, b == 4);
        }
}

/* Where nothing else makes room, entries that may be of one key become one, which counts all their copies. */
TEST(a_fold_counts_all_copies)
{
    for (unsigned round = 0; round < 200; round++) {
        cf_geometry shape = growing_shape(4, 2u << round % 3, 16);
        shape.counter_bits = 6;
        test_filter made = growing_filter(shape, UINT64_MAX);
        cf_filter *filter = &made.filter;
        split(filter, 1 + round % 9);
        filter->memory.most = filter->length;
        uint64_t hash = random64(), other, bucket = cf_candidates(filter, hash).place[0].bucket;
        for (unsigned i = 0; i < 2; i++) /* one knows less */
            assert_true(probe_put(filter, hash, i ? 63 : 7, 3 + i));
        while (filter->occupied < filter->buckets * shape.bucket_size)
            probe_put(filter, random64(), 63, 0);
        do
            other = random64();
        while (cf_candidates(filter, other).place[0].bucket != bucket || cf_contains(filter, other));
        uint64_t before = cf_count(filter, hash);
        assert_int_equal(cf_add(filter, other), CF_OK);
        uint64_t after = cf_count(filter, hash);
        assert_true(after >= before && after <= before + 3); /* some other keys agree with both */
        assert_sound(filter);
        free_filter(&made);
    }
}

/* In a filter that ages it is as young as the youngest of them, whichever stays. */
TEST(a_fold_is_as_young_as_its_youngest)
{
    for (unsigned round = 0; round < 200; round++) {
        cf_geometry shape = growing_shape(4, 2u << round % 3, 16);
        shape.epochs = 8;
        shape.max_copies = 1;
        test_filter made = growing_filter(shape, UINT64_MAX);
        cf_filter *filter = &made.filter;
        split(filter, 1 + round % 9);
        for (unsigned i = 0; i < 10; i++)
            probe_begin_epoch(filter);
        filter->memory.most = filter->length;
        uint64_t hash = random64(), other, bucket = cf_candidates(filter, hash).place[0].bucket;
        for (unsigned i = 0; i < 2; i++) /* one knows less, and is older: it stays */
            assert_true(probe_put(filter, hash, i ? 3 : 8, i ? 4 : 10));
        while (filter->occupied < filter->buckets * shape.bucket_size)
            probe_put(filter, random64(), 63, 4);
        do
            other = random64();
        while (cf_candidates(filter, other).place[0].bucket != bucket || cf_contains(filter, other));
        assert_int_equal(cf_add(filter, other), CF_OK);
        probe_live(filter, 2);
        assert_true(cf_contains(filter, hash) && cf_contains(filter, other));
        assert_sound(filter);
        free_filter(&made);
    }
}

/* An item that knows little, and many entries that know more and agree with it: one of them forgets what the item does not
** know, and counts it. Else the key of the item would not be found. */
TEST(copies_are_counted_on_what_both_know)
{
    for (unsigned round = 0; round < 100; round++) {
        const char *why = "";
        cf_geometry shape = growing_shape(50, 8, 16);
        shape.counter_bits = 3;
        test_filter one = growing_filter(shape, UINT64_MAX), two = growing_filter(shape, UINT64_MAX);
        split(&one.filter, 60);
        split(&two.filter, 60);
        uint64_t hash = random64() | 1;
        for (uint64_t i = 1; i <= shape.max_copies; i++)
            assert_true(probe_put(&one.filter, hash ^ i << (shape.pair_bits + 4), 13, 0));
        assert_true(probe_put(&two.filter, hash, 1, 0));
        assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
        assert_true(cf_contains(&one.filter, hash) && one.filter.occupied == shape.max_copies);
        for (uint64_t i = 1; i <= shape.max_copies; i++)
            assert_true(cf_contains(&one.filter, hash ^ i << (shape.pair_bits + 4)));
        assert_sound(&one.filter);
        free_filter(&one);
        free_filter(&two);
    }
}

/* Many keys of one pair, each often there, are one entry each: they fit where their copies would not. */
TEST(saturated_keys_of_one_pair_take_one_slot_each)
{
    for (int round = 0; round < 100; round++) {
        test_filter made = growing_filter(growing_shape(50, 4, 16), UINT64_MAX);
        uint64_t hash = random64() | 1, seventh = hash ^ 6 << 9;
        split(&made.filter, 60);
        for (unsigned i = 0; i < 6 * 5; i++)
            assert_int_equal(cf_add(&made.filter, hash ^ (uint64_t)(i / 5) << 9), CF_OK);
        assert_true(made.filter.occupied == 6 && made.filter.items == 30);
        assert_int_equal(cf_add(&made.filter, seventh), CF_OK); /* one that is not saturated */
        assert_int_equal(cf_delete(&made.filter, seventh), CF_REMOVED);
        assert_false(cf_contains(&made.filter, seventh));
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(cf_delete(&made.filter, hash ^ (uint64_t)i << 9), CF_SATURATED);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* With a further copy of a key, the longest entries become one, and no more than weigh max_copies: an entry that knows little
** matches many keys, and is not to be the one that stays. */
TEST(only_as_many_become_one_as_weigh_cap)
{
    for (unsigned round = 0; round < 50; round++) {
        const char *why = "";
        cf_geometry shape = growing_shape(50, 8, 16); /* max_copies is 4 */
        test_filter made[3];
        uint64_t hash = random64() | 1;
        for (unsigned i = 0; i < 3; i++) {
            made[i] = growing_filter(shape, UINT64_MAX);
            split(&made[i].filter, 60);
        }
        cf_filter *one = &made[0].filter, *two = &made[1].filter, *three = &made[2].filter;
        for (unsigned i = 0; i < 4; i++)
            assert_true(probe_put(one, hash, 13 - 4 * i, 0));
        assert_int_equal(cf_add(one, hash), CF_OK); /* three and the new one */
        assert_true(one->occupied == 2 && cf_delete(one, hash) == CF_SATURATED);
        assert_true(probe_put(two, hash, 13, 1) && probe_put(three, hash, 13, 0));
        assert_int_equal(cf_merge(three, two, &why), CF_OK); /* a new one that is saturated, and one */
        assert_true(three->occupied == 1 && cf_delete(three, hash) == CF_SATURATED);
        assert_true(probe_put(two, hash, 5, 0));
        assert_int_equal(cf_add(two, hash), CF_OK); /* one that is saturated */
        assert_int_equal(two->occupied, 2);
        for (unsigned i = 0; i < 3; i++)
            free_filter(&made[i]);
    }
}

/* ---- values ---- */

TEST(values_are_kept_and_deleted_one_by_one)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++)
            for (unsigned bits = 4; bits <= CF_VALUE_MAX; bits += 7) {
                test_filter made = filter_in(stage, b, 0, bits);
                cf_filter *filter = &made.filter;
                uint64_t hash = random64(), value = 77;
                for (unsigned v = 0; v < b; v++) {
                    assert_int_equal(cf_add_value(filter, hash, v), CF_OK);
                    assert_true(cf_get(filter, hash, &value) &&
                                value == 0); /* of equal ones the first */
                    assert_int_equal(cf_count(filter, hash), v + 1);
                }
                assert_int_equal(cf_delete_value(filter, hash, b), CF_ABSENT);
                for (unsigned v = 0; v < b; v++) {
                    assert_true(cf_get(filter, hash, &value) && value == v);
                    assert_int_equal(cf_delete_value(filter, hash, v), CF_REMOVED);
                    assert_int_equal(cf_delete_value(filter, hash, v), CF_ABSENT);
                }
                assert_true(filter->items == 0 && filter->occupied == 0 && !cf_contains(filter, hash));
                assert_sound(filter);
                free_filter(&made);
            }
}

/* A key is saturated for one value and exact for another. */
TEST(cap_counts_per_value)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned stage = 0; stage < STAGES; stage++) {
            test_filter made = filter_in(stage, b, 0, 8);
            cf_filter *filter = &made.filter;
            uint64_t hash = random64(), max_copies = filter->geometry.max_copies;
            for (unsigned i = 0; i < 3 * max_copies; i++)
                assert_int_equal(cf_add_value(filter, hash, 200), CF_OK);
            assert_int_equal(cf_count(filter, hash), max_copies);
            for (unsigned i = 0; i + 1 < max_copies; i++)
                assert_int_equal(cf_add_value(filter, hash, 100), CF_OK);
            assert_int_equal(cf_count(filter, hash), 2 * max_copies - 1);
            assert_int_equal(cf_delete_value(filter, hash, 200), CF_SATURATED);
            for (unsigned i = 0; i + 1 < max_copies; i++)
                assert_int_equal(cf_delete_value(filter, hash, 100), CF_REMOVED);
            assert_int_equal(cf_delete_value(filter, hash, 100), CF_ABSENT);
            assert_true(cf_count(filter, hash) == max_copies && cf_take_census(filter).saturated == 1);
            assert_sound(filter);
            free_filter(&made);
        }
}

/* The key has as many values as its buckets have slots: the next one is refused before anything grows. */
TEST(a_value_too_many_does_not_make_a_filter_grow)
{
    for (unsigned kind = 0; kind < 12; kind++) {
        unsigned b = 2u << kind % 3;
        cf_geometry shape = growing_shape(500, b, 16);
        shape.value_bits = 10;
        test_filter made = growing_filter(kind & 4 && b == 4 ? semisorted(shape) : shape, 0);
        cf_filter *f = &made.filter;
        const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), key = odd;
        unsigned others = kind < 6 ? 10 : 2 * 500 * b; /* it has not grown, or it has */
        for (uint64_t i = 1; i < others; i++)
            assert_int_equal(cf_add_value(f, (i + 1) * odd, i % 1000), CF_OK);
        for (unsigned value = 0; value < 2 * b; value++)
            assert_int_equal(cf_add_value(f, key, value), CF_OK);
        assert_int_equal(cf_count(f, key), 2 * b);
        for (unsigned again = 0; again < 3; again++) {
            snapshot then = remember(f);
            assert_int_equal(cf_add_value(f, key, 1000 + again), CF_FULL);
            assert_unchanged(f, &then);
            free(then.bytes);
        }
        assert_int_equal(cf_add_value(f, (others + 1) * odd, 7), CF_OK);
        assert_sound(f);
        free_filter(&made);
    }
}
