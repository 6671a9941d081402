/* SPDX-License-Identifier: MIT */
/*
** errors.h - the one place where a status becomes an SQLite code and a message.
**
**      what                              code                 in Python
**      bad parameter, NULL filter        SQLITE_ERROR         OperationalError
**      not a filter, damaged             SQLITE_CORRUPT_VTAB  DatabaseError
**      of a later version                SQLITE_CORRUPT_VTAB  DatabaseError
**      full                              SQLITE_CONSTRAINT    IntegrityError
**      filters that cannot be merged,    SQLITE_MISMATCH      IntegrityError
**      a key of a type never added
**      too big                           SQLITE_TOOBIG        DataError
**      out of memory                     SQLITE_NOMEM         MemoryError
**      interrupted                       SQLITE_INTERRUPT     OperationalError, "interrupted"
**
** "Full" is never SQLITE_FULL, which would roll back the user's transaction. A damaged filter is
** never plain SQLITE_CORRUPT: after that code SQLite refuses to write to the database until the
** transaction ends.
**
** Messages are in lower case: "function: what is wrong with which argument; the remedy".
** Formats are those of sqlite3_mprintf.
*/
#ifndef CUCKOO_ERRORS_H
#define CUCKOO_ERRORS_H

#include "api.h"

/* A later version wrote the filter table: nothing may be changed, and the reason names the only
** remedy. There is no filter table of a name. No caller outside of this extension sees these codes:
** cuckoo_explain makes SQLITE_CORRUPT_VTAB and SQLITE_ERROR of them. */
enum { CUCKOO_NEWER = SQLITE_FORMAT, CUCKOO_NO_TABLE = SQLITE_NOTFOUND };

/* Why, when something is wrong only because a later version wrote it: no other remedy may be named. */
#define CUCKOO_LATER(what) "made by a later version (" what "); use the version that wrote it"

/* The SQLite code for a status other than CF_OK. */
int cuckoo_error_code(cf_status status);

/* ---- the running function fails ---- */

/* Each says "name of the function: message", and returns false, so that a helper that reads arguments
** can return the answer. */
bool cuckoo_fail(sqlite3_context *context, cf_status status, const char *format, ...);
bool cuckoo_fail_no_memory(sqlite3_context *context);

/* With an SQLite code. `why` NULL: SQLite's own words for the code. Or `detail` (sqlite3_malloc), which
** it frees; NULL: out of memory. For SQLITE_NOMEM and SQLITE_INTERRUPT SQLite has words of its own. */
bool cuckoo_fail_code(sqlite3_context *context, int code, const char *why);
bool cuckoo_fail_with(sqlite3_context *context, int code, char *detail);

/* Because a filter table cannot be used: rc and why as in cuckoo_explain. */
bool cuckoo_fail_table(sqlite3_context *context, int rc, const char *why);

/* Because an argument is no filter: `status` and `why` are those of cuckoo_filter_read. */
bool cuckoo_fail_filter(sqlite3_context *context, cf_status status, const char *why,
                        sqlite3_value *value);

/* Because cf_add or cf_merge answered `status`, which is not CF_OK. When the filter is full, it says how
** full, and what to do. */
bool cuckoo_fail_add(sqlite3_context *context, cf_status status, const cf_filter *filter);

/* ---- messages (sqlite3_malloc; NULL: out of memory) ---- */

/* Puts a message into *message and frees the one that was there, which may be one of the arguments.
** Returns `code`, or SQLITE_NOMEM when there is no memory for the message. */
int cuckoo_say(char **message, int code, const char *format, ...);

/* The same with what is wrong with a filter table, and the remedy: `rc` and `why` are those of a use
** of a table (table.h). The code is one for SQLite. */
int cuckoo_explain(char **message, int rc, const char *why);

/* What is wrong with an argument of `function` that should be a filter, and the remedy. */
char *cuckoo_filter_message(cf_status status, const char *why, const char *function,
                            sqlite3_value *value);

/* How a message shows a value: a number, the beginning of a text in quotes, "NULL", or the length of a
** blob. */
typedef struct cuckoo_shown_value {
    char text[180];
} cuckoo_shown_value;
cuckoo_shown_value cuckoo_show(sqlite3_value *value);
#define CUCKOO_PART "%!.40s" /* the format for a part of a text: 40 characters */

/* "filter is full", how full it is, and the remedy. `status` is CF_FULL or CF_TOO_BIG. */
char *cuckoo_full_message(cf_status status, const cf_filter *filter);

/* Why a value is no filter, before its bytes are looked at. */
#define CUCKOO_NO_FILTER                                                                                \
    "filter is NULL: the row or the file is missing, or a handle of cf_open was stored, or passed "     \
    "through a CTE, a view or a "                                                                       \
    "subquery in FROM; use (SELECT cf_open(f) FROM ...) as the argument itself"
#define CUCKOO_NOT_A_BLOB "filter must be a blob made by cf_new or cf_build, or a handle of cf_open"
extern const char *const cuckoo_is_exact;

#endif
