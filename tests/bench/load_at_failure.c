/* SPDX-License-Identifier: MIT */
/*
** load_at_failure.c - how full a large table gets before an add fails for the first time.
**
**      load_at_failure full FOLDER [SEED]       tables of about a million slots, three seconds
**      load_at_failure quick FOLDER [SEED]      of a tenth
**
** f = 12, growth off, for b = 2, 4, 8; the number of buckets is never a power of two: each is filled
** with random hashes, none twice, until cf_add says CF_FULL.
** load_at_failure.tsv: the load, in slots, at that moment. Wanted: at least 0.87, 0.97, 0.99. (The
** paper's random walk of 500 moves: about 0.84, 0.95, 0.98.)
*/
#include "bench.h"

#include <stdlib.h>

#include "../../src/cuckoo_inspect.h"

enum { FINGERPRINT_BITS = 12, SLOTS = 1000000 };

static double load_at_failure(cf_filter *filter)
{
    uint64_t i = 0;
    while (cf_add(filter, bench_random(i)) == CF_OK)
        i++;
    return (double)filter->occupied / (double)cf_geometry_slots(&filter->geometry);
}

static void measure(FILE *out, unsigned bucket_size, uint64_t buckets)
{
    const char *why;
    cf_filter filter;
    cf_geometry shape = {.buckets = buckets,
                         .bucket_size = (uint8_t)bucket_size,
                         .fingerprint_bits = FINGERPRINT_BITS,
                         .pair_bits = FINGERPRINT_BITS,
                         .cap = (uint8_t)(bucket_size == 2   ? 2
                                          : bucket_size == 4 ? 3
                                                             : 4)};
    if (cf_geometry_check(&shape, &why) != CF_OK)
        bench_fail(why);
    uint8_t *bytes = bench_allocate(cf_geometry_bytes(&shape));
    cf_create(&filter, &shape, bytes);
    fprintf(out, "%u\t%llu\t%.4f\n", bucket_size, (unsigned long long)buckets, load_at_failure(&filter));
    free(bytes);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "load_at_failure", "b\tbuckets\tload");
    for (unsigned b = 2; b <= 8; b *= 2)
        measure(out, b, SLOTS / b / (call.quick ? 10 : 1) / 2 * 2);
    fclose(out);
    return 0;
}
