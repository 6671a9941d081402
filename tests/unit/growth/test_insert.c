/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/entry.h"
#include "../../../src/growth/insert.h"
#include "../../../src/table/bucket.h"

/* Random keys never fill a filter that may grow, from as few buckets as the planner gives it. (From
** fewer, now and then void entries come to fill a pair of buckets, and no split helps.) */
static void random_keys_never_fill_it(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t m = 8; m < 20; m += 2)
            for (int round = 0; round < 12; round++) {
                cf_geometry shape = growing_shape(m, b, 12);
                shape.semisorted = b == 4 && round % 2;
                test_filter made = growing_filter(shape, UINT64_MAX);
                for (int i = 0; i < 1000; i++)
                    if (cf_add(&made.filter, random64()) != CF_OK)
                        fail_msg("b=%u m=%u full at key %d", b, (unsigned)m, i);
                free_filter(&made);
            }
}

/* And it is well filled when it has grown far: a new level does not begin before it is needed. */
static void grown_tables_are_well_filled(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        cf_layout layout = k == 3 ? CF_LAYOUT_SEMISORT : CF_LAYOUT_PLAIN;
        unsigned b = k == 3 ? 4 : 2u << k;
        test_filter made =
            planned_filter(500, 0.01, (cf_options){.growth = true, .bucket_size = b, .layout = layout});
        made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        for (unsigned i = 1; i <= 8000; i++) {
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
            double slots = (double)(made.filter.buckets * b);
            if (i > 1000)
                assert_true((double)made.filter.items > (b == 2 ? 0.65 : 0.75) * slots);
        }
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void copies_do_not_make_it_grow(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        test_filter made = growing_filter(growing_shape(8, b, 12), UINT64_MAX);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(cf_add(&made.filter, 12345), CF_OK);
        assert_false(made.filter.view.grown);
        assert_int_equal(made.filter.items, 1000);
        free_filter(&made);
    }
}

static uint64_t crowd_until_full(cf_filter *filter)
{
    uint64_t hash = random64() & ~(cf_low_bits(8) << 16), n = 0;
    while (n < 256 && cf_add(filter, hash | n << 16) == CF_OK)
        n++;
    return n;
}

static void crowd_table(uint64_t buckets, unsigned b, uint64_t most)
{
    test_filter made = growing_filter(growing_shape(buckets, b, 24), UINT64_MAX);
    uint64_t n = crowd_until_full(&made.filter);
    assert_true(n >= 2 * b && n < 256);
    assert_true(made.filter.buckets <= most);
    assert_sound(&made.filter);
    free_filter(&made);
}

/* Keys chosen to crowd one pair of buckets: full in the end, and a small table has not become long,
** nor a large one much longer. About one small crowd in fifty is still growing when it gets there. */
static void crowding_keys_do_not_make_it_grow_without_end(void **state)
{
    enum { SMALL_TABLE = 4096, CROWDS = 200 };
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        crowd_table(2 * SMALL_TABLE, b, 4 * SMALL_TABLE);
        for (unsigned i = 0; i < CROWDS; i++)
            crowd_table(8, b, SMALL_TABLE);
    }
}

/* In a large filter keys that agree in all the bits they have are refused at once: no memory is
** asked for. */
static unsigned requests;

static uint8_t *counted_resize(void *context, uint8_t *bytes, uint64_t size)
{
    requests++;
    return test_resize(context, bytes, size);
}

static void refused_adds_of_large_filters_cost_nothing(void **state)
{
    (void)state;
    for (unsigned stage = 0; stage < 3; stage++)
        for (unsigned b = 2; b <= 8; b *= 2) {
            test_filter made = filter_at_stage(growing_shape(5000, b, 16), stage > 0, stage * 2500);
            cf_filter *filter = &made.filter;
            uint64_t hash = random64(), n = 0;
            filter->memory = (cf_memory){counted_resize, UINT64_MAX, NULL};
            while (n < 64 &&
                   cf_add(filter, hash ^ n << 36) == CF_OK) /* all of them agree in f bits and more */
                n++;
            assert_int_equal(n, 64); /* they are copies of one key */
            n = 0;
            for (unsigned i = 0; i < 100; i++) {
                snapshot then = remember(filter);
                requests = 0;
                if (cf_add(filter, hash ^ (1 + i % 60) << filter->geometry.pair_bits << 4) == CF_FULL) {
                    assert_unchanged(filter, &then);
                    assert_int_equal(requests, 0);
                    n++;
                }
                free(then.bytes);
            }
            assert_true(n > 20);
            assert_sound(filter);
            free_filter(&made);
        }
}

/* While a table within a level doubles, some buckets are split twice: keys that the second split
** parts are not refused. */
static void buckets_that_are_split_twice_make_room(void **state)
{
    cf_geometry shape = growing_shape(2, 4, 24);
    uint64_t hash;
    unsigned twice;
    cf_pair pair;
    (void)state;
    shape.pair_bits = 6;
    shape.value_bits = 4; /* entries of different values do not fold */
    test_filter made = growing_filter(shape, UINT64_MAX), there = filter_at_stage(shape, 11, 1024);
    there.filter.memory = made.filter.memory;
    there.filter.items = there.filter.buckets; /* as if it held keys in other places */
    do {
        hash = random64();
        pair = cf_pair_of(&there.filter, hash);
        twice = pair.side[0].base == 0 ? 0 : 1; /* of its children, that of bit 0 is split again */
    } while (pair.sides < 2 || pair.place[0].extension != 11 || pair.place[1].extension != 11 ||
             (pair.place[twice].tag >> there.filter.geometry.pair_bits & 1) != 0);
    for (unsigned i = 0; i < 8; i++) { /* one of them differs in the second bit behind the extension */
        cf_entry entry = {.side = pair.side[i / 4], .payload = i};
        entry.side.length = there.filter.view.new_length;
        cf_place place = pair.place[i / 4];
        place.tag ^= i == 7 ? (uint64_t)2 << shape.pair_bits : 0;
        cf_entry_put(&there.filter, place, i % 4, &entry);
    }
    assert_int_equal(cf_delete_value(&there.filter, hash, 0), CF_REMOVED);
    assert_int_equal(cf_add_value(&there.filter, hash, 8), CF_OK);
    assert_int_equal(cf_add_value(&there.filter, hash ^ (uint64_t)64 << shape.pair_bits << 11, 9),
                     CF_OK);
    assert_true(there.filter.buckets > 2 * 2048 + 1024);
    free_filter(&made);
    free_filter(&there);
}

/* A list that has no room for what a split doubles keeps a filter from growing. What cannot be stored is refused, and what was
** taken is found, also where entries could fold in a filter that has grown. */
static void what_is_taken_is_found_where_growth_cannot_begin(void **state)
{
    unsigned refused = 0;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        cf_geometry shape = growing_shape(2 + 2 * (i % 3), 2u << i / 3 % 3, 15);
        shape.pair_bits = 15; /* all entries are void */
        shape.cap = (uint8_t)(1 + random_below(2u * shape.bucket_size));
        shape.spill_bound = (uint16_t)(1 + random_below(4));
        test_filter made = growing_filter(shape, UINT64_MAX);
        for (unsigned n = 0; n < 60; n++) {
            uint64_t hash = random_below(3) ? random64() : UINT64_C(0x9e3779b97f4a7c15) * (n % 8 + 1);
            snapshot then = remember(&made.filter);
            bool taken = cf_add(&made.filter, hash) == CF_OK;
            if (!taken)
                assert_unchanged(&made.filter, &then);
            assert_true(!taken || cf_contains(&made.filter, hash));
            refused += !taken;
            free(then.bytes);
        }
        assert_sound(&made.filter);
        free_filter(&made);
    }
    assert_true(refused > 0);
}

/* An item of an entry that knows too little for both of its buckets has no place: nothing is
** stored. */
static void short_items_are_refused(void **state)
{
    test_filter made = filter_at_stage(growing_shape(6, 4, 12), 4, 1);
    cf_entry item = {.side = cf_base(&made.filter, random64())};
    (void)state;
    for (item.side.length = 0; item.side.length < 4; item.side.length++) {
        snapshot then = remember(&made.filter);
        assert_int_equal(cf_insert(&made.filter, &item), CF_BAD_ARGUMENT);
        assert_unchanged(&made.filter, &then);
        free(then.bytes);
    }
    item.side.length = 5;
    assert_int_equal(cf_insert(&made.filter, &item), CF_OK);
    assert_int_equal(made.filter.occupied, 1);
    assert_int_equal(made.filter.items, 0); /* not counted here */
    free_filter(&made);
}

/* What an entry stands for is stored whole, or not at all: an item that finds no room has left
** nothing, neither copies that entries there could have counted nor a bucket that growth has
** added. */
static void items_without_room_leave_nothing(void **state)
{
    uint64_t first[2] = {UINT64_C(0x1111111111111111), UINT64_C(0x1111111111111151)},
             second = UINT64_C(0x1111111111111191);
    unsigned grown = 0;
    (void)state;
    for (unsigned more = 0; more < 40; more++) {
        cf_geometry shape = growing_shape(2, 1, 24);
        shape.cap = 1;
        shape.counter_bits = 4;
        test_filter made = growing_filter(shape, cf_geometry_bytes(&shape) + more);
        cf_entry item = {.side = cf_base(&made.filter, second), .payload = 4 - 1};
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(cf_add(&made.filter, first[i]), CF_OK);
        snapshot then = remember(&made.filter);
        cf_status status = cf_insert(&made.filter, &item);
        assert_true(status == CF_OK || status == CF_TOO_BIG);
        if (status != CF_OK)
            assert_unchanged(&made.filter, &then);
        assert_int_equal(cf_count(&made.filter, second), status == CF_OK ? 4 : 0);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(cf_count(&made.filter, first[i]), 1);
        grown += made.filter.view.grown;
        free(then.bytes);
        free_filter(&made);
    }
    assert_true(grown > 0 && grown < 40);
}

/* ---- in a table of a given size ---- */

static cf_status store(cf_filter *filter, uint64_t hash, uint64_t payload)
{
    uint64_t most = cf_payload_max(&filter->geometry);
    cf_entry item = {.side = cf_base(filter, hash), .payload = payload};
    item.sticky = filter->geometry.counter_bits && payload == most;
    return cf_insert(filter, &item);
}

/* Base bucket first, then the alternate, lowest slots first; then others move. */
static void the_first_empty_slot_is_taken(void **state)
{
    cf_geometry shape = shape_of(50, 4, 16);
    uint64_t hash = random64();
    (void)state;
    shape.cap = 4;
    shape.value_bits = 4; /* copies with different values are all stored */
    test_filter made = new_filter(shape);
    cf_pair pair = cf_pair_of(&made.filter, hash);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(store(&made.filter, hash, i), CF_OK);
        assert_int_equal(cf_slot_get(&made.filter, pair.place[i / 4].bucket, i % 4),
                         pair.place[i / 4].tag);
        assert_int_equal(cf_payload_get(&made.filter, pair.place[i / 4].bucket, i % 4), i);
        assert_int_equal(made.filter.occupied, i + 1);
        assert_int_equal(made.filter.items, 0); /* not counted here */
    }
    assert_int_equal(store(&made.filter, hash, 8), CF_FULL);
    free_filter(&made);
}

/* What an item stands for is counted by an entry that is there; a full one is the mark, and absorbs
** the rest. */
static void copies_are_counted_before_they_take_a_slot(void **state)
{
    static const unsigned copies[] = {3, 1, 2, 1, 5, 8}, sum[] = {3, 4, 6, 7, 8, 8};
    uint64_t hash = random64();
    cf_geometry shape = shape_of(50, 4, 16);
    (void)state;
    shape.counter_bits = 3;
    test_filter made = new_filter(shape);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(store(&made.filter, hash, copies[i] - 1), CF_OK);
        assert_int_equal(cf_count(&made.filter, hash), sum[i]);
        assert_int_equal(made.filter.occupied, 1);
    }
    assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
    free_filter(&made);
}

/* A marked entry of another filter is stored with its mark; with others that match, one of them
** takes it. */
static void marked_items_stay_marked(void **state)
{
    (void)state;
    for (unsigned others = 0; others < 3; others++) {
        test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 10);
        uint64_t hash = random64();
        cf_entry item = {.side = cf_base(&made.filter, hash), .sticky = true};
        item.side = cf_new_fingerprint(&made.filter, &item.side);
        for (unsigned i = 0; i < others; i++)
            assert_int_equal(cf_add(&made.filter, hash), CF_OK);
        assert_int_equal(cf_insert(&made.filter, &item), CF_OK);
        made.filter.items += made.filter.geometry.cap;
        assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
        assert_int_equal(cf_count(&made.filter, hash), made.filter.geometry.cap);
        assert_int_equal(made.filter.occupied, others < 2 ? 1 : 2);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void a_full_table_is_unchanged(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        test_filter made = new_filter(shape_of(22, b, 16));
        unsigned failures = 0;
        for (int i = 0; i < 1000; i++) {
            snapshot then = remember(&made.filter);
            if (store(&made.filter, random64(), 0) == CF_FULL) {
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
    for (unsigned length = 4; length < 30; length++) {
        test_filter made = filter_at_stage(growing_shape(10, 4, 12), 3, 5);
        cf_side side = cf_base(&made.filter, random64());
        side.length = length;
        side.bits &= cf_low_bits(6 + length);
        cf_pair pair = cf_pair_from(&made.filter, side);
        cf_entry item = {.side = side};
        cf_entry entry;
        assert_int_equal(cf_insert(&made.filter, &item), CF_OK);
        assert_true(cf_entry_at(&made.filter, pair.place[0].bucket, 0, &entry));
        assert_int_equal(entry.side.length, length < 13 ? length : 13);
        assert_true(entry.side.bits == (side.bits & cf_low_bits(6 + entry.side.length)));
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* A header that counts too much already is not made to count more slots than there are. */
static void occupied_stays_in_range(void **state)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    (void)state;
    made.filter.occupied = 39;
    for (uint64_t i = 1; i < 5; i++) {
        assert_int_equal(store(&made.filter, i, 0), CF_OK);
        assert_int_equal(made.filter.occupied, 40);
    }
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_keys_never_fill_it),
    cmocka_unit_test(grown_tables_are_well_filled),
    cmocka_unit_test(copies_do_not_make_it_grow),
    cmocka_unit_test(crowding_keys_do_not_make_it_grow_without_end),
    cmocka_unit_test(refused_adds_of_large_filters_cost_nothing),
    cmocka_unit_test(buckets_that_are_split_twice_make_room),
    cmocka_unit_test(short_items_are_refused),
    cmocka_unit_test(items_without_room_leave_nothing),
    cmocka_unit_test(the_first_empty_slot_is_taken),
    cmocka_unit_test(copies_are_counted_before_they_take_a_slot),
    cmocka_unit_test(marked_items_stay_marked),
    cmocka_unit_test(a_full_table_is_unchanged),
    cmocka_unit_test(entries_are_as_long_as_they_may_be),
    cmocka_unit_test(occupied_stays_in_range),
    cmocka_unit_test(what_is_taken_is_found_where_growth_cannot_begin),
};

RUN_TESTS(tests)
