/* SPDX-License-Identifier: MIT */
/*
** api.c - functions that SQLite got after 3.34.
**
** The extension may be compiled with older headers than those of the SQLite that loads it. SQLite
** only ever appends to its table of functions (sqlite3_api_routines). So a later function is found
** at a known place, after a look at the version. With static linking (SQLITE_CORE) there is no such
** table, and the headers say what there is.
*/
#include "api.h"

#include <stddef.h>

enum { HAS_VTAB_IN = 3038000 };

/* The part of sqlite3_api_routines that follows txn_state, the last member in 3.34, as far as it is used
** here. */
typedef void (*unused)(void);
typedef struct later_routines {
    unused since_3_36[6];
    int (*vtab_in)(sqlite3_index_info *, int, int);
    int (*vtab_in_first)(sqlite3_value *, sqlite3_value **);
    int (*vtab_in_next)(sqlite3_value *, sqlite3_value **);
} later_routines;

#ifdef SQLITE_CORE
/* Functions that the header does not declare are NULL. */
static const later_routines *later(void)
{
    static const later_routines linked = {
        .since_3_36 = {NULL},
#if SQLITE_VERSION_NUMBER >= 3038000
        .vtab_in = sqlite3_vtab_in,
        .vtab_in_first = sqlite3_vtab_in_first,
        .vtab_in_next = sqlite3_vtab_in_next,
#endif
    };
    return &linked;
}
#else
enum { LATER_OFFSET = offsetof(sqlite3_api_routines, txn_state) + sizeof(unused) };

/* A header that declares a function must have it at the same place. */
#define SAME_PLACE(function)                                                                            \
    _Static_assert(offsetof(sqlite3_api_routines, function) ==                                          \
                       LATER_OFFSET + offsetof(later_routines, function),                               \
                   #function)
#if SQLITE_VERSION_NUMBER >= 3038000
SAME_PLACE(vtab_in);
SAME_PLACE(vtab_in_first);
SAME_PLACE(vtab_in_next);
#endif

/* Only the members that the running version has may be read. */
static const later_routines *later(void)
{
    return (const void *)((const char *)sqlite3_api + LATER_OFFSET);
}
#endif

static bool has(int version)
{
    return sqlite3_libversion_number() >= version;
}

bool cuckoo_late_expired(sqlite3_stmt *statement)
{
#if defined(SQLITE_OMIT_DEPRECATED)
    return true;
#elif defined(SQLITE_CORE)
    return statement == NULL || sqlite3_expired(statement);
#else
    return statement == NULL || sqlite3_api->expired == NULL || sqlite3_api->expired(statement);
#endif
}

int cuckoo_late_vtab_in(sqlite3_index_info *info, int constraint, int handle)
{
    if (!has(HAS_VTAB_IN) || later()->vtab_in == NULL)
        return 0;
    return later()->vtab_in(info, constraint, handle);
}

int cuckoo_late_vtab_in_first(sqlite3_value *list, sqlite3_value **value)
{
    if (!has(HAS_VTAB_IN) || later()->vtab_in_first == NULL)
        return SQLITE_MISUSE;
    return later()->vtab_in_first(list, value);
}

int cuckoo_late_vtab_in_next(sqlite3_value *list, sqlite3_value **value)
{
    if (!has(HAS_VTAB_IN) || later()->vtab_in_next == NULL)
        return SQLITE_MISUSE;
    return later()->vtab_in_next(list, value);
}
