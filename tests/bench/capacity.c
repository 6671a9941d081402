/* SPDX-License-Identifier: MIT */
/*
** capacity.c - does a filter take the keys that it was planned for?
**
**      capacity full FOLDER [SEED]       a minute
**      capacity quick FOLDER [SEED]      a tenth of a second
**      capacity all FOLDER [SEED]        many more builds
**
** Writes builds.tsv to FOLDER: how many of so many builds did not fit into the planned table, with
** keys in random order and sorted by hash, at the settings of a filter that may grow (here it must
** not, so that the first failure is seen).
*/
#include <stdlib.h>

#include "bench.h"

#include "../../src/cuckoo_inspect.h"
#include "cuckoo.h"

typedef enum effort { QUICK, FULL, ALL } effort;

static cf_geometry plan(uint64_t keys, unsigned b, unsigned f, bool growth)
{
    cf_options options = {
        .bucket_size = b, .fingerprint_bits = f, .layout = CF_LAYOUT_PLAIN, .growth = growth};
    return cuckoo_plan(keys, 0, &options);
}

/* ---- builds ---- */

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
    cf_geometry shape = plan(keys, 4, f, true);
    cuckoo *made = cuckoo_make(&shape);
    uint64_t *hashes = bench_allocate(keys * sizeof *hashes), failed = 0;
    bench_progress("  %llu builds of %llu keys, f = %u%s", (unsigned long long)builds,
                   (unsigned long long)keys, f, sorted ? ", sorted" : "");
    for (uint64_t i = 0; i < builds; i++)
        failed += !fits(&made->filter, hashes, keys, sorted, i);
    fprintf(out, "%llu\t%u\t%s\t%.4f\t%llu\t%llu\n", (unsigned long long)keys, f,
            sorted ? "sorted" : "random", (double)keys / (double)cf_geometry_slots(&shape),
            (unsigned long long)builds, (unsigned long long)failed);
    fflush(out);
    free(hashes);
    free(made);
}

static void all_builds(const char *folder, effort how_long)
{
    static const uint64_t
        sizes[] = {10000, 100000, 1000000},
        builds[][3] = {[QUICK] = {5, 1, 0}, [FULL] = {300, 100, 10}, [ALL] = {10000, 10000, 1000}};
    FILE *out = bench_table(folder, "builds", "keys\tf\torder\tload\tbuilds\tdid not fit");
    for (unsigned size = 0; size < 3; size++)
        for (unsigned f = 10; f <= 16; f += 3)
            for (int sorted = 0; sorted < 2 && builds[how_long][size]; sorted++)
                measure_builds(out, sizes[size], f, sorted, builds[how_long][size]);
    fclose(out);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    effort how_long = call.quick ? QUICK : call.all ? ALL : FULL;
    all_builds(call.folder, how_long);
    return 0;
}
