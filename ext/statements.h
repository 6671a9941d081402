/* SPDX-License-Identifier: MIT */
/*
** statements.h - the statements of a connection that are running, and write.
*/
#ifndef CUCKOO_STATEMENTS_H
#define CUCKOO_STATEMENTS_H

#include "api.h"

/* The next one after `at`, in no particular order; NULL: the first; the last one gives NULL. */
sqlite3_stmt *cuckoo_statements_next(sqlite3 *db, sqlite3_stmt *at);

/* Are two of them running? Then one runs within the other, which was compiled before. */
bool cuckoo_statements_nested(sqlite3 *db);

/* Is one of them running that changes rows, and not the schema? Outside of any, as when the user
** opens a savepoint, the answer is no. Only the newest statements of the connection are looked at,
** and only at their first words: "no" may be wrong, but "yes" is right unless two are nested. */
bool cuckoo_statements_change_rows(sqlite3 *db);

#endif
