/* SPDX-License-Identifier: MIT */
/*
** key_list.h - the bytes of a key list: what cf_keys makes, and cf_add_keys and cf_delete_keys take.
**
** All integers are unsigned and little-endian, unless marked; a list is the same on every machine.
**
**   offset  bytes  field
**        0      3  magic: cf 6b 6c
**        3      1  format version: 1
**        4      1  hash identity, as in a filter: that of hash.h, of the bytes that key.h describes
**        5      1  1: each key has a value; 0: none has
**        6      1  affinity of keys: 0 none, 1 text, 2 numeric, 3 real
**        7      1  collation of keys: 0 binary, 1 nocase, 2 rtrim
**        8      8  seed of the hash (signed)
**       16      8  n, the number of keys
**       24     36  zero
**       60      4  checksum: the low 32 bits of XXH3 (unseeded) of bytes 0 .. 59
**       64         n keys: 8 bytes of hash; then, with values, 8 bytes of value
**
** Keys stand in the order of the rows, and as often as they came. They are not sorted: that would
** cost more than collecting them, and whoever adds many keys chooses an order of its own.
*/
#ifndef CUCKOO_KEY_LIST_H
#define CUCKOO_KEY_LIST_H

#include "api.h"

enum { CUCKOO_KEY_LIST_HEADER = 64 }; /* bytes */

typedef struct cuckoo_key_list {
    cf_geometry rule; /* hash, seed, affinity and collation; the rest is 0 */
    bool valued;
    uint64_t n;
    const uint8_t *keys; /* behind the header */
} cuckoo_key_list;

/* Bytes of one key. */
static inline unsigned cuckoo_key_list_step(const cuckoo_key_list *list)
{
    return list->valued ? 16 : 8;
}

/* Writes the header. */
void cuckoo_key_list_encode(const cuckoo_key_list *list, uint8_t *header);

/* Reads and validates `length` bytes: every field against its range and the length. Returns NULL,
** or what is wrong. `bytes` may be NULL when length is 0. */
const char *cuckoo_key_list_open(const uint8_t *bytes, size_t length, cuckoo_key_list *list);

#endif
