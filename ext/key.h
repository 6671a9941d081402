/*
** key.h - from an SQL value to a hash.
**
** Two keys are the same key exactly when SQLite's = says so, without affinity or collation. The hash is
** that of the canonical bytes of the value, a type and the content:
**
**      01 and 7 zero bytes   integer, or a real that equals one    8 bytes, two's complement, little-endian
**      02 and 7 zero bytes   any other real                        8 bytes, IEEE 754, little-endian
**      03                    text                                  its UTF-8 bytes, whatever the encoding
**      04                    blob                                  its bytes
**
** So 1 = 1.0 and 0.0 = -0.0; 9007199254740993 differs from 9007199254740992.0; '1' differs from 1,
** and 'a' from x'61'. NULL is no key.
*/
#ifndef CUCKOO_KEY_H
#define CUCKOO_KEY_H

#include "api.h"

typedef enum cuckoo_key {
    CUCKOO_KEY_OK,
    CUCKOO_KEY_NULL, /* the value is NULL: there is no key */
    CUCKOO_KEY_NOMEM /* SQLite could not convert a text to UTF-8 */
} cuckoo_key;

/* The hash of a key under a filter's seed. */
cuckoo_key cuckoo_key_hash(sqlite3_value *value, int64_t seed, uint64_t *hash);

/* cf_key(part, ...): one key made of several. A blob: for each part its type byte, and
** 8 bytes of a number, or the length of a text or blob (8 bytes, little-endian) and its bytes. Equal exactly when all parts are. */
void cuckoo_key_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
