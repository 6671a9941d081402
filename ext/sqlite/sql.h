/* SPDX-License-Identifier: MIT */
/*
** sql.h - running SQL.
**
** Formats are those of sqlite3_mprintf: "%w" in double quotes is a name, %Q a text. Functions
** return SQLite codes; SQLITE_NOMEM also when there is no memory for the text of the SQL.
*/
#ifndef CUCKOO_SQL_H
#define CUCKOO_SQL_H

#include "api.h"

/* The first of two errors; SQLITE_OK: there was none. */
static inline int cuckoo_first_error(int first, int second)
{
    return first == SQLITE_OK ? second : first;
}

/* The code of an error of this connection that was the last one: SQLite gives SQLITE_CORRUPT in place
** of SQLITE_CORRUPT_VTAB, after which it would write no more in the transaction (errors.h). */
int cuckoo_sql_code(sqlite3 *db, int rc);

/* What SQLite says of this error, its last one; what the code means when it has said nothing. */
const char *cuckoo_sql_message(sqlite3 *db, int rc);

/* Does SQLite roll back the statement after this code, or the transaction when it cannot? (It does
** the same when a statement that the extension runs fails with it. Only a statement that just reads
** can be interrupted without.) */
bool cuckoo_sql_rolls_back(int rc);

/* Runs statements that return no rows. */
int cuckoo_sql_run(sqlite3 *db, const char *format, ...);

/* Prepares a statement, to be ended by cuckoo_sql_end. *statement is NULL after an error. */
int cuckoo_sql_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *format, ...);

/* sqlite3_bind_value takes a byte order mark off a UTF-16 text, and before SQLite 3.38 misreads a real
** of a generated column. This does neither; but half of a surrogate pair becomes U+FFFD, and so do
** U+FFFE and U+FFFF in older versions. */
int cuckoo_sql_bind(sqlite3_stmt *statement, int parameter, sqlite3_value *value);

/* Finalizes a statement, which may be NULL. Returns the first error: `rc`, or that of the last step. */
int cuckoo_sql_end(sqlite3_stmt *statement, int rc);

/* The first value of the first row. *found is unchanged when there is no row, or an error. */
int cuckoo_sql_integer(sqlite3 *db, sqlite3_int64 *found, const char *format, ...);

/* The same as a text (sqlite3_malloc). NULL: there is no row, it is NULL, or there was an error. */
int cuckoo_sql_text(sqlite3 *db, char **found, const char *format, ...);

/* How many statements run in the connection; `writing`: of those that write. */
int cuckoo_sql_running(sqlite3 *db, bool writing);

/* The time in milliseconds, by the VFS of this database. At least 1: 0 may stand for never. */
uint64_t cuckoo_sql_clock(sqlite3 *db, const char *schema);

#endif
