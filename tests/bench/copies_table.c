/* SPDX-License-Identifier: MIT */
/*
** copies_table.c - what growth costs when keys repeat, and when they do not.
**
**      copies_table          the table of RESULTS.md
**      copies_table quick    a tenth of the keys
**
** Each filter starts empty and grows. Keys come `copies` times each: in turn (all copies of a key
** together) or in rounds (all keys once, then all again). A key that is not found, or an add that
** is refused, ends the program with an error.
**
**   bits/key   8 * bytes / keys            items     items / slots in use
**   bits/slot  of keys, occupied / slots   fpr       measured / measured when the table was first full
*/
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/geometry.h"
#include "../../src/cuckoo_inspect.h"

enum { PROBES = 4000000 };

static const uint64_t absent_from = UINT64_C(1) << 40;

typedef struct journey {
    unsigned b, counter_bits;
    uint64_t planned, keys;
    unsigned copies;
    bool rounds;
} journey;

static const journey journeys[] = {
    {4, 0, 1000, 100000, 2, false},  {4, 0, 1000, 100000, 2, true},   {4, 0, 1000, 100000, 3, true},
    {4, 0, 10, 300000, 4, false},    {4, 0, 10, 300000, 4, true},     {4, 0, 1000, 100000, 4, false},
    {4, 0, 1000, 100000, 4, true},   {8, 0, 1000, 100000, 5, false},  {8, 0, 1000, 100000, 5, true},
    {4, 4, 1000, 100000, 4, true},   {4, 4, 1000, 100000, 40, false}, {4, 4, 1000, 100000, 40, true},
    {4, 0, 10000, 1000000, 1, true}, {4, 0, 4000, 2000000, 1, true},  {8, 0, 10000, 1000000, 1, true},
};

static uint8_t *resize(uint8_t *bytes, uint64_t size)
{
    if (size > 0)
        return realloc(bytes, size);
    free(bytes);
    return NULL;
}

static cf_filter new_filter(const journey *trip)
{
    const char *why;
    cf_geometry shape;
    cf_filter filter;
    cf_options options = {.growth = true, .bucket_size = trip->b, .counter_bits = trip->counter_bits};
    if (cf_plan(trip->planned, 0.01, &options, &shape, &why) != CF_OK)
        bench_fail(why);
    cf_create(&filter, &shape, bench_allocate(cf_geometry_bytes(&shape)));
    filter.memory = (cf_memory){resize, UINT64_MAX};
    return filter;
}

static double measure_rate(const cf_filter *filter)
{
    uint64_t errors = 0;
    for (uint64_t i = 0; i < PROBES; i++)
        errors += cf_contains(filter, bench_random(absent_from + i));
    return (double)errors / PROBES;
}

/* Adds a key; notes the error rate just after the first growth. */
static void add(cf_filter *filter, uint64_t key, double *first_rate)
{
    bool grown = filter->view.grown;
    if (cf_add(filter, bench_random(key)) != CF_OK)
        bench_fail("an add is refused");
    if (filter->view.grown != grown)
        *first_rate = measure_rate(filter);
}

static double add_all(cf_filter *filter, const journey *trip)
{
    double first_rate = 0;
    uint64_t n = trip->keys * trip->copies;
    for (uint64_t i = 0; i < n; i++)
        add(filter, trip->rounds ? i % trip->keys : i / trip->copies, &first_rate);
    return first_rate;
}

static void travel(const journey *trip)
{
    const char *why;
    cf_filter filter = new_filter(trip);
    double start = bench_seconds(), first = add_all(&filter, trip), seconds = bench_seconds() - start;
    for (uint64_t i = 0; i < trip->keys; i++)
        if (!cf_contains(&filter, bench_random(i)))
            bench_fail("a key is not found");
    if (cf_check(&filter, &why) != CF_OK)
        bench_fail(why);
    double slots = (double)(filter.buckets * trip->b), bits = 8 * (double)filter.length;
    double rate = measure_rate(&filter);
    printf("%2u%4u%5u%9u%8llu%9llu%7u  %-7s%8u%10.2f%9.3f%8.3f%9.4f%8.2f%8.1f\n", trip->b,
           filter.geometry.fingerprint_bits, filter.geometry.cap, trip->counter_bits,
           (unsigned long long)trip->planned, (unsigned long long)trip->keys, trip->copies,
           trip->rounds ? "rounds" : "turn", filter.level, bits / (double)trip->keys,
           (double)filter.items / slots, (double)filter.occupied / slots, rate, rate / first, seconds);
    fflush(stdout);
    free(filter.view.writable - CF_HEADER_BYTES);
}

int main(int n, char **argument)
{
    bool quick = n > 1 && strcmp(argument[1], "quick") == 0;
    printf(" b   f  cap counters planned     keys copies  order      level  bits/key    items occupied  fpr "
           "    ratio seconds\n");
    for (size_t i = 0; i < sizeof journeys / sizeof *journeys; i++) {
        journey trip = journeys[i];
        trip.keys /= quick ? 10 : 1;
        travel(&trip);
    }
    return 0;
}
