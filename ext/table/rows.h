/* SPDX-License-Identifier: MIT */
/*
** rows.h - rowids=on: a key is stored with the rowid of each row that has it, as a value.
**
** A lookup returns the rows in the image, plus the rows that the logs add, minus the rows that they
** delete. The caller compares each row with the table, so an extra row does no harm. Each pair of a key
** and a row is summed up separately, so deletes are exact. A row has one key at a time. So if the image
** has a pair twice, or a pair of another key with the same fingerprint, one of them is left over from a
** change that no trigger reported (INSERT OR REPLACE), and a sum above 0 is never too small.
**
** Rowids that are negative, or too large for the values of the image, stay in the log of hashed keys,
** like pairs without a slot. If there are many of them, the image gets wider values.
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

/* True if this row probably has the key; the second function looks in the image alone. */
int cuckoo_rows_have(cuckoo_net *net, cuckoo_paged *paged, uint64_t hash, int64_t row, bool *has);
bool cuckoo_rows_in(const cf_filter *filter, uint64_t hash, int64_t row);

/* True if the logs delete a pair that does not exist: rowids have changed without the triggers. */
int cuckoo_rows_lack(cuckoo_net *net, cuckoo_paged *paged, bool *lack);

/* How many of this many rows may stay out of the pages. */
static inline uint64_t cuckoo_rows_odd(uint64_t rows)
{
    return rows / 64 + 64;
}

/* Widens values in memory, if the logs, which were read, have many rows that do not fit into them. */
int cuckoo_rows_widen(const cuckoo_net *net, cuckoo_paged *paged);

#endif
