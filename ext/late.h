/*
** late.h - what SQLite got after 3.31, used when the SQLite that runs has it.
**
** The extension may be compiled with older headers than the SQLite that loads it. SQLite only ever
** appends to its table of functions (sqlite3_api_routines), so a later function is found at its
** place, after a look at the version. Linked statically (SQLITE_CORE) there is no such table: the
** headers then tell what there is.
*/
#ifndef CUCKOO_LATE_H
#define CUCKOO_LATE_H

#include "api.h"

/* What sqlite3_txn_state answers (3.34). Unknown: this SQLite has no such function. */
enum cuckoo_txn_state {
    CUCKOO_TXN_UNKNOWN = -2,
    CUCKOO_TXN_NONE = 0,
    CUCKOO_TXN_READ,
    CUCKOO_TXN_WRITE
};
int cuckoo_late_txn_state(sqlite3 *db, const char *schema);

/* sqlite3_vtab_in and what goes with it (3.38). Without them: 0, so that there is no list to
** walk over; and SQLITE_MISUSE. */
int cuckoo_late_vtab_in(sqlite3_index_info *info, int constraint, int handle);
int cuckoo_late_vtab_in_first(sqlite3_value *list, sqlite3_value **value);
int cuckoo_late_vtab_in_next(sqlite3_value *list, sqlite3_value **value);

/* sqlite3_is_interrupted (3.41): has the running statement been told to stop? Without it: false. */
bool cuckoo_late_interrupted(sqlite3 *db);

/* Has SQLite expired this statement, because it may mean something else now? Where SQLite was built without the function
** (SQLITE_OMIT_DEPRECATED), and for NULL: true. */
bool cuckoo_late_expired(sqlite3_stmt *statement);

/* A module of version 4, for PRAGMA integrity_check: xIntegrity came with 3.44, as the last
** member. Earlier SQLites take such a module and do not look at the rest. Pass &module.base to
** SQLite; initialize xIntegrity by .XINTEGRITY_MEMBER. */
typedef int cuckoo_integrity(sqlite3_vtab *table, const char *schema, const char *name, int flags,
                             char **message);
typedef struct cuckoo_module {
    sqlite3_module base;
#if SQLITE_VERSION_NUMBER >= 3044000
#define XINTEGRITY_MEMBER base.xIntegrity
#else
#define XINTEGRITY_MEMBER xIntegrity
    cuckoo_integrity *xIntegrity;
#endif
} cuckoo_module;

#endif
