/* SPDX-License-Identifier: MIT */
/*
** cuckoo.c - the entry point of the extension.
**
** Threads: the rules of SQLite hold, and no others. All that the extension keeps belongs to one
** connection: filter tables and what is in memory of them (registry.h), the readers of functions
** (register.h), handles. It is used only while SQLite calls, and SQLite holds the mutex of the
** connection then. So a connection for each thread is best; several threads may use one connection in
** serialized mode; and with SQLITE_THREADSAFE=0 there is one thread. Threads share only the list of
** connections (below), for which there is a lock that needs no SQLite. Connections that share a
** cache: fresh.h.
*/
#include "../src/base/compiler.h"

#if !defined(SQLITE_CORE) && !defined(CUCKOO_ENTRY)
#define CUCKOO_ENTRY CF_EXPORT
#endif
#include "cuckoo.h"
#include "sqlite/register.h"
#include "sqlite/sql.h"
#include "store/touch.h"

#include <string.h>

/* The version that brought sqlite3_txn_state. */
enum { OLDEST_SQLITE = 3034000 };

/* ---- loaded already ----
**
** Pools, start-up files and automatic extensions load the extension again and again. Registering it
** twice on a connection would replace the module under tables that are connected, and SQLite
** refuses to replace a function while a statement runs. So a second load does nothing, and
** succeeds.
**
** A process may hold two copies of SQLite, each with its own memory and its own table of functions
** (sqlite3_api_routines). The extension keeps one such table. So it serves only the SQLite that
** called it first.
*/

/* A connection on which this file has registered the extension. */
typedef struct mark {
    sqlite3 *db;
    struct mark *next;
} mark;

static mark *marks;

/* Guards `marks` and the setting of sqlite3_api, because several
** threads may load at once. It is held for a few instructions only.
** A mutex of SQLite would not do: two SQLites have two of them. */
static cf_flag guard = CF_FLAG_CLEAR;

static void lock(void)
{
    while (cf_flag_set(&guard))
        ;
}

static void unlock(void)
{
    cf_flag_clear(&guard);
}

/* ---- one SQLite ---- */

#ifdef SQLITE_CORE
static bool serve(const sqlite3_api_routines *api)
{
    (void)api;
    return true;
}
#else
const sqlite3_api_routines *sqlite3_api;

/* Two SQLites differ in the function that hands out memory. That also holds when a program passes a
** copy of the table. */
static bool serve(const sqlite3_api_routines *api)
{
    lock();
    if (sqlite3_api == NULL)
        sqlite3_api = api;
    bool same = sqlite3_api == api || sqlite3_api->malloc64 == api->malloc64;
    unlock();
    return same;
}
#endif

/* ---- once on a connection: from this file ---- */

static bool has_mark(const sqlite3 *db)
{
    lock();
    const mark *at = marks;
    while (at && at->db != db)
        at = at->next;
    unlock();
    return at != NULL;
}

static void set_mark(mark *set)
{
    lock();
    set->next = marks;
    marks = set;
    unlock();
}

static void remove_mark(void *pointer)
{
    mark **at = &marks;
    lock();
    while (*at != pointer)
        at = &(*at)->next;
    *at = (*at)->next;
    unlock();
    sqlite3_free(pointer);
}

static void version_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc, (void)argv;
    sqlite3_result_text(context, CUCKOO_VERSION, -1, SQLITE_STATIC);
}

/* Registers cf_version, and marks the connection until the destructor of that function tells that it is
** closed. Returns an SQLite code; after an error nothing has changed. */
static int mark_loaded(sqlite3 *db)
{
    mark *set = sqlite3_malloc64(sizeof *set);
    if (set == NULL)
        return SQLITE_NOMEM;
    set->db = db;
    set_mark(set);
    /* also removes the mark when it fails */
    return sqlite3_create_function_v2(db, "cf_version", 0,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, set,
                                      version_function, NULL, NULL, remove_mark);
}

/* ---- once on a connection: from another copy of this file ---- */

/* This pragma does not read the schema, as SELECT ... FROM does; the database may be locked, or
** still lack its key. And it does not fail when the module is missing, as SELECT cf_version() does,
** which SQLite would log. If an authorizer forbids the pragma, the module counts as missing; the
** empty statement then clears the error message. */
static int find_module(sqlite3 *db, bool *found)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA module_list", -1, &statement, NULL);
    *found = false;
    if (rc == SQLITE_AUTH)
        return sqlite3_prepare_v2(db, "", -1, &statement, NULL);
    while (rc == SQLITE_OK && !*found && sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        *found = name && sqlite3_stricmp(name, "cuckoo_filter") == 0;
    }
    return cuckoo_sql_end(statement, rc);
}

static char *other_version(sqlite3 *db, const char *version)
{
    if (version)
        return sqlite3_mprintf("cuckoo: version %s is on this connection already, this file is version "
                               "%s; load one of them only",
                               version, CUCKOO_VERSION);
    return sqlite3_mprintf("cuckoo: another module named cuckoo_filter is on this connection already, "
                           "and its version cannot be read (%s); load one of them only",
                           sqlite3_errmsg(db));
}

/* The module is there: is it of this version? (Some SQLites read the schema for any SELECT, so that
** the database is asked only now.) */
static int compare_version(sqlite3 *db, char **message)
{
    sqlite3_stmt *statement = NULL;
    const char *version = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT cf_version()", -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        version = (const char *)sqlite3_column_text(statement, 0);
    bool same = version && strcmp(version, CUCKOO_VERSION) == 0;
    if (!same)
        *message = other_version(db, version);
    rc = cuckoo_sql_end(statement, rc);
    return same || rc == SQLITE_NOMEM ? rc : SQLITE_ERROR;
}

/* Is the extension on this connection, registered by this file or by another copy of the same version?
** After an error *message (sqlite3_malloc) says that this cannot be told, or that another version is
** there. After SQLITE_OK the connection has no error message. */
static int is_loaded(sqlite3 *db, bool *here, char **message)
{
    int rc;
    *here = has_mark(db);
    if (*here)
        return SQLITE_OK;
    rc = find_module(db, here);
    if (rc != SQLITE_OK)
        *message = sqlite3_mprintf("cuckoo: cannot see what is loaded already: %s", sqlite3_errstr(rc));
    return rc == SQLITE_OK && *here ? compare_version(db, message) : rc;
}

/* ---- the entry point ---- */

/* Registers everything, up to the first error. When `on` is false, takes everything back, whatever
** fails: after an error SQLite unloads the library. */
static int register_all(sqlite3 *db, bool on)
{
    static int (*const parts[])(sqlite3 * db, bool on) = {cuckoo_register_scalars, cuckoo_register_infos,
                                                          cuckoo_register_aggregates,
                                                          cuckoo_register_lists, cuckoo_register_tables};
    int first = SQLITE_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && (first == SQLITE_OK || !on); i++) {
        int rc = parts[i](db, on);
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
        *message = OF_CALLER(mprintf)("cuckoo: SQLite 3.34 or later is needed, this is %s; use a "
                                      "newer SQLite",
                                      OF_CALLER(libversion)());
    else if (!serve(api))
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
/* While a statement runs, SQLite does not remove functions. They stay registered, and so the
** library must stay mapped. Asking for that once is enough. */
static bool must_stay(sqlite3 *db)
{
    static cf_flag stays = CF_FLAG_CLEAR;
    return cuckoo_sql_running(db, false) > 0 && !cf_flag_set(&stays);
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
    int rc = is_loaded(db, &here, message);
    if (rc != SQLITE_OK || here)
        return rc;
    rc = register_all(db, true);
    if (rc == SQLITE_OK)
        rc = mark_loaded(db);
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
