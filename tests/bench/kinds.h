/* SPDX-License-Identifier: MIT */
/*
** kinds.h - the filters that are compared, behind one face, so that every figure is one loop over
** them.
**
** The yardsticks are those of the cuckoo filter paper (section 2): a Bloom filter, a blocked Bloom
** filter, a counting Bloom filter, a quotient filter, a d-left counting Bloom filter. Each is a
** plain, straightforward implementation in a file of its own; test_kinds.c shows that they are
** sound.
**
** A filter is made for a number of bytes and of `bits`, which fix its error rate: of a fingerprint
** (cuckoo), of a remainder (quotient, d-left), or per key (Bloom; counting Bloom: counters per
** key). Keys are 64-bit hashes. Key number i is bench_random(i), so that keys need no memory; keys
** from BENCH_ABSENT on are never added.
*/
#ifndef CF_BENCH_KINDS_H
#define CF_BENCH_KINDS_H

#include <stdbool.h>

#include "bench.h"

/* A filter and what it holds: keys 0 .. keys-1, except those before `removed`. */
typedef struct bench_filter {
    const struct bench_kind *kind;
    void *state;    /* of the kind */
    uint64_t slots; /* load 1; Bloom filters: the keys it was made for */
    uint64_t bytes; /* that its table takes */
    uint64_t keys, removed;
    bool refused; /* an add has failed */
} bench_filter;

/* The functions but `make` take the state of a filter. */
typedef struct bench_kind {
    const char *name; /* in tables and legends */
    unsigned bits;    /* that the comparisons at one size use, for an error rate near 0.19 % */
    unsigned b;       /* cuckoo filters: slots of a bucket */
    double full;      /* the load that it is filled to; 1: until an add fails */
    /* Sets state, which free() gives back, slots and bytes: at most so many. */
    void (*make)(bench_filter *made, uint64_t bytes, unsigned bits);
    bool (*add)(void *state, uint64_t hash); /* false: full, nothing has changed */
    bool (*contains)(const void *state, uint64_t hash);
    bool (*remove)(void *state, uint64_t hash);           /* NULL: it cannot delete */
    double (*expected)(const void *state, uint64_t keys); /* error rate with so many keys */
} bench_kind;

extern const bench_kind bench_plain2, bench_plain4, bench_plain8; /* our filter; bits = f; b = 2, 4, 8 */
extern const bench_kind bench_semisorted;                         /* the same, b = 4 */
extern const bench_kind bench_bloom, bench_blocked_bloom, bench_counting_bloom;
extern const bench_kind bench_quotient, bench_dleft;

/* The filters that are compared at one size: the plain and the semi-sorted filter, then the
** yardsticks. */
enum { BENCH_KINDS = 7 };
extern const bench_kind *const bench_kinds[BENCH_KINDS];

bench_filter bench_make(const bench_kind *kind, uint64_t bytes, unsigned bits);

void bench_drop(bench_filter *filter);

/* Adds the next keys, up to load `load` or the first failure. */
void bench_fill(bench_filter *filter, double load);

/* Keys that it holds, over its slots. */
double bench_load(const bench_filter *filter);

/* Bits of the table for each key it holds. */
double bench_bits_per_key(const bench_filter *filter);

/* The share of absent keys that are "perhaps" there; asked until `wanted` of them were, or `most`
** keys are asked. */
double bench_error_rate(const bench_filter *filter, uint64_t wanted, uint64_t most);

#endif
