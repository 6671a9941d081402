/* SPDX-License-Identifier: MIT */
/*
** changes.h - changes of keys in their order, as they are in the logs.
**
** A lookup needs what they add up to. That is known as far as somebody has asked for it: so a statement
** that adds millions of keys, and asks for none, just lists them.
*/
#ifndef CUCKOO_CHANGES_H
#define CUCKOO_CHANGES_H

#include "../keys/counts.h"

typedef struct cuckoo_change {
    uint64_t hash;
    int64_t row; /* of the key, with rowids=on; else 0 */
    int64_t n;   /* copies that have come, or gone (less than 0); or the time of an add */
} cuckoo_change;

/* All zeros: there are none. */
typedef struct cuckoo_changes {
    cuckoo_change *change; /* sqlite3_malloc64 */
    size_t n, room;
    size_t summed;  /* so many of them are in `counts` */
    unsigned types; /* cf_key_types of keys that have come, which the header of the filter may lack */
    cuckoo_counts counts;
    size_t linked;      /* with rowids=on so many of them are in `last`: */
    cuckoo_counts last; /* 1 + the number of the last change of each hash, and in `before` */
    size_t *before;     /* of the one before it, of each change; 0: none */
} cuckoo_changes;

/* SQLITE_OK, or SQLITE_NOMEM when nothing has changed. */
int cuckoo_changes_add(cuckoo_changes *changes, uint64_t hash, int64_t row, int64_t n);

/* Brings `counts` up to date, by copies or by times. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_changes_sum(cuckoo_changes *changes, bool times);

/* Brings `last` and `before` up to date. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_changes_link(cuckoo_changes *changes);

/* Calls `change`, as cuckoo_counts_walk does, for each of them, in their order. */
int cuckoo_changes_walk(const cuckoo_changes *changes, cuckoo_changer change, void *context);

/* Forgets all. */
void cuckoo_changes_free(cuckoo_changes *changes);

#endif
