/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/copies.h"
#include "../../../src/table/address.h"
#include "../../../src/table/bucket.h"
#include "../../../src/table/open.h"

/* ---- one step ---- */

/* All that lies in one bucket. */
typedef struct contents {
    cf_entry entry[CF_BUCKET_MAX];
    bool there[CF_BUCKET_MAX];
} contents;

static contents contents_of(const cf_filter *filter, uint64_t bucket)
{
    contents all = {.there = {false}};
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        all.there[slot] = cf_entry_at(filter, bucket, slot, &all.entry[slot]);
    return all;
}

static bool same_entry(const cf_entry *a, const cf_entry *b)
{
    return a->side.base == b->side.base && a->side.bits == b->side.bits &&
           a->side.length == b->side.length && a->payload == b->payload && a->sticky == b->sticky;
}

/* What was in the bucket is in the child that it belongs to; what knew no further bit is in both,
** one bit longer, and counted twice. Returns how many there were of these. */
static unsigned check_children(const cf_filter *filter, const contents *parent, uint64_t low,
                               uint64_t high)
{
    unsigned doubled = 0, s = filter->geometry.pair_bits;
    cf_home home = cf_home_of(filter, low);
    contents child[2] = {contents_of(filter, low), contents_of(filter, high)};
    assert_true(cf_home_of(filter, high).extension == (home.extension | (uint64_t)1 << (home.bits - 1)));
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        cf_entry was = parent->entry[slot];
        bool is_void = parent->there[slot] && was.side.length == home.bits - 1;
        doubled += is_void;
        for (unsigned up = 0; up < 2; up++) {
            bool bit = parent->there[slot] && (was.side.bits >> (s + home.bits - 1) & 1);
            assert_int_equal(child[up].there[slot],
                             parent->there[slot] && (is_void || bit == (up == 1)));
            if (!child[up].there[slot])
                continue;
            if (is_void) {
                was.side.length = home.bits;
                was.side.bits = (was.side.bits & cf_low_bits(s + home.bits - 1)) |
                                (uint64_t)up << (s + home.bits - 1);
            }
            assert_true(same_entry(&child[up].entry[slot], &was));
        }
    }
    return doubled;
}

/* Splits the next bucket and looks at all that changed. */
static void step(cf_filter *filter)
{
    uint64_t m0 = filter->geometry.buckets, buckets = filter->buckets, items = filter->items;
    bool next_level = filter->split == m0 << filter->level;
    unsigned level = filter->level + next_level;
    uint64_t split = next_level ? 0 : filter->split;
    cf_filter at_level = *filter;
    cf_set_stage(&at_level, level, split, true);
    uint64_t low = cf_bucket_number(&at_level, split >> level, split & cf_low_bits(level));
    contents parent = contents_of(filter, low);
    uint64_t occupied = filter->occupied;

    assert_int_equal(cf_grow(filter), CF_OK);
    assert_true(filter->view.grown && filter->level == level && filter->split == split + 1);
    assert_true(filter->buckets == buckets + 1 && filter->items == items);
    unsigned doubled = check_children(filter, &parent, low, buckets);
    assert_int_equal(filter->occupied, occupied + doubled);
    assert_sound(filter);
}

/* ---- many steps ---- */

enum { MOST_KEYS = 4000 };

typedef struct journey {
    test_filter made;
    uint64_t hash[MOST_KEYS];
    unsigned keys;
} journey;

static uint64_t value_of(const journey *trip, unsigned key)
{
    return key & cf_low_bits(trip->made.filter.geometry.value_bits);
}

/* Adds keys while they find room without growing. */
static void add_some(journey *trip, double load)
{
    cf_filter *filter = &trip->made.filter;
    cf_memory memory = filter->memory;
    uint64_t slots = filter->buckets * filter->geometry.bucket_size;
    filter->memory.resize = NULL;
    while ((double)filter->occupied < load * (double)slots && trip->keys < MOST_KEYS) {
        trip->hash[trip->keys] = random64();
        if (cf_add_value(filter, trip->hash[trip->keys], value_of(trip, trip->keys)) != CF_OK)
            break;
        trip->keys++;
    }
    filter->memory = memory;
}

/* Does any of the entries that match the key have its value? */
static bool has_value(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_matches found;
    cf_find_matches(filter, &pair, value, &found);
    return found.n > 0;
}

static void assert_all_found(const journey *trip)
{
    const cf_filter *filter = &trip->made.filter;
    for (unsigned i = 0; i < trip->keys; i++) {
        assert_true(cf_contains(filter, trip->hash[i]));
        if (filter->geometry.value_bits)
            assert_true(has_value(filter, trip->hash[i], value_of(trip, i)));
    }
}

/* Step by step through `levels` levels, with new keys now and then, so that entries of all
** lengths meet. */
static void travel(cf_geometry shape, unsigned levels)
{
    static journey trip;
    trip.made = growing_filter(shape, UINT64_MAX);
    trip.keys = 0;
    add_some(&trip, 0.8);
    while (trip.made.filter.buckets < shape.buckets << levels) {
        step(&trip.made.filter);
        assert_all_found(&trip);
        if (random_below(8) == 0)
            add_some(&trip, 0.8);
    }
    assert_int_equal(trip.made.filter.items, trip.keys);
    free_filter(&trip.made);
}

static void keys_are_found_after_every_step(void **state)
{
    static const uint64_t bases[] = {2, 4, 6, 10, 14};
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned i = 0; i < sizeof bases / sizeof bases[0]; i++)
            for (unsigned f = b == 2 ? 12 : 8; f <= 16; f += 4)
                travel(growing_shape(bases[i], b, f), bases[i] < 4 ? 6 : 4);
}

/* Pair bits other than the planner's: none left for remainders, so that all entries double; or
** few. */
static void any_number_of_pair_bits_grows(void **state)
{
    (void)state;
    for (unsigned s = 4; s <= 12; s++)
        for (unsigned b = 1; b <= 8; b *= 2) {
            cf_geometry shape = growing_shape(6, b, 12);
            shape.pair_bits = (uint8_t)s;
            travel(shape, 3);
        }
}

static void payloads_travel_along(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bits = 1; bits <= 32; bits = bits * 2 + 1) {
            cf_geometry shape = growing_shape(6, b, 12);
            shape.value_bits = (uint8_t)bits;
            travel(shape, 4);
            shape.value_bits = 0;
            shape.counter_bits = (uint8_t)(bits > 16 ? 16 : bits);
            travel(shape, 4);
        }
}

/* A growing table is fullest where a level begins, and four percent emptier in the midst of it, where
** searches are longest. */
static void tables_are_emptier_in_the_midst_of_a_level(void **state)
{
    enum { KEYS = 60000, FROM = 30000 };
    double fullest = 0, emptiest = 1;
    test_filter made = growing_filter(growing_shape(250, 4, 13), UINT64_MAX);
    (void)state;
    for (unsigned i = 1; i <= KEYS; i++) {
        const cf_filter *filter = &made.filter;
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        double load = (double)filter->occupied / (double)cf_slots(filter);
        double split = (double)filter->split / (double)(filter->geometry.buckets << filter->level);
        double most = 0.88 - 0.16 * split * (1 - split);
        if (i > FROM)
            assert_true(load < most + 0.005 && load > most - 0.005);
        fullest = i > FROM && load > fullest ? load : fullest;
        emptiest = i > FROM && load < emptiest ? load : emptiest;
    }
    assert_true(fullest > 0.875 && emptiest < 0.845);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tables_are_emptier_in_the_midst_of_a_level),
    cmocka_unit_test(keys_are_found_after_every_step),
    cmocka_unit_test(any_number_of_pair_bits_grows),
    cmocka_unit_test(payloads_travel_along),
};

RUN_TESTS(tests)
