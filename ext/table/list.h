/* SPDX-License-Identifier: MIT */
/*
** list.h - what a connection knows of its filter tables (registry.h).
*/
#ifndef CUCKOO_LIST_H
#define CUCKOO_LIST_H

#include "../sqlite/register.h"

typedef struct cuckoo_table cuckoo_table; /* table.h */

/* What the list knows of a table. */
typedef struct cuckoo_listed {
    cuckoo_table *next;
    unsigned uses; /* by its name, that go on (registry.c) */
    bool released; /* by SQLite, meanwhile */
} cuckoo_listed;

/* A table that was found. It is the same one without its name, as long as the list stays. */
typedef struct cuckoo_known {
    cuckoo_table *table; /* NULL: none */
    unsigned changes;
} cuckoo_known;

typedef struct cuckoo_registry {
    cuckoo_shared shared; /* by the modules, their functions, and each table */
    sqlite3 *db;
    cuckoo_table *first; /* of the list, in which the newest one comes first */
    unsigned changes;    /* of the list, so far */
    unsigned events;     /* so far: tables that joined a transaction, wrote pages, or were rolled back */
    cuckoo_table *planned;    /* for which SQLite has planned a query last; may be gone */
    char *why;                /* of the last cuckoo_registry_begin, when it is no static text */
    bool rebuilds;            /* cf_table_rebuild is running, which no trigger can call, */
    const uint64_t *capacity; /* with this one; NULL: none was given */
    cuckoo_known touched;     /* to whose log a row was written last (touch.h) */
    int refused; /* sqlite3_total_changes when a table could not join the transaction; -1: it could */
} cuckoo_registry;

#endif
