/* SPDX-License-Identifier: MIT */
/*
** calibrate.c - measures how many distinct keys m buckets take, with at most one failure in a
** million fillings. load_table.awk makes src/shape/load_table.h of what it prints: bucket size,
** fingerprint bits, pair bits, buckets, load.
**
**      calibrate [first row [last row [budget]]]      (all rows take about an hour and a half; with a
**                                                      budget of 250000 half an hour)
**
** A budget of 0 leaves out the trials of small tables.
**
** Up to 8192 buckets each trial fills a table of random hashes until the first add fails and
** records how many it took. Of many trials the lower tail is what matters. It falls off
** exponentially (each further decade of probability costs the same number of keys, measured down to
** 1e-5), so a line through two low quantiles, carried on to 2e-7, is a safe estimate of where one
** failure in a million lies.
**
** Sorted keys are worse in large tables: the last of them find the free slots together, in few
** buckets. (Up to 1024 buckets both orders fail equally often.) From 2048 buckets on, tables of
** 16384 buckets are filled with sorted keys, at lower and lower loads, and the share of fillings
** that fail is carried on in the same way. Of tables with more buckets, proportionally more are
** taken to fail: measured, with fewer pair bits it is less than that.
*/
#include <math.h>
#include <stdlib.h>

#include "../../src/table/address.h"
#include "bench.h"
#include "cuckoo.h"

/* The rows of the table: all of the fingerprint pair bits, and the shapes that may grow, with
** fingerprints long enough that no two keys look alike. */
typedef struct row {
    unsigned b, f, s;
} row;

static const row rows[] = {
    {4, 24, 6}, {4, 24, 5}, {4, 24, 4}, {4, 24, 7}, {4, 12, 12}, {4, 8, 8},  {4, 7, 7},
    {4, 6, 6},  {4, 5, 5},  {4, 4, 4},  {2, 24, 8}, {2, 12, 12}, {2, 8, 8},  {2, 7, 7},
    {2, 6, 6},  {2, 5, 5},  {2, 4, 4},  {8, 24, 6}, {8, 24, 5},  {8, 24, 4}, {8, 12, 12},
    {8, 8, 8},  {8, 7, 7},  {8, 6, 6},  {8, 5, 5},  {8, 4, 4},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static uint64_t state;

static uint64_t next_random(void)
{
    return bench_mix(state += BENCH_GAP);
}

/* As it is planned for a table of about this size. */
static unsigned cap_of(const row *r, uint64_t buckets)
{
    cf_options options = {.bucket_size = r->b, .fingerprint_bits = r->f};
    return cuckoo_plan(buckets * r->b * 9 / 10, 0, &options).cap;
}

static cf_filter new_table(const row *r, uint64_t buckets)
{
    cf_geometry shape = {.buckets = buckets,
                         .bucket_size = (uint8_t)r->b,
                         .fingerprint_bits = (uint8_t)r->f,
                         .pair_bits = (uint8_t)r->s,
                         .cap = (uint8_t)cap_of(r, buckets)};
    return cuckoo_make(&shape);
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
    cf_filter filter = new_table(r, buckets);
    double *keys = bench_allocate(trials * sizeof *keys);
    for (size_t i = 0; i < trials; i++)
        keys[i] = fill_once(&filter);
    bench_sort(keys, trials);
    double tail = lower_tail(keys, trials);
    cuckoo_drop(&filter);
    free(keys);
    return tail;
}

/* ---- sorted keys in large tables ---- */

enum { SORTED_BUCKETS = 1 << 14 };
#define ALLOWED 3e-7 /* fillings that may fail */

/* The share of so many fillings with this load that fail, by sorted keys. */
static double share_that_fails(const row *r, double load, int trials)
{
    cf_filter filter = new_table(r, SORTED_BUCKETS);
    size_t n = (size_t)(load * SORTED_BUCKETS * r->b), failed = 0;
    uint64_t *hashes = bench_allocate(n * sizeof *hashes);
    for (int i = 0; i < trials; i++) {
        cf_clear(&filter);
        for (size_t k = 0; k < n; k++)
            hashes[k] = next_random();
        failed += cf_add_many(&filter, hashes, n, NULL) != CF_OK;
    }
    free(hashes);
    cuckoo_drop(&filter);
    return (double)failed / trials;
}

/* The load at which sorted keys fail in most fillings. */
static double load_of_failure(const row *r)
{
    double low = 0.5, high = 1;
    while (high - low > 0.0005) {
        double middle = (low + high) / 2;
        if (share_that_fails(r, middle, 12) > 0.5)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Loads of a row by the number of buckets: log10 of the share of fillings that fail, as it was
** measured. */
typedef struct line {
    double load, failing, decade;
} line;

/* The line through what was measured last and this. */
static double decade_to(const line *last, double load, double failing)
{
    return (last->load - load) / (last->failing - log10(failing));
}

/* Goes down with the load until hardly a filling fails. The two lowest loads with enough failures
** to count make the line, unless the next one shows that it is steeper below (three more might have
** failed). */
static line measure_line(const row *r)
{
    enum { ENOUGH = 12, KEYS = 30000000 };
    double top = load_of_failure(r), step = (1 - top) / 25;
    int trials = KEYS / SORTED_BUCKETS / (int)r->b;
    line found = {top, log10(0.5), step};
    for (double load = top - step;; load -= step) {
        double failing = share_that_fails(r, load, trials);
        fprintf(stderr, "b=%u f=%u s=%u: load %.4f, %g of %d fillings fail\n", r->b, r->f, r->s, load,
                failing * trials, trials);
        if (failing * trials < ENOUGH) {
            found.decade = fmin(found.decade, decade_to(&found, load, failing + 3.0 / trials));
            return found;
        }
        found = (line){load, log10(failing), decade_to(&found, load, failing)};
    }
}

static double load_on(const line *measured, uint64_t buckets)
{
    double allowed = log10(ALLOWED * SORTED_BUCKETS / (double)buckets);
    return measured->load - measured->decade * (measured->failing - allowed);
}

/* Trials at this size: each size gets about the same time, the smallest, whose tail is long,
** more. */
static size_t trials_at(uint64_t slots, double budget)
{
    double trials = budget * 16 / (double)slots, least = slots <= 256 ? budget * 2 : 9;
    return trials < least ? (size_t)least : (size_t)trials;
}

/* Every even number up to 128, where sizes differ in how alternates are shared; then quarters of an
** octave. */
static uint64_t next_size(uint64_t m)
{
    uint64_t step = 32;
    if (m < 128)
        return m + 2;
    while (step * 8 <= m)
        step *= 2;
    return m + step;
}

/* P(more than k entries in a pair of buckets): the entries of `classes` fingerprints, each a
** Poisson number of keys, of which `cap` are kept; cap 0 when keys of equal pair bits have
** fingerprints of their own, which makes the classes one Poisson number. */
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

/* In small tables several pair bits name the same alternate. sharing[c] = how many alternates of a
** bucket are named by c of them. */
static void count_sharing(unsigned s, uint64_t buckets, unsigned *sharing)
{
    cf_filter view = {.geometry = {.buckets = buckets, .pair_bits = (uint8_t)s}};
    unsigned *named = bench_allocate_zeroed(buckets * sizeof *named);
    view.view.pair_mask = cf_low_bits(s);
    for (uint64_t bits = 0; bits <= view.view.pair_mask; bits++)
        named[cf_alternate(&view, (cf_side){0, bits, 0}).base]++;
    for (uint64_t i = 0; i < buckets; i++)
        sharing[named[i]]++;
    free(named);
}

/* The load, up to `high`, at which the expected number of overfull pairs of buckets is 3e-7. Too
** rare to be seen in the trials, and not on their line. */
static double crowded_load(unsigned b, unsigned s, bool whole, uint64_t buckets, double high)
{
    enum { MOST = 4097 };
    unsigned sharing[MOST] = {0}, cap = whole ? cap_of(&(row){b, s, s}, buckets) : 0;
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

/* Rows stand for all fingerprints, or pair bits, up to those of the next row; they differ in which
** alternates are shared, and so does every m0 up to the next size. The worst counts. Larger tables
** may have more pair bits than the last row of those that grow: load.c computes what these hold. */
static double worst_crowded(const row *r, uint64_t m)
{
    bool whole = r->f == r->s, and_more = !whole && r->s == (r->b == 2 ? 8u : r->b == 4 ? 7u : 6u);
    uint64_t most = and_more ? 1024 : 8192;
    unsigned last = whole && r->s == 8 ? 11 : r->s;
    uint64_t end = m >= 1024 ? 2 * m : next_size(m);
    double worst = 1;
    for (unsigned s = r->s; s <= last; s++)
        for (uint64_t at = m; at < end && m <= most; at += 2)
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
        worst = fmin(worst, keys_for(r, at, trials_at(at * r->b, budget / 4)) / (double)(at * r->b));
    return worst < 0 ? 0 : worst;
}

static double load_at(const row *r, uint64_t m, double budget, const line *sorted)
{
    enum { SORTED_FROM = 2048, FILLED_TO = 8192 };
    double worst = m <= FILLED_TO ? worst_load(r, m, budget) : 1;
    return m >= SORTED_FROM ? fmin(worst, load_on(sorted, m)) : worst;
}

static void print_row(const row *r, double budget)
{
    line sorted = measure_line(r);
    for (uint64_t m = 2; m <= (uint64_t)1 << 40; m = m >= 1024 ? 2 * m : next_size(m)) {
        printf("%u %u %u %llu %.5f\n", r->b, r->f, r->s, (unsigned long long)m,
               load_at(r, m, budget, &sorted));
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int first = argc > 1 ? atoi(argv[1]) : 0, last = argc > 2 ? atoi(argv[2]) : ROWS - 1;
    double budget = argc > 3 ? atof(argv[3]) : 1e6;
    for (int i = first; i <= last && i < ROWS; i++) {
        state = rows[i].b * 10000 + rows[i].f * 100 + rows[i].s;
        print_row(&rows[i], budget);
    }
    return 0;
}
