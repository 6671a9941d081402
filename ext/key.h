/*
** key.h - from an SQL value to a hash.
**
** Two keys are the same key exactly when SQLite's = says so, without affinity or collation; unless the filter has a key
** rule (cf_affinity, cf_collation): then whenever a column of that affinity and collation, on the left of =,
** equals both (canonical.h). The hash is that of the canonical bytes of the value, a type and the content:
**
**      01 and 7 zero bytes      integer, or a real that equals one    8 bytes, two's complement, little-endian
**      02 and 7 zero bytes      any other real                        8 bytes, IEEE 754, little-endian
**      03                       text                                  its UTF-8 bytes, whatever the encoding
**      04                       blob                                  its bytes
**      05, places in 2 bytes    decimal, only with affinity=text:     8 bytes, two's complement, little-endian
**      and 5 zero bytes         content / 10^places
**
** So 1 = 1.0 and 0.0 = -0.0; 9007199254740993 differs from 9007199254740992.0; '1' differs from 1,
** and 'a' from x'61'. NULL is no key.
**
** Of text under NOCASE, A to Z are hashed as a to z, up to the first NUL; from that on, a NUL and the length of the whole text
** (8 bytes, little-endian). Under RTRIM, the text without spaces at its end.
*/
#ifndef CUCKOO_KEY_H
#define CUCKOO_KEY_H

#include "api.h"

typedef enum cuckoo_key {
    CUCKOO_KEY_OK,
    CUCKOO_KEY_NULL, /* the value is NULL: there is no key */
    CUCKOO_KEY_NOMEM /* SQLite could not convert a text to UTF-8 */
} cuckoo_key;

/* The hash of a key under the seed and the key rule of a filter. The value stays as it is. */
cuckoo_key cuckoo_key_hash(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash);

/* Is the key perhaps in the filter? `hash` is the one of `value`. In place of cf_contains for every lookup of a value:
** with affinity=text some values equal keys of other hashes, and are always "perhaps" there. */
bool cuckoo_key_found(const cf_filter *filter, sqlite3_value *value, uint64_t hash);

/* cf_key(part, ...): one key made of several. A blob: for each part its type byte, and
** 8 bytes of a number, or the length of a text or blob (8 bytes, little-endian) and its bytes. Equal exactly when all parts are,
** without affinity or collation: the key rule of a filter sees one blob, which it leaves as it is. */
void cuckoo_key_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
