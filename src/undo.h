/* SPDX-License-Identifier: MIT */
/*
** undo.h - growth that can be taken back: each bucket as it was before it was split is written
** down.
**
** Splitting loses nothing of the entries but, in semi-sorted buckets, their slots; and void entries
** are in two buckets afterwards. So a step is not undone by putting entries together again: the
** record is written back.
*/
#ifndef CF_UNDO_H
#define CF_UNDO_H

#include "growth.h"

/* Steps that can be taken back: the filter before them, and each bucket as it was before it was
** split. */
typedef struct cf_undo {
    cf_filter then;
    uint8_t *bytes; /* the spill list of then; the records, packed, each in whole bytes */
    uint64_t used, room;
    cf_steps steps;
    uint8_t first[512]; /* `bytes` as long as it is enough */
} cf_undo;

/* From here on. */
void cf_undo_begin(cf_undo *undo, const cf_filter *filter);

/* cf_grow, written down. Errors as there, and CF_NO_MEMORY for the record. CF_INTERRUPTED: no more
** steps. */
cf_status cf_grow_noted(cf_filter *filter, cf_undo *undo);

/* One of a row of steps: cf_grow_follow(filter, &undo->steps) ends the row. */
cf_status cf_grow_on_noted(cf_filter *filter, cf_undo *undo);

/* Takes growth back, when nothing but growth has happened since: the bytes are those of then. */
void cf_grow_back(cf_filter *filter, cf_undo *undo);

/* Gives the memory of the records back. */
void cf_undo_end(const cf_filter *filter, cf_undo *undo);

#endif
