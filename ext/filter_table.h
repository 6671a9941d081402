/*
** filter_table.h - one persistent filter: a virtual table cuckoo_filter in one connection.
**
**      CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000000, fpr=0.001, growth=on, content='users(email)')
**
** All tables of a connection that are connected stand in one registry, so that functions find them by name.
*/
#ifndef CUCKOO_FILTER_TABLE_H
#define CUCKOO_FILTER_TABLE_H

#include "handle.h"
#include "options.h"
#include "pages.h"

typedef struct cuckoo_table {
    sqlite3_vtab base;
    cuckoo_paged paged;
    char *content, *column; /* of content='table(column)'; NULL: none */
    bool values;            /* the filter keeps values */
    struct cuckoo_registry *registry;
    struct cuckoo_table *next;
    uintptr_t
        id; /* of the table under its name: another after a rename, and never used again in the connection */
} cuckoo_table;

typedef struct cuckoo_registry {
    sqlite3 *db;
    cuckoo_table *first;
    cuckoo_table *planned; /* the one that SQLite has planned a query on last; may be gone */
    uintptr_t last_id;
    sqlite3_stmt *hold;  /* keeps a read transaction open while a function runs */
    unsigned references; /* of the module and of each function */
} cuckoo_registry;

/* Columns of the table: key; value, only when the filter keeps values (another would hide columns of that name in
** subqueries); last and hidden, that of commands, which has the name of the table. */
enum cuckoo_column { COLUMN_KEY, COLUMN_VALUE };

/* Makes `message` (sqlite3_malloc; NULL when there was no memory) the error of the table; the code to return. */
int cuckoo_table_fail(cuckoo_table *table, int code, char *message);

/* The same for SQLITE_CORRUPT_VTAB, because of `why`; other codes are passed on. */
int cuckoo_table_damaged(cuckoo_table *table, int rc, const char *why);

/* Begins and ends a use of the table's filter (pages.h), with messages. */
int cuckoo_table_begin(cuckoo_table *table);
int cuckoo_table_end(cuckoo_table *table);

/* An empty filter of the table's geometry in memory of its own (sqlite3_malloc), which may grow; and putting such a filter in
** the place of the table's, or freeing it when rc is an error, which is passed on. The table's use has begun. */
bool cuckoo_table_blank(const cuckoo_table *table, cf_filter *blank);
int cuckoo_table_replace(cuckoo_table *table, cf_filter *filter, int rc);

/* xUpdate. */
int cuckoo_table_update(sqlite3_vtab *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

cuckoo_registry *cuckoo_registry_new(sqlite3 *db);

/* One user less; the last one frees it. */
void cuckoo_registry_release(void *registry);

/* Registers the functions that take a table by its name, or takes them back (NULL). */
int cuckoo_register_table_functions(sqlite3 *db, cuckoo_registry *registry);

/* Registers cf_buckets, cf_explain and cf_table_buckets, or takes them back (NULL). */
int cuckoo_register_inside(sqlite3 *db, cuckoo_registry *registry);

/* A copy of the filter of the table that `name` names, as it is now, with one reference for the caller. Not SQLITE_OK:
** *message (sqlite3_malloc) says what is wrong. */
int cuckoo_table_snapshot(cuckoo_registry *registry, sqlite3_value *name, cuckoo_handle **snapshot,
                          char **message);

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

/* The table of this name ('seen' or 'main.seen'), connected when it was not. NULL: there is none, or it is another kind of
** table; *rc is SQLITE_OK then, or an error. */
cuckoo_table *cuckoo_table_find(cuckoo_registry *registry, const char *name, int *rc);

/* The table of this id, if it is still connected; else NULL. */
cuckoo_table *cuckoo_table_of_id(const cuckoo_registry *registry, uintptr_t id);

/* Triggers that keep the table in step with its content, named "<table>_inserted", "_deleted", "_updated". */
int cuckoo_content_follow(cuckoo_table *table);
int cuckoo_content_leave(cuckoo_table *table);

/* Empties the filter and adds all of the content. *message (sqlite3_malloc) says why not. */
int cuckoo_content_rebuild(cuckoo_table *table, char **message);

#endif
