/*
** store.h - one persistent filter as one connection sees it.
**
** All virtual tables of one name in a connection share one store. (There may be several: a schema that is read anew
** leaves the old one in the transaction until that ends, and the next statement makes another.)
**
** **What is in memory lies behind the innermost savepoint.** Adds change the image and leave pages dirty; deletes of a
** filter that follows a table are kept in a list. Before a savepoint opens (xSavepoint: one opens for each statement
** inside a transaction) and before the transaction ends (xSync) all of that is written to the database. So rolling
** back, however far, is to forget what is in memory: the database has the rest. Bulk statements write each page once.
**
** Deletes that wait are applied in xSync, when all adds have come. What goes wrong with one leaves a stale key, never a
** row that is not found.
**
** A table created in the transaction under way is not told of savepoints that were open before (SQLite). Until the
** transaction ends its store writes at the end of each change, and reads anew before each use.
**
** A write that fails half way is repeated with the next one: pages and header say the same once more. Only when changes in
** memory are lost before they are written (a page that cannot be read), the store is broken until the transaction, or the
** savepoint, is rolled back: every use is an error, and so is COMMIT.
*/
#ifndef CUCKOO_STORE_H
#define CUCKOO_STORE_H

#include "follow.h"
#include "fresh.h"
#include "waiting.h"
#include "witness.h"

/* Pairs of buckets in which a key found no place, not even by growing. */
enum { CUCKOO_CROWDED = 64 };

typedef struct cuckoo_crowded {
    uint64_t here, there, buckets;
} cuckoo_crowded;

typedef struct cuckoo_store {
    cuckoo_paged paged;
    cuckoo_deletes deletes; /* that are not rows yet */
    cuckoo_follow follow;
    cuckoo_fresh fresh;
    cuckoo_witness witness;

    bool joined;  /* takes part in the transaction: it is told of its end */
    bool looked;  /* what is in memory was compared with the database since it joined */
    bool created; /* in this transaction */
    bool room;    /* may have appeared in this transaction, for keys that wait */
    bool full;    /* a search has found none, and deletes that wait have not made any yet */
    bool broken;  /* changes are lost */
    bool dead;    /* dropped or renamed: never to be used again */
    int why;   /* the code of the last write that has failed; SQLITE_ABORT: changes were lost before */
    int marks; /* savepoints 0 .. marks-1 opened when all in memory had been written */

    cuckoo_crowded crowded[CUCKOO_CROWDED]; /* the last ones, in turn */
    unsigned next_crowded;

    unsigned references;
    uintptr_t id; /* never used again in the connection */
    struct cuckoo_store *next;
} cuckoo_store;

/* What a use may meet. */
typedef enum cuckoo_use {
    CUCKOO_ASK,    /* lookups */
    CUCKOO_CHANGE, /* rows, within a statement that may be ahead of the triggers */
    CUCKOO_REPAIR  /* also when it cannot follow its table */
} cuckoo_use;

/* After this code SQLite rolls the statement back, or the transaction when it cannot. (So it does when a statement that
** the extension runs fails with it.) */
bool cuckoo_store_rolls_back(int rc);

/* A new store with one reference. Texts are copied. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_store_new(sqlite3 *db, const char *schema, const char *table, cuckoo_store **store);
void cuckoo_store_free(cuckoo_store *store);

/* What is in memory, unless it is a change, is to be compared with the database again. */
void cuckoo_store_doubt(cuckoo_store *store);

/* To be called before each use, within a statement: afterwards store->paged.filter is as the database and the changes in
** memory have it. Not SQLITE_OK: *why says what is wrong, when the code is SQLITE_ERROR or SQLITE_CORRUPT_VTAB; the
** text lives as long as the store is not used again. */
int cuckoo_store_begin(cuckoo_store *store, cuckoo_use use, const char **why);

/* A part of begin: the same, without asking whether a filter that follows a table may be believed (trust.c). */
int cuckoo_store_load(cuckoo_store *store, const char **why);

/* The use is over. The first error of reading pages since it began: what was answered may be wrong. */
int cuckoo_store_end(cuckoo_store *store);

/* Savepoint `number` is about to open: everything in memory is written. */
int cuckoo_store_savepoint(cuckoo_store *store, int number);
void cuckoo_store_release(cuckoo_store *store, int number);

/* Rolled back to a savepoint. One that did not open, because not every table could write, undoes nothing. */
void cuckoo_store_rolled_back_to(cuckoo_store *store, int number);

/* Everything in memory is written, at any other time. */
int cuckoo_store_flush(cuckoo_store *store);

/* The transaction is about to end: deletes are applied, everything is written. */
int cuckoo_store_sync(cuckoo_store *store);

/* It has ended. */
void cuckoo_store_committed(cuckoo_store *store);
void cuckoo_store_rolled_back(cuckoo_store *store);

/* ---- between begin and end ---- */

/* Is the key perhaps there, waiting ones included? An SQLite code of the list. */
int cuckoo_store_has(cuckoo_store *store, uint64_t hash, bool *has);

/* Is the key of some row of the table that it follows certainly not there? `most`: how many of the first and of the last rows;
** -1: all. (trust.c) */
int cuckoo_store_misses(cuckoo_store *store, int most, bool *misses);

/* Keys there, with those that wait, without those whose deletes wait. */
uint64_t cuckoo_store_items(const cuckoo_store *store);

/*
** One key more. *status: CF_OK; CF_FULL when the filter may not grow and no delete waits that would make room (`owed`
** deletes are about to come): nothing has changed. A filter that may grow takes every key. Else an SQLite code.
*/
int cuckoo_store_add(cuckoo_store *store, uint64_t hash, uint64_t value, unsigned owed,
                     cf_status *status);

/* One key less, at once; or at the end of the transaction. */
int cuckoo_store_delete(cuckoo_store *store, uint64_t hash, uint64_t value);
int cuckoo_store_delete_later(cuckoo_store *store, uint64_t hash, uint64_t value);

/* Tries to find a place for all keys that wait, without growing. */
int cuckoo_store_place_all(cuckoo_store *store);

/* Another filter in its place (cuckoo_paged_replace), or an empty one. What waits is gone. */
int cuckoo_store_replace(cuckoo_store *store, uint8_t *bytes, uint64_t length);
int cuckoo_store_clear(cuckoo_store *store);

/* The change is over; rc is its error, or SQLITE_OK. */
int cuckoo_store_changed(cuckoo_store *store, int rc);

/* ---- for the files of the store ---- */

/* Are there changes in memory? */
bool cuckoo_store_pending(const cuckoo_store *store);

/* Forgets what is in memory: the database has the rest. */
void cuckoo_store_forget(cuckoo_store *store);

/* The same when it was not to be forgotten: the transaction must not be committed without it. */
void cuckoo_store_lose(cuckoo_store *store);

/* An error after something was written: one after which SQLite rolls back the statement, or the transaction when it cannot.
** What is half changed must not stay, though the transaction may go on after other errors. */
int cuckoo_store_beyond_repair(int rc);

/* Puts a key into the filter, with the effort that is worth it; `context` is the store. */
cf_status cuckoo_store_place(void *context, uint64_t hash, uint64_t value);
cf_status cuckoo_store_place_without_growing(void *context, uint64_t hash, uint64_t value);

#endif
