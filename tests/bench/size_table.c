/* SPDX-License-Identifier: MIT */
/*
** size_table.c - what a filter for n keys at error rate e takes, and whether it keeps its word.
**
** sizes.tsv: filters are planned, and built from n random hashes. log2(1/e) are bits per key below
** which no filter can go; "measured", the share of absent keys answered "perhaps": asked until 1,000 of
** them were (good to about 3 %, one standard deviation), or the probes are used up; "-" for fewer than
** 10.
**
** Fingerprints have whole numbers of bits, so a filter errs less often than was asked for. asked.tsv and
** asked_ranges.tsv compare it with a Bloom filter of the rate that was asked for, by the planner.
*/
#include "bench.h"

#include <math.h>
#include <stdlib.h>

enum { WANTED_ERRORS = 1000, FEWEST_ERRORS = 10, BATCH = 10000 };

static const uint64_t counts[] = {10, 100, 1000, 12345, 100000, 1000000, 10000000};
static const double rates[] = {0.1, 0.03, 0.01, 0.001, 1e-4, 1e-6};

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
            errors += cf_contains(filter, bench_random(BENCH_ABSENT + probes++));
    return errors < FEWEST_ERRORS ? NAN : (double)errors / (double)probes;
}

static void write_line(FILE *out, uint64_t n, const cf_filter *filter, double measured)
{
    const cf_geometry *g = &filter->geometry;
    fprintf(out, "\t%u\t%u\t%llu\t%.3f\t%llu", g->bucket_size, g->fingerprint_bits,
            (unsigned long long)g->buckets, (double)filter->occupied / (double)cf_geometry_slots(g),
            (unsigned long long)cf_geometry_bytes(g));
    bench_field(out, "%.2f", 8 * (double)cf_geometry_bytes(g) / (double)n);
    bench_field(out, "%.3g", cf_expected_fpr(g, filter->occupied));
    bench_field(out, "%.3g", measured);
    fprintf(out, "\n");
}

static void measure_line(FILE *out, uint64_t n, double rate, bool growth, uint64_t most_probes)
{
    cf_options options = {.growth = growth};
    cf_geometry shape = bench_plan(n, rate, &options);
    cf_filter filter = bench_make(&shape);
    build(&filter, n);
    fprintf(out, "%s\t%llu\t%g\t%.2f", growth ? "on" : "off", (unsigned long long)n, rate, -log2(rate));
    write_line(out, n, &filter, measure_errors(&filter, most_probes));
    bench_drop(&filter);
}

/* ---- by the planner alone, beside a Bloom filter of exactly the rate that is asked for ---- */

typedef struct offer {
    double bits, error;
} offer;

/* For n places a key: 1 - (1 - e^(1/n))^(1/n) of the bits are set. */
static double bloom_bits(double rate)
{
    double least = INFINITY;
    for (int places = 1; places < 64; places++)
        least = fmin(least, -places / log1p(-pow(rate, 1.0 / places)));
    return least;
}

static offer ours(uint64_t keys, double rate, bool growth)
{
    cf_options options = {.growth = growth};
    cf_geometry shape = bench_plan(keys, rate, &options);
    return (offer){8 * (double)cf_geometry_bytes(&shape) / (double)keys, cf_expected_fpr(&shape, keys)};
}

static void write_asked(const char *folder, const uint64_t *sizes, unsigned n)
{
    static const double percent[] = {5,    4,    3,    2.5,  2,     1.9,   1.5,  1.31, 1.25,
                                     1.18, 1.1,  1,    0.8,  0.5,   0.4,   0.3,  0.2,  0.1,
                                     0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001};
    FILE *out = bench_table(folder, "asked",
                            "keys\tasked %\tlog2(1/e)\tBloom\tgrowth off\tdefault\terror %, growth "
                            "off\terror %, default\tsmaller, growth off\tsmaller, default");
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < sizeof percent / sizeof percent[0]; j++) {
            double rate = percent[j] / 100, bloom = bloom_bits(rate);
            offer fixed = ours(sizes[i], rate, false), grows = ours(sizes[i], rate, true);
            fprintf(out, "%llu\t%g\t%.2f\t%.2f\t%.2f\t%.2f\t%.4g\t%.4g\t%s\t%s\n",
                    (unsigned long long)sizes[i], percent[j], -log2(rate), bloom, fixed.bits, grows.bits,
                    100 * fixed.error, 100 * grows.error, fixed.bits <= bloom ? "ours" : "Bloom",
                    grows.bits <= bloom ? "ours" : "Bloom");
        }
    fclose(out);
}

/* Stretches of rates, in steps of the factor `step`, in which a Bloom filter is smaller. */
static void write_ranges(FILE *out, uint64_t keys, bool growth, double step)
{
    static const double from = 0.05, to = 0.00001;
    double start = 0, last = 0, worst = 0;
    for (double rate = from; rate >= to; rate *= step) {
        double times = ours(keys, rate, growth).bits / bloom_bits(rate);
        bool bloom = times > 1, ends = !bloom || rate * step < to;
        start = bloom && start == 0 ? rate : start;
        last = bloom ? rate : last;
        worst = bloom ? fmax(worst, times) : worst;
        if (start > 0 && ends) {
            fprintf(out, "%llu\t%s\t%.4g\t%.4g\t%.3f\n", (unsigned long long)keys, growth ? "on" : "off",
                    100 * start, 100 * last, worst);
            start = worst = 0;
        }
    }
}

static void measure_asked(const bench_call *call)
{
    static const uint64_t sizes[] = {1000, 10000, 1000000, 100000000};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    write_asked(call->folder, sizes, SIZES);
    FILE *out =
        bench_table(call->folder, "asked_ranges", "keys\tgrowth\tfrom %\tto %\tours / Bloom, at most");
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned growth = 0; growth < 2; growth++)
            write_ranges(out, sizes[i], growth, call->quick ? 0.95 : 0.99);
    fclose(out);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "sizes",
                            "growth\tkeys\terror rate\tlog2(1/e)\tb\tf\tbuckets\tload\tbytes\tbits per "
                            "key\texpected\tmeasured");
    size_t sizes = sizeof counts / sizeof counts[0] - (call.quick ? 2 : 0);
    for (int growth = 1; growth >= 0; growth--)
        for (size_t i = 0; i < sizes; i++)
            for (size_t j = 0; j < sizeof rates / sizeof rates[0]; j++)
                measure_line(out, counts[i], rates[j], growth, call.quick ? 100000 : 20000000);
    fclose(out);
    measure_asked(&call);
    return 0;
}
