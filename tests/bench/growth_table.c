/* SPDX-License-Identifier: MIT */
/*
** growth_table.c - filters that grow far beyond what they were planned for, and what that costs.
**
** A journey starts with an empty filter planned for few keys. At every 1.5-fold number of keys, and
** when the filter grows for the first time, all keys are asked for, and the error rate is measured:
** growth.tsv. A key that
** is not found ends the program with an error.
**
**   at           the number of keys that was waited for, or "first growth"
**   times        as many times the planned number as are in the filter
**   slot         bits of a slot
**   load         items / slots in use        bits per key   8 * bytes / keys
**   ratio        error rate measured / measured when the table grew first
**
** growth_cost.tsv: growing from 4,000 keys against building at the final size, key by key in the
** same order.
*/
#include "bench.h"
#include "cuckoo.h"

#include <math.h>
#include <stdlib.h>

#include "../../src/cuckoo_inspect.h"

enum { FEWEST_ERRORS = 100 };

static uint64_t probes_at_least = 2000000;

static const uint64_t absent_from = UINT64_C(1) << 40;

typedef struct journey {
    uint64_t planned, last;
    double rate;
    unsigned bucket_size; /* 0: the planner's */
    cf_filter filter;
    double first_rate; /* measured when it grew first */
} journey;

static FILE *forth;

static void start(journey *trip)
{
    cf_options options = {.growth = true, .bucket_size = trip->bucket_size};
    cf_geometry shape = cuckoo_plan(trip->planned, trip->rate, &options);
    trip->filter = cuckoo_start(&shape);
    trip->bucket_size = shape.bucket_size;
}

static void write_name(FILE *out, const journey *trip)
{
    fprintf(out, "%llu\t%g\t%u", (unsigned long long)trip->planned, trip->rate, trip->bucket_size);
}

static double measure_rate(const cf_filter *filter)
{
    uint64_t errors = 0, probes = 0;
    while (probes < probes_at_least || (errors < FEWEST_ERRORS && probes < 10 * probes_at_least))
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
    return measured / trip->first_rate;
}

/* `awaited`: 0 for the first growth. */
static void checkpoint(journey *trip, uint64_t keys, uint64_t awaited)
{
    const cf_filter *f = &trip->filter;
    const char *why;
    double measured = measure_rate(f);
    look_for_all(f, 0, keys);
    if (cf_check(f, &why) != CF_OK)
        bench_fail(why);
    write_name(forth, trip);
    if (awaited)
        fprintf(forth, "\t%llu", (unsigned long long)awaited);
    else
        fprintf(forth, "\tfirst growth");
    fprintf(forth, "\t%llu\t%.2f\t%u\t%u\t%.4f\t%.2f\t%.3g", (unsigned long long)keys,
            (double)keys / (double)trip->planned, f->level, f->view.form.lanes.width, load_of(f),
            8 * (double)f->length / (double)keys, measured);
    bench_field(forth, note_ratio(trip, measured), 3);
    fprintf(forth, "\n");
}

static void grow_to_the_end(journey *trip)
{
    cf_filter *f = &trip->filter;
    uint64_t next = trip->planned;
    for (uint64_t i = 0; i < trip->last; i++) {
        bool was_grown = f->view.grown;
        if (cf_add(f, bench_random(i)) != CF_OK)
            bench_fail("a filter that may grow is full");
        if (f->view.grown != was_grown)
            checkpoint(trip, i + 1, 0);
        if (i + 1 == next || i + 1 == trip->last)
            checkpoint(trip, i + 1, i + 1);
        if (i + 1 == next)
            next += next / 2 + 1;
    }
}

static void travel(uint64_t planned, uint64_t last, double rate, unsigned bucket_size)
{
    journey trip = {.planned = planned, .last = last, .rate = rate, .bucket_size = bucket_size};
    bench_progress("planned for %llu at %g", (unsigned long long)trip.planned, trip.rate);
    start(&trip);
    grow_to_the_end(&trip);
    cuckoo_drop(&trip.filter);
}

static void measure_journeys(const bench_call *call, uint64_t last)
{
    forth = bench_table(call->folder, "growth",
                        "planned\trate asked\tb\tat\tkeys\ttimes\tlevel\tslot\tload\tbits per "
                        "key\tmeasured\tratio");
    travel(4000, last, 0.01, 0);
    if (!call->quick) {
        travel(4000, last, 0.05, 0);
        travel(4000, last, 0.001, 0);
        travel(4000, last, 0.001, 2);
        travel(10, 300000, 0.01, 0);
        travel(1, 300000, 0.01, 0);
    }
    fclose(forth);
}

/* ---- cost ---- */

static cf_filter planned_for(uint64_t capacity)
{
    cf_options options = {.growth = true};
    cf_geometry shape = cuckoo_plan(capacity, 0.01, &options);
    return cuckoo_start(&shape);
}

/* Nanoseconds per key. */
static double fill(uint64_t capacity, uint64_t keys)
{
    cf_filter filter = planned_for(capacity);
    double start = bench_seconds();
    for (uint64_t i = 0; i < keys; i++)
        if (cf_add(&filter, bench_random(i)) != CF_OK)
            bench_fail("full");
    double ns = bench_ns_since(start, keys);
    cuckoo_drop(&filter);
    return ns;
}

static void measure_cost(const bench_call *call, uint64_t keys)
{
    FILE *out = bench_table(call->folder, "growth_cost",
                            "keys\tgrown, ns per key\tbuilt, ns per key\tgrown / built");
    double grown = fill(4000, keys), built = fill(keys, keys);
    fprintf(out, "%llu\t%.2f\t%.2f\t%.3f\n", (unsigned long long)keys, grown, built, grown / built);
    fclose(out);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    uint64_t last = call.quick ? 50000 : 2000000;
    if (call.quick)
        probes_at_least = 50000;
    measure_journeys(&call, last);
    measure_cost(&call, call.quick ? 200000 : last);
    return 0;
}
