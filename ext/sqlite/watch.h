/* SPDX-License-Identifier: MIT */
/*
** watch.h - interrupts: long work inside one function ends when the connection is interrupted.
**
**      cuckoo_watch watch;
**      cuckoo_watch_filter(&watch, db, &filter);
**      ... cf_check(&filter, &why) ...         answers CF_INTERRUPTED: fail with SQLITE_INTERRUPT
**      cuckoo_watch_end(&watch);
**
** SQLite looks for interrupts between the steps of a statement. A function that works for seconds
** inside one step hears of none. (sqlite3_is_interrupted came with 3.41, and says nothing of
** progress handlers.) So src asks the watch every few microseconds, and the watch steps a statement
** of its own that reads nothing: SQLite then looks for an interrupt, and calls the progress handler
** when it is due. Steps of that statement count like any others, about 250 for each millisecond of
** work.
**
** SQLITE_INTERRUPT ends the statement that runs the function. If that statement writes, SQLite
** rolls back its transaction, as it does whenever a write is interrupted.
*/
#ifndef CUCKOO_WATCH_H
#define CUCKOO_WATCH_H

#include "api.h"

/* Must stay in its place from begin to end: the hook points to it. */
typedef struct cuckoo_watch {
    cf_watch hook;
    sqlite3 *db;         /* NULL: nothing more is asked */
    sqlite3_stmt *probe; /* prepared when it is first needed */
    cf_filter *filter;   /* that asks it; NULL: none */
} cuckoo_watch;

/* From now on `filter`, which must stay in its place, asks the watch; NULL: only its hook is asked. Call
** this within a statement of this connection: outside of one, interrupts are forgotten. It costs nothing
** and cannot fail. */
void cuckoo_watch_filter(cuckoo_watch *watch, sqlite3 *db, cf_filter *filter);

/* cf_add_value and cf_check, which ask a watch of their own. */
cf_status cuckoo_watched_add(sqlite3 *db, cf_filter *filter, uint64_t hash, uint64_t value);
cf_status cuckoo_watched_check(sqlite3 *db, cf_filter *filter, const char **why);

/* Frees what the watch has prepared. Its filter asks it no more. */
void cuckoo_watch_end(cuckoo_watch *watch);

#endif
