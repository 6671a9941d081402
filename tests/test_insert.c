#include "test.h"

#include "../src/address.h"
#include "../src/eviction.h"
#include "../src/insert.h"

/* Random keys never fill a filter that may grow, from as few buckets as the planner gives it. (From
** fewer, now and then void entries come to fill a pair of buckets, and no split helps.) */
static void random_keys_never_fill_it(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t m = 8; m < 14; m++)
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
        made.filter.memory = (cf_memory){test_resize, UINT64_MAX};
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

/* Keys chosen to crowd one pair of buckets: full in the end, and a small table has not become long, nor a large
** one much longer. */
static void crowding_keys_do_not_make_it_grow_without_end(void **state)
{
    enum { SMALL_TABLE = 4096 };
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t buckets = 8; buckets <= 2 * SMALL_TABLE; buckets *= 1024) {
            test_filter made = growing_filter(growing_shape(buckets, b, 24), UINT64_MAX);
            uint64_t n = crowd_until_full(&made.filter);
            assert_true(n >= 2 * b && n < 256);
            assert_true(made.filter.buckets <= (buckets < SMALL_TABLE ? SMALL_TABLE : 2 * buckets));
            assert_sound(&made.filter);
            free_filter(&made);
        }
}

/* An item of an entry that knows too little for both of its buckets has no place: nothing is stored. */
static void short_items_are_refused(void **state)
{
    test_filter made = filter_at_stage(growing_shape(5, 4, 12), 4, 1);
    cf_item item = {cf_base(&made.filter, random64()), 0};
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

/* Of several copies those that an entry there can count stay, the others are said, and growth in vain is
** taken back. */
static void copies_without_room_are_left(void **state)
{
    uint64_t first = UINT64_C(0x1111111111111111), second = UINT64_C(0x1111111111111511);
    unsigned grown = 0;
    (void)state;
    for (unsigned more = 0; more < 40; more++) {
        cf_geometry shape = growing_shape(1, 2, 24);
        shape.counter_bits = 2;
        test_filter made = growing_filter(shape, cf_geometry_bytes(&shape) + more);
        for (unsigned i = 0; i < 4; i++) /* one of the first, three of the second */
            assert_int_equal(cf_add(&made.filter, i ? second : first), CF_OK);
        cf_item item = {cf_base(&made.filter, second), 4 - 1};
        cf_status status = cf_insert(&made.filter, &item);
        assert_true(status == CF_OK || (status == CF_TOO_BIG && item.payload == 3 - 1));
        made.filter.items += status == CF_OK ? 4 : 1;
        assert_int_equal(cf_count(&made.filter, second), status == CF_OK ? 7 : 4);
        assert_int_equal(cf_count(&made.filter, first), 1);
        assert_int_equal(made.filter.view.grown, status == CF_OK);
        assert_sound(&made.filter);
        grown += made.filter.view.grown;
        free_filter(&made);
    }
    assert_true(grown > 0 && grown < 40);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_keys_never_fill_it),
    cmocka_unit_test(grown_tables_are_well_filled),
    cmocka_unit_test(copies_do_not_make_it_grow),
    cmocka_unit_test(crowding_keys_do_not_make_it_grow_without_end),
    cmocka_unit_test(short_items_are_refused),
    cmocka_unit_test(copies_without_room_are_left),
};

RUN_TESTS(tests)
