/* SPDX-License-Identifier: MIT */
/*
** sort.h - sorting hashes, in place or with memory for a second copy of them.
*/
#ifndef CF_SORT_H
#define CF_SORT_H

#include "../base/watch.h"
#include "../cuckoo_filter.h"

/* Sorts n hashes. It asks `memory` for room for a copy of them, which it gives back: twice as fast for
** many random hashes. When its resize is NULL, or gives none, the sort is in place. False: the ticker
** has stopped; the hashes are all there, in some order. */
bool cf_sort_with(uint64_t *hashes, size_t n, const cf_memory *memory, cf_ticker *ticker);

#endif
