/* SPDX-License-Identifier: MIT */
/*
** disk.c - a disk in memory, which fails when told to, and can lose its power.
**
** Two VFSs share its files. Only what goes through "real" fails, and only of files opened through it
** is written down what was not synced. Locks are those of connections in one thread: nobody waits.
**
** **Faults.** Call number n (from 0) of one kind fails, once, or that one and all later ones.
**
** **Power.** At change number n (a write, sync, truncation or deletion) it goes: from there on every
** call fails. Once all is closed, disk_power_back leaves in each file what was synced, and as much of
** the rest as `left` says. Deleting a file is taken to be at once and for good, as SQLite does with
** synchronous=FULL.
*/
#include "sim.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 24, SECTOR = 512, TRUNCATED = -1, SHM_LOCKS = 8, SHM_REGIONS = 64 };

typedef struct content {
    uint8_t *bytes;
    sqlite3_int64 size, room;
    bool exists;
} content;

typedef struct change {
    struct change *next;
    sqlite3_int64 at; /* or the new size */
    int bytes;        /* or TRUNCATED */
    uint8_t data[];
} change;

typedef struct handle handle;

typedef struct disk_file {
    char path[PATH];
    content now, synced;
    bool watched;          /* synced counts */
    change *first, **last; /* since the last sync */
    int handles, shared;   /* how many are open; how many of these may read */
    handle *reserved, *pending;
    int maps; /* of handles */
    void *regions[SHM_REGIONS];
    int shm_shared[SHM_LOCKS];
    handle *shm_exclusive[SHM_LOCKS];
} disk_file;

struct handle {
    sqlite3_file base;
    disk_file *file;
    bool real, temporary, maps;
    int lock;
    unsigned shm_shared;
};

static disk_file files[FILES];
static sqlite3_vfs real_vfs, twin_vfs;

static struct {
    bool is_on, onwards;
    disk_op op;
    int code;
    long left, struck;
} armed;

static struct {
    bool is_on, is_off; /* what was not synced is written down; all calls fail */
    long left;          /* changes until it goes */
    uint64_t dice;
} power;

static bool roll(void)
{
    power.dice += UINT64_C(0x9e3779b97f4a7c15);
    return mix(power.dice, 0) & 1;
}

/* Not realloc: that can be made to fail. */
static void *grown(void *old, sqlite3_int64 used, sqlite3_int64 bytes)
{
    void *made = malloc((size_t)bytes + 1);
    if (made == NULL)
        abort();
    if (used > 0)
        memcpy(made, old, (size_t)used);
    free(old);
    return made;
}

/* ---- contents ---- */

static void resize(content *c, sqlite3_int64 size)
{
    if (size > c->room) {
        c->room = 2 * size;
        c->bytes = grown(c->bytes, c->size, c->room);
    }
    if (size > c->size)
        memset(c->bytes + c->size, 0, (size_t)(size - c->size));
    c->size = size;
    c->exists = true;
}

static void put(content *c, const uint8_t *from, int bytes, sqlite3_int64 at)
{
    if (at + bytes > c->size)
        resize(c, at + bytes);
    memcpy(c->bytes + at, from, (size_t)bytes);
    c->exists = true;
}

static void put_torn(content *c, const change *written)
{
    for (int from = 0, to; from < written->bytes; from = to) {
        to = from + SECTOR - (int)((written->at + from) % SECTOR);
        to = to < written->bytes ? to : written->bytes;
        if (roll())
            put(c, written->data + from, to - from, written->at + from);
    }
}

static void apply(content *c, const change *written, power_left left)
{
    bool is_torn = left == POWER_LEFT_TORN && written->bytes != TRUNCATED;
    if (left == POWER_LEFT_NONE || (left != POWER_LEFT_ALL && !is_torn && roll()))
        return;
    if (written->bytes == TRUNCATED)
        resize(c, written->at);
    else if (is_torn)
        put_torn(c, written);
    else
        put(c, written->data, written->bytes, written->at);
}

/* Ends the list of changes; some of them are taken over. */
static void settle_changes(disk_file *file, power_left left)
{
    while (file->first) {
        change *written = file->first;
        file->first = written->next;
        apply(&file->synced, written, left);
        free(written);
    }
    file->last = &file->first;
}

static void copy_content(content *into, const content *from)
{
    into->size = 0;
    if (from->size > 0)
        put(into, from->bytes, (int)from->size, 0);
    into->exists = from->exists;
}

/* ---- what fails ---- */

static int strike(const handle *h, disk_op op)
{
    if (!h->real)
        return SQLITE_OK;
    if (power.is_off)
        return SQLITE_IOERR;
    if (!armed.is_on || op != armed.op || armed.left-- > 0 || (armed.struck && !armed.onwards))
        return SQLITE_OK;
    armed.struck++;
    return armed.code;
}

/* One more change: is it one too many? */
static int spend(const handle *h)
{
    if (!power.is_on || !h->real || h->temporary)
        return SQLITE_OK;
    power.is_off = power.is_off || power.left-- == 0;
    return power.is_off ? SQLITE_IOERR : SQLITE_OK;
}

static int remember(const handle *h, const void *from, int bytes, sqlite3_int64 at)
{
    if (!power.is_on || !h->real || h->temporary)
        return SQLITE_OK;
    size_t length = (size_t)(bytes > 0 ? bytes : 0);
    change *written = grown(NULL, 0, (sqlite3_int64)(sizeof *written + length));
    *written = (change){NULL, at, bytes};
    if (bytes > 0)
        memcpy(written->data, from, length);
    *h->file->last = written;
    h->file->last = &written->next;
    return spend(h);
}

/* ---- files ---- */

static handle *handle_of(sqlite3_file *file)
{
    return (handle *)file;
}

static int file_unlock(sqlite3_file *base, int lock)
{
    handle *h = handle_of(base);
    disk_file *file = h->file;
    if (h->lock <= lock)
        return SQLITE_OK;
    file->reserved = file->reserved == h ? NULL : file->reserved;
    file->pending = file->pending == h ? NULL : file->pending;
    file->shared -= lock == SQLITE_LOCK_NONE;
    h->lock = lock;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int lock)
{
    handle *h = handle_of(base);
    disk_file *file = h->file;
    if (h->lock >= lock)
        return SQLITE_OK;
    bool waits = file->pending && file->pending != h, writes = file->reserved && file->reserved != h;
    if ((lock != SQLITE_LOCK_RESERVED && waits) || (lock == SQLITE_LOCK_RESERVED && writes))
        return SQLITE_BUSY;
    if (lock == SQLITE_LOCK_SHARED)
        file->shared++;
    if (lock == SQLITE_LOCK_RESERVED)
        file->reserved = h;
    if (lock > SQLITE_LOCK_RESERVED) {
        file->pending = h;
        h->lock = SQLITE_LOCK_PENDING;
        if (lock == SQLITE_LOCK_EXCLUSIVE && file->shared > 1)
            return SQLITE_BUSY;
    }
    h->lock = lock;
    return SQLITE_OK;
}

static int file_reserved(sqlite3_file *base, int *result)
{
    *result = handle_of(base)->file->reserved != NULL || handle_of(base)->file->pending != NULL;
    return SQLITE_OK;
}

static int shm_unmap(sqlite3_file *base, int delete)
{
    handle *h = handle_of(base);
    disk_file *file = h->file;
    (void)delete;
    if (!h->maps)
        return SQLITE_OK;
    h->maps = false;
    for (int i = 0; i < SHM_LOCKS; i++) {
        file->shm_shared[i] -= (h->shm_shared & 1U << i) != 0;
        file->shm_exclusive[i] = file->shm_exclusive[i] == h ? NULL : file->shm_exclusive[i];
    }
    h->shm_shared = 0;
    if (--file->maps == 0)
        for (int i = 0; i < SHM_REGIONS; i++) {
            free(file->regions[i]);
            file->regions[i] = NULL;
        }
    return SQLITE_OK;
}

static int file_close(sqlite3_file *base)
{
    handle *h = handle_of(base);
    file_unlock(base, SQLITE_LOCK_NONE);
    shm_unmap(base, 0);
    h->file->handles--;
    if (h->temporary) {
        free(h->file->now.bytes);
        free(h->file);
    }
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *into, int bytes, sqlite3_int64 at)
{
    const content *c = &handle_of(base)->file->now;
    int rc = strike(handle_of(base), DISK_READ);
    sqlite3_int64 there = c->size - at < 0 ? 0 : c->size - at < bytes ? c->size - at : bytes;
    if (rc != SQLITE_OK)
        return rc;
    if (there > 0)
        memcpy(into, c->bytes + at, (size_t)there);
    memset((char *)into + there, 0, (size_t)(bytes - there));
    return there < bytes ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *from, int bytes, sqlite3_int64 at)
{
    handle *h = handle_of(base);
    int rc = strike(h, DISK_WRITE);
    if (rc == SQLITE_OK)
        rc = remember(h, from, bytes, at);
    if (rc == SQLITE_OK)
        put(&h->file->now, from, bytes, at);
    return rc;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    handle *h = handle_of(base);
    int rc = strike(h, DISK_TRUNCATE);
    if (rc == SQLITE_OK)
        rc = remember(h, NULL, TRUNCATED, size);
    if (rc == SQLITE_OK)
        resize(&h->file->now, size);
    return rc;
}

static int file_sync(sqlite3_file *base, int flags)
{
    handle *h = handle_of(base);
    int rc = strike(h, DISK_SYNC);
    (void)flags;
    if (rc == SQLITE_OK)
        rc = spend(h);
    if (rc == SQLITE_OK && power.is_on && h->real && !h->temporary) {
        settle_changes(h->file, POWER_LEFT_ALL);
        h->file->synced.exists = true;
    }
    return rc;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    *size = handle_of(base)->file->now.size;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int op, void *argument)
{
    (void)base, (void)op, (void)argument;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
    (void)base;
    return 4096;
}

static int file_traits(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- shared memory ---- */

static int shm_map(sqlite3_file *base, int region, int bytes, int extend, void volatile **at)
{
    handle *h = handle_of(base);
    int rc = strike(h, DISK_SHM);
    *at = NULL;
    if (rc != SQLITE_OK || region >= SHM_REGIONS)
        return rc ? rc : SQLITE_NOMEM;
    h->file->maps += !h->maps;
    h->maps = true;
    if (h->file->regions[region] == NULL && extend) {
        h->file->regions[region] = grown(NULL, 0, bytes);
        memset(h->file->regions[region], 0, (size_t)bytes);
    }
    *at = h->file->regions[region];
    return SQLITE_OK;
}

static int shm_lock_one(handle *h, int i, int flags)
{
    disk_file *file = h->file;
    unsigned bit = 1U << i;
    bool mine = h->shm_shared & bit, other = file->shm_exclusive[i] && file->shm_exclusive[i] != h;
    if (flags & SQLITE_SHM_UNLOCK) {
        file->shm_shared[i] -= mine;
        file->shm_exclusive[i] = other ? file->shm_exclusive[i] : NULL;
        h->shm_shared &= ~bit;
    } else if (flags & SQLITE_SHM_SHARED) {
        if (other)
            return SQLITE_BUSY;
        file->shm_shared[i] += !mine;
        h->shm_shared |= bit;
    } else if (other || file->shm_shared[i] > mine)
        return SQLITE_BUSY;
    else
        file->shm_exclusive[i] = h;
    return SQLITE_OK;
}

/* All of them or none. */
static int shm_lock(sqlite3_file *base, int offset, int n, int flags)
{
    handle *h = handle_of(base);
    int rc = SQLITE_OK;
    for (int i = 0; i < n; i++)
        if ((rc = shm_lock_one(h, offset + i, flags)) != SQLITE_OK) {
            while (i-- > 0)
                shm_lock_one(h, offset + i, SQLITE_SHM_UNLOCK);
            break;
        }
    return rc;
}

static void shm_barrier(sqlite3_file *base)
{
    (void)base;
}

static const sqlite3_io_methods methods = {
    2,         file_close,  file_read,     file_write,   file_truncate, file_sync,   file_size,
    file_lock, file_unlock, file_reserved, file_control, file_sector,   file_traits, shm_map,
    shm_lock,  shm_barrier, shm_unmap,     NULL,         NULL};

/* ---- the disk ---- */

static disk_file *find(const char *path)
{
    disk_file *free_one = NULL;
    for (disk_file *file = files; file < files + FILES; file++)
        if (strcmp(file->path, path) == 0)
            return file;
        else if (!file->now.exists && !file->synced.exists && file->handles == 0)
            free_one = file;
    if (free_one == NULL || strlen(path) >= PATH)
        abort();
    strcpy(free_one->path, path);
    free_one->watched = false;
    free_one->last = &free_one->first;
    return free_one;
}

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out)
{
    handle *h = handle_of(base);
    *h = (handle){.real = vfs == &real_vfs, .temporary = name == NULL};
    /* A statement that cannot have a temporary file leaves the TEMP schema changed by half: that is SQLite's. */
    int rc = name ? strike(h, DISK_OPEN) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    if (name == NULL) {
        h->file = grown(NULL, 0, sizeof *h->file);
        memset(h->file, 0, sizeof *h->file);
    } else
        h->file = find(name);
    if (!(flags & SQLITE_OPEN_CREATE) && !h->file->now.exists)
        return SQLITE_CANTOPEN;
    if (power.is_on && h->real && !h->temporary && !h->file->watched) {
        copy_content(&h->file->synced, &h->file->now);
        h->file->watched = true;
    }
    h->file->now.exists = true;
    h->file->handles++;
    if (out)
        *out = flags;
    h->base.pMethods = &methods;
    return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    handle h = {.real = vfs == &real_vfs};
    disk_file *file = find(name);
    int rc = strike(&h, DISK_DELETE);
    (void)sync;
    if (rc == SQLITE_OK && !file->now.exists)
        return SQLITE_IOERR_DELETE_NOENT;
    if (rc == SQLITE_OK)
        rc = spend(&h);
    if (rc != SQLITE_OK)
        return rc;
    settle_changes(file, POWER_LEFT_NONE);
    file->now.size = file->synced.size = 0;
    file->now.exists = file->synced.exists = false;
    return SQLITE_OK;
}

/* SQLite takes an empty file for none. */
static int disk_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    const content *c = &find(name)->now;
    (void)vfs;
    *result = c->exists && (flags != SQLITE_ACCESS_EXISTS || c->size > 0);
    return SQLITE_OK;
}

static int disk_path(sqlite3_vfs *vfs, const char *name, int room, char *full)
{
    (void)vfs;
    sqlite3_snprintf(room, full, "%s", name);
    return SQLITE_OK;
}

static int read_clock(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
    (void)vfs;
    *now = 212000000000000 + 1000 * world_shown();
    return SQLITE_OK;
}

static int register_vfs(sqlite3_vfs *vfs, const char *name)
{
    *vfs = *sqlite3_vfs_find(NULL);
    vfs->zName = name;
    vfs->pNext = NULL;
    vfs->szOsFile = (int)sizeof(handle);
    vfs->xOpen = disk_open;
    vfs->xDelete = disk_delete;
    vfs->xAccess = disk_access;
    vfs->xFullPathname = disk_path;
    vfs->xCurrentTimeInt64 = read_clock;
    return sqlite3_vfs_register(vfs, 0);
}

bool disk_install(void)
{
    return register_vfs(&real_vfs, "real") == SQLITE_OK && register_vfs(&twin_vfs, "twin") == SQLITE_OK;
}

/* Everything is closed. */
void disk_clear(void)
{
    for (disk_file *file = files; file < files + FILES; file++) {
        settle_changes(file, POWER_LEFT_NONE);
        free(file->now.bytes);
        free(file->synced.bytes);
        memset(file, 0, sizeof *file);
    }
    memset(&power, 0, sizeof power);
}

void disk_arm(disk_op op, long n, int code, bool onwards)
{
    armed.is_on = true;
    armed.op = op;
    armed.left = n;
    armed.code = code;
    armed.onwards = onwards;
    armed.struck = 0;
}

long disk_disarm(void)
{
    armed.is_on = false;
    return armed.struck;
}

/* Everything is closed. From here on the power can go. */
void disk_power_on(uint64_t seed)
{
    power.is_on = true;
    power.left = LONG_MAX;
    power.dice = seed;
}

void disk_power_goes_at(long n)
{
    power.left = n;
}

/* Every call fails from here on: connections are closed, and leave the files as they are. */
void disk_power_off(void)
{
    power.is_off = true;
}

bool disk_power_is_off(void)
{
    return power.is_off;
}

/* Everything is closed. Had the power gone, then files are what they are after it came back. */
void disk_power_back(power_left left)
{
    bool gone = power.is_on && power.is_off;
    for (disk_file *file = files; file < files + FILES; file++) {
        settle_changes(file, gone ? left : POWER_LEFT_NONE);
        if (gone && file->watched)
            copy_content(&file->now, &file->synced);
        file->watched = false;
    }
    memset(&power, 0, sizeof power);
}
