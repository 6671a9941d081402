/* SPDX-License-Identifier: MIT */
#include "key.h"

#include "../src/bits.h"

#include <string.h>

/* ---- collation ---- */

static uint8_t fold_letter(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* NOCASE compares texts up to their first NUL, and then their lengths. */
static cuckoo_key hash_folded(const cuckoo_canonical *form, const cf_geometry *geometry, uint64_t *hash)
{
    uint8_t small[512], *folded = small;
    const uint8_t *nul = memchr(form->content, 0, form->length);
    size_t n = nul ? (size_t)(nul - form->content) : form->length, length = nul ? n + 9 : n;
    if (length > sizeof small && (folded = sqlite3_malloc64(length)) == NULL)
        return CUCKOO_KEY_NOMEM;
    folded[0] = 0; /* set in every case, also for an empty text */
    for (size_t i = 0; i < n; i++)
        folded[i] = fold_letter(form->content[i]);
    if (nul) {
        folded[n] = 0;
        cf_store64(folded + n + 1, form->length);
    }
    *hash = cf_hash_prefixed(geometry, form->type, folded, length);
    if (folded != small)
        sqlite3_free(folded);
    return CUCKOO_KEY_OK;
}

static size_t length_trimmed(const cuckoo_canonical *form)
{
    size_t n = form->length;
    while (n > 0 && form->content[n - 1] == ' ')
        n--;
    return n;
}

/* ---- the hash ---- */

static CF_NEVER_INLINE cuckoo_key hash_any(sqlite3_value *value, const cf_geometry *geometry,
                                           uint64_t *hash)
{
    cuckoo_canonical form;
    cuckoo_key kind = cuckoo_canonical_form(value, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    if (geometry->affinity != CF_AFFINITY_NONE)
        cuckoo_canonical_apply((cf_affinity)geometry->affinity, value, &form);
    if (cuckoo_is_number(&form)) {
        *hash = cf_hash_words(geometry, form.type | (uint64_t)form.places << 8, form.number);
        return CUCKOO_KEY_OK;
    }
    if (form.type == TYPE_TEXT && geometry->collation == CF_COLLATION_NOCASE)
        return hash_folded(&form, geometry, hash);
    if (form.type == TYPE_TEXT && geometry->collation == CF_COLLATION_RTRIM)
        form.length = length_trimmed(&form);
    *hash = cf_hash_prefixed(geometry, form.type, form.content, form.length);
    return CUCKOO_KEY_OK;
}

/* The short way, for integers: only REAL turns them into something else. */
cuckoo_key cuckoo_key_hash(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER || geometry->affinity == CF_AFFINITY_REAL)
        return hash_any(value, geometry, hash);
    *hash = cf_hash_words(geometry, TYPE_INTEGER, (uint64_t)sqlite3_value_int64(value));
    return CUCKOO_KEY_OK;
}

bool cuckoo_key_value(sqlite3_value *given, unsigned bits, uint64_t *value)
{
    sqlite3_int64 number = sqlite3_value_int64(given);
    *value = (uint64_t)number;
    return bits != 0 && sqlite3_value_type(given) == SQLITE_INTEGER && *value >> bits == 0;
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
    cuckoo_canonical form;
    cuckoo_key kind = cuckoo_canonical_form(part, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    sqlite3_str_append(key, (const char *)&form.type, 1);
    append_word(key, cuckoo_is_number(&form) ? form.number : form.length);
    if (!cuckoo_is_number(&form) && form.length > 0)
        sqlite3_str_append(key, (const char *)form.content, (int)form.length);
    return kind;
}
