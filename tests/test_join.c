#include "test.h"

#include "../src/copies.h"
#include "../src/join.h"

/* ---- what it is for ---- */

static void add_copies(cf_filter *filter, uint64_t hash, unsigned copies)
{
    for (unsigned i = 0; i < copies; i++)
        if (cf_add(filter, hash) != CF_OK)
            fail_msg("full with %llu items in %llu buckets", (unsigned long long)filter->items,
                     (unsigned long long)filter->buckets);
}

/* Keys that come several times each do not fill a filter that may grow, however small it began. */
static void check_copies(cf_options options, uint64_t capacity, bool in_turn)
{
    enum { KEYS = 1500, COPIES = 5 };
    static uint64_t hash[KEYS];
    options.growth = true;
    test_filter made = planned_filter(capacity, 0.01, options);
    made.filter.memory = (cf_memory){test_resize, UINT64_MAX};
    for (unsigned i = 0; i < KEYS; i++)
        hash[i] = random64();
    for (unsigned round = 0; round < (in_turn ? 1 : COPIES); round++)
        for (unsigned i = 0; i < KEYS; i++)
            add_copies(&made.filter, hash[i], in_turn ? COPIES : 1);
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
                check_copies(options, 10, seed % 2);
                check_copies(options, 300, seed % 2);
            }
}

/* ---- joining ---- */

/* A key of the pair of `hash`, as far as the level tells, that differs in remainder bit `bit`. */
static uint64_t sibling(const cf_filter *filter, uint64_t hash, unsigned bit)
{
    return hash ^ (uint64_t)1 << (filter->geometry.pair_bits + bit);
}

static void three_sticky_keys_of_one_pair_find_room(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 10);
        uint64_t hash = random64() | 1;
        uint64_t keys[3] = {hash, sibling(&made.filter, hash, 3), sibling(&made.filter, hash, 5)};
        if (cf_pair_of(&made.filter, hash).sides == 2) {
            for (unsigned i = 0; i < 3; i++)
                add_copies(&made.filter, keys[i], 3);
            assert_int_equal(made.filter.occupied,
                             6); /* the two that have most in common are one class */
            assert_int_equal(made.filter.items, 9);
            assert_sound(&made.filter);
            for (unsigned i = 0; i < 3; i++)
                assert_int_equal(cf_delete(&made.filter, keys[i]), CF_STICKY);
            assert_false(cf_contains(&made.filter, sibling(&made.filter, hash, 2)));
            assert_true(cf_contains(&made.filter, sibling(&made.filter, hash, 6)));
        }
        free_filter(&made);
    }
}

/* A key that is not sticky keeps its entries, and can be deleted. */
static void what_is_not_sticky_stays(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 10);
        uint64_t hash = random64() | 1, few = sibling(&made.filter, hash, 2);
        if (cf_pair_of(&made.filter, hash).sides == 2) {
            add_copies(&made.filter, few, 2);
            add_copies(&made.filter, hash, 3);
            add_copies(&made.filter, sibling(&made.filter, hash, 4), 3);
            add_copies(&made.filter, sibling(&made.filter, hash, 6), 3);
            assert_int_equal(cf_count(&made.filter, few), 2);
            assert_int_equal(cf_delete(&made.filter, few), CF_REMOVED);
            assert_int_equal(cf_delete(&made.filter, few), CF_REMOVED);
            assert_int_equal(cf_delete(&made.filter, few), CF_ABSENT);
        }
        free_filter(&made);
    }
}

/* With counters one more copy is not an entry at its maximum: a key is not sticky before its counters are full. */
static void a_copy_to_be_counted_is_no_entry_of_a_class(void **state)
{
    cf_geometry shape = {.buckets = 2,
                         .capacity = 8,
                         .bucket_size = 4,
                         .fingerprint_bits = 10,
                         .pair_bits = 4,
                         .cap = 3,
                         .counter_bits = 2,
                         .growth = true};
    test_filter made = growing_filter(shape, UINT64_MAX);
    uint64_t often = 5, less_often = 5 | 0x20 << 4;
    (void)state;
    assert_int_equal(cf_grow_to(&made.filter, 4), CF_OK);
    add_copies(&made.filter, often, 12);
    for (uint64_t other = 0x02; other <= 0x0a; other += 4)
        add_copies(&made.filter, 5 | other << 4, 1);
    add_copies(&made.filter, less_often, 9);
    assert_int_equal(cf_count(&made.filter, less_often), 9);
    assert_int_equal(cf_delete(&made.filter, less_often), CF_REMOVED);
    assert_int_equal(cf_delete(&made.filter, often), CF_STICKY);
    assert_sound(&made.filter);
    free_filter(&made);
}

/* Three keys of one pair take cap entries each, not all of them full, and growth is no remedy (here: not allowed). Rather
** than refuse an add two of them are taken to be sticky. */
static void nearly_sticky_keys_are_rounded_up_at_last(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        cf_geometry shape = growing_shape(50, 4, 16);
        shape.counter_bits = 4;
        test_filter made = filter_at_stage(shape, 1, 10);
        uint64_t hash = random64() | 1;
        uint64_t keys[3] = {hash, sibling(&made.filter, hash, 3), sibling(&made.filter, hash, 5)};
        if (cf_pair_of(&made.filter, hash).sides == 2) {
            for (unsigned i = 0; i < 3; i++)
                add_copies(&made.filter, keys[i], 40);
            assert_int_equal(made.filter.items, 120);
            assert_sound(&made.filter);
            for (unsigned i = 0; i < 3; i++)
                assert_true(cf_count(&made.filter, keys[i]) >= 40);
            assert_int_equal(cf_delete(&made.filter, keys[0]), CF_STICKY);
            assert_int_equal(cf_delete(&made.filter, keys[1]),
                             CF_REMOVED); /* it has its entries still */
            assert_int_equal(cf_count(&made.filter, keys[1]), 39);
        }
        free_filter(&made);
    }
}

/* ---- folding ---- */

/* A filter that is full, with cap void entries of `hash` and strangers of other pair bits. */
static test_filter with_void_class(uint64_t hash, unsigned b, bool semisort)
{
    cf_geometry shape = growing_shape(50, b, 16);
    shape.semisorted = semisort;
    test_filter made = filter_at_stage(shape, 1, 0);
    cf_filter *filter = &made.filter;
    cf_pair pair = cf_pair_of(filter, hash);
    for (unsigned i = 0; i < filter->geometry.cap; i++) {
        cf_place place = pair.place[i / b];
        cf_slot_set(filter, place.bucket, (unsigned)cf_bucket_free_slot(filter, place.bucket),
                    cf_tag_of(filter, place, 1), 0);
    }
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (int slot; (slot = cf_bucket_free_slot(filter, bucket)) >= 0;) {
            cf_side side =
                cf_base(filter, random64() & ~(uint64_t)32); /* class keys have this pair bit */
            cf_place place = cf_locate(filter, &side);
            cf_slot_set(filter, bucket, (unsigned)slot, cf_tag_of(filter, place, filter->view.new_length), 0);
        }
    filter->items = filter->occupied = filter->buckets * b;
    return made;
}

/* With two sides, and pair bits that no stranger has. */
static uint64_t key_for_class(void)
{
    test_filter plain = filter_at_stage(growing_shape(50, 4, 16), 1, 0);
    uint64_t hash;
    do
        hash = random64() | 32;
    while (cf_pair_of(&plain.filter, hash).sides < 2);
    free_filter(&plain);
    return hash;
}

static unsigned folded_slots(const cf_filter *filter)
{
    unsigned n = 0;
    cf_entry entry;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            n += cf_entry_at(filter, bucket, slot, &entry) && entry.entries > 1;
    return n;
}

static void folded_classes_stay_sticky(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 60; kind++) {
        unsigned b = kind % 3 == 0 ? 8 : 4;
        uint64_t hash = key_for_class();
        test_filter made = with_void_class(hash, b, kind % 3 == 2);
        cf_filter *filter = &made.filter;
        cf_pair pair = cf_pair_of(filter, hash);
        cf_joined joined;
        cf_item item = {cf_base(filter, sibling(filter, hash, 40)), 0};
        assert_sound(filter);
        snapshot then = remember(filter);
        assert_true(cf_join_classes(filter, &pair, &item, false, &joined));
        assert_int_equal(folded_slots(filter), 1);
        assert_int_equal(filter->occupied, filter->buckets * b - filter->geometry.cap + 1);
        assert_int_equal(cf_count(filter, hash), filter->geometry.cap);
        assert_int_equal(cf_delete(filter, hash), CF_STICKY);
        assert_int_equal(cf_add(filter, hash), CF_OK); /* absorbed */
        filter->items--;
        assert_int_equal(filter->occupied, filter->buckets * b - filter->geometry.cap + 1);
        assert_sound(filter);
        cf_join_back(filter, &joined);
        assert_unchanged(filter, &then);
        free(then.bytes);
        free_filter(&made);
    }
}

/* Its bucket is split, again and again; merges carry it. */
static void folded_classes_are_in_both_children(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        uint64_t hash = key_for_class();
        test_filter made = with_void_class(hash, 4, round % 2),
                    sum = growing_filter(made.filter.geometry, UINT64_MAX);
        cf_filter *filter = &made.filter;
        cf_pair pair = cf_pair_of(filter, hash);
        cf_joined joined;
        cf_item item = {cf_base(filter, hash), 0};
        const char *why = "";
        assert_true(cf_join_classes(filter, &pair, &item, false, &joined));
        filter->memory = (cf_memory){test_resize, UINT64_MAX};
        for (unsigned i = 0; i < 500; i++)
            assert_int_equal(cf_grow(filter), CF_OK);
        assert_true(folded_slots(filter) >= 4);
        assert_sound(filter);
        assert_int_equal(cf_merge(&sum.filter, filter, &why), CF_OK);
        for (uint64_t bits = 0; bits < 64; bits++) {
            uint64_t other = hash ^ bits << (filter->geometry.pair_bits + 1);
            if (cf_scale(other, 50) == cf_scale(hash, 50)) {
                assert_int_equal(cf_delete(filter, other), CF_STICKY);
                assert_int_equal(cf_delete(&sum.filter, other), CF_STICKY);
            }
        }
        free_filter(&sum);
        free_filter(&made);
    }
}

/* ---- what it leaves alone ---- */

/* Two copies that know nothing beyond their bucket are not sticky, though a third entry begins as they do. */
static void what_is_not_sticky_is_not_folded(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 10; kind++) {
        uint64_t hash = key_for_class();
        test_filter made = with_void_class(hash, 4, kind % 2);
        cf_pair pair = cf_pair_of(&made.filter, hash);
        cf_place place = pair.place[0];
        cf_joined joined;
        cf_item item = {cf_base(&made.filter, hash), 0};
        unsigned slot = 0;
        while (cf_slot_get(&made.filter, place.bucket, slot) != cf_tag_of(&made.filter, place, 1))
            slot++;
        cf_slot_set(&made.filter, place.bucket, slot, cf_tag_of(&made.filter, place, 5), 0);
        assert_false(cf_join_classes(&made.filter, &pair, &item, false, &joined));
        assert_int_equal(folded_slots(&made.filter), 0);
        free_filter(&made);
    }
}

/* Of a pair of which one bucket is split, entries in that one are not cut to what void ones in the other know. (With
** pair bits other than zero these would be folded.) */
static void classes_are_cut_no_further_than_both_buckets_allow(void **state)
{
    test_filter made = filter_at_stage(growing_shape(2, 4, 16), 1, 2);
    cf_filter *filter = &made.filter;
    uint64_t hash = ((uint64_t)5 << 8) | 64;
    cf_pair pair = cf_pair_of(filter, hash), other = cf_pair_of(filter, hash | 32);
    cf_item item = {cf_base(filter, hash | 32), 0};
    cf_joined joined;
    (void)state;
    assert_true(pair.place[0].extension == 2 && pair.place[1].extension == 1);
    for (unsigned i = 0; i < 3; i++) {
        cf_slot_set(filter, pair.place[0].bucket, i, cf_tag_of(filter, pair.place[0], 6), 0);
        cf_slot_set(filter, pair.place[1].bucket, i, cf_tag_of(filter, pair.place[1], 1), 0);
    }
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (int slot; (slot = cf_bucket_free_slot(filter, bucket)) >= 0;) {
            cf_side side = cf_base(filter, random64() | 32);
            cf_slot_set(filter, bucket, (unsigned)slot,
                        cf_tag_of(filter, cf_locate(filter, &side), filter->view.new_length - 1), 0);
        }
    filter->occupied = filter->items = filter->buckets * 4;
    assert_sound(filter);
    snapshot then = remember(filter);
    assert_false(cf_join_classes(filter, &other, &item, false, &joined));
    assert_unchanged(filter, &then);
    free(then.bytes);
    free_filter(&made);
}

static void nothing_is_joined_without_need(void **state)
{
    test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 10);
    uint64_t hash = random64();
    (void)state;
    add_copies(&made.filter, hash, 5);
    add_copies(&made.filter, sibling(&made.filter, hash, 5), 5);
    assert_int_equal(made.filter.occupied, 6);
    assert_false(cf_contains(&made.filter, sibling(&made.filter, hash, 7)));
    free_filter(&made);
}

/* Before growth entries cannot be cut. */
static void nothing_is_joined_before_growth(void **state)
{
    test_filter made = new_filter(growing_shape(50, 4, 16));
    uint64_t hash = random64();
    unsigned added = 0;
    (void)state;
    while (added < 20 && cf_add(&made.filter, sibling(&made.filter, hash, added / 3)) == CF_OK)
        added++;
    assert_int_equal(added, 2 * 4);
    assert_sound(&made.filter);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(keys_that_come_often_do_not_fill_it),
    cmocka_unit_test(three_sticky_keys_of_one_pair_find_room),
    cmocka_unit_test(what_is_not_sticky_stays),
    cmocka_unit_test(a_copy_to_be_counted_is_no_entry_of_a_class),
    cmocka_unit_test(nearly_sticky_keys_are_rounded_up_at_last),
    cmocka_unit_test(folded_classes_stay_sticky),
    cmocka_unit_test(folded_classes_are_in_both_children),
    cmocka_unit_test(what_is_not_sticky_is_not_folded),
    cmocka_unit_test(classes_are_cut_no_further_than_both_buckets_allow),
    cmocka_unit_test(nothing_is_joined_without_need),
    cmocka_unit_test(nothing_is_joined_before_growth),
};

RUN_TESTS(tests)
