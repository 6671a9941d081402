/* SPDX-License-Identifier: MIT */
/*
** fault_memory.h - an allocator for SQLite that fails when told to.
**
** It wraps the allocator that SQLite came with (sqlite3_mem_methods) and counts the requests for
** memory. Armed with n, it refuses request number n (counted from 0), or that one and all after it.
** SQLite and the extension ask for memory in the same way, so both are put to the test.
**
**      fault_memory_install()      once, before the first connection
**      fault_memory_arm(n, ...)    from here on
**      ...
**      fault_memory_disarm()       how many requests were refused
*/
#ifndef FAULT_MEMORY_H
#define FAULT_MEMORY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum fault_kind {
    FAULT_ONCE,    /* only request n is refused */
    FAULT_ONWARDS, /* request n and every later one */
    FAULT_BLOCK    /* only request n of those that go to the C library, where a test wraps them */
} fault_kind;

static struct {
    sqlite3_mem_methods plain; /* the allocator wrapped */
    bool armed;
    fault_kind kind;
    long left;    /* requests until the first that is refused */
    long refused; /* since it was armed */
} fault_memory;

/* A breakpoint here stops at every refused request. */
static bool fault_memory_refuse(void)
{
    fault_memory.refused++;
    return true;
}

static bool fault_memory_strikes(bool block)
{
    if (!fault_memory.armed || (fault_memory.kind == FAULT_BLOCK && !block))
        return false;
    if (fault_memory.left > 0) {
        fault_memory.left--;
        return false;
    }
    return (fault_memory.kind == FAULT_ONWARDS || fault_memory.refused == 0) && fault_memory_refuse();
}

static void *fault_memory_malloc(int bytes)
{
    return fault_memory_strikes(false) ? NULL : fault_memory.plain.xMalloc(bytes);
}

static void *fault_memory_realloc(void *old, int bytes)
{
    return fault_memory_strikes(false) ? NULL : fault_memory.plain.xRealloc(old, bytes);
}

/* An SQLite result code. Lookaside memory is switched off: small requests would not be seen. */
static int fault_memory_install(void)
{
    int rc = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &fault_memory.plain);
    sqlite3_mem_methods methods = fault_memory.plain;
    methods.xMalloc = fault_memory_malloc;
    methods.xRealloc = fault_memory_realloc;
    if (rc == SQLITE_OK)
        rc = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    if (rc == SQLITE_OK)
        rc = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1);
    if (rc == SQLITE_OK)
        rc = sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    return rc == SQLITE_OK ? sqlite3_initialize() : rc;
}

static void fault_memory_arm(long n, fault_kind kind)
{
    fault_memory.kind = kind;
    fault_memory.left = n;
    fault_memory.refused = 0;
    fault_memory.armed = true;
}

static long fault_memory_disarm(void)
{
    fault_memory.armed = false;
    return fault_memory.refused;
}

#endif
