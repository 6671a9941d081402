/* SPDX-License-Identifier: MIT */
/*
** growth.c - growth.tsv: a filter that grows far beyond what it was planned for: 4,096 keys at 1 %, at
** 5 % and at 0.1 %; and what knowing the last number of keys is worth ("planned"). "times": its bits over
** those of a filter that is planned for so many keys.
*/
#include "../../src/include/cuckoo_inspect.h"
#include "bench.h"

enum { PLANNED = 4096 };

typedef struct system {
    const char *name;
    double rate;
    bool knows; /* how many keys come */
} system_of;

static const system_of systems[] = {
    {"ours", 0.01, false},
    {"ours, asked for 5 %", 0.05, false},
    {"ours, asked for 0.1 %", 0.001, false},
    {"ours, planned", 0.01, true},
};
static const unsigned times_planned[] = {1, 2, 8, 32, 200, 1000};

/* The share that is found of n keys from `from` on, in an order without pattern; *ns of a lookup. */
static double ask(const cf_filter *filter, uint64_t from, uint64_t keys, uint64_t n, double *ns)
{
    uint64_t found = 0;
    double start = bench_seconds();
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = bench_scale(bench_random((UINT64_C(1) << 55) + i), keys);
        found += cf_contains(filter, bench_random(from + key));
    }
    *ns = bench_ns_since(start, n);
    return (double)found / (double)n;
}

static void look(FILE *out, const system_of *of, const cf_filter *filter, uint64_t keys, uint64_t probes,
                 double seconds)
{
    cf_options options = {.growth = true};
    cf_geometry known = bench_plan(keys, of->rate, &options);
    double hit, miss;
    const char *why;
    if (ask(filter, 0, keys, probes, &hit) < 1)
        bench_fail("a key is not found");
    double errors = ask(filter, BENCH_ABSENT, UINT32_MAX, probes, &miss);
    if (cf_check(filter, &why) != CF_OK)
        bench_fail(why);
    fprintf(out, "%s\t%llu\t%.4f\t%.2f\t%.3f\t%.1f\t%.1f\t%.1f\n", of->name,
            (unsigned long long)(keys / PLANNED), 100 * errors,
            8 * (double)filter->length / (double)keys,
            (double)filter->length / (double)cf_geometry_bytes(&known), hit, miss,
            1e9 * seconds / (double)keys);
}

static void measure(FILE *out, const system_of *of, uint64_t last, uint64_t probes)
{
    cf_options options = {.growth = true};
    cf_geometry shape = bench_plan(of->knows ? last : PLANNED, of->rate, &options);
    cf_filter filter = bench_make(&shape);
    filter.memory = bench_memory;
    uint64_t keys = 0;
    double seconds = 0;
    bench_progress("  %s", of->name);
    for (unsigned i = 0; keys < last; i++) {
        double start = bench_seconds();
        for (; keys < times_planned[i] * (uint64_t)PLANNED; keys++)
            if (cf_add(&filter, bench_random(keys)) != CF_OK)
                bench_fail("a filter that may grow is full");
        seconds += bench_seconds() - start;
        cf_seal(&filter);
        if (!of->knows || keys == last)
            look(out, of, &filter, keys, probes, seconds);
    }
    bench_drop(&filter);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out =
        bench_table(call.folder, "growth",
                    "system\ttimes planned\terror %\tbits per key\ttimes\thit ns\tmiss ns\tadd ns");
    for (unsigned i = 0; i < sizeof systems / sizeof *systems; i++)
        measure(out, &systems[i], (uint64_t)PLANNED * (call.quick ? 32 : 1000),
                call.quick ? 20000 : 1000000);
    fclose(out);
    return 0;
}
