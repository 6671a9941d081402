/* SPDX-License-Identifier: MIT */
/*
** hashes.h - the hashes of many keys, collected row by row.
*/
#ifndef CUCKOO_HASHES_H
#define CUCKOO_HASHES_H

#include "api.h"

/* An empty one is all zeros. */
typedef struct cuckoo_hashes {
    uint64_t *at; /* sqlite3_malloc64 */
    size_t used, room;
} cuckoo_hashes;

/* The most that SQLite allocates at once. */
enum { CUCKOO_HASHES_MOST = 0x7ffffe00 / 8 };

/* Makes room for more: twice as much as before, up to CUCKOO_HASHES_MOST, below which it must be.
** False: the function has failed for lack of memory. */
bool cuckoo_hashes_grow(sqlite3_context *context, cuckoo_hashes *hashes);

/* Appends one. There must be room. */
static inline void cuckoo_hashes_push(cuckoo_hashes *hashes, uint64_t hash)
{
    hashes->at[hashes->used++] = hash;
}

/* Sorts n hashes. False: the function has failed, because it was interrupted. */
bool cuckoo_hashes_sort(sqlite3_context *context, uint64_t *at, size_t n);

void cuckoo_hashes_free(cuckoo_hashes *hashes);

#endif
