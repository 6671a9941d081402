/* SPDX-License-Identifier: MIT */
/*
** rows.h - rowids=on: a key is stored with the rowid of each row that has it, as a value.
**
** A lookup returns the rows of the image and those that the logs add, without those that they delete. A
** caller compares each row with the table: one too many does no harm. Each pair of a key and a row is
** summed up by itself, so deletes are exact. A row has one key at a time. So where the image has a pair
** twice, or has one of another key with the same fingerprint, one of them is left of a change that no
** trigger reported (INSERT OR REPLACE), and a sum above 0 is never too small.
**
** Rowids that are negative, or too large for the values of the image, stay in the log of hashed keys, as
** pairs do that find no slot. When they are many, the image gets wider values.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_ROWS_H
#define CUCKOO_ROWS_H

#include "../follow/log.h"

/* Rows that probably have a key, each once. All zeros: none. */
typedef struct cuckoo_rows {
    cf_valued *at; /* sqlite3_malloc64, freed by the caller; the rowid is `hash` */
    size_t n, room;
} cuckoo_rows;

/* The rows of a key. */
int cuckoo_rows_find(cuckoo_net *net, cuckoo_paged *paged, uint64_t hash, cuckoo_rows *rows);

/* Adds a row, with a value. */
int cuckoo_rows_push(cuckoo_rows *rows, uint64_t row, int64_t value);

/* Does this row have the key, probably? Is that said by the image alone? */
int cuckoo_rows_have(cuckoo_net *net, cuckoo_paged *paged, uint64_t hash, int64_t row, bool *has);
bool cuckoo_rows_in(const cf_filter *filter, uint64_t hash, int64_t row);

/* Do the logs delete a pair that is not there? Then rowids have changed without the triggers. */
int cuckoo_rows_lack(cuckoo_net *net, cuckoo_paged *paged, bool *lack);

/* So many rows of this many may stay out of the pages. */
static inline uint64_t cuckoo_rows_odd(uint64_t rows)
{
    return rows / 64 + 64;
}

/* Makes values wider in memory, when the logs, which were read, have many rows that have no room there. */
int cuckoo_rows_widen(const cuckoo_net *net, cuckoo_paged *paged);

#endif
