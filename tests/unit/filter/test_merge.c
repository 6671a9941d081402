/* SPDX-License-Identifier: MIT */
/* Merging: the sum answers for the keys of both, or nothing has changed; and shrinking, which is a merge into a
** smaller one. */
#include "../../model/checked.h"

static uint64_t value_of(const cf_filter *filter, uint64_t hash)
{
    return hash >> 7 & model_ones(filter->geometry.value_bits);
}

static void split(cf_filter *filter, uint64_t steps)
{
    while (steps-- > 0)
        cf_split_checked(filter);
}

/* Takes all keys, a few of them twice; then `steps` steps of growth more than that needs. */
static void take(cf_filter *filter, const keys *all, uint64_t steps)
{
    for (size_t i = 0; i < all->n; i++) {
        uint64_t hash = all->hash[i % 10 == 9 ? i - 9 : i];
        assert_int_equal(cf_add_value_checked(filter, hash, value_of(filter, hash)), CF_OK);
    }
    split(filter, steps);
}

static void delete_all(cf_filter *filter, const keys *all)
{
    for (size_t i = 0; i < all->n; i++) {
        uint64_t hash = all->hash[i % 10 == 9 ? i - 9 : i];
        assert_int_not_equal(cf_delete_value_checked(filter, hash, value_of(filter, hash)), CF_ABSENT);
    }
}

/* ---- sums ---- */

/* The sum answers for the keys of both, each of which can be deleted from it, and `from` stays as it is. */
static void check_sum(cf_geometry shape, unsigned mine, unsigned my_steps, unsigned theirs,
                      unsigned their_steps)
{
    test_filter one = growing_filter(shape, UINT64_MAX), two = growing_filter(shape, UINT64_MAX);
    cf_filter *into = begin_checked(&one.filter), *from = begin_checked(&two.filter);
    keys left = random_keys(mine), right = random_keys(theirs);
    take(into, &left, my_steps);
    take(from, &right, their_steps);
    uint64_t least = from->buckets > into->buckets ? from->buckets : into->buckets;
    assert_int_equal(cf_merge_checked(into, from), CF_OK);
    assert_true(into->buckets >= least && into->items == mine + theirs);
    delete_all(into, &left);
    delete_all(into, &right);
    end_checked(into);
    end_checked(from);
    free(left.hash);
    free(right.hash);
    free_filter(&one);
    free_filter(&two);
}

/* From ungrown to level 5, each into each: deeper into shallower, shallower into deeper, and entries that know
** too little for their bucket in the sum: f - s is 4, as few as can be. */
TEST(filters_of_all_stages_add_up)
{
    static const unsigned n[] = {0, 1, 10, 50, 170, 400}, steps[] = {0, 3, 0, 20, 50, 1};
    for (unsigned b = 4; b <= 8; b *= 2)
        for (unsigned i = 0; i < 6; i++)
            for (unsigned k = 0; k < 6; k++) {
                cf_geometry shape = growing_shape(i % 2 ? 8 : 14, b, b == 4 ? 9 : 8);
                shape.semisorted = b == 4 && k % 2;
                shape.counter_bits = (i + k) % 3 == 1 ? 3 : 0;
                shape.value_bits = (i + k) % 3 == 2 ? 4 : 0;
                check_sum(shape, n[i], steps[i], n[k], steps[k]);
            }
}

/* Below the limit of copies the sum is exact, whether they are counted or not, and which of the two has grown. */
TEST(key_types_are_joined)
{
    const char *why;
    for (unsigned mine = 0; mine < 16; mine++)
        for (unsigned theirs = 0; theirs < 16; theirs++) {
            cf_geometry shape = shape_of(10, 4, 12);
            test_filter into = new_filter(shape), from = new_filter(shape);
            cf_note_types(&into.filter, mine);
            cf_note_types(&from.filter, theirs);
            assert_int_equal(cf_merge(&into.filter, &from.filter, &why), CF_OK);
            assert_int_equal(into.filter.geometry.key_types, mine | theirs);
            cf_clear(&into.filter);
            assert_int_equal(into.filter.geometry.key_types,
                             (mine | theirs) == CF_TYPES_MIXED ? CF_TYPES_MIXED : 0);
            free_filter(&into);
            free_filter(&from);
        }
}

TEST(copies_add_up_to_their_limit)
{
    const char *why = "";
    for (unsigned bits = 0; bits <= 3; bits += 3)
        for (unsigned steps = 0; steps <= 40; steps += 20)
            for (unsigned mine = 0; mine <= 10; mine++)
                for (unsigned theirs = 0; theirs <= 10; theirs++) {
                    cf_geometry shape = growing_shape(30, 8, 16);
                    shape.counter_bits = (uint8_t)bits;
                    test_filter one = growing_filter(shape, UINT64_MAX);
                    test_filter two = growing_filter(shape, UINT64_MAX);
                    uint64_t hash = random64(), limit = bits ? 8 : 4;
                    uint64_t sum = model_least(mine, limit) + model_least(theirs, limit);
                    for (unsigned i = 0; i < mine; i++)
                        assert_int_equal(cf_add(&one.filter, hash), CF_OK);
                    for (unsigned i = 0; i < theirs; i++)
                        assert_int_equal(cf_add(&two.filter, hash), CF_OK);
                    for (unsigned i = 0; i < steps; i++)
                        assert_true(probe_split(mine % 2 ? &one.filter : &two.filter));
                    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
                    assert_int_equal(cf_count(&one.filter, hash), model_least(sum, limit));
                    assert_int_equal(cf_take_census(&one.filter).saturated, sum >= limit);
                    assert_int_equal(one.filter.items, mine + theirs);
                    assert_sound(&one.filter);
                    free_filter(&one);
                    free_filter(&two);
                }
}

/* A sum leaves its list as short as ordinary searches can make it. */
TEST(sums_are_settled)
{
    const char *why = "";
    for (unsigned b = 4; b <= 8; b *= 2) {
        cf_geometry shape = stashing(shape_of(1000, b, 16), 0, 600);
        test_filter one = new_filter(shape), two = new_filter(shape);
        keys left = random_keys(430 * b), right = random_keys(430 * b);
        add_all(&one.filter, &left);
        add_all(&two.filter, &right);
        assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
        assert_true(one.filter.stashed == 0 && one.filter.items == 860 * b);
        assert_all_found(&one.filter, &left);
        assert_all_found(&one.filter, &right);
        assert_sound(&one.filter);
        free(left.hash);
        free(right.hash);
        free_filter(&one);
        free_filter(&two);
    }
}

/* ---- what cannot be ---- */

TEST(mismatches_are_named)
{
    static const char *const fields[] = {
        "seed",       "hash",     "buckets",   "bucket_size",  "fingerprint_bits", "pair_bits",
        "max_copies", "affinity", "collation", "counter_bits", "value_bits",       "epochs"};
    enum { FIELDS = sizeof fields / sizeof *fields };
    const cf_geometry shape = shape_of(30, 4, 16);
    const char *why = "";
    for (unsigned i = 0; i < FIELDS; i++) {
        cf_geometry mine = shape, other = shape;
        other.seed = i == 0, other.keyed = i == 1, other.buckets += i == 2 ? 2 : 0;
        other.bucket_size = i == 3 ? 2 : 4, other.fingerprint_bits = i == 4 ? 17 : 16;
        other.pair_bits = i == 5 ? 6 : 16, other.max_copies = i == 6 ? 2 : 3;
        other.affinity = i == 7 ? CF_AFFINITY_REAL : 0, other.collation = i == 8;
        other.counter_bits = i == 9 ? 3 : 0, other.value_bits = i == 10 ? 3 : 0;
        if (i == 11)
            mine.epochs = 3, other.epochs = 4, mine.max_copies = other.max_copies = 1;
        test_filter one = new_filter(mine), two = new_filter(other);
        unsigned at = 0;
        cf_add(&two.filter, 5);
        assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_MISMATCH);
        assert_string_equal(why, fields[i]);
        assert_string_equal(cf_difference(&one.filter, &two.filter, &at), fields[i]);
        assert_null(cf_difference(&one.filter, &two.filter, &at));
        assert_true(one.filter.items == 0 && !cf_contains(&one.filter, 5));
        free_filter(&one);
        free_filter(&two);
    }
}

/* A filter that must not grow takes no grown one; whether it might grow does not matter else. */
TEST(fixed_filters_take_no_grown_ones)
{
    cf_geometry fixed = growing_shape(30, 4, 16);
    const char *why = "";
    fixed.growth = false;
    test_filter one = new_filter(fixed), two = growing_filter(growing_shape(30, 4, 16), UINT64_MAX);
    assert_int_equal(cf_add(&two.filter, 5), CF_OK);
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_OK);
    assert_true(probe_split(&two.filter));
    assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_MISMATCH);
    assert_string_equal(why, "growth");
    assert_int_equal(cf_merge(&two.filter, &one.filter, &why), CF_OK);
    assert_int_equal(cf_count(&two.filter, 5), 2);
    free_filter(&one);
    free_filter(&two);
}

/* A filter that shares its bytes with the other one would count its keys twice. */
TEST(a_filter_is_not_merged_with_itself)
{
    const char *why = "";
    cf_filter again;
    test_filter made = new_filter(shape_of(30, 4, 12));
    cf_add(&made.filter, random64());
    cf_seal(&made.filter);
    snapshot then = remember(&made.filter);
    assert_int_equal(cf_open(&again, made.bytes, made.filter.length, &why), CF_OK);
    assert_int_equal(cf_merge(&made.filter, &again, &why), CF_MISMATCH);
    assert_string_equal(why, "bytes: both filters have the same");
    assert_int_equal(cf_merge(&made.filter, &made.filter, &why), CF_MISMATCH);
    assert_unchanged(&made.filter, &then);
    free(then.bytes);
    free_filter(&made);
}

/* `into` holds all that it held, whatever was in the way; with memory for a copy it is as it was. */
TEST(failed_merges_keep_what_was_there)
{
    const char *why = "";
    for (unsigned round = 0; round < 26; round++) {
        cf_geometry shape = round == 25 ? shape_of(32, 4, 16) : growing_shape(8, 4, 12);
        test_filter into = growing_filter(shape, UINT64_MAX), from = growing_filter(shape, UINT64_MAX);
        keys mine = random_keys(100), theirs = random_keys(round == 25 ? 100 : 900);
        add_all(&into.filter, &mine);
        add_all(&from.filter, &theirs);
        snapshot then = remember(&into.filter);
        cf_status expected = round < 10 ? CF_NO_MEMORY : round < 25 ? CF_TOO_BIG : CF_FULL;
        resizes_left = round < 10 ? round : UINT64_MAX;
        if (round >= 10 && round < 25)
            into.filter.memory.most = into.filter.length + 100 * (round - 10);
        if (round == 25)
            into.filter.memory.resize = NULL; /* then a part of `from` may be there */
        assert_int_equal(cf_merge(&into.filter, &from.filter, &why), expected);
        resizes_left = UINT64_MAX;
        if (round < 25)
            assert_unchanged(&into.filter, &then);
        assert_sound(&into.filter);
        assert_all_found(&into.filter, &mine);
        for (size_t i = 0; i < mine.n; i++)
            assert_int_not_equal(cf_delete(&into.filter, mine.hash[i]), CF_ABSENT);
        free(then.bytes);
        free(mine.hash);
        free(theirs.hash);
        free_filter(&into);
        free_filter(&from);
    }
}

/* ---- a few keys with many values ---- */

enum { FEW = 6 };

/* Keys agree in base bucket and pair bits, and in some of what entries know; or in nothing. */
static void live(cf_filter *filter, const uint64_t *hash_of, uint64_t values)
{
    uint64_t n = 1 + random_below(FEW);
    for (uint64_t steps = random_below(3) ? random_below(40) : 0; steps > 0; steps--)
        probe_split(filter);
    for (uint64_t calls = random_below(60); calls > 0; calls--) {
        uint64_t hash = hash_of[random_below(n)], value = random_below(values);
        model *m = &checked_of(filter)->m;
        if (random_below(6))
            cf_add_value_checked(filter, hash, value);
        else if (model_copies(m, item_checked(filter, hash, value)) > 0)
            cf_delete_value_checked(filter, hash, value);
        if (random_below(16) == 0)
            cf_split_checked(filter);
    }
}

/* Whether it may grow, or has a list: filters that differ in that are merged, too, unless the other one has grown. */
static cf_geometry any_list(cf_geometry shape)
{
    static const unsigned bounds[] = {1, 7, 8, 9, 24, 4096};
    return random_below(4) ? stashing(shape, (unsigned)random_below(4), bounds[random_below(6)]) : shape;
}

/* However few keys come together, with however many copies and values: a merge that succeeds finds all of them
** and counts them right; one that fails says why, and changes nothing. */
TEST(what_was_merged_is_found)
{
    enum { ROUNDS = 300 };
    unsigned sums = 0, refused = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned b = 2u << random_below(3);
        cf_geometry shape = growing_shape(2 * (1 + random_below(8)), b, 26);
        shape.max_copies = (uint8_t)(1 + random_below(2 * b));
        shape.value_bits = random_below(4) ? 5 : 0;
        shape.counter_bits = shape.value_bits || random_below(2) ? 0 : (uint8_t)(1 + random_below(4));
        shape.semisorted = b == 4 && random_below(2);
        uint64_t hash_of[FEW], values = shape.value_bits ? 1 + random_below(32) : 1;
        bool related = random_below(2);
        for (unsigned i = 0; i < FEW; i++)
            hash_of[i] =
                related && i > 0 ? hash_of[0] ^ UINT64_C(1) << (6 + random_below(30)) : random64();
        bool lists = random_below(2);
        test_filter one = growing_filter(lists ? any_list(shape) : shape, 1 << 20);
        cf_filter *into = begin_checked(&one.filter);
        live(into, hash_of, values);
        for (uint64_t n = 1 + random_below(3); n > 0; n--) {
            test_filter two = growing_filter(lists ? any_list(shape) : shape, 1 << 20);
            cf_filter *from = begin_checked(&two.filter);
            live(from, hash_of, values);
            bool fits = into->geometry.growth || from->buckets == from->geometry.buckets;
            cf_status status = cf_merge_checked(into, from);
            assert_true(fits ? status == CF_OK || status == CF_FULL || status == CF_TOO_BIG
                             : status == CF_MISMATCH);
            sums += status == CF_OK;
            refused += status == CF_FULL;
            end_checked(from);
            free_filter(&two);
        }
        split(into, random_below(30));
        end_checked(into);
        free_filter(&one);
    }
    assert_true(sums > ROUNDS / 2 && refused > 0);
}

/* More values of a key than two buckets can say; or with a list two buckets, and eight lines of it. */
TEST(more_values_than_are_found_are_refused)
{
    for (unsigned round = 0; round < 300; round++) {
        const char *why = "";
        unsigned most = round % 3 ? 24 : 16, sum = most + 1 + round % 4;
        cf_geometry shape = growing_shape(4, 8, 13);
        if (most == 24)
            shape = stashing(shape, 0, 4096);
        shape.value_bits = 5;
        test_filter one = growing_filter(shape, 1 << 20), two = growing_filter(shape, 1 << 20);
        for (unsigned i = 0; i < 6 && shape.growth; i++)
            assert_true(probe_split(&one.filter));
        uint64_t hash = random64();
        for (unsigned value = 0; value < sum; value++)
            assert_int_equal(cf_add_value(value < sum / 2 ? &one.filter : &two.filter, hash, value),
                             CF_OK);
        cf_filter *into = round % 2 ? &two.filter : &one.filter,
                  *from = round % 2 ? &one.filter : &two.filter;
        snapshot then = remember(into);
        assert_int_equal(cf_merge(into, from, &why), CF_FULL);
        assert_non_null(strstr(why, "a key would have more entries than can be found"));
        assert_unchanged(into, &then);
        free(then.bytes);
        free_filter(&one);
        free_filter(&two);
    }
}

/* ---- shrinking ---- */

/* Drops the keys that find no room: one in ten million, in buckets of two. */
static void add_most(cf_filter *filter, keys *some)
{
    size_t kept = 0;
    for (size_t i = 0; i < some->n; i++)
        if (cf_add(filter, some->hash[i]) == CF_OK)
            some->hash[kept++] = some->hash[i];
    assert_true(kept + 1 >= some->n);
    some->n = kept;
}

/* After all but `left` keys are deleted it is smaller, holds them, and lets them be deleted. */
static void check_shrinking(cf_geometry shape, size_t left)
{
    test_filter made = growing_filter(shape, UINT64_MAX), smaller = growing_filter(shape, UINT64_MAX);
    keys all = random_keys(2000), rest = {all.hash, left};
    add_most(&made.filter, &all);
    for (size_t i = left; i < all.n; i++)
        assert_int_not_equal(cf_delete(&made.filter, all.hash[i]), CF_ABSENT);
    assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
    assert_true(smaller.filter.length <= made.filter.length - made.filter.length / 8);
    assert_int_equal(smaller.filter.items, made.filter.items);
    assert_sound(&smaller.filter);
    for (size_t i = 0; i < left; i++) {
        if (i % 100 == 0)
            assert_all_found(&smaller.filter, &rest);
        rest = (keys){all.hash + i + 1, left - i - 1};
        assert_int_not_equal(cf_delete(&smaller.filter, all.hash[i]), CF_ABSENT);
    }
    free(all.hash);
    free_filter(&made);
    free_filter(&smaller);
}

TEST(what_has_lost_keys_becomes_smaller)
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned left = 0; left <= 1000; left = left ? left * 10 : 1) {
            cf_geometry shape = growing_shape(10, b, 16);
            check_shrinking(shape, left);
            if (b == 4)
                check_shrinking(semisorted(shape), left);
            shape.counter_bits = 3;
            check_shrinking(shape, left);
        }
}

/* A key that was added too often to be deleted is all that is left. It does not keep the filter large, though
** it has a mark, which only a filter that has grown can hold. */
TEST(one_key_that_stays_does_not_keep_it_large)
{
    for (unsigned b = 2; b <= 8; b *= 2) {
        cf_geometry shape = growing_shape(100, b, 16);
        test_filter made = growing_filter(shape, UINT64_MAX),
                    smaller = growing_filter(shape, UINT64_MAX);
        keys all = random_keys(4000);
        uint64_t often = random64();
        add_most(&made.filter, &all);
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(cf_add(&made.filter, often), CF_OK);
        for (size_t i = 0; i < all.n; i++)
            assert_int_not_equal(cf_delete(&made.filter, all.hash[i]), CF_ABSENT);
        assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
        assert_true(smaller.filter.buckets == 101 && smaller.filter.items == made.filter.items);
        assert_true(cf_contains(&smaller.filter, often));
        assert_sound(&smaller.filter);
        free(all.hash);
        free_filter(&made);
        free_filter(&smaller);
    }
}

/* Where nothing was forgotten it is again what it was before it grew. */
TEST(it_can_be_as_before_growth)
{
    cf_geometry shape = growing_shape(100, 4, 16);
    test_filter made = growing_filter(shape, UINT64_MAX), smaller = growing_filter(shape, UINT64_MAX);
    keys all = random_keys(100);
    add_all(&made.filter, &all);
    uint64_t length = made.filter.length;
    for (unsigned i = 0; i < 200; i++)
        assert_true(probe_split(&made.filter));
    assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
    assert_true(smaller.filter.length == length && smaller.filter.occupied == 100);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(cf_delete(&smaller.filter, all.hash[i]), CF_REMOVED);
    free(all.hash);
    free_filter(&made);
    free_filter(&smaller);
}

/* The error rate is that of a filter which has grown so far, not more. What would not gain is left alone, and
** so is all without memory. */
TEST(it_errs_no_more_than_one_that_has_grown_so_far)
{
    cf_geometry shape = growing_shape(64, 4, 12);
    test_filter made = growing_filter(shape, UINT64_MAX), smaller = growing_filter(shape, UINT64_MAX);
    test_filter fresh = growing_filter(shape, UINT64_MAX), into = growing_filter(shape, UINT64_MAX);
    keys all = random_keys(20000), few = {all.hash, 2000};
    add_all(&made.filter, &all);
    add_all(&fresh.filter, &few);
    assert_int_equal(cf_shrink(&into.filter, &made.filter), CF_FULL);
    assert_true(into.filter.occupied == 0 && into.filter.buckets == 64);
    for (unsigned i = 2000; i < 20000; i++)
        cf_delete(&made.filter, all.hash[i]);
    for (uint64_t given = 0; given < 3; given++) {
        resizes_left = given;
        assert_int_equal(cf_shrink(&into.filter, &made.filter), CF_NO_MEMORY);
        resizes_left = UINT64_MAX;
        cf_clear(&into.filter);
    }
    assert_int_equal(cf_shrink(&smaller.filter, &made.filter), CF_OK);
    double rate = cf_take_census(&smaller.filter).fpr, usual = cf_take_census(&fresh.filter).fpr;
    assert_true(rate < 1.5 * usual);
    free(all.hash);
    free_filter(&made);
    free_filter(&smaller);
    free_filter(&fresh);
    free_filter(&into);
}

/* Entries that know little are crowded before half of the other filter has come: buckets of two above all.
** With two slots in a bucket one of some 15,000 such sums is full. */
TEST(a_filter_merges_with_one_that_has_grown_far)
{
    unsigned full = 0;
    for (unsigned round = 0; round < 200; round++) {
        cf_options options = {.bucket_size = round % 2 ? 4 : 2, .growth = true};
        const char *why = "";
        test_filter into = planned_filter(20, 0.01, options), from = planned_filter(20, 0.01, options);
        into.filter.memory = from.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        keys some = random_keys(round % 200), many = random_keys(6400);
        add_most(&into.filter, &some);
        add_most(&from.filter, &many);
        cf_status status = cf_merge(&into.filter, &from.filter, &why);
        assert_true(status == CF_OK || (status == CF_FULL && options.bucket_size == 2 && ++full <= 1));
        assert_int_equal(into.filter.items, some.n + (status == CF_OK ? many.n : 0));
        assert_all_found(&into.filter, &some);
        assert_all_found(status == CF_OK ? &into.filter : &from.filter, &many);
        free(some.hash);
        free(many.hash);
        free_filter(&into);
        free_filter(&from);
    }
}
