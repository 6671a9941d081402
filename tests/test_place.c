#include "test.h"

#include "../src/address.h"
#include "../src/bucket.h"
#include "../src/eviction.h"
#include "../src/place.h"

static cf_status store(cf_filter *filter, uint64_t hash, uint64_t payload, uint64_t *left)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_item item = {pair.side[0], payload};
    cf_status status = cf_store(filter, &pair, CF_SEARCH_BUCKETS, &item);
    *left = item.payload + 1;
    return status;
}

/* Base bucket first, then the alternate, lowest slots first; then others move. */
static void the_first_empty_slot_is_taken(void **state)
{
    cf_geometry shape = shape_of(50, 4, 16);
    uint64_t hash = random64(), left;
    (void)state;
    shape.cap = 4;
    shape.value_bits = 4; /* copies with different values are all stored */
    test_filter made = new_filter(shape);
    cf_pair pair = cf_pair_of(&made.filter, hash);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(store(&made.filter, hash, i, &left), CF_OK);
        assert_int_equal(cf_slot_get(&made.filter, pair.place[i / 4].bucket, i % 4),
                         pair.place[i / 4].tag);
        assert_int_equal(cf_payload_get(&made.filter, pair.place[i / 4].bucket, i % 4), i);
        assert_int_equal(made.filter.occupied, i + 1);
        assert_int_equal(made.filter.items, 0); /* not counted here */
    }
    assert_int_equal(store(&made.filter, hash, 8, &left), CF_FULL);
    free_filter(&made);
}

/* What an entry counts goes to entries that are there, the rest into one of its own; at cap full ones it
** is absorbed. */
static void copies_are_counted_before_they_take_a_slot(void **state)
{
    static const unsigned copies[] = {6, 1, 8, 5, 8, 8}, sum[] = {6, 7, 15, 20, 24, 24},
                          used[] = {1, 1, 2, 3, 3, 3};
    uint64_t hash = random64(), left;
    cf_geometry shape = shape_of(50, 4, 16);
    (void)state;
    shape.counter_bits = 3;
    test_filter made = new_filter(shape);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(store(&made.filter, hash, copies[i] - 1, &left), CF_OK);
        assert_int_equal(cf_count(&made.filter, hash), sum[i]);
        assert_int_equal(made.filter.occupied, used[i]);
    }
    free_filter(&made);
}

/* What an entry that is there can count has found room, though the table is full. */
static void copies_without_room_are_left(void **state)
{
    uint64_t left;
    cf_geometry shape = shape_of(1, 2, 16);
    (void)state;
    shape.counter_bits = 3;
    test_filter made = new_filter(shape);
    assert_int_equal(store(&made.filter, 1, 0, &left), CF_OK);
    assert_int_equal(store(&made.filter, 2, 6 - 1, &left), CF_OK);
    assert_int_equal(store(&made.filter, 2, 8 - 1, &left), CF_FULL);
    assert_int_equal(left, 6);
    assert_int_equal(cf_count(&made.filter, 2), 8);
    snapshot then = remember(&made.filter);
    assert_int_equal(store(&made.filter, 2, left - 1, &left), CF_FULL);
    assert_int_equal(left, 6);
    assert_unchanged(&made.filter, &then);
    free(then.bytes);
    free_filter(&made);
}

static void a_full_table_is_unchanged(void **state)
{
    uint64_t left;
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        test_filter made = new_filter(shape_of(21, b, 16));
        unsigned failures = 0;
        for (int i = 0; i < 1000; i++) {
            snapshot then = remember(&made.filter);
            if (store(&made.filter, random64(), 0, &left) == CF_FULL) {
                failures++;
                assert_unchanged(&made.filter, &then);
            }
            free(then.bytes);
        }
        assert_true(failures > 100);
        free_filter(&made);
    }
}

/* New entries know what the level gives, those of other filters no more than they did. */
static void entries_are_as_long_as_they_may_be(void **state)
{
    (void)state;
    for (unsigned length = 3; length < 30; length++) {
        test_filter made = filter_at_stage(growing_shape(9, 4, 12), 2, 5);
        cf_side side = cf_base(&made.filter, random64());
        side.length = length;
        side.bits &= cf_low_bits(6 + length);
        cf_pair pair = cf_pair_from(&made.filter, side);
        cf_item item = {side, 0};
        cf_entry entry;
        assert_int_equal(cf_store(&made.filter, &pair, CF_SEARCH_BUCKETS, &item), CF_OK);
        assert_true(cf_entry_at(&made.filter, pair.place[0].bucket, 0, &entry));
        assert_int_equal(entry.side.length, length < 12 ? length : 12);
        assert_true(entry.side.bits == (side.bits & cf_low_bits(6 + entry.side.length)));
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* A header that counts too much already is not made to count more slots than there are. */
static void occupied_stays_in_range(void **state)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    uint64_t left;
    (void)state;
    made.filter.occupied = 39;
    for (uint64_t i = 1; i < 5; i++) {
        assert_int_equal(store(&made.filter, i, 0, &left), CF_OK);
        assert_int_equal(made.filter.occupied, 40);
    }
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_first_empty_slot_is_taken),
    cmocka_unit_test(copies_are_counted_before_they_take_a_slot),
    cmocka_unit_test(copies_without_room_are_left),
    cmocka_unit_test(a_full_table_is_unchanged),
    cmocka_unit_test(entries_are_as_long_as_they_may_be),
    cmocka_unit_test(occupied_stays_in_range),
};

RUN_TESTS(tests)
