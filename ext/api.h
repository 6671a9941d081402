/*
** api.h - SQLite and the filter library, as every file of the glue sees them.
**
** An extension that was loaded calls SQLite through a table of pointers, which its entry point
** receives (cuckoo.c defines the pointer to it). An extension that was linked statically, with
** -DSQLITE_CORE, calls SQLite directly.
*/
#ifndef CUCKOO_API_H
#define CUCKOO_API_H

#include <sqlite3ext.h>
#ifndef CUCKOO_ENTRY_POINT
SQLITE_EXTENSION_INIT3
#endif

#include "../src/cuckoo_inspect.h"

#define CUCKOO_VERSION "1.0.0"

#endif
