/* SPDX-License-Identifier: MIT */
/*
** copies_table.c - what growth costs when keys repeat, and when they do not.
**
**      copies_table full FOLDER [SEED]       half a minute
**      copies_table quick FOLDER [SEED]      a twentieth of the keys, fewer ways
**
** Each filter starts empty and grows. Keys come `copies` times each: in turn (all copies of a key
** together) or in rounds (all keys once, then all again). A key that is not found, or an add that
** is refused, ends the program with an error. copies.tsv:
**
**   bits per key   8 * bytes / keys            items     items / slots in use
**   occupied       slots, share                measured  error rate; ratio: to that when the table grew first
*/
#include "bench.h"
#include "cuckoo.h"

#include <math.h>

#include "../../src/cuckoo_inspect.h"
#include "../../src/shape/geometry.h"

static unsigned probes = 1000000;

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

static cf_filter new_filter(const journey *trip)
{
    cf_options options = {.growth = true, .bucket_size = trip->b, .counter_bits = trip->counter_bits};
    cf_geometry shape = cuckoo_plan(trip->planned, 0.01, &options);
    return cuckoo_start(&shape);
}

static double measure_rate(const cf_filter *filter)
{
    uint64_t errors = 0;
    for (uint64_t i = 0; i < probes; i++)
        errors += cf_contains(filter, bench_random(absent_from + i));
    return (double)errors / probes;
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

static void travel(FILE *out, const journey *trip)
{
    const char *why;
    cf_filter filter = new_filter(trip);
    double first = add_all(&filter, trip);
    for (uint64_t i = 0; i < trip->keys; i++)
        if (!cf_contains(&filter, bench_random(i)))
            bench_fail("a key is not found");
    if (cf_check(&filter, &why) != CF_OK)
        bench_fail(why);
    double slots = (double)(filter.buckets * trip->b), bits = 8 * (double)filter.length;
    double rate = measure_rate(&filter);
    fprintf(out, "%u\t%u\t%llu\t%llu\t%u\t%s\t%u\t%u\t%u\t%.2f\t%.4f\t%.4f\t%.3g", trip->b,
            trip->counter_bits, (unsigned long long)trip->planned, (unsigned long long)trip->keys,
            trip->copies,
            trip->copies == 1 ? "once"
            : trip->rounds    ? "rounds"
                              : "turn",
            filter.geometry.fingerprint_bits, filter.geometry.cap, filter.level,
            bits / (double)trip->keys, (double)filter.items / slots, (double)filter.occupied / slots,
            rate);
    bench_field(out, first > 0 ? rate / first : (double)NAN, 3);
    fprintf(out, "\n");
    cuckoo_drop(&filter);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "copies",
                            "b\tcounter bits\tplanned\tkeys\tcopies\torder\tf\tcap\tlevel\tbits per "
                            "key\titems\toccupied\tmeasured\tratio");
    probes /= call.quick ? 20 : 1;
    for (size_t i = 0; i < sizeof journeys / sizeof *journeys; i++) {
        journey trip = journeys[i];
        trip.keys /= call.quick ? 20 : 1;
        if (!call.quick || (trip.copies > 1 && trip.copies <= 4 && trip.planned > 10))
            travel(out, &trip);
    }
    fclose(out);
    return 0;
}
