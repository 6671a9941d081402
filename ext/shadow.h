/*
** shadow.h - the shadow tables of a persistent filter.
**
**      CREATE TABLE "seen_page"(no INTEGER PRIMARY KEY, data BLOB)                    rows of bytes, by number (pages.h,
**                                                                                     follow.h)
**      CREATE TABLE "seen_wait"(hash, value, adds, deletes, PRIMARY KEY(hash, value)) what is still to do (waiting.h)
**
** Functions answer SQLite codes. Statements are kept, and always reset, so that nothing is blocked.
*/
#ifndef CUCKOO_SHADOW_H
#define CUCKOO_SHADOW_H

#include "api.h"

/* The statements on the shadow tables. */
typedef enum cuckoo_query {
    CUCKOO_READ_PAGE,     /* (no): data */
    CUCKOO_WRITE_PAGE,    /* (no, data) */
    CUCKOO_NEXT_PAGE,     /* (no): the first number of a row from there on */
    CUCKOO_DATA_VERSION,  /* (): as PRAGMA data_version */
    CUCKOO_WATCH_SCHEMA,  /* (): nothing; is prepared anew when the schema has changed */
    CUCKOO_WAIT,          /* (hash, value, adds, deletes): counts them */
    CUCKOO_WAITING,       /* (hash): value, adds, deletes of each value */
    CUCKOO_ALL_WAITING,   /* (): hash, value, adds, deletes of all */
    CUCKOO_SOME_WAITING,  /* (hash, how many): hash and value of adds, from this hash on */
    CUCKOO_DELETES_DONE,  /* (): sets the deletes off against the adds */
    CUCKOO_WAIT_NO_MORE,  /* (hash): takes out its rows with nothing to do */
    CUCKOO_NOTHING_WAITS, /* (): takes out all of those */
    CUCKOO_QUERIES
} cuckoo_query;

typedef struct cuckoo_shadow {
    sqlite3 *db;
    char *schema, *table; /* of the virtual table */
    sqlite3_stmt *statement[CUCKOO_QUERIES];
    bool busy; /* a row is being read or written: a trigger or a view there must not use the filter */
} cuckoo_shadow;

/* `schema` and `table` are copied. To be freed in any case. */
int cuckoo_shadow_init(cuckoo_shadow *shadow, sqlite3 *db, const char *schema, const char *table);
void cuckoo_shadow_free(cuckoo_shadow *shadow);

/* Creates the tables. *page_bytes is how many bytes of data a page may have, so that it fits on one database page. */
int cuckoo_shadow_create(cuckoo_shadow *shadow, uint32_t *page_bytes);

/* Drops them, if they are there; renames them with their virtual table; deletes all rows. */
int cuckoo_shadow_drop(cuckoo_shadow *shadow);
int cuckoo_shadow_rename(cuckoo_shadow *shadow, const char *table);
int cuckoo_shadow_empty(cuckoo_shadow *shadow);

/* Reads up to `bytes` bytes of a page; *length of them were there, 0 when there is no such row. */
int cuckoo_shadow_read(cuckoo_shadow *shadow, int64_t no, uint8_t *into, uint64_t bytes,
                       uint64_t *length);

/* Writes a page. sqlite3_last_insert_rowid stays as it is. */
int cuckoo_shadow_write(cuckoo_shadow *shadow, int64_t no, const uint8_t *bytes, uint64_t length);

/* A statement to be bound, stepped and ended; one at a time of each kind. A table that is missing, or not as it was
** created: SQLITE_CORRUPT_VTAB. */
int cuckoo_shadow_query(cuckoo_shadow *shadow, cuckoo_query query, sqlite3_stmt **statement);

/* As sqlite3_step, and sqlite3_reset. */
int cuckoo_shadow_step(cuckoo_shadow *shadow, sqlite3_stmt *statement);
int cuckoo_shadow_end(cuckoo_shadow *shadow, sqlite3_stmt *statement);

/* Steps a statement that answers no rows, and ends it. */
int cuckoo_shadow_run(cuckoo_shadow *shadow, cuckoo_query query);

/* Each frees the SQL it is given (NULL: SQLITE_NOMEM). The first runs it, the second prepares it. The third runs it, and *text
** (sqlite3_malloc) is the first value of its first row, NULL if there is none. */
int cuckoo_shadow_execute(const cuckoo_shadow *shadow, char *sql);
int cuckoo_shadow_prepare(const cuckoo_shadow *shadow, char *sql, sqlite3_stmt **statement);
int cuckoo_shadow_text(const cuckoo_shadow *shadow, char *sql, char **text);

/* The transaction that this connection has open on the database of the table. */
typedef enum cuckoo_transaction { CUCKOO_NONE, CUCKOO_READING, CUCKOO_WRITING } cuckoo_transaction;

cuckoo_transaction cuckoo_shadow_transaction(const cuckoo_shadow *shadow);

/* PRAGMA data_version: changes when other connections have committed. */
int cuckoo_shadow_version(cuckoo_shadow *shadow, int64_t *version);

#endif
