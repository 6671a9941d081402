/* SPDX-License-Identifier: MIT */
/*
** contains.h - cf_contains, as it stands in the program that calls it.
**
** Here are the lookups in filters that cannot grow, in memory, with buckets of whole bytes that fit a
** word: f = 8, 10, 12, 14 or 16 in four slots that are not semi-sorted (lanes.h). A call would cost
** half as much again. cf_contains_any is the call, for every filter.
*/
#ifndef CF_CONTAINS_H
#define CF_CONTAINS_H

#include "../cuckoo_view.h"

bool cf_contains_any(const cf_filter *filter, uint64_t hash);

CF_INLINE bool cf_contains(const cf_filter *filter, uint64_t hash)
{
#ifdef CF_HAS_WIDE
    const cf_view *view = &filter->view;
    uint64_t tag = hash & view->inline_mask;
    if (__builtin_expect(tag != 0, 1)) {
        uint64_t m0 = filter->geometry.buckets, bytes = view->bucket_bytes;
        uint64_t base = cf_high_product(hash, m0);
        uint64_t sum = cf_high_product(cf_pair_mix(tag), m0) | 1;
        uint64_t other = sum < base ? sum - base + m0 : sum - base;
        uint64_t here = cf_load64(view->table + base * bytes);
        uint64_t there = cf_load64(view->table + other * bytes);
        uint64_t ones = view->form.ones, wanted = ~(tag * ones);
        here ^= wanted;
        there ^= wanted;
        return (((here & ~(here + ones)) | (there & ~(there + ones))) & view->form.highs) != 0;
    }
#endif
    return cf_contains_any(filter, hash);
}

#endif
