/* SPDX-License-Identifier: MIT */
#include "loaded.h"

#include "sql.h"

#include "../src/compiler.h"

#include <string.h>

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
bool cuckoo_loaded_serve(const sqlite3_api_routines *api)
{
    (void)api;
    return true;
}
#else
const sqlite3_api_routines *sqlite3_api;

/* Two SQLites differ in the function that hands out memory. That also holds when a program passes a
** copy of the table. */
bool cuckoo_loaded_serve(const sqlite3_api_routines *api)
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

int cuckoo_loaded_mark(sqlite3 *db)
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

int cuckoo_loaded_here(sqlite3 *db, bool *here, char **message)
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
