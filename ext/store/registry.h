/* SPDX-License-Identifier: MIT */
/*
** registry.h - the filter tables of a connection, by name.
*/
#ifndef CUCKOO_REGISTRY_H
#define CUCKOO_REGISTRY_H

#include "../functions/filters.h"
#include "store.h"

typedef struct cuckoo_registry {
    sqlite3 *db;
    cuckoo_store *first;
    cuckoo_store *orphans; /* stores whose tables went while they were in use */
    cuckoo_store *planned; /* of the table for which SQLite has planned a query last; may be gone */
    uintptr_t last_id;
    char *why;                /* of the last cuckoo_registry_begin, when it is no static text */
    bool rebuilds;            /* cf_table_rebuild is running, which no trigger can call, */
    const uint64_t *capacity; /* with this one; NULL: none was given */
    bool refused;        /* a table could not join the transaction: the next try has to wait until */
    int refused_at;      /* the connection has changed more rows than so many */
    unsigned references; /* of the module, of each function, and of each table */
} cuckoo_registry;

/* A new registry with one reference. NULL: out of memory. */
cuckoo_registry *cuckoo_registry_new(sqlite3 *db);

/* One reference less; the last one frees the registry. */
void cuckoo_registry_release(void *registry);

/* Gives the store of this name one reference more, or makes a store (*made). `fresh`: the table is
** new, and stores of that name are dead. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_registry_take(cuckoo_registry *registry, const char *schema, const char *name, bool fresh,
                         cuckoo_store **store, bool *made);

/* The store whose log has this identity, in this schema; or else the one of this name. NULL: there
** is none. */
cuckoo_store *cuckoo_registry_of_log(const cuckoo_registry *registry, int64_t log, const char *schema,
                                     const char *name);

/* One reference less; the last one frees the store. */
void cuckoo_registry_give(cuckoo_registry *registry, cuckoo_store *store);

/* Looks for the table of this name ('seen' or 'main.seen'), which is connected if need be. NULL:
** there is none, or it is another kind of table; *rc is SQLITE_OK then, or an error. */
cuckoo_store *cuckoo_registry_find(cuckoo_registry *registry, const char *name, int *rc);

/* Says that there is no filter table of this name, and which one may be meant. The text lives until
** the next call. */
const char *cuckoo_registry_no_table(cuckoo_registry *registry, sqlite3_value *name);

/* The table takes part in the transaction: a nested INSERT writes to it, and changes nothing. SQLite may
** connect another table of this name meanwhile. Returns an SQLite code. */
int cuckoo_registry_join(cuckoo_registry *registry, const char *schema, const char *name);

/* The same for a filter that follows a table, when the transaction writes to its database. If it
** fails, nothing happens. */
void cuckoo_registry_join_writer(cuckoo_registry *registry, cuckoo_store *store);

/* Begins a use (store.h) of the table that `name` names, within a read transaction. `known`: the id
** of the store, if it was the same before; else 0. After an error *why says what is wrong, until the
** registry is used again, and the use has ended. *store is NULL when no table was found. The second one
** ends a use; an error as in cuckoo_store_end. */
int cuckoo_registry_begin(cuckoo_registry *registry, sqlite3_value *name, uintptr_t known,
                          cuckoo_use use, cuckoo_store **store, const char **why);
int cuckoo_registry_end(cuckoo_store *store);

#define CUCKOO_UNREAD_TABLE                                                                             \
    "the table was written into the schema as a row, as reading a dump does, and SQLite has not read "  \
    "it yet: connect anew, or run PRAGMA writable_schema=RESET, if this SQLite knows that"
#define CUCKOO_BARRED_TABLE "SQLite cannot read it: SELECT * FROM the table says why"

#endif
