/* SPDX-License-Identifier: MIT */
/*
** search_steps.h - what an insertion of the library does, step by step.
*/
#ifndef CF_BENCH_SEARCH_STEPS_H
#define CF_BENCH_SEARCH_STEPS_H

#include "../../src/cuckoo_inspect.h"
#include "walk.h"

/* Adds a key and counts buckets examined and written, by searching the path once more beforehand:
** the library's search is deterministic. Of a spilled entry, the two overflow bits are two buckets
** written. */
bench_steps search_add(cf_filter *filter, uint64_t hash);

#endif
