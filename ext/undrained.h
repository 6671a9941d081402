/* SPDX-License-Identifier: MIT */
/*
** undrained.h - the keys that came by the log and are not in the pages yet, as one connection has read
** them.
**
** A lookup counts a key as stored when a row of the log has it as `new`. (Keys that have gone again
** are found until the log is drained.) The set is read once, and then from a *watermark* on: the last
** row that was read. That is right as long as the log was not drained, which makes another generation
** (pages.h), and as long as the row at the watermark is the one that was read. Otherwise all is read
** again. What a rollback takes out of the log is not noticed here: the store forgets the set then.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_UNDRAINED_H
#define CUCKOO_UNDRAINED_H

#include "pages.h"
#include "sums.h"

/* Without a set it is all zeros. */
typedef struct cuckoo_undrained {
    cuckoo_sums keys;    /* hashes of `new` */
    uint64_t rows, olds; /* that were read; those with an old key */
    int64_t mark;        /* the watermark: a rowid, if there are rows */
    uint64_t digest;     /* of the row there */
    uint64_t generation; /* of the pages to which the set belongs */
    bool current;        /* nothing can have changed since it was read */
} cuckoo_undrained;

/* Reads what the log has more, unless the set is current. It is current then. */
int cuckoo_undrained_read(cuckoo_undrained *undrained, cuckoo_paged *paged);

/* Has the log this key as `new`? Reads what is needed. */
int cuckoo_undrained_has(cuckoo_undrained *undrained, cuckoo_paged *paged, uint64_t hash, bool *has);

/* Forgets the set. The second one frees the memory, too. */
void cuckoo_undrained_forget(cuckoo_undrained *undrained);
void cuckoo_undrained_free(cuckoo_undrained *undrained);

#endif
