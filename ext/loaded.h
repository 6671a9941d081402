/* SPDX-License-Identifier: MIT */
/*
** loaded.h - what is loaded already.
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
#ifndef CUCKOO_LOADED_H
#define CUCKOO_LOADED_H

#include "api.h"

/* Sets sqlite3_api, if this is the first call since the library was mapped. False: another SQLite
** is served. With static linking there is only one, and nothing to set. */
bool cuckoo_loaded_serve(const sqlite3_api_routines *api);

/* Is the extension on this connection, registered by this file or by another copy of the same
** version? After an error *message (sqlite3_malloc) says that this cannot be told, or that another
** version is there; nothing has changed. After SQLITE_OK the connection has no error message. */
int cuckoo_loaded_here(sqlite3 *db, bool *here, char **message);

/* Registers cf_version. From now on cuckoo_loaded_here is true, until
** the destructor of that function tells that the connection is
** closed. Returns an SQLite code; after an error nothing has changed. */
int cuckoo_loaded_mark(sqlite3 *db);

#endif
