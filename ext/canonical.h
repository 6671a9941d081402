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
**                 numbers without affinity after these became text of 15 (or, in late versions, 17)
**                 digits: '0.3' = 0.1 + 0.2. So text that looks like a number is a decimal of at most 15
**                 digits, and so is a real that has no more. Integers stay exact. Digits alone that are
**                 beyond 64 bits stay text.
**
** Under TEXT some reals are *vague*: those of more than 15 digits, or from 10^15 on. Depending on the other side such a
** real equals the text with all its digits or the one that SQLite makes of it, which have different forms. A lookup of
** it has to answer "perhaps", whatever the filter holds. Stored, it is found all the same: SQLite makes text of
** parameters and of expressions, never of what lies in a column of BLOB or no affinity.
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

/* Is the value vague under TEXT? Integers and texts never are. */
bool cuckoo_canonical_vague(sqlite3_value *value);

#endif
