/* SPDX-License-Identifier: MIT */
/*
** redo.h - the changes that are in memory only, so that they can be made again.
**
** Rolling back means to forget what is in memory (store.h): SQLite rolls back the rest. That would
** lose what earlier statements of the transaction have changed. So before a savepoint opens,
** everything in memory must be written, or be noted here. Rolling back to that savepoint, the
** *mark*, then makes the notes of before *stale*: the changes have to be made again, to what the
** database holds.
**
**      change    change    change | change    change
**      0                     kept |           n              the mark lies between
**
** There is one mark at most. Before another savepoint opens inside it, everything is written. Then
** only the notes in front of the mark are still needed.
*/
#ifndef CUCKOO_REDO_H
#define CUCKOO_REDO_H

#include "api.h"

typedef enum cuckoo_redo_kind {
    CUCKOO_REDO_ADD,
    CUCKOO_REDO_ADD_OWED, /* a delete belongs to it */
    CUCKOO_REDO_DELETE,
    CUCKOO_REDO_DELETE_LATER
} cuckoo_redo_kind;

typedef struct cuckoo_redo_note {
    uint64_t hash;
    uint32_t value;
    uint8_t kind;
} cuckoo_redo_note;

/* Without notes it is all zeros. */
typedef struct cuckoo_redo {
    cuckoo_redo_note *note;
    size_t n, room;
    size_t kept;  /* so many came before the mark */
    size_t from;  /* from here on the database does not have them: 0, or kept */
    bool marked;  /* there is a mark */
    int mark;     /* its savepoint */
    bool idle;    /* nothing was changed or written since the mark */
    bool partial; /* not all changes were noted: they must be written before a savepoint opens */
    bool stale;   /* the notes have to be done again */
} cuckoo_redo;

/* Notes a change. If there are too many, or there is no memory, `partial` says so. */
void cuckoo_redo_add(cuckoo_redo *redo, cuckoo_redo_kind kind, uint64_t hash, uint64_t value);

/* Savepoint `number` is about to open, and nothing is written. It is the first mark, and all
** changes in memory are noted. */
void cuckoo_redo_set_mark(cuckoo_redo *redo, int number);

/* All changes were written. */
void cuckoo_redo_written(cuckoo_redo *redo);

/* Savepoint `number` and those in it are gone. */
void cuckoo_redo_release(cuckoo_redo *redo, int number);

/* Savepoint `number` was rolled back. */
void cuckoo_redo_roll_back(cuckoo_redo *redo, int number);

/* Drops all notes and the mark. The second one frees the memory, too. */
void cuckoo_redo_clear(cuckoo_redo *redo);
void cuckoo_redo_free(cuckoo_redo *redo);

#endif
