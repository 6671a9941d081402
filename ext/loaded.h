/*
** loaded.h - what is loaded already.
**
** A connection takes the extension once. Pools, start-up files and automatic extensions load it
** again: registering again would replace the module under tables that are connected, and SQLite
** refuses to replace a function while a statement runs. So a second load does nothing, and
** succeeds.
**
** A process may hold two copies of SQLite, each with its own memory and its own table of functions
** (sqlite3_api_routines). The extension keeps one such table, so it serves the first SQLite only.
*/
#ifndef CUCKOO_LOADED_H
#define CUCKOO_LOADED_H

#include "api.h"

/* Sets sqlite3_api, if this is the first call since the library was mapped. False: another
** SQLite is served. Linked statically there is nothing to set, and no other. */
bool cuckoo_loaded_serve(const sqlite3_api_routines *api);

/* Is the extension on this connection, registered by this file or by another copy of the same
** version? Not SQLITE_OK: it cannot be told, or it is there in another version; *message
** (sqlite3_malloc) says so, and nothing has changed. After SQLITE_OK the connection has no error
** message. */
int cuckoo_loaded_here(sqlite3 *db, bool *here, char **message);

/* Registers cf_version, whose destructor tells when the connection is closed; cuckoo_loaded_here
** is true until then. An SQLite code; after an error it is not registered. */
int cuckoo_loaded_mark(sqlite3 *db);

#endif
