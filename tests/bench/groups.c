/* SPDX-License-Identifier: MIT */
/*
** groups.c - equation 3 of the paper: how many groups of 2b + 1 keys share their fingerprint and their
** pair of buckets, so that a filter which keeps a copy for each of them cannot take them all.
**
**      groups full FOLDER [SEED]          half a minute
**      groups quick FOLDER [SEED]         half a second
**
** n keys fall into classes of equal fingerprint and pair (key_table.h: addresses as published). A class
** of c keys has C(c, 2b + 1) such groups. Expected are C(n, 2b + 1) (2 / (2^f m))^(2b) of them (the
** paper assumes fingerprints of f bits with 2^f values; here 0 becomes 1, so that 1 is twice as
** frequent, and a pair of two equal buckets is rare: "expected, exact" adds up both).
**
** Tables of m buckets, n keys for load 0.8 (b = 2) and 0.9 (b = 4). Writes groups.tsv to FOLDER:
**   expected       by equation 3; expected, exact; counted: means over the trials
**   with a group   builds with at least one, in %
**   walk fails     of the same keys: builds that the random walk of 500 kicks does not finish, in %
**   ours refuses   the same for the library, f from 4; it counts copies to its cap, and takes the rest
**                  as absorbed
** Trials in which a group exists must fail in the walk; that is checked.
*/
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "cuckoo.h"
#include "key_table.h"

typedef struct point {
    unsigned b, f, log2_buckets;
} point;

typedef struct tally {
    double groups;
    unsigned with_group, walk_fails, refused;
} tally;

static double load_of(unsigned b)
{
    return b == 2 ? 0.8 : 0.9;
}

static uint64_t keys_of(const point *at)
{
    return (uint64_t)(load_of(at->b) * ldexp(at->b, (int)at->log2_buckets));
}

static double choose(double n, unsigned k)
{
    double product = 1;
    for (unsigned i = 0; i < k; i++)
        product *= (n - i) / (i + 1);
    return n < k ? 0 : product;
}

/* Equation 3. */
static double expected(const point *at)
{
    double same = 2 / ldexp(1, (int)(at->f + at->log2_buckets));
    return choose((double)keys_of(at), 2 * at->b + 1) * pow(same, 2 * at->b);
}

/* The sum over fingerprints, by how often they come, and over their pairs: two buckets of m each, or
** one where the hash of the fingerprint is 0 in all bits that count, which is left out. */
static double expected_exactly(const point *at)
{
    double values = ldexp(1, (int)at->f), group = 2 * at->b + 1, sum = 0;
    for (unsigned fingerprint = 1; fingerprint < values; fingerprint++)
        sum += pow((fingerprint == 1 ? 2 : 1) / values, group);
    double pairs = ldexp(1, (int)at->log2_buckets - 1);
    return choose((double)keys_of(at), 2 * at->b + 1) * sum * pow(1 / pairs, group - 1);
}

/* ---- counting ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double count_groups(const key_table *table, uint64_t first, uint64_t n, uint64_t *classes)
{
    double groups = 0;
    for (uint64_t i = 0; i < n; i++) {
        key_place at = key_place_of(table, first + i);
        uint64_t least = at.bucket[0] < at.bucket[1] ? at.bucket[0] : at.bucket[1];
        classes[i] = least << 32 | at.fingerprint;
    }
    qsort(classes, n, sizeof *classes, compare);
    for (uint64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && classes[end] == classes[i];)
            end++;
        groups += choose((double)(end - i), 2 * table->b + 1);
    }
    return groups;
}

/* Do the same keys fit into the library's table? */
static bool refuses(const point *at, uint64_t first, uint64_t n)
{
    cf_geometry shape = cuckoo_shape((uint64_t)1 << at->log2_buckets, at->b, at->f);
    cuckoo *table = cuckoo_make(&shape);
    bool refused = false;
    for (uint64_t i = 0; i < n && !refused; i++)
        refused = cf_add(&table->filter, bench_random(first + i)) != CF_OK;
    free(table);
    return refused;
}

static void try_once(const point *at, uint64_t first, uint64_t *classes, tally *sum)
{
    key_table *table = key_table_make(KEY_HASHED, at->log2_buckets, at->b, at->f);
    uint64_t n = keys_of(at);
    double groups = count_groups(table, first, n, classes);
    table->first = first;
    bool fails = key_table_fill_to(table, n) < n;
    if (groups > 0 && !fails)
        bench_fail("more keys of one fingerprint and pair than slots, and all are in");
    sum->groups += groups;
    sum->with_group += groups > 0;
    sum->walk_fails += fails;
    sum->refused += at->f >= CF_FINGERPRINT_MIN && refuses(at, first, n);
    key_table_drop(table);
}

static void measure(FILE *out, const point *at, unsigned trials)
{
    uint64_t n = keys_of(at), *classes = bench_allocate(n * sizeof *classes);
    tally sum = {0};
    for (uint64_t trial = 0; trial < trials; trial++)
        try_once(at, trial << 32, classes, &sum);
    fprintf(out, "%u\t%u\t%u\t%llu\t%.4g\t%.4g\t%.4g\t%.1f\t%.1f", at->b, at->f, at->log2_buckets,
            (unsigned long long)n, expected(at), expected_exactly(at), sum.groups / trials,
            100.0 * sum.with_group / trials, 100.0 * sum.walk_fails / trials);
    bench_field(out, at->f >= CF_FINGERPRINT_MIN ? 100.0 * sum.refused / trials : (double)NAN, 1);
    fprintf(out, "\n");
    free(classes);
}

int main(int argc, char **argv)
{
    static const point points[] = {{2, 3, 10}, {2, 4, 10}, {2, 5, 10}, {2, 4, 15}, {2, 5, 15},
                                   {2, 6, 15}, {2, 8, 15}, {4, 1, 10}, {4, 2, 10}, {4, 3, 10},
                                   {4, 2, 15}, {4, 3, 15}, {4, 4, 15}, {4, 5, 15}};
    bench_call call = bench_read_call(argc, argv);
    FILE *out = bench_table(call.folder, "groups",
                            "b\tf\tlog2 buckets\tkeys\texpected\texpected, exact\tcounted\twith a "
                            "group %\twalk fails %\tours refuses %");
    for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
        bool large = points[i].log2_buckets > 10;
        measure(out, &points[i], call.quick ? (large ? 1 : 10) : (large ? 20 : 200));
    }
    fclose(out);
    return 0;
}
