/* SPDX-License-Identifier: MIT */
/* Sorting, dropping repeated hashes, and building a filter of a list of them. */
#include "../test.h"

static const cf_memory memory = {test_resize, UINT64_MAX, NULL};

/* ---- sorting ---- */

/* By cf_sort, in place; and by cf_add_many, which has room, and sorts what it is given. */
static void check_sort(const keys *all)
{
    keys sorted = random_keys(all->n), expected = random_keys(all->n);
    size_t distinct = 0;
    for (unsigned room = 0; room < 2; room++) {
        memcpy(sorted.hash, all->hash, all->n * sizeof *all->hash);
        memcpy(expected.hash, all->hash, all->n * sizeof *all->hash);
        sort_keys(&expected);
        test_filter made = new_filter(shape_of(2, 1, 4));
        made.filter.memory = memory;
        if (room)
            cf_add_many(&made.filter, sorted.hash, all->n, NULL);
        else
            assert_int_equal(cf_sort(sorted.hash, all->n, NULL), CF_OK);
        assert_memory_equal(sorted.hash, expected.hash, all->n * sizeof *all->hash);
        free_filter(&made);
    }
    for (size_t i = 0; i < all->n; i++)
        if (distinct == 0 || expected.hash[distinct - 1] != expected.hash[i])
            expected.hash[distinct++] = expected.hash[i];
    assert_int_equal(cf_drop_repeated(sorted.hash, all->n), distinct);
    assert_memory_equal(sorted.hash, expected.hash, distinct * sizeof *sorted.hash);
    free(sorted.hash);
    free(expected.hash);
}

/* All bits, the high or the low bits only, few values, one value, sorted; random ones, and some near each
** other or alike; reversed; a crowd in one quarter, which has just room, or just none. */
static uint64_t hash_of_kind(unsigned kind, size_t i, size_t n)
{
    switch (kind) {
    case 0:
        return random64();
    case 1:
        return random64() << 40;
    case 2:
        return random64() >> 40;
    case 3:
        return random_below(10) << 60;
    case 4:
        return 42;
    case 5:
        return i;
    case 6:
        return i % 40 ? random64() : random64() >> 20;
    case 7:
        return i % 300 ? random64() : 42;
    case 8:
        return n - i;
    default:
        return random64() >> 2 | (uint64_t)(i < n / 4 + 70 * (kind - 9) ? 0 : 1 + i % 3) << 62;
    }
}

TEST(sorts_and_drops_repeats)
{
    enum { KINDS = 9 + 18 };
    static const size_t sizes[] = {0, 1, 2, 47, 48, 49, 50, 255, 256, 257, 2047, 2048, 1 << 14, 50000};
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            keys all = {malloc((sizes[k] + 1) * sizeof *all.hash), sizes[k]};
            for (size_t i = 0; i < all.n; i++)
                all.hash[i] = hash_of_kind(kind, i, all.n);
            if (kind < 9 || k == 12)
                check_sort(&all);
            free(all.hash);
        }
}

static int by_hash_and_value(const void *a, const void *b)
{
    const cf_valued *one = a, *other = b;
    return one->hash != other->hash ? (one->hash < other->hash ? -1 : 1)
                                    : (one->value > other->value) - (one->value < other->value);
}

/* Random hashes, few, or one; values of all bits, or few. */
TEST(sorts_pairs_and_drops_repeats)
{
    for (unsigned kind = 0; kind < 6; kind++)
        for (size_t n = 0; n < 20000; n = 3 * n + 1) {
            cf_valued *sorted = malloc((n + 1) * sizeof *sorted),
                      *expected = malloc((n + 1) * sizeof *sorted);
            size_t distinct = 0;
            for (size_t i = 0; i < n; i++)
                sorted[i] = (cf_valued){random64() >> (kind % 3 == 0 ? 0 : 59 + 2 * (kind % 3)),
                                        kind < 3 ? random64() : random_below(7)};
            memcpy(expected, sorted, n * sizeof *sorted);
            qsort(expected, n, sizeof *expected, by_hash_and_value);
            assert_int_equal(cf_sort_pairs(sorted, n, NULL), CF_OK);
            assert_memory_equal(sorted, expected, n * sizeof *sorted);
            for (size_t i = 0; i < n; i++)
                if (distinct == 0 || by_hash_and_value(&expected[distinct - 1], &expected[i]) != 0)
                    expected[distinct++] = expected[i];
            assert_int_equal(cf_drop_repeated_pairs(sorted, n), distinct);
            assert_memory_equal(sorted, expected, distinct * sizeof *sorted);
            free(sorted);
            free(expected);
        }
}

/* ---- building ---- */

/* Builds with these keys; cf_build may sort them. */
static cf_status build(cf_filter *filter, keys *all, uint64_t capacity, cf_options options)
{
    const char *why = NULL;
    cf_status status = cf_build(filter, all->hash, all->n, capacity, 0.01, &options, &why);
    assert_int_equal(status == CF_OK, filter->bytes != NULL);
    assert_true(status != CF_BAD_ARGUMENT || why != NULL);
    return status;
}

static void done(cf_filter *filter, keys *all)
{
    filter->memory.resize(NULL, bytes_of(filter), 0);
    free(all->hash);
}

TEST(the_size_is_that_of_the_distinct_keys)
{
    for (size_t n = 0; n <= 3000; n = 3 * n + 1) {
        keys all = random_keys(2 * n), other = random_keys(n);
        memcpy(all.hash + n, all.hash, n * sizeof *all.hash);
        memcpy(other.hash, all.hash, n * sizeof *all.hash);
        shuffle(&all);
        cf_filter one = {.memory = memory}, two = {.memory = memory};
        assert_int_equal(build(&one, &all, 0, (cf_options){.growth = true}), CF_OK);
        assert_int_equal(build(&two, &other, 0, (cf_options){.growth = true}), CF_OK);
        assert_true(one.geometry.capacity == (n ? n : 1) && one.memory.most == memory.most);
        assert_holds(&one, &other, n);
        assert_true(one.length == two.length && memcmp(one.bytes, two.bytes, one.length) == 0);
        done(&one, &all);
        done(&two, &other);
    }
}

TEST(a_capacity_makes_filters_that_merge)
{
    const char *why;
    keys all = random_keys(900), other = random_keys(5);
    cf_filter one = {.memory = memory}, two = {.memory = memory};
    assert_int_equal(build(&one, &all, 1000, (cf_options){.growth = true}), CF_OK);
    assert_int_equal(build(&two, &other, 1000, (cf_options){.growth = true}), CF_OK);
    assert_int_equal(cf_merge(&one, &two, &why), CF_OK);
    assert_true(one.items == 905);
    done(&one, &all);
    done(&two, &other);
}

/* Whatever fails, there are no bytes, and nothing is left behind: the sanitizer would see it. */
TEST(errors_leave_no_bytes)
{
    const cf_options growth = {.growth = true};
    asked by = {.watch = {answer, &by}, .at = 1};
    keys all = random_keys(20000);
    cf_filter one = {.memory = memory};
    assert_int_equal(build(&one, &all, 0, (cf_options){.bucket_size = 3}), CF_BAD_ARGUMENT);
    one.memory.most = 1000;
    assert_int_equal(build(&one, &all, 0, growth), CF_TOO_BIG);
    assert_true(one.geometry.capacity == all.n && one.memory.most == 1000);
    one.memory.most = UINT64_MAX;
    cf_status status = CF_NO_MEMORY;
    for (uint64_t given = 0; status == CF_NO_MEMORY; given++) {
        resizes_left = given;
        status = build(&one, &all, 0, growth);
        resizes_left = UINT64_MAX;
    }
    assert_int_equal(status, CF_OK);
    one.memory.resize(NULL, bytes_of(&one), 0);
    one.watch = &by.watch;
    for (status = CF_INTERRUPTED; status == CF_INTERRUPTED; by.at += 1 + by.at / 2) {
        by.questions = 0;
        shuffle(&all);
        status = build(&one, &all, 0, growth);
    }
    assert_int_equal(status, CF_OK);
    done(&one, &all);
}

/* Keys that crowd one place are refused, and no giant is built to part them. */
TEST(keys_that_crowd_are_refused)
{
    keys all = random_keys(30);
    for (size_t i = 0; i < all.n; i++)
        all.hash[i] = i + 1; /* of one pair, nearly */
    cf_filter one = {.memory = memory};
    cf_status status = build(&one, &all, 0, (cf_options){.bucket_size = 4, .fingerprint_bits = 32});
    assert_true(status == CF_FULL || one.length < 10000);
    if (status == CF_OK)
        one.memory.resize(NULL, bytes_of(&one), 0);
    free(all.hash);
}

/* ---- with values ---- */

/* Pairs of keys with up to `each` values, some of them twice, in no order. */
static cf_valued *random_pairs(size_t n, unsigned each)
{
    cf_valued *pairs = malloc((n + 1) * sizeof *pairs);
    for (size_t i = 0; i < n; i++)
        pairs[i] = i % each && random_below(3) ? (cf_valued){pairs[i - 1].hash, random_below(each)}
                                               : (cf_valued){random64(), 0};
    for (size_t i = n; i > 1; i--) {
        size_t j = random_below(i);
        cf_valued x = pairs[i - 1];
        pairs[i - 1] = random_below(9) == 0 ? pairs[j] : x;
        pairs[j] = x;
    }
    return pairs;
}

static bool has_value(const cf_filter *filter, const cf_valued *pair)
{
    uint64_t values[CF_VALUES_MAX];
    for (unsigned n = cf_get_all(filter, pair->hash, values); n > 0; n--)
        if (values[n - 1] == pair->value)
            return true;
    return false;
}

static int compare_pairs(const void *a, const void *b)
{
    const cf_valued *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->value > y->value) - (x->value < y->value);
}

/* What it sorted stands in *pairs: all that is there, each once. */
static void build_pairs(size_t n, unsigned each, cf_options options)
{
    const char *why = NULL;
    cf_filter one = {.memory = memory}, two = {.memory = memory};
    cf_valued *pairs = random_pairs(n, each), *other = malloc((n + 1) * sizeof *other);
    memcpy(other, pairs, n * sizeof *pairs);
    qsort(other, n, sizeof *other, compare_pairs);
    options.value_bits = 3;
    assert_int_equal(cf_build_values(&one, pairs, n, 0, 0.01, &options, &why), CF_OK);
    assert_int_equal(cf_build_values(&two, other, n, 0, 0.01, &options, &why), CF_OK);
    assert_true(one.length == two.length && memcmp(one.bytes, two.bytes, one.length) == 0);
    for (size_t i = 0; i < one.items; i++) {
        assert_true(has_value(&one, &other[i]) && compare_pairs(&pairs[i], &other[i]) == 0);
        assert_true(i == 0 || compare_pairs(&other[i - 1], &other[i]) < 0);
    }
    assert_sound(&one);
    memory.resize(NULL, bytes_of(&one), 0);
    memory.resize(NULL, bytes_of(&two), 0);
    free(pairs);
    free(other);
}

TEST(a_set_of_pairs_gives_the_same_bytes_and_each_value)
{
    for (size_t n = 0; n < 4000; n = 2 * n + 1) {
        build_pairs(n, 1, (cf_options){.growth = true});
        build_pairs(n, 3, (cf_options){.growth = n % 8 < 4});
        build_pairs(n, 5, (cf_options){.growth = true, .bucket_size = 8});
        build_pairs(n, 2, (cf_options){.stash = true, .max_kicks = 2});
    }
}

/* As of hashes: whatever fails, there are no bytes, and nothing is left behind. */
TEST(errors_of_pairs_leave_no_bytes)
{
    enum { N = 3000, MANY = 9 };
    const char *why = NULL;
    const cf_options options = {.growth = true, .value_bits = 4};
    asked by = {.watch = {answer, &by}, .at = 1};
    cf_valued *pairs = random_pairs(N, 2), many[MANY];
    cf_filter one = {.memory = memory};
    cf_status status = CF_NO_MEMORY;
    for (uint64_t given = 0; status == CF_NO_MEMORY; given++) {
        resizes_left = given;
        status = cf_build_values(&one, pairs, N, 0, 0.01, &options, &why);
        resizes_left = UINT64_MAX;
        assert_true(status == CF_OK ? given == 1 : one.bytes == NULL);
    }
    memory.resize(NULL, bytes_of(&one), 0);
    one.watch = &by.watch;
    for (status = CF_INTERRUPTED; status == CF_INTERRUPTED; by.at++) {
        by.questions = 0;
        free(pairs);
        pairs = random_pairs(N, 2);
        status = cf_build_values(&one, pairs, N, 0, 0.01, &options, &why);
        assert_true(status == CF_OK || (one.bytes == NULL && by.questions == by.at));
    }
    assert_true(status == CF_OK && by.at > 8);
    memory.resize(NULL, bytes_of(&one), 0);
    free(pairs);
    for (unsigned i = 0; i < MANY; i++)
        many[i] = (cf_valued){42, i};
    assert_int_equal(cf_build_values(&one, many, MANY, 0, 0.01, &options, &why), CF_FULL);
    assert_true(one.bytes == NULL);
    assert_string_equal(why, "full");
}
