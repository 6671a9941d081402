/* SPDX-License-Identifier: MIT */
/*
** fresh.h - is what a table has in memory still what the database says?
**
** What a table has in memory is a cache of the database (table.h).
**
**      event                                        how it is noticed
**      another connection has committed             the data version of the database has changed;
**                                                   then the generation of the pages is compared
**      this connection has changed the shadow       sqlite3_total_changes counts rows that are not
**      tables by SQL                                ours, and the version has changed, or the
**                                                   changes are not committed yet
**      ROLLBACK or ROLLBACK TO in a transaction     xRollback and xRollbackTo (table.h)
**      that the table has joined
**      the same in a transaction that it has not    not at all: while such a transaction has
**      joined                                       uncommitted writes, nothing is kept between
**                                                   two uses
**
** The data version is looked at before every use, inside a read transaction: outside of one SQLite
** does not know it yet. With a shared cache such a transaction does not keep others from committing
** before a table is read. So after a use that has read something the version is looked at again. If it
** has changed, the use fails with SQLITE_LOCKED, for which users of a shared cache have to be prepared
** anyway.
**
** Three events go unnoticed; SQLite's defensive mode forbids all of them: the incremental blob API on
** the shadow tables, another table put in their place, and SQL that writes to them in a transaction
** that changes the filter, too.
*/
#ifndef CUCKOO_FRESH_H
#define CUCKOO_FRESH_H

#include "../pages/shadow.h"

typedef struct cuckoo_fresh {
    unsigned file_version; /* SQLITE_FCNTL_DATA_VERSION: changes with any commit */
    int changes;           /* sqlite3_total_changes, as far as it is accounted for */
    int settled_changes;   /* the same when nothing could be rolled back unnoticed */
    bool keeps_nothing;    /* what is read is stale at the next use */
} cuckoo_fresh;

typedef enum cuckoo_stale {
    CUCKOO_IS_FRESH,
    CUCKOO_MAY_BE_STALE, /* somebody has committed: the generation tells (pages.h) */
    CUCKOO_IS_STALE      /* what is in memory must be forgotten */
} cuckoo_stale;

/* To be asked before a use, when no change of ours is in memory only. `joined`: SQLite tells the table
** of rollbacks of this transaction. Returns an SQLite code; after an error, ask again. */
int cuckoo_fresh_look(cuckoo_fresh *fresh, cuckoo_shadow *shadow, bool joined, cuckoo_stale *stale);

/* Has anybody committed since the last look? (Within a transaction: only with a shared cache.) */
bool cuckoo_fresh_overtaken(const cuckoo_fresh *fresh, const cuckoo_shadow *shadow);

/* The table joins a transaction, which holds its locks. When that is the transaction of one
** statement, nothing in it is uncommitted, and rows that were counted late (see below) are accounted
** for. Returns true when nothing has changed since the last look. */
bool cuckoo_fresh_joined(cuckoo_fresh *fresh, const cuckoo_shadow *shadow);

/* Our own writes are committed: all changes until now are accounted for. `looked`: what is in
** memory was compared in this transaction. (SQLite counts the rows of the statement that commits
** only after it has called us.) */
void cuckoo_fresh_committed(cuckoo_fresh *fresh, const cuckoo_shadow *shadow, bool looked);

#endif
