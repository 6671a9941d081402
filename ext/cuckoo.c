/* SPDX-License-Identifier: MIT */
/*
** cuckoo.c - the entry point of the extension.
**
** Threads: the rules of SQLite hold, and no others. All that the extension keeps belongs to one
** connection: filter tables and what is in memory of them (registry.h), the readers of functions
** (register.h), handles. It is used only while SQLite calls, and SQLite holds the mutex of the
** connection then. So a connection for each thread is best; several threads may use one connection in
** serialized mode; and with SQLITE_THREADSAFE=0 there is one thread. Threads share only the list of
** connections (loaded.c), for which there is a lock that needs no SQLite. Connections that share a
** cache: state.h.
*/
#include "../src/compiler.h"

#if !defined(SQLITE_CORE) && !defined(CUCKOO_ENTRY)
#define CUCKOO_ENTRY CF_EXPORT
#endif
#include "cuckoo.h"
#include "loaded.h"
#include "register.h"
#include "touch.h"

/* The version that brought SQLITE_INNOCUOUS and SQLITE_VTAB_INNOCUOUS. */
enum { OLDEST_SQLITE = 3031000 };

/* Registers everything, up to the first error. When `on` is false, takes everything back, whatever
** fails: after an error SQLite unloads the library. */
static int register_all(sqlite3 *db, bool on)
{
    static int (*const rooms[])(sqlite3 *, bool) = {cuckoo_register_functions,  cuckoo_register_info,
                                                    cuckoo_register_aggregates, cuckoo_register_build,
                                                    cuckoo_register_keys,       cuckoo_register_tables};
    int first = SQLITE_OK;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0] && (first == SQLITE_OK || !on); i++) {
        int rc = rooms[i](db, on);
        first = first == SQLITE_OK ? rc : first;
    }
    return first;
}

/* A function of the SQLite that calls. (sqlite3_api may be that of another SQLite.) */
#ifdef SQLITE_CORE
#define OF_CALLER(function) sqlite3_##function
#else
#define OF_CALLER(function) api->function
#endif

/* Can this SQLite be served? If not, *message says why, in memory of that SQLite. */
static int look_at_caller(const sqlite3_api_routines *api, char **message)
{
    if (OF_CALLER(libversion_number)() < OLDEST_SQLITE)
        *message = OF_CALLER(mprintf)("cuckoo: SQLite 3.31 or later is needed, this is %s",
                                      OF_CALLER(libversion)());
    else if (!cuckoo_loaded_serve(api))
        *message = OF_CALLER(mprintf)("cuckoo: one process, two copies of SQLite, and this file already "
                                      "serves the other; use one SQLite, or load a copy of this file, "
                                      "under another name, into the second");
    else
        return SQLITE_OK;
    return SQLITE_ERROR;
}

#ifdef SQLITE_CORE
static bool must_stay(sqlite3 *db)
{
    (void)db;
    return false;
}
#else
static bool statement_runs(sqlite3 *db)
{
    sqlite3_stmt *at = sqlite3_next_stmt(db, NULL);
    while (at && !sqlite3_stmt_busy(at))
        at = sqlite3_next_stmt(db, at);
    return at != NULL;
}

/* While a statement runs, SQLite does not remove functions. They stay registered, and so the
** library must stay mapped. Asking for that once is enough. */
static bool must_stay(sqlite3 *db)
{
    static cf_flag stays = CF_FLAG_CLEAR;
    return statement_runs(db) && !cf_flag_set(&stays);
}
#endif

/* Undoes what was registered. SQLite leaves the library mapped only if the load has succeeded. So a
** library that must stay says that it has; functions are missing until it is loaded again. */
static int undo(sqlite3 *db, int rc)
{
    register_all(db, false);
    return must_stay(db) ? SQLITE_OK_LOAD_PERMANENTLY : rc;
}

static int load_once(sqlite3 *db, char **message)
{
    bool here;
    int rc = cuckoo_loaded_here(db, &here, message);
    if (rc != SQLITE_OK || here)
        return rc;
    rc = register_all(db, true);
    if (rc == SQLITE_OK)
        rc = cuckoo_loaded_mark(db);
    if (rc == SQLITE_OK) {
        cuckoo_touch_all(db);
        return rc;
    }
    rc = undo(db, rc);
    if (rc != SQLITE_OK_LOAD_PERMANENTLY)
        *message = sqlite3_mprintf("cuckoo: the functions could not be registered");
    return rc;
}

int sqlite3_cuckoo_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    char *text = NULL;
    int rc = look_at_caller(api, &text);
    if (rc == SQLITE_OK)
        rc = load_once(db, &text);
    if (message)
        *message = text;
    else
        OF_CALLER(free)(text);
    return rc;
}
