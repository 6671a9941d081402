/* SPDX-License-Identifier: MIT */
/*
** key_list.h - lists of hashed keys. key_list.c describes their bytes.
*/
#ifndef CUCKOO_KEY_LIST_H
#define CUCKOO_KEY_LIST_H

#include "../sqlite/api.h"

enum { CUCKOO_LIST_HEADER = 64 /* bytes */ };

typedef struct cuckoo_key_list {
    cf_geometry rule; /* hash, seed, affinity, collation and key_types; the rest is 0 */
    bool valued;      /* each key has a value */
    bool numeric;     /* some keys are texts that look like numbers */
    uint64_t n;
    const uint8_t *keys; /* little-endian words: the hash; then, with values, the value */
} cuckoo_key_list;

/* Writes the header of the list. */
void cuckoo_list_encode(const cuckoo_key_list *list, uint8_t *header);

#endif
