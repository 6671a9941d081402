/* SPDX-License-Identifier: MIT */
/*
** many.h - many keys at once: hashes, or hashes with values.
*/
#ifndef CF_MANY_H
#define CF_MANY_H

#include "../include/cuckoo_filter.h"
#include "watch.h"

/* n keys of one or two words: hashes, or pairs (cf_valued). */
typedef struct cf_many {
    uint64_t *at;
    size_t n;
    unsigned words;
} cf_many;

/* Sorts the keys by hash and value. With many hashes it takes a block from `memory` for a copy, which is
** twice as fast, and frees it; it sorts in place if memory->resize is NULL or returns NULL. False: the
** ticker has stopped; all keys are there, in some order. */
bool cf_sort_many(const cf_many *keys, const cf_memory *memory, cf_ticker *ticker);

#endif
