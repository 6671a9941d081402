/* SPDX-License-Identifier: MIT */
/*
** size_table.c - what a filter for n keys at error rate e takes, and whether it keeps its word.
**
**      cc -O2 -o size_table size_table.c bench.c ../../src/?*.c -lm       (in tests/bench)
**      size_table          two tables, growth=on and growth=off; a few minutes
**      size_table quick    up to 100,000 keys, fewer probes
**
** Each line plans a filter for n keys, builds it from n random hashes, and prints
**
**   b f m0        bucket size, fingerprint bits, number of buckets, as planned
**   load          occupied slots / slots
**   bytes         of the blob, header and all; bits/key = 8 * bytes / n
**   log2(1/e)     bits per key below which no filter can go
**   pow2          bits per key if m0 had to be a power of two, same b and f (the paper's table)
**   expected      error rate by cf_expected_fpr, with n keys in
**   measured      share of absent keys answered "perhaps"; asked until 1,000 of them were, or the probes
**                 of the line are used up; "-" when that gives fewer than 100. With 1,000 errors the
**                 figure is good to about 3 % (one standard deviation).
*/
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/cuckoo_filter.h"

enum { WANTED_ERRORS = 1000, FEWEST_ERRORS = 100, BATCH = 100000 };

static const uint64_t counts[] = {10, 100, 1000, 12345, 100000, 1000000, 10000000};
static const double rates[] = {0.1, 0.03, 0.01, 0.001, 1e-4, 1e-6};

/* The streams of bench_random: keys count from 0. */
static const uint64_t absent_from = UINT64_C(1) << 40;

/* Adds n keys, those that a build would add, in the order of cf_build. */
static void build(cf_filter *filter, uint64_t n)
{
    uint64_t *hashes = bench_allocate(n * sizeof *hashes);
    for (uint64_t i = 0; i < n; i++)
        hashes[i] = bench_random(i);
    cf_sort(hashes, n, NULL);
    if (cf_add_many(filter, hashes, cf_drop_repeated(hashes, n), NULL) != CF_OK)
        bench_fail("a filter does not take the keys it was planned for");
    free(hashes);
}

static double measure_errors(const cf_filter *filter, uint64_t most_probes)
{
    uint64_t probes = 0, errors = 0;
    while (errors < WANTED_ERRORS && probes < most_probes)
        for (unsigned i = 0; i < BATCH; i++)
            errors += cf_contains(filter, bench_random(absent_from + probes++));
    return errors < FEWEST_ERRORS ? NAN : (double)errors / (double)probes;
}

static uint64_t next_power_of_two(uint64_t n)
{
    uint64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static double bits_per_key(const cf_geometry *shape, uint64_t buckets, uint64_t n)
{
    cf_geometry other = *shape;
    other.buckets = buckets;
    return 8 * (double)cf_geometry_bytes(&other) / (double)n;
}

static void print_rate(double rate)
{
    if (isnan(rate))
        printf("%12s", "-");
    else
        printf("%12.3g", rate);
}

static void print_line(uint64_t n, double rate, const cf_filter *filter, double measured)
{
    const cf_geometry *g = &filter->geometry;
    printf("%10llu%8g%4u%4u%10llu%7.3f%11llu", (unsigned long long)n, rate, g->bucket_size,
           g->fingerprint_bits, (unsigned long long)g->buckets,
           (double)filter->occupied / (double)cf_geometry_slots(g),
           (unsigned long long)cf_geometry_bytes(g));
    bench_cell(bits_per_key(g, g->buckets, n), 10, 2);
    bench_cell(-log2(rate), 11, 2);
    bench_cell(bits_per_key(g, next_power_of_two(g->buckets), n), 9, 2);
    print_rate(cf_expected_fpr(g, filter->occupied));
    print_rate(measured);
    printf("\n");
    fflush(stdout);
}

static void measure_line(uint64_t n, double rate, bool growth, uint64_t most_probes)
{
    const char *why;
    cf_filter filter;
    cf_geometry shape;
    cf_options options = {.growth = growth};
    if (cf_plan(n, rate, &options, &shape, &why) != CF_OK)
        bench_fail(why);
    uint8_t *bytes = bench_allocate(cf_geometry_bytes(&shape));
    cf_create(&filter, &shape, bytes);
    build(&filter, n);
    print_line(n, rate, &filter, measure_errors(&filter, most_probes));
    free(bytes);
}

static void measure_table(bool growth, size_t sizes, uint64_t most_probes)
{
    printf("growth=%s\n", growth ? "on" : "off");
    printf("%10s%8s%4s%4s%10s%7s%11s%10s%11s%9s%12s%12s\n", "n", "e", "b", "f", "m0", "load", "bytes",
           "bits/key", "log2(1/e)", "pow2", "expected", "measured");
    for (size_t i = 0; i < sizes; i++)
        for (size_t j = 0; j < sizeof rates / sizeof rates[0]; j++)
            measure_line(counts[i], rates[j], growth, most_probes);
    printf("\n");
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    size_t sizes = sizeof counts / sizeof counts[0] - (quick ? 2 : 0);
    uint64_t most_probes = quick ? 10000000 : 200000000;
    measure_table(true, sizes, most_probes);
    measure_table(false, sizes, most_probes);
    return 0;
}
