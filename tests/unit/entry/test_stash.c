/* SPDX-License-Identifier: MIT */
/* Bounded insertion: how far an add looks, what goes to the list, and how that becomes empty again. */
#include "../../model/checked.h"

/* Each bucket that a line of the list names, or that its other side lies in, has its bit, and no other one has.
** The lines lie in full buckets, within the bound. */
static void assert_list(const cf_filter *filter)
{
    bool *named = calloc(filter->buckets, sizeof *named);
    cf_entry entry, other;
    bool movable;
    assert_true(filter->stashed <= filter->geometry.stash_size);
    for (unsigned i = 0; i < filter->stashed; i++) {
        assert_true(cf_stashed_at(filter, i, &entry));
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            assert_true(cf_entry_at(filter, entry.bucket, slot, &other));
        named[entry.bucket] = named[cf_entry_alternate(filter, &entry, &movable)] = true;
        assert_true(movable);
    }
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        assert_int_equal(cf_overflows(filter, bucket), named[bucket]);
    free(named);
}

static bool is_full(const cf_filter *filter, uint64_t bucket)
{
    cf_entry entry;
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        if (!cf_entry_at(filter, bucket, slot, &entry))
            return false;
    return true;
}

static bool is_blocked(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_candidates(filter, hash);
    return is_full(filter, pair.place[0].bucket) && is_full(filter, pair.place[1].bucket);
}

/* Whatever comes and goes, no answer depends on where entries lie; when all has gone, it is as new. */
TEST(lists_do_not_change_the_answers)
{
    static const unsigned budgets[] = {0, 1, 5, 10}, bounds[] = {1, 3, 8, 40};
    uint64_t stashed = 0;
    for (unsigned i = 0; i < 64; i++) {
        cf_geometry shape = shape_of(4 + 2 * random_below(6), 1u << i % 4, 12);
        shape.max_copies = (uint8_t)(2 * shape.bucket_size);
        shape.semisorted = shape.bucket_size == 4 && random_below(2);
        shape.value_bits = random_below(3) ? 0 : 5;
        shape = stashing(shape, budgets[i / 4 % 4], bounds[i / 16]);
        test_filter made = new_filter(shape), fresh = new_filter(shape);
        cf_filter *filter = begin_checked(&made.filter);
        keys all = random_keys(cf_geometry_slots(&shape) + shape.stash_size);
        uint64_t mask = model_ones(shape.value_bits);
        for (unsigned k = 0; k < 300; k++) {
            uint64_t hash = all.hash[random_below(all.n)];
            if (random_below(100) < (k / 50 % 2 ? 40 : 75))
                cf_add_value_checked(filter, hash, hash & mask);
            else if (model_may_delete(&checked_of(filter)->m, item_checked(filter, hash, hash & mask)))
                cf_delete_value_checked(filter, hash, hash & mask);
            assert_list(filter);
            stashed += filter->stashed;
        }
        bool saturated = cf_take_census(filter).saturated > 0;
        for (unsigned k = 0; k < all.n && !saturated; k++)
            while (cf_delete_value(filter, all.hash[k], all.hash[k] & mask) == CF_REMOVED)
                continue;
        snapshot then = remember(&fresh.filter);
        cf_seal(filter);
        if (saturated)
            end_checked(filter);
        else
            assert_unchanged(filter, &then), model_forget(&checked_of(filter)->m), end_checked(filter);
        free(then.bytes);
        free(all.hash);
        free_filter(&made);
        free_filter(&fresh);
    }
    assert_true(stashed > 5000);
}

/* ---- the bound ---- */

/* Keys until the first is refused. */
static unsigned fill(cf_filter *filter, uint64_t seed)
{
    unsigned n = 0;
    while (cf_add(filter, cf_hash(&(cf_geometry){.seed = (int64_t)seed}, &n, sizeof n)) == CF_OK)
        n++;
    return n;
}

/* A full list means ordinary search: the table fills as one without a list. */
TEST(full_lists_mean_ordinary_search)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bound = 1; bound <= 100; bound *= 10) {
            cf_geometry shape = shape_of(1000, b, 16);
            uint64_t seed = random64();
            test_filter plain = new_filter(shape), made = new_filter(stashing(shape, 0, bound));
            unsigned most = fill(&plain.filter, seed), n = fill(&made.filter, seed);
            assert_int_equal(made.filter.stashed, bound);
            assert_int_equal(made.filter.occupied + bound, n);
            unsigned slack = most / (b == 2 ? 12 : 25);
            assert_true(n > most - slack && n < most + slack + bound);
            assert_sound(&made.filter);
            assert_list(&made.filter);
            free_filter(&plain);
            free_filter(&made);
        }
}

/* Keys of one fingerprint are not stashed without end: a lookup looks at few. */
TEST(few_copies_of_one_key_are_stashed)
{
    cf_geometry shape = stashing(shape_of(2, 2, 12), 0, 100);
    shape.value_bits = 8;
    test_filter made = new_filter(shape);
    unsigned value = 0;
    while (cf_add_value(&made.filter, 12345, value) == CF_OK)
        value++;
    assert_true(value > 4 && value <= CF_VALUES_MAX);
    assert_int_equal(cf_count(&made.filter, 12345), value);
    while (value-- > 0)
        assert_int_equal(cf_delete_value(&made.filter, 12345, value), CF_REMOVED);
    assert_true(made.filter.stashed == 0 && made.filter.occupied == 0);
    free_filter(&made);
}

/* ---- the budget ---- */

static test_filter nearly_full(cf_geometry shape)
{
    test_filter made = new_filter(shape);
    while (made.filter.occupied * 100 < cf_geometry_slots(&shape) * 92)
        assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
    return made;
}

static unsigned changed_buckets(const cf_filter *now, const snapshot *then)
{
    unsigned changed = 0;
    cf_filter before = then->filter;
    cf_rebase(&before, then->bytes, NULL);
    for (uint64_t bucket = 0; bucket < now->buckets; bucket++) {
        bool same = true;
        for (unsigned slot = 0; slot < now->geometry.bucket_size; slot++) {
            cf_entry a = {.payload = 0}, b = {.payload = 0};
            bool here = cf_entry_at(now, bucket, slot, &a),
                 there = cf_entry_at(&before, bucket, slot, &b);
            same &= here == there && (!here || a.side.bits == b.side.bits);
        }
        changed += !same;
    }
    return changed;
}

/* An insertion writes to no more buckets than it looks at, and one of the key; one that stashes writes no
** slot. A larger budget stashes less. */
TEST(insertions_write_no_more_than_the_budget)
{
    unsigned moved[4] = {0};
    for (unsigned k = 0; k < 4; k++)
        for (int round = 0; round < 40; round++) {
            unsigned budget = k == 3 ? 10 : k * 2;
            cf_geometry shape = stashing(shape_of(100, 4, 16), budget, 200);
            test_filter made = nearly_full(round % 2 ? semisorted(shape) : shape);
            uint64_t hash = random64();
            while (!is_blocked(&made.filter, hash))
                hash = random64();
            snapshot then = remember(&made.filter);
            assert_int_equal(cf_add(&made.filter, hash), CF_OK);
            bool stashed = made.filter.stashed > then.filter.stashed;
            unsigned changed = changed_buckets(&made.filter, &then);
            assert_true(stashed ? changed == 0 : changed >= 2 && changed <= budget + 1);
            moved[k] += !stashed;
            free(then.bytes);
            free_filter(&made);
        }
    assert_true(moved[0] == 0 && moved[1] > 0 && moved[3] > 15);
}

/* ---- room that appears ---- */

/* After many adds the list is emptied as far as an ordinary search can, or one entry with each delete. */
TEST(lists_become_empty)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned deleting = 0; deleting < 2; deleting++) {
            test_filter made = new_filter(stashing(shape_of(500, b, 16), 0, 400));
            keys all = random_keys(500 * b * (b == 2 ? 80 : 90) / 100);
            unsigned deletes = 0;
            add_all(&made.filter, &all);
            unsigned stashed = made.filter.stashed;
            assert_true(stashed > 20);
            if (!deleting)
                assert_int_equal(cf_settle(&made.filter), CF_OK);
            for (; made.filter.stashed > 0; deletes++) {
                assert_int_equal(cf_delete(&made.filter, all.hash[deletes]), CF_REMOVED);
                assert_list(&made.filter);
            }
            assert_true(deleting ? deletes <= stashed + 20 : deletes == 0);
            assert_int_equal(made.filter.occupied, all.n - deletes);
            keys left = {all.hash + deletes, all.n - deletes};
            assert_all_found(&made.filter, &left);
            assert_list(&made.filter);
            assert_sound(&made.filter);
            free(all.hash);
            free_filter(&made);
        }
}

/* A list of keys that finds no room changes nothing: not even the list, where deletes have made room for a
** stashed entry since. */
TEST(many_keys_that_find_no_room_change_nothing)
{
    enum { KEYS = 200 };
    unsigned refused = 0;
    for (unsigned round = 0; round < 20; round++) {
        cf_geometry shape = stashing(shape_of(40, 1, 12), 0, 2);
        bool there[KEYS] = {false};
        keys all = random_keys(KEYS);
        shape.max_copies = 2; /* else one copy is saturated */
        shape.pair_bits = 4;
        test_filter made = new_filter(shape);
        for (unsigned i = 0; i < 2000; i++) {
            unsigned at = (unsigned)random_below(KEYS);
            uint64_t hash = all.hash[at];
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
        free(all.hash);
        free_filter(&made);
    }
    assert_true(refused > 100);
}

/* A list of lines that lie: whatever they are, and in whatever order, it stays within its bound while keys come and go. */
TEST(lists_that_lie_stay_within_their_bound)
{
    for (unsigned round = 0; round < 400; round++) {
        unsigned bound = 1 + (unsigned)random_below(12), b = 2u << round % 3;
        cf_geometry shape = stashing(shape_of(4 * b, b, 12), 0, bound);
        shape.pair_bits = (uint8_t)(round % 2 ? 12 : 6);
        test_filter made = new_filter(shape);
        cf_filter *filter = &made.filter;
        for (uint64_t n = random_below(cf_geometry_slots(&shape) + 1); n > 0; n--)
            probe_put(filter, random64(), 63, 0);
        uint8_t *list = bytes_of(filter) + filter->length - 16 * bound;
        memset(list, 0, 16 * (size_t)bound);
        for (unsigned i = 0; i < 16 * bound; i++)
            if (i % 16 == 0)
                list[i] = (uint8_t)random_below(random_below(4) ? filter->buckets : 256);
            else if (i % 16 >= 6 && i % 16 < 8)
                list[i] = (uint8_t)random_below(random_below(2) ? 4 : 256);
        for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
            probe_overflow(filter, bucket, random_below(2));
        filter->stashed = bound;
        for (unsigned i = 0; i < 40; i++) {
            uint64_t hash = random_below(2) ? random64() : random64() & ~UINT64_C(4092);
            if (random_below(2))
                cf_add(filter, hash);
            else
                cf_delete(filter, hash);
            assert_true(filter->stashed <= bound);
        }
        free_filter(&made);
    }
}

/* A copy of a key, counted on a line of the list. */
TEST(lines_count_copies)
{
    for (unsigned round = 0; round < 100; round++) {
        cf_geometry shape = stashing(shape_of(20, 2, 12), 0, 9);
        shape.counter_bits = 3;
        test_filter made = new_filter(shape);
        cf_filter *filter = &made.filter;
        uint64_t hash = 0;
        while (filter->stashed == 0)
            assert_int_equal(cf_add(filter, hash = random64()), CF_OK);
        for (unsigned copies = 2; copies <= 9; copies++) {
            assert_int_equal(cf_add(filter, hash), CF_OK);
            assert_int_equal(cf_count(filter, hash), copies < 8 ? copies : 8);
            assert_true(filter->stashed == 1);
            assert_sound(filter);
        }
        assert_int_equal(cf_delete(filter, hash), CF_SATURATED);
        assert_list(filter);
        free_filter(&made);
    }
}
