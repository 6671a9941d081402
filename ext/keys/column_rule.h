/* SPDX-License-Identifier: MIT */
/*
** column_rule.h - the key rule of a column: how SQLite compares its values.
*/
#ifndef CUCKOO_COLUMN_RULE_H
#define CUCKOO_COLUMN_RULE_H

#include "../sqlite/api.h"

/* The declared type and the collation of a column of an ordinary table, or of its rowid, as texts that
** are valid until the next statement. Either pointer may be NULL. SQLITE_ERROR: there is no such column.
** SQLite 3.53 crashes for a virtual table that is not connected, so those are SQLITE_ERROR. The second
** function is for more columns of a table that the first one found: it does not search the schema. */
int cuckoo_column_look(sqlite3 *db, const char *schema, const char *table, const char *column,
                       const char **type, const char **collation);
int cuckoo_column_look_on(sqlite3 *db, const char *schema, const char *table, const char *column,
                          const char **type, const char **collation);

/* Copies affinity and collation of a column, or of the rowid, to *into. After an error *into is
** unchanged. There is a message (sqlite3_malloc) if
**
** - there is no such table or column; it names the columns (a view is not a table);
** - the collation of the column is not BINARY, NOCASE or RTRIM;
** - the application has replaced one of these collations.
*/
int cuckoo_column_rule(sqlite3 *db, const char *schema, const char *table, const char *column,
                       cf_options *into, char **message);

/* SQLITE_ERROR and a message (sqlite3_malloc) if this is not an ordinary table, with which a filter can
** stay in sync. A missing table is no error here. */
int cuckoo_column_table(sqlite3 *db, const char *schema, const char *table, char **message);

/* Sets *is to true if a UNIQUE index or the primary key prevents two rows with the same key. False if
** SQLite does not allow INSERT into the table. */
int cuckoo_column_is_unique(sqlite3 *db, const char *schema, const char *table, const char *column,
                            const char *collation, bool *is);

/* The capacity for this many keys: 25 % more, unless it is enough as it is. */
static inline uint64_t cuckoo_column_room(uint64_t keys, uint64_t capacity)
{
    return keys > capacity ? keys + keys / 4 : capacity;
}

/* Sets *capacity to that for the keys of the column. `repeats`: counts keys that are equal by this rule
** once. SQLITE_ERROR and a message if a row cannot be read. */
int cuckoo_column_capacity(sqlite3 *db, const char *schema, const char *table, const char *column,
                           const cf_options *rule, bool repeats, uint64_t *capacity, char **message);

/* A name of the rowid of the table that none of its columns has (static text); NULL: there is none. */
int cuckoo_column_rowid(sqlite3 *db, const char *schema, const char *table, const char **name);

/* True in *kept if VACUUM keeps the rowids, because they are an INTEGER PRIMARY KEY. */
int cuckoo_column_keeps_rowids(sqlite3 *db, const char *schema, const char *table, bool *kept);

/* Sets *rows to the number of rows, and *bits to the value bits that nearly all rowids need, with one
** bit to spare. SQLITE_ERROR and a message (sqlite3_malloc) if the table has no rowids. */
int cuckoo_column_rowid_bits(sqlite3 *db, const char *schema, const char *table, const char *column,
                             uint64_t *rows, unsigned *bits, char **message);

/* A type with the affinity of this declared type, to declare a column (static text, "" for none), and
** the affinity, unless that pointer is NULL. */
int cuckoo_column_affinity(sqlite3 *db, const char *schema, const char *table, const char *type,
                           const char **name, cf_affinity *affinity);

#endif
