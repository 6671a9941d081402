/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/copies.h"
#include "../../../src/entry/spill.h"
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

/* ---- records ---- */

enum { MOST_BUCKETS = 64 };

/* An entry of any length, as a rule not void; or an empty slot. */
static uint64_t any_slot(const cf_filter *filter, const cf_form *form)
{
    unsigned s = filter->geometry.pair_bits, width = form->lanes.width, least = s + (width > s + 1);
    unsigned known = least + (unsigned)random_below(width - least);
    if (random_below(6) == 0)
        return 0;
    return (random64() & cf_low_bits(known)) | (uint64_t)1 << known;
}

/* One bucket in four has a void entry, one any bits, and one a payload, of an empty slot perhaps. */
static void fill_bucket(cf_filter *filter, uint64_t bucket)
{
    const cf_form *form = cf_form_of(filter, bucket);
    unsigned b = filter->geometry.bucket_size, kind = (unsigned)random_below(4);
    uint64_t void_entry = random64() & filter->view.pair_mask, mask = form->slot_mask;
    cf_record record = {{0}, {0}};
    for (unsigned slot = 0; slot < b; slot++)
        record.tag[slot] = kind == 1 ? random64() & mask : any_slot(filter, form);
    if (kind == 2)
        record.tag[random_below(b)] = void_entry | (random_below(2) ? filter->view.pair_mask + 1 : 0);
    if (kind == 3)
        record.payload[random_below(b)] = random64() & cf_low_bits(form->payload_bits);
    cf_record_write(filter, bucket, &record);
    if (filter->geometry.spill_bound > 0)
        cf_overflow_set(filter, bucket, random_below(2));
}

/* Splits a record, slot by slot. Returns how many void entries there were. */
static unsigned split_record(const cf_filter *filter, cf_record *low, cf_record *high)
{
    unsigned voids = 0;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        cf_children to = cf_children_of(filter, low->tag[slot]);
        high->tag[slot] = to.high ? to.tag : 0;
        high->payload[slot] = to.high ? low->payload[slot] : 0;
        low->tag[slot] = to.low ? to.tag : 0;
        low->payload[slot] = to.low ? low->payload[slot] : 0;
        voids += to.low && to.high;
    }
    return voids;
}

static void assert_record(const cf_filter *filter, uint64_t bucket, const cf_record *expected)
{
    cf_record record;
    size_t bytes = filter->geometry.bucket_size * sizeof *record.tag;
    cf_record_read(filter, bucket, &record);
    assert_memory_equal(record.tag, expected->tag, bytes);
    assert_memory_equal(record.payload, expected->payload, bytes);
}

/* Bytes that lie: the reserved ones are not zero. */
static void fill_reserved(cf_filter *filter)
{
    uint64_t at = cf_table_bits(&filter->geometry, filter->level, filter->split, true);
    uint64_t end = (filter->length - CF_HEADER_BYTES - cf_spill_bytes(filter)) * 8;
    for (; at < end; at++)
        filter->view.writable[at / 8] |= (uint8_t)(random_below(2) << at % 8);
}

/* After a step two buckets are what a split slot by slot makes of one, the others are as before, and
** nothing is behind the last one, unless the reserved bytes had something. */
static void check_split(cf_filter *filter, bool reserved)
{
    static cf_record before[MOST_BUCKETS];
    bool overflow[MOST_BUCKETS];
    uint64_t n = filter->buckets, occupied = filter->occupied = random_below(n + 1);
    uint64_t low = cf_bucket_number(filter, filter->split >> filter->level,
                                    filter->split & cf_low_bits(filter->level));
    assert_true(n < MOST_BUCKETS);
    for (uint64_t bucket = 0; bucket < n; bucket++) {
        fill_bucket(filter, bucket);
        cf_record_read(filter, bucket, &before[bucket]);
        overflow[bucket] = cf_overflow_get(filter, bucket);
    }
    if (reserved)
        fill_reserved(filter);
    assert_int_equal(cf_grow(filter), CF_OK);
    unsigned voids = split_record(filter, &before[low], &before[n]);
    assert_true(filter->occupied == occupied + voids);
    for (uint64_t bucket = 0; bucket <= n; bucket++)
        assert_record(filter, bucket, &before[bucket]);
    for (uint64_t bucket = 0; bucket < n; bucket++)
        assert_int_equal(cf_overflow_get(filter, bucket), overflow[bucket]);
    assert_true(reserved || !cf_overflow_get(filter, n));
    assert_true(reserved ||
                cf_load_bits(filter->view.table, (n + 1) * filter->view.form.bucket_bits) == 0);
}

static void a_split_is_that_of_a_slot_loop(void **state)
{
    static const unsigned payloads[] = {0, 1, 5, 7, 8, 14, 32};
    (void)state;
    for (unsigned i = 0; i < 29 * 4 * 40; i++) {
        unsigned f = CF_FINGERPRINT_MIN + i % 29, level = (unsigned)random_below(3);
        cf_geometry shape = shape_of(2 + 2 * random_below(4), 1u << i / 29 % 4, f);
        shape.growth = true;
        shape.pair_bits = (uint8_t)(CF_PAIR_BITS_MIN + random_below(f - CF_PAIR_BITS_MIN + 1));
        shape.value_bits = (uint8_t)payloads[random_below(7)];
        shape.spill_bound = (uint16_t)random_below(2);
        uint64_t split = 1 + random_below((shape.buckets << level) - 1);
        test_filter made = filter_at_stage(shape, level, split);
        made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        check_split(&made.filter, random_below(2));
        free_filter(&made);
    }
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

/* A small table splits as often as it is crowded, a large one eight buckets at a time. */
static void large_tables_split_eight_at_a_time(void **state)
{
    enum { KEYS = 60000, SMALL_TABLE = 4096 };
    test_filter made = growing_filter(growing_shape(250, 4, 13), UINT64_MAX);
    const cf_filter *filter = &made.filter;
    unsigned small[4] = {0}, eights = 0, others = 0;
    (void)state;
    for (unsigned i = 1; i <= KEYS; i++) {
        uint64_t before = filter->buckets;
        bool grown = filter->view.grown;
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        uint64_t more = filter->buckets - before;
        if (grown && before <= SMALL_TABLE)
            small[more < 3 ? more : 3]++;
        eights += before > SMALL_TABLE && more == 8;
        others += before > SMALL_TABLE && more != 8 && more != 0;
    }
    assert_true(small[1] > 10 * (small[2] + small[3]) && small[0] > small[1]);
    assert_true(eights > 10 * others);
    free_filter(&made);
}

/* Void entries crowd a table that has hardly an item: it does not split, with as many slots as it has. */
static void crowded_tables_of_few_items_stay(void **state)
{
    (void)state;
    for (unsigned items = 0; items < 2; items++) {
        test_filter made = filter_at_stage(growing_shape(640, 4, 12), 3, 10);
        cf_filter *filter = &made.filter;
        uint64_t s = filter->geometry.pair_bits, buckets = filter->buckets;
        for (uint64_t i = 0; i < buckets * 4 / 10 * 9; i++)
            cf_slot_set(filter, i % buckets, (unsigned)(i / buckets),
                        (uint64_t)1 << s | random_below((uint64_t)1 << s), 0);
        filter->occupied = buckets * 4 / 10 * 9;
        filter->items = items ? filter->occupied : 0;
        filter->memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        assert_int_equal(cf_add(filter, random64()), CF_OK);
        assert_int_equal(filter->buckets > buckets, items);
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tables_are_emptier_in_the_midst_of_a_level),
    cmocka_unit_test(large_tables_split_eight_at_a_time),
    cmocka_unit_test(crowded_tables_of_few_items_stay),
    cmocka_unit_test(a_split_is_that_of_a_slot_loop),
    cmocka_unit_test(keys_are_found_after_every_step),
    cmocka_unit_test(any_number_of_pair_bits_grows),
    cmocka_unit_test(payloads_travel_along),
};

RUN_TESTS(tests)
