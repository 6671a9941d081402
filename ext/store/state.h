/* SPDX-License-Identifier: MIT */
/*
** state.h - the state of a store: its life, its part in the transaction of the connection, and whether
** what is in memory is still what the database says.
**
** What a store has in memory is a cache of the database (store.h). Events change its state and say
** what is to be done: the table stands in state.c.
**
** Several virtual tables may share a store (store.h). Each of them joins the transaction, and tells the
** store of its end. When the last one has told, the store is APART. SQLite does not tell a table about
** savepoints that were open before the table was created. So a CREATED store writes after each change
** and reads anew before each use, until a savepoint opens.
**
**      event                                        how it is noticed
**      another connection has committed             the data version of the database has changed;
**                                                   then the generation of the pages is compared
**      this connection has changed the shadow       sqlite3_total_changes counts rows that are not
**      tables by SQL                                ours, and the version has changed, or the
**                                                   changes are not committed yet
**      ROLLBACK or ROLLBACK TO in a transaction     xRollback and xRollbackTo (store.h)
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
#ifndef CUCKOO_STATE_H
#define CUCKOO_STATE_H

#include "../pages/shadow.h"

typedef enum cuckoo_life {
    CUCKOO_NEW,    /* what is in memory, if anything, has to be compared with the database */
    CUCKOO_OPEN,   /* it was compared; what has changed since then can be told */
    CUCKOO_BROKEN, /* changes that were in memory only are lost */
    CUCKOO_DEAD    /* dropped or renamed: never to be used again */
} cuckoo_life;

typedef enum cuckoo_part {
    CUCKOO_APART,  /* in no transaction, or in one that this store has not joined */
    CUCKOO_JOINED, /* SQLite tells of savepoints and of the end */
    CUCKOO_CREATED /* in this transaction */
} cuckoo_part;

typedef struct cuckoo_state {
    cuckoo_life life;
    cuckoo_part part;
    unsigned tables;    /* that have joined the transaction */
    unsigned rollbacks; /* of savepoints and transactions, that were told */
} cuckoo_state;

typedef enum cuckoo_event {
    CUCKOO_USE,            /* of the filter begins */
    CUCKOO_CHANGED,        /* the filter has changed in memory */
    CUCKOO_JOIN,           /* a virtual table takes part in the transaction */
    CUCKOO_SAVEPOINT,      /* a savepoint opens */
    CUCKOO_ROLLED_BACK_TO, /* a savepoint was rolled back */
    CUCKOO_SYNC,           /* the transaction is about to be committed */
    CUCKOO_COMMITTED,      /* for one of the virtual tables */
    CUCKOO_ROLLED_BACK,    /* for one of them */
    CUCKOO_LOST,           /* changes in memory that cannot be written are lost */
    CUCKOO_DOUBT,          /* another table may have this name, or comparing has failed */
    CUCKOO_GONE            /* the table was dropped or renamed */
} cuckoo_event;

typedef enum cuckoo_action {
    CUCKOO_NOTHING,
    CUCKOO_ANEW,   /* compare with the database, whatever seems to be unchanged */
    CUCKOO_LOOK,   /* compare, if something may have changed */
    CUCKOO_WRITE,  /* what is in memory only */
    CUCKOO_FORGET, /* what is in memory */
    CUCKOO_REFUSE  /* it is an error */
} cuckoo_action;

/* Changes the state, and returns what to do. */
cuckoo_action cuckoo_state_event(cuckoo_state *state, cuckoo_event event);

/* ---- is what is in memory still what the database says? ---- */

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

/* To be asked before a use, when no change of ours is pending. `joined`: SQLite tells the store of
** rollbacks of this transaction. Returns an SQLite code; after an error, ask again. */
int cuckoo_fresh_look(cuckoo_fresh *fresh, cuckoo_shadow *shadow, bool joined, cuckoo_stale *stale);

/* Has anybody committed since the last look? (Within a transaction: only with a shared cache.) */
bool cuckoo_fresh_overtaken(const cuckoo_fresh *fresh, const cuckoo_shadow *shadow);

/* The store joins a transaction, which holds its locks. When that is the transaction of one
** statement, nothing in it is uncommitted, and rows that were counted late (see below) are accounted
** for. Returns true when nothing has changed since the last look. */
bool cuckoo_fresh_joined(cuckoo_fresh *fresh, const cuckoo_shadow *shadow);

/* Our own writes are committed: all changes until now are accounted for. `looked`: what is in
** memory was compared in this transaction. (SQLite counts the rows of the statement that commits
** only after it has called us.) */
void cuckoo_fresh_committed(cuckoo_fresh *fresh, const cuckoo_shadow *shadow, bool looked);

#endif
