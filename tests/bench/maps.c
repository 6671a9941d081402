/* SPDX-License-Identifier: MIT */
/*
** maps.c - more than membership: values, copies, counters (sections 3.1 and 6 of the paper).
**
** values.tsv: the paper has 1 + e values for a key that is there, e for one that is not. Its own value
** must always be among those of a key. counters.tsv: filters grow from so many keys.
*/
#include <math.h>

#include "bench.h"

static cf_filter plan(uint64_t keys, double rate, const cf_options *options)
{
    cf_geometry shape = bench_plan(keys, rate, options);
    cf_filter filter = bench_make(&shape);
    filter.memory = bench_memory;
    return filter;
}

/* ---- values ---- */

enum { VALUE_BITS = 8 };

static uint64_t value_of(uint64_t key)
{
    return bench_random(BENCH_ABSENT * 4 + key) >> (64 - VALUE_BITS);
}

typedef struct answers {
    uint64_t values, right, among;
} answers;

static answers ask_values(const cf_filter *filter, uint64_t from, uint64_t n)
{
    answers sum = {0, 0, 0};
    for (uint64_t key = from; key < from + n; key++) {
        uint64_t all[CF_VALUES_MAX], value = 0;
        unsigned found = cf_get_all(filter, bench_random(key), all);
        sum.values += found;
        sum.right += cf_get(filter, bench_random(key), &value) && value == value_of(key);
        for (unsigned i = 0; i < found; i++)
            sum.among += all[i] == value_of(key);
    }
    return sum;
}

static void measure_values(FILE *out, uint64_t keys, double rate)
{
    cf_options options = {.value_bits = VALUE_BITS};
    cf_filter filter = plan(keys, rate, &options);
    for (uint64_t key = 0; key < keys; key++)
        if (cf_add_value(&filter, bench_random(key), value_of(key)) != CF_OK)
            bench_fail("full");
    double e = cf_expected_fpr(&filter.geometry, filter.occupied), n = (double)keys;
    answers there = ask_values(&filter, 0, keys), absent = ask_values(&filter, BENCH_ABSENT, keys);
    if (there.among != keys)
        bench_fail("the value of a key is not among its values");
    fprintf(out, "%llu\t%g\t%.2f\t%.4g\t%.5f\t%.5f\t%.5f\t%.5f\t%.3f\n", (unsigned long long)keys,
            100 * rate, 8 * (double)filter.length / n, 100 * e, 1 + e, (double)there.values / n, e,
            (double)absent.values / n, 100 * (double)there.right / n);
    bench_drop(&filter);
}

/* ---- counters ---- */

static void add_rounds(cf_filter *filter, uint64_t keys, unsigned copies)
{
    for (uint64_t i = 0; i < keys * copies; i++)
        if (cf_add(filter, bench_random(i % keys)) != CF_OK)
            bench_fail("an add is refused");
}

static void measure_counters(FILE *out, uint64_t keys, unsigned counter_bits, unsigned copies)
{
    cf_options options = {.growth = true, .counter_bits = counter_bits};
    cf_filter filter = plan(keys, 0.01, &options);
    uint64_t exact = 0, counted = 0, left = 0;
    add_rounds(&filter, keys, copies);
    for (uint64_t key = 0; key < keys; key++) {
        uint64_t count = cf_count(&filter, bench_random(key));
        if (count == 0)
            bench_fail("a key is not found");
        counted += count;
        exact += count == copies;
    }
    double bits = 8 * (double)filter.length / (double)keys;
    for (uint64_t i = 0; i < keys * copies; i++)
        cf_delete(&filter, bench_random(i % keys));
    for (uint64_t key = 0; key < keys; key++)
        left += cf_contains(&filter, bench_random(key));
    fprintf(out, "%u\t%u\t%.2f\t%.2f\t%.2f\t%.2f\n", counter_bits, copies, bits,
            100 * (double)exact / (double)keys, (double)counted / (double)keys,
            100 * (double)left / (double)keys);
    bench_drop(&filter);
}

int main(int argc, char **argv)
{
    static const unsigned copies[] = {1, 2, 3, 4, 5, 6, 8, 15, 16, 17, 40, 255, 256};
    static const unsigned bits[] = {0, 2, 4, 8};
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "values",
                            "keys\tasked %\tbits per key\te %\tpresent: 1 + e\tpresent: "
                            "values\tabsent: e\tabsent: values\tright %");
    for (double rate = 0.03; rate > 0.0005; rate /= rate > 0.02 ? 3 : 10)
        measure_values(out, call.quick ? 20000 : 1000000, rate);
    fclose(out);
    out = bench_table(call.folder, "counters",
                      "counter bits\tcopies\tbits per key\texact %\tcount\tleft %");
    for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++)
        for (unsigned j = 0; j < sizeof copies / sizeof copies[0]; j++)
            measure_counters(out, call.quick ? 200 : 10000, bits[i], copies[j]);
    fclose(out);
    return 0;
}
