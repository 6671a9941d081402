/* SPDX-License-Identifier: MIT */
/*
** cuckoo_key.h - keys of SQL: from a value to its hash, by the key rule of a filter.
**
**      uint8_t room[100];
**      cf_key key = cf_key_text("+1 ", 3);
**      bool vague = cf_key_is_vague(&filter.geometry, &key);
**      cf_key_apply(&filter.geometry, &key);
**      found = vague || cf_contains(&filter, cf_key_hash(&filter.geometry, &key, room));
**
** Without affinity and collation, two keys are the same key exactly if SQLite's = says so. The hash is
** computed from the canonical bytes of the value, which are a type and the content:
**
**      01 and 7 zero bytes      integer, or a real that equals one    8 bytes, two's complement
**      02 and 7 zero bytes      any other real                        8 bytes, IEEE 754
**      03                       text                                  its UTF-8 bytes
**      04                       blob                                  its bytes
**
** Numbers are little-endian. So 1 = 1.0 and 0.0 = -0.0; 9007199254740993 differs from
** 9007199254740992.0, '1' differs from 1, and 'a' from x'61'. NULL is no key.
**
** A filter with a key rule (cf_affinity, cf_collation) never reports a key absent that some comparison
** `column = key` finds in a column of that affinity and collation. SQLite converts by the affinities of
** both sides; a filter knows only one of them. Values that some comparison finds equal have one form:
**
**      NUMERIC    Text that looks like a number is that number: with a point or an exponent the integer
**                 that it is when rounded to 15 digits, if it is below 10^15 and there is one; otherwise
**                 the nearest double. Integers stay exact.
**      REAL       The same, and every number is a double.
**      TEXT       The same for whole numbers that fit into 64 bits. All other text stays text. Integers
**                 stay exact. Infinity is Inf or -Inf. Columns of BLOB or no affinity have this rule.
**
** Versions of SQLite read some texts as different doubles. Such a text is *inexact*, and so is, under
** TEXT, a real that is not whole, or is 10^15 or more: SQLite makes text of it. A filter notes that it
** has an inexact key (CF_TYPE_INEXACT). A key is *vague*, and the answer is "probably",
**
**      - under TEXT if it is a real that is not whole, or is 10^15 or more: SQLite compares it as a
**        number or as a text of 15 digits (17 in recent versions), depending on the other side. A stored
**        one is found: SQLite makes text of parameters and of expressions, never of values stored in a
**        column of BLOB or no affinity;
**      - under NUMERIC and REAL if it is an inexact text;
**      - in a filter with an inexact key, if it is not whole, or is a double of 10^15 or more; and under
**        TEXT if it is a text with a point or an exponent that looks like a number.
**
** Under NOCASE the letters A to Z of a text are hashed as a to z, up to the first NUL; in place of what
** follows come a NUL and the length of the text (8 bytes). Under RTRIM spaces at its end are left out.
**
** A text looks like a number if SQLite converts it to one under numeric affinity: whitespace, a sign,
** digits with at most one point before, between or behind them, an exponent, whitespace. It ends at its
** first NUL, as in recent versions.
*/
#ifndef CF_CUCKOO_KEY_H
#define CF_CUCKOO_KEY_H

#include "cuckoo_filter.h"

enum { CF_KEY_INTEGER = 1, CF_KEY_REAL = 2, CF_KEY_TEXT = 3, CF_KEY_BLOB = 4 };

/* A value, or its form: a number, or the bytes of a text or blob, which the caller keeps. */
typedef struct cf_key {
    uint8_t type;    /* CF_KEY_INTEGER, CF_KEY_REAL, CF_KEY_TEXT or CF_KEY_BLOB */
    bool real;       /* it was given as a real, whole or not */
    uint64_t number; /* as an integer, signed; of a real, its bits */
    const uint8_t *content;
    size_t length;
} cf_key;

/* A real that equals an integer becomes that. NaN is no key: in SQL it is NULL. */
cf_key cf_key_integer(int64_t integer);
cf_key cf_key_real(double real);
cf_key cf_key_text(const void *utf8, size_t length);
cf_key cf_key_blob(const void *bytes, size_t length);

/* Gives the key its form under the affinity of a filter. True: it is a text that versions of SQLite read
** as different numbers. If you add such a key, or a vague one, note CF_TYPE_INEXACT (cf_note_types). */
bool cf_key_apply(const cf_geometry *rule, cf_key *key);

/* True if some version of SQLite may find the key whatever the filter says: then the answer is
** "probably". `key` is as it was before cf_key_apply. */
bool cf_key_is_vague(const cf_geometry *rule, const cf_key *key);

/* The bytes that cf_key_hash needs: 0 for most keys. */
size_t cf_key_room(const cf_geometry *rule, const cf_key *key);

/* The hash of a key in its form. `room` has cf_key_room bytes, or is the content of the key, or NULL if
** that is 0. */
uint64_t cf_key_hash(const cf_geometry *rule, const cf_key *key, uint8_t *room);

/* ---- types: a lookup of a key of a type that was never added is a mistake ---- */

/* The types of the keys that were added to a filter, as the caller notes them. They change no lookup. */
typedef enum cf_key_types {
    CF_TYPE_NUMBER = 1,
    CF_TYPE_TEXT = 2,
    CF_TYPE_BLOB = 4,
    CF_TYPE_ANY = 7,
    CF_TYPE_INEXACT = 8, /* numbers that versions of SQLite read or write as different texts */
    CF_TYPES_MIXED = 15  /* without an affinity: keys of all types are intended */
} cf_key_types;

/* The type of a key. A number in a text is a text. */
unsigned cf_key_type(const cf_key *key);

/* False if a lookup of a key of this type, before it gets its form, must be a mistake: it is never
** found, because it compares equal to no key of the noted types. A text that is no number is just
** absent. `number`: the key is a text that looks like a number. */
bool cf_key_fits(const cf_geometry *rule, const cf_key *key);
bool cf_type_fits(const cf_geometry *rule, unsigned type, bool number);

/* The types to note for keys of these types. Under an affinity numbers and texts are one type, so that
** equal keys make equal bytes. */
unsigned cf_types_under(unsigned affinity, unsigned types);

/* The key types of a filter after keys of these types are added. If earlier types were not noted:
** any. */
unsigned cf_types_with(const cf_filter *filter, unsigned types);

/* Notes types of keys that will be added; cf_merge does so itself. CF_BAD_ARGUMENT: an unknown type. */
cf_status cf_note_types(cf_filter *filter, unsigned types);

/* The types of a filter that is cleared: none, unless it is for keys of all types. */
unsigned cf_types_cleared(const cf_geometry *shape);

/* Drops the key types if all keys have been deleted. */
void cf_drop_types(cf_filter *filter);

/* ---- hashes ---- */

/* The hash of the 16 bytes of two integers, each least significant byte first. cf_key_hash of an integer
** i is cf_hash_words(shape, CF_KEY_INTEGER, i). */
CF_INLINE uint64_t cf_hash_words(const cf_geometry *shape, uint64_t first, uint64_t second);

/* cf_hash of the byte `first` followed by the bytes at `rest`. cf_key_hash of a text is
** cf_hash_prefixed(shape, CF_KEY_TEXT, text, length). */
uint64_t cf_hash_prefixed(const cf_geometry *shape, uint8_t first, const void *rest, size_t rest_length);

/* True if the hash of filters made with these options is the keyed one. */
bool cf_is_keyed(const cf_options *options);

/* Hash identities, in headers of filters and key lists: the low half of a byte; the high half has
** cf_key_types. */
enum { CF_IDENTITY_XXH3 = 1, CF_IDENTITY_KEYED = 2, CF_HASH_MASK = 15, CF_TYPES_SHIFT = 4 };
uint8_t cf_hash_identity(const cf_geometry *shape);
bool cf_knows_hash(uint8_t identity);

/* The checksum of a header: the low 32 bits of the unseeded XXH3 of its first 60 bytes. */
uint32_t cf_checksum(const uint8_t *header);

uint64_t cf_hash_words_keyed(const cf_geometry *shape, uint64_t first, uint64_t second);

/* XXH3 of 9 to 16 bytes: the first eight and the last eight, which may overlap. */
CF_INLINE uint64_t cf_xxh3_words(uint64_t seed, uint64_t n, uint64_t first, uint64_t last)
{
    uint64_t one = first ^ (UINT64_C(0x6782737bea4239b9) + seed);
    uint64_t two = last ^ (UINT64_C(0xaf56bc3b0996523a) - seed);
    uint64_t x = n + cf_swapped(one) + two + (one * two ^ cf_high_product(one, two));
    x = (x ^ x >> 37) * UINT64_C(0x165667919e3779f9);
    return x ^ x >> 32;
}

CF_INLINE uint64_t cf_hash_words(const cf_geometry *shape, uint64_t first, uint64_t second)
{
    uint64_t seed;
    memcpy(&seed, &shape->seed, sizeof seed);
    return shape->keyed ? cf_hash_words_keyed(shape, first, second)
                        : cf_xxh3_words(seed, 16, first, second);
}

/* ---- decimal numbers in text, read without the locale and without losing digits ---- */

typedef struct cf_number {
    bool negative;
    bool point;      /* it was written with a decimal point */
    bool power;      /* it was written with an exponent, or a NUL follows: SQLite reads a real */
    bool more;       /* some digit after the first 19 is not 0 */
    uint64_t digits; /* its first significant digits, at most 19 of them */
    int exponent;    /* the number is digits * 10^exponent, or more if it has more than 19 digits */
    const char *first, *last; /* all digits and the point: from `first` to before `last` */
} cf_number;

/* Reads the text. False: it does not look like a number, and *number is unspecified. */
bool cf_number_read(const char *text, size_t length, cf_number *number);

/* Its value as an integer. False: it has a point or an exponent, or does not fit into 64 bits. */
bool cf_number_integer(const cf_number *number, int64_t *value);

/* The same, however a whole number was written: 1e6, 1000.0. */
bool cf_number_whole(const cf_number *number, int64_t *value);

/* The nearest double, the even one of two equally near ones, on every machine and under every locale. */
double cf_number_real(const cf_number *number);

/* The same. True: every version of SQLite reads this double. That holds for numbers of up to 15 digits
** that have at most four decimals, or are whole and below 2^63. */
bool cf_number_sure(const cf_number *number, double *real);

/* Its value as an integer, rounded to 15 significant digits, halves up. Numbers below 1e-300 are 0. */
bool cf_number_rounded(const cf_number *number, int64_t *value);

#endif
