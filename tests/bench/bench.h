/* SPDX-License-Identifier: MIT */
/*
** bench.h - what the benchmarks share: a clock, random numbers, medians, and barriers that keep the
** compiler from being clever.
**
** A program is called as
**
**      program full|quick FOLDER [SEED]
**
** and leaves tables in FOLDER, one row a point. measured.txt says what they hold. run.py calls each
** program ten times with another seed, and joins the tables into medians and quartiles. So a program
** measures once; only where a figure takes microseconds the loops to be compared take turns in short
** rounds, and the median over the rounds is what is written.
**
** Programs use the public headers of src alone: how a filter lies in memory is not their business.
*/
#ifndef CF_BENCH_H
#define CF_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../src/include/cuckoo_filter.h"

/* What a program was called with. */
typedef struct bench_call {
    bool quick;
    const char *folder; /* for its tables */
    uint64_t seed;      /* 0 unless given */
} bench_call;

/* Reads the call, and moves bench_random to the stream of its seed. Ends the program with its usage
** when the call is wrong. */
bench_call bench_read_call(int argc, char **argv);

enum { BENCH_ROUNDS_MAX = 64 };

/* One figure, measured in several rounds. */
typedef struct bench_series {
    double value[BENCH_ROUNDS_MAX];
    size_t rounds;
} bench_series;

/* Seconds of processor time this thread has used: other programs slow it down by what they take of
** the caches, but do not stand in the figures themselves. */
double bench_seconds(void);

/* Nanoseconds per operation of `operations` done since `start`. */
double bench_ns_since(double start, uint64_t operations);

/* Adds the figure of one more round; those after BENCH_ROUNDS_MAX are dropped. */
void bench_note(bench_series *series, double value);

void bench_sort(double *values, size_t n);

/* The median over the rounds; NaN when there are none. */
double bench_median(const bench_series *series);

/* The median of one / other, each ratio taken within a round. */
double bench_median_ratio(const bench_series *one, const bench_series *other);

/* Memory, or the end of the program with a message. */
void *bench_allocate(size_t bytes);

/* ---- filters of the library ---- */

/* The plan for so many keys, or the end of the program. A rate of 0: for options that say the bits. */
cf_geometry bench_plan(uint64_t keys, double rate, const cf_options *options);

/* An empty filter of this shape. It grows when its memory is bench_memory. bench_drop gives it back. */
cf_filter bench_make(const cf_geometry *shape);
void bench_drop(cf_filter *filter);

/* As much as a filter asks for: realloc, and free when the size is 0. */
uint8_t *bench_resize(void *context, uint8_t *bytes, uint64_t size);
static const cf_memory bench_memory = {bench_resize, UINT64_MAX, NULL};

/* Opens `folder`/`name`.tsv for writing; its first line is `columns`, separated by tabs. Or the end
** of the program. */
FILE *bench_table(const char *folder, const char *name, const char *columns);

/* Writes a tab and a number, as "%.2f", to a table; NaN, for "not measured", as a dash. */
void bench_field(FILE *table, const char *format, double value);

/* Tells on the terminal (stderr) what is being done; one line, as printf. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program with a message. */
_Noreturn void bench_fail(const char *message);

/* A number below n, which is at most 2^32, from the high half of x. */
static inline uint64_t bench_scale(uint64_t x, uint64_t n)
{
    return (x >> 32) * n >> 32;
}

/* Where the sequence of this run starts: seeds are 2^57 apart. */
extern uint64_t bench_first;

/* SplitMix64: number n of its sequence, which repeats none, is the mix of n times BENCH_GAP. */
#define BENCH_GAP UINT64_C(0x9e3779b97f4a7c15)
static inline uint64_t bench_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Random number i. None depends on the one before, so making them overlaps with whatever else a loop
** does. */
static inline uint64_t bench_random(uint64_t i)
{
    return bench_mix((bench_first + i + 1) * BENCH_GAP);
}

/* Keys from here on are never added: those that are count from 0. */
static const uint64_t BENCH_ABSENT = UINT64_C(1) << 40;

/* Makes the compiler believe that x is used. */
static inline void bench_use(uint64_t x)
{
    __asm__ volatile("" : : "r"(x));
}

#endif
