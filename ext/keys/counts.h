/* SPDX-License-Identifier: MIT */
/*
** counts.h - a hash map from the hash of a key to a count of copies, or to a time; with linear probing.
** With rowids=on an entry is a key in a row; everywhere else `row` is 0.
*/
#ifndef CUCKOO_COUNTS_H
#define CUCKOO_COUNTS_H

#include "../sqlite/api.h"

typedef struct cuckoo_count {
    uint64_t hash;
    int64_t n;
} cuckoo_count;

/* All zeros: an empty map. */
typedef struct cuckoo_counts {
    cuckoo_count *slot; /* sqlite3_malloc64 */
    int64_t *row;       /* of each slot; NULL: all are 0 */
    size_t slots;
    size_t used;    /* used slots, those with a count of 0 included */
    uint64_t order; /* 0: the usual one */
} cuckoo_counts;

/* An empty map that is filled while another one is walked. In the same order it would fill from one end,
** and each insertion would probe all of that. */
#define CUCKOO_COUNTS_BESIDE ((cuckoo_counts){.order = UINT64_C(0xD6E8FEB86659FD93)})

/* Adds n to the count of an entry; with `times` keeps the later time. Unchanged on SQLITE_NOMEM. */
int cuckoo_counts_put(cuckoo_counts *counts, bool times, uint64_t hash, int64_t row, int64_t n);

/* The count of an entry, 0 by default. */
int64_t cuckoo_counts_get(const cuckoo_counts *counts, uint64_t hash, int64_t row);

/* Calls `change` for each count that is not 0, negative ones first, because deletes make room. The first
** error of `change`, an SQLite code, ends the walk. */
typedef int (*cuckoo_changer)(void *context, uint64_t hash, int64_t row, int64_t n);
int cuckoo_counts_walk(const cuckoo_counts *counts, cuckoo_changer change, void *context);

/* True if a count is not 0. */
bool cuckoo_counts_any(const cuckoo_counts *counts);

/* Frees the map, which is empty then. */
void cuckoo_counts_free(cuckoo_counts *counts);

#endif
