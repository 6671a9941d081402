/* SPDX-License-Identifier: MIT */
/*
** store.h - one filter table as one connection sees it.
**
** All virtual tables of one name in a connection share one store. (There may be several of them:
** when the schema is read anew, the old table stays in the transaction until that ends, and the
** next statement makes another one.)
**
** **Rolling back is to forget what is in memory:** SQLite rolls back the rest. Adds change the image
** and leave pages dirty; deletes of a filter that follows a table are kept in a list. Before a
** savepoint opens (xSavepoint) and before the transaction ends (xSync), all of that is written to
** the database. So memory holds only what came after the innermost savepoint. Bulk statements write
** each page once.
**
** **Savepoints of statements do not write.** Inside a transaction SQLite opens a savepoint for
** nearly each statement. Before one of INSERT, UPDATE or DELETE opens, the changes in memory are
** kept as notes (redo.h) and need not be written. If that savepoint is rolled back, they are done
** again before the next use. Statements that change the schema are not among these: they may drop
** or rename the table, and the notes with it. Nor are savepoints of the user, for which such a
** statement may follow. While notes are needed, the table is neither dropped nor renamed.
**
** Deletes that wait are applied in xSync, when all adds have come. If a delete goes wrong, a stale
** key stays; no row is ever missing.
**
** SQLite does not tell a table about savepoints that were open before the table was created. So
** until the end of the transaction that creates it, its store writes after each change, and reads
** anew before each use.
**
** A write that fails half way is repeated with the next one: pages and header say the same once
** more. The store is *broken* when changes in memory are lost before they are written, because a
** page cannot be read. Then every use is an error, and so is COMMIT, until the transaction or the
** savepoint is rolled back.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_STORE_H
#define CUCKOO_STORE_H

#include "follow.h"
#include "fresh.h"
#include "redo.h"
#include "waiting.h"
#include "witness.h"

typedef struct cuckoo_store {
    cuckoo_paged paged;
    cuckoo_deletes deletes; /* that are not rows yet */
    cuckoo_redo redo;       /* what of this has to outlive a statement that is rolled back */
    cuckoo_follow follow;
    cuckoo_fresh fresh;
    cuckoo_witness witness;

    bool joined;    /* takes part in the transaction: SQLite tells it of its end */
    bool looked;    /* what is in memory was compared with the database since it joined */
    unsigned steps; /* of the shadow tables, when it was compared */
    bool created;   /* in this transaction */
    bool room;      /* may have appeared in this transaction, for keys that wait */
    bool full;      /* a search found no room, and deletes that wait have not made any yet */
    bool broken;    /* changes are lost */
    bool dead;      /* dropped or renamed: never to be used again */
    int why;        /* the code of the last write that failed; SQLITE_ABORT: the store was broken */
    char *later;    /* a later version made the table, and this says so: never used. NULL: no */
    int marks;      /* when savepoints 0 .. marks-1 opened, everything in memory was written or noted */

    unsigned references;
    uintptr_t id; /* never used again in the connection */
    struct cuckoo_store *next;
} cuckoo_store;

/* What a use does. */
typedef enum cuckoo_use {
    CUCKOO_ASK,    /* looks keys up */
    CUCKOO_CHANGE, /* changes rows, in a statement that may be ahead of the triggers */
    CUCKOO_REPAIR  /* works also on a filter that cannot follow its table */
} cuckoo_use;

/* Does SQLite roll back the statement after this code, or the transaction when it cannot? (It does
** the same when a statement that the extension runs fails with it.) */
bool cuckoo_store_rolls_back(int rc);

/* A new store with one reference. Texts are copied. Returns SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_store_new(sqlite3 *db, const char *schema, const char *table, cuckoo_store **store);
void cuckoo_store_free(cuckoo_store *store);

/* Compares what is in memory, unless it is a change, with the database before the next use. */
void cuckoo_store_doubt(cuckoo_store *store);

/* Begins a use, within a statement. Afterwards store->paged.filter is as the
** database and the changes in memory have it. After SQLITE_ERROR,
** SQLITE_IOERR, SQLITE_CORRUPT_VTAB or CUCKOO_NEWER *why says what is wrong; the text
** lives until the store is used again. After any error the use has ended. (trust.c) */
int cuckoo_store_begin(cuckoo_store *store, cuckoo_use use, const char **why);

/* The part of begin that does not ask whether a filter that follows a table may be believed. */
int cuckoo_store_load(cuckoo_store *store, const char **why);

/* What is wrong after an error of reading the tables; the text lives until the store is used again. */
const char *cuckoo_store_damage(const cuckoo_store *store);

/* Ends a use. Returns the first error of reading pages since it began: answers may be wrong.
** SQLITE_LOCKED: what was read may not fit what was in memory (fresh.h). */
int cuckoo_store_end(cuckoo_store *store);

/* ---- the transaction (transaction.c) ---- */

/* A statement begins, or a savepoint opens for one. */
void cuckoo_store_begin_statement(cuckoo_store *store);

/* Savepoint `number` is about to open: writes everything in memory, or notes that it must be made
** again. */
int cuckoo_store_savepoint(cuckoo_store *store, int number);

/* Savepoint `number` and those in it are gone. After an error the store is broken. */
int cuckoo_store_release(cuckoo_store *store, int number);

/* A savepoint is rolled back. If it never opened, because some table could not write, this does
** nothing. */
void cuckoo_store_rolled_back_to(cuckoo_store *store, int number);

/* Writes everything in memory, at any other time. */
int cuckoo_store_flush(cuckoo_store *store);

/* Are there notes of changes from before the savepoint of a statement that runs? Then the table
** must be neither dropped nor renamed. */
bool cuckoo_store_keeps_notes(const cuckoo_store *store);

/* The transaction is about to end: applies deletes and writes everything. */
int cuckoo_store_sync(cuckoo_store *store);

/* The transaction has ended. */
void cuckoo_store_committed(cuckoo_store *store);
void cuckoo_store_rolled_back(cuckoo_store *store);

/* ---- between begin and end ---- */

/* Has another connection committed since the use began, outside of our own transaction? */
bool cuckoo_store_overtaken(const cuckoo_store *store);

/* What triggers tell of a row does not fit together: there is a doubt (pages.h). */
void cuckoo_store_note_doubt(cuckoo_store *store);

/* Is the key perhaps there, or waiting? */
int cuckoo_store_has(cuckoo_store *store, uint64_t hash, bool *has);

/* Is the key of some row of the table that it follows certainly not there? `most`: of how many of
** the first and of the last rows; -1: of all. (trust.c) */
int cuckoo_store_misses(cuckoo_store *store, int most, bool *misses);

/* How many keys there are, with those that wait, without those whose deletes wait. */
uint64_t cuckoo_store_items(const cuckoo_store *store);

/* Adds a key. A filter that may grow takes every key. *status is CF_FULL, and nothing has changed,
** when the filter may not grow, and no delete waits that would make room (`owed` deletes are about
** to come). Otherwise it is CF_OK. */
int cuckoo_store_add(cuckoo_store *store, uint64_t hash, uint64_t value, unsigned owed,
                     cf_status *status);

/* Deletes a key at once; or at the end of the transaction. */
int cuckoo_store_delete(cuckoo_store *store, uint64_t hash, uint64_t value);
int cuckoo_store_delete_later(cuckoo_store *store, uint64_t hash, uint64_t value);

/* Tries to find a place for all keys that wait, without growing. (transaction.c) */
int cuckoo_store_place_all(cuckoo_store *store);

/* Puts another filter in its place (cuckoo_paged_replace), or an empty one. What waits is gone. */
int cuckoo_store_replace(cuckoo_store *store, uint8_t *bytes, uint64_t length);
int cuckoo_store_clear(cuckoo_store *store);

/* Ends a use that has changed something. `rc` is the error of the change, or SQLITE_OK.
** (transaction.c) */
int cuckoo_store_changed(cuckoo_store *store, int rc);

/* ---- for the files of the store ---- */

/* Are there changes in memory? */
bool cuckoo_store_pending(const cuckoo_store *store);

/* Forgets what is in memory, except notes. */
void cuckoo_store_forget(cuckoo_store *store);

/* Reads the header, if it is not in memory, and does noted changes again. After an error *why says
** what is wrong. */
int cuckoo_store_recall(cuckoo_store *store, const char **why);

/* The same after an error: if changes are lost, the store is broken. */
void cuckoo_store_lose(cuckoo_store *store);

/* The code to return for an error after something was written: one after which SQLite rolls back.
** After other errors the transaction may go on, with what is half changed. */
int cuckoo_store_beyond_repair(int rc);

#endif
