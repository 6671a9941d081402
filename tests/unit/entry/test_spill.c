/* SPDX-License-Identifier: MIT */
/* The spill list of filters that do not grow: answers, bits, bounds. */
#include "../spill_model.h"

#include "../../../src/entry/eviction.h"

static spill_model model;

static const unsigned bucket_sizes[] = {1, 2, 4, 8};
static const unsigned budgets[] = {0, 1, 5, 10};
static const unsigned bounds[] = {1, 3, 8, 40};

/* ---- answers ---- */

static void live(unsigned operations)
{
    const cf_filter *filter = &model.made.filter;
    unsigned adds = 70;
    for (unsigned i = 0; i < operations; i++) {
        uint64_t hash = any_model_hash(filter), value = random_below(model.values);
        if (i % 50 == 49)
            adds = 20 + (unsigned)random_below(70);
        if (random_below(100) < adds)
            model_add(&model, hash, value);
        else
            model_delete(&model, hash, value);
        if (i % 40 == 0)
            assert_all_answers(&model);
    }
    assert_all_answers(&model);
}

/* Adds and deletes of everything there can be: wherever an entry lies, the answers are those of the
** model, and no other key is found for it. Overflow bits are never more, nor fewer, than the
** entries name. */
static void lists_do_not_change_the_answers(void **state)
{
    uint64_t spilled = 0, both_bits = 0;
    (void)state;
    for (unsigned b = 0; b < 4; b++)
        for (unsigned k = 0; k < 4; k++)
            for (unsigned n = 0; n < 4; n++) {
                new_model(&model, model_shape(bucket_sizes[b], budgets[k], bounds[n]));
                live(400);
                spilled += model.spilled;
                both_bits += model.both_bits;
                free_model(&model);
            }
    assert_true(spilled > 10000 && both_bits > 1000);
}

/* Deletes take all out again: then no bit is left, wherever it was. */
static void deleting_all_leaves_the_filter_as_new(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 4; b++)
        for (unsigned n = 0; n < 4; n++) {
            cf_geometry shape = model_shape(bucket_sizes[b], 0, bounds[n]);
            test_filter made = new_filter(shape), fresh = new_filter(shape);
            uint64_t hash[8 * MODEL_BUCKETS + 40], keys = 0;
            unsigned tries = 0;
            for (; made.filter.spilled < shape.spill_bound && tries < 1000; tries++) {
                hash[keys] = any_model_hash(&made.filter);
                if (!cf_contains(&made.filter, hash[keys]))
                    keys += cf_add(&made.filter, hash[keys]) == CF_OK;
            }
            while (keys > 0)
                assert_int_equal(cf_delete(&made.filter, hash[--keys]),
                                 shape.cap == 1 && !shape.counter_bits ? CF_STICKY : CF_REMOVED);
            snapshot then = remember(&fresh.filter);
            if (shape.cap > 1 || shape.counter_bits)
                assert_unchanged(&made.filter, &then);
            free(then.bytes);
            free_filter(&made);
            free_filter(&fresh);
        }
}

/* Opened anew in the midst of its life, it goes on as it was; cleared, it is as new. */
static void lists_survive_reopening_and_not_clearing(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 4; b++)
        for (unsigned k = 0; k < 4; k++) {
            const char *why = "";
            cf_filter *filter = &model.made.filter;
            new_model(&model, model_shape(bucket_sizes[b], budgets[k], 20));
            model_spill(&model, 5);
            cf_seal(filter);
            snapshot then = remember(filter);
            assert_int_equal(cf_open_writable(filter, model.made.bytes, filter->length, &why), CF_OK);
            assert_unchanged(filter, &then);
            live(100);
            cf_clear(filter);
            memset(model.copies, 0, sizeof model.copies);
            assert_int_equal(filter->spilled, 0);
            assert_all_answers(&model);
            assert_sound(filter);
            live(100);
            free(then.bytes);
            free_model(&model);
        }
}

/* ---- the bound ---- */

/* Keys until the first is refused. */
static unsigned fill(cf_filter *filter, uint64_t seed)
{
    unsigned keys = 0;
    while (cf_add(filter, cf_hash(&(cf_geometry){.seed = (int64_t)seed}, &keys, sizeof keys)) == CF_OK) {
        keys++;
        assert_true(filter->spilled <= filter->geometry.spill_bound);
    }
    return keys;
}

/* A full list means ordinary search: the table fills as one without a list. */
static void full_lists_mean_ordinary_search(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bound = 1; bound <= 100; bound *= 10) {
            cf_geometry shape = shape_of(1000, b, 16);
            uint64_t seed = random64();
            test_filter plain = new_filter(shape), made = new_filter(spilling(shape, 0, bound));
            unsigned most = fill(&plain.filter, seed), keys = fill(&made.filter, seed);
            assert_int_equal(made.filter.spilled, bound);
            assert_int_equal(made.filter.occupied + bound, keys);
            unsigned slack = most / (b == 2 ? 12 : 25);
            assert_true(keys > most - slack && keys < most + slack + bound);
            assert_sound(&made.filter);
            assert_list(&made.filter);
            free_filter(&plain);
            free_filter(&made);
        }
}

/* Keys of one fingerprint are not spilled without end: a lookup looks at few. */
static void few_copies_of_one_key_are_spilled(void **state)
{
    cf_geometry shape = spilling(shape_of(2, 2, 12), 0, 100);
    (void)state;
    shape.value_bits = 8;
    test_filter made = new_filter(shape);
    unsigned value = 0;
    while (cf_add_value(&made.filter, 12345, value) == CF_OK)
        value++;
    assert_int_equal(value, 4 + CF_SPILL_COPIES);
    assert_int_equal(cf_count(&made.filter, 12345), value);
    while (value-- > 0)
        assert_int_equal(cf_delete_value(&made.filter, 12345, value), CF_REMOVED);
    assert_true(made.filter.spilled == 0 && made.filter.occupied == 0);
    free_filter(&made);
}

/* ---- the budget ---- */

/* Breadth first, written down: the buckets in the order in which they are looked at, each once; how
** many until one has an empty slot, or 0. */
static unsigned looks_until_free(const cf_filter *filter, const cf_pair *pair, unsigned most)
{
    uint64_t seen[200];
    unsigned n = 0, roots = pair->sides;
    for (; n < roots; n++)
        seen[n] = pair->place[n].bucket;
    for (unsigned at = 0; at < n; at++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            cf_entry entry;
            bool known = !cf_entry_at(filter, seen[at], slot, &entry);
            for (unsigned i = 0; i < n && !known; i++)
                known = seen[i] == other_bucket(filter, &entry);
            if (known)
                continue;
            if (n - roots == most)
                return 0;
            seen[n++] = other_bucket(filter, &entry);
            if (cf_bucket_free_slot(filter, seen[n - 1]) >= 0)
                return n - roots;
        }
    return 0;
}

/* A key whose buckets are both full, in a nearly full table. */
static uint64_t blocked_key(cf_filter *filter)
{
    for (;;) {
        uint64_t hash = random64();
        cf_pair pair = cf_pair_of(filter, hash);
        bool full = true;
        for (unsigned i = 0; i < pair.sides; i++)
            full &= cf_bucket_free_slot(filter, pair.place[i].bucket) < 0;
        if (full)
            return hash;
        cf_add(filter, hash);
    }
}

static test_filter nearly_full(cf_geometry shape)
{
    test_filter made = new_filter(shape);
    uint64_t slots = shape.buckets * shape.bucket_size;
    while (made.filter.occupied * 100 < slots * 92)
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
    return made;
}

/* With a budget of n, paths that n buckets show are found, and no others. */
static void searches_look_at_no_more_than_the_budget(void **state)
{
    unsigned found = 0;
    (void)state;
    for (int round = 0; round < 60; round++) {
        cf_geometry shape = shape_of(200, 4, 16);
        test_filter made = nearly_full(round % 2 ? semisorted(shape) : shape);
        cf_pair pair = cf_pair_of(&made.filter, blocked_key(&made.filter));
        unsigned needed = looks_until_free(&made.filter, &pair, 100);
        for (unsigned n = 0; n <= 100; n += n < 20 ? 1 : 20) {
            cf_search search;
            cf_search_budget budget = {CF_SEARCH_BUCKETS, n};
            bool there = cf_eviction_search(&made.filter, &pair, budget, &search);
            assert_int_equal(there, needed > 0 && n >= needed);
            if (there)
                assert_int_equal(n - search.left.examined, needed);
            found += there;
        }
        free_filter(&made);
    }
    assert_true(found > 200);
}

static unsigned changed_buckets(const cf_filter *now, const snapshot *then)
{
    cf_filter before = then->filter;
    unsigned changed = 0;
    cf_rebase(&before, then->bytes, NULL);
    for (uint64_t bucket = 0; bucket < now->buckets; bucket++) {
        cf_record a = {{0}, {0}}, b = {{0}, {0}};
        cf_record_read(now, bucket, &a);
        cf_record_read(&before, bucket, &b);
        changed += memcmp(&a, &b, sizeof a) != 0;
    }
    return changed;
}

/* An insertion writes to no more buckets than it looks at, and one of the key; one that spills
** writes no slot. */
static void insertions_write_no_more_than_the_budget(void **state)
{
    unsigned moved = 0, spilled = 0;
    (void)state;
    for (unsigned k = 0; k < 4; k++)
        for (int round = 0; round < 40; round++) {
            cf_geometry shape = spilling(shape_of(100, 4, 16), budgets[k], 200);
            test_filter made = nearly_full(round % 2 ? semisorted(shape) : shape);
            uint64_t hash = blocked_key(&made.filter);
            unsigned before = made.filter.spilled;
            cf_pair pair = cf_pair_of(&made.filter, hash);
            unsigned needed = looks_until_free(&made.filter, &pair, budgets[k]);
            snapshot then = remember(&made.filter);
            assert_int_equal(cf_add(&made.filter, hash), CF_OK);
            assert_int_equal(made.filter.spilled, before + (needed == 0));
            unsigned changed = changed_buckets(&made.filter, &then);
            assert_true(needed == 0 ? changed == 0 : changed >= 2 && changed <= needed + 1);
            moved += needed > 0;
            spilled += needed == 0;
            free(then.bytes);
            free_filter(&made);
        }
    assert_true(moved > 20 && spilled > 40);
}

/* ---- room that appears ---- */

/* After many adds the list is emptied as far as an ordinary search can. */
static void settling_empties_the_list(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        cf_geometry shape = spilling(shape_of(500, b, 16), 0, 400);
        test_filter made = new_filter(shape);
        uint64_t hash[8 * 500];
        unsigned keys = 0;
        for (; keys < 500 * b * (b == 2 ? 80 : 90) / 100; keys++)
            assert_int_equal(cf_add(&made.filter, hash[keys] = random64()), CF_OK);
        assert_true(made.filter.spilled > 20);
        cf_settle(&made.filter);
        assert_int_equal(made.filter.spilled, 0);
        assert_int_equal(made.filter.occupied, keys);
        assert_list(&made.filter);
        assert_sound(&made.filter);
        while (keys-- > 0)
            assert_true(cf_contains(&made.filter, hash[keys]));
        free_filter(&made);
    }
}

/* Each delete settles one entry more, so that a list gets empty as keys come and go. */
static void deletes_empty_the_list(void **state)
{
    test_filter made = new_filter(spilling(shape_of(500, 4, 16), 0, 400));
    uint64_t hash[1850];
    (void)state;
    for (unsigned i = 0; i < 1850; i++)
        assert_int_equal(cf_add(&made.filter, hash[i] = random64()), CF_OK);
    unsigned spilled = made.filter.spilled, deletes = 0;
    assert_true(spilled > 20);
    for (; made.filter.spilled > 0; deletes++) {
        assert_int_equal(cf_delete(&made.filter, hash[deletes]), CF_REMOVED);
        assert_list(&made.filter);
    }
    assert_true(deletes <= spilled + 20);
    for (unsigned i = deletes; i < 1850; i++)
        assert_true(cf_contains(&made.filter, hash[i]));
    assert_sound(&made.filter);
    free_filter(&made);
}

/* Not even the list, where deletes have made room for a spilled entry since. */
static void a_list_of_keys_that_finds_no_room_changes_nothing(void **state)
{
    enum { KEYS = 200 };
    unsigned refused = 0;
    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        cf_geometry shape = spilling(shape_of(40, 1, 12), 0, 2);
        uint64_t key[KEYS];
        bool there[KEYS] = {false};
        shape.cap = 2; /* else one copy is sticky */
        shape.pair_bits = 4;
        test_filter made = new_filter(shape);
        for (unsigned i = 0; i < KEYS; i++)
            key[i] = random64();
        for (unsigned i = 0; i < 3000; i++) {
            unsigned at = (unsigned)random_below(KEYS);
            uint64_t hash = key[at];
            size_t added = 0;
            snapshot then = remember(&made.filter);
            if (there[at])
                there[at] = cf_delete(&made.filter, hash) != CF_REMOVED;
            else if (cf_add_many(&made.filter, &hash, 1, &added) == CF_OK)
                there[at] = true;
            else
                assert_unchanged(&made.filter, &then);
            refused += !there[at] && added == 0;
            free(then.bytes);
        }
        assert_sound(&made.filter);
        free_filter(&made);
    }
    assert_true(refused > 100);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_list_of_keys_that_finds_no_room_changes_nothing),
    cmocka_unit_test(lists_do_not_change_the_answers),
    cmocka_unit_test(deleting_all_leaves_the_filter_as_new),
    cmocka_unit_test(lists_survive_reopening_and_not_clearing),
    cmocka_unit_test(full_lists_mean_ordinary_search),
    cmocka_unit_test(few_copies_of_one_key_are_spilled),
    cmocka_unit_test(searches_look_at_no_more_than_the_budget),
    cmocka_unit_test(insertions_write_no_more_than_the_budget),
    cmocka_unit_test(settling_empties_the_list),
    cmocka_unit_test(deletes_empty_the_list),
};

RUN_TESTS(tests)
