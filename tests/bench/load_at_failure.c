/* SPDX-License-Identifier: MIT */
/*
** load_at_failure.c - how full a large table gets before an add fails for the first time.
**
**      cc -O2 -o load_at_failure load_at_failure.c bench.c ../../src/?*.c -lm       (in tests/bench)
**      load_at_failure          a few seconds
**
** Tables of about a million slots, f = 12, growth off, for b = 2, 4, 8; the number of buckets is
** never a power of two: once even, once odd, once prime. Each is filled with five streams of random
** hashes, none twice, until cf_add says CF_FULL. Printed: the least and the mean load, in slots, at
** that moment. Wanted: at least 0.87, 0.97, 0.99. (The paper's random walk of 500 moves: about
** 0.84, 0.95, 0.98.)
*/
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../src/cuckoo_inspect.h"

enum { FINGERPRINT_BITS = 12, STREAMS = 5, SLOTS = 1000000 };

/* The load at the first failure, for one stream of hashes. */
static double fill(cf_filter *filter, uint64_t stream)
{
    uint64_t i = stream << 40;
    cf_clear(filter);
    while (cf_add(filter, bench_random(i)) == CF_OK)
        i++;
    return (double)filter->occupied / (double)cf_geometry_slots(&filter->geometry);
}

static void measure(unsigned bucket_size, uint64_t buckets)
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
    double least = 1, sum = 0;
    if (cf_geometry_check(&shape, &why) != CF_OK)
        bench_fail(why);
    uint8_t *bytes = bench_allocate(cf_geometry_bytes(&shape));
    cf_create(&filter, &shape, bytes);
    for (uint64_t stream = 1; stream <= STREAMS; stream++) {
        double load = fill(&filter, stream);
        least = load < least ? load : least;
        sum += load;
    }
    printf("%4u%12llu%12.4f%12.4f\n", bucket_size, (unsigned long long)buckets, least, sum / STREAMS);
    free(bytes);
}

static bool is_prime(uint64_t n)
{
    for (uint64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return true;
}

int main(void)
{
    printf("load at the first failure, %d fillings each, f = %d\n", STREAMS, FINGERPRINT_BITS);
    printf("%4s%12s%12s%12s\n", "b", "buckets", "least", "mean");
    for (unsigned b = 2; b <= 8; b *= 2) {
        uint64_t even = SLOTS / b, prime = even + 1;
        while (!is_prime(prime))
            prime += 2;
        measure(b, even);
        measure(b, even + 1);
        measure(b, prime);
    }
    return 0;
}
