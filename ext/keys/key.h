/* SPDX-License-Identifier: MIT */
/*
** key.h - from an SQL value to the hash of a key, and to the value that is stored with a key.
**
** src/include/cuckoo_key.h defines the key rules. Text is hashed as UTF-8 in databases of every
** encoding. NULL is not a key.
*/
#ifndef CUCKOO_KEY_H
#define CUCKOO_KEY_H

#include "../sqlite/api.h"

/* The result of reading a key. */
typedef enum cuckoo_key {
    CUCKOO_KEY_OK,
    CUCKOO_KEY_NULL,  /* the value is NULL */
    CUCKOO_KEY_NOMEM, /* no memory to convert the text to UTF-8 */
    CUCKOO_KEY_UNFIT  /* the filter has no keys of this type (cf_key_fits): an error of the caller */
} cuckoo_key;

/* The type of a value (cf_key_types); 0 for NULL. */
static inline unsigned cuckoo_value_type(sqlite3_value *value)
{
    static const uint8_t types[] = {[SQLITE_INTEGER] = CF_TYPE_NUMBER,
                                    [SQLITE_FLOAT] = CF_TYPE_NUMBER,
                                    [SQLITE_TEXT] = CF_TYPE_TEXT,
                                    [SQLITE_BLOB] = CF_TYPE_BLOB,
                                    [SQLITE_NULL] = 0};
    return types[sqlite3_value_type(value)];
}

/* The types to note when this key is added under the key rule; 0 for NULL. */
unsigned cuckoo_key_type(sqlite3_value *value, const cf_geometry *rule);

/* True if the value is a text that looks like a number. */
bool cuckoo_key_is_numeric(sqlite3_value *value);

/* The hash of a key under the hash, the seed and the key rule of a filter. CUCKOO_KEY_UNFIT is possible
** only in a lookup or a delete (`lookup`). Integers are fast: only REAL converts them. */
cuckoo_key cuckoo_key_hash_any(sqlite3_value *value, const cf_geometry *rule, bool lookup,
                               uint64_t *hash);
static inline cuckoo_key cuckoo_key_read(sqlite3_value *value, const cf_geometry *rule, bool lookup,
                                         uint64_t *hash)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER || rule->affinity == CF_AFFINITY_REAL ||
        (lookup && !(rule->key_types & CF_TYPE_NUMBER)))
        return cuckoo_key_hash_any(value, rule, lookup, hash);
    *hash = cf_hash_words(rule, CF_KEY_INTEGER, (uint64_t)sqlite3_value_int64(value));
    return CUCKOO_KEY_OK;
}

/* cuckoo_key_read for a key that is added. */
static inline cuckoo_key cuckoo_key_hash(sqlite3_value *value, const cf_geometry *rule, uint64_t *hash)
{
    return cuckoo_key_read(value, rule, false, hash);
}

/* The message for CUCKOO_KEY_UNFIT: for a key, or for keys of a type, which `what` names. It is in
** memory of sqlite3_malloc; NULL: out of memory. */
char *cuckoo_key_unfit_value(const cf_geometry *rule, sqlite3_value *key);
char *cuckoo_key_unfit(const cf_geometry *rule, unsigned type, const char *what);

/* Reads a key argument of the running function. After _NOMEM and _UNFIT the function has failed. */
cuckoo_key cuckoo_key_fail(sqlite3_context *context, sqlite3_value *value, const cf_geometry *rule,
                           cuckoo_key kind);
static inline cuckoo_key cuckoo_key_argument(sqlite3_context *context, sqlite3_value *value,
                                             const cf_geometry *rule, bool lookup, uint64_t *hash)
{
    cuckoo_key kind = cuckoo_key_read(value, rule, lookup, hash);
    return kind <= CUCKOO_KEY_NULL ? kind : cuckoo_key_fail(context, value, rule, kind);
}

/* The same for a key that is added; its type is noted in rule->key_types. */
static inline cuckoo_key cuckoo_key_added(sqlite3_context *context, sqlite3_value *value,
                                          cf_geometry *rule, uint64_t *hash)
{
    if (sqlite3_value_type(value) == SQLITE_INTEGER
            ? !(rule->key_types & CF_TYPE_NUMBER)
            : rule->affinity != CF_AFFINITY_NONE || !(rule->key_types & cuckoo_value_type(value)))
        rule->key_types |= (uint8_t)cf_types_under(rule->affinity, cuckoo_key_type(value, rule));
    return cuckoo_key_argument(context, value, rule, false, hash);
}

/* True if the key is vague under this key rule (src/include/cuckoo_key.h). A text is not vague if the
** running SQLite reads it as it was hashed, and no text was added that some version reads otherwise.
** cuckoo_key_always answers quickly for integers. */
bool cuckoo_key_vague(const cf_geometry *rule, sqlite3_value *value);
static inline bool cuckoo_key_always(const cf_geometry *rule, sqlite3_value *key)
{
    return rule->affinity != CF_AFFINITY_NONE &&
           (sqlite3_value_type(key) != SQLITE_INTEGER || rule->key_types & CF_TYPE_INEXACT) &&
           cuckoo_key_vague(rule, key);
}

/* True if the key is probably in the filter. Lookups of SQL values use this instead of cf_contains. */
static inline bool cuckoo_key_found(const cf_filter *filter, sqlite3_value *key, uint64_t hash)
{
    return cf_contains(filter, hash) || cuckoo_key_always(&filter->geometry, key);
}

/* Reads the value that a filter with `bits` value bits stores with a key. False: it is not an integer
** from 0 to 2^bits - 1. A whole REAL counts as an integer, because some drivers bind every number as
** REAL. CUCKOO_BAD_VALUE is the format and the arguments of the message; `given` is a text. */
bool cuckoo_key_value(sqlite3_value *given, unsigned bits, uint64_t *value);
#define CUCKOO_BAD_VALUE(bits, given)                                                                   \
    "value must be an integer from 0 to %lld (value_bits=%d), got %s",                                  \
        ((sqlite3_int64)1 << (bits)) - 1, (int)(bits), given

#define CUCKOO_NO_VALUES                                                                                \
    "filter stores no values; create one that does, such as cf_new(1000, 0.01, 'value_bits=8')"

/* Appends one part of a composite key, which is a blob: the byte of the part's type, then the 8 bytes of
** a number, or the length of a text or blob (8 bytes) and its bytes. Two composite keys are equal
** exactly when all parts are, without affinity and collation: a key rule leaves blobs unchanged. */
cuckoo_key cuckoo_key_append(sqlite3_str *key, sqlite3_value *part);

#endif
