/* SPDX-License-Identifier: MIT */
/*
** fault_power.h - what is left of files when the power goes (fault_disk.h): contents as last
** synced, and the changes since.
*/
#ifndef FAULT_POWER_H
#define FAULT_POWER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POWER_FILES = 4, POWER_PATH = 200, POWER_SECTOR = 512, POWER_TRUNCATED = -1 };

/* What is left of the changes that were not synced. */
typedef enum power_left {
    POWER_LEFT_NONE,
    POWER_LEFT_SOME, /* each change or not, at random */
    POWER_LEFT_TORN, /* each sector of each change or not, at random */
    POWER_LEFT_ALL,  /* as when only the process dies */
    POWER_LEFT_KINDS
} power_left;

typedef struct power_change {
    struct power_change *next;
    sqlite3_int64 at; /* or the new size */
    int bytes;        /* or POWER_TRUNCATED */
    uint8_t data[];
} power_change;

typedef struct power_file {
    char path[POWER_PATH];
    bool exists; /* for good */
    uint8_t *synced;
    sqlite3_int64 size, room;
    power_change *first, **last; /* since */
} power_file;

static struct {
    power_file files[POWER_FILES];
    bool is_on, is_off; /* watched; gone */
    long left;          /* changes until it goes */
    uint64_t dice;
} power;

static uint64_t power_roll(void)
{
    power.dice ^= power.dice << 13;
    power.dice ^= power.dice >> 7;
    power.dice ^= power.dice << 17;
    return power.dice;
}

static void *power_memory(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes + 1);
    if (memory == NULL)
        abort();
    return memory;
}

/* ---- contents ---- */

static void power_resize(power_file *file, sqlite3_int64 size)
{
    if (size > file->room) {
        file->room = 2 * size;
        file->synced = power_memory(file->synced, (size_t)file->room);
    }
    if (size > file->size)
        memset(file->synced + file->size, 0, (size_t)(size - file->size));
    file->size = size;
}

static void power_put(power_file *file, const uint8_t *from, int bytes, sqlite3_int64 at)
{
    if (at + bytes > file->size)
        power_resize(file, at + bytes);
    memcpy(file->synced + at, from, (size_t)bytes);
}

static void power_put_torn(power_file *file, const power_change *change)
{
    for (int from = 0, to; from < change->bytes; from = to) {
        to = from + POWER_SECTOR - (int)((change->at + from) % POWER_SECTOR);
        to = to < change->bytes ? to : change->bytes;
        if (power_roll() & 1)
            power_put(file, change->data + from, to - from, change->at + from);
    }
}

static void power_apply(power_file *file, const power_change *change, power_left left)
{
    bool is_torn = left == POWER_LEFT_TORN && change->bytes != POWER_TRUNCATED;
    if (left == POWER_LEFT_NONE || (left != POWER_LEFT_ALL && !is_torn && power_roll() & 1))
        return;
    file->exists = true;
    if (change->bytes == POWER_TRUNCATED)
        power_resize(file, change->at);
    else if (is_torn)
        power_put_torn(file, change);
    else
        power_put(file, change->data, change->bytes, change->at);
}

/* Ends the list of changes; some of them remain. */
static void power_settle(power_file *file, power_left left)
{
    while (file->first) {
        power_change *change = file->first;
        file->first = change->next;
        power_apply(file, change, left);
        free(change);
    }
    file->last = &file->first;
}

static void power_load(power_file *file)
{
    uint8_t block[4096];
    FILE *real = fopen(file->path, "rb");
    size_t n;
    file->exists = real != NULL;
    while (real && (n = fread(block, 1, sizeof block, real)) > 0)
        power_put(file, block, (int)n, file->size);
    if (real)
        fclose(real);
}

static void power_store(const power_file *file)
{
    FILE *real;
    remove(file->path);
    if (!file->exists)
        return;
    real = fopen(file->path, "wb");
    if (real == NULL || fwrite(file->synced, 1, (size_t)file->size, real) != (size_t)file->size)
        abort();
    fclose(real);
}

/* ---- what the VFS calls ---- */

/* The file of this path, from now on watched. */
static power_file *power_find(const char *path)
{
    power_file *file = power.files;
    if (!power.is_on)
        return NULL;
    while (file->path[0] && strcmp(file->path, path) != 0)
        if (++file == power.files + POWER_FILES)
            abort();
    if (file->path[0] == 0) {
        snprintf(file->path, sizeof file->path, "%s", path);
        file->last = &file->first;
        power_load(file);
    }
    return file;
}

/* One more change: is it one too many? */
static int power_spend(void)
{
    power.is_off = power.is_off || power.left-- == 0;
    return power.is_off ? SQLITE_IOERR : SQLITE_OK;
}

static int power_write(power_file *file, const void *from, int bytes, sqlite3_int64 at)
{
    if (file == NULL)
        return SQLITE_OK;
    power_change *change = power_memory(NULL, sizeof *change + (size_t)(bytes > 0 ? bytes : 0));
    *change = (power_change){NULL, at, bytes};
    if (bytes > 0)
        memcpy(change->data, from, (size_t)bytes);
    *file->last = change;
    file->last = &change->next;
    return power_spend();
}

static int power_sync(power_file *file)
{
    if (file == NULL)
        return SQLITE_OK;
    int rc = power_spend();
    if (rc == SQLITE_OK) {
        power_settle(file, POWER_LEFT_ALL);
        file->exists = true;
    }
    return rc;
}

static int power_delete(const char *path)
{
    power_file *file = power_find(path);
    int rc = file ? power_spend() : SQLITE_OK;
    if (file == NULL || rc != SQLITE_OK)
        return rc;
    power_settle(file, POWER_LEFT_NONE);
    file->size = 0;
    file->exists = false;
    return SQLITE_OK;
}

/* ---- what a test calls ---- */

/* The power will go at change n. Nothing is open. */
static void fault_disk_power(long n, uint64_t seed)
{
    power.is_on = true;
    power.is_off = false;
    power.left = n;
    power.dice = seed * 0x9E3779B97F4A7C15u + 1;
}

/* Everything is closed. Had the power gone? Then the files are what they are after it came back. */
static bool fault_disk_restart(power_left left)
{
    bool gone = power.is_off;
    for (power_file *file = power.files; file < power.files + POWER_FILES; file++) {
        if (file->path[0] && gone) {
            power_settle(file, left);
            power_store(file);
        }
        if (file->path[0])
            power_settle(file, POWER_LEFT_NONE);
        free(file->synced);
    }
    memset(&power, 0, sizeof power);
    return gone;
}

#endif
