/* SPDX-License-Identifier: MIT */
/*
** sort.h - sorting hashes, in place or with memory for a second copy of them; and hashes with values.
*/
#ifndef CF_SORT_H
#define CF_SORT_H

#include "../base/watch.h"
#include "../cuckoo_filter.h"

/* Sorts n hashes. It asks `memory` for room for a copy of them, which it gives back: twice as fast for
** many random hashes. When its resize is NULL, or gives none, the sort is in place. False: the ticker
** has stopped; the hashes are all there, in some order. */
bool cf_sort_with(uint64_t *hashes, size_t n, const cf_memory *memory, cf_ticker *ticker);

/* Sorts n pairs by hash and value, with memory for a copy of them. CF_OK; CF_NO_MEMORY; CF_INTERRUPTED: some
** pairs may be lost. */
cf_status cf_sort_pairs(cf_valued *pairs, size_t n, const cf_memory *memory, cf_ticker *ticker);

/* Drops repeated ones of n sorted pairs; returns how many are left. */
size_t cf_drop_repeated_pairs(cf_valued *pairs, size_t n);

/* How many different ones there are among n sorted hashes. */
size_t cf_count_distinct(const uint64_t *sorted, size_t n);

#endif
