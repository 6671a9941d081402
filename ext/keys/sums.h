/* SPDX-License-Identifier: MIT */
/*
** sums.h - a sum for each of many hashes, or a time: a hash table with linear probing.
*/
#ifndef CUCKOO_SUMS_H
#define CUCKOO_SUMS_H

#include "../sqlite/api.h"

typedef struct cuckoo_sum {
    uint64_t hash;
    int64_t sum;
    bool taken; /* false: an empty place */
} cuckoo_sum;

/* An empty table is all zeros. */
typedef struct cuckoo_sums {
    cuckoo_sum *place; /* sqlite3_malloc64 */
    size_t places;     /* 0, or a power of two */
    size_t used;       /* places that are taken, those of sum 0 included */
} cuckoo_sums;

/* Adds to the sum of a hash; or the later of two `times` stays. SQLITE_OK, or SQLITE_NOMEM when nothing
** has changed. */
int cuckoo_sums_take(cuckoo_sums *sums, bool times, uint64_t hash, int64_t n);

/* The sum of a hash; 0: nothing was ever added, or it cancels out. */
int64_t cuckoo_sums_of(const cuckoo_sums *sums, uint64_t hash);

/* Calls `change` for each key of which copies have come (more than 0) or gone (less); those that have
** gone first, which makes room. `change` returns an SQLite code, and an error ends the walk. */
typedef int (*cuckoo_changer)(void *context, uint64_t hash, int64_t n);
int cuckoo_sums_walk(const cuckoo_sums *sums, cuckoo_changer change, void *context);

/* Is any of them not 0? */
bool cuckoo_sums_any(const cuckoo_sums *sums);

/* Forgets all sums. */
void cuckoo_sums_free(cuckoo_sums *sums);

#endif
