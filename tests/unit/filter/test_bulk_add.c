/* SPDX-License-Identifier: MIT */
/* Many keys at once: into an empty filter, which is filled in one walk, and into others, which take them in
** turn. */
#include "../../paged.h"
#include "../../probe.h"
#include "../test.h"

enum { HEADER = 64 };

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
    add_all(&other.filter, all);
    for (size_t i = 0; i < all->n; i++) {
        uint64_t one = cf_count(filter, all->hash[i]), two = cf_count(&other.filter, all->hash[i]);
        assert_true(one == two || (most > 1 && one >= most && two >= most));
    }
    if (most == 1)
        assert_true(filter->occupied + filter->stashed == other.filter.occupied + other.filter.stashed);
    free_filter(&other);
}

/* The bytes depend on the keys alone: not on their order; nor on memory, unless the table is filled by way of
** another one. */
static void check_build(cf_geometry shape, keys *all)
{
    test_filter first = filled(shape, all, false);
    assert_holds(&first.filter, all, all->n);
    assert_as_one_by_one(&first.filter, all);
    for (unsigned memory = 0; memory < 2; memory++) {
        shuffle(all);
        test_filter one = filled(shape, all, memory);
        shuffle(all);
        test_filter other = filled(shape, all, memory);
        assert_memory_equal(one.filter.bytes, other.filter.bytes, one.filter.length);
        if (!shape.semisorted && !shape.stash_size)
            assert_memory_equal(one.filter.bytes, first.filter.bytes, one.filter.length);
        assert_holds(&one.filter, all, all->n);
        free_filter(&one);
        free_filter(&other);
    }
    free_filter(&first);
}

TEST(all_shapes_hold_all_keys)
{
    enum { N = 1500 };
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned f = 4; f <= 32; f += f < 16 ? 1 : 3) {
            keys all = random_keys(N);
            cf_geometry shape = shape_for(N, b, f);
            shape.pair_bits = (uint8_t)(f < 10 || f % 2 ? f : f - 2);
            check_build(shape, &all);
            if (b == 4 && f >= 5)
                check_build(semisorted(shape), &all);
            free(all.hash);
        }
}

/* In two walks, which leave other bytes than keys that are added in turn. */
TEST(an_empty_table_is_filled)
{
    keys all = random_keys(1500);
    test_filter made = filled(shape_for(all.n, 4, 12), &all, false),
                other = new_filter(made.filter.geometry);
    add_all(&other.filter, &all);
    assert_memory_not_equal(made.filter.bytes + HEADER, other.filter.bytes + HEADER,
                            made.filter.length - HEADER);
    free_filter(&made);
    free_filter(&other);
    free(all.hash);
}

/* The share of a full table that goes through searches is stored, too; below max_copies each copy can be deleted
** again, and then nothing is left. */
TEST(full_tables_are_filled_and_emptied)
{
    static const unsigned percent[] = {84, 95, 97};
    for (unsigned k = 0; k < 3; k++)
        for (unsigned list = 0; list < 3; list++) {
            cf_geometry shape = shape_of(3000, k == 0 ? 2 : 4, 32); /* no two keys are alike */
            keys all = random_keys(shape.capacity * percent[k] / 100);
            if (list)
                shape = stashing(shape, list == 1 ? 0 : 10, 200);
            check_build(shape, &all);
            if (k)
                check_build(semisorted(shape), &all);
            test_filter made = filled(shape, &all, true);
            shuffle(&all);
            for (size_t i = 0; i < all.n; i++)
                assert_int_equal(cf_delete(&made.filter, all.hash[i]), CF_REMOVED);
            assert_true(made.filter.items + made.filter.occupied + made.filter.stashed == 0);
            assert_sound(&made.filter);
            free_filter(&made);
            free(all.hash);
        }
}

/* ---- copies ---- */

/* The first ones have one base bucket, and there are more of them than may be in flight at once. All have a bucket
** where no more keys may lie than it has slots: they fit in any order. */
static void crowd_one_bucket(const cf_filter *filter, keys *all, uint64_t base)
{
    enum { CROWD = 150 };
    uint8_t *taken = calloc(filter->buckets, 1);
    cf_pair pair;
    for (size_t i = 0, next = 1; i < all->n; i++) {
        do {
            all->hash[i] = i < CROWD ? base >> 16 << 16 | next++ : random64();
            pair = cf_candidates(filter, all->hash[i]);
        } while (taken[pair.place[1].bucket] >= filter->geometry.bucket_size ||
                 (i >= CROWD && taken[pair.place[0].bucket] >= filter->geometry.bucket_size));
        taken[pair.place[0].bucket]++;
        taken[pair.place[1].bucket]++;
    }
    free(taken);
}

/* Keys that repeat; keys that say the same to the filter, in one base bucket, or in both of a pair; crowds. */
TEST(copies_and_crowds_are_kept)
{
    for (unsigned round = 0; round < 60; round++) {
        bool crowd = round >= 40;
        unsigned buckets = crowd ? 1000 : 400;
        cf_geometry shape = shape_of(buckets, crowd ? 2u << round % 3 : 4, 9 + round % 9);
        keys all = random_keys(crowd ? 400 : 1000);
        uint64_t step = UINT64_MAX / buckets;
        shape.counter_bits = (uint8_t)(round / 2 % 3 == 2 ? 1 + round % 8 : 0);
        test_filter probe = new_filter(shape);
        for (size_t i = 1; i < all.n && !crowd; i++) {
            cf_pair pair = cf_candidates(&probe.filter, all.hash[random_below(i)]);
            uint64_t like = pair.place[random_below(2)].bucket * step + step / 2;
            if (round < 20 && random_below(12) == 0)
                all.hash[i] = all.hash[random_below(i)];
            else if (round >= 20 && random_below(4) == 0)
                all.hash[i] = like >> 32 << 32 | pair.place[0].tag;
        }
        if (crowd)
            crowd_one_bucket(&probe.filter, &all, step * random_below(buckets) + step / 2);
        check_build(shape.bucket_size == 4 && round % 2 ? semisorted(shape) : shape, &all);
        free_filter(&probe);
        free(all.hash);
    }
}

/* ---- errors ---- */

/* More keys than there is room for, many of them copies and of a few buckets: wherever that is found out,
** those before *added are in, and the hashes are sorted. */
TEST(full_tables_say_where)
{
    unsigned full = 0;
    for (unsigned round = 0; round < 300; round++) {
        bool crowd = round >= 20;
        cf_geometry shape =
            crowd ? shape_of(200, 2u << round % 3, 12 + round % 7) : shape_of(1000 + 2 * round, 4, 12);
        keys all = random_keys(shape.capacity);
        size_t added = 0;
        shape.counter_bits = (uint8_t)(crowd && round % 4 == 3 ? 2 : 0);
        uint64_t few = 1 + random_below(3), step = UINT64_MAX / shape.buckets;
        for (size_t i = 0; i < all.n && crowd; i++)
            if (i > 0 && random_below(8) == 0)
                all.hash[i] = all.hash[i - 1];
            else if (random_below(3) != 0)
                all.hash[i] = (step * (random_below(few) * 60) + step / 2) >> 20 << 20 | (i + 1);
        test_filter made = new_filter(shape.bucket_size == 4 && round & 1 ? semisorted(shape) : shape);
        made.filter.memory = (cf_memory){round & 2 ? test_resize : NULL, UINT64_MAX, NULL};
        cf_status status = cf_add_many(&made.filter, all.hash, all.n, &added);
        assert_true(status == CF_FULL ? added < all.n : status == CF_OK && added == all.n);
        assert_true(crowd || (status == CF_FULL && added > shape.capacity * 9 / 10));
        for (size_t i = 1; i < all.n; i++)
            assert_true(all.hash[i - 1] <= all.hash[i]);
        full += status == CF_FULL;
        cf_seal(&made.filter);
        assert_holds(&made.filter, &all, added);
        free_filter(&made);
        free(all.hash);
    }
    assert_true(full > 50);
}

/* At every question: those before *added are in, and no hash is lost. */
TEST(building_is_interrupted)
{
    enum { N = 8000 };
    for (unsigned kind = 0; kind < 6; kind++) {
        keys all = random_keys(N), copy = random_keys(N);
        cf_status status = CF_INTERRUPTED;
        unsigned partly = 0;
        bool counts = kind % 3 == 2; /* then they are added in turn */
        sort_keys(&all);
        for (unsigned at = 1; status == CF_INTERRUPTED; at++) {
            cf_geometry shape = shape_of(N / 4 + 200, 4, 13);
            shape.counter_bits = counts ? 2 : 0;
            test_filter made = new_filter(kind % 3 == 1 ? semisorted(shape) : shape);
            asked by = {{answer, &by}, 0, at};
            size_t added = N + 1;
            memcpy(copy.hash, all.hash, N * sizeof *copy.hash);
            shuffle(&copy);
            made.filter.watch = &by.watch;
            made.filter.memory.resize = kind < 3 ? test_resize : NULL;
            status = cf_add_many(&made.filter, copy.hash, N, &added);
            assert_true(status == CF_OK || (status == CF_INTERRUPTED && by.questions == at));
            made.filter.watch = NULL;
            assert_holds(&made.filter, added > 0 ? &copy : &all, added);
            partly += added > 0 && added < N;
            sort_keys(&copy);
            assert_memory_equal(copy.hash, all.hash, N * sizeof *copy.hash);
            free_filter(&made);
        }
        assert_int_equal(status, CF_OK);
        assert_true(!counts || partly > 10);
        free(all.hash);
        free(copy.hash);
    }
}

/* Sorting does without memory, and the bytes are the same. */
TEST(memory_may_be_refused)
{
    enum { N = 10000 };
    for (unsigned kind = 0; kind < 3; kind++) {
        size_t added = 1;
        keys all = random_keys(N);
        cf_geometry shape = shape_for(N, 4, 12);
        shape = kind == 0 ? shape : kind == 1 ? semisorted(shape) : stashing(shape, 10, 200);
        test_filter with = filled(shape, &all, true), made = growing_filter(shape, UINT64_MAX);
        shuffle(&all);
        resizes_left = 0;
        cf_status status = cf_add_many(&made.filter, all.hash, all.n, &added);
        resizes_left = UINT64_MAX;
        assert_int_equal(status, CF_OK);
        assert_int_equal(added, all.n);
        cf_seal(&made.filter);
        assert_memory_equal(with.filter.bytes, made.filter.bytes, with.filter.length);
        free_filter(&with);
        free_filter(&made);
        free(all.hash);
    }
}

/* Copies of a key may meet in the stash, too. */
TEST(no_key_has_more_than_cap_in_slots_and_list)
{
    for (unsigned round = 0; round < 200; round++) {
        cf_geometry shape = stashing(shape_of(104, 2, 8), 0, 1000);
        shape.capacity = 400;
        shape.max_copies = 2;
        test_filter made = new_filter(shape);
        keys all = random_keys(300);
        const char *why;
        for (size_t i = 0; i < all.n; i++)
            all.hash[i] =
                all.hash[random_below(110)] ^ (random64() & UINT64_C(0xfffffff00)); /* the same to it */
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, NULL), CF_OK);
        assert_int_equal(cf_check(&made.filter, &why), CF_OK);
        free_filter(&made);
        free(all.hash);
    }
}

/* ---- filters that are not filled in one walk ---- */

/* A filter that was not sealed after its last change says that it is empty: its entries stay, also when there
** is no room for more, and when the look for them is interrupted before it comes to the first. */
TEST(a_header_that_counts_nothing_is_not_believed)
{
    enum { BUCKETS = 12000, N = 3000 };
    const char *why;
    for (unsigned kind = 0; kind < 6; kind++) {
        keys before = random_keys(N), all = random_keys(kind & 2 ? BUCKETS * 5 : N);
        cf_geometry shape = shape_of(BUCKETS, 4, 16);
        test_filter made = new_filter(kind & 1 ? semisorted(shape) : shape);
        for (size_t i = 0; i < N; i++) {
            cf_pair pair;
            do
                pair = cf_candidates(&made.filter, before.hash[i] = random64());
            while (pair.place[0].bucket < BUCKETS * 3 / 4 || pair.place[1].bucket < BUCKETS * 3 / 4);
            assert_int_equal(cf_add(&made.filter, before.hash[i]), CF_OK);
        }
        made.filter.items = made.filter.occupied = 0;
        cf_seal(&made.filter);
        cf_status status = CF_INTERRUPTED;
        size_t added = 0;
        for (unsigned at = kind & 4 ? 1 : 0; status == CF_INTERRUPTED; at++) {
            asked by = {{answer, &by}, 0, at};
            cf_filter again;
            assert_int_equal(cf_open_writable(&again, made.bytes, made.filter.length, &why), CF_OK);
            assert_true(again.items == 0 && again.occupied == 0);
            again.watch = &by.watch;
            shuffle(&all);
            status = cf_add_many(&again, all.hash, all.n, &added);
            assert_all_found(&again, &before);
            for (size_t i = 0; i < added; i++)
                assert_true(cf_contains(&again, all.hash[i]));
            again.items = again.occupied = 0;
            cf_seal(&again);
        }
        assert_int_equal(status, kind & 2 ? CF_FULL : CF_OK);
        free_filter(&made);
        free(before.hash);
        free(all.hash);
    }
}

/* One that tells of its pages is not filled in one walk, which tells of nothing. */
TEST(the_pager_is_told_of_all)
{
    enum { N = 900 };
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

/* An empty filter that was full once, and was about to grow, takes keys as others do. */
TEST(emptied_tables_keep_all_keys)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        cf_geometry shape = growing_shape(1100, kind == 3 ? 8 : 4, 12);
        shape.capacity = 3800;
        shape.value_bits = kind == 2 ? 5 : 0;
        test_filter made = growing_filter(kind == 1 ? semisorted(shape) : shape, UINT64_MAX);
        keys all = random_keys(10000);
        uint64_t length = made.filter.length;
        size_t n = 0;
        for (; made.filter.length == length; n++)
            assert_int_equal(cf_add(&made.filter, all.hash[n]), CF_OK);
        while (n > 0)
            cf_delete(&made.filter, all.hash[--n]);
        assert_int_equal(made.filter.occupied, 0);
        all.n = 3500;
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, NULL), CF_OK);
        assert_holds(&made.filter, &all, all.n);
        free_filter(&made);
        free(all.hash);
    }
}

/* No keys: nothing changes, and nobody is asked. (Keys end with a look at the stash.) */
TEST(no_keys_change_nothing)
{
    test_filter made = new_filter(stashing(shape_of(500, 4, 12), 100, 1200));
    keys all = random_keys(3000);
    for (size_t i = 0; i < all.n; i++)
        cf_add(&made.filter, all.hash[i]);
    for (size_t i = 0; i < 20; i++)
        cf_delete(&made.filter, all.hash[i]);
    asked by = {{answer, &by}, 0, 1};
    snapshot then = remember(&made.filter);
    assert_true(made.filter.stashed > 0);
    made.filter.watch = &by.watch;
    assert_int_equal(cf_add_many(&made.filter, all.hash, 0, NULL), CF_OK);
    assert_int_equal(by.questions, 0);
    assert_unchanged(&made.filter, &then);
    free(then.bytes);
    free_filter(&made);
    free(all.hash);
}

/* An empty table that has bytes to spare, because its growth was interrupted, takes its keys in turn. */
TEST(bytes_to_spare_mean_keys_in_turn)
{
    enum { N = 2000 };
    test_filter made[2];
    keys all = random_keys(N);
    for (unsigned i = 0; i < 2; i++) {
        made[i] = growing_filter(growing_shape(2700, 4, 12), UINT64_MAX);
        asked by = {{answer, &by}, 0, 1};
        made[i].filter.watch = &by.watch;
        assert_false(probe_split(&made[i].filter));
        made[i].filter.watch = NULL;
    }
    assert_int_equal(cf_add_many(&made[0].filter, all.hash, N, NULL), CF_OK);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(cf_add(&made[1].filter, all.hash[i]), CF_OK);
    assert_memory_equal(made[0].filter.bytes, made[1].filter.bytes, made[0].filter.length);
    free_filter(&made[0]);
    free_filter(&made[1]);
    free(all.hash);
}

/* It keeps them when there is no room. */
TEST(what_is_refused_keeps_bytes_to_spare)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        cf_geometry shape = growing_shape(2700, 4, 12); /* a capacity of more than it can take */
        test_filter made = growing_filter(kind ? semisorted(shape) : shape, UINT64_MAX);
        uint64_t plain = made.filter.length;
        keys all = random_keys(shape.capacity);
        asked by = {{answer, &by}, 0, 1};
        size_t added = 1;
        made.filter.watch = &by.watch;
        assert_false(probe_split(&made.filter));
        made.filter.watch = NULL;
        uint64_t length = made.filter.length;
        assert_true(length > plain && made.filter.buckets == 2700);
        made.filter.memory.resize = NULL;
        assert_int_equal(cf_add_many(&made.filter, all.hash, all.n, &added), CF_NEEDS_MEMORY);
        assert_true(made.filter.length == length);
        assert_holds(&made.filter, &all, added);
        free_filter(&made);
        free(all.hash);
    }
}
