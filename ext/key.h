/* SPDX-License-Identifier: MIT */
/*
** key.h - from an SQL value to a hash, and to the value that is stored beside a key.
**
** Two keys are the same key exactly when SQLite's = says so without affinity and collation. A
** filter with a key rule (cf_affinity, cf_collation) differs: there two keys are the same when a
** column of that affinity and collation, on the left of =, can equal both (canonical.h). The hash
** is that of the canonical bytes of the value, which are a type and the content:
**
**      01 and 7 zero bytes      integer, or a real that equals one    8 bytes, two's complement
**      02 and 7 zero bytes      any other real                        8 bytes, IEEE 754
**      03                       text                                  its UTF-8 bytes
**      04                       blob                                  its bytes
**      05, places in 2 bytes    decimal, only with affinity=text:     8 bytes, two's complement
**      and 5 zero bytes         content / 10^places
**
** Numbers are little-endian. Text is hashed as UTF-8 whatever the encoding of the database is. So
** 1 = 1.0 and 0.0 = -0.0; 9007199254740993 differs from 9007199254740992.0, '1' differs from 1, and
** 'a' from x'61'. NULL is no key.
**
** Under NOCASE the letters A to Z of a text are hashed as a to z, up to the first NUL; what follows
** counts by a NUL and the length of the whole text (8 bytes). Under RTRIM the spaces at the end of
** a text are left out.
*/
#ifndef CUCKOO_KEY_H
#define CUCKOO_KEY_H

#include "canonical.h"

/* The hash of a key under the hash, the seed and the key rule of a filter. The value stays as it is. */
cuckoo_key cuckoo_key_hash(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash);

/* Is the key perhaps in the filter? `hash` is that of `key`. Lookups of SQL values call this
** instead of cf_contains: with affinity=text some values equal keys of other hashes, and are always
** perhaps there (canonical.h: vague). */
static inline bool cuckoo_key_found(const cf_filter *filter, sqlite3_value *key, uint64_t hash)
{
    return cf_contains(filter, hash) ||
           (filter->geometry.affinity == CF_AFFINITY_TEXT && cuckoo_canonical_vague(key));
}

/* The value that a filter with `bits` value bits stores beside a key. False: it is no integer from
** 0 to 2^bits - 1, as CUCKOO_BAD_VALUE(bits) says in a message. */
bool cuckoo_key_value(sqlite3_value *given, unsigned bits, uint64_t *value);
#define CUCKOO_BAD_VALUE(bits)                                                                          \
    "value must be an integer from 0 to %lld (value_bits=%d)", ((sqlite3_int64)1 << (bits)) - 1,        \
        (int)(bits)

/* One key made of several parts, as a blob: for each part the byte of its type, then the 8 bytes of
** a number, or the length of a text or blob (8 bytes) and its bytes. Two such keys are equal
** exactly when all parts are, without affinity and collation: the key rule of a filter leaves blobs
** as they are. Appends part after part to `key`. */
cuckoo_key cuckoo_key_append(sqlite3_str *key, sqlite3_value *part);

#endif
