#include "spill_model.h"

#include "../src/matches.h"

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
        return cf_spill_add(filter, i ? &other : pair, length, payload);
    cf_slot_set(filter, there.bucket, (unsigned)slot, cf_tag_of(filter, there, length), payload);
    filter->occupied++;
    return true;
}

/* Entries that know `length` bits, and more and more, into the two buckets of a key in turn; each has its number as
** payload. */
static unsigned put_lengths(cf_filter *filter, const cf_pair *pair, unsigned first_side)
{
    unsigned n = 0, length = pair->place[0].extension;
    while (length <= filter->view.new_length && put(filter, pair, (n + first_side) % 2, length, n))
        n++, length++;
    return n;
}

/* ---- the longest match ---- */

/* The value says which entry it was. Both buckets have different extensions, so that of two slots the
** one with fewer bits can be the longer entry. */
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
            assert_int_equal(found.match[i].payload, n - 1 - i);
            assert_true(i == 0 || found.match[i].length < found.match[i - 1].length);
            spilled += found.match[i].slot >= CF_IN_LIST;
        }
        assert_int_equal(cf_entries_matching(&made.filter, &pair), n);
        free_filter(&made);
    }
    assert_true(spilled > 100);
}

/* The shortest out of the way, so that no key has cap of them. */
static void leave(cf_filter *filter, const cf_pair *pair, unsigned most)
{
    cf_matches found;
    for (cf_find_matches(filter, pair, CF_ANY_VALUE, &found); found.n > most;
         cf_find_matches(filter, pair, CF_ANY_VALUE, &found))
        cf_match_remove(filter, &found.match[found.n - 1]);
}

/* Wherever it is: a delete takes out the longest. */
static void deletes_take_the_longest_match(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        cf_geometry shape = any_shape(0);
        shape.cap = shape.bucket_size;
        shape.counter_bits = 1; /* entries below their maximum: none is sticky */
        test_filter made = half_way(shape);
        uint64_t hash = half_split_key(&made.filter);
        cf_pair pair = cf_pair_of(&made.filter, hash);
        cf_matches before, after;
        for (unsigned length = pair.place[0].extension; length <= made.filter.view.new_length; length++)
            if (!put(&made.filter, &pair, (unsigned)random_below(2), length, 0))
                break;
        leave(&made.filter, &pair, (unsigned)random_below(12));
        cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &before);
        for (; before.n > 0; before = after) {
            assert_int_equal(cf_delete(&made.filter, hash), CF_REMOVED);
            cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &after);
            assert_int_equal(after.n, before.n - 1);
            for (unsigned i = 0; i < after.n; i++)
                assert_int_equal(after.match[i].length, before.match[i + 1].length);
            assert_list(&made.filter);
        }
        assert_true(made.filter.occupied == 0 && made.filter.spilled == 0);
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

/* Of an entry of another filter only those are matches that know no more than it does; but all of them agree. */
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

/* ---- changing what was found ---- */

/* Some equal, some of any length; never more than fit. */
static void put_some(cf_filter *filter, const cf_pair *pair)
{
    unsigned least = pair->place[0].extension, n = 1 + (unsigned)random_below(12);
    for (unsigned i = 0; i < n; i++)
        if (!put(filter, pair, (unsigned)random_below(2), least + (unsigned)random_below(4),
                 random_below(3)))
            return;
}

static void shuffle(cf_matches *found)
{
    for (unsigned i = found->n; i > 1; i--) {
        unsigned j = (unsigned)random_below(i);
        cf_match kept = found->match[i - 1];
        found->match[i - 1] = found->match[j];
        found->match[j] = kept;
    }
}

/* How many of the matches have this length and payload. */
static unsigned count_of(const cf_matches *found, unsigned length, uint64_t payload)
{
    unsigned n = 0;
    for (unsigned i = 0; i < found->n; i++)
        n += found->match[i].length == length && found->match[i].payload == payload;
    return n;
}

/* Writing one entry gives others of its bucket other slots, and of the list other numbers. Each is changed once all the
** same: cut to the shortest, and its payload told. */
static void matches_stay_valid_while_others_are_changed(void **state)
{
    unsigned spilled = 0;
    (void)state;
    for (int round = 0; round < 2000; round++) {
        test_filter made = half_way(any_shape(6));
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        cf_matches before, after;
        put_some(&made.filter, &pair);
        made.filter.items = 0; /* entries come and go here without being counted */
        cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &before);
        unsigned shortest = before.match[before.n - 1].length;
        shuffle(&before);
        for (unsigned i = 0; i < before.n; i++) {
            const cf_match *match = &before.match[i];
            cf_place place = {match->bucket, match->tag, match->extension};
            cf_match_change(&made.filter, match, cf_tag_of(&made.filter, place, shortest),
                            match->payload + 10);
            spilled += match->slot >= CF_IN_LIST;
        }
        cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &after);
        assert_int_equal(after.n, before.n);
        for (unsigned payload = 0; payload < 3; payload++) {
            unsigned expected = 0;
            for (unsigned i = 0; i < before.n; i++)
                expected += before.match[i].payload == payload;
            assert_int_equal(count_of(&after, shortest, payload + 10), expected);
        }
        assert_list(&made.filter);
        assert_sound(&made.filter);
        free_filter(&made);
    }
    assert_true(spilled > 300);
}

/* Takes one out: what it said, once; then room is given to what is spilled. */
static void removing_takes_out_one(void **state)
{
    (void)state;
    for (int round = 0; round < 1000; round++) {
        test_filter made = half_way(any_shape(6));
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        cf_matches before, after;
        put_some(&made.filter, &pair);
        made.filter.items = 0; /* entries come and go here without being counted */
        cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &before);
        for (; before.n > 0; before = after) {
            cf_match gone = before.match[random_below(before.n)];
            uint64_t entries = made.filter.occupied + made.filter.spilled;
            cf_match_remove(&made.filter, &gone);
            cf_find_matches(&made.filter, &pair, CF_ANY_VALUE, &after);
            assert_int_equal(after.n, before.n - 1);
            assert_int_equal(made.filter.occupied + made.filter.spilled, entries - 1);
            assert_int_equal(count_of(&after, gone.length, gone.payload),
                             count_of(&before, gone.length, gone.payload) - 1);
            assert_list(&made.filter);
            assert_sound(&made.filter);
        }
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_longest_match_goes_first),
    cmocka_unit_test(deletes_take_the_longest_match),
    cmocka_unit_test(longer_entries_agree_with_a_shorter_one_and_do_not_match_it),
    cmocka_unit_test(values_are_told_apart),
    cmocka_unit_test(matches_stay_valid_while_others_are_changed),
    cmocka_unit_test(removing_takes_out_one),
};

RUN_TESTS(tests)
