/* SPDX-License-Identifier: MIT */
/*
** api.h - SQLite and the filter library, as every file of the glue sees them.
**
** An extension that was loaded calls SQLite through a table of pointers, which its entry point
** receives (loaded.c keeps the pointer to it). An extension that was linked statically, with
** -DSQLITE_CORE, calls SQLite directly.
*/
#ifndef CUCKOO_API_H
#define CUCKOO_API_H

#ifdef SQLITE_CORE
#include "sqlite3.h"
#else
#include "sqlite3ext.h"
/* The macros of sqlite3ext.h use the pointer. It has a name of its own, because other extensions may
** be linked with this one, or stand in one file with it. */
#define sqlite3_api cuckoo_sqlite3_api
extern const sqlite3_api_routines *sqlite3_api;
#endif

#include "../src/cuckoo_inspect.h"
#include "../src/version.h"

#endif
