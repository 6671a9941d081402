/* SPDX-License-Identifier: MIT */
/*
** spellings.h - a number that is asked of a column of texts, by a table that shows rows (front.h).
**
** The usual spelling of a number is the one that SQLite gives it: 7 and 7.0 are '7', 0.5 is '0.5'.
** Every text that some comparison finds equal to a number is either its usual spelling, or a text that
** SQLite reads as that number: '007', ' 7', '7.0', '70e-1'. These others are read all at once, and are
** kept by the number. No two spellings of a number are equal in the column, so no row is found twice.
**
** From 10^15 on SQLite rounds a whole real to 15 digits when it makes a text of it. That text may be
** equal to the real, and is another number: such reals are not looked up by spellings.
*/
#ifndef CUCKOO_SPELLINGS_H
#define CUCKOO_SPELLINGS_H

#include "../keys/sums.h"
#include "store.h"

typedef struct cuckoo_spelling {
    sqlite3_value *text;
    int next; /* another one of the same number; -1: none */
} cuckoo_spelling;

/* What SQLite tells of changes: of others, of this connection, and of rollbacks after a change of which
** a trigger has told. */
typedef struct cuckoo_moment {
    unsigned version;
    int changes;
    unsigned rollbacks;
} cuckoo_moment;

/* The others of one column. All zeros: they were not read. */
typedef struct cuckoo_spellings {
    int column; /* its number, from 1 on; 0: they are not kept */
    cuckoo_moment at;
    cuckoo_spelling *all; /* sqlite3_malloc64 */
    int n;
    cuckoo_sums last; /* by the hash of a number: 1 + the place of its last one */
} cuckoo_spellings;

/* Can the number be looked up by its spellings? */
bool cuckoo_number_is_spelled(sqlite3_value *number);

/* Binds the usual spelling of such a number to parameter n. */
int cuckoo_number_bind(sqlite3_stmt *rows, int n, sqlite3_value *number);

/* Reads the others, unless they are those of now. `trusted`: triggers tell of all changes. */
int cuckoo_spellings_read(cuckoo_spellings *spellings, const cuckoo_store *store, const char *content,
                          const char *name, int column, bool trusted);

/* One of the others of this number, or -1. */
int cuckoo_spellings_of(const cuckoo_spellings *spellings, sqlite3_value *number);

/* No query uses them any more: forgets them, unless they may serve the next one. */
void cuckoo_spellings_end(cuckoo_spellings *spellings, sqlite3 *db);
void cuckoo_spellings_forget(cuckoo_spellings *spellings);

#endif
