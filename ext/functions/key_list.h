/* SPDX-License-Identifier: MIT */
/*
** key_list.h - many keys, collected first and applied in one call. Their bytes: key_list.c.
*/
#ifndef CUCKOO_KEY_LIST_H
#define CUCKOO_KEY_LIST_H

#include "../sqlite/api.h"

enum { CUCKOO_LIST_HEADER = 64 /* bytes */ };

typedef struct cuckoo_key_list {
    cf_geometry rule; /* hash, seed, affinity and collation, key_types; the rest is 0 */
    bool valued;      /* a value goes with each key */
    bool numeric;     /* some are texts that look like numbers */
    uint64_t n;
    const uint8_t *keys; /* little-endian words: the hash; then, with values, the value */
} cuckoo_key_list;

/* Writes the header that describes the list. */
void cuckoo_list_encode(const cuckoo_key_list *list, uint8_t *header);

/* Adds all keys of a list that goes with the filter, or deletes them, in their order. False: the running
** function has failed, and the filter is unspecified. */
bool cuckoo_list_apply(sqlite3_context *context, cf_filter *filter, const cuckoo_key_list *list,
                       bool adds);

#endif
