/* SPDX-License-Identifier: MIT */
/*
** test_kinds.c - are the filters that are compared sound? Run before the measurements; fails
** loudly.
**
**      test_kinds          a few seconds
**
** For each kind, small and large fingerprints: every key is found; the error rate is within a tenth
** of the expected one; and, where the kind can delete: after many deletes and adds in turn, every
** key is found and the error rate is still as expected; after half of the keys are deleted, the
** other half is found; after all of them are deleted, (almost) nothing is found: counters that got
** stuck and sticky keys may stay, which are a few in a million.
*/
#include "kinds.h"

#include <math.h>

enum { BYTES = 3 << 17, SMALL_BYTES = 3 << 5, WANTED_ERRORS = 2000, MOST_PROBES = 10000000 };
/* A little less than what a filter is made for: keys that come and go need room. */
static const double most_load = 0.85, share_of_full = 0.8, tolerance = 0.1, left_over = 0.01;

static void fail(const bench_kind *kind, unsigned bits, const char *what)
{
    fprintf(stderr, "%s, %u bits: ", kind->name, bits);
    bench_fail(what);
}

static void look_for_all(const bench_filter *filter, unsigned bits)
{
    for (uint64_t i = filter->removed; i < filter->keys; i++)
        if (!filter->kind->contains(filter->state, bench_random(i)))
            fail(filter->kind, bits, "a key is not found");
}

/* The measured rate over the expected one. */
static double check_errors(const bench_filter *filter, unsigned bits)
{
    double expected = filter->kind->expected(filter->state, filter->keys - filter->removed);
    double ratio = bench_error_rate(filter, WANTED_ERRORS, MOST_PROBES) / expected;
    if (fabs(ratio - 1) > tolerance)
        fail(filter->kind, bits, "the error rate is not as expected");
    return ratio;
}

static void remove_next(bench_filter *filter, unsigned bits)
{
    if (!filter->kind->remove(filter->state, bench_random(filter->removed++)))
        fail(filter->kind, bits, "a key that is there cannot be deleted");
}

/* Deletes the oldest key and adds a new one, until all keys are new. */
static void replace_all(bench_filter *filter, unsigned bits)
{
    for (uint64_t end = filter->keys; filter->removed < end;) {
        remove_next(filter, bits);
        if (!filter->kind->add(filter->state, bench_random(filter->keys++)))
            fail(filter->kind, bits, "full although a key was deleted");
    }
}

static void remove_all(bench_filter *filter, unsigned bits)
{
    double full = filter->kind->expected(filter->state, filter->keys - filter->removed);
    for (uint64_t half = (filter->removed + filter->keys) / 2; filter->removed < half;)
        remove_next(filter, bits);
    look_for_all(filter, bits);
    while (filter->removed < filter->keys)
        remove_next(filter, bits);
    if (bench_error_rate(filter, WANTED_ERRORS, MOST_PROBES / 10) > left_over * full)
        fail(filter->kind, bits, "something is found although all keys were deleted");
}

static void check_deletes(bench_filter *filter, unsigned bits)
{
    replace_all(filter, bits);
    look_for_all(filter, bits);
    printf("%10.3f", check_errors(filter, bits));
    remove_all(filter, bits);
}

static void check_kind(const bench_kind *kind, unsigned bits)
{
    bench_filter filter = bench_make(kind, BYTES, bits);
    bench_fill(&filter, kind->full < 1 ? share_of_full * kind->full : most_load);
    look_for_all(&filter, bits);
    printf("%-20s%6u%10.2f%14.3e%10.3f", kind->name, bits, bench_bits_per_key(&filter),
           kind->expected(filter.state, filter.keys), check_errors(&filter, bits));
    if (kind->remove)
        check_deletes(&filter, bits);
    printf("\n");
    fflush(stdout);
    bench_drop(&filter);
}

/* The same on a few slots, many times over: runs of a quotient filter go around its ring, buckets
** overflow. */
static void check_small(const bench_kind *kind, unsigned bits)
{
    for (unsigned round = 0; round < 500; round++) {
        bench_filter filter = bench_make(kind, SMALL_BYTES, bits);
        filter.keys = filter.removed = (uint64_t)round << 20;
        uint64_t end = filter.keys + (uint64_t)(0.6 * (double)filter.slots);
        while (filter.keys < end && kind->add(filter.state, bench_random(filter.keys)))
            filter.keys++;
        look_for_all(&filter, bits);
        while (kind->remove && filter.removed < filter.keys) {
            remove_next(&filter, bits);
            look_for_all(&filter, bits);
        }
        bench_drop(&filter);
    }
}

int main(void)
{
    printf("errors: measured over expected; then the same after every key was replaced by another\n");
    printf("%-20s%6s%10s%14s%10s%10s\n", "filter", "bits", "bits/key", "expected", "errors", "replaced");
    for (unsigned i = 0; i < BENCH_KINDS; i++) {
        const bench_kind *kind = bench_kinds[i];
        check_kind(kind, kind->bits);
        check_kind(kind, kind->bits + 3);
        check_small(kind, kind->bits);
    }
    check_kind(&bench_dleft, 18); /* buckets of two words */
    check_kind(&bench_plain2, bench_plain2.bits);
    check_kind(&bench_plain8, bench_plain8.bits);
    return 0;
}
