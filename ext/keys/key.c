/* SPDX-License-Identifier: MIT */
#include "key.h"

#include "../sqlite/errors.h"

#include "../../src/base/bits.h"

#include <math.h>

static double real_of(sqlite3_value *value)
{
    return cf_rounded(sqlite3_value_double(value));
}

/* `asked`: the rule of the filter in which the key is looked for; NULL: it is added. The content must be
** asked for before its bytes are counted: it may be converted to UTF-8. */
static CF_ALWAYS_INLINE cuckoo_key key_of(sqlite3_value *value, const cf_geometry *asked, cf_key *key)
{
    const void *content;
    unsigned fits = 0;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        *key = cf_key_integer(sqlite3_value_int64(value));
        fits = asked ? asked->key_types & CF_TYPE_NUMBER : 1;
        break;
    case SQLITE_FLOAT:
        *key = cf_key_real(real_of(value));
        fits = asked ? asked->key_types & CF_TYPE_NUMBER : 1;
        break;
    case SQLITE_TEXT:
        content = sqlite3_value_text(value);
        *key = cf_key_text(content, (size_t)sqlite3_value_bytes(value));
        if (content == NULL)
            return CUCKOO_KEY_NOMEM;
        /* Words, which begin with a letter as a rule, may be asked of numbers. */
        fits = asked == NULL || asked->key_types & CF_TYPE_TEXT ||
               (asked->key_types & CF_TYPE_NUMBER && key->length > 0 && key->content[0] > '9');
        break;
    case SQLITE_BLOB:
        content = sqlite3_value_blob(value);
        *key = cf_key_blob(content, (size_t)sqlite3_value_bytes(value));
        if (content == NULL && key->length > 0)
            return CUCKOO_KEY_NOMEM;
        fits = asked ? asked->key_types & CF_TYPE_BLOB : 1;
        break;
    default:
        return CUCKOO_KEY_NULL;
    }
    return CF_LIKELY(fits) || cf_key_fits(asked, key) ? CUCKOO_KEY_OK : CUCKOO_KEY_UNFIT;
}

bool cuckoo_key_vague(const cf_geometry *geometry, sqlite3_value *value)
{
    cf_key key, other;
    if (key_of(value, NULL, &key) != CUCKOO_KEY_OK)
        return false;
    bool vague = cf_key_is_vague(geometry, &key);
    if (!vague || key.type != CF_KEY_TEXT || geometry->key_types & CF_TYPE_INEXACT)
        return vague;
    other = cf_key_real(real_of(value));
    cf_key_apply(geometry, &key);
    return key.type != other.type || key.number != other.number;
}

static CF_ALWAYS_INLINE cuckoo_key hash_of(sqlite3_value *value, const cf_geometry *geometry,
                                           const cf_geometry *asked, uint64_t *hash)
{
    uint8_t small[512], *room = small;
    cf_key key;
    cuckoo_key kind = key_of(value, asked, &key);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    if (geometry->affinity != CF_AFFINITY_NONE)
        cf_key_apply(geometry, &key);
    size_t needed = cf_key_room(geometry, &key);
    if (needed > sizeof small && (room = sqlite3_malloc64(needed)) == NULL)
        return CUCKOO_KEY_NOMEM;
    *hash = cf_key_hash(geometry, &key, room);
    if (room != small)
        sqlite3_free(room);
    return CUCKOO_KEY_OK;
}

cuckoo_key cuckoo_key_hash_any(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash)
{
    return hash_of(value, geometry, NULL, hash);
}

cuckoo_key cuckoo_key_ask_any(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash)
{
    return hash_of(value, geometry, geometry, hash);
}

unsigned cuckoo_key_type(sqlite3_value *value, const cf_geometry *rule)
{
    cf_key key;
    static const uint8_t types[] = {[SQLITE_INTEGER] = CF_TYPE_NUMBER,
                                    [SQLITE_FLOAT] = CF_TYPE_NUMBER,
                                    [SQLITE_TEXT] = CF_TYPE_TEXT,
                                    [SQLITE_BLOB] = CF_TYPE_BLOB,
                                    [SQLITE_NULL] = 0};
    unsigned type = types[sqlite3_value_type(value)];
    bool inexact = type == CF_TYPE_TEXT && rule->affinity != CF_AFFINITY_NONE &&
                   key_of(value, NULL, &key) == CUCKOO_KEY_OK && cf_key_apply(rule, &key);
    return type | (inexact ? CF_TYPE_INEXACT : 0);
}

bool cuckoo_key_is_numeric(sqlite3_value *value)
{
    cf_key key;
    const cf_geometry numbers = {.key_types = CF_TYPE_NUMBER};
    return sqlite3_value_type(value) == SQLITE_TEXT && key_of(value, &numbers, &key) == CUCKOO_KEY_UNFIT;
}

cuckoo_key cuckoo_key_added_any(sqlite3_context *context, sqlite3_value *value, cf_geometry *rule,
                                uint64_t *hash)
{
    /* Without an affinity a filter that has texts alone has nothing to note of one more. */
    if (rule->affinity != CF_AFFINITY_NONE || rule->key_types != CF_TYPE_TEXT ||
        sqlite3_value_type(value) != SQLITE_TEXT)
        rule->key_types |= (uint8_t)cf_types_under(rule->affinity, cuckoo_key_type(value, rule));
    cuckoo_key kind = hash_of(value, rule, NULL, hash);
    return kind == CUCKOO_KEY_NOMEM ? cuckoo_key_fail(context, value, rule, kind) : kind;
}

/* ---- keys that cannot have been meant ---- */

char *cuckoo_key_unfit(const cf_geometry *geometry, unsigned type, const char *what)
{
    static const char *const words[] = {"keys of unknown types", "numbers", "texts",
                                        "numbers and texts",     "blobs",   "numbers and blobs",
                                        "texts and blobs",       "all"}; /* by cf_key_types */
    unsigned noted = geometry->key_types & CF_TYPE_ANY;
    bool compares = ((type | noted) & CF_TYPE_BLOB) == 0; /* by some affinity */
    return sqlite3_mprintf(
        "%s, and only %s were added, so it would never be found; give a %s%s; %s", what, words[noted],
        noted & CF_TYPE_NUMBER ? "number, such as CAST(key AS INTEGER), or int(x) in Python"
        : noted & CF_TYPE_TEXT ? "text, such as CAST(key AS TEXT), or str(x) in Python"
                               : "blob, such as CAST(key AS BLOB)",
        !compares                ? ""
        : type == CF_TYPE_NUMBER ? ", or make the filter with affinity=text"
                                 : ", or make the filter with affinity=numeric",
        geometry->affinity == CF_AFFINITY_NONE
            ? "affinity=none, written out, takes keys of all types"
            : "where they are mixed, leave others out by typeof(key)");
}

char *cuckoo_key_unfit_value(const cf_geometry *geometry, sqlite3_value *key)
{
    char what[200];
    unsigned type = cuckoo_key_type(key, geometry) & CF_TYPE_ANY;
    sqlite3_snprintf(sizeof what, what, "key is %s%s", type == CF_TYPE_NUMBER ? "the number " : "",
                     cuckoo_show(key).text);
    return cuckoo_key_unfit(geometry, type, what);
}

cuckoo_key cuckoo_key_fail(sqlite3_context *context, sqlite3_value *value, const cf_geometry *geometry,
                           cuckoo_key kind)
{
    if (kind == CUCKOO_KEY_NOMEM)
        cuckoo_fail_no_memory(context);
    else
        cuckoo_fail_with(context, SQLITE_MISMATCH, cuckoo_key_unfit_value(geometry, value));
    return kind;
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
    cuckoo_key kind = key_of(part, NULL, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    bool number = form.type < CF_KEY_TEXT;
    sqlite3_str_append(key, (const char *)&form.type, 1);
    append_word(key, number ? form.number : form.length);
    if (!number && form.length > 0)
        sqlite3_str_append(key, (const char *)form.content, (int)form.length);
    return kind;
}
