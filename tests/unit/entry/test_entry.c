/* SPDX-License-Identifier: MIT */
#include "../spill_model.h"

#include "../../../src/entry/entry.h"

/* In the middle of level 1: base buckets below 25 are split. */
static test_filter half_way(cf_geometry shape)
{
    return filter_at_stage(shape, 1, 50);
}

static cf_geometry shape_with(unsigned b, unsigned value_bits)
{
    cf_geometry shape = growing_shape(50, b, 16);
    shape.value_bits = (uint8_t)value_bits;
    return shape;
}

/* All the shapes that keep entries in ways of their own. */
static cf_geometry any_shape(unsigned value_bits)
{
    cf_geometry shape = shape_with(2u << random_below(3), value_bits);
    shape.semisorted = shape.bucket_size == 4 && random_below(3) > 0;
    return random_below(2) ? spilling(shape, 0, 20) : shape;
}

/* ---- entries of one key ---- */

static cf_pair turned(const cf_pair *pair)
{
    return (cf_pair){{pair->side[1], pair->side[0]}, {pair->place[1], pair->place[0]}, pair->sides};
}

/* An entry of this length into place `i` of a pair, or into the list when there is no slot. */
static bool put(cf_filter *filter, const cf_pair *pair, unsigned i, unsigned length, uint64_t payload)
{
    cf_pair other = turned(pair);
    cf_place there = pair->place[i];
    int slot = cf_bucket_free_slot(filter, there.bucket);
    filter->items++;
    if (slot < 0)
        return spill_one(filter, i ? &other : pair, length, payload);
    cf_slot_set(filter, there.bucket, (unsigned)slot, cf_tag_of(filter, there, length), payload);
    filter->occupied++;
    return true;
}

/* Entries that know `length` bits, and more and more, into the two buckets of a key in turn; each
** has its number as payload. */
static unsigned put_lengths(cf_filter *filter, const cf_pair *pair, unsigned first_side)
{
    unsigned n = 0, length = pair->place[0].extension;
    uint64_t values = cf_low_bits(filter->geometry.value_bits);
    while (length <= filter->view.new_length &&
           put(filter, pair, (n + first_side) % 2, length, n & values))
        n++, length++;
    return n;
}

/* ---- the longest match ---- */

/* The value says which entry it was. Both buckets have different extensions, so that of two slots
** the one with fewer bits can be the longer entry. */
static void the_longest_match_goes_first(void **state)
{
    unsigned spilled = 0;
    (void)state;
    for (int round = 0; round < 300; round++) {
        test_filter made = half_way(any_shape(5));
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        cf_matches found;
        unsigned n = put_lengths(&made.filter, &pair, (unsigned)random_below(2));
        cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &found);
        assert_int_equal(found.n, n);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(found.entry[i].payload, n - 1 - i);
            assert_true(i == 0 || found.entry[i].side.length < found.entry[i - 1].side.length);
            spilled += found.entry[i].slot >= CF_IN_LIST;
        }
        assert_int_equal(cf_entries_matching(&made.filter, &pair), n);
        free_filter(&made);
    }
    assert_true(spilled > 100);
}

/* ---- one look at both buckets ---- */

static void assert_one_look(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_pair_of(filter, hash);
    cf_room room;
    unsigned side = 0;
    assert_int_equal(cf_slots_match(filter, &pair, &room), cf_entries_matching(filter, &pair) > 0);
    while (side < 2 && cf_bucket_free_slot(filter, pair.place[side].bucket) < 0)
        side++;
    assert_int_equal(room.side, side);
    if (side < 2)
        assert_int_equal(room.slot, cf_bucket_free_slot(filter, pair.place[side].bucket));
}

/* From an empty table to one that is nearly full. */
static void one_look_tells_matches_and_room(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        cf_geometry shape = shape_with(2u << random_below(3), 0);
        shape.semisorted = shape.bucket_size == 4 && random_below(2) > 0;
        test_filter made = random_below(3) ? half_way(shape) : new_filter(shape);
        for (unsigned keys = 0; keys < cf_slots(&made.filter) * 9 / 10; keys++) {
            uint64_t hash = random64();
            assert_one_look(&made.filter, hash);
            if (cf_add(&made.filter, hash) == CF_OK)
                assert_one_look(&made.filter, hash);
        }
        free_filter(&made);
    }
}

/* ---- entries of other filters ---- */

/* The pair as an entry that knows `length` bits of the key would see it. */
static cf_pair shorter_pair(const cf_filter *filter, const cf_pair *pair, unsigned length)
{
    cf_side cut = pair->side[0];
    cut.length = length;
    cut.bits &= cf_low_bits(filter->geometry.pair_bits + length);
    return cf_pair_from(filter, cut);
}

/* Of an entry of another filter only those are matches that know no more than it does; but all of
** them agree. */
static void longer_entries_agree_with_a_shorter_one_and_do_not_match_it(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        test_filter made = half_way(any_shape(0));
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        unsigned n = put_lengths(&made.filter, &pair, 0), first = pair.place[0].extension;
        for (unsigned length = first; length < first + n; length++) {
            cf_matches found;
            cf_pair shorter = shorter_pair(&made.filter, &pair, length);
            cf_find_matches(&made.filter, &shorter, CF_ANY_VALUE, &found);
            assert_int_equal(found.n, length - first + 1);
            cf_find_agreeing(&made.filter, &shorter, CF_ANY_VALUE, &found);
            assert_int_equal(found.n, n);
        }
        free_filter(&made);
    }
}

/* Only entries of the value asked for. */
static void values_are_told_apart(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        test_filter made = half_way(any_shape(6));
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        unsigned n = put_lengths(&made.filter, &pair, 1);
        for (unsigned value = 0; value < n + 2; value++) {
            cf_matches found;
            cf_find_matches(&made.filter, &pair, value, &found);
            assert_int_equal(found.n, value < n);
            cf_find_agreeing(&made.filter, &pair, value, &found);
            assert_int_equal(found.n, value < n);
        }
        free_filter(&made);
    }
}

/* ---- one entry ---- */

/* Sticky or not, with a payload that the filter has room for. */
static cf_entry any_entry(const cf_filter *filter, const cf_place *place, const cf_side *side)
{
    cf_entry entry = {.side = *side, .payload = random64() & cf_payload_max(&filter->geometry)};
    entry.side.length = filter->view.new_length;
    if (filter->view.grown)
        entry.side.length -= (unsigned)random_below(entry.side.length - place->extension + 1);
    entry.side.bits &= cf_low_bits(filter->geometry.pair_bits + entry.side.length);
    entry.sticky = filter->view.sticky_bit != 0 && random_below(2);
    if (filter->geometry.counter_bits && random_below(2))
        entry.payload = cf_payload_max(&filter->geometry);
    entry.sticky |= filter->geometry.counter_bits && entry.payload == cf_payload_max(&filter->geometry);
    return entry;
}

static void assert_same(const cf_entry *read, const cf_entry *put)
{
    assert_true(read->side.base == put->side.base && read->side.bits == put->side.bits);
    assert_int_equal(read->side.length, put->side.length);
    assert_int_equal(read->payload, put->payload);
    assert_int_equal(read->sticky, put->sticky);
}

/* In a slot and in the list: what is put there is what is read, its mark and place included. */
static void check_entry_is_kept(cf_filter *filter)
{
    cf_pair pair = cf_pair_of(filter, random64());
    unsigned i = (unsigned)random_below(pair.sides);
    cf_place place = pair.place[i];
    cf_entry put_in = any_entry(filter, &place, &pair.side[i]), read;
    int slot = cf_bucket_free_slot(filter, place.bucket);
    uint64_t occupied = filter->occupied;
    if (slot < 0)
        return;
    cf_entry_put(filter, place, (unsigned)slot, &put_in);
    assert_int_equal(filter->occupied, occupied + 1);
    for (slot = 0;
         cf_slot_get(filter, place.bucket, (unsigned)slot) != cf_entry_tag(filter, &put_in, place) ||
         cf_payload_get(filter, place.bucket, (unsigned)slot) != cf_entry_payload(filter, &put_in);)
        slot++;
    assert_true(cf_entry_at(filter, place.bucket, (unsigned)slot, &read));
    assert_same(&read, &put_in);
    assert_true(read.bucket == place.bucket && read.slot == (unsigned)slot);
    assert_int_equal(read.extension, place.extension);
    assert_true(cf_entry_matches(filter, &read, &pair.side[i]));
}

static void check_line_is_kept(cf_filter *filter)
{
    cf_pair pair = cf_pair_of(filter, random64());
    cf_entry put_in = any_entry(filter, &pair.place[0], &pair.side[0]), read;
    if (filter->spilled == filter->geometry.spill_bound)
        return;
    cf_spilled line = {pair.place[0].bucket, cf_entry_tag(filter, &put_in, pair.place[0]),
                       cf_entry_payload(filter, &put_in)};
    cf_spill_add(filter, &line);
    unsigned at = cf_spill_first(filter, line.bucket);
    while (cf_spill_get(filter, at).tag != line.tag || cf_spill_get(filter, at).payload != line.payload)
        at++;
    assert_true(cf_spilled_at(filter, at, &read));
    assert_same(&read, &put_in);
    assert_true(read.bucket == line.bucket && read.slot == CF_IN_LIST + at);
}

static void entries_are_read_as_they_were_put(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        cf_geometry shape = any_shape(random_below(2) ? 0 : 1 + (unsigned)random_below(32));
        if (shape.value_bits == 0 && random_below(2))
            shape.counter_bits = (uint8_t)(1 + random_below(16));
        test_filter made = round % 3 ? half_way(shape) : new_filter(shape);
        for (int i = 0; i < 30; i++) {
            check_entry_is_kept(&made.filter);
            check_line_is_kept(&made.filter);
        }
        free_filter(&made);
    }
}

static void empty_slots_have_no_entry(void **state)
{
    cf_entry entry = {.bucket = 77};
    test_filter made = half_way(shape_with(4, 0));
    (void)state;
    for (unsigned slot = 0; slot < 4; slot++)
        assert_false(cf_entry_at(&made.filter, 9, slot, &entry));
    assert_int_equal(entry.bucket, 77);
    free_filter(&made);
}

/* The sticky bit is above the value; with counters the mark is a full counter, and before growth
** there is none. */
static void marks_are_where_they_are_said_to_be(void **state)
{
    cf_geometry plain = shape_with(4, 0), values = shape_with(4, 32), counters = shape_with(4, 0);
    counters.counter_bits = 3;
    test_filter none = new_filter(plain), one = half_way(plain), two = half_way(values),
                three = half_way(counters);
    (void)state;
    assert_int_equal(none.filter.view.form.payload_bits, 0);
    assert_int_equal(cf_entry_payload(&one.filter, &(cf_entry){.sticky = true}), 1);
    assert_true(cf_entry_payload(&two.filter, &(cf_entry){.payload = 7, .sticky = true}) ==
                ((uint64_t)1 << 32 | 7));
    assert_int_equal(cf_entry_payload(&three.filter, &(cf_entry){.payload = 7, .sticky = true}), 7);
    assert_int_equal(three.filter.view.form.payload_bits, 3);
    assert_int_equal(cf_entry_copies(&one.filter, &(cf_entry){.sticky = true}), plain.cap);
    assert_int_equal(cf_entry_copies(&one.filter, &(cf_entry){.sticky = false}), 1);
    assert_int_equal(cf_entry_copies(&two.filter, &(cf_entry){.payload = 9}), 1);
    assert_int_equal(cf_entry_copies(&three.filter, &(cf_entry){.payload = 7, .sticky = true}), 8);
    free_filter(&none);
    free_filter(&one);
    free_filter(&two);
    free_filter(&three);
}

/* ---- changing what was found ---- */

/* Some equal, some of any length, some sticky; never more than fit. */
static void put_some(cf_filter *filter, const cf_pair *pair)
{
    unsigned least = pair->place[0].extension, n = 1 + (unsigned)random_below(12);
    for (unsigned i = 0; i < n; i++)
        if (!put(filter, pair, (unsigned)random_below(2), least + (unsigned)random_below(4),
                 random_below(3) | (random_below(4) ? 0 : filter->view.sticky_bit)))
            return;
}

static void shuffle(cf_matches *found)
{
    for (unsigned i = found->n; i > 1; i--) {
        unsigned j = (unsigned)random_below(i);
        cf_entry kept = found->entry[i - 1];
        found->entry[i - 1] = found->entry[j];
        found->entry[j] = kept;
    }
}

/* How many of these entries say what this one says. */
static unsigned count_of(const cf_entry *entries, unsigned n, const cf_entry *like)
{
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++)
        count += entries[i].side.length == like->side.length && entries[i].payload == like->payload &&
                 entries[i].sticky == like->sticky;
    return count;
}

/* What an entry may become: it forgets bits, but those of its bucket; its payload and mark are
** other ones. */
static cf_entry changed_entry(const cf_entry *entry)
{
    cf_entry by = *entry;
    by.side.length -= (unsigned)random_below(entry->side.length - entry->extension + 1);
    by.payload = 10 + random_below(5);
    by.sticky = random_below(2);
    return by;
}

/* Takes out `n` of the entries of a pair: none that says something else is touched. */
static void check_replacing(cf_filter *filter, const cf_pair *pair, const cf_matches *before, unsigned n,
                            const cf_entry *by)
{
    cf_matches after;
    uint64_t entries = filter->occupied + filter->spilled;
    cf_entries_replace(filter, before->entry, n, by);
    cf_entries_drain_into(filter, before->entry, n);
    assert_int_equal(filter->occupied + filter->spilled, entries - n + (by != NULL));
    cf_find_matches(filter, pair, CF_ANY_VALUE, &after);
    assert_int_equal(after.n, before->n - n + (by != NULL));
    for (unsigned i = 0; i < before->n; i++) {
        const cf_entry *like = &before->entry[i];
        unsigned left = count_of(before->entry + n, before->n - n, like);
        assert_int_equal(count_of(after.entry, after.n, like),
                         left + (by != NULL && count_of(by, 1, like)));
    }
    assert_true(by == NULL || count_of(after.entry, after.n, by) > 0);
    assert_list(filter);
    assert_sound(filter);
}

/* Any of them in any order, in slots of both buckets and in the list, with one that stays or none.
** Writing gives others of the bucket other slots, and of the list other numbers. */
static void entries_are_replaced_and_others_left(void **state)
{
    unsigned spilled = 0, several = 0;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        test_filter made = half_way(any_shape(6));
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        cf_matches found;
        put_some(&made.filter, &pair);
        made.filter.items = 0; /* entries come and go here without being counted */
        cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &found);
        while (found.n > 0) {
            shuffle(&found);
            unsigned n = 1 + (unsigned)random_below(found.n);
            cf_entry by = changed_entry(&found.entry[random_below(n)]);
            for (unsigned i = 0; i < n; i++)
                spilled += found.entry[i].slot >= CF_IN_LIST;
            several += n > 1;
            check_replacing(&made.filter, &pair, &found, n, random_below(3) ? NULL : &by);
            cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &found);
        }
        free_filter(&made);
    }
    assert_true(spilled > 500 && several > 1000);
}

/* Room that appears is taken by what is spilled. */
static void empty_slots_are_given_to_spilled_entries(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        test_filter made = half_way(spilling(shape_with(4, 6), 0, 20));
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        cf_matches found;
        for (unsigned i = 0; i < 12; i++)
            assert_true(put(&made.filter, &pair, i % 2, pair.place[0].extension, i));
        assert_int_equal(made.filter.spilled, 4);
        cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &found);
        for (unsigned i = 0; i < found.n && made.filter.spilled == 4; i++)
            if (found.entry[i].slot < CF_IN_LIST) {
                cf_entries_replace(&made.filter, &found.entry[i], 1, NULL);
                cf_entries_drain_into(&made.filter, &found.entry[i], 1);
            }
        assert_true(made.filter.spilled == 3 && made.filter.occupied == 8);
        assert_int_equal(cf_entries_matching(&made.filter, &pair), 11);
        assert_list(&made.filter);
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_longest_match_goes_first),
    cmocka_unit_test(one_look_tells_matches_and_room),
    cmocka_unit_test(longer_entries_agree_with_a_shorter_one_and_do_not_match_it),
    cmocka_unit_test(values_are_told_apart),
    cmocka_unit_test(entries_are_read_as_they_were_put),
    cmocka_unit_test(empty_slots_have_no_entry),
    cmocka_unit_test(marks_are_where_they_are_said_to_be),
    cmocka_unit_test(entries_are_replaced_and_others_left),
    cmocka_unit_test(empty_slots_are_given_to_spilled_entries),
};

RUN_TESTS(tests)
