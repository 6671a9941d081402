/* SPDX-License-Identifier: MIT */
/*
** counting_bloom.c - a counting Bloom filter: a counter of 4 bits in place of every bit.
**
** A counter that has reached 15 stays there: it no longer knows how many keys it stands for.
*/
#include "bloom.h"
#include "touch.h"

enum { STUCK = 15, WIDTH = 4 };

static void make(bench_filter *made, uint64_t bytes, unsigned bits)
{
    bloom_make(made, bytes, WIDTH, bits);
}

static unsigned counter(const bloom *filter, uint64_t place)
{
    bench_touch(filter->table + place / 2, 1);
    return filter->table[place / 2] >> 4 * (place % 2) & STUCK;
}

static bool contains(const void *state, uint64_t hash)
{
    const bloom *filter = state;
    for (unsigned i = 0; i < filter->places; i++)
        if (counter(filter, bloom_place(hash, i, filter->size)) == 0)
            return false;
    return true;
}

/* Adds 1 or -1, which wraps around, to every counter of the key. */
static void count(bloom *filter, uint64_t hash, int step)
{
    for (unsigned i = 0; i < filter->places; i++) {
        uint64_t place = bloom_place(hash, i, filter->size);
        if (counter(filter, place) != STUCK)
            filter->table[place / 2] =
                (uint8_t)(filter->table[place / 2] + step * (1 << 4 * (place % 2)));
    }
}

static bool add(void *state, uint64_t hash)
{
    count(state, hash, 1);
    return true;
}

static bool take_away(void *state, uint64_t hash)
{
    bool found = contains(state, hash);
    if (found)
        count(state, hash, -1);
    return found;
}

const bench_kind bench_counting_bloom = {
    .name = "counting Bloom",
    .bits = 13,
    .full = 1,
    .make = make,
    .add = add,
    .contains = contains,
    .remove = take_away,
    .expected = bloom_expected,
};
