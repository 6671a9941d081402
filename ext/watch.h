/*
** watch.h - interrupts: long work inside one function ends when the connection is interrupted.
**
**      cuckoo_watch watch;
**      cuckoo_watch_begin(&watch, db);
**      filter.watch = &watch.hook;             src asks it every few microseconds
**      ... cf_check(&filter, &why) ...         answers CF_INTERRUPTED: fail with SQLITE_INTERRUPT
**      cuckoo_watch_end(&watch);
**
** SQLite looks for interrupts between the steps of a statement, so that a function which works for
** seconds hears of none. (sqlite3_is_interrupted came with 3.41, and tells nothing of progress
** handlers.) So the watch runs a statement of its own, which reads nothing: SQLite then looks for an
** interrupt, and calls the progress handler when it is due. Steps of that statement count as those of
** any other, about 250 for each millisecond of work.
**
** SQLITE_INTERRUPT ends the statement that runs the function. When that one writes, SQLite rolls back
** the transaction it is in, as it does whenever a write is interrupted.
*/
#ifndef CUCKOO_WATCH_H
#define CUCKOO_WATCH_H

#include "api.h"

/* Must stay where it is from begin to end: the hook points to it. */
typedef struct cuckoo_watch {
    cf_watch hook;
    sqlite3 *db;         /* NULL: nothing more is asked */
    sqlite3_stmt *probe; /* prepared when it is first needed */
} cuckoo_watch;

/* To be called within a statement of this connection, for else an interrupt is forgotten. Costs
** nothing; cannot fail. */
void cuckoo_watch_begin(cuckoo_watch *watch, sqlite3 *db);

/* Frees what the watch has prepared. Filters must not ask it any more. */
void cuckoo_watch_end(cuckoo_watch *watch);

#endif
