/* SPDX-License-Identifier: MIT */
/*
** registry.h - the filter tables of a connection, by name.
*/
#ifndef CUCKOO_REGISTRY_H
#define CUCKOO_REGISTRY_H

#include "../functions/filters.h"
#include "table.h"

/* The table whose log has this identity, in this schema; or else the one of this name. NULL: there
** is none. */
cuckoo_table *cuckoo_registry_of_log(const cuckoo_registry *registry, int64_t log, const char *schema,
                                     const char *name);

/* Looks for the table of this name ('seen' or 'main.seen'), which is connected if need be. NULL:
** there is none, or it is another kind of table; *rc is SQLITE_OK then, or an error. */
cuckoo_table *cuckoo_registry_find(cuckoo_registry *registry, const char *name, int *rc);

/* Says that there is no filter table of this name, and which one may be meant. The text lives until
** the next call. */
const char *cuckoo_registry_no_table(cuckoo_registry *registry, sqlite3_value *name);

/* The table takes part in the transaction: a nested INSERT writes to it, and changes nothing. SQLite may
** connect another table of this name meanwhile. Returns an SQLite code. */
int cuckoo_registry_join(cuckoo_registry *registry, const char *schema, const char *name);

/* The same for a filter that follows a table, when the transaction writes to its database. If it
** fails, nothing happens. */
void cuckoo_registry_join_writer(cuckoo_registry *registry, cuckoo_table *table);

/* A table that was found. It is the same one without its name, as long as the list stays. */
typedef struct cuckoo_known {
    cuckoo_table *table; /* NULL: none */
    unsigned changes;
} cuckoo_known;

/* Begins a use (table.h) of the table that `name` names, within a read transaction. It may be *known
** already, and is afterwards. *table is NULL when no table was found. Otherwise it stays, also after an
** error, until it is let go: when the use has ended (cuckoo_table_end), and all is said of it. After an
** error *why says what is wrong, until then, or until the registry is used again. */
int cuckoo_registry_begin(cuckoo_registry *registry, sqlite3_value *name, cuckoo_known *known,
                          cuckoo_use use, cuckoo_table **table, const char **why);
void cuckoo_registry_let_go(cuckoo_table *table);

#endif
