/* SPDX-License-Identifier: MIT */
#include "../../../src/base/watch.h"
#include "../many_keys.h"

/* Shapes that take nearly as many keys as their capacity says. */
static cf_geometry shape_for(size_t n, unsigned b, unsigned f)
{
    unsigned percent = b == 2 ? 80 : b == 4 ? 93 : 95;
    cf_geometry shape = shape_of((n * 100 / percent / b + 2) & ~(uint64_t)1, b, f);
    shape.capacity = n;
    return shape;
}

static test_filter filled(cf_geometry shape, const keys *all, bool memory)
{
    size_t added = 0;
    test_filter made = new_filter(shape);
    made.filter.memory = (cf_memory){memory ? test_resize : NULL, UINT64_MAX, NULL};
    assert_int_equal(cf_add_many(&made.filter, all->hash, all->n, &added), CF_OK);
    assert_int_equal(added, all->n);
    cf_seal(&made.filter);
    return made;
}

/* Keys that are one to the filter have as many copies as if they were added one by one. */
static void assert_as_one_by_one(const cf_filter *filter, const keys *all)
{
    uint64_t most = (uint64_t)1 << filter->geometry.counter_bits;
    test_filter other = new_filter(filter->geometry);
    for (size_t i = 0; i < all->n; i++)
        assert_int_equal(cf_add(&other.filter, all->hash[i]), CF_OK);
    for (size_t i = 0; i < all->n; i++) {
        uint64_t one = cf_count(filter, all->hash[i]), two = cf_count(&other.filter, all->hash[i]);
        assert_true(one == two || (most > 1 && one >= most && two >= most));
    }
    if (most == 1)
        assert_true(filter->occupied + filter->spilled == other.filter.occupied + other.filter.spilled);
    free_filter(&other);
}

/* The bytes depend on the keys alone, not on their order. */
static void check_build_with(cf_geometry shape, keys *all, bool memory)
{
    test_filter one = filled(shape, all, memory);
    assert_holds(&one.filter, all, all->n);
    assert_as_one_by_one(&one.filter, all);
    shuffle(all);
    test_filter other = filled(shape, all, memory);
    assert_int_equal(one.filter.length, other.filter.length);
    assert_memory_equal(one.filter.bytes, other.filter.bytes, one.filter.length);
    free_filter(&other);
    free_filter(&one);
}

/* Nor do they depend on memory, unless the table is filled by way of another one. */
static void check_build(cf_geometry shape, keys *all)
{
    check_build_with(shape, all, false);
    check_build_with(shape, all, true);
    if (shape.semisorted || shape.spill_bound)
        return;
    test_filter one = filled(shape, all, false), other = filled(shape, all, true);
    assert_memory_equal(one.filter.bytes, other.filter.bytes, one.filter.length);
    free_filter(&other);
    free_filter(&one);
}

static void all_shapes_hold_all_keys(void **state)
{
    static const unsigned sizes[] = {2, 4, 8};
    enum { N = 5000 };
    (void)state;
    for (unsigned k = 0; k < 3; k++)
        for (unsigned f = 4; f <= 32; f += f < 16 ? 1 : 3) {
            keys all = random_keys(N);
            cf_geometry shape = shape_for(N, sizes[k], f);
            check_build(shape, &all);
            shape.pair_bits = (uint8_t)(f < 10 ? f : f - 2);
            check_build(shape, &all);
            if (sizes[k] == 4 && f >= 5)
                check_build(semisorted(shape), &all);
            free(all.hash);
        }
}

static void small_tables_hold_all_keys(void **state)
{
    (void)state;
    for (size_t n = 0; n < 300; n++) {
        keys all = random_keys(n);
        test_filter made = planned_filter(n, 0.001, (cf_options){.growth = n % 2});
        check_build(made.filter.geometry, &all);
        free_filter(&made);
        cf_geometry shape = shape_of(2, 4, 12);
        all.n = n % 9;
        check_build(shape, &all);
        free(all.hash);
    }
}

/* The share of a full table that goes through searches is stored, too. */
static void a_full_table_is_filled(void **state)
{
    static const unsigned percent[] = {84, 95, 97};
    (void)state;
    for (unsigned k = 0; k < 3; k++)
        for (unsigned list = 0; list < 3; list++) {
            cf_geometry shape = shape_of(10000, k == 0 ? 2 : 4, 16);
            keys all = random_keys(shape.capacity * percent[k] / 100);
            if (list)
                shape = spilling(shape, list == 1 ? 0 : 10, 200);
            check_build(shape, &all);
            if (k)
                check_build(semisorted(shape), &all);
            free(all.hash);
        }
}

/* ---- copies ---- */

static keys repeated_keys(size_t distinct, unsigned most)
{
    keys made = {malloc(distinct * most * sizeof *made.hash), 0};
    for (size_t i = 0; i < distinct; i++) {
        uint64_t hash = random64();
        for (uint64_t copies = random_below(20) ? 1 : 1 + random_below(most); copies > 0; copies--)
            made.hash[made.n++] = hash;
    }
    return made;
}

static void copies_are_counted(void **state)
{
    (void)state;
    for (unsigned counter = 0; counter <= 16; counter += counter < 2 ? 1 : 7)
        for (unsigned f = 8; f <= 20; f += 6) {
            keys all = repeated_keys(3000, 10);
            cf_geometry shape = shape_of(1400, 4, f);
            shape.counter_bits = (uint8_t)counter;
            check_build(shape, &all);
            check_build(semisorted(shape), &all);
            free(all.hash);
        }
}

/* Hashes that differ, but say the same to the filter: keys of one base bucket, or of both of a
** pair. */
static void likes_are_kept(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        keys all = random_keys(1000);
        cf_geometry shape = shape_of(300, 4, 8 + round % 5);
        shape.counter_bits = (uint8_t)(round / 20 * 3);
        test_filter probe = new_filter(shape);
        for (size_t i = 1; i < all.n; i++)
            if (random_below(4) == 0) {
                cf_pair pair = cf_pair_of(&probe.filter, all.hash[random_below(i)]);
                uint64_t base = pair.place[random_below(2)].bucket, step = UINT64_MAX / shape.buckets;
                all.hash[i] = (base * step + step / 2) >> 16 << 16 | pair.place[0].tag;
            }
        check_build(shape, &all);
        free_filter(&probe);
        free(all.hash);
    }
}

/* More keys of one bucket than may be in flight at once. */
static void one_bucket_may_be_crowded(void **state)
{
    enum { N = 400, CROWD = 150 };
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned kind = 0; kind < 3; kind++) {
            cf_geometry shape = shape_of(1000, b, 14);
            keys all = random_keys(N);
            uint64_t step = UINT64_MAX / shape.buckets, base = step * random_below(1000) + step / 2;
            for (size_t i = 0; i < CROWD; i++)
                all.hash[i] = base >> 16 << 16 | (i + 1);
            shape.counter_bits = (uint8_t)(kind == 2 ? 3 : 0);
            if (kind == 0 || b == 4)
                check_build(kind == 1 ? semisorted(shape) : shape, &all);
            free(all.hash);
        }
}

/* Below cap each copy can be deleted again; then nothing is left. */
static void what_was_built_can_be_deleted(void **state)
{
    enum { N = 20000 };
    (void)state;
    for (unsigned list = 0; list < 2; list++) {
        keys all = random_keys(N);
        cf_geometry shape = shape_of(5400, 4, 24);
        test_filter made = filled(list ? spilling(shape, 5, 50) : shape, &all, true);
        shuffle(&all);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(cf_delete(&made.filter, all.hash[i]), CF_REMOVED);
        assert_true(made.filter.items == 0 && made.filter.occupied == 0 && made.filter.spilled == 0);
        assert_sound(&made.filter);
        free_filter(&made);
        free(all.hash);
    }
}

/* ---- errors ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* More keys than there is room for: those before *added are in. */
static void full_tables_say_where(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        cf_geometry shape = shape_of(1000 + 2 * round, 4, 12);
        keys all = random_keys(shape.capacity);
        size_t added = 0;
        test_filter made = new_filter(round % 2 ? semisorted(shape) : shape);
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, &added), CF_FULL);
        assert_true(added > shape.capacity * 9 / 10 && added < all.n);
        for (size_t i = 1; i < all.n; i++)
            assert_true(all.hash[i - 1] <= all.hash[i]);
        assert_holds(&made.filter, &all, added);
        free_filter(&made);
        free(all.hash);
    }
}

/* One that may grow then does. */
static void crowded_tables_grow(void **state)
{
    (void)state;
    for (unsigned f = 10; f < 16; f += 2) {
        cf_geometry shape = growing_shape(250, 4, f);
        keys all = random_keys(shape.capacity);
        test_filter made = growing_filter(shape, UINT64_MAX);
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, NULL), CF_OK);
        assert_true(made.filter.view.grown);
        assert_holds(&made.filter, &all, all.n);
        free_filter(&made);
        free(all.hash);
    }
}

/* At every question: those before *added are in, and no hash is lost. */
static void building_is_interrupted(void **state)
{
    enum { N = 12000 };
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        keys all = random_keys(N), copy = {malloc(N * sizeof *copy.hash), N};
        cf_status status = CF_INTERRUPTED;
        unsigned partly = 0;
        qsort(all.hash, N, sizeof *all.hash, compare);
        for (unsigned at = 1; status == CF_INTERRUPTED; at++) {
            cf_geometry shape = shape_of(N / 4 + 200, 4, 13);
            test_filter made = new_filter(kind & 1 ? semisorted(shape) : shape);
            asked by = {{answer, &by}, 0, at};
            size_t added = N + 1;
            memcpy(copy.hash, all.hash, N * sizeof *copy.hash);
            shuffle(&copy);
            made.filter.watch = &by.watch;
            made.filter.memory.resize = kind & 2 ? test_resize : NULL;
            status = cf_add_many(&made.filter, copy.hash, N, &added);
            assert_true(status == CF_OK || (status == CF_INTERRUPTED && by.questions == at));
            made.filter.watch = NULL;
            assert_holds(&made.filter, added > 0 ? &copy : &all, added);
            partly += added > 0 && added < N;
            qsort(copy.hash, N, sizeof *copy.hash, compare);
            assert_memory_equal(copy.hash, all.hash, N * sizeof *copy.hash);
            free_filter(&made);
        }
        assert_int_equal(status, CF_OK);
        assert_true(partly > 10);
        free(all.hash);
        free(copy.hash);
    }
}

/* Sorting does without memory, and the bytes are the same. */
static void memory_may_be_refused(void **state)
{
    enum { N = 20000 };
    (void)state;
    keys all = random_keys(N);
    cf_geometry shape = shape_for(N, 4, 12);
    test_filter with = filled(shape, &all, true);
    shuffle(&all);
    resizes_left = 0;
    test_filter without = filled(shape, &all, true);
    resizes_left = UINT64_MAX;
    assert_memory_equal(with.filter.bytes, without.filter.bytes, with.filter.length);
    free_filter(&with);
    free_filter(&without);
    free(all.hash);
}

/* A filter that is semi-sorted, or has a spill list, is filled by way of a plain one, or not at all: its
** bytes do not depend on who refuses what. */
static void a_twin_may_be_refused(void **state)
{
    enum { N = 20000 };
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        size_t added = 1;
        keys all = random_keys(N);
        cf_geometry shape = shape_for(N, 4, 12);
        test_filter made = new_filter(kind ? spilling(shape, 10, 200) : semisorted(shape));
        uint64_t *before = malloc(made.filter.length);
        cf_seal(&made.filter);
        memcpy(before, made.filter.bytes, made.filter.length);
        made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        resizes_left = 0;
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, &added), CF_NO_MEMORY);
        resizes_left = UINT64_MAX;
        cf_seal(&made.filter);
        assert_int_equal(added, 0);
        assert_memory_equal(before, made.filter.bytes, made.filter.length);
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, &added), CF_OK);
        assert_holds(&made.filter, &all, N);
        free_filter(&made);
        free(before);
        free(all.hash);
    }
}

/* Planned filters take what they were planned for. */
static void planned_builds_fit(void **state)
{
    static const unsigned bits[] = {8, 10, 13, 16};
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        cf_options options = {.bucket_size = 2u << round % 3,
                              .fingerprint_bits = bits[round / 3 % 4],
                              .growth = round / 3 % 4 >= 2 && round / 12 % 2,
                              .layout = round % 3 == 1 && round / 24 % 2 ? CF_LAYOUT_SEMISORT
                                                                         : CF_LAYOUT_PLAIN};
        size_t n = 10 + random_below((uint64_t)1 << (4 + random_below(11)));
        keys all = random_keys(n);
        test_filter made = planned_filter(n, 0, options);
        assert_int_equal(cf_add_many(&made.filter, all.hash, n, NULL), CF_OK);
        assert_holds(&made.filter, &all, n);
        free_filter(&made);
        free(all.hash);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_shapes_hold_all_keys),
    cmocka_unit_test(small_tables_hold_all_keys),
    cmocka_unit_test(a_full_table_is_filled),
    cmocka_unit_test(copies_are_counted),
    cmocka_unit_test(likes_are_kept),
    cmocka_unit_test(what_was_built_can_be_deleted),
    cmocka_unit_test(full_tables_say_where),
    cmocka_unit_test(crowded_tables_grow),
    cmocka_unit_test(building_is_interrupted),
    cmocka_unit_test(memory_may_be_refused),
    cmocka_unit_test(a_twin_may_be_refused),
    cmocka_unit_test(planned_builds_fit),
    cmocka_unit_test(one_bucket_may_be_crowded),
};

RUN_TESTS(tests)
