/* SPDX-License-Identifier: MIT */
/*
** capacity.c - builds.tsv: does a filter take the keys that it was planned for?
**
** How many of so many builds did not fit into the planned table, with keys in random order and sorted
** by hash, at the settings of a filter that may grow (here it must not, so that the first failure is
** seen).
*/
#include <stdlib.h>

#include "bench.h"

/* One build of keys that no other build has. */
static bool fits(cf_filter *filter, uint64_t *hashes, uint64_t keys, bool sorted, uint64_t build)
{
    cf_clear(filter);
    for (uint64_t i = 0; i < keys; i++)
        hashes[i] = bench_random(build * keys + i);
    if (sorted)
        return cf_add_many(filter, hashes, keys, NULL) == CF_OK;
    for (uint64_t i = 0; i < keys; i++)
        if (cf_add(filter, hashes[i]) != CF_OK)
            return false;
    return true;
}

static void measure_builds(FILE *out, uint64_t keys, unsigned f, bool sorted, uint64_t builds)
{
    cf_options options = {
        .bucket_size = 4, .fingerprint_bits = f, .layout = CF_LAYOUT_PLAIN, .growth = true};
    cf_geometry shape = bench_plan(keys, 0, &options);
    cf_filter filter = bench_make(&shape);
    uint64_t *hashes = bench_allocate(keys * sizeof *hashes), failed = 0;
    bench_progress("  %llu builds of %llu keys, f = %u%s", (unsigned long long)builds,
                   (unsigned long long)keys, f, sorted ? ", sorted" : "");
    for (uint64_t i = 0; i < builds; i++)
        failed += !fits(&filter, hashes, keys, sorted, i);
    fprintf(out, "%llu\t%u\t%s\t%.4f\t%llu\t%llu\n", (unsigned long long)keys, f,
            sorted ? "sorted" : "random", (double)keys / (double)cf_geometry_slots(&shape),
            (unsigned long long)builds, (unsigned long long)failed);
    fflush(out);
    free(hashes);
    bench_drop(&filter);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {10000, 100000, 1000000}, quick[] = {5, 1, 0},
                          full[] = {300, 100, 10};
    bench_call call = bench_read_call(argc, argv);
    const uint64_t *builds = call.quick ? quick : full;
    FILE *out = bench_table(call.folder, "builds", "keys\tf\torder\tload\tbuilds\tdid not fit");
    for (unsigned size = 0; size < 3; size++)
        for (unsigned f = 10; f <= 16; f += 3)
            for (int sorted = 0; sorted < 2 && builds[size]; sorted++)
                measure_builds(out, sizes[size], f, sorted, builds[size]);
    fclose(out);
    return 0;
}
