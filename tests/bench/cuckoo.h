/* SPDX-License-Identifier: MIT */
/*
** cuckoo.h - filters of the library of an exact shape, for the benchmarks.
*/
#ifndef CF_BENCH_CUCKOO_H
#define CF_BENCH_CUCKOO_H

#include "../../src/cuckoo_filter.h"
#include "bench.h"

/* The shape of a table of m buckets with b slots for f bits, growth off, with the cap that the planner
** takes: all of the fingerprint is pair bits, as in the paper. */
cf_geometry cuckoo_shape(uint64_t m, unsigned b, unsigned f);

/* The plan for so many keys, or the end of the program. */
cf_geometry cuckoo_plan(uint64_t keys, double rate, const cf_options *options);

/* An empty filter of this shape, or the end of the program. It grows when its memory is cuckoo_memory.
** cuckoo_drop gives it back. */
cf_filter cuckoo_make(const cf_geometry *shape);
void cuckoo_drop(cf_filter *filter);

/* All that it asks for. */
static const cf_memory cuckoo_memory = {bench_resize, UINT64_MAX, NULL};

/* The largest number of keys that cf_plan promises to take in so many bytes, with these options,
** growth off and the fingerprint bits given there; *shape is its plan. */
uint64_t cuckoo_planned(uint64_t bytes, const cf_options *options, cf_geometry *shape);

#endif
