/*
** witness.h - does what triggers tell of one row fit together?
**
** SQLite reads the old values of a row once. When a BEFORE trigger, or SQL run by a function, changes the row after that,
** AFTER triggers are told old values that were not there any more ("undefined", says SQLite's documentation): a key would be
** deleted twice. So the witness remembers, for rows that have changed in this transaction, from which key to which they have
** gone. What comes next must begin where that ends; or end where it begins, for triggers that SQLite fires late.
**
**      told                          remembered        fits
**      6: a -> b                     6: a -> b
**      6: b -> c                     6: a -> c         yes: it goes on
**      6: (nothing) -> a             6: (nothing) -> c yes, if the row is at c: the insertion comes late
**      6: b -> (nothing)             -                 no: the row was not at b
**
** A row is known by its rowid. The memory is a small table in which new rows displace old ones: what is displaced is not
** noticed.
*/
#ifndef CUCKOO_WITNESS_H
#define CUCKOO_WITNESS_H

#include "api.h"

typedef struct cuckoo_step {
    bool from_is, to_is; /* there is a key before, after */
    uint64_t from, to;   /* their hashes */
} cuckoo_step;

typedef struct cuckoo_witnessed {
    bool used;
    int64_t row;
    cuckoo_step step;
} cuckoo_witnessed;

typedef struct cuckoo_witness {
    cuckoo_witnessed *seen; /* NULL: nothing yet */
    bool any;
} cuckoo_witness;

typedef enum cuckoo_fit {
    CUCKOO_FITS,
    CUCKOO_FITS_BEFORE, /* what is remembered: if that has not come before, the row is where step->to says */
    CUCKOO_MISFITS
} cuckoo_fit;

/* The row has taken a step, which becomes the whole way that is known. *fit: with what was remembered. SQLITE_OK or
** SQLITE_NOMEM. */
int cuckoo_witness_tell(cuckoo_witness *witness, int64_t row, cuckoo_step *step, cuckoo_fit *fit);

/* Forgets all; and its memory, too. */
void cuckoo_witness_clear(cuckoo_witness *witness);
void cuckoo_witness_free(cuckoo_witness *witness);

#endif
