/* SPDX-License-Identifier: MIT */
/*
** key.h - from an SQL value to a hash, and to the value that is stored beside a key.
**
** The key rules are those of src/include/cuckoo_key.h. Text is hashed as UTF-8 whatever the encoding of the
** database is. NULL is no key.
*/
#ifndef CUCKOO_KEY_H
#define CUCKOO_KEY_H

#include "../sqlite/api.h"

/* What became of a value that should be a key. */
typedef enum cuckoo_key {
    CUCKOO_KEY_OK,
    CUCKOO_KEY_NULL,  /* the value is NULL: there is no key */
    CUCKOO_KEY_NOMEM, /* SQLite could not convert a text to UTF-8 */
    CUCKOO_KEY_UNFIT  /* it cannot have been meant (cf_key_fits): the filter has no keys of its type */
} cuckoo_key;

/* Its types in a filter of these rules, as cf_key_types. NULL has none. Is it a text that looks like a
** number? */
unsigned cuckoo_key_type(sqlite3_value *value, const cf_geometry *rule);
bool cuckoo_key_is_numeric(sqlite3_value *value);

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

/* The same for a key that is looked for or deleted: it may be CUCKOO_KEY_UNFIT. */
cuckoo_key cuckoo_key_ask_any(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash);
static inline cuckoo_key cuckoo_key_ask(sqlite3_value *value, const cf_geometry *geometry,
                                        uint64_t *hash)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER || geometry->affinity == CF_AFFINITY_REAL ||
        !(geometry->key_types & CF_TYPE_NUMBER))
        return cuckoo_key_ask_any(value, geometry, hash);
    *hash = cf_hash_words(geometry, CF_KEY_INTEGER, (uint64_t)sqlite3_value_int64(value));
    return CUCKOO_KEY_OK;
}

/* Why such a key, or one of this type, is refused, and the remedy (sqlite3_malloc; NULL: out of memory).
** `what`: the words for it. */
char *cuckoo_key_unfit_value(const cf_geometry *geometry, sqlite3_value *key);
char *cuckoo_key_unfit(const cf_geometry *geometry, unsigned type, const char *what);

/* The same for an argument of the running function, which has failed after CUCKOO_KEY_NOMEM and
** CUCKOO_KEY_UNFIT. */
cuckoo_key cuckoo_key_fail(sqlite3_context *context, sqlite3_value *value, const cf_geometry *geometry,
                           cuckoo_key kind);
static inline cuckoo_key cuckoo_key_argument(sqlite3_context *context, sqlite3_value *value,
                                             const cf_geometry *geometry, uint64_t *hash)
{
    cuckoo_key kind = cuckoo_key_ask(value, geometry, hash);
    return kind <= CUCKOO_KEY_NULL ? kind : cuckoo_key_fail(context, value, geometry, kind);
}

/* The same for a key that is added to the running aggregate's keys: its type is noted. */
cuckoo_key cuckoo_key_added_any(sqlite3_context *context, sqlite3_value *value, cf_geometry *rule,
                                uint64_t *hash);
static inline cuckoo_key cuckoo_key_added(sqlite3_context *context, sqlite3_value *value,
                                          cf_geometry *rule, uint64_t *hash)
{
    bool noted = sqlite3_value_type(value) == SQLITE_INTEGER && rule->key_types & CF_TYPE_NUMBER;
    return noted ? cuckoo_key_hash(value, rule, hash) : cuckoo_key_added_any(context, value, rule, hash);
}

/* True if the key is vague in a filter of these rules (src/include/cuckoo_key.h). A text is not, if the running
** SQLite reads it as it was hashed, and no other was added that some version reads otherwise. */
bool cuckoo_key_vague(const cf_geometry *geometry, sqlite3_value *value);

/* The same, with a short way for integers. */
static inline bool cuckoo_key_always(const cf_geometry *geometry, sqlite3_value *key)
{
    return geometry->affinity != CF_AFFINITY_NONE &&
           (sqlite3_value_type(key) != SQLITE_INTEGER || geometry->key_types & CF_TYPE_INEXACT) &&
           cuckoo_key_vague(geometry, key);
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
