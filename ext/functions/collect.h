/* SPDX-License-Identifier: MIT */
/*
** collect.h - what an aggregate collects row by row: its options, and the hashes of many keys.
*/
#ifndef CUCKOO_COLLECT_H
#define CUCKOO_COLLECT_H

#include "../keys/options.h"

#include <assert.h>

/* fpr and options, which SQLite hands over with every row. Starts as zeros. */
typedef struct cuckoo_given {
    bool started;             /* a row was read */
    sqlite3_value *values[2]; /* of the first row; NULL: none was given */
    cuckoo_options options;   /* what they say */
    cf_geometry rule;         /* hash, seed and key rule of these options; the rest is 0 */
} cuckoo_given;

/* Reads [fpr [, options]] of one row, as cuckoo_options_read does. They must be those of the first
** row, to the byte. `count` is the same for all rows. False: the function has failed. */
bool cuckoo_given_read(sqlite3_context *context, int count, sqlite3_value **values, cuckoo_given *given);

void cuckoo_given_free(cuckoo_given *given);

/* An empty one is all zeros. */
typedef struct cuckoo_hashes {
    uint64_t *at; /* sqlite3_malloc64 */
    size_t used, room;
} cuckoo_hashes;

/* The most that SQLite allocates at once. */
enum { CUCKOO_HASHES_MOST = 0x7ffffe00 / 8 };

/* Makes room for more: twice as much as before, up to CUCKOO_HASHES_MOST, below which it must be.
** False: the function has failed for lack of memory. */
bool cuckoo_hashes_grow(sqlite3_context *context, cuckoo_hashes *hashes);

/* Appends one. There must be room. */
static inline void cuckoo_hashes_push(cuckoo_hashes *hashes, uint64_t hash)
{
    assert(hashes->used < hashes->room);
    hashes->at[hashes->used++] = hash;
}

/* Sorts n hashes. False: the function has failed, because it was interrupted. */
bool cuckoo_hashes_sort(sqlite3_context *context, uint64_t *at, size_t n);

void cuckoo_hashes_free(cuckoo_hashes *hashes);

#endif
