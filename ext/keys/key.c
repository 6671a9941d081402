/* SPDX-License-Identifier: MIT */
#include "key.h"

#include "number.h"

#include "../../src/base/bits.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A type, and either a number, or the bytes of a text or blob, which live as long as the value. */
typedef struct canonical {
    uint8_t type;
    uint64_t number; /* as an integer, signed; of a real, its bits */
    const uint8_t *content;
    size_t length;
} canonical;

static bool is_number(const canonical *form)
{
    return form->type < CF_KEY_TEXT;
}

static void set_number(canonical *form, uint8_t type, uint64_t number)
{
    form->type = type;
    form->number = number;
}

static void set_integer(canonical *form, int64_t integer)
{
    set_number(form, CF_KEY_INTEGER, (uint64_t)integer);
}

static double real_of(sqlite3_value *value)
{
    return cf_rounded(sqlite3_value_double(value));
}

static void set_real(canonical *form, double real)
{
    uint64_t bits;
    if (cf_is_integer(real)) {
        set_integer(form, (int64_t)real);
        return;
    }
    memcpy(&bits, &real, sizeof bits);
    set_number(form, CF_KEY_REAL, bits);
}

/* The text must be asked for before its bytes are counted: it may be converted to UTF-8. */
static cuckoo_key set_text(canonical *form, sqlite3_value *value)
{
    form->type = CF_KEY_TEXT;
    form->content = sqlite3_value_text(value);
    form->length = (size_t)sqlite3_value_bytes(value);
    return form->content ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
}

static cuckoo_key set_blob(canonical *form, sqlite3_value *value)
{
    form->type = CF_KEY_BLOB;
    form->content = sqlite3_value_blob(value);
    form->length = (size_t)sqlite3_value_bytes(value);
    return form->content || form->length == 0 ? CUCKOO_KEY_OK : CUCKOO_KEY_NOMEM;
}

static CF_ALWAYS_INLINE cuckoo_key form_of(sqlite3_value *value, canonical *form)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        set_integer(form, sqlite3_value_int64(value));
        return CUCKOO_KEY_OK;
    case SQLITE_FLOAT:
        set_real(form, real_of(value));
        return CUCKOO_KEY_OK;
    case SQLITE_TEXT:
        return set_text(form, value);
    case SQLITE_BLOB:
        return set_blob(form, value);
    default:
        return CUCKOO_KEY_NULL;
    }
}

/* ---- affinity ---- */

/* Reals of this size or more are coarser than the 15 digits that SQLite may make of them. */
#define COARSE 1e15

bool cuckoo_key_vague(sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_FLOAT)
        return false;
    double real = real_of(value);
    return !(fabs(real) < COARSE && cf_is_integer(real));
}

/* Is the text one that a comparison under TEXT may take for a whole number? Below COARSE that does not
** depend on how well the SQLite that runs reads reals. */
static bool whole_of_text(sqlite3_value *value, const cuckoo_number *number, int64_t *whole)
{
    double real = cuckoo_number_real(number);
    if (fabs(real) < COARSE)
        return cuckoo_number_rounded(number, whole);
    real = real_of(value);
    if (cf_is_integer(real))
        *whole = (int64_t)real;
    return cf_is_integer(real);
}

static void apply_affinity(cf_affinity affinity, sqlite3_value *value, canonical *form)
{
    cuckoo_number number;
    int64_t whole;
    assert(affinity != CF_AFFINITY_NONE);
    if (form->type == CF_KEY_TEXT &&
        cuckoo_number_read((const char *)form->content, form->length, &number)) {
        if (cuckoo_number_integer(&number, &whole))
            set_integer(form, whole);
        else if (affinity != CF_AFFINITY_TEXT)
            set_real(form, real_of(value));
        else if (whole_of_text(value, &number, &whole))
            set_integer(form, whole);
    }
    if (affinity == CF_AFFINITY_REAL && form->type == CF_KEY_INTEGER)
        set_real(form, cf_rounded((double)(int64_t)form->number));
}

/* ---- collation ---- */

static uint8_t fold_letter(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* NOCASE compares texts up to their first NUL, and then their lengths. */
static cuckoo_key hash_folded(const canonical *form, const cf_geometry *geometry, uint64_t *hash)
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

static size_t length_trimmed(const canonical *form)
{
    size_t n = form->length;
    while (n > 0 && form->content[n - 1] == ' ')
        n--;
    return n;
}

/* ---- the hash ---- */

cuckoo_key cuckoo_key_hash_any(sqlite3_value *value, const cf_geometry *geometry, uint64_t *hash)
{
    canonical form;
    cuckoo_key kind = form_of(value, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    if (geometry->affinity != CF_AFFINITY_NONE)
        apply_affinity((cf_affinity)geometry->affinity, value, &form);
    if (is_number(&form)) {
        *hash = cf_hash_words(geometry, form.type, form.number);
        return CUCKOO_KEY_OK;
    }
    if (form.type == CF_KEY_TEXT && geometry->collation == CF_COLLATION_NOCASE)
        return hash_folded(&form, geometry, hash);
    if (form.type == CF_KEY_TEXT && geometry->collation == CF_COLLATION_RTRIM)
        form.length = length_trimmed(&form);
    *hash = cf_hash_prefixed(geometry, form.type, form.content, form.length);
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
    canonical form;
    cuckoo_key kind = form_of(part, &form);
    if (kind != CUCKOO_KEY_OK)
        return kind;
    sqlite3_str_append(key, (const char *)&form.type, 1);
    append_word(key, is_number(&form) ? form.number : form.length);
    if (!is_number(&form) && form.length > 0)
        sqlite3_str_append(key, (const char *)form.content, (int)form.length);
    return kind;
}
