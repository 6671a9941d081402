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
