/* SPDX-License-Identifier: MIT */
/*
** key_table.h - a cuckoo hash table of whole keys, to compare ways to find the alternate bucket
** (sections 3.1 and 4 of the paper).
**
** Slots hold the numbers of keys, so that every address can be computed anew: those of two
** independent hash functions, which a filter cannot have, and those of fingerprints of f bits.
*/
#ifndef CF_BENCH_KEY_TABLE_H
#define CF_BENCH_KEY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* How the second bucket follows from the first one. Fingerprint 0 becomes 1, as in the authors'
** program, whose empty slots are 0; but for KEY_HASHED_ALL. */
typedef enum key_address {
    KEY_INDEPENDENT, /* it does not: another hash of the key */
    KEY_HASHED,      /* XOR with a hash of the fingerprint (equation 1) */
    KEY_HASHED_ALL,  /* the same, and fingerprint 0 stays one of 2^f */
    KEY_UNHASHED     /* XOR with the fingerprint itself */
} key_address;

typedef struct key_table {
    key_address address;
    unsigned log2_buckets, b, f; /* f: 1 .. 32 */
    uint64_t draws;
    uint64_t first; /* number of the first key; 0 unless it is set */
    uint64_t keys;  /* so many from there are in it; all in their buckets unless a walk has failed */
    uint32_t *slot; /* key - first + 1; 0: empty */
} key_table;

key_table *key_table_make(key_address address, unsigned log2_buckets, unsigned b, unsigned f);

void key_table_drop(key_table *table);

/* Adds keys until one finds no room; ends the program when one that was taken is not in its buckets.
** The load. */
double key_table_fill(key_table *table);

/* The same up to so many keys: how many it took. */
uint64_t key_table_fill_to(key_table *table, uint64_t keys);

/* Its two buckets and its fingerprint (KEY_INDEPENDENT: 0). */
typedef struct key_place {
    uint64_t bucket[2];
    uint64_t fingerprint;
} key_place;

key_place key_place_of(const key_table *table, uint64_t key);

#endif
