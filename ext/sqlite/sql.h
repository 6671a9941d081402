/* SPDX-License-Identifier: MIT */
/*
** sql.h - running SQL.
**
** Formats work as in sqlite3_mprintf: "%w" in double quotes is a name, %Q a text. Functions return
** SQLite codes, among them SQLITE_NOMEM if there is no memory for the text of the SQL.
*/
#ifndef CUCKOO_SQL_H
#define CUCKOO_SQL_H

#include "api.h"

/* The first of two codes that is an error, or SQLITE_OK. */
static inline int cuckoo_first_error(int first, int second)
{
    return first == SQLITE_OK ? second : first;
}

/* The code of the last error of this connection. SQLite turns SQLITE_CORRUPT_VTAB into SQLITE_CORRUPT,
** after which it would write nothing more in the transaction (errors.h); this is the original code. */
int cuckoo_sql_code(sqlite3 *db, int rc);

/* SQLite's message for its last error, or a description of the code if it has none. */
const char *cuckoo_sql_message(sqlite3 *db, int rc);

/* True if SQLite rolls back the statement that fails with this code, or even its transaction; the same
** holds for a statement of the extension within it. Only a statement that does not write can be
** interrupted without a rollback. */
bool cuckoo_sql_rolls_back(int rc);

/* Runs statements that return no rows. */
int cuckoo_sql_run(sqlite3 *db, const char *format, ...);

/* Prepares a statement, which cuckoo_sql_end finalizes. *statement is NULL after an error. */
int cuckoo_sql_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *format, ...);

/* sqlite3_bind_value removes a byte order mark from a UTF-16 text, and before SQLite 3.38 misreads a
** real of a generated column. This does neither; but half of a surrogate pair becomes U+FFFD, and so do
** U+FFFE and U+FFFF in older versions. */
int cuckoo_sql_bind(sqlite3_stmt *statement, int parameter, sqlite3_value *value);

/* Finalizes a statement, which may be NULL. Returns `rc` or the error of the last step. */
int cuckoo_sql_end(sqlite3_stmt *statement, int rc);

/* Reads the first value of the first row, as an integer or a text (sqlite3_malloc). Without a row, and
** after an error, the integer is unchanged and the text is NULL. */
int cuckoo_sql_integer(sqlite3 *db, sqlite3_int64 *found, const char *format, ...);
int cuckoo_sql_text(sqlite3 *db, char **found, const char *format, ...);

/* The number of running statements of the connection (`writing`: only statements that write). */
int cuckoo_sql_running(sqlite3 *db, bool writing);

/* The time in milliseconds, by the VFS of this database. It is at least 1, so 0 can mean never. */
uint64_t cuckoo_sql_clock(sqlite3 *db, const char *schema);

#endif
