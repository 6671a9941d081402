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

/* All rooms, the later ones also when an earlier one fails: after an error SQLite unloads the library, so that all
** of what points into it must be taken back. */
static int register_all(sqlite3 *db, bool on)
{
    static int (*const rooms[])(sqlite3 *, bool) = {cuckoo_register_functions, cuckoo_register_info,
                                                    cuckoo_register_aggregates, cuckoo_register_tables};
    int first = SQLITE_OK;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        int rc = rooms[i](db, on);
        first = first == SQLITE_OK ? rc : first;
    }
    return first;
}

int sqlite3_cuckoo_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)api; /* unused with SQLITE_CORE */
    if (sqlite3_libversion_number() < OLDEST_SQLITE) {
        *message =
            sqlite3_mprintf("cuckoo: SQLite 3.31 or later is needed, this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    int rc = register_all(db, true);
    if (rc != SQLITE_OK) {
        register_all(db, false);
        *message = sqlite3_mprintf("cuckoo: the functions could not be registered");
    }
    return rc;
}
