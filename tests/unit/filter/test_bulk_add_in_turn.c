/* SPDX-License-Identifier: MIT */
/* Many keys for filters that cannot be filled in one walk. */
#include "../many_keys.h"
#include "../paged.h"

static void what_is_there_stays(void **state)
{
    enum { N = 3000 };
    (void)state;
    for (unsigned growth = 0; growth < 2; growth++) {
        keys before = random_keys(N), all = random_keys(N);
        test_filter made = growth ? growing_filter(growing_shape(100, 4, 12), UINT64_MAX)
                                  : new_filter(shape_of(1700, 4, 12));
        for (size_t i = 0; i < N; i++)
            assert_int_equal(cf_add(&made.filter, before.hash[i]), CF_OK);
        assert_int_equal(cf_add_many(&made.filter, all.hash, N, NULL), CF_OK);
        for (size_t i = 0; i < N; i++)
            assert_true(cf_contains(&made.filter, before.hash[i]) &&
                        cf_contains(&made.filter, all.hash[i]));
        assert_true(made.filter.items == 2 * N);
        assert_sound(&made.filter);
        free_filter(&made);
        free(before.hash);
        free(all.hash);
    }
}

/* A filter that was not sealed after its last change says that it is empty: its entries stay, also when
** there is no room for more. */
static void a_header_that_counts_nothing_is_not_believed(void **state)
{
    enum { N = 1000 };
    const char *why;
    (void)state;
    for (unsigned full = 0; full < 2; full++) {
        keys before = random_keys(N), all = random_keys(full ? 2 * N : N);
        test_filter made = new_filter(shape_of(600, 4, 12));
        cf_filter again;
        size_t added = 0;
        for (size_t i = 0; i < N; i++)
            assert_int_equal(cf_add(&made.filter, before.hash[i]), CF_OK);
        assert_int_equal(cf_open_writable(&again, made.bytes, made.filter.length, &why), CF_OK);
        assert_true(again.items == 0 && again.occupied == 0);
        assert_int_equal(cf_add_many(&again, all.hash, all.n, &added), full ? CF_FULL : CF_OK);
        for (size_t i = 0; i < N; i++)
            assert_true(cf_contains(&again, before.hash[i]));
        for (size_t i = 0; i < added; i++)
            assert_true(cf_contains(&again, all.hash[i]));
        free_filter(&made);
        free(before.hash);
        free(all.hash);
    }
}

/* One that tells of its pages is not filled in one walk, which tells of nothing. */
static void the_pager_is_told_of_all(void **state)
{
    enum { N = 900 };
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        cf_geometry shape = shape_of(260, 4, 12);
        test_filter empty = new_filter(kind == 1 ? semisorted(shape) : shape);
        keys all = random_keys(N);
        paged p;
        paged_open(&p, empty.bytes, empty.filter.length, 64);
        assert_int_equal(cf_add_many(&p.filter, all.hash, N, NULL), CF_OK);
        assert_true(p.outside == 0 && paged_untold(&p) == 0);
        assert_holds(&p.filter, &all, N);
        paged_close(&p);
        free(all.hash);
        free_filter(&empty);
    }
}

/* An empty table, of which some buckets are wider already (growth.h), takes keys as others do. */
static void prepared_tables_keep_all_keys(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        cf_geometry shape = growing_shape(1100, kind == 3 ? 8 : 4, 12);
        shape.capacity = 3800;
        shape.value_bits = kind == 2 ? 5 : 0;
        test_filter made = growing_filter(kind == 1 ? semisorted(shape) : shape, UINT64_MAX);
        keys all = random_keys(10000);
        size_t n = 0;
        for (; !made.filter.view.form.grown; n++)
            assert_int_equal(cf_add(&made.filter, all.hash[n]), CF_OK);
        while (n > 0)
            cf_delete(&made.filter, all.hash[--n]);
        assert_true(made.filter.occupied == 0 && !made.filter.view.grown);
        all.n = 3500;
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, NULL), CF_OK);
        assert_holds(&made.filter, &all, all.n);
        free_filter(&made);
        free(all.hash);
    }
}

/* Few keys for a large table are added in turn; the last ones have none behind them to fetch. */
static void few_keys_for_a_large_table_are_added(void **state)
{
    (void)state;
    for (size_t n = 0; n < 100; n++) {
        test_filter made = new_filter(shape_of(60000, 4, 12));
        keys all = random_keys(n);
        assert_int_equal(cf_add_many(&made.filter, all.hash, n, NULL), CF_OK);
        assert_holds(&made.filter, &all, n);
        free_filter(&made);
        free(all.hash);
    }
}

/* A key whose two buckets lie behind so many. */
static uint64_t late_key(const cf_filter *filter, uint64_t buckets)
{
    for (;;) {
        uint64_t hash = random64();
        cf_pair pair = cf_pair_of(filter, hash);
        if (pair.place[0].bucket >= buckets && pair.place[pair.sides - 1].bucket >= buckets)
            return hash;
    }
}

/* A filter says that it is empty, and the look for what it holds is interrupted before it comes to the
** first entry: no key that was there goes. */
static void a_look_that_is_interrupted_says_nothing(void **state)
{
    enum { BUCKETS = 50000, N = 13000, FIRST = 10000, CROWD = 200 };
    const char *why;
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        cf_geometry shape = shape_of(BUCKETS, 4, 16);
        test_filter made = new_filter(kind & 1 ? semisorted(shape) : shape);
        keys before = random_keys(FIRST), all = random_keys(N);
        for (size_t i = 0; i < CROWD; i++)
            all.hash[i] = i + 1; /* of the first bucket */
        for (size_t i = 0; i < FIRST; i++) {
            before.hash[i] = late_key(&made.filter, BUCKETS * 3 / 4);
            assert_int_equal(cf_add(&made.filter, before.hash[i]), CF_OK);
        }
        cf_status status = CF_INTERRUPTED;
        for (unsigned at = 1; status == CF_INTERRUPTED; at++) {
            asked by = {{answer, &by}, 0, at};
            cf_filter again;
            assert_int_equal(cf_open_writable(&again, made.bytes, made.filter.length, &why), CF_OK);
            assert_int_equal(again.items, 0);
            again.watch = &by.watch;
            again.memory.resize = kind & 2 ? test_resize : NULL;
            shuffle(&all);
            status = cf_add_many(&again, all.hash, N, NULL);
            for (size_t i = 0; i < FIRST; i++)
                assert_true(cf_contains(&again, before.hash[i]));
        }
        assert_int_equal(status, CF_OK);
        free_filter(&made);
        free(before.hash);
        free(all.hash);
    }
}

/* No keys: nothing changes, and nobody is asked. (Keys end with a look at the spill list.) */
static void no_keys_change_nothing(void **state)
{
    enum { N = 3000 };
    (void)state;
    test_filter made = new_filter(spilling(shape_of(500, 4, 12), 100, 1200));
    keys all = random_keys(N);
    for (size_t i = 0; i < N; i++)
        cf_add(&made.filter, all.hash[i]);
    for (size_t i = 0; i < 20; i++)
        cf_delete(&made.filter, all.hash[i]);
    asked by = {{answer, &by}, 0, 1};
    cf_filter before = made.filter;
    assert_true(before.spilled > 0);
    made.filter.watch = &by.watch;
    assert_int_equal(cf_add_many(&made.filter, all.hash, 0, NULL), CF_OK);
    assert_int_equal(by.questions, 0);
    assert_int_equal(made.filter.spilled, before.spilled);
    assert_int_equal(made.filter.occupied, before.occupied);
    free_filter(&made);
    free(all.hash);
}

/* Keys of a few buckets, many of them copies, more than there is room for: wherever the walk finds that
** out, those before *added are in. */
static void crowded_tables_say_where(void **state)
{
    (void)state;
    unsigned full = 0;
    for (unsigned round = 0; round < 400; round++) {
        cf_geometry shape = shape_of(200, 2u << round % 3, 12 + round % 7);
        keys all = random_keys(shape.capacity);
        size_t added = 0;
        shape.counter_bits = (uint8_t)(round % 4 == 3 ? 2 : 0);
        uint64_t few = 1 + random_below(3), step = UINT64_MAX / shape.buckets;
        for (size_t i = 0; i < all.n; i++)
            if (i > 0 && random_below(8) == 0)
                all.hash[i] = all.hash[i - 1];
            else if (random_below(3) != 0)
                all.hash[i] = (step * (random_below(few) * 60) + step / 2) >> 20 << 20 | (i + 1);
        test_filter made = new_filter(shape.bucket_size == 4 && round & 1 ? semisorted(shape) : shape);
        made.filter.memory = (cf_memory){round & 2 ? test_resize : NULL, UINT64_MAX, NULL};
        cf_status status = cf_add_many(&made.filter, all.hash, all.n, &added);
        assert_true(status == CF_FULL ? added < all.n : status == CF_OK && added == all.n);
        full += status == CF_FULL;
        cf_seal(&made.filter);
        assert_holds(&made.filter, &all, added);
        free_filter(&made);
        free(all.hash);
    }
    assert_true(full > 50);
}

/* An empty table that has bytes to spare, because its growth was interrupted, keeps them when there is no room. */
static void what_is_refused_keeps_bytes_to_spare(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        cf_geometry shape = growing_shape(2700, 4, 12);
        shape.capacity = 2700 * 4; /* more than it can take */
        test_filter made = growing_filter(kind ? semisorted(shape) : shape, UINT64_MAX);
        uint64_t plain = made.filter.length;
        keys all = random_keys(shape.capacity);
        asked by = {{answer, &by}, 0, 1};
        size_t added = 1;
        made.filter.watch = &by.watch;
        assert_int_equal(cf_grow(&made.filter), CF_INTERRUPTED);
        made.filter.watch = NULL;
        uint64_t length = made.filter.length;
        assert_true(length > plain && !made.filter.view.form.grown);
        made.filter.memory.resize = NULL;
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, &added), CF_FULL);
        assert_true(made.filter.length == length);
        assert_holds(&made.filter, &all, added);
        free_filter(&made);
        free(all.hash);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_there_stays),
    cmocka_unit_test(a_header_that_counts_nothing_is_not_believed),
    cmocka_unit_test(the_pager_is_told_of_all),
    cmocka_unit_test(prepared_tables_keep_all_keys),
    cmocka_unit_test(crowded_tables_say_where),
    cmocka_unit_test(what_is_refused_keeps_bytes_to_spare),
    cmocka_unit_test(few_keys_for_a_large_table_are_added),
    cmocka_unit_test(no_keys_change_nothing),
    cmocka_unit_test(a_look_that_is_interrupted_says_nothing),
};

RUN_TESTS(tests)
