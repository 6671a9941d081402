/* SPDX-License-Identifier: MIT */
/*
** errors.h - the one place where a status becomes an SQLite code and a message.
**
**      error                             code                 in Python
**      wrong argument, NULL filter       SQLITE_ERROR         OperationalError
**      not a filter, corrupt             SQLITE_CORRUPT_VTAB  DatabaseError
**      made by a later version           SQLITE_CORRUPT_VTAB  DatabaseError
**      full                              SQLITE_CONSTRAINT    IntegrityError
**      filters that cannot be merged,    SQLITE_MISMATCH      IntegrityError
**      a key of a type never added
**      too big                           SQLITE_TOOBIG        DataError
**      out of memory                     SQLITE_NOMEM         MemoryError
**      interrupted                       SQLITE_INTERRUPT     OperationalError, "interrupted"
**
** A full filter is never SQLITE_FULL, which would roll back the user's transaction. A corrupt filter is
** never plain SQLITE_CORRUPT, after which SQLite writes nothing until the transaction ends.
**
** Messages are in lower case: "function: what is wrong with which argument; the remedy". Formats work as
** in sqlite3_mprintf, and messages are in memory of sqlite3_malloc.
*/
#ifndef CUCKOO_ERRORS_H
#define CUCKOO_ERRORS_H

#include "api.h"

/* Internal codes, which cuckoo_explain turns into SQLITE_CORRUPT_VTAB and SQLITE_ERROR: a later version
** wrote the filter table, so nothing may be changed, and the message names the only remedy; there is no
** filter table of this name. */
enum { CUCKOO_NEWER = SQLITE_FORMAT, CUCKOO_NO_TABLE = SQLITE_NOTFOUND };

/* The message for data of a later version. */
#define CUCKOO_LATER(what) "made by a later version (" what "); use the version that wrote it"

/* The SQLite code for a status other than CF_OK. */
int cuckoo_error_code(cf_status status);

/* ---- the running function fails: "name of the function: message". Each returns false ---- */

/* SQLITE_ERROR, or another code. */
bool cuckoo_fail(sqlite3_context *context, const char *format, ...);
bool cuckoo_fail_code(sqlite3_context *context, int code, const char *format, ...);

/* Frees `detail`, the message; NULL: out of memory. SQLITE_NOMEM and _INTERRUPT have SQLite's own. */
bool cuckoo_fail_with(sqlite3_context *context, int code, char *detail);
bool cuckoo_fail_no_memory(sqlite3_context *context);

/* A filter table cannot be used: rc and why as for cuckoo_explain. */
bool cuckoo_fail_table(sqlite3_context *context, int rc, const char *why);

/* An argument is not a filter: status and why of cuckoo_filter_read. */
bool cuckoo_fail_filter(sqlite3_context *context, cf_status status, const char *why,
                        sqlite3_value *value);

/* cf_add or cf_merge failed. A full filter gets cuckoo_full_message. */
bool cuckoo_fail_add(sqlite3_context *context, cf_status status, const cf_filter *filter);

/* ---- messages ---- */

/* Replaces *message; an argument may be the old one. Returns `code`, or SQLITE_NOMEM. */
int cuckoo_say(char **message, int code, const char *format, ...);

/* Replaces *message by what is wrong with a filter table, and the remedy: `rc` and `why` are the result
** of using the table (table.h). Returns a code for SQLite. */
int cuckoo_explain(char **message, int rc, const char *why);

/* The message for an argument of `function` that should be a filter. NULL: out of memory. */
char *cuckoo_filter_message(cf_status status, const char *why, const char *function,
                            sqlite3_value *value);

/* "filter is full", its load factor, and the remedy, for CF_FULL and CF_TOO_BIG. NULL: out of memory. */
char *cuckoo_full_message(cf_status status, const cf_filter *filter);

/* A value in a message: a number, the beginning of a text in quotes, "NULL", or the length of a blob. */
typedef struct cuckoo_shown_value {
    char text[180];
} cuckoo_shown_value;
cuckoo_shown_value cuckoo_show(sqlite3_value *value);
#define CUCKOO_PART "%!.40s" /* the format for the first 40 characters of a text */

/* Values of `why`: a value that cannot be a filter, and an exact filter where it cannot be used. */
#define CUCKOO_NO_FILTER                                                                                \
    "filter is NULL: the row or the file is missing, or a handle of cf_open was stored, or passed "     \
    "through a CTE, a view or a subquery in FROM; use (SELECT cf_open(f) FROM ...) as the argument "    \
    "itself"
#define CUCKOO_NOT_A_BLOB "filter must be a blob made by cf_new or cf_build, or a handle of cf_open"
extern const char *const cuckoo_is_exact;

#endif
