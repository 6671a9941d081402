/* SPDX-License-Identifier: MIT */
/*
** changes.h - changes of keys, in the order of the logs.
**
** A lookup needs their sums, which are computed only when one is needed: a statement that adds millions
** of keys, and looks up none, just appends them to a list.
*/
#ifndef CUCKOO_CHANGES_H
#define CUCKOO_CHANGES_H

#include "../keys/counts.h"

typedef struct cuckoo_change {
    uint64_t hash;
    int64_t row; /* the rowid of the key, with rowids=on; otherwise 0 */
    int64_t n;   /* copies added, or deleted (negative); or the time of an add */
} cuckoo_change;

/* All zeros: empty. */
typedef struct cuckoo_changes {
    cuckoo_change *change; /* sqlite3_malloc64 */
    size_t n, room;
    size_t summed;  /* the first of them, which are in `counts` */
    unsigned types; /* cf_key_types of added keys, which the header of the filter may lack */
    cuckoo_counts counts;
    size_t linked;      /* with rowids=on: the first of them, which are in `last`: */
    cuckoo_counts last; /* 1 + the number of the last change of each hash; and in `before`: */
    size_t *before;     /* the same for the change before each change; 0: none */
} cuckoo_changes;

/* Appends a change. SQLITE_OK; or SQLITE_NOMEM, and nothing has changed. */
int cuckoo_changes_add(cuckoo_changes *changes, uint64_t hash, int64_t row, int64_t n);

/* Brings `counts` up to date, with copies or with times. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_changes_sum(cuckoo_changes *changes, bool times);

/* Brings `last` and `before` up to date. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_changes_link(cuckoo_changes *changes);

/* Calls `change`, as cuckoo_counts_walk does, for each change, in order. */
int cuckoo_changes_walk(const cuckoo_changes *changes, cuckoo_changer change, void *context);

/* Frees all. */
void cuckoo_changes_free(cuckoo_changes *changes);

#endif
