#include "test.h"

#include "../src/address.h"
#include "../src/bucket.h"
#include "../src/eviction.h"

/* Fills a filter until both buckets of some key are full; returns that key. */
static uint64_t fill_until_blocked(cf_filter *filter)
{
    for (;;) {
        uint64_t hash = random64();
        cf_pair pair = cf_pair_of(filter, hash);
        bool room = false;
        for (unsigned i = 0; i < pair.sides; i++)
            room |= cf_bucket_free_slot(filter, pair.side[i].bucket) >= 0;
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
        cf_node node = search->node[i];
        if (node.parent == CF_NO_PARENT) {
            assert_true(i < pair->sides && node.bucket == pair->side[i].bucket);
            continue;
        }
        assert_true(node.parent < i);
        uint64_t from = search->node[node.parent].bucket;
        cf_side entry = {from, cf_slot_get(filter, from, node.slot)};
        assert_true(cf_alternate(filter, entry).bucket == node.bucket);
        for (unsigned k = 0; k < i; k++)
            assert_true(search->node[k].bucket != node.bucket);
    }
    assert_int_equal(cf_bucket_free_slot(filter, search->leaf.bucket), search->free_slot);
}

static void search_changes_nothing_and_apply_adds_one(void **state)
{
    (void)state;
    for (unsigned b = 1; b <= 8; b *= 2)
        for (int round = 0; round < 20; round++) {
            test_filter made = new_filter(shape_of(200 + random_below(100), b, 16));
            uint8_t *before = malloc(made.filter.length);
            uint64_t hash = fill_until_blocked(&made.filter);
            cf_pair pair = cf_pair_of(&made.filter, hash);
            cf_search search;
            memcpy(before, made.bytes, made.filter.length);
            bool found = cf_eviction_search(&made.filter, &pair, &search);
            assert_memory_equal(before, made.bytes, made.filter.length);
            if (found) {
                uint64_t occupied = occupied_slots(&made.filter);
                unsigned count = cf_count(&made.filter, hash);
                check_search(&made.filter, &pair, &search);
                assert_true(cf_eviction_apply(&made.filter, &pair, &search) >= 1);
                assert_int_equal(occupied_slots(&made.filter), occupied + 1);
                assert_int_equal(cf_count(&made.filter, hash), count + 1);
            }
            free(before);
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
        test_filter made = new_filter(shape_of(297, b, 20));
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
                cf_slot_set(&made.filter, i, slot, 1 + random_below(65535));
        cf_pair pair = cf_pair_of(&made.filter, random64());
        unsigned slot = (unsigned)random_below(4);
        cf_side entry = {pair.side[0].bucket, cf_slot_get(&made.filter, pair.side[0].bucket, slot)};
        cf_side to = cf_alternate(&made.filter, entry);
        if (to.bucket == pair.side[0].bucket || to.bucket == pair.side[1].bucket)
            continue;
        cf_search search;
        cf_slot_set(&made.filter, to.bucket, 2, 0);
        assert_true(cf_eviction_search(&made.filter, &pair, &search));
        assert_int_equal(cf_eviction_apply(&made.filter, &pair, &search), 1);
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
                cf_slot_set(&made.filter, i, slot, 1 + random_below(4095));
        cf_pair pair = cf_pair_of(&made.filter, random64());
        cf_search search;
        assert_false(cf_eviction_search(&made.filter, &pair, &search));
        assert_true(search.nodes <= CF_SEARCH_BUCKETS);
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(search_changes_nothing_and_apply_adds_one),
    cmocka_unit_test(moved_entries_are_found),
    cmocka_unit_test(path_is_the_shortest),
    cmocka_unit_test(full_table_has_no_path),
};

RUN_TESTS(tests)
