/*
** errors.h - the one place where a status becomes an SQLite code and a message.
**
**      what                              code                 in Python
**      bad parameter, NULL filter        SQLITE_ERROR         OperationalError
**      not a filter, damaged             SQLITE_CORRUPT_VTAB  DatabaseError
**      of a later version                SQLITE_CORRUPT_VTAB  DatabaseError
**      full                              SQLITE_CONSTRAINT    IntegrityError
**      filters that cannot be merged     SQLITE_MISMATCH      IntegrityError
**      too big                           SQLITE_TOOBIG        DataError
**      out of memory                     SQLITE_NOMEM         MemoryError
**      interrupted                       SQLITE_INTERRUPT     OperationalError, "interrupted"
**
** "Full" is never SQLITE_FULL, which would roll back the user's transaction; and a damaged filter is never
** plain SQLITE_CORRUPT, after which SQLite refuses to write to the database until the transaction ends.
** Messages: lower case, "function: what is wrong with which argument; the remedy".
*/
#ifndef CUCKOO_ERRORS_H
#define CUCKOO_ERRORS_H

#include "api.h"

/* The SQLite code for a status other than CF_OK. */
int cuckoo_error_code(cf_status status);

/* Makes the running function fail with "name: message". The format is that of sqlite3_mprintf. */
void cuckoo_fail(sqlite3_context *context, cf_status status, const char *format, ...);

/* What to say of an argument that should be a filter and is not: *why of cuckoo_filter_read, and the
** remedy. Memory of sqlite3_malloc; NULL when there is none. */
char *cuckoo_filter_message(cf_status status, const char *why);

/* The text that was put together, its memory, and its length; `builder` is gone. NULL: it is too long for
** this connection, or memory ran out, and the function has failed. */
char *cuckoo_finish_text(sqlite3_context *context, sqlite3_str *builder, int *length);

/* Makes the running function fail so. */
void cuckoo_fail_filter(sqlite3_context *context, cf_status status, const char *why);

/* Makes the running function fail with SQLite's own word for an interrupt. */
void cuckoo_fail_interrupted(sqlite3_context *context);

/* The same, for what cf_add answers when it is not CF_OK: says how full, and what to do. */
void cuckoo_fail_add(sqlite3_context *context, cf_status status, const cf_filter *filter);

/* Why a value is no filter, before its bytes are looked at. */
#define CUCKOO_NO_FILTER                                                                                \
    "filter is NULL: the row is missing, or a handle of cf_open passed through a CTE, a view or a "     \
    "subquery in FROM; use (SELECT cf_open(f) FROM ...) as the argument itself"
#define CUCKOO_NOT_A_BLOB "filter must be a blob made by cf_new or cf_build, or a handle of cf_open"
#define CUCKOO_IS_TEXT                                                                                  \
    CUCKOO_NOT_A_BLOB "; it was bound as text: bind it as a blob, or, for the name of a persistent "    \
                      "filter, use cf_table_contains"

#endif
