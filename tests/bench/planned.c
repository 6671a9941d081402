/* SPDX-License-Identifier: MIT */
/*
** planned.c - building filters for the number of keys that the planner promises to take: table 3,
** second part.
**
**      planned full FOLDER [SEED]       192 MB; a minute, 1.3 GB of memory
**      planned quick FOLDER [SEED]      1 MB
**
** Finds the most keys that cf_plan puts into that many bytes (at most one build in a million
** fails), plain with f = 12 and semi-sorted with f = 13, b = 4, and builds the filter twice: keys
** added one by one in random order, and all at once (cf_add_many, which sorts them). Writes
** table3_planned.tsv to FOLDER: millions of keys per second.
*/
#include <stdlib.h>

#include "cuckoo.h"
#include "kinds.h"

typedef struct lab {
    uint64_t bytes, probes;
    FILE *out;
} lab;

static double speed(double start, uint64_t keys)
{
    return (double)keys / (bench_seconds() - start) / 1e6;
}

static double build_one_by_one(const cf_geometry *shape, uint64_t keys)
{
    cuckoo *made = cuckoo_make(shape);
    double start = bench_seconds();
    for (uint64_t i = 0; i < keys; i++)
        if (cf_add(&made->filter, bench_random(i)) != CF_OK)
            bench_fail("a filter does not take the keys it was planned for");
    double result = speed(start, keys);
    free(made);
    return result;
}

/* The filter is the caller's. */
static cuckoo *build_at_once(const cf_geometry *shape, uint64_t keys, double *result)
{
    cuckoo *made = cuckoo_make(shape);
    uint64_t *hashes = bench_allocate(keys * sizeof *hashes);
    for (uint64_t i = 0; i < keys; i++)
        hashes[i] = bench_random(i);
    made->filter.memory = (cf_memory){cuckoo_resize, made->filter.length, NULL};
    double start = bench_seconds();
    if (cf_add_many(&made->filter, hashes, keys, NULL) != CF_OK)
        bench_fail("a filter does not take the keys it was planned for");
    *result = speed(start, keys);
    free(hashes);
    return made;
}

static double error_percent(const cf_filter *filter, uint64_t probes)
{
    uint64_t errors = 0;
    for (uint64_t i = 0; i < probes; i++)
        errors += cf_contains(filter, bench_random(BENCH_ABSENT + i));
    return 100 * (double)errors / (double)probes;
}

static void write_space(const lab *in, const char *name, const cf_filter *f)
{
    fprintf(in->out, "%s\t%u\t%.2f\t%.4f\t%.2f\t%.4f\t%.4f", name, f->geometry.fingerprint_bits,
            (double)f->items / 1e6, (double)f->occupied / (double)cf_geometry_slots(&f->geometry),
            8 * (double)f->length / (double)f->items, 100 * cf_expected_fpr(&f->geometry, f->occupied),
            error_percent(f, in->probes));
}

static void measure(const lab *in, const char *name, cf_layout layout, unsigned f)
{
    cf_options options = {.bucket_size = 4, .fingerprint_bits = f, .layout = layout};
    cf_geometry shape;
    double at_once;
    uint64_t keys = cuckoo_planned(in->bytes, &options, &shape);
    bench_progress("%s, %.1f million keys", name, (double)keys / 1e6);
    double one_by_one = build_one_by_one(&shape, keys);
    cuckoo *made = build_at_once(&shape, keys, &at_once);
    write_space(in, name, &made->filter);
    fprintf(in->out, "\t%.3f\t%.3f\n", one_by_one, at_once);
    free(made);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    lab in = {.bytes = (uint64_t)(call.quick ? 1 : 192) << 20,
              .probes = call.quick ? 300000 : 20000000,
              .out =
                  bench_table(call.folder, "table3_planned",
                              "filter\tf\tmillion keys\tload\tbits per key\texpected error %\tmeasured "
                              "error %\tone by one, M keys/s\tat once, M keys/s")};
    measure(&in, "cuckoo", CF_LAYOUT_PLAIN, 12);
    measure(&in, "semi-sorted cuckoo", CF_LAYOUT_SEMISORT, 13);
    fclose(in.out);
    return 0;
}
