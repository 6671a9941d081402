/* SPDX-License-Identifier: MIT */
/*
** key.h - from an SQL value to a hash, and to the value that is stored beside a key.
**
** Two keys are the same key exactly when SQLite's = says so without affinity and collation. The hash
** is that of the canonical bytes of the value, which are a type and the content:
**
**      01 and 7 zero bytes      integer, or a real that equals one    8 bytes, two's complement
**      02 and 7 zero bytes      any other real                        8 bytes, IEEE 754
**      03                       text                                  its UTF-8 bytes
**      04                       blob                                  its bytes
**
** Numbers are little-endian. Text is hashed as UTF-8 whatever the encoding of the database is. So
** 1 = 1.0 and 0.0 = -0.0; 9007199254740993 differs from 9007199254740992.0, '1' differs from 1, and
** 'a' from x'61'. NULL is no key.
**
** A filter with a key rule (cf_affinity, cf_collation) never says "not there" of a key that some
** comparison `column = key` finds in a column of that affinity and collation. SQLite converts both
** sides before it compares, depending on the affinities of both, and a filter knows only one of them.
** So values that some comparison finds equal have one form:
**
**      NUMERIC    Text that looks like a number is that number. Integers stay exact.
**      REAL       The same, and every number is a double.
**      TEXT       Text that looks like a whole number is that integer, when it fits into 64 bits.
**                 With a point or an exponent it is rounded to 15 digits before; from 10^15 on it is
**                 the number that SQLite reads. Integers stay exact. All other text is compared as
**                 text. Columns of BLOB or no affinity have this rule, too.
**
** Under TEXT a real that is not whole, or is 10^15 or more, is *vague*: SQLite compares it as a number
** or as a text of 15 digits (17 in recent versions), depending on the other side. Lookups answer
** "perhaps" for a vague real, whatever the filter holds. A stored one is found all the same: SQLite
** makes text of parameters and of expressions, never of what lies in a column of BLOB or no affinity.
**
** Under NOCASE the letters A to Z of a text are hashed as a to z, up to the first NUL; what follows
** counts by a NUL and the length of the whole text (8 bytes). Under RTRIM the spaces at the end of
** a text are left out.
*/
#ifndef CUCKOO_KEY_H
#define CUCKOO_KEY_H

#include "../sqlite/api.h"

/* What became of a value that should be a key. */
typedef enum cuckoo_key {
    CUCKOO_KEY_OK,
    CUCKOO_KEY_NULL, /* the value is NULL: there is no key */
    CUCKOO_KEY_NOMEM /* SQLite could not convert a text to UTF-8 */
} cuckoo_key;

/* The hash of a key under the hash, the seed and the key rule of a filter. The value stays as it is. */
cuckoo_key cuckoo_key_hash_any(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash);

/* The same, with a short way for integers: only REAL turns them into something else. */
static inline cuckoo_key cuckoo_key_hash(sqlite3_value *value, const cf_geometry *geometry,
                                         uint64_t *hash)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER || geometry->affinity == CF_AFFINITY_REAL)
        return cuckoo_key_hash_any(value, geometry, hash);
    *hash = cf_hash_words(geometry, CF_KEY_INTEGER, (uint64_t)sqlite3_value_int64(value));
    return CUCKOO_KEY_OK;
}

/* The same for an argument of the running function, which has failed after CUCKOO_KEY_NOMEM. */
static inline cuckoo_key cuckoo_key_argument(sqlite3_context *context, sqlite3_value *value,
                                             const cf_geometry *geometry, uint64_t *hash)
{
    cuckoo_key kind = cuckoo_key_hash(value, geometry, hash);
    if (kind == CUCKOO_KEY_NOMEM)
        sqlite3_result_error_nomem(context);
    return kind;
}

/* Is the value vague under TEXT? */
bool cuckoo_key_vague(sqlite3_value *value);

/* May a join find the key whatever is in a filter of these rules? It is vague, and they are of TEXT. */
static inline bool cuckoo_key_always(const cf_geometry *geometry, sqlite3_value *key)
{
    return geometry->affinity == CF_AFFINITY_TEXT && cuckoo_key_vague(key);
}

/* Is the key perhaps in the filter? `hash` is that of `key`. Lookups of SQL values call this instead of
** cf_contains. */
static inline bool cuckoo_key_found(const cf_filter *filter, sqlite3_value *key, uint64_t hash)
{
    return cf_contains(filter, hash) || cuckoo_key_always(&filter->geometry, key);
}

/* The value that a filter with `bits` value bits stores beside a key. False: it is no integer from
** 0 to 2^bits - 1, as CUCKOO_BAD_VALUE says in a message; `given` is a text there. */
bool cuckoo_key_value(sqlite3_value *given, unsigned bits, uint64_t *value);
#define CUCKOO_BAD_VALUE(bits, given)                                                                   \
    "value must be an integer from 0 to %lld (value_bits=%d), got %s",                                  \
        ((sqlite3_int64)1 << (bits)) - 1, (int)(bits), given

/* A filter that keeps none is asked for values. */
#define CUCKOO_NO_VALUES                                                                                \
    "filter keeps no values; make it with them, such as cf_new(1000, 0.01, 'value_bits=8')"

/* One key made of several parts, as a blob: for each part the byte of its type, then the 8 bytes of
** a number, or the length of a text or blob (8 bytes) and its bytes. Two such keys are equal
** exactly when all parts are, without affinity and collation: the key rule of a filter leaves blobs
** as they are. Appends part after part to `key`. */
cuckoo_key cuckoo_key_append(sqlite3_str *key, sqlite3_value *part);

#endif
