/* SPDX-License-Identifier: MIT */
#include "temporary.h"

#include "sql.h"

#include <string.h>

static bool is_in_memory(sqlite3 *db)
{
    sqlite3_int64 store = 0;
    enum { IN_FILE = 1, IN_MEMORY = 2 };
    if (sqlite3_compileoption_used("TEMP_STORE=3") ||
        cuckoo_sql_integer(db, &store, "PRAGMA temp_store") != SQLITE_OK || store == IN_MEMORY)
        return true;
    return store != IN_FILE && sqlite3_compileoption_used("TEMP_STORE=2");
}

/* The VFS of the database, unless that is in memory. */
static sqlite3_vfs *vfs_of(sqlite3 *db)
{
    sqlite3_vfs *vfs = NULL;
    int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    return rc == SQLITE_OK && vfs && strcmp(vfs->zName, "memdb") != 0 ? vfs : sqlite3_vfs_find(NULL);
}

static void open_file(cuckoo_temporary *temporary)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE |
                      SQLITE_OPEN_DELETEONCLOSE | SQLITE_OPEN_TRANSIENT_DB;
    sqlite3_vfs *vfs = is_in_memory(temporary->db) ? NULL : vfs_of(temporary->db);
    if (vfs == NULL || (temporary->opened = sqlite3_malloc(vfs->szOsFile)) == NULL)
        return;
    temporary->opened->pMethods = NULL;
    if (vfs->xOpen(vfs, NULL, temporary->opened, flags, NULL) != SQLITE_OK)
        cuckoo_temporary_close(temporary);
}

/* The VFS of Unix cannot write 128 KiB or more at once (seen with 3.40.1 and 3.54.1). */
enum { PIECE = 1 << 16 /* bytes */ };

static bool move(void *context, uint64_t at, void *bytes, size_t n, bool writes)
{
    cuckoo_temporary *temporary = context;
    if (temporary->opened == NULL)
        open_file(temporary);
    if (temporary->opened == NULL || n == 0)
        return temporary->opened != NULL;
    const sqlite3_io_methods *methods = temporary->opened->pMethods;
    for (size_t piece; n > 0 && temporary->rc == SQLITE_OK; n -= piece, at += piece) {
        piece = n < PIECE ? n : PIECE;
        temporary->rc = writes ? methods->xWrite(temporary->opened, bytes, (int)piece, (sqlite3_int64)at)
                               : methods->xRead(temporary->opened, bytes, (int)piece, (sqlite3_int64)at);
        bytes = (uint8_t *)bytes + piece;
    }
    return temporary->rc == SQLITE_OK;
}

void cuckoo_temporary_begin(cuckoo_temporary *temporary, sqlite3 *db)
{
    *temporary = (cuckoo_temporary){.file = {move, temporary}, .db = db};
}

void cuckoo_temporary_close(cuckoo_temporary *temporary)
{
    if (temporary->opened && temporary->opened->pMethods)
        temporary->opened->pMethods->xClose(temporary->opened);
    sqlite3_free(temporary->opened);
    temporary->opened = NULL;
}
