/* SPDX-License-Identifier: MIT */
/*
** deletes.h - deletes that wait in memory, counted by key: a hash table with linear probing.
*/
#ifndef CUCKOO_DELETES_H
#define CUCKOO_DELETES_H

#include "api.h"

typedef struct cuckoo_delete {
    uint64_t hash, value;
    uint64_t copies; /* 0: an empty place */
} cuckoo_delete;

/* An empty table is all zeros. */
typedef struct cuckoo_deletes {
    cuckoo_delete *place;
    size_t places; /* 0, or a power of two */
    size_t used;   /* how many places are not empty */
    size_t last;   /* where pop goes on, downwards */
    uint64_t n;    /* copies of all keys */
} cuckoo_deletes;

/* One more delete of a key. SQLITE_OK, or SQLITE_NOMEM when nothing has changed. */
int cuckoo_deletes_push(cuckoo_deletes *deletes, uint64_t hash, uint64_t value);

/* One delete less of a key. False: there was none. */
bool cuckoo_deletes_cancel(cuckoo_deletes *deletes, uint64_t hash, uint64_t value);

/* Takes any key out, with all of its copies. False: the table is empty. */
bool cuckoo_deletes_pop(cuckoo_deletes *deletes, cuckoo_delete *some);

/* Empties the table. The second one frees its memory, too. */
void cuckoo_deletes_clear(cuckoo_deletes *deletes);
void cuckoo_deletes_free(cuckoo_deletes *deletes);

/* Are there so many that they should become rows (waiting.h)? */
bool cuckoo_deletes_many(const cuckoo_deletes *deletes);

#endif
