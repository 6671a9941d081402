/* SPDX-License-Identifier: MIT */
/*
** witness.h - does what triggers tell about one row fit together?
**
** SQLite reads the old values of a row once. When a BEFORE trigger, or SQL that a function runs,
** changes the row after that, AFTER triggers are told old values that are no longer there (SQLite's
** documentation calls this undefined). Believing them would delete a key twice. So the witness
** remembers from which key to which key the rows have gone that the running statement has changed.
** The next step of a row must begin where the remembered way ends, or end where it begins, which
** triggers that fire late do. And the row must be where the whole way ends.
**
**      told                          remembered        fits
**      6: a -> b                     6: a -> b
**      6: b -> c                     6: a -> c         yes, if the row is at c: it goes on
**      6: (nothing) -> a             6: (nothing) -> c the same: told late
**      6: b -> (nothing)             -                 no: the row was not at b
**
** A row is known by its rowid. No row is forgotten before the statement ends: 90 to 180 bytes
** for each. So the witness is called only where old values may be wrong.
*/
#ifndef CUCKOO_WITNESS_H
#define CUCKOO_WITNESS_H

#include "api.h"

typedef struct cuckoo_step {
    bool from_is, to_is; /* there is a key before, after */
    uint64_t from, to;   /* their hashes */
    bool hole;           /* of a way: on it the key `gone` was deleted, which nobody has told */
    uint64_t gone;
} cuckoo_step;

typedef struct cuckoo_witnessed {
    uint32_t round;           /* in which it was remembered; 0: never */
    uint32_t mark;            /* the last mark behind which it was told */
    bool is_known, was_known; /* the way is known; and was known at the mark */
    int64_t row;
    cuckoo_step way, was; /* the whole way that is known; what it was at the mark */
} cuckoo_witnessed;

typedef struct cuckoo_witness {
    cuckoo_witnessed *seen; /* NULL: nothing yet */
    unsigned bits;          /* it has 2^bits places */
    uint64_t n;             /* rows that are remembered */
    uint32_t round;         /* what other rounds have remembered is forgotten */
    bool nested;            /* SQL runs within the statement: the witness is to be called */
    bool spoiled;           /* steps were undone: none fits that has a key before */
    int marked;             /* the savepoint at which the mark was set, + 1; 0: there is none */
    uint32_t mark;          /* so many were set */
} cuckoo_witness;

typedef enum cuckoo_fit {
    CUCKOO_FITS,
    CUCKOO_FITS_IF_THERE, /* it fits if the row is now where *way ends */
    CUCKOO_FITS_EITHER,   /* the same; if not, it was told late, and fits if it is where *step begins */
    CUCKOO_MISFITS
} cuckoo_fit;

/* The row has taken a step. Afterwards *way is the whole way that is known of it, until the next
** call. *fit says whether the step fits what was remembered. Returns SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_witness_tell(cuckoo_witness *witness, int64_t row, const cuckoo_step *step, cuckoo_step **way,
                        cuckoo_fit *fit);

/* A savepoint opens within the statement, is gone, or is rolled back: then the steps behind it are
** undone. There is one mark, that of the outermost savepoint; after others were rolled back no step
** is believed. */
void cuckoo_witness_set_mark(cuckoo_witness *witness, int savepoint);
void cuckoo_witness_release(cuckoo_witness *witness, int savepoint);
void cuckoo_witness_roll_back(cuckoo_witness *witness, int savepoint);

/* Forgets all rows: another statement begins. The second one frees the memory, too. */
void cuckoo_witness_clear(cuckoo_witness *witness);
void cuckoo_witness_free(cuckoo_witness *witness);

#endif
