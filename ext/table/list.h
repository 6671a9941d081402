/* SPDX-License-Identifier: MIT */
/*
** list.h - the filter tables of a connection, and what is known about them (registry.h).
*/
#ifndef CUCKOO_LIST_H
#define CUCKOO_LIST_H

#include "../sqlite/register.h"

typedef struct cuckoo_table cuckoo_table; /* table.h */

/* The part of a table that the list uses. */
typedef struct cuckoo_listed {
    cuckoo_table *next;
    unsigned uses; /* uses by name that have not ended (registry.c) */
    bool released; /* SQLite has disconnected it meanwhile */
} cuckoo_listed;

/* A table that was found by its name. It is still the one while the list has not changed. */
typedef struct cuckoo_known {
    cuckoo_table *table; /* NULL: none */
    unsigned changes;
} cuckoo_known;

typedef struct cuckoo_registry {
    cuckoo_shared shared; /* referenced by the modules, their functions, and each table */
    sqlite3 *db;
    cuckoo_table *first; /* the newest table of the list */
    unsigned changes;    /* changes of the list so far */
    unsigned events;     /* so far: tables that joined a transaction, wrote pages, or were rolled back */
    cuckoo_table *planned;    /* the last table for which SQLite planned a query; may be freed */
    char *why;                /* the message of the last cuckoo_registry_begin, unless static */
    bool rebuilds;            /* cf_table_rebuild, which no trigger can call, is running */
    const uint64_t *capacity; /* the argument of cf_table_rebuild; NULL: none */
    cuckoo_known touched;     /* the table whose log was written last (touch.h) */
    int64_t spare;            /* rows of that log that may be written before its length is read again */
    int refused; /* sqlite3_total_changes when a table last failed to join; -1: it did not fail */
} cuckoo_registry;

#endif
