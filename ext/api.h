/*
** api.h - SQLite, as every file of the glue sees it.
**
** Loaded as an extension, calls go through a table of pointers that the entry point receives (cuckoo.c
** defines it); linked statically with -DSQLITE_CORE, they go straight to SQLite.
*/
#ifndef CUCKOO_API_H
#define CUCKOO_API_H

#include <sqlite3ext.h>
#ifndef CUCKOO_ENTRY_POINT
SQLITE_EXTENSION_INIT3
#endif

#include "../src/inspect.h"

#define CUCKOO_VERSION "1.0.0"

/* What each room registers, or, with `on` false, takes back; an SQLite result code. */
int cuckoo_register_functions(sqlite3 *db, bool on);
int cuckoo_register_info(sqlite3 *db, bool on);
int cuckoo_register_aggregates(sqlite3 *db, bool on);
int cuckoo_register_tables(sqlite3 *db, bool on);

#endif
