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

/* The shape of a table of m buckets with b slots for f bits, growth off, with the cap that the planner takes. */
cf_geometry cuckoo_shape(uint64_t m, unsigned b, unsigned f);

/* An empty filter of this shape, or the end of the program. free() gives all of it back. */
cuckoo *cuckoo_make(const cf_geometry *shape);

/* The largest number of keys that cf_plan promises to take in so many bytes, with these options,
** growth off and the fingerprint bits given there; *shape is its plan. */
uint64_t cuckoo_planned(uint64_t bytes, const cf_options *options, cf_geometry *shape);

#endif
