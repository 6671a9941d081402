/* SPDX-License-Identifier: MIT */
/*
** load_factor.c - how full a table gets, against the bits of a fingerprint: figure 2 of the paper.
**
**      load_factor full FOLDER           m = 2^15, 2^20, 2^24 buckets; about three minutes
**      load_factor quick FOLDER          m = 2^10, 2^15; a few seconds
**
** Tables of b = 1, 2, 4, 8 slots, growth off, are filled with random hashes until one is refused.
** Writes figure2.tsv to FOLDER: the least load of the trials, as the paper does, and the mean. In
** large tables short fingerprints name too few alternate buckets.
*/
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "cuckoo.h"

#include "../../src/cuckoo_inspect.h"

/* Tables of 2^log2_buckets; fingerprints from CF_FINGERPRINT_MIN to LAST_BITS, `step` apart. */
typedef struct series {
    unsigned log2_buckets, trials, step;
} series;

enum { LAST_BITS = 16, AHEAD = 16 /* keys */ };

/* Large tables are not in the cache: the buckets of a later key are fetched while earlier ones are
** added. */
static void fetch(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_candidates(filter, hash);
    for (unsigned i = 0; i < pair.sides; i++)
        __builtin_prefetch(filter->view.table + pair.place[i].bucket * filter->view.form.bucket_bits / 8);
}

/* The load at the first failure, for one stream of hashes. */
static double fill(cf_filter *filter, uint64_t stream)
{
    uint64_t i = stream << 40;
    cf_clear(filter);
    while (cf_add(filter, bench_random(i)) == CF_OK)
        fetch(filter, bench_random(AHEAD + i++));
    return (double)filter->occupied / (double)cf_geometry_slots(&filter->geometry);
}

static void measure(FILE *out, const series *of, unsigned b, unsigned f)
{
    cf_geometry shape = cuckoo_shape((uint64_t)1 << of->log2_buckets, b, f);
    cuckoo *table = cuckoo_make(&shape);
    double least = 1, sum = 0;
    for (unsigned trial = 1; trial <= of->trials; trial++) {
        double load = fill(&table->filter, trial);
        least = load < least ? load : least;
        sum += load;
    }
    fprintf(out, "%u\t%u\t%u\t%u\t%.4f\t%.4f\n", of->log2_buckets, b, f, of->trials, least,
            sum / of->trials);
    free(table);
}

int main(int argc, char **argv)
{
    static const series full[] = {{15, 10, 1}, {20, 2, 1}, {24, 1, 6}},
                        quick[] = {{10, 10, 1}, {15, 1, 1}};
    if (argc != 3)
        bench_fail("usage: load_factor full|quick FOLDER");
    bool is_quick = strcmp(argv[1], "quick") == 0;
    const series *all = is_quick ? quick : full;
    unsigned n = is_quick ? 2 : 3;
    FILE *out = bench_table(argv[2], "figure2", "log2 buckets\tb\tf\ttrials\tleast load\tmean load");
    for (unsigned i = 0; i < n; i++)
        for (unsigned b = 1; b <= CF_BUCKET_MAX; b *= 2) {
            bench_progress("  2^%u buckets of %u", all[i].log2_buckets, b);
            for (unsigned f = CF_FINGERPRINT_MIN; f <= LAST_BITS; f += all[i].step)
                measure(out, &all[i], b, f);
        }
    fclose(out);
    return 0;
}
