/*
** registry.h - the persistent filters of a connection, by name.
*/
#ifndef CUCKOO_REGISTRY_H
#define CUCKOO_REGISTRY_H

#include "handle.h"
#include "store.h"

typedef struct cuckoo_registry {
    sqlite3 *db;
    cuckoo_store *first;
    cuckoo_store *planned; /* of the table that SQLite has planned a query on last; may be gone */
    uintptr_t last_id;
    bool rebuilds;       /* cf_table_rebuild runs, which no trigger can call */
    sqlite3_stmt *hold;  /* keeps a read transaction open while a function runs */
    unsigned references; /* of the module, of each function, and of each table */
} cuckoo_registry;

/* One user. NULL: out of memory. */
cuckoo_registry *cuckoo_registry_new(sqlite3 *db);

/* One user less; the last one frees it. */
void cuckoo_registry_release(void *registry);

/* The store of this name, with one reference more; made when there is none (*made). `fresh`: of a table that is new:
** stores of that name are dead. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_registry_take(cuckoo_registry *registry, const char *schema, const char *name, bool fresh,
                         cuckoo_store **store, bool *made);

/* Gives it back. */
void cuckoo_registry_give(cuckoo_registry *registry, cuckoo_store *store);

/* The store of this id, if its table is still connected; else NULL. */
cuckoo_store *cuckoo_registry_of_id(const cuckoo_registry *registry, uintptr_t id);

/* The store of the table of this name ('seen' or 'main.seen'), connected when it was not. NULL: there is none, or it is
** another kind of table; *rc is SQLITE_OK then, or an error. */
cuckoo_store *cuckoo_registry_find(cuckoo_registry *registry, const char *name, int *rc);

/* A copy of the filter of the table that `name` names, as it is now, with one reference for the caller. Not SQLITE_OK:
** *message (sqlite3_malloc) says what is wrong. */
int cuckoo_table_snapshot(cuckoo_registry *registry, sqlite3_value *name, cuckoo_handle **snapshot,
                          char **message);

/* Registers the functions that take a table by its name, or takes them back (NULL). */
int cuckoo_register_table_functions(sqlite3 *db, cuckoo_registry *registry);

/* Registers cf_buckets, cf_explain and cf_table_buckets, or takes them back (NULL). */
int cuckoo_register_inside(sqlite3 *db, cuckoo_registry *registry);

#endif
