/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/eviction.h"
#include "../../../src/table/address.h"
#include "../../../src/table/bucket.h"

/* Fills a filter until both buckets of some key are full; returns that key. */
static uint64_t fill_until_blocked(cf_filter *filter)
{
    for (;;) {
        uint64_t hash = random64();
        cf_pair pair = cf_pair_of(filter, hash);
        bool room = false;
        for (unsigned i = 0; i < pair.sides; i++)
            room |= cf_bucket_free_slot(filter, pair.place[i].bucket) >= 0;
        if (!room && cf_count(filter, hash) < filter->geometry.cap)
            return hash;
        if (cf_add(filter, hash) != CF_OK)
            return hash;
    }
}

static uint64_t occupied_slots(const cf_filter *filter)
{
    return cf_take_census(filter).occupied;
}

/* The path: every node but the roots hangs on an earlier one, by a slot whose alternate it is. */
static void check_search(const cf_filter *filter, const cf_pair *pair, const cf_search *search)
{
    for (unsigned i = 0; i < search->nodes; i++) {
        cf_node node = cf_search_node(filter, search, i);
        if (node.parent == CF_NO_PARENT) {
            assert_true(i < pair->sides && node.bucket == pair->place[i].bucket);
            continue;
        }
        assert_true(node.parent < i);
        uint64_t from = cf_search_node(filter, search, node.parent).bucket;
        cf_entry entry;
        assert_true(cf_entry_at(filter, from, node.slot, &entry));
        assert_true(can_move(filter, &entry) && other_bucket(filter, &entry) == node.bucket);
        for (unsigned k = 0; k < i; k++)
            assert_true(cf_search_node(filter, search, k).bucket != node.bucket);
    }
    assert_int_equal(cf_bucket_free_slot(filter, search->leaf.bucket), search->free_slot);
}

/* Makes room for a key whose buckets are full, if there is a path. */
static void check_making_room(cf_filter *filter, uint64_t hash)
{
    snapshot then = remember(filter);
    cf_pair pair = cf_pair_of(filter, hash);
    cf_search search;
    bool found =
        cf_eviction_search(filter, &pair, (cf_search_budget){CF_SEARCH_BUCKETS, CF_ANY_NUMBER}, &search);
    assert_unchanged(filter, &then);
    if (found) {
        uint64_t occupied = occupied_slots(filter), count = cf_count(filter, hash);
        cf_entry entry = {.side = cf_new_fingerprint(filter, &pair.side[0])};
        check_search(filter, &pair, &search);
        assert_true(cf_eviction_apply(filter, &pair, &search, &entry) >= 1);
        assert_int_equal(occupied_slots(filter), occupied + 1);
        assert_int_equal(cf_count(filter, hash), count + 1);
    }
    free(then.bytes);
}

static void search_changes_nothing_and_apply_adds_one(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (int round = 0; round < 20; round++) {
            test_filter made = new_filter(shape_of(200 + 2 * random_below(50), b, 16));
            check_making_room(&made.filter, fill_until_blocked(&made.filter));
            free_filter(&made);
        }
}

/* The same at a stage of growth, where buckets differ in what their numbers stand for. */
static void grown_tables_make_room_as_well(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 60; round++) {
            cf_geometry shape = growing_shape(6 + 2 * random_below(15), b, 16);
            unsigned level = (unsigned)random_below(4);
            uint64_t split = level == 0 ? 1 : random_below(shape.buckets << level);
            test_filter made = filter_at_stage(shape, level, split);
            check_making_room(&made.filter, fill_until_blocked(&made.filter));
            free_filter(&made);
        }
}

/* Fills all slots of a stage with entries that know nothing beyond their bucket. */
static void fill_with_voids(cf_filter *filter)
{
    uint64_t s = filter->geometry.pair_bits;
    for (uint64_t i = 0; i < filter->buckets; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            cf_slot_set(filter, i, slot, (uint64_t)1 << s | random_below((uint64_t)1 << s), 0);
}

/* A void entry never moves to a bucket with a longer extension, even when only there is room: the
** search does not find that way. */
static void void_entries_stay_before_longer_extensions(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        test_filter made =
            filter_at_stage(growing_shape(8, 4, 12), 1, 8); /* base buckets 0 to 3 are split */
        fill_with_voids(&made.filter);
        cf_entry entry;
        uint64_t bucket = random_below(made.filter.buckets);
        assert_true(cf_entry_at(&made.filter, bucket, 0, &entry));
        uint64_t other = other_bucket(&made.filter, &entry);
        bool longer = cf_home_of(&made.filter, other).bits > entry.side.length;
        assert_int_equal(can_move(&made.filter, &entry), !longer);
        cf_pair pair = {.sides = 1, .side = {entry.side}, .place = {{.bucket = bucket}}};
        cf_search search;
        for (unsigned slot = 0; slot < 4; slot++) /* all four are the same entry */
            cf_slot_set(&made.filter, bucket, slot, cf_slot_get(&made.filter, bucket, 0), 0);
        if (other != bucket) {
            cf_slot_set(&made.filter, other, 3, 0, 0);
            assert_int_equal(cf_eviction_search(&made.filter, &pair,
                                                (cf_search_budget){CF_SEARCH_BUCKETS, CF_ANY_NUMBER},
                                                &search),
                             !longer);
        }
        free_filter(&made);
    }
}

/* Keys stay findable through all the moves of a fill to the first failure. */
static void moved_entries_are_found(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        enum { MOST = 8 * 300 };
        uint64_t *hashes = malloc(MOST * sizeof *hashes), n = 0;
        test_filter made = new_filter(shape_of(298, b, 20));
        while (cf_add(&made.filter, hashes[n] = random64()) == CF_OK)
            n++;
        for (uint64_t i = 0; i < n; i++)
            assert_true(cf_contains(&made.filter, hashes[i]));
        assert_int_equal(made.filter.occupied, n);
        assert_sound(&made.filter);
        free_filter(&made);
        free(hashes);
    }
}

/* The path found is the shortest: with a free slot one step away, one entry is moved. */
static void path_is_the_shortest(void **state)
{
    test_filter made = new_filter(shape_of(100, 4, 16));
    (void)state;
    for (int round = 0; round < 200; round++) {
        cf_clear(&made.filter);
        for (uint64_t i = 0; i < 100; i++)
            for (unsigned slot = 0; slot < 4; slot++)
                cf_slot_set(&made.filter, i, slot, 1 + random_below(65535), 0);
        cf_pair pair = cf_pair_of(&made.filter, random64());
        cf_entry entry;
        assert_true(cf_entry_at(&made.filter, pair.place[0].bucket, (unsigned)random_below(4), &entry));
        uint64_t other = other_bucket(&made.filter, &entry);
        if (other == pair.place[0].bucket || other == pair.place[1].bucket)
            continue;
        cf_search search;
        cf_entry newcomer = {.side = cf_new_fingerprint(&made.filter, &pair.side[0])};
        cf_slot_set(&made.filter, other, 2, 0, 0);
        assert_true(cf_eviction_search(&made.filter, &pair,
                                       (cf_search_budget){CF_SEARCH_BUCKETS, CF_ANY_NUMBER}, &search));
        assert_int_equal(cf_eviction_apply(&made.filter, &pair, &search, &newcomer), 1);
    }
    free_filter(&made);
}

/* Fills all slots of a stage with entries that know all bits that slots have room for. */
static void fill_with_longest(cf_filter *filter)
{
    for (uint64_t i = 0; i < filter->buckets; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            uint64_t top = cf_form_of(filter, i)->slot_mask / 2 + 1;
            cf_slot_set(filter, i, slot, top | random_below(top), 0);
        }
}

/* In a grown table, too, room is found that is two steps away, behind either bucket of a key. Now and
** then a bucket on the way is taken for one that was seen (eviction.c), and the path is longer. */
static void paths_lead_from_both_buckets(void **state)
{
    unsigned longer = 0;
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        test_filter made = filter_at_stage(growing_shape(200, 4, 16), 1, random_below(400));
        fill_with_longest(&made.filter);
        cf_pair pair = cf_pair_of(&made.filter, random64());
        cf_search search;
        cf_entry first, second, newcomer = {.side = cf_new_fingerprint(&made.filter, &pair.side[0])};
        cf_search_budget budget = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER};
        assert_true(cf_entry_at(&made.filter, pair.place[round % 2].bucket, round / 2 % 4, &first));
        assert_true(
            cf_entry_at(&made.filter, other_bucket(&made.filter, &first), round / 8 % 4, &second));
        assert_false(cf_eviction_search(&made.filter, &pair, budget, &search));
        cf_slot_set(&made.filter, other_bucket(&made.filter, &second), 1, 0, 0);
        assert_true(cf_eviction_search(&made.filter, &pair, budget, &search));
        longer += cf_eviction_apply(&made.filter, &pair, &search, &newcomer) > 2;
        free_filter(&made);
    }
    assert_true(longer < 20);
}

/* Payloads go along with their entries. */
static void payloads_move_with_their_entries(void **state)
{
    enum { KEYS = 1100 }; /* 93 % of the slots */
    uint64_t hash[KEYS], value = 0;
    cf_geometry shape = shape_of(298, 4, 32);
    (void)state;
    shape.value_bits = 11;
    test_filter made = new_filter(shape);
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(cf_add_value(&made.filter, hash[i] = random64(), i), CF_OK);
    for (unsigned i = 0; i < KEYS; i++) {
        assert_true(cf_get(&made.filter, hash[i], &value));
        assert_int_equal(value, i);
    }
    free_filter(&made);
}

static void full_table_has_no_path(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2) {
        test_filter made = new_filter(shape_of(5000, b, 12));
        for (uint64_t i = 0; i < 5000; i++)
            for (unsigned slot = 0; slot < b; slot++)
                cf_slot_set(&made.filter, i, slot, 1 + random_below(4095), 0);
        cf_pair pair = cf_pair_of(&made.filter, random64());
        cf_search search;
        for (unsigned budget = 2; budget <= CF_SEARCH_BUCKETS; budget *= 2) {
            assert_false(cf_eviction_search(&made.filter, &pair,
                                            (cf_search_budget){budget, CF_ANY_NUMBER}, &search));
            assert_true(search.nodes <= budget);
        }
        free_filter(&made);
    }
}

/* ---- beside a plain search ---- */

enum { SEARCH_BUCKETS = 300 };

/* Breadth first from the buckets of a pair, which are full: the first bucket with an empty slot. */
static bool first_room(const cf_filter *filter, const cf_pair *pair, cf_node *leaf)
{
    uint64_t queue[SEARCH_BUCKETS];
    bool seen[SEARCH_BUCKETS] = {false};
    unsigned n = 0;
    cf_entry entry;
    for (; n < pair->sides; n++)
        seen[queue[n] = pair->place[n].bucket] = true;
    for (unsigned i = 0; i < n; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            assert_true(cf_entry_at(filter, queue[i], slot, &entry));
            uint64_t to = other_bucket(filter, &entry);
            if (!can_move(filter, &entry) || seen[to])
                continue;
            *leaf = (cf_node){to, (uint16_t)i, (uint8_t)slot};
            if (cf_bucket_free_slot(filter, to) >= 0)
                return true;
            seen[queue[n++] = to] = true;
        }
    return false;
}

/* Some stage, full of entries of all lengths, but for one slot. */
static test_filter full_but_one(unsigned b)
{
    cf_geometry shape = growing_shape(2 + 2 * random_below(8), b, 9 + (unsigned)random_below(20));
    unsigned level = (unsigned)random_below(4), s = shape.pair_bits;
    test_filter made = filter_at_stage(shape, level, random_below(shape.buckets << level));
    bool grown = made.filter.view.grown;
    for (uint64_t i = 0; i < made.filter.buckets; i++)
        for (unsigned slot = 0; slot < b; slot++) {
            unsigned known = s + (unsigned)random_below(cf_form_of(&made.filter, i)->lanes.width - s);
            uint64_t bits = 1 + random_below(slot_mask_of(&made.filter, i));
            bits = grown ? (bits & cf_low_bits(known)) | (uint64_t)1 << known : bits;
            cf_slot_set(&made.filter, i, slot, bits, 0);
        }
    cf_slot_set(&made.filter, random_below(made.filter.buckets), (unsigned)random_below(b), 0, 0);
    return made;
}

/* What an earlier call may leave on the stack says nothing. */
static void leave_ones_on_the_stack(void)
{
    volatile unsigned char ones[1 << 14];
    for (unsigned i = 0; i < sizeof ones; i++)
        ones[i] = 255;
}

/* Whether all of the table is in memory, or how much may be examined, does not matter. */
static void paths_are_those_of_a_plain_search(void **state)
{
    unsigned far = 0, none = 0;
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        test_filter made = full_but_one(2u << round % 3);
        cf_pair pair = cf_pair_of(&made.filter, random64());
        bool room = false;
        for (unsigned i = 0; i < pair.sides; i++)
            room |= cf_bucket_free_slot(&made.filter, pair.place[i].bucket) >= 0;
        for (unsigned less = 0; less < 2 && !room; less++) {
            cf_search_budget budget = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER - less};
            cf_search search;
            cf_node leaf = {0, 0, 0};
            bool found = first_room(&made.filter, &pair, &leaf);
            leave_ones_on_the_stack();
            assert_int_equal(cf_eviction_search(&made.filter, &pair, budget, &search), found);
            assert_true(!found || (search.leaf.bucket == leaf.bucket &&
                                   search.leaf.parent == leaf.parent && search.leaf.slot == leaf.slot));
            far += found && leaf.parent >= 64;
            none += !found;
        }
        free_filter(&made);
    }
    assert_true(far > 20 && none > 5);
}

/* A small budget finds what is near, a larger one no longer path when there is a short one. */
static void budgets_find_paths_in_order(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        test_filter made = new_filter(shape_of(400, 4, 16));
        cf_pair pair = cf_pair_of(&made.filter, fill_until_blocked(&made.filter));
        cf_search small, large;
        for (unsigned budget = 2; budget < CF_SEARCH_BUCKETS; budget *= 2) {
            bool found = cf_eviction_search(&made.filter, &pair,
                                            (cf_search_budget){budget, CF_ANY_NUMBER}, &small);
            bool later = cf_eviction_search(&made.filter, &pair,
                                            (cf_search_budget){2 * budget, CF_ANY_NUMBER}, &large);
            assert_true(later || !found);
            if (found)
                assert_true(small.leaf.bucket == large.leaf.bucket &&
                            small.leaf.slot == large.leaf.slot);
        }
        free_filter(&made);
    }
}

/* Adds keys until one is refused. */
static double load_at_refusal(cf_geometry shape)
{
    test_filter made = new_filter(shape);
    while (cf_add(&made.filter, random64()) == CF_OK)
        ;
    double load = (double)occupied_slots(&made.filter) / (double)(shape.buckets * shape.bucket_size);
    free_filter(&made);
    return load;
}

/* One slot in a bucket: standard cuckoo hashing, whose threshold is a load of 1/2. */
static void one_slot_in_a_bucket_fills_to_half(void **state)
{
    (void)state;
    double least = 1;
    for (int round = 0; round < 5; round++) {
        double load = load_at_refusal(shape_of(1 << 18, 1, 16));
        least = load < least ? load : least;
    }
    assert_true(least > 0.46);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(search_changes_nothing_and_apply_adds_one),
    cmocka_unit_test(grown_tables_make_room_as_well),
    cmocka_unit_test(void_entries_stay_before_longer_extensions),
    cmocka_unit_test(moved_entries_are_found),
    cmocka_unit_test(path_is_the_shortest),
    cmocka_unit_test(paths_lead_from_both_buckets),
    cmocka_unit_test(payloads_move_with_their_entries),
    cmocka_unit_test(full_table_has_no_path),
    cmocka_unit_test(paths_are_those_of_a_plain_search),
    cmocka_unit_test(budgets_find_paths_in_order),
    cmocka_unit_test(one_slot_in_a_bucket_fills_to_half),
};

RUN_TESTS(tests)
