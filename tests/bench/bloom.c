/* SPDX-License-Identifier: MIT */
/*
** bloom.c - a standard Bloom filter with the best number of bits per key.
*/
#include "bloom.h"

#include <math.h>

#include "kinds.h"
#include "touch.h"

typedef struct bloom {
    uint64_t size; /* bits */
    uint64_t capacity;
    unsigned places;
    uint8_t table[];
} bloom;

double bloom_expected(double keys, unsigned places, double size)
{
    return pow(-expm1(-(keys * places) / size), places);
}

static bool fits(unsigned bits)
{
    return bits >= 1;
}

static void *make(uint64_t bytes, unsigned bits)
{
    bloom *filter = bench_allocate_zeroed(sizeof *filter + bytes);
    filter->size = 8 * bytes;
    filter->capacity = filter->size / bits;
    filter->places = bloom_places(bits);
    return filter;
}

static bool add(void *state, uint64_t hash)
{
    bloom *filter = state;
    for (unsigned i = 0; i < filter->places; i++) {
        uint64_t place = bloom_place(hash, i, filter->size);
        filter->table[place / 8] |= (uint8_t)(1 << place % 8);
    }
    return true;
}

static bool contains(const void *state, uint64_t hash)
{
    const bloom *filter = state;
    for (unsigned i = 0; i < filter->places; i++) {
        uint64_t place = bloom_place(hash, i, filter->size);
        bench_touch(filter->table + place / 8, 1);
        if (!(filter->table[place / 8] >> place % 8 & 1))
            return false;
    }
    return true;
}

static uint64_t slots(const void *state)
{
    return ((const bloom *)state)->capacity;
}

static uint64_t bytes(const void *state)
{
    return ((const bloom *)state)->size / 8;
}

static double expected(const void *state, uint64_t keys)
{
    const bloom *filter = state;
    return bloom_expected((double)keys, filter->places, (double)filter->size);
}

const bench_kind bench_bloom = {
    .name = "Bloom",
    .bits = 13,
    .full = 1,
    .fits = fits,
    .make = make,
    .add = add,
    .contains = contains,
    .slots = slots,
    .bytes = bytes,
    .expected = expected,
};
