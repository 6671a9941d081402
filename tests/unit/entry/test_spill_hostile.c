/* SPDX-License-Identifier: MIT */
/* Spill lists that lie: opening cannot see it, cf_check tells it, and no call steps outside the
** bytes for it. */
#include "../spill_model.h"

/* ---- lists as one wants them ---- */

/* Where entry `index` stands; also one beyond those that the header counts. */
static uint8_t *list_entry(cf_filter *filter, unsigned index)
{
    uint8_t *end = filter->view.writable - CF_HEADER_BYTES + filter->length;
    return end - (filter->geometry.spill_bound - index) * CF_SPILL_ENTRY;
}

/* All of the 48 and 32 bits, whatever the widths of slots and payloads. */
static void put_entry(cf_filter *filter, unsigned index, cf_spilled entry)
{
    cf_store64(list_entry(filter, index), entry.bucket | entry.tag << 48);
    cf_store64(list_entry(filter, index) + 8, entry.tag >> 16 | entry.payload << 32);
}

static void copy_entry(cf_filter *filter, unsigned to, unsigned from)
{
    memcpy(list_entry(filter, to), list_entry(filter, from), CF_SPILL_ENTRY);
}

enum { BUCKETS = 60, BOUND = 20 };

static test_filter try_list(cf_geometry shape)
{
    test_filter made = new_filter(shape);
    while (made.filter.spilled < 6)
        cf_add_value(&made.filter, random64(), random64() & cf_low_bits(shape.value_bits));
    return made;
}

/* Is the bucket of the last entry in the pair of no other? */
static bool last_is_alone(const cf_filter *filter)
{
    bool named[BUCKETS] = {false};
    for (unsigned i = 0; i < 5; i++)
        mark_looks(filter, i, named);
    return !named[cf_spill_get(filter, 5).bucket];
}

/* A sound filter with six spilled entries, not grown. */
static test_filter with_list(bool semisort, unsigned value_bits)
{
    cf_geometry shape = spilling(growing_shape(BUCKETS, 4, 12), 0, BOUND);
    shape.semisorted = semisort;
    shape.value_bits = (uint8_t)value_bits;
    test_filter made = try_list(shape);
    for (; !last_is_alone(&made.filter); made = try_list(shape))
        free_filter(&made);
    assert_sound(&made.filter);
    return made;
}

static void assert_damaged(const cf_filter *filter, const char *expected)
{
    const char *why = "";
    assert_int_equal(cf_check(filter, &why), CF_DAMAGED);
    assert_string_equal(why, expected);
}

/* ---- what cf_check says ---- */

static const char *swap_two(cf_filter *filter)
{
    cf_spilled first = cf_spill_get(filter, 0);
    copy_entry(filter, 0, 5);
    put_entry(filter, 5, first);
    return "the spill list is not sorted";
}

static const char *name_no_bucket(cf_filter *filter)
{
    cf_spilled last = cf_spill_get(filter, 5);
    last.bucket = filter->buckets;
    put_entry(filter, 5, last);
    return "the spill list names a bucket that does not exist, or nothing";
}

static const char *name_nothing(cf_filter *filter)
{
    cf_spilled entry = cf_spill_get(filter, 2);
    entry.tag = 0;
    put_entry(filter, 2, entry);
    return "the spill list names a bucket that does not exist, or nothing";
}

static const char *miss_a_bit(cf_filter *filter)
{
    cf_overflow_set(filter, cf_spill_get(filter, 3).bucket, false);
    return "an entry of the spill list has no overflow bits";
}

static const char *miss_the_bit_of_the_alternate(cf_filter *filter)
{
    cf_entry entry;
    assert_true(cf_spilled_at(filter, 4, &entry));
    cf_overflow_set(filter, other_bucket(filter, &entry), false);
    return "an entry of the spill list has no overflow bits";
}

static const char *set_a_bit_for_nothing(cf_filter *filter)
{
    uint64_t bucket = 0;
    while (cf_overflow_get(filter, bucket))
        bucket++;
    cf_overflow_set(filter, bucket, true);
    return "an overflow bit is set for nothing";
}

static const char *forget_an_entry(cf_filter *filter)
{
    put_entry(filter, 5, (cf_spilled){0, 0, 0});
    filter->spilled--;
    return "an overflow bit is set for nothing";
}

static const char *count_too_few(cf_filter *filter)
{
    filter->spilled--;
    return "the reserved bytes are not zero";
}

static const char *count_too_many(cf_filter *filter)
{
    filter->spilled++;
    return "the spill list names a bucket that does not exist, or nothing";
}

static const char *repeat_an_entry(cf_filter *filter)
{
    filter->spilled = 10;
    for (unsigned i = 6; i < 10; i++)
        copy_entry(filter, i, 5);
    filter->items += 4;
    return "a key has more copies than cap allows";
}

static const char *repeat_an_entry_too_often(cf_filter *filter)
{
    filter->spilled = 15;
    for (unsigned i = 6; i < 15; i++)
        copy_entry(filter, i, 5);
    filter->items += 9;
    return "the spill list has more entries of a key than are found";
}

/* An entry with room in its bucket, or in its other one, would not be in the list. */
static const char *make_room(cf_filter *filter)
{
    uint64_t bucket = cf_spill_get(filter, 1).bucket;
    cf_slot_set(filter, bucket, 0, 0, 0);
    filter->occupied--;
    return "a spilled entry has room in its buckets";
}

/* What no slot could hold, behind the width of slots, where nobody looks before the next growth. */
static const char *hide_bits_above_the_tag(cf_filter *filter)
{
    cf_spilled entry = cf_spill_get(filter, 3);
    entry.tag |= (uint64_t)1 << filter->view.form.lanes.width;
    put_entry(filter, 3, entry);
    return "an entry of the spill list has bits that mean nothing";
}

static const char *hide_bits_above_the_payload(cf_filter *filter)
{
    cf_spilled entry = cf_spill_get(filter, 3);
    entry.payload |= (uint64_t)1 << filter->view.form.payload_bits;
    put_entry(filter, 3, entry);
    return "an entry of the spill list has bits that mean nothing";
}

static void check_lies(const char *(*const *lies)(cf_filter *), unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned kind = 0; kind < 4; kind++) {
            test_filter made = with_list(kind % 2, kind / 2 * 5);
            const char *expected = lies[i](&made.filter), *why = "";
            assert_damaged(&made.filter, expected);
            cf_seal(&made.filter); /* it opens all the same */
            cf_filter opened;
            assert_int_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_OK);
            assert_damaged(&opened, expected);
            free_filter(&made);
        }
}

static void every_lie_is_told(void **state)
{
    static const char *(*const lies[])(cf_filter *) = {
        swap_two,
        name_no_bucket,
        name_nothing,
        miss_a_bit,
        set_a_bit_for_nothing,
        miss_the_bit_of_the_alternate,
        forget_an_entry,
        count_too_few,
        count_too_many,
        repeat_an_entry,
        repeat_an_entry_too_often,
        make_room,
        hide_bits_above_the_tag,
        hide_bits_above_the_payload,
    };
    (void)state;
    check_lies(lies, sizeof lies / sizeof lies[0]);
}

/* More than the bound is refused at once: the list would not end where the blob does. */
static void more_than_the_bound_does_not_open(void **state)
{
    test_filter made = with_list(false, 0);
    cf_filter opened;
    const char *why = "";
    (void)state;
    made.filter.spilled = BOUND + 1;
    cf_seal(&made.filter);
    assert_int_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_DAMAGED);
    assert_string_equal(why, "the spill list holds more than its bound");
    free_filter(&made);
}

/* ---- lists of anything ---- */

/* In any order, of any buckets, with any bits. */
static void fill_with_anything(cf_filter *filter)
{
    uint64_t buckets = random_below(2) ? filter->buckets + 2 : 1 + random_below(3);
    filter->spilled = (unsigned)random_below(filter->geometry.spill_bound + 1u);
    for (unsigned i = 0; i < filter->spilled; i++) {
        cf_spilled entry = {random_below(buckets), random64() >> 16, random64() >> 32};
        if (random_below(2))
            entry.tag &=
                random64() & (random_below(2) ? filter->view.pair_mask : filter->view.form.slot_mask);
        if (random_below(2))
            entry.payload &= 1;
        put_entry(filter, i, entry);
    }
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        if (random_below(4) > 0)
            cf_overflow_set(filter, bucket, true);
    if (random_below(2))
        cf_spill_mark_all(filter, true);
}

static test_filter filter_of_anything(void)
{
    static const unsigned sizes[] = {1, 2, 4, 8};
    unsigned f = 5 + (unsigned)random_below(12), level = (unsigned)random_below(4);
    cf_geometry shape = shape_of(2 + 2 * random_below(3), sizes[random_below(4)], f);
    shape = spilling(shape, (unsigned)random_below(4), 1 + (unsigned)random_below(12));
    shape.growth = true;
    shape.pair_bits = (uint8_t)(4 + random_below(f - 3));
    shape.semisorted = shape.bucket_size == 4 && random_below(2);
    shape.counter_bits = (uint8_t)(random_below(3) ? 0 : 2);
    shape.value_bits = (uint8_t)(shape.counter_bits || random_below(2) ? 0 : 3);
    test_filter made = filter_at_stage(shape, level, random_below((shape.buckets << level) + 1));
    uint8_t mask = random_below(2) ? 0xff : (uint8_t)random64();
    uint64_t bytes =
        cf_table_bits(&shape, made.filter.level, made.filter.split, made.filter.view.grown) / 8;
    for (uint64_t i = 0; i < bytes; i++)
        made.filter.view.writable[i] = (uint8_t)random64() & mask;
    made.filter.occupied = 1 + random_below(made.filter.buckets * shape.bucket_size);
    made.filter.items = random_below(100);
    fill_with_anything(&made.filter);
    return made;
}

/* The key of a spilled entry, or any. */
static uint64_t some_key(const cf_filter *filter)
{
    cf_entry entry;
    uint64_t hash = random64();
    if (filter->spilled == 0 || random_below(2) ||
        !cf_spilled_at(filter, (unsigned)random_below(filter->spilled), &entry))
        return random_below(4) ? hash : hash & ~filter->view.pair_mask;
    unsigned known = filter->geometry.pair_bits + entry.side.length;
    hash = (hash & ~cf_low_bits(known)) | (entry.side.bits & cf_low_bits(known));
    return hash;
}

/* An entry of nothing, or of no bucket, is as good as not there: for all who ask. */
static void all_ways_to_ask_agree_whatever_the_list(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        test_filter made = filter_of_anything();
        for (int i = 0; i < 20; i++) {
            uint64_t hash = some_key(&made.filter), value;
            bool found = cf_count(&made.filter, hash) > 0;
            assert_int_equal(cf_contains(&made.filter, hash), found);
            assert_int_equal(cf_get(&made.filter, hash, &value), found);
        }
        cf_take_census(&made.filter);
        free_filter(&made);
    }
}

/* Where the bytes are they stay, and behind them there are others, which must not change. */
enum { GUARD = 4096, ROOM = 1 << 16 };

static uint8_t *stay(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    return bytes && size <= ROOM ? bytes : NULL;
}

/* Splitting copies void entries of the list: never beyond its bound, in whatever order they
** come. */
static void growing_keeps_the_bound_whatever_the_list(void **state)
{
    static uint8_t bytes[ROOM + GUARD];
    (void)state;
    for (int round = 0; round < 3000; round++) {
        test_filter made = filter_of_anything();
        const char *why = "";
        cf_filter filter;
        uint64_t length = made.filter.length;
        cf_seal(&made.filter);
        memcpy(bytes, made.bytes, length);
        free_filter(&made);
        assert_int_equal(cf_open_writable(&filter, bytes, length, &why), CF_OK);
        filter.memory = (cf_memory){stay, ROOM, NULL};
        for (int i = 0; i < 20; i++) {
            memset(bytes + filter.length, 0xee, GUARD);
            if (cf_grow(&filter) != CF_OK || filter.length > ROOM / 2)
                break;
            assert_true(filter.spilled <= filter.geometry.spill_bound);
            for (unsigned k = 0; k < GUARD && bytes[filter.length + k] != 0; k++)
                assert_int_equal(bytes[filter.length + k], 0xee);
        }
    }
}

static void change_in_any_way(cf_filter *filter)
{
    uint64_t hash = some_key(filter), value = random64() & cf_low_bits(filter->geometry.value_bits);
    switch (random_below(8)) {
    case 0:
        cf_grow(filter);
        break;
    case 1:
        cf_settle(filter);
        break;
    case 2:
    case 3:
    case 4:
        cf_delete_value(filter, hash, value);
        break;
    default:
        cf_add_value(filter, hash, value);
    }
}

static void merge_with_anything(cf_filter *filter)
{
    const char *why = "";
    test_filter other = filter_of_anything();
    cf_geometry shape = filter->geometry;
    other.filter.geometry.seed = shape.seed;
    cf_merge(filter, &other.filter, &why);
    free_filter(&other);
}

/* No call steps outside the bytes (which end where they end: a sanitizer sees it), and counts stay
** within bounds. */
static void nothing_steps_outside_whatever_the_list(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        test_filter made = filter_of_anything();
        made.filter.memory = (cf_memory){test_resize, 1 << 16, NULL};
        for (int i = 0; i < 40; i++) {
            change_in_any_way(&made.filter);
            assert_true(made.filter.spilled <= made.filter.geometry.spill_bound);
        }
        merge_with_anything(&made.filter);
        assert_true(made.filter.spilled <= made.filter.geometry.spill_bound);
        cf_clear(&made.filter);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_lie_is_told),
    cmocka_unit_test(more_than_the_bound_does_not_open),
    cmocka_unit_test(all_ways_to_ask_agree_whatever_the_list),
    cmocka_unit_test(growing_keeps_the_bound_whatever_the_list),
    cmocka_unit_test(nothing_steps_outside_whatever_the_list),
};

RUN_TESTS(tests)
