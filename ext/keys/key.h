/* SPDX-License-Identifier: MIT */
/*
** key.h - from an SQL value to a hash, and to the value that is stored beside a key.
**
** The key rules are those of src/cuckoo_key.h. Text is hashed as UTF-8 whatever the encoding of the
** database is. NULL is no key.
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
** 0 to 2^bits - 1, as CUCKOO_BAD_VALUE says in a message; `given` is a text there. A whole REAL is an
** integer: some drivers bind every number as REAL. */
bool cuckoo_key_value(sqlite3_value *given, unsigned bits, uint64_t *value);
#define CUCKOO_BAD_VALUE(bits, given)                                                                   \
    "value must be an integer from 0 to %lld (value_bits=%d), got %s",                                  \
        ((sqlite3_int64)1 << (bits)) - 1, (int)(bits), given

/* A filter that keeps none is asked for values. */
#define CUCKOO_NO_VALUES                                                                                \
    "filter stores no values; create one that does, such as cf_new(1000, 0.01, 'value_bits=8')"

/* One key made of several parts, as a blob: for each part the byte of its type, then the 8 bytes of
** a number, or the length of a text or blob (8 bytes) and its bytes. Two such keys are equal
** exactly when all parts are, without affinity and collation: the key rule of a filter leaves blobs
** as they are. Appends part after part to `key`. */
cuckoo_key cuckoo_key_append(sqlite3_str *key, sqlite3_value *part);

#endif
