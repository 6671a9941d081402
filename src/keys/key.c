/* SPDX-License-Identifier: MIT */
#include "../cuckoo_key.h"

#include "../base/bits.h"

#include <math.h>
#include <string.h>

/* Does a real equal an integer of 64 bits? No such integer equals 2^63: all are below it. */
static bool is_integer(double real)
{
    /* RULE: a real is an integer that equals one; equivalent without, without 2, without 3, < to <=:
    ** converting what is out of range gives another number, as a rule, but C does not promise it */
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
    if (is_integer(real))
        return cf_key_integer((int64_t)real);
    memcpy(&key.number, &real, sizeof key.number);
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

bool cf_type_fits(const cf_geometry *rule, unsigned type, bool number)
{
    unsigned noted = rule->key_types & CF_TYPE_ANY;
    if (noted == 0 || noted & type)
        return true;
    /* RULE: a blob equals blobs alone */
    if (type == CF_TYPE_BLOB || noted == CF_TYPE_BLOB)
        return false;
    /* RULE: an affinity makes numbers and texts comparable; what nothing equals can be meant beside
    ** blobs, or as a word */
    return rule->affinity != CF_AFFINITY_NONE || noted & CF_TYPE_BLOB ||
           (type == CF_TYPE_TEXT && !number);
}

bool cf_key_fits(const cf_geometry *rule, const cf_key *key)
{
    cf_number number;
    return cf_type_fits(rule, cf_key_type(key),
                        key->type == CF_KEY_TEXT &&
                            cf_number_read((const char *)key->content, key->length, &number));
}

/* ---- affinity ---- */

/* Reals of this size or more are coarser than the 15 digits that SQLite may make of them. */
#define COARSE 1e15

bool cf_key_is_vague(double real)
{
    /* RULE: vague is what is not whole, or coarse */
    return !(fabs(real) < COARSE && is_integer(real));
}

bool cf_key_apply(const cf_geometry *rule, cf_key *key)
{
    cf_number number;
    int64_t whole;
    /* RULE: without an affinity a text is no number, nor is a blob with one */
    if (rule->affinity != CF_AFFINITY_NONE && key->type == CF_KEY_TEXT &&
        cf_number_read((const char *)key->content, key->length, &number)) {
        if (cf_number_integer(&number, &whole))
            *key = cf_key_integer(whole);
        /* Below COARSE this does not depend on how well the SQLite that runs reads reals. */
        else if (rule->affinity != CF_AFFINITY_TEXT ||
                 fabs(cf_number_real(&number)) >= COARSE) /* RULE: small ones are rounded under TEXT */
            return false;
        else if (cf_number_rounded(&number, &whole))
            *key = cf_key_integer(whole);
    }
    /* RULE: under REAL an integer is a double */
    if (rule->affinity == CF_AFFINITY_REAL && key->type == CF_KEY_INTEGER)
        *key = cf_key_real(cf_rounded((double)(int64_t)key->number));
    return true;
}

void cf_key_apply_real(const cf_geometry *rule, cf_key *key, double real)
{
    /* RULE: under TEXT a text that is a double stays a text, unless it is whole */
    if (rule->affinity != CF_AFFINITY_TEXT || is_integer(real))
        *key = cf_key_real(real);
}

bool cf_key_apply_sure(const cf_geometry *rule, cf_key *key)
{
    const double beyond = 9.3e18; /* no version takes it for an integer */
    cf_number number;
    if (cf_key_apply(rule, key))
        return true;
    cf_number_read((const char *)key->content, key->length, &number);
    double real;
    /* RULE: a text is sure that all versions read alike, or keep as a text; equivalent > to >=: any
    ** limit so large would do */
    if (!cf_number_sure(&number, &real) && !(rule->affinity == CF_AFFINITY_TEXT && fabs(real) > beyond))
        return false;
    cf_key_apply_real(rule, key, real);
    return true;
}

/* ---- collation ---- */

/* NOCASE compares texts up to their first NUL, and then their lengths. */
static size_t fold(const cf_key *key, uint8_t *folded)
{
    size_t n = 0;
    for (; n < key->length && key->content[n] != 0; n++) { /* RULE: NOCASE looks up to the first NUL */
        uint8_t c = key->content[n];
        /* RULE: NOCASE folds the letters A to Z */
        folded[n] = c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
    }
    if (n == key->length)
        return n;
    folded[n++] = 0;
    cf_store64(folded + n, key->length); /* RULE: what follows a NUL counts by the length */
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
    /* RULE: NOCASE is of texts */
    if (key->type == CF_KEY_TEXT && rule->collation == CF_COLLATION_NOCASE) {
        length = fold(key, room);
        content = room;
    } else if (key->type == CF_KEY_TEXT && rule->collation == CF_COLLATION_RTRIM) { /* RULE: as RTRIM */
        length = length_trimmed(key);
    }
    return cf_hash_prefixed(rule, key->type, content, length);
}
