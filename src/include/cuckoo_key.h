/* SPDX-License-Identifier: MIT */
/*
** cuckoo_key.h - the key rule: from a value to its hash in a filter of any affinity and collation.
**
** Two keys are the same key exactly when SQLite's = says so without affinity and collation. The hash
** is that of the canonical bytes of the value, which are a type and the content:
**
**      01 and 7 zero bytes      integer, or a real that equals one    8 bytes, two's complement
**      02 and 7 zero bytes      any other real                        8 bytes, IEEE 754
**      03                       text                                  its UTF-8 bytes
**      04                       blob                                  its bytes
**
** Numbers are little-endian. So 1 = 1.0 and 0.0 = -0.0; 9007199254740993 differs from
** 9007199254740992.0, '1' differs from 1, and 'a' from x'61'. NULL is no key.
**
** A filter with a key rule (cf_affinity, cf_collation) never says "not there" of a key that some
** comparison `column = key` finds in a column of that affinity and collation. SQLite converts by the
** affinities of both sides; a filter knows one of them. What some comparison finds equal has one form:
**
**      NUMERIC    Text that looks like a number is that number: with a point or an exponent the integer
**                 that it is when rounded to 15 digits, if it is below 10^15 and there is one; otherwise
**                 the nearest double. Integers stay exact.
**      REAL       The same, and every number is a double.
**      TEXT       The same for whole numbers that fit into 64 bits. All other text stays text. Integers
**                 stay exact. Columns of BLOB or no affinity have this rule.
**
** Versions of SQLite read some texts as different doubles, side by side. Such a text is *inexact*, and a
** filter knows that it has one (CF_TYPE_INEXACT). A key is *vague*, and the answer is "probably",
**
**      - under TEXT if it is a real that is not whole, or is 10^15 or more: SQLite compares it as a
**      number
**        or as a text of 15 digits (17 in recent versions), depending on the other side. A stored one is
**        found: SQLite makes text of parameters and of expressions, never of what lies in a column of
**        BLOB or no affinity;
**      - under NUMERIC and REAL if it is an inexact text;
**      - in a filter with an inexact text, if it is not whole, or is a double of 10^15 or more.
**
** Under NOCASE the letters A to Z of a text are hashed as a to z, up to the first NUL; in place of what
** follows come a NUL and the length of the text (8 bytes). Under RTRIM spaces at its end are left out.
**
** A text looks like a number when SQLite takes it for one as it applies numeric affinity: blanks, a
** sign, digits with at most one point before, between or behind them, an exponent, blanks. It ends at
** its first NUL, as in recent versions.
**
**      uint8_t room[100];
**      cf_key key = cf_key_text("+1 ", 3);
**      bool vague = cf_key_is_vague(&filter.geometry, &key);
**      cf_key_apply(&filter.geometry, &key);
**      found = vague || cf_contains(&filter, cf_key_hash(&filter.geometry, &key, room));
*/
#ifndef CF_CUCKOO_KEY_H
#define CF_CUCKOO_KEY_H

#include "../base/hash.h"

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

/* Of which cf_key_types is it? A number in a text is a text. */
unsigned cf_key_type(const cf_key *key);

/* Can the key have been meant, before it gets its form? False: it is never found, because only keys of
** types were noted (cf_note_types) with which its own never compares equal. A text that is no number is
** just absent. `number`: the key is a text that looks like a number. */
bool cf_key_fits(const cf_geometry *rule, const cf_key *key);
bool cf_type_fits(const cf_geometry *rule, unsigned type, bool number);

/* Gives the key the form that it has under the affinity of a filter. True: it is a text that versions of
** SQLite read as different numbers; a caller that adds it notes CF_TYPE_INEXACT (cf_note_types). */
bool cf_key_apply(const cf_geometry *rule, cf_key *key);

/* True if some version of SQLite may find the key whatever the filter says: then the answer is
** "probably". `key` is as it was before cf_key_apply. */
bool cf_key_is_vague(const cf_geometry *rule, const cf_key *key);

/* The bytes that cf_key_hash needs: 0 for most keys. */
size_t cf_key_room(const cf_geometry *rule, const cf_key *key);

/* The hash of a key that has its form. `room` is of cf_key_room bytes, and may be where the content of
** the key is; if these are 0, it may be NULL. */
uint64_t cf_key_hash(const cf_geometry *rule, const cf_key *key, uint8_t *room);

/* ---- decimal numbers in text, read without the locale and without losing digits ---- */

typedef struct cf_number {
    bool negative;
    bool point;      /* it was written with a decimal point */
    bool power;      /* it was written with an exponent, or a NUL follows: SQLite reads a real */
    bool more;       /* of the digits behind the first 19 one is not 0 */
    uint64_t digits; /* its first significant digits, at most 19 of them */
    int exponent;    /* the number is digits * 10^exponent, or more if it has more than 19 digits */
    const char *first, *last; /* all digits and the point: from `first` to before `last` */
} cf_number;

/* Reads the text. False: it does not look like a number, and *number is unspecified. */
bool cf_number_read(const char *text, size_t length, cf_number *number);

/* The integer. False: it was written with a point or an exponent, or does not fit into 64 bits. */
bool cf_number_integer(const cf_number *number, int64_t *value);

/* The same, however a whole number was written: 1e6, 1000.0. */
bool cf_number_whole(const cf_number *number, int64_t *value);

/* The nearest double, of two equally near ones the even one, on every machine and under every locale. */
double cf_number_real(const cf_number *number);

/* The same. True: every version of SQLite reads this one. So it is for numbers of up to 15 digits that
** have at most four decimals, or are whole and below 2^63. */
bool cf_number_sure(const cf_number *number, double *real);

/* The integer when rounded to 15 significant digits, halves upwards. Numbers below 1e-300 are 0. */
bool cf_number_rounded(const cf_number *number, int64_t *value);

#endif
