/* SPDX-License-Identifier: MIT */
/*
** store.h - one filter table as one connection sees it.
**
** All virtual tables of one name in a connection share one store. (There may be several of them:
** when the schema is read anew, the old table stays in the transaction until that ends, and the
** next statement makes another one.)
**
** **All state is in the database.** What a store has in memory is a cache of it, which can be
** forgotten at any time. So rolling back is to forget: SQLite rolls back the rest. state.h has the
** states of a store, and what each event does.
**
** A filter that follows a table changes when its log is drained (transaction.c), which is the last step
** of a transaction, or by a command. Until then lookups add what the log says (log.h).
**
** Any other filter changes in memory, and its pages are written before a savepoint opens
** (xSavepoint) and before the transaction ends (xSync). So memory holds only what came after the
** innermost savepoint. If a write fails half way, everything stays dirty, and the next write repeats
** it. The store is *broken* when changes in memory are lost before they are written, because a page
** cannot be read. Then every use is an error, and so is COMMIT, until a rollback.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_STORE_H
#define CUCKOO_STORE_H

#include "../follow/follow.h"
#include "../keys/options.h"
#include "../pages/unplaced.h"
#include "state.h"

/* Rows of the log: so many may wait, so that fewer pages are written; a COMMIT drains no more than so
** many, which would hold the lock for seconds. */
enum { CUCKOO_SHORT_LOG = 1024, CUCKOO_LONG_LOG = 65536, CUCKOO_MOST_LOGGED = 1000000 };

typedef struct cuckoo_store {
    cuckoo_paged paged;
    cuckoo_follow follow;
    cuckoo_fresh fresh;
    cuckoo_net net; /* of the log */
    cuckoo_state state;
    int64_t wrote; /* this connection has written rows to the log in this transaction: up to this one */
    bool watched;  /* the TEMP trigger has told of rows in this transaction, and tells of others */
    bool asks_content; /* in this use the filter is not trusted, and its table is asked (content.h) */
    cuckoo_options options; /* as CREATE gave them: for the plan of a filter that is made anew */

    bool looked;    /* what is in memory was compared with the database since the store has joined */
    unsigned steps; /* of the shadow tables, when it was compared last, or a use ended */
    int why;        /* the code of the last write that failed; SQLITE_ABORT: the store was broken */
    char *later;    /* a later version made the table, and this says so: never used. NULL: no */
    int opened;     /* when savepoints 0 .. opened-1 opened, everything in memory was written */

    unsigned references;
    unsigned uses; /* of it by its name that go on (registry.c) */
    char *called;  /* the name by which it was found last; NULL: it has to be looked for */
    int called_at; /* what cuckoo_shadow_hold said then */
    uintptr_t id;  /* never used again in the connection */
    struct cuckoo_store *next;
} cuckoo_store;

/* What a use does. */
typedef enum cuckoo_use {
    CUCKOO_ASK,     /* looks keys up; the table may be asked in place of the filter */
    CUCKOO_INSPECT, /* looks into the filter itself */
    CUCKOO_TELL,    /* asks for no row and no page: what is cheap to know */
    CUCKOO_CHANGE,  /* changes rows */
    CUCKOO_REPAIR   /* works also on a filter that cannot follow its table */
} cuckoo_use;

static inline bool cuckoo_store_follows(const cuckoo_store *store)
{
    return store->follow.given_table != NULL;
}

/* A new store with one reference. Texts are copied. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_store_new(sqlite3 *db, const char *schema, const char *table, cuckoo_store **store);
void cuckoo_store_free(cuckoo_store *store);

/* Begins a use, within a statement. Afterwards store->paged.filter is as the database and the changes in
** memory have it. After SQLITE_ERROR, SQLITE_IOERR, SQLITE_CORRUPT_VTAB or CUCKOO_NEWER *why says what
** is wrong, until the store is used again. After any error the use has ended. */
int cuckoo_store_begin(cuckoo_store *store, cuckoo_use use, const char **why);

/* May a trigger ask for the row for which it runs, before ours has told of it? Then "not there" is no
** answer. */
bool cuckoo_store_is_early(const cuckoo_store *store);

/* The part of begin that does not ask whether a filter that follows a table may be believed. */
int cuckoo_store_load(cuckoo_store *store, const char **why);

/* What is wrong after an error of reading the tables; the text lives until the store is used again. */
const char *cuckoo_store_damage(const cuckoo_store *store);

/* Ends a use. Returns the first error of reading pages since it began: answers may be wrong.
** SQLITE_LOCKED: what was read may not fit what was in memory (state.h). */
int cuckoo_store_end(cuckoo_store *store);

/* ---- many uses in one read transaction ---- */

/* What a use has found holds as long as the read transaction goes on in which it was found, and as long
** as this connection writes nothing and its schema stays. So it is not looked for again for each row of
** a SELECT. The caller holds the transaction. All zeros: nothing is known. */
typedef struct cuckoo_calm {
    bool is;
    bool asks_content;
    int changes; /* of the connection */
} cuckoo_calm;

/* Notes that a use has begun, if nobody writes. */
void cuckoo_store_calm(const cuckoo_store *store, cuckoo_calm *calm);

/* Does it still hold? Then another use has begun. */
static inline bool cuckoo_store_is_calm(cuckoo_store *store, const cuckoo_calm *calm)
{
    sqlite3 *db = store->paged.shadow.db;
    bool is = calm->is && calm->changes == sqlite3_total_changes(db) &&
              sqlite3_txn_state(db, NULL) == SQLITE_TXN_READ && cuckoo_paged_is_loaded(&store->paged) &&
              !cuckoo_late_expired(store->paged.shadow.statement[CUCKOO_WATCH_SCHEMA]);
    store->asks_content = is ? calm->asks_content : store->asks_content;
    return is;
}

/* Has nothing been read, without an error, since a use ended last? Then cuckoo_store_end has nothing to
** do. */
static inline bool cuckoo_store_is_quiet(const cuckoo_store *store)
{
    return store->steps == store->paged.shadow.steps && store->paged.rc == SQLITE_OK;
}

/* ---- the transaction (transaction.c) ---- */

/* A virtual table takes part in the transaction, or is created in it. */
void cuckoo_store_joined(cuckoo_store *store);
void cuckoo_store_created(cuckoo_store *store);

/* Savepoint `number` is about to open: writes everything in memory. */
int cuckoo_store_savepoint(cuckoo_store *store, int number);

/* Savepoint `number`, and each one within it, was released, or was rolled back. A rollback does nothing
** if the savepoint never opened, because some table could not write. */
void cuckoo_store_release(cuckoo_store *store, int number);
void cuckoo_store_rolled_back_to(cuckoo_store *store, int number);

/* Writes everything in memory, at any other time. */
int cuckoo_store_flush(cuckoo_store *store);

/* The transaction is about to end: writes everything, or drains the log. */
int cuckoo_store_sync(cuckoo_store *store);

/* The transaction has ended, for one of its tables: CUCKOO_COMMITTED or CUCKOO_ROLLED_BACK. */
void cuckoo_store_ended(cuckoo_store *store, cuckoo_event event);

/* ---- between begin and end ---- */

/* Is the key perhaps there: in the pages, in the list, or by the log? How many copies are there, at
** most? */
int cuckoo_store_has(cuckoo_store *store, uint64_t hash, bool *has);
int cuckoo_store_most(cuckoo_store *store, uint64_t hash, int64_t *most);

/* Is the key of some row of the table that it follows certainly not there? `most`: of how many of the
** first and of the last rows. CUCKOO_ALL_ROWS: of all; and does the filter have fewer keys than they? */
int cuckoo_store_misses(cuckoo_store *store, int most, bool *misses);

/* Takes the log into the pages, in memory and in the database. After an error nothing has changed, or
** it is one after which SQLite rolls back. (transaction.c) */
int cuckoo_store_drain(cuckoo_store *store);

/* Reads what the log adds up to, into store->net; nothing, if the filter follows no table. How many keys
** there are, with those that wait, and with what the log says. */
int cuckoo_store_net(cuckoo_store *store);
int cuckoo_store_items(cuckoo_store *store, uint64_t *items);

/* Adds a key, or deletes it. *status is CF_FULL, and nothing has changed, when there is no room in a
** filter that may not grow. Otherwise it is CF_OK. */
int cuckoo_store_add(cuckoo_store *store, uint64_t hash, cf_status *status);
int cuckoo_store_delete(cuckoo_store *store, uint64_t hash);

/* Puts another filter in its place (cuckoo_paged_replace), or an empty one. What waits is gone. */
int cuckoo_store_replace(cuckoo_store *store, uint8_t *bytes, uint64_t length);
int cuckoo_store_clear(cuckoo_store *store);

/* Ends a use that has changed something. `rc` is the error of the change, or SQLITE_OK.
** (transaction.c) */
int cuckoo_store_changed(cuckoo_store *store, int rc);

/* ---- for the files of the store ---- */

/* Has another connection committed since the use began, outside of our own transaction? */
bool cuckoo_store_is_overtaken(const cuckoo_store *store);

/* Forgets what is in memory. Changes that are there only are lost. */
void cuckoo_store_lose(cuckoo_store *store);

/* The code to return for an error after something was written: one after which SQLite rolls back.
** After other errors the transaction may go on, with what is half changed. */
int cuckoo_store_beyond_repair(int rc);

#endif
