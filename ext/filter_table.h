/*
** filter_table.h - the virtual table cuckoo_filter.
**
**      CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000000, fpr=0.001, growth=on, content='users(email)')
*/
#ifndef CUCKOO_FILTER_TABLE_H
#define CUCKOO_FILTER_TABLE_H

#include "options.h"
#include "registry.h"

typedef struct cuckoo_table {
    sqlite3_vtab base;
    cuckoo_registry *registry;
    cuckoo_store *store; /* the filter: to be asked for by cuckoo_table_store */
    char *schema, *name;
    char *content, *column; /* of content='table(column)'; NULL: none */
    bool values;            /* the filter keeps values */
} cuckoo_table;

/* Columns of the table. The value is there only when the filter keeps values (another would hide columns of that name in
** subqueries). The others are hidden:
**
**      the name of the table   commands
**      cuckoo_change           what a trigger tells: 1 a row with this key was inserted, 2 one with the key cuckoo_old deleted,
**                              3 both
**      cuckoo_old              that key
**      cuckoo_row,             the rowid of the row after and before the change; NULL: the table has none
**      cuckoo_old_row
**      cuckoo_id               which row it is: hash of the key and value, 8 bytes each, little-endian, and a byte
**                              that is not 0 when DELETE and UPDATE must leave the row alone (filter_cursor.c)
*/
enum { CUCKOO_ID_BYTES = 17 };
enum cuckoo_column { COLUMN_KEY, COLUMN_VALUE };
enum cuckoo_hidden { HIDDEN_COMMAND, HIDDEN_CHANGE, HIDDEN_OLD, HIDDEN_ROW, HIDDEN_OLD_ROW, HIDDEN_ID };
int cuckoo_table_column(const cuckoo_table *table, enum cuckoo_hidden column);

/* Takes a store for the table, a new one when it is created. SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_table_take(cuckoo_table *table, bool create);

/* Gives it back, and frees the table. */
void cuckoo_table_free(cuckoo_table *table);

/* The filter, also when that of before is dead. NULL: out of memory. */
cuckoo_store *cuckoo_table_store(cuckoo_table *table);

/* Makes `message` (sqlite3_malloc; NULL when there was no memory) the error of the table; the code to return. */
int cuckoo_table_fail(cuckoo_table *table, int code, char *message);

/* The same for what begin and end of a use answer, with the reason; other codes than SQLITE_ERROR, SQLITE_CORRUPT_VTAB
** and SQLITE_IOERR are passed on. */
int cuckoo_table_explain(cuckoo_table *table, int rc, const char *why);

/* Begins and ends a use of the table's filter (store.h), with messages. */
int cuckoo_table_begin(cuckoo_table *table, cuckoo_use use);
int cuckoo_table_end(cuckoo_table *table);

/* xUpdate. */
int cuckoo_table_update(sqlite3_vtab *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

/* INSERT INTO seen(seen, key) VALUES(command, argument): begins and ends the use itself. */
int cuckoo_table_command(cuckoo_table *table, sqlite3_value *command, sqlite3_value *argument);

/* What CREATE VIRTUAL TABLE says. Texts are memory of sqlite3_malloc. */
typedef struct cuckoo_table_plan {
    cuckoo_options options;
    bool has_fpr;
    char *content, *column;
} cuckoo_table_plan;

/* Reads the arguments of the module, argv[3] on. Not SQLITE_OK: *message says what is wrong; NULL: out of memory. */
int cuckoo_table_plan_read(int argc, const char *const *argv, cuckoo_table_plan *plan, char **message);

/* The shape of a new table, with the key rule of the column that it follows, which becomes that of the plan. Asks what only
** CREATE has to ask: tables made before must still connect. Not SQLITE_OK: as above. */
int cuckoo_table_plan_shape(sqlite3 *db, const char *schema, cuckoo_table_plan *plan, cf_geometry *shape,
                            char **message);
void cuckoo_table_plan_free(cuckoo_table_plan *plan);

#endif
