/* SPDX-License-Identifier: MIT */
/*
** cuckoo.c - the entry point of the extension.
**
** Threads: the rules of SQLite apply. All state belongs to one connection: filter tables and their
** memory (registry.h), the readers of functions (register.h), handles. It is used only during calls of
** SQLite, which holds the mutex of the connection. So threads may share a connection in serialized mode,
** and a connection for each thread is best. Connections share only sqlite3_api. Shared cache: table.c.
*/
#include "../src/base/bits.h"

/* A shared library exports only the entry point. */
#if defined(SQLITE_CORE) || defined(CUCKOO_ENTRY)
#elif defined(_WIN32)
#define CUCKOO_ENTRY __declspec(dllexport)
#elif CF_IS_GNU
#define CUCKOO_ENTRY __attribute__((visibility("default")))
#endif
#include "cuckoo.h"
#include "sqlite/register.h"
#include "sqlite/sql.h"

/* The version that brought sqlite3_txn_state. */
enum { OLDEST_SQLITE = 3034000 };

/* ---- one SQLite ----
**
** A process may contain two copies of SQLite, each with its own memory and its own table of functions
** (sqlite3_api_routines). The extension keeps one such table, so it serves only the first SQLite. */

#ifdef SQLITE_CORE
static bool serve(const sqlite3_api_routines *api)
{
    (void)api;
    return true;
}
#else
const sqlite3_api_routines *sqlite3_api;

/* A flag that threads share. cuckoo_flag_set returns true if the flag was set already.
** A thread that sets the flag sees everything that another one wrote before clearing it. */
#if CF_IS_MSVC
typedef volatile long cuckoo_flag;
#define CUCKOO_FLAG_CLEAR       0
#define cuckoo_flag_set(flag)   (_InterlockedExchange(flag, 1) != 0)
#define cuckoo_flag_clear(flag) ((void)_InterlockedExchange(flag, 0))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
typedef atomic_flag cuckoo_flag;
#define CUCKOO_FLAG_CLEAR       ATOMIC_FLAG_INIT
#define cuckoo_flag_set(flag)   atomic_flag_test_and_set_explicit(flag, memory_order_acquire)
#define cuckoo_flag_clear(flag) atomic_flag_clear_explicit(flag, memory_order_release)
#else /* no atomics: only one thread at a time may load the extension or close connections */
typedef volatile int cuckoo_flag;
#define CUCKOO_FLAG_CLEAR       0
#define cuckoo_flag_set(flag)   (*(flag) != 0 || (*(flag) = 1) == 0)
#define cuckoo_flag_clear(flag) ((void)(*(flag) = 0))
#endif

/* Two copies of SQLite differ in malloc64, even if a program passes a copy of the table. Several threads
** may load at the same time. A mutex of SQLite would not protect them: two copies have two of them. */
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
** twice would replace the module under connected tables, and SQLite does not replace a function while a
** statement runs. So a second load does nothing, and succeeds.
*/

/* Sets *here to true if this PRAGMA lists the module, and *any if it lists anything. PRAGMA does not
** read the schema, as SELECT ... FROM does: the database may be locked, or encrypted. And SQLite logs
** no error. */
static int look_in(sqlite3 *db, const char *pragma, bool *here, bool *any)
{
    sqlite3_stmt *names = NULL;
    int rc = sqlite3_prepare_v2(db, pragma, -1, &names, NULL);
    while (rc == SQLITE_OK && !*here && sqlite3_step(names) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(names, 0);
        *here = name && sqlite3_stricmp(name, "cuckoo_filter") == 0;
        *any = true;
    }
    return cuckoo_sql_end(names, rc);
}

/* Sets *here to true if the module is registered. A plain SQLite of today has no module before json_each
** is used, but each has functions. */
static int is_loaded(sqlite3 *db, bool *here, char **message)
{
    bool any = *here = false;
    int rc = look_in(db, "PRAGMA module_list", here, &any);
    if (rc == SQLITE_OK && !any)
        rc = look_in(db, "PRAGMA function_list", here, &any);
    if (rc == SQLITE_OK && !any) /* an authorizer said SQLITE_IGNORE */
        rc = SQLITE_AUTH;
    if (rc != SQLITE_OK)
        *message = sqlite3_mprintf("cuckoo: PRAGMA module_list fails (%s); if an authorizer forbids it, "
                                   "set it after the extension is loaded",
                                   sqlite3_errstr(rc));
    return rc;
}

/* ---- the entry point ---- */

/* Registers everything, up to the first error. If `on` is false, removes everything, regardless of
** errors: SQLite unloads the library when the load has failed. */
static int register_all(sqlite3 *db, bool on)
{
    const cuckoo_function *const lists[] = {cuckoo_scalars, cuckoo_infos, cuckoo_aggregates,
                                            cuckoo_lists};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && (rc == SQLITE_OK || !on); i++)
        rc = cuckoo_first_error(rc, cuckoo_register(db, lists[i], NULL, on));
    return rc == SQLITE_OK || !on ? cuckoo_first_error(rc, cuckoo_register_tables(db, on)) : rc;
}

/* A function of the SQLite that loads the extension. sqlite3_api may belong to another SQLite. */
#ifdef SQLITE_CORE
#define OF_CALLER(function) sqlite3_##function
#else
#define OF_CALLER(function) api->function
#endif

/* SQLITE_OK if this SQLite can be served, or an error with a message in its memory. */
static int check_caller(const sqlite3_api_routines *api, char **message)
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

/* Removes what was registered. SQLite does not remove functions while a statement runs. Then the library
** must stay mapped, which it does only if the load succeeds; so it reports success once, and some
** functions are missing until it is loaded again. */
static int undo(sqlite3 *db, int rc)
{
    register_all(db, false);
#ifndef SQLITE_CORE
    static cuckoo_flag mapped = CUCKOO_FLAG_CLEAR;
    if (cuckoo_sql_running(db, false) > 0 && !cuckoo_flag_set(&mapped))
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
    if (rc != SQLITE_OK && (rc = undo(db, rc)) != SQLITE_OK_LOAD_PERMANENTLY)
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
    int rc = check_caller(api, &text);
    if (rc == SQLITE_OK)
        rc = load_once(db, &text);
    if (message)
        *message = text;
    else
        OF_CALLER(free)(text);
    return rc;
}
