/* SPDX-License-Identifier: MIT */
/*
** cuckoo.c - the entry point of the extension.
**
** Threads: the rules of SQLite hold, and no others. All that the extension keeps belongs to one
** connection: filter tables and what is in memory of them (registry.h), the readers of functions
** (register.h), handles. It is used only while SQLite calls, and SQLite holds the mutex of the
** connection then. So a connection for each thread is best; several threads may use one connection in
** serialized mode; and with SQLITE_THREADSAFE=0 there is one thread. Threads share only sqlite3_api.
** Connections that share a cache: fresh.c.
*/
#include "../src/base/bits.h"

/* It is found by its name in a shared library; all else is hidden. */
#if defined(SQLITE_CORE) || defined(CUCKOO_ENTRY)
#elif defined(_WIN32)
#define CUCKOO_ENTRY __declspec(dllexport)
#elif CF_IS_GNU
#define CUCKOO_ENTRY __attribute__((visibility("default")))
#endif
#include "cuckoo.h"
#include "sqlite/flag.h"
#include "sqlite/register.h"
#include "sqlite/sql.h"

#include <string.h>

/* The version that brought sqlite3_txn_state. */
enum { OLDEST_SQLITE = 3034000 };

/* ---- one SQLite ----
**
** A process may hold two copies of SQLite, each with its own memory and its own table of functions
** (sqlite3_api_routines). The extension keeps one such table. So it serves only the SQLite that
** called it first.
*/

#ifdef SQLITE_CORE
static bool serve(const sqlite3_api_routines *api)
{
    (void)api;
    return true;
}
#else
const sqlite3_api_routines *sqlite3_api;

/* Two SQLites differ in the function that hands out memory. That also holds when a program passes a
** copy of the table. Several threads may load at once. A mutex of SQLite would not do: two SQLites have
** two of them. */
static bool serve(const sqlite3_api_routines *api)
{
    static cuckoo_flag guard = CUCKOO_FLAG_CLEAR;
    while (cuckoo_flag_set(&guard))
        ;
    if (sqlite3_api == NULL)
        sqlite3_api = api;
    bool same = sqlite3_api == api || sqlite3_api->malloc64 == api->malloc64;
    cuckoo_flag_clear(&guard);
    return same;
}
#endif

/* ---- once on a connection ----
**
** Pools, start-up files and automatic extensions load the extension again and again. Registering it
** twice on a connection would replace the module under tables that are connected, and SQLite
** refuses to replace a function while a statement runs. So a second load does nothing, and
** succeeds.
*/

/* The module is there, or an authorizer forbids to see it: is it of this version? */
static int compare_version(sqlite3 *db, bool *here, char **message)
{
    sqlite3_stmt *statement = NULL;
    const char *version = NULL, *what = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT cf_version()", -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        version = (const char *)sqlite3_column_text(statement, 0);
    bool other = version && strcmp(version, CUCKOO_VERSION) != 0;
    bool missing = strstr(sqlite3_errmsg(db), "no such function") != NULL;
    if (other)
        *message = sqlite3_mprintf("cuckoo: version %s is on this connection already, this file is "
                                   "version %s; load one of them only",
                                   version, CUCKOO_VERSION);
    else if (*here && missing)
        what = "another module named cuckoo_filter is on this connection already, and its version "
               "cannot be read (%s); load one of them only";
    else if (!*here && !version && !missing)
        what = "an authorizer forbids reading what is loaded already (%s); set it after the load";
    if (what)
        *message = sqlite3_mprintf("cuckoo: %z", sqlite3_mprintf(what, sqlite3_errmsg(db)));
    *here |= version != NULL;
    rc = cuckoo_sql_end(statement, rc);
    if (other || what || rc == SQLITE_NOMEM)
        return rc == SQLITE_NOMEM ? rc : SQLITE_ERROR;
    return sqlite3_prepare_v2(db, "", -1, &statement, NULL); /* the connection has no message */
}

/* Is the extension on this connection? PRAGMA does not read the schema, as SELECT ... FROM does; the
** database may be locked, or still lack its key. And it does not fail when the module is missing, as
** SELECT cf_version() does, which SQLite would log. After an error *message (sqlite3_malloc) says that
** this cannot be told, or that another version is there. */
static int is_loaded(sqlite3 *db, bool *here, char **message)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA module_list", -1, &statement, NULL);
    bool forbidden = rc == SQLITE_AUTH;
    bool any = false;
    *here = false;
    while (rc == SQLITE_OK && !*here && sqlite3_step(statement) == SQLITE_ROW) {
        any = true;
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        *here = name && sqlite3_stricmp(name, "cuckoo_filter") == 0;
    }
    forbidden |= rc == SQLITE_OK && !any; /* SQLITE_IGNORE: there are modules always */
    rc = cuckoo_sql_end(statement, rc == SQLITE_AUTH ? SQLITE_OK : rc);
    if (rc != SQLITE_OK)
        *message = sqlite3_mprintf("cuckoo: cannot read what is loaded already: %s", sqlite3_errstr(rc));
    return rc == SQLITE_OK && (*here || forbidden) ? compare_version(db, here, message) : rc;
}

/* ---- the entry point ---- */

/* Registers everything, up to the first error. When `on` is false, takes everything back, whatever
** fails: after an error SQLite unloads the library. */
static int register_all(sqlite3 *db, bool on)
{
    const cuckoo_function *const lists[] = {cuckoo_scalars, cuckoo_infos, cuckoo_aggregates,
                                            cuckoo_lists};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && (rc == SQLITE_OK || !on); i++)
        rc = cuckoo_first_error(rc, cuckoo_register(db, lists[i], NULL, on));
    return rc == SQLITE_OK || !on ? cuckoo_first_error(rc, cuckoo_register_tables(db, on)) : rc;
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
        *message =
            OF_CALLER(mprintf)("cuckoo: this process has two copies of SQLite, and this file already "
                               "serves the other; use one SQLite, or load a copy of this file, "
                               "under another name, into the second");
    else
        return SQLITE_OK;
    return SQLITE_ERROR;
}

/* Undoes what was registered. While a statement runs, SQLite does not remove functions. They stay
** registered, and so the library must stay mapped, which it does only if the load has succeeded. So it
** says that it has; functions are missing until it is loaded again. Asking for that once is enough. */
static int undo(sqlite3 *db, int rc)
{
    register_all(db, false);
#ifndef SQLITE_CORE
    static cuckoo_flag stays = CUCKOO_FLAG_CLEAR;
    if (cuckoo_sql_running(db, false) > 0 && !cuckoo_flag_set(&stays))
        return SQLITE_OK_LOAD_PERMANENTLY;
#endif
    return rc;
}

static int load_once(sqlite3 *db, char **message)
{
    bool here;
    int rc = is_loaded(db, &here, message);
    if (rc != SQLITE_OK || here)
        return rc;
    rc = register_all(db, true);
    if (rc == SQLITE_OK)
        return rc;
    rc = undo(db, rc);
    if (rc != SQLITE_OK_LOAD_PERMANENTLY)
        *message = sqlite3_mprintf("cuckoo: the functions could not be registered");
    return rc;
}

int sqlite3_cuckoo_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
#ifndef SQLITE_CORE
    if (api == NULL) /* as an automatic extension of an SQLite built with SQLITE_OMIT_LOAD_EXTENSION */
        return SQLITE_ERROR;
#endif
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
