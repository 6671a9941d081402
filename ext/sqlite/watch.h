/* SPDX-License-Identifier: MIT */
/*
** watch.h - interrupting long work inside one call of a function.
**
**      cuckoo_watch watch;
**      cuckoo_watch_filter(&watch, db, &filter);
**      ... cf_check(&filter, &why) ...         after CF_INTERRUPTED, fail with SQLITE_INTERRUPT
**      cuckoo_watch_end(&watch);
**
** SQLite checks for interrupts between the steps of a statement, but not during a function.
** (sqlite3_is_interrupted came with 3.41, and ignores progress handlers.) So src calls the watch every
** few microseconds, and the watch steps a statement that reads nothing: SQLite then checks for an
** interrupt, and calls the progress handler when it is due. These steps count as others do, about 250
** for each millisecond of work.
**
** SQLITE_INTERRUPT ends the statement that runs the function. If that statement writes, SQLite rolls
** back its transaction, as for every interrupted write.
*/
#ifndef CUCKOO_WATCH_H
#define CUCKOO_WATCH_H

#include "api.h"

/* It must not move between begin and end, because the hook points to it. */
typedef struct cuckoo_watch {
    cf_watch hook;
    sqlite3 *db;         /* NULL: do not check any more */
    sqlite3_stmt *probe; /* prepared when it is first needed */
    cf_filter *filter;   /* the filter that calls the hook, or NULL */
} cuckoo_watch;

/* Begins to watch the work on `filter`, which must not move either; if it is NULL, the work to which the
** caller passes the hook. Outside a statement of this connection interrupts have no effect. */
void cuckoo_watch_filter(cuckoo_watch *watch, sqlite3 *db, cf_filter *filter);

/* Ends it. */
void cuckoo_watch_end(cuckoo_watch *watch);

/* cf_add_value and cf_check with a watch. */
cf_status cuckoo_watched_add(sqlite3 *db, cf_filter *filter, uint64_t hash, uint64_t value);
cf_status cuckoo_watched_check(sqlite3 *db, cf_filter *filter, const char **why);

#endif
