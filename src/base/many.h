/* SPDX-License-Identifier: MIT */
/*
** many.h - many keys at once: hashes, or hashes with values.
*/
#ifndef CF_MANY_H
#define CF_MANY_H

#include "../include/cuckoo_filter.h"
#include "watch.h"

/* n keys, of one word or of two: a hash, or a cf_valued. */
typedef struct cf_many {
    uint64_t *at;
    size_t n;
    unsigned words;
} cf_many;

/* Sorts them, by hash and value. For many hashes it asks `memory` for room for a copy, twice as fast,
** and gives it back. When its resize is NULL, or gives none, the sort is in place. False: the ticker has
** stopped; the keys are all there, in some order. */
bool cf_sort_many(const cf_many *keys, const cf_memory *memory, cf_ticker *ticker);

#endif
