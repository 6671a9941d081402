/* SPDX-License-Identifier: MIT */
/*
** shadow.h - the shadow tables of a persistent filter, here of one named seen.
**
**      CREATE TABLE "seen_page"(no INTEGER PRIMARY KEY, data BLOB)
**              numbered rows of bytes (pages.h; row -1: follow.h)
**      CREATE TABLE "seen_wait"(hash, value, adds, PRIMARY KEY(hash, value))
**              keys without a place (waiting.h)
**
** A filter that follows a table also has its log (log.h), which is no shadow table.
**
** Functions return SQLite codes. Statements are kept, and always reset, so that they block nothing.
*/
#ifndef CUCKOO_SHADOW_H
#define CUCKOO_SHADOW_H

#include "api.h"

/* The statements on the shadow tables: (parameters): columns. */
typedef enum cuckoo_query {
    CUCKOO_READ_PAGE,    /* (no): data */
    CUCKOO_WRITE_PAGE,   /* (no, data) */
    CUCKOO_NEXT_PAGE,    /* (no): the first number of a row from there on */
    CUCKOO_DATA_VERSION, /* (): PRAGMA data_version, which changes when others have committed */
    CUCKOO_WATCH_SCHEMA, /* (): nothing; SQLite prepares it anew when the schema has changed */
    CUCKOO_WAIT,         /* (hash, value, adds): counts them */
    CUCKOO_WAITING,      /* (hash): value, adds of each value */
    CUCKOO_ALL_WAITING,  /* (): hash, value, adds of all */
    CUCKOO_SOME_WAITING, /* (hash, how many): hash and value, from this hash on */
    CUCKOO_WAIT_NO_MORE, /* (hash): takes out its rows with no adds */
    CUCKOO_READ_LOG,     /* (rowid): rowid, old, new of the rows of the log from there on */
    CUCKOO_LAST_LOGGED,  /* (): the largest rowid of the log, NULL if it is empty */
    CUCKOO_EMPTY_LOG,    /* () */
    CUCKOO_QUERIES
} cuckoo_query;

typedef struct cuckoo_shadow {
    sqlite3 *db;
    char *schema, *table; /* of the virtual table */
    int64_t log;          /* the identity of the log (log.h); 0: there is none, or not known yet */
    sqlite3_stmt *statement[CUCKOO_QUERIES];
    unsigned steps; /* of these statements, so far */
    bool busy;      /* a statement runs: a trigger or a view on these tables must not use the filter */
} cuckoo_shadow;

/* `schema` and `table` are copied. After an error, too, cuckoo_shadow_free is called for. */
int cuckoo_shadow_init(cuckoo_shadow *shadow, sqlite3 *db, const char *schema, const char *table);
void cuckoo_shadow_free(cuckoo_shadow *shadow);

/* Finalizes all statements: they lock the tables against DROP. */
void cuckoo_shadow_finalize(cuckoo_shadow *shadow);

/* Creates the tables. *page_bytes is the most bytes of data for which a row fits on one page of the
** database. */
int cuckoo_shadow_create(cuckoo_shadow *shadow, uint32_t *page_bytes);

/* Drops the tables, if they are there; renames them with their virtual table; deletes all rows. */
int cuckoo_shadow_drop(cuckoo_shadow *shadow);
int cuckoo_shadow_rename(cuckoo_shadow *shadow, const char *table);
int cuckoo_shadow_empty(cuckoo_shadow *shadow);

/* Reads up to `bytes` bytes of a page. *length of them were there; 0: there is no such row. */
int cuckoo_shadow_read(cuckoo_shadow *shadow, int64_t no, uint8_t *into, uint64_t bytes,
                       uint64_t *length);

/* Writes a page. sqlite3_last_insert_rowid stays as it is. */
int cuckoo_shadow_write(cuckoo_shadow *shadow, int64_t no, const uint8_t *bytes, uint64_t length);

/* A statement to be stepped and ended, one at a time of each kind. `values` are its parameters,
** which are integers; NULL: it has none, or the caller binds them. SQLITE_CORRUPT_VTAB: a shadow
** table is missing, or not as it was created. */
int cuckoo_shadow_query(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                        sqlite3_stmt **statement);

/* Like sqlite3_step. */
int cuckoo_shadow_step(cuckoo_shadow *shadow, sqlite3_stmt *statement);

/* Resets a statement, which may be NULL. Returns `rc` when
** that is an error, else the code of the last step. */
int cuckoo_shadow_end(sqlite3_stmt *statement, int rc);

/* Runs a statement that returns no rows. */
int cuckoo_shadow_run(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values);

/* Runs a statement. *found is the first value of its first
** row, and unchanged when there is none. */
int cuckoo_shadow_integer(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                          int64_t *found);

/* The transaction that this connection has open on the database of the table. */
typedef enum cuckoo_transaction { CUCKOO_NONE, CUCKOO_READING, CUCKOO_WRITING } cuckoo_transaction;

cuckoo_transaction cuckoo_shadow_transaction(const cuckoo_shadow *shadow);

/* The header says that this is the log; or a random identity is chosen. */
void cuckoo_shadow_set_log(cuckoo_shadow *shadow, int64_t log);
void cuckoo_shadow_new_log(cuckoo_shadow *shadow);

/* The name of a log, by its identity. */
enum { CUCKOO_LOG_NAME = 28 };
void cuckoo_log_name(int64_t log, char name[CUCKOO_LOG_NAME]);

#endif
