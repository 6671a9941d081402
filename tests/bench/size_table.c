/* SPDX-License-Identifier: MIT */
/*
** size_table.c - what a filter for n keys at error rate e takes, and whether it keeps its word.
**
**      size_table full FOLDER [SEED]       up to ten million keys, two minutes
**      size_table quick FOLDER [SEED]      up to 100,000 keys, fewer probes
**
** Each line of sizes.tsv plans a filter for n keys, growth=on or off, and builds it from n random
** hashes:
**
**   b f buckets   bucket size, fingerprint bits, number of buckets, as planned
**   load          occupied slots / slots
**   bytes         of the blob, header and all; bits per key = 8 * bytes / n
**   power of two  bits per key if the buckets had to be a power of two, same b and f (the paper's table)
**   log2(1/e)     bits per key below which no filter can go
**   expected      error rate by cf_expected_fpr, with n keys in
**   measured      share of absent keys answered "perhaps"; asked until 1,000 of them were, or the probes
**                 of the line are used up; "-" when that gives fewer than 10. With 1,000 errors the
**                 figure is good to about 3 % (one standard deviation).
*/
#include "bench.h"
#include "cuckoo.h"

#include <math.h>
#include <stdlib.h>

#include "../../src/cuckoo_filter.h"

enum { WANTED_ERRORS = 1000, FEWEST_ERRORS = 10, BATCH = 10000 };

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

static void write_rate(FILE *out, double rate)
{
    if (isnan(rate))
        fprintf(out, "\t-");
    else
        fprintf(out, "\t%.3g", rate);
}

static void write_line(FILE *out, uint64_t n, const cf_filter *filter, double measured)
{
    const cf_geometry *g = &filter->geometry;
    fprintf(out, "\t%u\t%u\t%llu\t%.3f\t%llu", g->bucket_size, g->fingerprint_bits,
            (unsigned long long)g->buckets, (double)filter->occupied / (double)cf_geometry_slots(g),
            (unsigned long long)cf_geometry_bytes(g));
    bench_field(out, bits_per_key(g, g->buckets, n), 2);
    bench_field(out, bits_per_key(g, next_power_of_two(g->buckets), n), 2);
    write_rate(out, cf_expected_fpr(g, filter->occupied));
    write_rate(out, measured);
    fprintf(out, "\n");
}

static void measure_line(FILE *out, uint64_t n, double rate, bool growth, uint64_t most_probes)
{
    cf_filter filter;
    cf_options options = {.growth = growth};
    cf_geometry shape = cuckoo_plan(n, rate, &options);
    uint8_t *bytes = bench_allocate(cf_geometry_bytes(&shape));
    cf_create(&filter, &shape, bytes);
    build(&filter, n);
    fprintf(out, "%s\t%llu\t%g\t%.2f", growth ? "on" : "off", (unsigned long long)n, rate, -log2(rate));
    write_line(out, n, &filter, measure_errors(&filter, most_probes));
    free(bytes);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "sizes",
                            "growth\tkeys\terror rate\tlog2(1/e)\tb\tf\tbuckets\tload\tbytes\tbits per "
                            "key\tpower of two\texpected\tmeasured");
    size_t sizes = sizeof counts / sizeof counts[0] - (call.quick ? 2 : 0);
    for (int growth = 1; growth >= 0; growth--)
        for (size_t i = 0; i < sizes; i++)
            for (size_t j = 0; j < sizeof rates / sizeof rates[0]; j++)
                measure_line(out, counts[i], rates[j], growth, call.quick ? 100000 : 20000000);
    fclose(out);
    return 0;
}
