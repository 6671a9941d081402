/* SPDX-License-Identifier: MIT */
/*
** many_keys.h - random keys, and what a filter must say of them.
*/
#ifndef CUCKOO_MANY_KEYS_H
#define CUCKOO_MANY_KEYS_H

#include "test.h"

typedef struct keys {
    uint64_t *hash;
    size_t n;
} keys;

static inline keys random_keys(size_t n)
{
    keys made = {malloc((n + 1) * sizeof *made.hash), n};
    for (size_t i = 0; i < n; i++)
        made.hash[i] = random64();
    return made;
}

static inline void shuffle(keys *all)
{
    for (size_t i = all->n; i > 1; i--) {
        size_t j = random_below(i);
        uint64_t x = all->hash[i - 1];
        all->hash[i - 1] = all->hash[j];
        all->hash[j] = x;
    }
}

/* All keys are there, with as many copies at least as were added, and nothing is wrong inside. */
static inline void assert_holds(const cf_filter *filter, const keys *sorted, size_t n)
{
    uint64_t copies = 0;
    assert_true(filter->items == n);
    for (size_t i = 0; i < n; i++) {
        copies = i > 0 && sorted->hash[i - 1] == sorted->hash[i] ? copies + 1 : 1;
        uint64_t counted = cf_count(filter, sorted->hash[i]);
        uint64_t most = filter->geometry.counter_bits ? (uint64_t)1 << filter->geometry.counter_bits
                                                      : filter->geometry.cap;
        assert_true(cf_contains(filter, sorted->hash[i]));
        assert_true(counted >= (copies < most ? copies : most));
    }
    assert_sound(filter);
}

#endif
