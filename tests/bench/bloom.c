/* SPDX-License-Identifier: MIT */
/*
** bloom.c - a standard Bloom filter with the best number of bits per key.
*/
#include "bloom.h"

#include <math.h>

#include "touch.h"

double bloom_expected(const void *state, uint64_t keys)
{
    const bloom *filter = state;
    return pow(-expm1(-((double)keys * filter->places) / (double)filter->size), filter->places);
}

/* The fewest errors: `bits` per key times the natural logarithm of 2. */
void bloom_make(bench_filter *made, uint64_t bytes, unsigned width, unsigned bits)
{
    bloom *filter = bench_allocate_zeroed(sizeof *filter + bytes);
    unsigned places = (unsigned)(bits * 0.693147 + 0.5);
    filter->size = 8 * bytes / width;
    filter->places = places > 0 ? places : 1;
    made->state = filter;
    made->slots = filter->size / bits;
    made->bytes = bytes;
}

static void make(bench_filter *made, uint64_t bytes, unsigned bits)
{
    bloom_make(made, bytes, 1, bits);
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

const bench_kind bench_bloom = {
    .name = "Bloom",
    .bits = 13,
    .full = 1,
    .make = make,
    .add = add,
    .contains = contains,
    .expected = bloom_expected,
};
