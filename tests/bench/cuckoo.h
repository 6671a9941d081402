/* SPDX-License-Identifier: MIT */
/*
** cuckoo.h - filters of the library of an exact shape, for the benchmarks.
*/
#ifndef CF_BENCH_CUCKOO_H
#define CF_BENCH_CUCKOO_H

#include "../../src/cuckoo_filter.h"

/* A filter that cannot grow: all of the fingerprint is pair bits, as in the paper. */
typedef struct cuckoo {
    cf_filter filter;
    uint8_t bytes[];
} cuckoo;

/* The shape of a table of m buckets with b slots for f bits, growth off, with the cap that the planner
** takes. */
cf_geometry cuckoo_shape(uint64_t m, unsigned b, unsigned f);

/* The plan for so many keys, or the end of the program. */
cf_geometry cuckoo_plan(uint64_t keys, double rate, const cf_options *options);

/* As memory.resize wants it: realloc, and free when the size is 0. */
uint8_t *cuckoo_resize(void *context, uint8_t *bytes, uint64_t size);

/* An empty filter of this shape. One that may grow gets all memory that it asks for. cuckoo_drop gives
** it back. */
cf_filter cuckoo_start(const cf_geometry *shape);
void cuckoo_drop(cf_filter *filter);

/* An empty filter of this shape, or the end of the program. free() gives all of it back. */
cuckoo *cuckoo_make(const cf_geometry *shape);

/* The largest number of keys that cf_plan promises to take in so many bytes, with these options,
** growth off and the fingerprint bits given there; *shape is its plan. */
uint64_t cuckoo_planned(uint64_t bytes, const cf_options *options, cf_geometry *shape);

#endif
