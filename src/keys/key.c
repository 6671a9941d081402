/* SPDX-License-Identifier: MIT */
#include "../include/cuckoo_filter.h"
#include "../include/cuckoo_key.h"

#include "../base/bits.h"

#include <math.h>
#include <string.h>

/* True if a real equals a 64-bit integer. 2^63 equals none: they are all below it. */
static bool is_integer(double real)
{
    /* RULE: a real is an integer if it equals one; equivalent without, without 2, without 3, < to <=:
    ** an out-of-range conversion usually gives another number, but in C it is undefined */
    return real >= -9223372036854775808.0 && real < 9223372036854775808.0 &&
           real == (double)(int64_t)real;
}

cf_key cf_key_integer(int64_t integer)
{
    return (cf_key){.type = CF_KEY_INTEGER, .number = (uint64_t)integer};
}

cf_key cf_key_real(double real)
{
    cf_key key = {.type = CF_KEY_REAL};
    memcpy(&key.number, &real, sizeof key.number);
    if (is_integer(real))
        key = cf_key_integer((int64_t)real);
    key.real = true;
    return key;
}

cf_key cf_key_text(const void *utf8, size_t length)
{
    return (cf_key){.type = CF_KEY_TEXT, .content = (const uint8_t *)utf8, .length = length};
}

cf_key cf_key_blob(const void *bytes, size_t length)
{
    return (cf_key){.type = CF_KEY_BLOB, .content = (const uint8_t *)bytes, .length = length};
}

/* ---- types ---- */

unsigned cf_key_type(const cf_key *key)
{
    return key->type < CF_KEY_TEXT    ? CF_TYPE_NUMBER
           : key->type == CF_KEY_TEXT ? CF_TYPE_TEXT
                                      : CF_TYPE_BLOB;
}

unsigned cf_types_under(unsigned affinity, unsigned types)
{
    unsigned both = CF_TYPE_NUMBER | CF_TYPE_TEXT;
    return affinity != CF_AFFINITY_NONE && types & both ? types | both : types;
}

bool cf_type_fits(const cf_geometry *rule, unsigned type, bool number)
{
    unsigned noted = rule->key_types & CF_TYPE_ANY;
    if (noted == 0 || noted & type)
        return true;
    /* RULE: a blob equals only blobs */
    if (type == CF_TYPE_BLOB || noted == CF_TYPE_BLOB)
        return false;
    /* RULE: an affinity makes numbers and texts comparable, but not blobs */
    return rule->affinity != CF_AFFINITY_NONE || noted & CF_TYPE_BLOB ||
           (type == CF_TYPE_TEXT && !number);
}

/* True if it is a text that looks like a number, which is read. */
static bool is_number(const cf_key *key, cf_number *number)
{
    return key->type == CF_KEY_TEXT && cf_number_read((const char *)key->content, key->length, number);
}

bool cf_key_fits(const cf_geometry *rule, const cf_key *key)
{
    cf_number number;
    return cf_type_fits(rule, cf_key_type(key), is_number(key, &number));
}

unsigned cf_types_with(const cf_filter *filter, unsigned types)
{
    bool unknown = filter->geometry.key_types == 0 && filter->occupied > 0 && types != 0;
    types = cf_types_under(filter->geometry.affinity, types);
    return filter->geometry.key_types | types | (unknown ? CF_TYPE_ANY : 0U);
}

cf_status cf_note_types(cf_filter *filter, unsigned types)
{
    if (types > CF_TYPES_MIXED)
        return CF_BAD_ARGUMENT;
    filter->geometry.key_types = (uint8_t)cf_types_with(filter, types);
    return CF_OK;
}

unsigned cf_types_cleared(const cf_geometry *shape)
{
    /* With an affinity CF_TYPE_ANY stays: the filter of a column starts with it. */
    unsigned all = shape->affinity == CF_AFFINITY_NONE ? CF_TYPES_MIXED : CF_TYPE_ANY;
    return (shape->key_types & all) == all ? all : 0;
}

void cf_drop_types(cf_filter *filter)
{
    if (filter->occupied == 0 && filter->stashed == 0)
        filter->geometry.key_types = (uint8_t)cf_types_cleared(&filter->geometry);
}

/* ---- affinity ---- */

/* From here on doubles are too coarse for the 15 digits that SQLite may convert them to. */
#define COARSE   1e15
#define INFINITE UINT64_C(0xffe0000000000000) /* twice the bits of infinity */

/* Replaces a text by the number that it looks like. True: versions of SQLite read different doubles; the
** new form is then the nearest double, or the integer that some version may read. */
static bool apply_number(const cf_geometry *rule, cf_key *key, const cf_number *number)
{
    const double beyond = 9.3e18; /* no version reads an integer above this */
    double real;
    int64_t whole;
    bool as_text = rule->affinity == CF_AFFINITY_TEXT, sure = cf_number_sure(number, &real);
    bool coarse = fabs(real) >= COARSE;
    if (!coarse && cf_number_rounded(number, &whole)) /* RULE: numbers below 10^15 are rounded */
        *key = cf_key_integer(whole);
    else if (!as_text || is_integer(real)) /* RULE: under TEXT other texts keep their form */
        *key = cf_key_real(real);
    /* RULE: a number is inexact if versions differ, under TEXT as an integer; equivalent > to >=: any
    ** limit of this size would do */
    return !sure && (!as_text || (coarse && !(fabs(real) > beyond)));
}

bool cf_key_apply(const cf_geometry *rule, cf_key *key)
{
    cf_number number;
    int64_t whole;
    bool inexact = false;
    /* RULE: without an affinity a text is no number, and a blob is never one */
    if (rule->affinity != CF_AFFINITY_NONE && is_number(key, &number)) {
        if (cf_number_integer(&number, &whole))
            *key = cf_key_integer(whole);
        else
            inexact = apply_number(rule, key, &number);
    }
    /* RULE: under REAL an integer becomes a double */
    if (rule->affinity == CF_AFFINITY_REAL && key->type == CF_KEY_INTEGER)
        *key = cf_key_real(cf_rounded((double)(int64_t)key->number));
    /* RULE: under TEXT infinity becomes the text that every version of SQLite makes of it */
    if (rule->affinity == CF_AFFINITY_TEXT && key->type == CF_KEY_REAL && key->number << 1 == INFINITE) {
        unsigned minus = (unsigned)(key->number >> 63);
        key->type = CF_KEY_TEXT;
        key->content = (const uint8_t *)&"-Inf"[1 - minus];
        key->length = 3 + minus;
    }
    return inexact;
}

bool cf_key_is_vague(const cf_geometry *rule, const cf_key *key)
{
    cf_number number;
    int64_t whole;
    cf_key form = *key;
    bool as_text = rule->affinity == CF_AFFINITY_TEXT, inexact = rule->key_types & CF_TYPE_INEXACT;
    /* RULE: without an affinity nothing is vague */
    if (rule->affinity == CF_AFFINITY_NONE)
        return false;
    /* RULE: under NUMERIC and REAL a text is vague if versions differ */
    if (key->type >= CF_KEY_TEXT && !as_text)
        return cf_key_apply(rule, &form);
    /* RULE: under TEXT a text is vague if a real was added that may equal it */
    if (key->type >= CF_KEY_TEXT)
        return inexact && is_number(key, &number) && !cf_number_integer(&number, &whole);
    /* RULE: a number is vague if an inexact text may equal it, or if SQLite may convert it to text */
    if (!inexact && !(as_text && key->real))
        return false;
    double real = cf_rounded((double)(int64_t)key->number);
    /* RULE: vague numbers are fractions, and doubles of 10^15 or more; equivalent without 8: an
    ** out-of-range conversion usually gives another number, but in C it is undefined */
    return key->type == CF_KEY_REAL ||
           (fabs(real) >= COARSE && (rule->affinity == CF_AFFINITY_REAL ||
                                     (is_integer(real) && (int64_t)real == (int64_t)key->number)));
}

/* ---- collation ---- */

/* NOCASE compares two texts up to the first NUL, and then their lengths. */
static size_t fold(const cf_key *key, uint8_t *folded)
{
    size_t n = 0;
    for (; n < key->length && key->content[n] != 0; n++) { /* RULE: NOCASE stops at the first NUL */
        uint8_t c = key->content[n];
        /* RULE: NOCASE folds the letters A to Z */
        folded[n] = c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
    }
    if (n == key->length)
        return n;
    folded[n++] = 0;
    cf_store64(folded + n, key->length); /* RULE: after a NUL only the length counts */
    return n + sizeof(uint64_t);
}

static size_t length_trimmed(const cf_key *key)
{
    size_t n = key->length;
    while (n > 0 && key->content[n - 1] == ' ') /* RULE: RTRIM drops spaces at the end */
        n--;
    return n;
}

/* ---- the hash ---- */

size_t cf_key_room(const cf_geometry *rule, const cf_key *key)
{
    bool folds = key->type == CF_KEY_TEXT && rule->collation == CF_COLLATION_NOCASE;
    return folds ? key->length + sizeof(uint64_t) : 0;
}

uint64_t cf_key_hash(const cf_geometry *rule, const cf_key *key, uint8_t *room)
{
    const uint8_t *content = key->content;
    size_t length = key->length;
    if (key->type < CF_KEY_TEXT) /* RULE: numbers are hashed as words */
        return cf_hash_words(rule, key->type, key->number);
    /* RULE: NOCASE applies only to texts */
    if (key->type == CF_KEY_TEXT && rule->collation == CF_COLLATION_NOCASE) {
        length = fold(key, room);
        content = room;
    } else if (key->type == CF_KEY_TEXT && rule->collation == CF_COLLATION_RTRIM) { /* RULE: RTRIM too */
        length = length_trimmed(key);
    }
    return cf_hash_prefixed(rule, key->type, content, length);
}
