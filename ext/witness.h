/* SPDX-License-Identifier: MIT */
/*
** witness.h - does what triggers tell about one row fit together?
**
** SQLite reads the old values of a row once. When a BEFORE trigger, or SQL that a function runs,
** changes the row after that, AFTER triggers are told old values that are no longer there (SQLite's
** documentation calls this undefined). Believing them would delete a key twice. So for rows that
** have changed in this transaction the witness remembers from which key to which key they have
** gone. The next step of a row must begin where the remembered way ends, or end where it begins,
** which triggers that fire late do.
**
**      told                          remembered        fits
**      6: a -> b                     6: a -> b
**      6: b -> c                     6: a -> c         yes: it goes on
**      6: (nothing) -> a             6: (nothing) -> c yes, if the row is at c: told late
**      6: b -> (nothing)             -                 no: the row was not at b
**
** A row is known by its rowid. The memory is a small table in which new rows displace old ones.
** Steps of a displaced row are not checked.
*/
#ifndef CUCKOO_WITNESS_H
#define CUCKOO_WITNESS_H

#include "api.h"

typedef struct cuckoo_step {
    bool from_is, to_is; /* there is a key before, after */
    uint64_t from, to;   /* their hashes */
} cuckoo_step;

typedef struct cuckoo_witnessed {
    uint32_t round; /* in which it was remembered; 0: never */
    int64_t row;
    cuckoo_step step;
} cuckoo_witnessed;

typedef struct cuckoo_witness {
    cuckoo_witnessed *seen; /* NULL: nothing yet */
    uint32_t round;         /* what other rounds have remembered is forgotten */
    bool any;
} cuckoo_witness;

typedef enum cuckoo_fit {
    CUCKOO_FITS,
    CUCKOO_FITS_BEFORE, /* it fits if the row is now where *step ends */
    CUCKOO_MISFITS
} cuckoo_fit;

/* The row has taken a step. Afterwards *step is the whole way that is known of it. *fit says
** whether the step fits what was remembered. Returns SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_witness_tell(cuckoo_witness *witness, int64_t row, cuckoo_step *step, cuckoo_fit *fit);

/* Forgets all rows. The second one frees the memory, too. */
void cuckoo_witness_clear(cuckoo_witness *witness);
void cuckoo_witness_free(cuckoo_witness *witness);

#endif
