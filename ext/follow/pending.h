/* SPDX-License-Identifier: MIT */
/*
** pending.h - changes of keys that are not in the log yet, in their order (table.h in ../table).
**
** A lookup needs what they add up to. That is known as far as somebody has asked for it: so a statement
** that adds millions of keys, and asks for none, just lists them.
*/
#ifndef CUCKOO_PENDING_H
#define CUCKOO_PENDING_H

#include "log.h"

typedef struct cuckoo_change {
    uint64_t hash;
    int64_t n; /* copies that have come, or gone (less than 0); or the time of an add */
} cuckoo_change;

/* All zeros: nothing is pending. */
typedef struct cuckoo_pending {
    cuckoo_change *change; /* sqlite3_malloc64 */
    size_t n, room;
    size_t summed; /* so many of them are in `sums` */
    cuckoo_sums sums;
} cuckoo_pending;

/* SQLITE_OK, or SQLITE_NOMEM when nothing has changed. */
int cuckoo_pending_add(cuckoo_pending *pending, uint64_t hash, int64_t n);

/* Brings `sums` up to date, by copies or by times (`paged`). SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_pending_sum(cuckoo_pending *pending, const cuckoo_paged *paged);

/* Forgets the first so many; all. */
void cuckoo_pending_shift(cuckoo_pending *pending, size_t n);
void cuckoo_pending_free(cuckoo_pending *pending);

#endif
