/* SPDX-License-Identifier: MIT */
/*
** registry.h - the filter tables of a connection, by name.
*/
#ifndef CUCKOO_REGISTRY_H
#define CUCKOO_REGISTRY_H

#include "../functions/filters.h"
#include "table.h"

/* A new registry with one reference. NULL: out of memory. */
cuckoo_registry *cuckoo_registry_new(sqlite3 *db);

/* Releases a reference; the last one frees the registry. */
void cuckoo_registry_release(void *registry);

/* Adds a table to the list, or removes it, and frees it once no use of it goes on. */
void cuckoo_list_add(cuckoo_registry *registry, cuckoo_table *table);
void cuckoo_list_remove(cuckoo_table *table);

/* Begins or ends a use, during which the table is not freed. */
void cuckoo_list_keep(cuckoo_table *table);
void cuckoo_list_give(cuckoo_table *table);

bool cuckoo_list_is_named(const cuckoo_table *table, const char *schema, const char *name);

/* Connects a table, if necessary. NULL: it is another kind of table, or *rc is an error. */
cuckoo_table *cuckoo_registry_connect(cuckoo_registry *registry, const char *schema, const char *name,
                                      int *rc);

/* Finds the table of this name ('seen' or 'main.seen'), and connects it if necessary. NULL: there is
** none, or it is another kind of table, and *rc is SQLITE_OK; or *rc is an error. */
cuckoo_table *cuckoo_registry_find(cuckoo_registry *registry, const char *name, int *rc);

/* The message for a missing filter table, with the possible names. Valid until the next call. */
const char *cuckoo_registry_no_table(cuckoo_registry *registry, sqlite3_value *name);

/* Lets the table join the transaction, by a nested INSERT of zero rows, unless that has just failed
** (may_join). SQLite may connect another table of this name meanwhile. Returns an SQLite code. refuse:
** call it if something else has failed. */
bool cuckoo_registry_may_join(const cuckoo_registry *registry);
int cuckoo_registry_join(cuckoo_table *table);
void cuckoo_registry_refuse(cuckoo_registry *registry);

/* Begins a use (table.h). If the transaction writes to its database, a synced filter joins first. That
** is an error only if the transaction was rolled back; otherwise the filter reads again for each use. */
int cuckoo_registry_use(cuckoo_table *table, cuckoo_use use);

/* Begins a use (table.h) of the table that `name` names, within a read transaction. *known may already
** have the table, and has it afterwards. *table is NULL if no table was found, and the code is
** CUCKOO_NO_TABLE or another error. Otherwise the table is held, even after an error, until
** cuckoo_registry_let_go: call it after the use has ended (cuckoo_table_end) and its error is reported.
** After an error *why is the reason, valid until then, or until the registry is used again. */
int cuckoo_registry_begin(cuckoo_registry *registry, sqlite3_value *name, cuckoo_known *known,
                          cuckoo_use use, cuckoo_table **table, const char **why);
void cuckoo_registry_let_go(cuckoo_table *table);

/* Remembers the name by which the table was found; NULL: it must be looked up again. */
void cuckoo_registry_remember(cuckoo_table *table, const char *name, int prepared);

/* Does some work within a use that reads the filter itself (CUCKOO_INSPECT), from begin to let_go. After
** an error *why (sqlite3_malloc) is the reason, from the work itself if it gives one. */
typedef int (*cuckoo_work)(cuckoo_table *table, void *data, char **why);
int cuckoo_registry_with(cuckoo_registry *registry, sqlite3_value *name, cuckoo_work work, void *data,
                         char **why);

#define CUCKOO_UNREAD_TABLE                                                                             \
    "the table was written into the schema as a row, as reading a dump does, and SQLite has not read "  \
    "it yet: open a new connection, or run PRAGMA writable_schema=RESET, if this SQLite knows that"
#define CUCKOO_BARRED_TABLE "SQLite cannot read it: SELECT * FROM the table says why"

#endif
