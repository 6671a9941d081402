/* SPDX-License-Identifier: MIT */
/*
** canonical.h - an SQL value taken apart for hashing, and the effect of an affinity on it.
**
** SQLite converts the operands of `column = value` before it compares them. The conversion depends
** on the affinities of both sides. A filter knows the affinity of its column, but not that of the
** other side. So values that some comparison finds equal must have one form:
**
**      NUMERIC    Text that looks like a number is that number. Integers stay exact.
**      REAL       The same, and every number is a double.
**      TEXT       A stored text is compared with texts as a text, with numeric columns as a number,
**                 and with numbers without affinity after these became text of 15 digits (17 in
**                 recent versions): '0.3' = 0.1 + 0.2. So text that looks like a number becomes a
**                 decimal of at most 15 digits, and so does a real that has no more digits.
**                 Integers stay exact. Text of digits alone that exceeds 64 bits stays text.
**
** Under TEXT some reals are called *vague*: those of more than 15 digits, or from 10^15 on. A vague
** real equals either the text with all of its digits, or the text that SQLite makes of it,
** depending on the other side; these two have different forms. Therefore a lookup of a vague real
** answers "perhaps", whatever the filter holds. A stored one is found all the same: SQLite makes
** text of parameters and of expressions, never of what lies in a column of BLOB or no affinity.
*/
#ifndef CUCKOO_CANONICAL_H
#define CUCKOO_CANONICAL_H

#include "api.h"

/* What became of a value that should be a key. */
typedef enum cuckoo_key {
    CUCKOO_KEY_OK,
    CUCKOO_KEY_NULL, /* the value is NULL: there is no key */
    CUCKOO_KEY_NOMEM /* SQLite could not convert a text to UTF-8 */
} cuckoo_key;

enum cuckoo_type { TYPE_INTEGER = 1, TYPE_REAL = 2, TYPE_TEXT = 3, TYPE_BLOB = 4, TYPE_DECIMAL = 5 };

/* A type, and either a number, or the bytes of a text or blob, which live as long as the value. */
typedef struct cuckoo_canonical {
    uint8_t type;
    uint16_t places; /* of a decimal: it is number / 10^places */
    uint64_t number; /* as an integer, signed; of a real, its bits */
    const uint8_t *content;
    size_t length;
} cuckoo_canonical;

static inline bool cuckoo_is_number(const cuckoo_canonical *form)
{
    return form->type != TYPE_TEXT && form->type != TYPE_BLOB;
}

/* The form of a value without affinity. */
cuckoo_key cuckoo_canonical_form(sqlite3_value *value, cuckoo_canonical *form);

/* Turns the form of `value` without affinity into the one under `affinity`, which is not
** CF_AFFINITY_NONE. */
void cuckoo_canonical_apply(cf_affinity affinity, sqlite3_value *value, cuckoo_canonical *form);

/* Is the value vague under TEXT? Integers and texts never are. */
bool cuckoo_canonical_vague(sqlite3_value *value);

#endif
