/* SPDX-License-Identifier: MIT */
#include "key.h"

#include "../sqlite/errors.h"

#include "../../src/base/bits.h"

#include <math.h>

static double real_of(sqlite3_value *value)
{
    return cf_rounded(sqlite3_value_double(value));
}

/* SQLite must convert a text to UTF-8 before it counts the bytes. */
static CF_ALWAYS_INLINE cuckoo_key key_of(sqlite3_value *value, cf_key *key)
{
    const void *content;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        *key = cf_key_integer(sqlite3_value_int64(value));
        return CUCKOO_KEY_OK;
    case SQLITE_FLOAT:
        *key = cf_key_real(real_of(value));
        return CUCKOO_KEY_OK;
    case SQLITE_TEXT:
        content = sqlite3_value_text(value);
        *key = cf_key_text(content, (size_t)sqlite3_value_bytes(value));
        return content ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
    case SQLITE_BLOB:
        content = sqlite3_value_blob(value);
        *key = cf_key_blob(content, (size_t)sqlite3_value_bytes(value));
        return content || key->length == 0 ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
    default:
        return CUCKOO_KEY_NULL;
    }
}

bool cuckoo_key_vague(const cf_geometry *rule, sqlite3_value *value)
{
    cf_key key, other;
    if (key_of(value, &key) != CUCKOO_KEY_OK)
        return false;
    bool vague = cf_key_is_vague(rule, &key);
    if (!vague || key.type != CF_KEY_TEXT || rule->key_types & CF_TYPE_INEXACT)
        return vague;
    other = cf_key_real(real_of(value));
    cf_key_apply(rule, &key);
    return key.type != other.type || key.number != other.number;
}

cuckoo_key cuckoo_key_hash_any(sqlite3_value *value, const cf_geometry *rule, bool lookup,
                               uint64_t *hash)
{
    uint8_t small[512], *room = small;
    cf_key key;
    cuckoo_key kind = key_of(value, &key);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    if (lookup && !(rule->key_types & cf_key_type(&key)) && !cf_key_fits(rule, &key))
        return CUCKOO_KEY_UNFIT;
    if (rule->affinity != CF_AFFINITY_NONE)
        cf_key_apply(rule, &key);
    size_t needed = cf_key_room(rule, &key);
    if (needed > sizeof small && (room = sqlite3_malloc64(needed)) == NULL)
        return CUCKOO_KEY_NOMEM;
    *hash = cf_key_hash(rule, &key, room);
    if (room != small)
        sqlite3_free(room);
    return CUCKOO_KEY_OK;
}

unsigned cuckoo_key_type(sqlite3_value *value, const cf_geometry *rule)
{
    cf_key key;
    unsigned type = cuckoo_value_type(value);
    bool inexact = type != CF_TYPE_BLOB && rule->affinity != CF_AFFINITY_NONE &&
                   key_of(value, &key) == CUCKOO_KEY_OK &&
                   (type == CF_TYPE_TEXT ? cf_key_apply(rule, &key) : cf_key_is_vague(rule, &key));
    return type | (inexact ? CF_TYPE_INEXACT : 0);
}

bool cuckoo_key_is_numeric(sqlite3_value *value)
{
    cf_number number;
    const char *text =
        sqlite3_value_type(value) == SQLITE_TEXT ? (const char *)sqlite3_value_text(value) : NULL;
    return text && cf_number_read(text, (size_t)sqlite3_value_bytes(value), &number);
}

/* ---- keys of a type that was never added ---- */

char *cuckoo_key_unfit(const cf_geometry *rule, unsigned type, const char *what)
{
    static const char *const words[] = {"keys of unknown types", "numbers", "texts",
                                        "numbers and texts",     "blobs",   "numbers and blobs",
                                        "texts and blobs",       "all"}; /* by cf_key_types */
    unsigned noted = rule->key_types & CF_TYPE_ANY;
    bool compares = ((type | noted) & CF_TYPE_BLOB) == 0; /* by some affinity */
    return sqlite3_mprintf(
        "%s, and only %s were added, so it would never be found; %sgive a %s; %s", what, words[noted],
        !compares                ? ""
        : type == CF_TYPE_NUMBER ? "for joins make the filter with affinity=text, otherwise "
                                 : "for joins make the filter with affinity=numeric, otherwise ",
        noted & CF_TYPE_NUMBER ? "number, such as CAST(key AS INTEGER), or int(x) in Python"
        : noted & CF_TYPE_TEXT ? "text, such as CAST(key AS TEXT), or str(x) in Python"
                               : "blob, such as CAST(key AS BLOB)",
        rule->affinity == CF_AFFINITY_NONE ? "affinity=none, written out, takes keys of all types"
                                           : "where they are mixed, leave others out by typeof(key)");
}

char *cuckoo_key_unfit_value(const cf_geometry *rule, sqlite3_value *key)
{
    char what[200];
    unsigned type = cuckoo_key_type(key, rule) & CF_TYPE_ANY;
    sqlite3_snprintf(sizeof what, what, "key is %s%s", type == CF_TYPE_NUMBER ? "the number " : "",
                     cuckoo_show(key).text);
    return cuckoo_key_unfit(rule, type, what);
}

cuckoo_key cuckoo_key_fail(sqlite3_context *context, sqlite3_value *value, const cf_geometry *rule,
                           cuckoo_key kind)
{
    bool unfit = kind == CUCKOO_KEY_UNFIT;
    cuckoo_fail_with(context, unfit ? SQLITE_MISMATCH : SQLITE_NOMEM,
                     unfit ? cuckoo_key_unfit_value(rule, value) : NULL);
    return kind;
}

/* ---- values, and composite keys ---- */

bool cuckoo_key_value(sqlite3_value *given, unsigned bits, uint64_t *value)
{
    int type = sqlite3_value_type(given);
    double real = sqlite3_value_double(given);
    bool whole = type == SQLITE_FLOAT && real >= 0 && real < 0x1p63 && real == floor(real);
    *value = whole ? (uint64_t)real : (uint64_t)sqlite3_value_int64(given);
    return bits != 0 && (whole || type == SQLITE_INTEGER) && *value >> bits == 0;
}

cuckoo_key cuckoo_key_append(sqlite3_str *key, sqlite3_value *part)
{
    cf_key form;
    uint8_t word[8];
    cuckoo_key kind = key_of(part, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    bool number = form.type < CF_KEY_TEXT;
    cf_store64(word, number ? form.number : form.length);
    sqlite3_str_append(key, (const char *)&form.type, 1);
    sqlite3_str_append(key, (const char *)word, sizeof word);
    if (!number && form.length > 0)
        sqlite3_str_append(key, (const char *)form.content, (int)form.length);
    return kind;
}
