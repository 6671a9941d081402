/*
** cuckoo.c - the entry point of the extension.
*/
#define CUCKOO_ENTRY_POINT
#include "api.h"
SQLITE_EXTENSION_INIT1

/* SQLITE_INNOCUOUS and SQLITE_VTAB_INNOCUOUS came with this version. */
enum { OLDEST_SQLITE = 3031000 };

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

EXPORT int sqlite3_cuckoo_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_cuckoo_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)api; /* unused with SQLITE_CORE */
    if (sqlite3_libversion_number() < OLDEST_SQLITE) {
        *message =
            sqlite3_mprintf("cuckoo: SQLite 3.31 or later is needed, this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    int rc = cuckoo_register_functions(db);
    if (rc == SQLITE_OK)
        rc = cuckoo_register_info(db);
    if (rc == SQLITE_OK)
        rc = cuckoo_register_aggregates(db);
    if (rc == SQLITE_OK)
        rc = cuckoo_register_tables(db);
    return rc;
}
