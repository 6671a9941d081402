/* SPDX-License-Identifier: MIT */
/*
** growth_undo.h - what growth overwrites, written down so that it can be taken back (growth.h).
**
** Splitting loses nothing of the entries but, in semi-sorted buckets, their slots; and void entries
** are in two buckets afterwards. So a step is not undone by putting entries together again: each
** bucket is kept as it was before it was split, the last one on top.
*/
#ifndef CF_GROWTH_UNDO_H
#define CF_GROWTH_UNDO_H

#include "../entry/spill_follow.h"
#include "../table/bucket.h"

/* What growth changes of a filter, but for its bytes. */
typedef struct cf_before {
    uint64_t buckets, split, length, occupied;
    unsigned level, spilled;
    bool grown;
} cf_before;

typedef struct cf_undo {
    cf_before then; /* the filter before the first step */
    uint8_t *bytes; /* the spill list of then; the records, packed, each in whole bytes */
    uint64_t used, room;
    cf_steps steps;
    uint8_t first[512]; /* `bytes` as long as it is enough */
} cf_undo;

/* From here on. */
void cf_undo_begin(cf_undo *undo, const cf_filter *filter);

/* Makes room for one more record; keeps the spill list when it is the first. CF_OK; CF_NO_MEMORY. */
cf_status cf_undo_reserve(const cf_filter *filter, cf_undo *undo);

/* Keeps a bucket. Writes the last one back, which has its old form again; without an overflow bit. */
void cf_undo_push(const cf_filter *filter, uint64_t bucket, cf_undo *undo);
void cf_undo_pop(cf_filter *filter, uint64_t bucket, cf_undo *undo);

/* Writes the spill list back, and its overflow bits. The blob has its old length again. */
void cf_undo_list(cf_filter *filter, const cf_undo *undo);

/* Gives the memory of the records back. */
void cf_undo_end(const cf_filter *filter, cf_undo *undo);

#endif
