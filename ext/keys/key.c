/* SPDX-License-Identifier: MIT */
#include "key.h"

#include "../../src/base/bits.h"

#include <math.h>

static double real_of(sqlite3_value *value)
{
    return cf_rounded(sqlite3_value_double(value));
}

/* The content must be asked for before its bytes are counted: it may be converted to UTF-8. */
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

bool cuckoo_key_vague(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_FLOAT && cf_key_is_vague(real_of(value));
}

cuckoo_key cuckoo_key_hash_any(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash)
{
    uint8_t small[512], *room = small;
    cf_key key;
    cuckoo_key kind = key_of(value, &key);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    if (!cf_key_apply(geometry, &key))
        cf_key_apply_real(geometry, &key, real_of(value));
    size_t needed = cf_key_room(geometry, &key);
    if (needed > sizeof small && (room = sqlite3_malloc64(needed)) == NULL)
        return CUCKOO_KEY_NOMEM;
    *hash = cf_key_hash(geometry, &key, room);
    if (room != small)
        sqlite3_free(room);
    return CUCKOO_KEY_OK;
}

bool cuckoo_key_value(sqlite3_value *given, unsigned bits, uint64_t *value)
{
    int type = sqlite3_value_type(given);
    double real = sqlite3_value_double(given);
    bool whole = type == SQLITE_FLOAT && real >= 0 && real < 0x1p63 && real == floor(real);
    *value = whole ? (uint64_t)real : (uint64_t)sqlite3_value_int64(given);
    return bits != 0 && (whole || type == SQLITE_INTEGER) && *value >> bits == 0;
}

/* ---- keys of several parts ---- */

static void append_word(sqlite3_str *key, uint64_t word)
{
    uint8_t bytes[8];
    cf_store64(bytes, word);
    sqlite3_str_append(key, (const char *)bytes, sizeof bytes);
}

cuckoo_key cuckoo_key_append(sqlite3_str *key, sqlite3_value *part)
{
    cf_key form;
    cuckoo_key kind = key_of(part, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    bool number = form.type < CF_KEY_TEXT;
    sqlite3_str_append(key, (const char *)&form.type, 1);
    append_word(key, number ? form.number : form.length);
    if (!number && form.length > 0)
        sqlite3_str_append(key, (const char *)form.content, (int)form.length);
    return kind;
}
