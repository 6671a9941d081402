/* SPDX-License-Identifier: MIT */
/* What growth promises: room for random keys, little of it wasted, an end to what keys that crowd a place can
** ask for, and nothing changed by an add that is refused. */
#include "../../model/checked.h"

static uint64_t slots_of(const cf_filter *filter)
{
    return filter->buckets * filter->geometry.bucket_size;
}

static test_filter planned_growing(uint64_t capacity, unsigned b, cf_layout layout)
{
    cf_options options = {.growth = true, .bucket_size = b, .layout = layout};
    test_filter made = planned_filter(capacity, 0.01, options);
    made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    return made;
}

/* ---- room ---- */

/* From as few buckets as the planner gives it. (From fewer, now and then exhausted entries come to fill a pair of
** buckets, and no split helps.) */
/* One add in some millions is refused, as its pair and all that can be reached from it is full. */
TEST(random_keys_hardly_ever_fill_it)
{
    size_t refused = 0;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned round = 0; round < 60; round++) {
            cf_geometry shape = growing_shape(8 + 2 * (round % 6), b, 12);
            shape.semisorted = b == 4 && round % 2;
            test_filter made = growing_filter(shape, UINT64_MAX);
            keys all = random_keys(1000);
            size_t kept = 0;
            for (size_t i = 0; i < all.n; i++)
                if (cf_add(&made.filter, all.hash[i]) == CF_OK)
                    all.hash[kept++] = all.hash[i];
            refused += all.n - kept;
            all.n = kept;
            assert_all_found(&made.filter, &all);
            assert_sound(&made.filter);
            free(all.hash);
            free_filter(&made);
        }
    assert_true(refused <= 1);
}

/* Four values of a key fill half of its pair: then keys need some slots more. Three keys that agree in all that
** tells them apart do not: in some filters of a hundred a few values are refused. */
TEST(keys_with_four_values_find_room)
{
    enum { KEYS = 2000, VALUES = 4 };
    for (uint64_t planned = 10; planned <= 1000; planned *= 10) {
        cf_options options = {.growth = true, .value_bits = 8};
        test_filter made = planned_filter(planned, 0.01, options);
        keys all = random_keys(KEYS);
        made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        size_t kept = 0;
        for (size_t i = 0; i < KEYS; i++) {
            cf_status status = CF_OK;
            for (uint64_t value = 0; value < VALUES && status == CF_OK; value++)
                status = cf_add_value(&made.filter, all.hash[i], value);
            all.hash[kept] = all.hash[i];
            kept += status == CF_OK;
        }
        assert_true(kept >= KEYS - KEYS / 100);
        all.n = kept;
        assert_true(slots_of(&made.filter) <= 9 * KEYS * VALUES + 64);
        assert_all_found(&made.filter, &all);
        assert_sound(&made.filter);
        free(all.hash);
        free_filter(&made);
    }
}

/* In order of their hashes they would all belong in the first buckets. */
TEST(many_keys_at_once_find_room_in_a_filter_for_few)
{
    for (uint64_t planned = 1; planned <= 1000; planned *= 10)
        for (unsigned b = 4; b <= 8; b *= 2) {
            test_filter made = planned_growing(planned, b, CF_LAYOUT_AUTO);
            keys all = random_keys(20000);
            assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, NULL), CF_OK);
            assert_all_found(&made.filter, &all);
            assert_true(made.filter.items * 10 > slots_of(&made.filter) * 7);
            assert_sound(&made.filter);
            free(all.hash);
            free_filter(&made);
        }
}

/* Well filled, however far it has grown, and in small steps: few of them need memory. */
TEST(grown_tables_are_well_filled)
{
    for (unsigned k = 0; k < 4; k++) {
        unsigned b = k == 3 ? 4 : 2u << k;
        test_filter made = planned_growing(500, b, k == 3 ? CF_LAYOUT_SEMISORT : CF_LAYOUT_PLAIN);
        cf_filter *filter = &made.filter;
        uint64_t before = resizes_left, first = filter->buckets;
        for (unsigned i = 1; i <= 8000; i++) {
            uint64_t buckets = filter->buckets;
            assert_int_equal(cf_add(filter, random64()), CF_OK);
            assert_true(filter->buckets <= buckets + (buckets > first ? 96 : buckets / 4 + 2));
            if (i > 1000)
                assert_true((double)filter->items > (b == 2 ? 0.65 : 0.75) * (double)slots_of(filter));
        }
        assert_true(before - resizes_left < 60);
        assert_sound(filter);
        free_filter(&made);
    }
}

/* With each doubling a filter errs more often by a sixteenth of its error rate when it was first full. */
TEST(grown_filters_err_little_more)
{
    enum { PLANNED = 1000 };
    for (unsigned b = 2; b <= 8; b *= 2) {
        test_filter made = planned_growing(PLANNED, b, CF_LAYOUT_AUTO);
        cf_filter *filter = &made.filter;
        double first = cf_expected_fpr(&filter->geometry, slots_of(filter)), most = 0;
        for (unsigned i = 1; i <= PLANNED * 64; i++) {
            assert_int_equal(cf_add(filter, random64()), CF_OK);
            if (i % 3000 == 0) {
                double doublings = filter->level + 1.0, fpr = cf_take_census(filter).fpr;
                assert_true(fpr < first * (1 + doublings / 16) && fpr < 0.03);
                most = fpr > most ? fpr : most;
            }
        }
        assert_true(most > first * 1.1); /* it does err more often: else nothing was tested */
        free_filter(&made);
    }
}

/* Copies are counted or absorbed. Nor does a table grow that has lost its keys, and is crowded by what they
** left: halves of entries that know too little for their bucket. */
TEST(copies_do_not_make_it_grow)
{
    for (unsigned b = 2; b <= 8; b *= 2) {
        test_filter made = growing_filter(growing_shape(8, b, 12), UINT64_MAX);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(cf_add(&made.filter, 12345), CF_OK);
        assert_true(made.filter.buckets == 8 && made.filter.items == 1000);
        free_filter(&made);
    }
    for (unsigned items = 0; items < 2; items++) {
        test_filter made = growing_filter(growing_shape(640, 4, 12), UINT64_MAX);
        while (made.filter.level < 3 || made.filter.split < 10)
            assert_true(probe_split(&made.filter));
        while (made.filter.occupied * 10 < slots_of(&made.filter) * 9)
            probe_put(&made.filter, random64(), 0, 0);
        uint64_t buckets = made.filter.buckets;
        made.filter.items = items ? made.filter.occupied : 0;
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        assert_int_equal(made.filter.buckets > buckets, items);
        free_filter(&made);
    }
}

/* ---- keys that crowd one pair ---- */

static void crowd_table(uint64_t buckets, unsigned b, uint64_t most)
{
    test_filter made = growing_filter(growing_shape(buckets, b, 24), UINT64_MAX);
    uint64_t hash = random64() & ~(UINT64_C(255) << 16), n = 0;
    while (n < 256 && cf_add(&made.filter, hash | n << 16) == CF_OK)
        n++;
    assert_true(n >= 2 * b && n < 256);
    assert_true(made.filter.buckets <= most);
    assert_sound(&made.filter);
    free_filter(&made);
}

/* Full in the end: a small table has not become long, nor a large one much longer. */
TEST(crowding_keys_do_not_make_it_grow_without_end)
{
    enum { SMALL_TABLE = 4096, CROWDS = 60 };
    for (unsigned b = 2; b <= 8; b *= 2) {
        crowd_table(2 * SMALL_TABLE, b, 4 * SMALL_TABLE);
        for (unsigned i = 0; i < CROWDS; i++)
            crowd_table(8, b, SMALL_TABLE);
    }
}

/* Half of all keys come to one pair, as if chosen to: agreeing in so many remainder bits, or in as many as the
** table has levels. Half of the slots stay occupied, adds split few buckets, and other keys find room. Returns
** how many were refused. */
static uint64_t crowd_one_pair(uint64_t planned, unsigned b, unsigned agree)
{
    enum { KEYS = 20000, LEVELS = 99, STEPS = 96 };
    test_filter made = planned_growing(planned, b, CF_LAYOUT_AUTO);
    cf_filter *filter = &made.filter;
    uint64_t pair = random64(), first = slots_of(filter), refused = 0, others = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned known = filter->geometry.pair_bits + (agree == LEVELS ? filter->level + 1 : agree);
        uint64_t same = ((uint64_t)1 << known) - 1 + ((uint64_t)0x3ffff << 46),
                 buckets = filter->buckets;
        uint64_t hash = i % 2 ? (pair & same) | (random64() & ~same) : random64();
        cf_status status = cf_add(filter, hash);
        assert_true(status == CF_OK || status == CF_FULL);
        refused += status == CF_FULL;
        others += status == CF_FULL && i % 2 == 0;
        assert_true(slots_of(filter) <= 2 * filter->occupied + 64 + b * STEPS ||
                    slots_of(filter) <= first + first / 8 + b * STEPS);
        assert_true(filter->buckets - buckets <= STEPS || buckets * b == first);
    }
    assert_true(others <= 10);
    assert_sound(filter);
    free_filter(&made);
    return refused;
}

TEST(keys_that_crowd_one_pair_leave_half_of_the_slots_in_use)
{
    uint64_t refused = 0;
    for (uint64_t planned = 10; planned <= 10000; planned *= 10)
        for (unsigned k = 0; k < 3; k++)
            refused += crowd_one_pair(planned, k == 2 ? 8 : 4, k ? 99 : 6);
    assert_true(refused > 1000);
}

/* ---- adds that are refused ---- */

typedef enum want { ROOM, MEMORY, LENGTH, WANTS } want;

/* Keys of one pair of buckets, which agree in all but six of the bits that an entry knows. When these are
** among the last, growth does not part the keys; when they are among the first, it does. */
static cf_status crowd(cf_filter *filter, unsigned at)
{
    uint64_t hash = random64(), six = UINT64_C(63) << at;
    cf_status status = CF_OK;
    for (unsigned tries = 0; cf_contains(filter, hash) && tries < 100; tries++)
        hash = random64(); /* not where exhausted entries would absorb every key */
    for (uint64_t i = 0; i < 64 && status == CF_OK; i++) {
        snapshot then = remember(filter);
        status = cf_add(filter, (hash & ~six) | i << at);
        if (status != CF_OK)
            assert_same_answers(filter, &then);
        free(then.bytes);
    }
    return status;
}

/* Entries of all lengths, exhausted ones among them, in six slots of ten; then keys until one is refused. */
static void check_refused(cf_geometry shape, uint64_t steps, want missing)
{
    enum { FIRST = 10, LAST = 20 };
    test_filter made = growing_filter(shape, UINT64_MAX);
    cf_filter *filter = &made.filter;
    for (uint64_t i = 0; i < steps; i++)
        assert_true(probe_split(filter));
    while (filter->occupied * 10 < slots_of(filter) * 6)
        probe_put(filter, random64(), random_below(3) ? (unsigned)random64() : 0, random64());
    for (uint64_t i = random_below(3); i > 0 && probe_split(filter);
         i--) /* and bytes to spare, perhaps */
        ;
    assert_sound(filter);
    uint64_t given = missing == MEMORY ? random_below(3) : UINT64_MAX;
    uint64_t most = missing == LENGTH ? filter->length + random_below(60) : UINT64_MAX;
    resizes_left = given;
    filter->memory.most = most;
    cf_status status = crowd(filter, missing == ROOM ? LAST : FIRST);
    resizes_left = UINT64_MAX;
    assert_true(status != CF_OK || given == 1 || given == 2);
    assert_true(missing != ROOM || status == CF_FULL);
    assert_true(missing != LENGTH || status == CF_TOO_BIG || status == CF_FULL);
    assert_true(filter->length <= most);
    assert_sound(filter);
    free_filter(&made);
}

TEST(refused_adds_change_no_answer_at_any_stage)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t base = 2; base <= 6; base += 2)
            for (uint64_t steps = 0; steps <= base * 15; steps++)
                for (want missing = ROOM; missing < WANTS; missing++) {
                    cf_geometry shape = growing_shape(base, b, 28);
                    shape.pair_bits = 6;
                    shape.semisorted = b == 4 && random_below(2);
                    if (random_below(3) == 0)
                        shape.counter_bits = (uint8_t)(1 + random_below(16));
                    check_refused(shape, steps, missing);
                }
}

static uint64_t bytes_changed(const uint8_t *now, const uint8_t *then, uint64_t length)
{
    uint64_t changed = 0;
    for (uint64_t i = CF_HEADER_BYTES; i < length; i++)
        if (i % 64 == 0 && i + 64 <= length && memcmp(now + i, then + i, 64) == 0)
            i += 63;
        else
            changed += now[i] != then[i];
    return changed;
}

/* The first growth writes all buckets anew; no other add changes more than a few of them. */
TEST(only_the_first_growth_rewrites_the_table)
{
    enum { FEW = 4000 }; /* bytes: a hundred buckets, of paths and splits */
    for (unsigned b = 2; b <= 8; b *= 2) {
        test_filter made = planned_growing(10000, b, CF_LAYOUT_AUTO);
        cf_filter *filter = &made.filter;
        uint64_t first = filter->buckets;
        unsigned rewritten = 0;
        while (filter->buckets < 3 * first) {
            snapshot then = remember(filter);
            assert_int_equal(cf_add(filter, random64()), CF_OK);
            uint64_t changed = bytes_changed(bytes_of(filter), then.bytes, then.filter.length);
            bool is_first = then.filter.buckets == first && filter->buckets > first;
            assert_true(is_first ? changed > then.filter.length / 2 : changed < FEW);
            rewritten += is_first;
            free(then.bytes);
        }
        assert_int_equal(rewritten, 1);
        assert_sound(filter);
        free_filter(&made);
    }
}

/* Entries that know nothing beyond their bucket make room for a key, where the number of their other bucket is no longer. */
TEST(exhausted_entries_move_among_buckets_of_one_level)
{
    unsigned moved = 0;
    for (unsigned round = 0; round < 200; round++) {
        test_filter made = growing_filter(growing_shape(8, 4, 12), UINT64_MAX);
        cf_filter *filter = &made.filter;
        for (unsigned i = 0; i < 8; i++)
            assert_true(probe_split(filter));
        filter->memory.most = filter->length;
        while (filter->occupied < filter->buckets * 4 - 1)
            probe_put(filter, random64(), 0, 0);
        moved += cf_add(filter, random64()) == CF_OK && filter->occupied == filter->buckets * 4;
        assert_sound(filter);
        free_filter(&made);
    }
    assert_true(moved > 50);
}

/* Random keys up to a most: every byte of it may be used, none beyond. Without memory, or leave, it is full
** where one is that does not grow. */
TEST(most_is_a_limit)
{
    for (uint64_t most = 200; most < 3000; most += 97) {
        test_filter made = growing_filter(growing_shape(4, 4, 12), most);
        cf_status status;
        while ((status = cf_add(&made.filter, random64())) == CF_OK)
            assert_true(made.filter.length <= most);
        assert_int_equal(status, CF_TOO_BIG);
        assert_true(made.filter.length + 300 > most);
        assert_sound(&made.filter);
        free_filter(&made);
    }
    for (unsigned may = 0; may < 2; may++) {
        test_filter made =
            growing_filter(may ? growing_shape(20, 4, 12) : shape_of(20, 4, 12), UINT64_MAX);
        cf_status status;
        made.filter.memory.resize = may ? NULL : test_resize;
        while ((status = cf_add(&made.filter, random64())) == CF_OK)
            continue;
        assert_true(status == (may ? CF_NEEDS_MEMORY : CF_FULL) && made.filter.buckets == 20);
        assert_true(made.filter.occupied > 20 * 4 * 8 / 10);
        assert_false(probe_split(&made.filter));
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static unsigned requests;

static uint8_t *counted_resize(void *context, uint8_t *bytes, uint64_t size)
{
    requests++;
    return test_resize(context, bytes, size);
}

/* A hash has no more bits than it has: then growing ends, and nothing has changed. */
TEST(growing_ends_with_the_numbers_of_buckets)
{
    cf_geometry shape = growing_shape((uint64_t)1 << 32, 1, 32);
    const char *why = "";
    uint8_t header[64];
    cf_filter filter;
    shape.pair_bits = 32; /* base bucket and pair bits are all there is */
    uint64_t length = cf_geometry_bytes(&shape);
    test_filter small = new_filter(shape_of(2, 1, 32));
    memcpy(header, small.bytes, 64);
    header[12] = 1, header[18] = 0, header[22] = 1; /* may grow; 2^32 base buckets */
    uint32_t sum = cf_checksum(header);
    for (unsigned i = 0; i < 4; i++)
        header[60 + i] = (uint8_t)(sum >> 8 * i);
    assert_int_equal(cf_open_writable(&filter, header, (size_t)length, &why), CF_OK);
    filter.memory = (cf_memory){counted_resize, UINT64_MAX, NULL};
    resizes_left = requests = 0;
    assert_false(probe_split(&filter)); /* and that is known before memory is asked for */
    resizes_left = UINT64_MAX;
    assert_true(requests == 0 && filter.buckets == shape.buckets && filter.length == length);
    free_filter(&small);
}
