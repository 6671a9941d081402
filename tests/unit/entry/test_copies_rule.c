/* SPDX-License-Identifier: MIT */
/* The rule of copies.h, beside a slow model of it: which entries stay, which go, which one is
** marked. */
#include "../spill_model.h"

#include "../../../src/entry/copies.h"

/* ---- entries of one key ---- */

/* In the middle of level 1: of most pairs that are asked for one bucket is split. */
static test_filter half_way(unsigned value_bits, unsigned counter_bits)
{
    cf_geometry shape = growing_shape(50, 2u << random_below(3), 16);
    shape.value_bits = (uint8_t)value_bits;
    shape.counter_bits = (uint8_t)counter_bits;
    shape.semisorted = shape.bucket_size == 4 && random_below(2);
    shape.cap = (uint8_t)(1 + random_below(2u * shape.bucket_size));
    return filter_at_stage(random_below(2) ? spilling(shape, 0, 20) : shape, 1, 50);
}

/* Puts an entry of this length into place `i` of a pair, or into the list. */
static void put(cf_filter *filter, const cf_pair *pair, unsigned i, unsigned length, uint64_t payload)
{
    cf_pair turned = {{pair->side[i]}, {pair->place[i]}, 1};
    int slot = cf_bucket_free_slot(filter, pair->place[i].bucket);
    if (slot < 0) {
        spill_one(filter, &turned, length, payload);
        return;
    }
    cf_slot_set(filter, pair->place[i].bucket, (unsigned)slot, cf_tag_of(filter, pair->place[i], length),
                payload);
    filter->occupied++;
}

static void put_some(cf_filter *filter, const cf_pair *pair)
{
    uint64_t values = cf_low_bits(filter->geometry.value_bits) & 1;
    for (uint64_t n = random_below(2u * filter->geometry.bucket_size + 3); n > 0; n--) {
        unsigned i = (unsigned)random_below(2), least = pair->place[i].extension;
        uint64_t count = random_below(8) ? random_below(7) : 7; /* a full one is a mark */
        uint64_t mark = random_below(5) ? 0 : filter->view.sticky_bit;
        put(filter, pair, i, least + (unsigned)random_below(5),
            filter->geometry.counter_bits == 3 ? count : (random64() & values) | mark);
    }
}

/* The key as an entry of another filter may know it. */
static cf_pair cut_pair(const cf_filter *filter, const cf_pair *pair, unsigned length)
{
    cf_side cut = pair->side[0];
    cut.length = length;
    cut.bits &= cf_low_bits(filter->geometry.pair_bits + length);
    return cf_pair_from(filter, cut);
}

/* ---- the model ---- */

static unsigned weight_of(const cf_filter *filter, const cf_entry *entry)
{
    return entry->sticky ? filter->geometry.cap : !filter->geometry.counter_bits;
}

static unsigned weight_of_all(const cf_filter *filter, const cf_matches *found)
{
    unsigned weight = 0;
    for (unsigned i = 0; i < found->n; i++)
        weight += weight_of(filter, &found->entry[i]);
    return weight;
}

/* Takes entry `gone` out of a set. */
static void drop(cf_matches *all, const cf_entry *gone)
{
    unsigned i = 0;
    while (all->entry[i].bucket != gone->bucket || all->entry[i].slot != gone->slot)
        i++;
    all->entry[i] = all->entry[--all->n];
}

/* What is there after an add of the item with these matches; false: it needs an entry of its
** own. */
static bool model_absorbs(const cf_filter *filter, const cf_matches *found, const cf_entry *item,
                          cf_matches *all)
{
    unsigned cap = filter->geometry.cap, chosen = weight_of(filter, item), n = 0;
    if (found->n == 0 || weight_of_all(filter, found) + chosen < cap)
        return false;
    while (n == 0 || chosen < cap)
        chosen += weight_of(filter, &found->entry[n++]);
    cf_entry stays = found->entry[n - 1];
    for (unsigned i = 0; i < n; i++) {
        if (found->entry[i].side.length < stays.side.length)
            stays = found->entry[i];
        drop(all, &found->entry[i]);
    }
    if (item->side.length < stays.side.length)
        stays.side.length = item->side.length;
    stays.sticky = true;
    all->entry[all->n++] = stays;
    return true;
}

static unsigned count_like(const cf_matches *all, const cf_entry *like)
{
    unsigned n = 0;
    for (unsigned i = 0; i < all->n; i++)
        n += all->entry[i].side.length == like->side.length && all->entry[i].sticky == like->sticky &&
             all->entry[i].payload == like->payload && all->entry[i].bucket == like->bucket;
    return n;
}

/* Spilled entries move to slots that become empty: so the bucket may be another one of the pair. */
static void assert_same_entries(const cf_filter *filter, const cf_pair *pair, cf_matches *expected)
{
    cf_matches now;
    cf_find_matches(filter, pair, CF_ANY_VALUE, &now);
    assert_int_equal(now.n, expected->n);
    for (unsigned i = 0; filter->geometry.spill_bound && i < now.n; i++)
        now.entry[i].bucket = expected->entry[i].bucket = 0;
    for (unsigned i = 0; i < now.n; i++)
        assert_int_equal(count_like(&now, &now.entry[i]), count_like(expected, &now.entry[i]));
}

/* ---- adds ---- */

static unsigned absorbed, cut, in_list;

static void check_add(cf_filter *filter, const cf_pair *whole, unsigned length)
{
    cf_matches all, found;
    cf_pair pair = length == CF_WHOLE ? *whole : cut_pair(filter, whole, length);
    cf_entry item = {.side = pair.side[0], .sticky = length != CF_WHOLE && random_below(3) == 0};
    item.payload = random64() & cf_low_bits(filter->geometry.value_bits) & 1;
    cf_find_matches(filter, whole, CF_ANY_VALUE, &all);
    cf_find_matches(filter, &pair, item.payload, &found);
    bool expected = model_absorbs(filter, &found, &item, &all);
    if (!expected && length != CF_WHOLE) {
        cf_find_agreeing(filter, &pair, item.payload, &found);
        expected = model_absorbs(filter, &found, &item, &all);
        cut += expected;
    }
    snapshot then = remember(filter);
    in_list += filter->spilled > 0;
    assert_int_equal(cf_copies_add(filter, &pair, &item), expected);
    absorbed += expected;
    if (!expected)
        assert_unchanged(filter, &then);
    assert_same_entries(filter, whole, &all);
    assert_list(filter);
    free(then.bytes);
}

static void adds_follow_the_rule(void **state)
{
    (void)state;
    absorbed = cut = in_list = 0;
    for (int round = 0; round < 5000; round++) {
        test_filter made = half_way(random_below(2) ? 0 : 5, 0);
        cf_pair whole = cf_pair_of(&made.filter, half_split_key(&made.filter));
        put_some(&made.filter, &whole);
        for (int i = 0; i < 4; i++) {
            unsigned least = whole.place[1].extension; /* the shorter one of the two */
            check_add(&made.filter, &whole, i % 2 ? CF_WHOLE : least + (unsigned)random_below(6));
        }
        free_filter(&made);
    }
    assert_true(absorbed > 3000 && cut > 500 && in_list > 1000);
}

/* ---- deletes ---- */

/* One copy less of the longest match; with counters the last one takes it out. */
static void model_takes_one_off(const cf_filter *filter, cf_matches *all, const cf_entry *longest)
{
    cf_entry fewer = *longest;
    drop(all, longest);
    if (filter->geometry.counter_bits && fewer.payload-- > 0)
        all->entry[all->n++] = fewer;
}

static void check_delete(cf_filter *filter, const cf_pair *pair, unsigned *removed)
{
    cf_matches all, found;
    uint64_t value = random64() & cf_low_bits(filter->geometry.value_bits) & 1;
    cf_find_matches(filter, pair, CF_ANY_VALUE, &all);
    cf_find_matches(filter, pair, value, &found);
    bool sticky = weight_of_all(filter, &found) >= filter->geometry.cap;
    cf_deleted expected = found.n == 0 ? CF_ABSENT : sticky ? CF_STICKY : CF_REMOVED;
    if (expected == CF_REMOVED)
        model_takes_one_off(filter, &all, &found.entry[0]);
    *removed += expected == CF_REMOVED;
    assert_int_equal(cf_copies_remove(filter, pair, value), expected);
    assert_same_entries(filter, pair, &all);
    assert_list(filter);
}

static void deletes_take_the_longest_or_nothing(void **state)
{
    unsigned removed = 0;
    (void)state;
    for (int round = 0; round < 4000; round++) {
        unsigned kind = (unsigned)random_below(3);
        test_filter made = half_way(kind == 1 ? 5 : 0, kind == 2 ? 3 : 0);
        cf_pair pair = cf_pair_of(&made.filter, half_split_key(&made.filter));
        put_some(&made.filter, &pair);
        for (int i = 0; i < 5; i++)
            check_delete(&made.filter, &pair, &removed);
        free_filter(&made);
    }
    assert_true(removed > 2000);
}

/* ---- traps ---- */

/* A key that agrees with `hash` in so many remainder bits, as seen from side `i`, and not in the
** next. */
static uint64_t parting_key(const cf_filter *filter, uint64_t hash, unsigned bits)
{
    return hash ^ (uint64_t)1 << (filter->geometry.pair_bits + bits);
}

/* cap is 3, base bucket split, the other one not: two entries with equally many bits in their
** slots. The one in the bucket of the shorter extension knows less, so it stays: the key that owns
** it does not match the other one. */
static void the_shortest_is_so_by_all_that_it_knows(void **state)
{
    (void)state;
    for (unsigned slot_bits = 0; slot_bits < 4; slot_bits++) {
        test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 50);
        uint64_t hash = half_split_key(&made.filter);
        cf_pair pair = cf_pair_of(&made.filter, hash);
        unsigned shorter = pair.place[1].extension + slot_bits;
        uint64_t owner = parting_key(&made.filter, hash, shorter);
        put(&made.filter, &pair, 0, pair.place[0].extension + slot_bits, 0);
        put(&made.filter, &pair, 1, shorter, 0);
        made.filter.items = 2;
        assert_int_equal(cf_count(&made.filter, owner), 1);
        assert_int_equal(cf_add(&made.filter, hash), CF_OK);
        assert_int_equal(made.filter.occupied, 1);
        assert_true(cf_contains(&made.filter, hash));
        assert_int_equal(cf_delete(&made.filter, owner), CF_STICKY);
        assert_int_equal(cf_delete(&made.filter, hash), CF_STICKY);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* An item of a merge knows less than the entries that agree with it: what stays forgets what the
** item does not know, for the item's owner need not have these bits. */
static void what_stays_knows_no_more_than_the_item(void **state)
{
    (void)state;
    for (unsigned sticky = 0; sticky < 2; sticky++) {
        test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 50);
        uint64_t hash = half_split_key(&made.filter), owner = parting_key(&made.filter, hash, 4);
        cf_pair pair = cf_pair_of(&made.filter, hash), item_pair = cut_pair(&made.filter, &pair, 4);
        cf_entry item = {.side = item_pair.side[0], .sticky = sticky};
        put(&made.filter, &pair, 0, 7, 0);
        put(&made.filter, &pair, 1, 6, 0);
        made.filter.items = 2;
        assert_false(cf_contains(&made.filter, owner));
        assert_true(cf_copies_add(&made.filter, &item_pair, &item));
        assert_int_equal(cf_delete(&made.filter, owner), CF_STICKY);
        /* a sticky item weighs enough with one of them: the other one stays as it is */
        assert_int_equal(made.filter.occupied, sticky ? 2 : 1);
        free_filter(&made);
    }
}

/* It is not cut below the extension of the bucket it lies in: such an entry is none of the item's
** places. */
static void entries_of_places_that_the_item_does_not_know_are_left(void **state)
{
    test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 50);
    uint64_t hash = half_split_key(&made.filter);
    cf_pair pair = cf_pair_of(&made.filter, hash);
    cf_pair item_pair = cut_pair(&made.filter, &pair, pair.place[1].extension);
    cf_entry item = {.side = item_pair.side[0], .sticky = true};
    (void)state;
    put(&made.filter, &pair, 0, 5, 0);
    put(&made.filter, &pair, 0, 5, 0);
    assert_int_equal(item_pair.sides, 1);
    snapshot then = remember(&made.filter);
    assert_false(cf_copies_add(&made.filter, &item_pair, &item));
    assert_unchanged(&made.filter, &then);
    free(then.bytes);
    free_filter(&made);
}

/* A void entry that is split becomes two with mark or count, in slots and in the list. */
static void both_children_are_marked(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 12; kind++) {
        cf_geometry shape = spilling(growing_shape(50, 4, 16), 0, 20);
        shape.semisorted = kind & 1;
        shape.counter_bits = kind & 2 ? 3 : 0;
        test_filter made = filter_at_stage(shape, 1, 0);
        made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        uint64_t hash = random64(), mark = shape.counter_bits ? 7 : made.filter.view.sticky_bit;
        cf_pair pair = cf_pair_of(&made.filter, hash);
        for (unsigned i = 0; i < (kind >= 8 ? 5 : 1); i++)
            put(&made.filter, &pair, 0, 1, i + 1 == (kind >= 8 ? 5 : 1) ? mark : 0);
        made.filter.items = 20;
        assert_int_equal(made.filter.spilled, kind >= 8);
        assert_int_equal(cf_grow_to(&made.filter, 450), CF_OK);
        for (uint64_t bits = 0; bits < 4; bits++) {
            uint64_t owner = hash ^ bits << (shape.pair_bits + 1);
            assert_int_equal(cf_delete(&made.filter, owner), CF_STICKY);
        }
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* Lines of the list of which no key matches more than one or two would all match a key, if they forgot
** what an item does not know. Eight of them may. */
static void not_too_many_lines_forget(void **state)
{
    enum { SHORT = 2, LONGER = 6 };
    (void)state;
    for (unsigned lines = 1; lines <= CF_SPILL_COPIES + 2; lines++) {
        cf_geometry shape = spilling(growing_shape(50, 4, 16), 0, 20);
        shape.cap = 1;
        test_filter made = filter_at_stage(shape, 1, 0);
        uint64_t hash = random64();
        cf_pair pair = cf_pair_of(&made.filter, hash), item_pair = cut_pair(&made.filter, &pair, SHORT);
        cf_entry item = {.side = item_pair.side[0]};
        for (uint64_t i = 0; i < lines; i++) {
            cf_pair its = cf_pair_of(&made.filter, hash ^ i << (shape.pair_bits + SHORT));
            assert_true(spill_one(&made.filter, &its, LONGER, 0));
        }
        snapshot then = remember(&made.filter);
        assert_int_equal(cf_copies_add(&made.filter, &item_pair, &item), lines <= CF_SPILL_COPIES);
        if (lines > CF_SPILL_COPIES)
            assert_unchanged(&made.filter, &then);
        free(then.bytes);
        free_filter(&made);
    }
}

/* The owner of an item that was counted on a longer entry would not be found: that one is cut, or
** left alone. */
static void copies_are_not_counted_on_longer_entries(void **state)
{
    (void)state;
    for (unsigned entries = 1; entries <= 5; entries++) {
        cf_geometry shape = growing_shape(50, 4, 16);
        shape.counter_bits = 6;
        test_filter made = filter_at_stage(shape, 1, 50);
        uint64_t hash = half_split_key(&made.filter), owner = parting_key(&made.filter, hash, 4);
        cf_pair pair = cf_pair_of(&made.filter, hash), item_pair = cut_pair(&made.filter, &pair, 4);
        cf_entry item = {.side = item_pair.side[0], .payload = 9};
        for (unsigned i = 0; i < entries; i++)
            put(&made.filter, &pair, 0, 7, 1);
        uint64_t before = cf_count(&made.filter, hash);
        assert_int_equal(cf_copies_add(&made.filter, &item_pair, &item), entries >= shape.cap);
        assert_true(entries < shape.cap || cf_count(&made.filter, owner) >= 10);
        assert_int_equal(cf_count(&made.filter, hash), before + (entries < shape.cap ? 0 : 10));
        free_filter(&made);
    }
}

/* With counters a sticky key is one at its maximum, of 2 copies with one bit; the sum of two
** saturates there. */
static void full_counters_are_marks(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= 5; bits++)
        for (uint64_t there = 1; there < 1u << bits; there++)
            for (uint64_t more = 1; more <= 1u << bits; more++) {
                test_filter made = half_way(0, bits);
                uint64_t hash = half_split_key(&made.filter), most = (uint64_t)1 << bits;
                cf_pair pair = cf_pair_of(&made.filter, hash);
                cf_entry item = {.side = pair.side[0], .payload = more - 1, .sticky = more == most};
                put(&made.filter, &pair, 0, made.filter.view.new_length, there - 1);
                made.filter.items = there + more;
                assert_true(cf_copies_add(&made.filter, &pair, &item));
                assert_int_equal(cf_count(&made.filter, hash),
                                 there + more < most ? there + more : most);
                assert_int_equal(cf_delete(&made.filter, hash),
                                 there + more < most ? CF_REMOVED : CF_STICKY);
                assert_int_equal(made.filter.occupied, 1);
                free_filter(&made);
            }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(adds_follow_the_rule),
    cmocka_unit_test(deletes_take_the_longest_or_nothing),
    cmocka_unit_test(the_shortest_is_so_by_all_that_it_knows),
    cmocka_unit_test(what_stays_knows_no_more_than_the_item),
    cmocka_unit_test(entries_of_places_that_the_item_does_not_know_are_left),
    cmocka_unit_test(both_children_are_marked),
    cmocka_unit_test(not_too_many_lines_forget),
    cmocka_unit_test(copies_are_not_counted_on_longer_entries),
    cmocka_unit_test(full_counters_are_marks),
};

RUN_TESTS(tests)
