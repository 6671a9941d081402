/* SPDX-License-Identifier: MIT */
/*
** growth_table.c - filters that grow far beyond what they were planned for, and what that costs.
**
**      growth_table          the journeys of RESULTS.md, to 2,000,000 keys
**      growth_table quick    to 200,000 keys
**
** A journey starts with an empty filter planned for few keys. At every 1.5-fold number of keys all
** keys are asked for, and the error rate is measured and compared with what is computed from the
** entries (cf_take_census). Then half the keys are deleted in random order, and the others asked
** for; then those are deleted as well. A key that is not found, or a delete that finds nothing,
** ends the program with an error.
**
**   keys      in the filter               x          as many times the planned number
**   slot      bits of a slot              by one     what it would be if W grew by one bit per level
**   load      items / slots in use        bits/key   8 * bytes / keys
**   void      void entries, share of the slots
**   fpr       computed; measured; measured / measured when the table was first full: at its first growth
**
** Then the cost: growing from 4,000 keys against building at the final size, key by key in the same
** order, the two taking turns, and the longest single add (which makes the blob longer).
*/
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cuckoo_inspect.h"
#include "../../src/format.h"

enum { PROBES = 2000000, FEWEST_ERRORS = 100 };

static const uint64_t absent_from = UINT64_C(1) << 40;

typedef struct journey {
    uint64_t planned, last;
    double rate;
    cf_filter filter;
    double first_rate; /* measured when it was first full */
    double worst, least_load;
} journey;

static uint8_t *resize(uint8_t *bytes, uint64_t size)
{
    return realloc(bytes, size);
}

static void release(cf_filter *filter)
{
    free(filter->view.writable - CF_HEADER_BYTES);
}

static void start(journey *trip, unsigned bucket_size)
{
    const char *why;
    cf_geometry shape;
    cf_options options = {.growth = true, .bucket_size = bucket_size};
    if (cf_plan(trip->planned, trip->rate, &options, &shape, &why) != CF_OK)
        bench_fail(why);
    cf_create(&trip->filter, &shape, bench_allocate(cf_geometry_bytes(&shape)));
    trip->filter.memory = (cf_memory){resize, UINT64_MAX};
    trip->least_load = 1;
    printf("\nplanned for %llu keys at %g: %u slots per bucket, %u bits, %llu buckets\n",
           (unsigned long long)trip->planned, trip->rate, shape.bucket_size, shape.fingerprint_bits,
           (unsigned long long)shape.buckets);
    printf("%9s%8s%6s%5s%7s%7s%9s%9s%11s%11s%7s\n", "keys", "x", "level", "slot", "by one", "load",
           "bits/key", "void", "fpr", "measured", "ratio");
}

static double measure_rate(const cf_filter *filter)
{
    uint64_t errors = 0, probes = 0;
    while (probes < PROBES || (errors < FEWEST_ERRORS && probes < 10 * PROBES))
        errors += cf_contains(filter, bench_random(absent_from + probes++));
    return (double)errors / (double)probes;
}

static void look_for_all(const cf_filter *filter, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        if (!cf_contains(filter, bench_random(i)))
            bench_fail("a key is not found");
}

static double load_of(const cf_filter *filter)
{
    return (double)filter->items / ((double)filter->buckets * filter->geometry.bucket_size);
}

/* The growth so far against what was promised. */
static double note_ratio(journey *trip, double measured)
{
    const cf_filter *f = &trip->filter;
    if (!f->view.grown)
        return NAN;
    if (trip->first_rate == 0)
        trip->first_rate = measured;
    double ratio = measured / trip->first_rate;
    trip->worst = ratio > trip->worst ? ratio : trip->worst;
    return ratio;
}

static void checkpoint(journey *trip, uint64_t keys)
{
    const cf_filter *f = &trip->filter;
    const char *why;
    cf_census census = cf_take_census(f);
    double measured = measure_rate(f);
    look_for_all(f, 0, keys);
    if (cf_check(f, &why) != CF_OK)
        bench_fail(why);
    unsigned f0 = f->geometry.fingerprint_bits;
    printf("%9llu%8.1f%6u%5u%7u%7.3f%9.2f%9.4f%11.3g%11.3g", (unsigned long long)keys,
           (double)keys / (double)trip->planned, f->level, f->view.form.lanes.width,
           f->view.grown ? f0 + 2 + f->level : f0, load_of(f), 8 * (double)f->length / (double)keys,
           (double)census.voids / ((double)f->buckets * f->geometry.bucket_size), census.fpr, measured);
    bench_cell(note_ratio(trip, measured), 7, 2);
    printf("\n");
    fflush(stdout);
}

static void grow_to_the_end(journey *trip)
{
    cf_filter *f = &trip->filter;
    uint64_t next = trip->planned;
    for (uint64_t i = 0; i < trip->last; i++) {
        bool was_grown = f->view.grown;
        if (cf_add(f, bench_random(i)) != CF_OK)
            bench_fail("a filter that may grow is full");
        if (f->view.grown && load_of(f) < trip->least_load)
            trip->least_load = load_of(f);
        if (i + 1 == next || i + 1 == trip->last || f->view.grown != was_grown)
            checkpoint(trip, i + 1);
        if (i + 1 == next)
            next += next / 2 + 1;
    }
}

/* The keys in random order. */
static uint64_t *shuffled(uint64_t n)
{
    uint64_t *order = bench_allocate(n * sizeof *order);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t j = bench_random(absent_from * 2 + i) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

typedef struct deletes {
    uint64_t absent, sticky;
} deletes;

static deletes delete_range(cf_filter *filter, const uint64_t *order, uint64_t from, uint64_t to)
{
    deletes seen = {0, 0};
    for (uint64_t i = from; i < to; i++) {
        cf_deleted how = cf_delete(filter, bench_random(order[i]));
        seen.absent += how == CF_ABSENT;
        seen.sticky += how == CF_STICKY;
    }
    if (seen.absent)
        bench_fail("a delete of a key that is there found nothing");
    return seen;
}

static void way_back(journey *trip)
{
    cf_filter *f = &trip->filter;
    uint64_t n = trip->last, *order = shuffled(n);
    deletes half = delete_range(f, order, 0, n / 2);
    for (uint64_t i = n / 2; i < n; i++)
        if (!cf_contains(f, bench_random(order[i])))
            bench_fail("a key is not found after half were deleted");
    uint64_t left_half = f->occupied;
    deletes rest = delete_range(f, order, n / 2, n);
    printf("half deleted: %llu items, %llu slots occupied, all others found, %llu deletes met sticky "
           "keys\n",
           (unsigned long long)(n - n / 2), (unsigned long long)left_half,
           (unsigned long long)half.sticky);
    printf(
        "all deleted: %llu slots stay occupied of %llu in use (%.2f %%), %llu deletes met sticky keys\n",
        (unsigned long long)f->occupied, (unsigned long long)f->buckets * f->geometry.bucket_size,
        100 * (double)f->occupied / ((double)f->buckets * f->geometry.bucket_size),
        (unsigned long long)(half.sticky + rest.sticky));
    free(order);
}

static void travel(uint64_t planned, double rate, uint64_t last, unsigned bucket_size)
{
    journey trip = {.planned = planned, .rate = rate, .last = last};
    start(&trip, bucket_size);
    grow_to_the_end(&trip);
    way_back(&trip);
    printf("least load since the first growth %.3f, error rate at most %.2f times the first full one\n",
           trip.least_load, trip.worst);
    release(&trip.filter);
}

/* ---- cost ---- */

static void plan_empty(uint64_t capacity, cf_filter *filter)
{
    const char *why;
    cf_geometry shape;
    cf_options options = {.growth = true};
    if (cf_plan(capacity, 0.01, &options, &shape, &why) != CF_OK)
        bench_fail(why);
    cf_create(filter, &shape, bench_allocate(cf_geometry_bytes(&shape)));
    filter->memory = (cf_memory){resize, UINT64_MAX};
}

/* Nanoseconds per key. */
static double fill(uint64_t capacity, uint64_t keys)
{
    cf_filter filter;
    plan_empty(capacity, &filter);
    double start = bench_seconds();
    for (uint64_t i = 0; i < keys; i++)
        if (cf_add(&filter, bench_random(i)) != CF_OK)
            bench_fail("full");
    double ns = bench_ns_since(start, keys);
    release(&filter);
    return ns;
}

/* Milliseconds of the longest add. */
static double longest_add(uint64_t capacity, uint64_t keys)
{
    cf_filter filter;
    double longest = 0, before = bench_seconds();
    plan_empty(capacity, &filter);
    for (uint64_t i = 0; i < keys; i++) {
        cf_add(&filter, bench_random(i));
        double now = bench_seconds();
        longest = now - before > longest ? now - before : longest;
        before = now;
    }
    release(&filter);
    return longest * 1e3;
}

static void measure_cost(uint64_t keys)
{
    bench_series grown = {.rounds = 0}, built = {.rounds = 0}, longest = {.rounds = 0};
    for (int round = 0; round < 5; round++) {
        bench_note(&grown, fill(4000, keys));
        bench_note(&built, fill(keys, keys));
        bench_note(&longest, longest_add(4000, keys));
    }
    printf("\n%llu keys at 0.01: grown from 4,000: %.0f ns per key; built at this size: %.0f; ratio "
           "%.2f; longest "
           "add %.2f ms\n",
           (unsigned long long)keys, bench_median(&grown), bench_median(&built),
           bench_median_ratio(&grown, &built), bench_median(&longest));
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    uint64_t last = quick ? 200000 : 2000000;
    travel(4000, 0.05, last, 0);
    travel(4000, 0.01, last, 0);
    travel(4000, 0.001, last, 0);
    travel(4000, 0.001, last, 2);
    travel(10, 0.01, quick ? 30000 : 300000, 0);
    travel(1, 0.01, quick ? 30000 : 300000, 0);
    measure_cost(last);
    return 0;
}
