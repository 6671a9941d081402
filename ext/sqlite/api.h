/* SPDX-License-Identifier: MIT */
/*
** api.h - SQLite and the filter library, for every file of ext.
**
** A loaded extension calls SQLite through a table of pointers, which its entry point receives
** (cuckoo.c). An extension that is linked statically, with -DSQLITE_CORE, calls SQLite directly.
*/
#ifndef CUCKOO_API_H
#define CUCKOO_API_H

#ifdef SQLITE_CORE
#include "sqlite3.h"
#else
#include "sqlite3ext.h"
/* The macros of sqlite3ext.h use this pointer. It has its own name, because other extensions may be in
** the same library or file. */
#define sqlite3_api cuckoo_sqlite3_api
extern const sqlite3_api_routines *sqlite3_api;
#endif

#include "../../src/include/cuckoo_inspect.h"
#include "../../src/include/cuckoo_key.h"
#include "../../src/include/version.h"

/* sqlite3_vtab_in, _in_first and _in_next came with 3.38. Before that no constraint is a list. */
#if SQLITE_VERSION_NUMBER >= 3038000
static inline bool cuckoo_compat_vtab_in(sqlite3_index_info *info, int constraint, int handle)
{
    return sqlite3_libversion_number() >= 3038000 && sqlite3_vtab_in(info, constraint, handle);
}
#define cuckoo_compat_vtab_in_first sqlite3_vtab_in_first
#define cuckoo_compat_vtab_in_next  sqlite3_vtab_in_next
#else
#define cuckoo_compat_vtab_in(info, constraint, handle) ((void)(info), (void)(constraint), false)
#define cuckoo_compat_vtab_in_first(list, value)        ((void)(list), (void)(value), SQLITE_MISUSE)
#define cuckoo_compat_vtab_in_next(list, value)         ((void)(list), (void)(value), SQLITE_MISUSE)
#endif

/* sqlite3_expired: true if SQLite has to prepare this statement again, because the schema may have
** changed; and for NULL. With SQLITE_OMIT_DEPRECATED that is unknown until the statement runs. */
#if defined(SQLITE_OMIT_DEPRECATED)
#define CUCKOO_KNOWS_EXPIRED      false
#define CUCKOO_EXPIRED(statement) false
#elif defined(SQLITE_CORE)
#define CUCKOO_KNOWS_EXPIRED      true
#define CUCKOO_EXPIRED(statement) sqlite3_expired(statement)
#else
#define CUCKOO_KNOWS_EXPIRED      (sqlite3_api->expired != NULL)
#define CUCKOO_EXPIRED(statement) (CUCKOO_KNOWS_EXPIRED && sqlite3_api->expired(statement))
#endif
static inline bool cuckoo_compat_expired(sqlite3_stmt *statement)
{
    return statement == NULL || CUCKOO_EXPIRED(statement);
}

/* A module of version 4, for PRAGMA integrity_check. Its last member, xIntegrity, came with 3.44; an
** older SQLite ignores it. Pass &module.base to SQLite, and initialize .CUCKOO_XINTEGRITY. */
typedef struct cuckoo_module {
    sqlite3_module base;
#if SQLITE_VERSION_NUMBER >= 3044000
#define CUCKOO_XINTEGRITY base.xIntegrity
#else
#define CUCKOO_XINTEGRITY xIntegrity
    int (*xIntegrity)(sqlite3_vtab *, const char *schema, const char *name, int flags, char **message);
#endif
} cuckoo_module;

#endif
