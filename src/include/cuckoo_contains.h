/* SPDX-License-Identifier: MIT */
/*
** cuckoo_contains.h - cf_contains, as it stands in the program that calls it.
**
** A call (cf_contains_any, for every filter) would cost half as much again where the filter cannot grow,
** is in memory, and has four slots of 8, 10, 12, 14 or 16 bits, not semi-sorted (lanes.h).
*/
#ifndef CF_CONTAINS_H
#define CF_CONTAINS_H

#include "cuckoo_view.h"

bool cf_contains_any(const cf_filter *filter, uint64_t hash);

CF_INLINE bool cf_contains(const cf_filter *filter, uint64_t hash)
{
#ifdef CF_HAS_WIDE
    const cf_view *view = &filter->view;
    if (CF_LIKELY(view->whole != 0)) {
        uint64_t m0 = filter->geometry.buckets, fingerprint = view->fingerprint_mask;
        hash = cf_key_bits(hash, fingerprint);
        uint64_t mix = cf_pair_mix(hash & fingerprint), base = cf_high_product(hash, m0);
        uint64_t other = cf_alternate_base(m0, base, mix);
        uint64_t wanted = (hash & fingerprint) * view->form.ones;
        uint64_t here = cf_load64(view->table + base * view->whole);
        uint64_t there = cf_load64(view->table + other * view->whole);
        return (cf_zeros(&view->form, here ^ wanted) | cf_zeros(&view->form, there ^ wanted)) != 0;
    }
#endif
    return cf_contains_any(filter, hash);
}

#endif
