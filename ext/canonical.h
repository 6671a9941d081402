/*
** canonical.h - an SQL value taken apart for hashing, and what the affinity of a key rule makes of it.
**
** SQLite converts the operands of `column = value` before it compares them. How, depends on the affinity of
** both. A filter knows the affinity of its column but not that of the other side. So it needs forms such that
** values that some comparison finds equal have one form:
**
**      NUMERIC    Text that looks like a number is that number. Integers stay exact.
**      REAL       The same, and every number is a double.
**      TEXT       A stored text is compared as a text with texts, as a number with numeric columns, and with
**                 numbers without affinity after they became text, by 15 digits: '0.3' = 0.1 + 0.2. So text
**                 that looks like a number is a decimal of at most 15 digits, and so are reals. Integers
**                 stay exact. Digits alone that are beyond 64 bits stay text.
**
** Under TEXT some values equal several stored texts of different forms. A real of more than 15 digits equals,
** depending on the other side, the text with all its digits and the one with 15. Such a value is *vague*: a
** lookup of it has to answer "perhaps", whatever the filter holds.
**
** One gap is left. Late versions of SQLite write reals as text with 17 digits, not 15. Where these versions compare
** a column of type ANY in a STRICT table with a TEXT column, a real of more than 15 digits may not be found by its
** text: one in some 200 of them, those whose 16th and 17th digits are 50. Other columns do not store reals that
** are compared as text.
*/
#ifndef CUCKOO_CANONICAL_H
#define CUCKOO_CANONICAL_H

#include "key.h"

enum cuckoo_type { TYPE_INTEGER = 1, TYPE_REAL = 2, TYPE_TEXT = 3, TYPE_BLOB = 4, TYPE_DECIMAL = 5 };

/* Type, and a number or the bytes of a text or blob, which live as long as the value. */
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

/* Makes of the form of `value` the one under an affinity other than CF_AFFINITY_NONE. */
void cuckoo_canonical_apply(cf_affinity affinity, sqlite3_value *value, cuckoo_canonical *form);

/* Is the value vague? */
bool cuckoo_canonical_vague(cf_affinity affinity, sqlite3_value *value);

#endif
