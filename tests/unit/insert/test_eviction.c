/* SPDX-License-Identifier: MIT */
/* Paths along which entries move: how long one may be. */
#include "../../probe.h"
#include "../test.h"

/* A hash whose two buckets are these. */
static uint64_t hash_of_pair(const cf_filter *filter, uint64_t base, uint64_t other)
{
    uint64_t step = UINT64_MAX / filter->geometry.buckets, hash;
    do
        hash = ((base * step + step / 2) & ~UINT64_C(0xffff)) | (random64() & 0xffff);
    while (cf_candidates(filter, hash).place[0].bucket != base ||
           cf_candidates(filter, hash).place[1].bucket != other);
    return hash;
}

/* Fills a bucket with entries that can only move to another one. */
static void lead(cf_filter *filter, uint64_t from, uint64_t to)
{
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        assert_true(probe_put(filter, hash_of_pair(filter, from, to), 0, 0));
}

/* Two rows of buckets lead away from those of a key, and never branch. The bucket of a node that is far along such a row
** would take long to find: a search goes on for some buckets, and not without end. */
TEST(rows_without_branches_are_followed_for_a_while)
{
    enum { ROW = 250, NEAR = 75, FAR_AWAY = 82 };
    for (unsigned moves = NEAR; moves <= FAR_AWAY; moves += FAR_AWAY - NEAR) {
        test_filter made = new_filter(shape_of(2 * ROW + 2, 2, 16));
        cf_filter *filter = &made.filter;
        for (uint64_t i = 0; i < ROW; i++) {
            if (i < moves) /* else there is room */
                lead(filter, ROW - i, ROW - i - 1);
            lead(filter, ROW + 1 + i, ROW + 2 + i);
        }
        snapshot then = remember(filter);
        uint64_t hash = hash_of_pair(filter, ROW, ROW + 1);
        assert_int_equal(cf_add(filter, hash), moves == NEAR ? CF_OK : CF_FULL);
        assert_int_equal(cf_contains(filter, hash), moves == NEAR);
        if (moves != NEAR)
            assert_unchanged(filter, &then);
        assert_sound(filter);
        free(then.bytes);
        free_filter(&made);
    }
}

/* A long search needs more bits for what it has seen than a short one: with those of a short one, too many buckets seem
** to be seen, and filters with two slots in a bucket are full at 0.883. */
TEST(long_searches_see_most_buckets_once)
{
    enum { FILTERS = 4, BUCKETS = 200000 };
    uint64_t kept = 0;
    for (uint64_t n = 0; n < FILTERS; n++) {
        test_filter made = new_filter(shape_of(BUCKETS, 2, 20));
        uint64_t x = n, hash; /* the same keys in each run: loads differ by 0.001 */
        do {
            x += UINT64_C(0x9e3779b97f4a7c15);
            hash = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
        } while (cf_add(&made.filter, hash ^ hash >> 31) == CF_OK);
        kept += made.filter.items;
        free_filter(&made);
    }
    print_message("load %.4f\n", (double)kept / (2.0 * BUCKETS * FILTERS));
    assert_true(kept >= 2.0 * BUCKETS * FILTERS * 0.884);
}
