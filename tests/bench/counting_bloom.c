/* SPDX-License-Identifier: MIT */
/*
** counting_bloom.c - a counting Bloom filter: a counter of 4 bits in place of every bit.
**
** A counter that has reached 15 stays there: it no longer knows how many keys it stands for.
*/
#include "bloom.h"
#include "kinds.h"
#include "touch.h"

enum { STUCK = 15 };

typedef struct counting_bloom {
    uint64_t size; /* counters */
    uint64_t capacity;
    unsigned places;
    uint8_t table[]; /* two counters to a byte */
} counting_bloom;

static bool fits(unsigned bits)
{
    return bits >= 1;
}

static void *make(uint64_t bytes, unsigned bits)
{
    counting_bloom *filter = bench_allocate_zeroed(sizeof *filter + bytes);
    filter->size = 2 * bytes;
    filter->capacity = filter->size / bits;
    filter->places = bloom_places(bits);
    return filter;
}

static unsigned counter(const counting_bloom *filter, uint64_t place)
{
    bench_touch(filter->table + place / 2, 1);
    return filter->table[place / 2] >> 4 * (place % 2) & STUCK;
}

static bool contains(const void *state, uint64_t hash)
{
    const counting_bloom *filter = state;
    for (unsigned i = 0; i < filter->places; i++)
        if (counter(filter, bloom_place(hash, i, filter->size)) == 0)
            return false;
    return true;
}

/* Adds 1 or -1, which wraps around, to every counter of the key. */
static void count(counting_bloom *filter, uint64_t hash, int step)
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

static uint64_t slots(const void *state)
{
    return ((const counting_bloom *)state)->capacity;
}

static uint64_t bytes(const void *state)
{
    return ((const counting_bloom *)state)->size / 2;
}

static double expected(const void *state, uint64_t keys)
{
    const counting_bloom *filter = state;
    return bloom_expected((double)keys, filter->places, (double)filter->size);
}

const bench_kind bench_counting_bloom = {
    .name = "counting Bloom",
    .bits = 13,
    .full = 1,
    .fits = fits,
    .make = make,
    .add = add,
    .contains = contains,
    .remove = take_away,
    .slots = slots,
    .bytes = bytes,
    .expected = expected,
};
