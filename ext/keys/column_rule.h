/* SPDX-License-Identifier: MIT */
/*
** column_rule.h - the key rule of a column: how SQLite compares what is in it.
*/
#ifndef CUCKOO_COLUMN_RULE_H
#define CUCKOO_COLUMN_RULE_H

#include "../sqlite/api.h"

/* The declared type of a column of an ordinary table, or of its rowid, and its collation: texts of
** SQLite, until the next statement; a pointer may be NULL. SQLITE_ERROR: there is none. (Of a virtual
** table that is not connected yet SQLite 3.53 cannot tell: it crashes.) */
int cuckoo_column_look(sqlite3 *db, const char *schema, const char *table, const char *column,
                       const char **type, const char **collation);

/* The same of another column, when that has found one: it does not search the schema again. */
int cuckoo_column_look_on(sqlite3 *db, const char *schema, const char *table, const char *column,
                          const char **type, const char **collation);

/*
** Sets affinity and collation of *into to those of a column of a table, or of its rowid. Returns
** SQLITE_OK, or an error with *into unchanged. There is a message (sqlite3_malloc) when
**
** - there is no such table or column (a view is no table): it names the columns;
** - the collation of the column is not BINARY, NOCASE or RTRIM;
** - the application has registered another collation under one of these names.
*/
int cuckoo_column_rule(sqlite3 *db, const char *schema, const char *table, const char *column,
                       cf_options *into, char **message);

/* Can a filter follow this table? SQLITE_ERROR, with a message (sqlite3_malloc): it is no ordinary
** table. A table that is not there is not an error here. */
int cuckoo_column_table(sqlite3 *db, const char *schema, const char *table, char **message);

/* Can no two rows have one key, as the column compares, by a UNIQUE index or the primary key? False, if
** SQLite would not let a row be inserted. */
int cuckoo_column_is_unique(sqlite3 *db, const char *schema, const char *table, const char *column,
                            const char *collation, bool *is);

/* Makes *capacity a quarter more than the column has keys, if they are more than *capacity. `repeats`:
** counts those that are in many rows once. SQLITE_ERROR: a row cannot be read, and there is a
** message. */
int cuckoo_column_capacity(sqlite3 *db, const char *schema, const char *table, const char *column,
                           bool repeats, uint64_t *capacity, char **message);

/* The affinity of a column of this declared type, as the type to declare for it (static text); "": none,
** also after an error. Returns an SQLite code. */
int cuckoo_column_affinity(sqlite3 *db, const char *schema, const char *table, const char *type,
                           const char **word);

/* One column of an ordinary table, as content= takes it: 'users(email)' (sqlite3_malloc). NULL: there is
** no such table, or it cannot be read. */
char *cuckoo_column_example(sqlite3 *db, const char *schema, const char *table);

/* A filter table whose CREATE says that it follows this table (sqlite3_malloc). NULL: none is known. */
char *cuckoo_column_follower(sqlite3 *db, const char *table);

#endif
