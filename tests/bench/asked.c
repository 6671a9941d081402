/* SPDX-License-Identifier: MIT */
/*
** asked.c - bits per key for the error rate that is asked for, beside a Bloom filter of that rate:
** figures 3 and 4 of the paper as a user meets them.
**
**      asked full FOLDER          a second
**      asked quick FOLDER         the same, fewer steps
**
** Fingerprints have whole numbers of bits, so a cuckoo filter errs less often than was asked for. Who
** compares it with a Bloom filter of the rate that it happens to have (figure 4) sees none of the
** steps. Nothing is filled here: the planner says what a filter takes, header included, and the Bloom
** filter is the best that a whole number of places per key allows.
**
** Writes, to FOLDER:
**   asked.tsv           bits per key: Bloom; ours, growth off and as SQL makes it by default (growth
**                       on), and the error rates that come out; smaller: whether ours or Bloom is,
**                       growth off and default
**   asked_ranges.tsv    between which rates, from 5 % to 0.001 %, a Bloom filter is smaller
*/
#include <math.h>

#include "bench.h"
#include "cuckoo.h"

#include "../../src/cuckoo_filter.h"

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
    cf_geometry shape = cuckoo_plan(keys, rate, &options);
    return (offer){8 * (double)cf_geometry_bytes(&shape) / (double)keys, cf_expected_fpr(&shape, keys)};
}

static const char *smaller(double bloom, double taken)
{
    return taken <= bloom ? "ours" : "Bloom";
}

static void write_asked(const char *folder, const uint64_t *sizes, unsigned n)
{
    static const double rates[] = {5,    4,    3,    2.5,  2,     1.9,   1.5,  1.31, 1.25,
                                   1.18, 1.1,  1,    0.8,  0.5,   0.4,   0.3,  0.2,  0.1,
                                   0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001};
    FILE *out = bench_table(folder, "asked",
                            "keys\tasked %\tlog2(1/e)\tBloom\tgrowth off\tdefault\terror %, growth "
                            "off\terror %, default\tsmaller, growth off\tsmaller, default");
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < sizeof rates / sizeof rates[0]; j++) {
            double rate = rates[j] / 100, bloom = bloom_bits(rate);
            offer fixed = ours(sizes[i], rate, false), grows = ours(sizes[i], rate, true);
            fprintf(out, "%llu\t%g\t%.2f\t%.2f\t%.2f\t%.2f\t%.4g\t%.4g\t%s\t%s\n",
                    (unsigned long long)sizes[i], rates[j], -log2(rate), bloom, fixed.bits, grows.bits,
                    100 * fixed.error, 100 * grows.error, smaller(bloom, fixed.bits),
                    smaller(bloom, grows.bits));
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

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {1000, 10000, 1000000, 100000000};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    bench_call call = bench_read_call(argc, argv);
    write_asked(call.folder, sizes, SIZES);
    FILE *out =
        bench_table(call.folder, "asked_ranges", "keys\tgrowth\tfrom %\tto %\tours / Bloom, at most");
    for (unsigned i = 0; i < SIZES; i++)
        for (unsigned growth = 0; growth < 2; growth++)
            write_ranges(out, sizes[i], growth, call.quick ? 0.95 : 0.99);
    fclose(out);
    return 0;
}
