/* SPDX-License-Identifier: MIT */
/*
** state.h - the state of a store: its life, and its part in the transaction of the connection.
**
** What a store has in memory is a cache of the database (store.h). Events change its state and say
** what is to be done: the table stands in state.c.
**
** Several virtual tables may share a store (store.h). Each of them joins the transaction, and tells the
** store of its end. When the last one has told, the store is APART. SQLite does not tell a table about
** savepoints that were open before the table was created. So a CREATED store writes after each change
** and reads anew before each use, until a savepoint opens.
*/
#ifndef CUCKOO_STATE_H
#define CUCKOO_STATE_H

#include "api.h"

typedef enum cuckoo_life {
    CUCKOO_NEW,    /* what is in memory, if anything, has to be compared with the database */
    CUCKOO_OPEN,   /* it was compared; what has changed since then can be told (fresh.h) */
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
    unsigned tables; /* that have joined the transaction */
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

#endif
