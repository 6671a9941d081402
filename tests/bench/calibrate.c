/*
** calibrate.c - measures how many distinct keys m buckets take, with at most one failure in a million
** fillings. load_table.awk makes src/load_table.h of what it prints: bucket size, fingerprint bits, pair
** bits, buckets, load.
**
**      calibrate [first row [last row [budget [smallest size]]]]      (all rows take about an hour)
**
** A budget of 0 leaves out the trials and prints what crowded pairs alone allow.
**
** Each trial fills a table of random hashes until the first add fails and records how many it took. Of
** many trials the lower tail is what matters. It falls off exponentially (each further decade of
** probability costs the same number of keys, measured down to 1e-5), so a line through two low
** quantiles, carried on to 2e-7, is a safe estimate of where one failure in a million lies. For large
** tables, where trials are few, the tail is taken as mean minus nine standard deviations (a decade is
** about one of them), and never above the least seen.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/address.h"
#include "../../src/cuckoo_filter.h"

/* The rows of the table: all of the fingerprint pair bits, and the shapes that may grow, with
** fingerprints long enough that no two keys look alike. */
typedef struct row {
    unsigned b, f, s;
} row;

static const row rows[] = {
    {4, 12, 12}, {4, 8, 8}, {4, 7, 7}, {4, 6, 6}, {4, 5, 5}, {4, 4, 4}, {4, 24, 4}, {4, 24, 6},
    {8, 12, 12}, {8, 8, 8}, {8, 7, 7}, {8, 6, 6}, {8, 5, 5}, {8, 4, 4}, {8, 24, 4}, {8, 24, 6},
    {2, 12, 12}, {2, 8, 8}, {2, 7, 7}, {2, 6, 6}, {2, 5, 5}, {2, 4, 4}, {2, 24, 8},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static uint64_t state;

static uint64_t next_random(void)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double fill_once(cf_filter *filter)
{
    uint64_t n = 0;
    cf_clear(filter);
    while (cf_add(filter, next_random()) == CF_OK)
        n++;
    return (double)n;
}

/* Keys at which one filling in five million fails, from sorted trials. */
static double lower_tail(const double *keys, size_t trials)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < trials; i++)
        mean += keys[i] / (double)trials;
    for (size_t i = 0; i < trials; i++)
        square += (keys[i] - mean) * (keys[i] - mean) / (double)(trials > 1 ? trials - 1 : 1);
    double far = mean - 9 * sqrt(square);
    if (trials < 400)
        return far < keys[0] ? far : keys[0];
    double p1 = 20.0 / (double)trials, p2 = p1 * 20; /* two quantiles that can be measured */
    double k1 = keys[(size_t)(p1 * (double)trials)], k2 = keys[(size_t)(p2 * (double)trials)];
    double decade = (k2 - k1) / log10(p2 / p1);
    double least = keys[0] - 1, line = k1 - decade * log10(p1 / 2e-7);
    return line < least ? line : least;
}

static double keys_for(const row *r, uint64_t buckets, size_t trials)
{
    unsigned b = r->b, cap = b == 2 ? 2 : b == 4 ? 3 : 4;
    cf_geometry shape = {.buckets = buckets,
                         .bucket_size = (uint8_t)b,
                         .fingerprint_bits = (uint8_t)r->f,
                         .pair_bits = (uint8_t)r->s,
                         .cap = (uint8_t)cap};
    uint8_t *bytes = malloc(cf_geometry_bytes(&shape));
    double *keys = malloc(trials * sizeof *keys);
    cf_filter filter;
    if (!bytes || !keys)
        exit(1);
    cf_create(&filter, &shape, bytes);
    for (size_t i = 0; i < trials; i++)
        keys[i] = fill_once(&filter);
    qsort(keys, trials, sizeof *keys, compare);
    double tail = lower_tail(keys, trials);
    free(bytes);
    free(keys);
    return tail;
}

/* Trials at this size: each size gets about the same time, the smallest, whose tail is long, more. */
static size_t trials_at(uint64_t slots, double budget)
{
    double trials = budget * 16 / (double)slots, least = slots <= 256 ? budget * 2 : 9;
    return trials < least ? (size_t)least : (size_t)trials;
}

/* Every even number up to 128, where sizes differ in how alternates are shared; then quarters of an octave. */
static uint64_t next_size(uint64_t m)
{
    uint64_t step = 32;
    if (m < 128)
        return m + 2;
    while (step * 8 <= m)
        step *= 2;
    return m + step;
}

/* P(more than k entries in a pair of buckets): the entries of `classes` fingerprints, each a Poisson number of
** keys, of which `cap` are kept; cap 0 when keys of equal pair bits have fingerprints of their own, which makes
** the classes one Poisson number. */
static double overfull(double mean, unsigned classes, unsigned cap, unsigned k)
{
    double one[64] = {0}, sum[64] = {1}, above = 0;
    unsigned most = cap ? cap : k;
    if (cap == 0)
        mean *= classes, classes = 1;
    one[0] = exp(-mean);
    for (unsigned i = 1; i <= most; i++)
        one[i] = one[i - 1] * mean / i;
    double beyond = 0, term = one[most] * mean / (most + 1);
    for (unsigned i = most + 2; term > beyond * 1e-9 && term > 0; i++) {
        beyond += term;
        term *= mean / i;
    }
    if (cap == 0)
        return beyond;
    one[cap] += beyond;
    for (unsigned n = 0; n < classes; n++) {
        for (unsigned from = k + 1 - cap; from <= k; from++)
            for (unsigned j = k + 1 - from; j <= cap; j++)
                above += sum[from] * one[j];
        for (unsigned i = k + 1; i-- > 0;) {
            double p = 0;
            for (unsigned j = 0; j <= cap && j <= i; j++)
                p += sum[i - j] * one[j];
            sum[i] = p;
        }
    }
    return above;
}

/* In small tables several pair bits name the same alternate. sharing[c] = how many alternates of a bucket are
** named by c of them. */
static void count_sharing(unsigned s, uint64_t buckets, unsigned *sharing)
{
    cf_filter view = {.geometry = {.buckets = buckets, .pair_bits = (uint8_t)s}};
    unsigned *named = calloc(buckets, sizeof *named);
    if (!named)
        exit(1);
    view.pair_mask = cf_low_bits(s);
    view.odd_pairs = 1;
    for (uint64_t bits = 0; bits <= view.pair_mask; bits++)
        named[cf_alternate(&view, (cf_side){0, bits, 0}).base]++;
    for (uint64_t i = 0; i < buckets; i++)
        sharing[named[i]]++;
    free(named);
}

/* The load, up to `high`, at which the expected number of overfull pairs of buckets is 3e-7. Too rare to be seen
** in the trials, and not on their line. */
static double crowded_load(unsigned b, unsigned s, bool whole, uint64_t buckets, double high)
{
    enum { MOST = 4097 };
    unsigned sharing[MOST] = {0}, cap = whole ? (b == 2 ? 2 : b == 4 ? 3 : 4) : 0;
    double low = 0, next = high;
    count_sharing(s, buckets, sharing);
    for (int step = 0; step < 14 && low < high; step++) {
        double expected = 0;
        for (unsigned c = 1; c < MOST; c++)
            if (sharing[c] && (cap == 0 || c * cap > 2 * b))
                expected += sharing[c] * (double)buckets / 2 *
                            overfull(2.0 * b * next / (double)((uint64_t)1 << s), c, cap, 2 * b);
        if (expected > 3e-7)
            high = next;
        else
            low = next;
        next = (low + high) / 2;
    }
    return low;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Rows stand for all fingerprints, or pair bits, up to those of the next row; they differ in which alternates are
** shared, and so does every m0 up to the next size. The worst counts. */
static double worst_crowded(const row *r, uint64_t m)
{
    bool whole = r->f == r->s;
    unsigned last = !whole ? (r->s == 4 ? 5 : r->s) : r->s == 8 ? 11 : r->s;
    uint64_t end = m >= 1024 ? 2 * m : next_size(m);
    double worst = 1;
    for (unsigned s = r->s; s <= last; s++)
        for (uint64_t at = m; at < end && m <= 8192; at += 2)
            worst = crowded_load(r->b, s, whole, at, worst);
    return worst;
}

static double worst_load(const row *r, uint64_t m, double budget)
{
    double worst = worst_crowded(r, m);
    uint64_t end = next_size(m), step = (end - m) / 4 / 2 * 2;
    if (m > 1024)
        end = m + 1;
    for (uint64_t at = m; at < end && budget > 0; at += step ? step : 2)
        worst = smaller(worst, keys_for(r, at, trials_at(at * r->b, budget / 4)) / (double)(at * r->b));
    return worst < 0 ? 0 : worst;
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 0, last = argc > 2 ? atoi(argv[2]) : ROWS - 1;
    double budget = argc > 3 ? atof(argv[3]) : 1e6;
    uint64_t smallest = argc > 4 ? strtoull(argv[4], NULL, 0) : 2;
    for (int i = first; i <= last && i < ROWS; i++) {
        const row *r = &rows[i];
        state = r->b * 10000 + r->f * 100 + r->s;
        for (uint64_t m = smallest; m <= (uint64_t)1 << 20; m = next_size(m)) {
            if (m > 1024 && (m & (m - 1)) != 0)
                continue;
            printf("%u %u %u %llu %.5f\n", r->b, r->f, r->s, (unsigned long long)m,
                   worst_load(r, m, budget));
            fflush(stdout);
        }
    }
    return 0;
}
