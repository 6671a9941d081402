/* SPDX-License-Identifier: MIT */
/*
** planned.c - building filters for the number of keys that the planner promises to take: table 3,
** second part.
**
**      planned full FOLDER          192 MB; about two minutes, 1.3 GB of memory
**      planned quick FOLDER         3 MB; a second
**
** Finds the most keys that cf_plan puts into that many bytes (at most one build in a million
** fails), plain with f = 12 and semi-sorted with f = 13, b = 4, and builds the filter twice: keys
** added one by one in random order, and sorted (cf_sort) and added in that order (cf_add_many).
** Writes table3_planned.tsv to FOLDER: millions of keys per second, medians over the rounds.
*/
#include <stdlib.h>
#include <string.h>

#include "cuckoo.h"
#include "kinds.h"

typedef struct lab {
    uint64_t bytes, probes;
    unsigned rounds;
    FILE *out;
} lab;

typedef struct speeds {
    bench_series one_by_one, sort, sorted;
} speeds;

static void note(bench_series *series, double start, uint64_t keys)
{
    bench_note(series, (double)keys / (bench_seconds() - start) / 1e6);
}

static void build_one_by_one(const cf_geometry *shape, uint64_t keys, bench_series *series)
{
    cuckoo *made = cuckoo_make(shape);
    double start = bench_seconds();
    for (uint64_t i = 0; i < keys; i++)
        if (cf_add(&made->filter, bench_random(i)) != CF_OK)
            bench_fail("a filter does not take the keys it was planned for");
    note(series, start, keys);
    free(made);
}

/* The filter is the caller's. */
static cuckoo *build_sorted(const cf_geometry *shape, uint64_t keys, speeds *of)
{
    cuckoo *made = cuckoo_make(shape);
    uint64_t *hashes = bench_allocate(keys * sizeof *hashes);
    for (uint64_t i = 0; i < keys; i++)
        hashes[i] = bench_random(i);
    double start = bench_seconds();
    cf_sort(hashes, keys, NULL);
    size_t distinct = cf_drop_repeated(hashes, keys);
    note(&of->sort, start, keys);
    start = bench_seconds();
    if (cf_add_many(&made->filter, hashes, distinct, NULL) != CF_OK)
        bench_fail("a filter does not take the keys it was planned for");
    note(&of->sorted, start, keys);
    free(hashes);
    return made;
}

static void write_row(const lab *in, const char *name, const cuckoo *made, const speeds *of)
{
    const cf_filter *f = &made->filter;
    uint64_t errors = 0;
    for (uint64_t i = 0; i < in->probes; i++)
        errors += cf_contains(f, bench_random(BENCH_ABSENT + i));
    double sort = bench_median(&of->sort), sorted = bench_median(&of->sorted);
    fprintf(in->out, "%s\t%u\t%.2f\t%.4f\t%.2f\t%.4f\t%.4f\t%.2f\t%.2f\t%.2f\t%.2f\n", name,
            f->geometry.fingerprint_bits, (double)f->items / 1e6,
            (double)f->occupied / (double)cf_geometry_slots(&f->geometry),
            8 * (double)f->length / (double)f->items, 100 * cf_expected_fpr(&f->geometry, f->occupied),
            100 * (double)errors / (double)in->probes, bench_median(&of->one_by_one), sort, sorted,
            1 / (1 / sort + 1 / sorted));
}

static void measure(const lab *in, const char *name, cf_layout layout, unsigned f)
{
    cf_options options = {.bucket_size = 4, .fingerprint_bits = f, .layout = layout};
    cf_geometry shape;
    speeds of = {.sort.rounds = 0};
    cuckoo *made = NULL;
    uint64_t keys = cuckoo_planned(in->bytes, &options, &shape);
    for (unsigned round = 0; round < in->rounds; round++) {
        bench_progress("  %s, %.1f million keys, round %u of %u", name, (double)keys / 1e6, round + 1,
                       in->rounds);
        free(made);
        build_one_by_one(&shape, keys, &of.one_by_one);
        made = build_sorted(&shape, keys, &of);
    }
    write_row(in, name, made, &of);
    free(made);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        bench_fail("usage: planned full|quick FOLDER");
    bool quick = strcmp(argv[1], "quick") == 0;
    lab in = {.bytes = (uint64_t)(quick ? 3 : 192) << 20,
              .probes = quick ? 1000000 : 100000000,
              .rounds = quick ? 3 : 1,
              .out =
                  bench_table(argv[2], "table3_planned",
                              "filter\tf\tmillion keys\tload\tbits per key\texpected error %\tmeasured "
                              "error %\tone by one, M keys/s\tsort\tadd sorted\tsort and add")};
    measure(&in, "cuckoo", CF_LAYOUT_PLAIN, 12);
    measure(&in, "semi-sorted cuckoo", CF_LAYOUT_SEMISORT, 13);
    fclose(in.out);
    return 0;
}
