/* SPDX-License-Identifier: MIT */
/*
** stress.h - what the stress test shares: random numbers from a printed seed, what is tried, what
** is counted, and how a failure is told.
**
** CUCKOO_TEST_SEED=n in the environment repeats a run. Each configuration has a seed of its own,
** made of that one and its number, so that it can be run alone.
*/
#ifndef CUCKOO_STRESS_H
#define CUCKOO_STRESS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/table/address.h"
#include "../../src/cuckoo_filter.h"
#include "../../src/growth/growth.h"

/* ---- random numbers ---- */

static uint64_t random_seed, random_state;

/* splitmix64: the numbers of a seed are the same on every machine. */
static inline uint64_t random64(void)
{
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t n)
{
    return random64() % n;
}

static inline uint64_t random_between(uint64_t first, uint64_t last)
{
    return first + random_below(last - first + 1);
}

static inline bool one_in(uint64_t n)
{
    return random_below(n) == 0;
}

/* ---- what is tried ---- */

/* How the hashes of a universe are drawn. */
typedef enum style {
    SCATTERED, /* at random */
    TWINNED,   /* every second one agrees with another in many bits, as seen from either side */
    CLUMPED,   /* any number may agree */
    NARROW,    /* all are near to one of a few, on either side */
    STYLES
} style;

/* What a life is lived with (stress.c). */
typedef struct setup {
    cf_geometry shape;
    style style;
    uint32_t keys;
    uint32_t most_copies;  /* of one key and value */
    uint32_t split_one_in; /* operations that split buckets before there is need */
    bool scarce;           /* memory is refused now and then */
    bool planned;          /* a shape of the planner, scattered hashes, memory enough */
} setup;

/* ---- memory ---- */

static bool memory_is_scarce;

/* As realloc; when memory is scarce, it refuses now and then. */
static uint8_t *resize(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size == 0) {
        free(bytes);
        return NULL;
    }
    if (memory_is_scarce && one_in(3))
        return NULL;
    return realloc(bytes, size);
}

/* Bytes that no filter of a life becomes longer than. */
static uint64_t most_bytes(const setup *with)
{
    return (1 << 15) + 4 * cf_geometry_bytes(&with->shape);
}

/* ---- work that is interrupted ---- */

static uint64_t questions_left;

/* A watch that says stop when it has been asked so often. */
static bool stops(void *context)
{
    (void)context;
    return questions_left-- == 0;
}

static const cf_watch impatient = {stops, NULL};

/* ---- what is counted ---- */

typedef struct totals {
    uint64_t operations, adds, deletes, sticky, splits, merges, merges_refused, reopened, cleared,
        shrunk;
    uint64_t refused, no_memory, unchanged_compared, planned_adds, planned_refused, asked;
    uint64_t false_negatives, lost_deletes, other_failures;
    uint64_t lives, steps, left_slots, peak_slots, planned_peak, planned_left;
    unsigned level;
} totals;

static totals total;

/* ---- failures ---- */

static bool failed; /* in the configuration that runs: nothing more of it is run */
static const setup *running;

static void describe(const setup *with)
{
    const cf_geometry *g = &with->shape;
    fprintf(stderr, "  b=%u f=%u s=%u m0=%llu cap=%u counter_bits=%u value_bits=%u capacity=%llu%s%s\n",
            g->bucket_size, g->fingerprint_bits, g->pair_bits, (unsigned long long)g->buckets, g->cap,
            g->counter_bits, g->value_bits, (unsigned long long)g->capacity, g->growth ? " growth" : "",
            g->semisorted ? " semisorted" : "");
    fprintf(stderr, "  spill_bound=%u budget=%u style=%d keys=%u%s\n", g->spill_bound, g->budget,
            (int)with->style, with->keys, with->scarce ? " scarce memory" : "");
}

static void fail(uint64_t *counter, const char *format, ...)
{
    va_list arguments;
    ++*counter;
    if (failed)
        return;
    failed = true;
    fprintf(stderr, "failed after %llu operations: ", (unsigned long long)total.operations);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    if (running)
        describe(running);
}

static void *need(void *memory)
{
    if (memory == NULL) {
        fputs("stress: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

#define FAIL(...) fail(&total.other_failures, __VA_ARGS__)

#endif
