/* SPDX-License-Identifier: MIT */
/*
** fault_disk.h - a disk for SQLite that fails when told to, and that can lose its power.
**
** A VFS named "faults" around the one SQLite came with. Real files hold what SQLite has written;
** nothing is ever synced.
**
** **Faults.** Armed with a kind of operation and n, call number n (from 0) of that kind fails,
** once, with the given code; or that one and all later ones, as on a disk that is full.
**
** **Power loss.** What was written to the database, its journal and its WAL since the last sync of
** that file is written down. At change number n (a write, sync, truncation or deletion) the power
** goes: from there on every call fails. When the connection is closed, fault_disk_restart leaves in
** each file what was synced and as much of the rest as `left` says. Deleting a file is taken to be
** at once and for good, as SQLite does with synchronous=FULL.
**
**      fault_disk_install()                       once, before the first connection
**      fault_disk_arm(op, n, code, onwards) .. fault_disk_disarm()     how many calls have failed
**      fault_disk_power(n) .. close .. fault_disk_restart(left)        whether the power went
*/
#ifndef FAULT_DISK_H
#define FAULT_DISK_H

#include <sqlite3.h>
#include <stdbool.h>

#include "fault_power.h"

typedef enum fault_op {
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_TRUNCATE,
    FAULT_OPEN,
    FAULT_DELETE,
    FAULT_SHM, /* mapping the index of the WAL */
    FAULT_OPS
} fault_op;

static struct {
    sqlite3_vfs *plain; /* the VFS wrapped */
    sqlite3_vfs vfs;
    bool armed, onwards;
    fault_op op;
    int code;
    long left;   /* calls until the first that fails */
    long struck; /* since it was armed */
} fault_disk;

typedef struct fault_file {
    sqlite3_file base;
    power_file *power;   /* NULL: a temporary file */
    sqlite3_file *plain; /* directly behind this */
} fault_file;

/* A breakpoint here stops at every call that fails. */
static int fault_disk_strike(void)
{
    fault_disk.struck++;
    return fault_disk.code;
}

static int fault_disk_strikes(fault_op op)
{
    if (power.is_off)
        return SQLITE_IOERR;
    if (!fault_disk.armed || op != fault_disk.op)
        return SQLITE_OK;
    if (fault_disk.left > 0) {
        fault_disk.left--;
        return SQLITE_OK;
    }
    return fault_disk.onwards || fault_disk.struck == 0 ? fault_disk_strike() : SQLITE_OK;
}

/* ---- files ---- */

static fault_file *fault_of(sqlite3_file *file)
{
    return (fault_file *)file;
}

static sqlite3_file *plain_of(sqlite3_file *file)
{
    return fault_of(file)->plain;
}

static int fault_close(sqlite3_file *file)
{
    sqlite3_file *plain = plain_of(file);
    return plain->pMethods->xClose(plain);
}

static int fault_read(sqlite3_file *file, void *into, int bytes, sqlite3_int64 at)
{
    sqlite3_file *plain = plain_of(file);
    int rc = fault_disk_strikes(FAULT_READ);
    return rc == SQLITE_OK ? plain->pMethods->xRead(plain, into, bytes, at) : rc;
}

static int fault_write(sqlite3_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    sqlite3_file *plain = plain_of(file);
    int rc = fault_disk_strikes(FAULT_WRITE);
    if (rc == SQLITE_OK)
        rc = power_write(fault_of(file)->power, from, bytes, at);
    return rc == SQLITE_OK ? plain->pMethods->xWrite(plain, from, bytes, at) : rc;
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *plain = plain_of(file);
    int rc = fault_disk_strikes(FAULT_TRUNCATE);
    if (rc == SQLITE_OK)
        rc = power_write(fault_of(file)->power, NULL, POWER_TRUNCATED, size);
    return rc == SQLITE_OK ? plain->pMethods->xTruncate(plain, size) : rc;
}

static int fault_sync(sqlite3_file *file, int flags)
{
    int rc = fault_disk_strikes(FAULT_SYNC);
    (void)flags;
    return rc == SQLITE_OK ? power_sync(fault_of(file)->power) : rc;
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return plain_of(file)->pMethods->xFileSize(plain_of(file), size);
}

static int fault_lock(sqlite3_file *file, int lock)
{
    return plain_of(file)->pMethods->xLock(plain_of(file), lock);
}

static int fault_unlock(sqlite3_file *file, int lock)
{
    return plain_of(file)->pMethods->xUnlock(plain_of(file), lock);
}

static int fault_reserved(sqlite3_file *file, int *result)
{
    return plain_of(file)->pMethods->xCheckReservedLock(plain_of(file), result);
}

static int fault_control(sqlite3_file *file, int op, void *argument)
{
    return plain_of(file)->pMethods->xFileControl(plain_of(file), op, argument);
}

static int fault_sector(sqlite3_file *file)
{
    return plain_of(file)->pMethods->xSectorSize(plain_of(file));
}

static int fault_traits(sqlite3_file *file)
{
    return plain_of(file)->pMethods->xDeviceCharacteristics(plain_of(file));
}

static int fault_shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **at)
{
    int rc = fault_disk_strikes(FAULT_SHM);
    return rc == SQLITE_OK ? plain_of(file)->pMethods->xShmMap(plain_of(file), page, bytes, extend, at)
                           : rc;
}

static int fault_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return plain_of(file)->pMethods->xShmLock(plain_of(file), offset, n, flags);
}

static void fault_shm_barrier(sqlite3_file *file)
{
    plain_of(file)->pMethods->xShmBarrier(plain_of(file));
}

static int fault_shm_unmap(sqlite3_file *file, int delete)
{
    return plain_of(file)->pMethods->xShmUnmap(plain_of(file), delete);
}

static const sqlite3_io_methods fault_methods = {2,
                                                 fault_close,
                                                 fault_read,
                                                 fault_write,
                                                 fault_truncate,
                                                 fault_sync,
                                                 fault_size,
                                                 fault_lock,
                                                 fault_unlock,
                                                 fault_reserved,
                                                 fault_control,
                                                 fault_sector,
                                                 fault_traits,
                                                 fault_shm_map,
                                                 fault_shm_lock,
                                                 fault_shm_barrier,
                                                 fault_shm_unmap,
                                                 NULL,
                                                 NULL};

/* ---- the VFS ---- */

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    enum { KEPT = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL };
    fault_file *opened = fault_of(file);
    int rc = fault_disk_strikes(FAULT_OPEN);
    (void)vfs;
    opened->base.pMethods = NULL;
    opened->power = name && flags & KEPT ? power_find(name) : NULL;
    opened->plain = (sqlite3_file *)(opened + 1);
    if (rc == SQLITE_OK)
        rc = fault_disk.plain->xOpen(fault_disk.plain, name, opened->plain, flags, out);
    if (rc == SQLITE_OK)
        opened->base.pMethods = &fault_methods;
    return rc;
}

static int fault_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    int rc = fault_disk_strikes(FAULT_DELETE);
    (void)vfs;
    if (rc == SQLITE_OK)
        rc = power_delete(name);
    return rc == SQLITE_OK ? fault_disk.plain->xDelete(fault_disk.plain, name, sync) : rc;
}

static int fault_disk_install(void)
{
    int rc = sqlite3_initialize();
    fault_disk.plain = sqlite3_vfs_find(NULL);
    fault_disk.vfs = *fault_disk.plain;
    fault_disk.vfs.zName = "faults";
    fault_disk.vfs.pNext = NULL;
    fault_disk.vfs.szOsFile = (int)sizeof(fault_file) + fault_disk.plain->szOsFile;
    fault_disk.vfs.xOpen = fault_open;
    fault_disk.vfs.xDelete = fault_delete;
    return rc == SQLITE_OK ? sqlite3_vfs_register(&fault_disk.vfs, 0) : rc;
}

static void fault_disk_arm(fault_op op, long n, int code, bool onwards)
{
    fault_disk.armed = true;
    fault_disk.op = op;
    fault_disk.left = n;
    fault_disk.code = code;
    fault_disk.onwards = onwards;
    fault_disk.struck = 0;
}

static long fault_disk_disarm(void)
{
    fault_disk.armed = false;
    return fault_disk.struck;
}

#endif
