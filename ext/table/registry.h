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

/* One reference less; the last one frees the registry. */
void cuckoo_registry_release(void *registry);

/* Puts a table into the list, or takes it out, and frees it when no use of it goes on any more. */
void cuckoo_list_add(cuckoo_registry *registry, cuckoo_table *table);
void cuckoo_list_remove(cuckoo_table *table);

/* A use begins, or has ended, for which the table stays. */
void cuckoo_list_keep(cuckoo_table *table);
void cuckoo_list_give(cuckoo_table *table);

bool cuckoo_list_is_named(const cuckoo_table *table, const char *schema, const char *name);

/* Connects a table, if need be. NULL: it is another kind of table, or *rc is an error. */
cuckoo_table *cuckoo_registry_connect(cuckoo_registry *registry, const char *schema, const char *name,
                                      int *rc);

/* Looks for the table of this name ('seen' or 'main.seen'), which is connected if need be. NULL:
** there is none, or it is another kind of table; *rc is SQLITE_OK then, or an error. */
cuckoo_table *cuckoo_registry_find(cuckoo_registry *registry, const char *name, int *rc);

/* Says that there is no filter table of this name, and which one may be meant. The text lives until
** the next call. */
const char *cuckoo_registry_no_table(cuckoo_registry *registry, sqlite3_value *name);

/* The table joins the transaction, by a nested INSERT of no rows, unless that has just failed: may_join.
** SQLite may connect another table of this name meanwhile. Returns an SQLite code. refuse: something else
** has failed. */
bool cuckoo_registry_may_join(const cuckoo_registry *registry);
int cuckoo_registry_join(cuckoo_table *table);
void cuckoo_registry_refuse(cuckoo_registry *registry);

/* Begins a use (table.h). A filter that follows a table joins first, when the transaction writes to its
** database: an error only when that transaction is gone; otherwise it reads what it needs each time. */
int cuckoo_registry_use(cuckoo_table *table, cuckoo_use use);

/* Begins a use (table.h) of the table that `name` names, within a read transaction. It may be *known
** already, and is afterwards. *table is NULL when no table was found: CUCKOO_NO_TABLE, if that was no
** other error. Otherwise it stays, also after an error, until it is let go: when the use has ended
** (cuckoo_table_end), and all is said of it. After an error *why says what is wrong, until then, or
** until the registry is used again. */
int cuckoo_registry_begin(cuckoo_registry *registry, sqlite3_value *name, cuckoo_known *known,
                          cuckoo_use use, cuckoo_table **table, const char **why);
void cuckoo_registry_let_go(cuckoo_table *table);

/* Remembers the name by which it was found; NULL: it is looked for again. */
void cuckoo_registry_remember(cuckoo_table *table, const char *name, int prepared);

/* Does some work within a use that looks into the filter (CUCKOO_INSPECT), from begin to let_go. After
** an error *why (sqlite3_malloc) says what is wrong: in the words of the work, if it has some. */
typedef int (*cuckoo_work)(cuckoo_table *table, void *data, char **why);
int cuckoo_registry_with(cuckoo_registry *registry, sqlite3_value *name, cuckoo_work work, void *data,
                         char **why);

#define CUCKOO_UNREAD_TABLE                                                                             \
    "the table was written into the schema as a row, as reading a dump does, and SQLite has not read "  \
    "it yet: open a new connection, or run PRAGMA writable_schema=RESET, if this SQLite knows that"
#define CUCKOO_BARRED_TABLE "SQLite cannot read it: SELECT * FROM the table says why"

#endif
