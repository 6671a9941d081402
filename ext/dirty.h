/* SPDX-License-Identifier: MIT */
/*
** dirty.h - pages that have changed in memory and are not written yet, in the order of the changes.
*/
#ifndef CUCKOO_DIRTY_H
#define CUCKOO_DIRTY_H

#include "api.h"

/* An empty set is all zeros. */
typedef struct cuckoo_dirty {
    uint8_t *is;     /* by page */
    uint64_t *pages; /* those that are dirty, in order */
    uint64_t count;  /* of them */
    uint64_t room;   /* for so many of them */
} cuckoo_dirty;

/* Makes room in `is` for pages 0 .. pages-1 instead of 0 .. had-1. False: no memory. */
bool cuckoo_dirty_enlarge(cuckoo_dirty *dirty, uint64_t had, uint64_t pages);

/* Adds a page, if it is not there. False: no memory, and nothing has changed. */
bool cuckoo_dirty_mark(cuckoo_dirty *dirty, uint64_t page);

/* The first dirty page from `page` on, before `end`; none: `end`. */
uint64_t cuckoo_dirty_next(const cuckoo_dirty *dirty, uint64_t page, uint64_t end);

/* Empties the set. The second one frees its memory, too. */
void cuckoo_dirty_clear(cuckoo_dirty *dirty);
void cuckoo_dirty_free(cuckoo_dirty *dirty);

#endif
