/* SPDX-License-Identifier: MIT */
/*
** capacity.c - does a filter take the keys that it was planned for, and for how long?
**
**      capacity full FOLDER [SEED]       a minute
**      capacity quick FOLDER [SEED]      a tenth of a second
**      capacity all FOLDER [SEED]        45 minutes: 100,000 turnovers
**
** Writes to FOLDER
** - builds.tsv: how many of so many builds did not fit into the planned table, with keys in random
**   order and sorted by hash, at the settings of a filter that may grow (here it must not, so that
**   the first failure is seen);
** - turnovers.tsv: filters of 1,000 keys, kept at their capacity while the oldest key leaves and a
**   new one comes: adds that were refused, sticky keys and bytes after so many turnovers, with the
**   planned cap and smaller ones.
*/
#include <stdlib.h>
#include <string.h>

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

/* ---- turnovers ---- */

enum { KEYS = 1000 };

/* The oldest key leaves, if it was taken, and a new one comes; returns the adds that were
** refused. */
static uint64_t turn_over(cf_filter *filter, uint64_t turnovers)
{
    static bool taken[KEYS];
    uint64_t refused = 0;
    memset(taken, 0, sizeof taken);
    for (uint64_t i = 0; i < (turnovers + 1) * KEYS; i++) {
        if (taken[i % KEYS])
            cf_delete(filter, bench_random(i - KEYS));
        taken[i % KEYS] = cf_add(filter, bench_random(i)) == CF_OK;
        refused += !taken[i % KEYS];
    }
    return refused;
}

static void measure_turnovers(FILE *out, cf_geometry shape, uint64_t turnovers)
{
    uint64_t before = cf_geometry_bytes(&shape);
    cf_filter filter = cuckoo_start(&shape);
    bench_progress("  %llu turnovers, growth %s, b = %u, f = %u, cap %u", (unsigned long long)turnovers,
                   shape.growth ? "on" : "off", shape.bucket_size, shape.fingerprint_bits, shape.cap);
    uint64_t refused = turn_over(&filter, turnovers);
    fprintf(out, "%s\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n", shape.growth ? "on" : "off",
            shape.bucket_size, shape.fingerprint_bits, shape.cap,
            (unsigned long long)cf_turnovers(&shape), (unsigned long long)turnovers,
            (unsigned long long)refused, (unsigned long long)cf_take_census(&filter).sticky,
            (unsigned long long)before, (unsigned long long)filter.length);
    fflush(out);
    free(filter.view.writable - 64);
}

/* With the planned cap; with one less; and with 2, 3 and 4 for b = 2, 4 and 8. */
static void with_several_caps(FILE *out, unsigned b, unsigned f, bool growth, uint64_t turnovers)
{
    cf_geometry shape = plan(KEYS, b, f, growth);
    uint8_t planned = shape.cap, simple = b == 2 ? 2 : b == 4 ? 3 : 4;
    measure_turnovers(out, shape, turnovers);
    if (shape.cap-- > simple + 1)
        measure_turnovers(out, shape, turnovers);
    shape.cap = simple;
    if (planned > simple)
        measure_turnovers(out, shape, turnovers);
}

static void all_turnovers(const char *folder, effort how_long)
{
    static const struct {
        unsigned b, first, last, step;
    } widths[] = {{4, 8, 16, 2}, {8, 8, 14, 3}, {2, 10, 16, 3}};
    static const uint64_t turnovers[] = {[QUICK] = 20, [FULL] = 2000, [ALL] = 100000};
    FILE *out =
        bench_table(folder, "turnovers",
                    "growth\tb\tf\tcap\tturnovers promised\tturnovers\trefused\tsticky\tbytes at the "
                    "start\tat the end");
    for (unsigned i = 0; i < sizeof widths / sizeof widths[0]; i++)
        for (unsigned f = widths[i].first; f <= widths[i].last; f += widths[i].step)
            for (int growth = 0; growth < 2; growth++)
                if (!growth || (widths[i].b == 2 ? f >= 12 : f >= 8))
                    with_several_caps(out, widths[i].b, f, growth, turnovers[how_long]);
    fclose(out);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    effort how_long = call.quick ? QUICK : call.all ? ALL : FULL;
    all_builds(call.folder, how_long);
    all_turnovers(call.folder, how_long);
    return 0;
}
