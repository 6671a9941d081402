/* SPDX-License-Identifier: MIT */
/*
** shadow.h - the shadow tables of a filter table, here of one named seen.
**
**      CREATE TABLE "seen_page"(no INTEGER PRIMARY KEY, data BLOB)
**              numbered rows of bytes (pages.h; row -1: follow.h)
**      CREATE TABLE "seen_log"(hash, n, tag DEFAULT (random()))
**              changes of hashed keys that are not in the pages yet (log.h)
**
** A synced filter also has a log of raw keys (log.h), which is not a shadow table.
**
** Rows and tables may be corrupt, so nothing in them is trusted (pages.h). Functions return SQLite
** codes. After SQLITE_CORRUPT_VTAB and SQLITE_TOOBIG cuckoo_shadow_why says what is wrong.
*/
#ifndef CUCKOO_SHADOW_H
#define CUCKOO_SHADOW_H

#include "../sqlite/api.h"

/* The statements on the shadow tables: (parameters): columns. */
typedef enum cuckoo_query {
    CUCKOO_READ_PAGE,    /* (no): data */
    CUCKOO_WRITE_PAGE,   /* (no, data) */
    CUCKOO_NEXT_PAGE,    /* (no): the first number of a row from there on */
    CUCKOO_ODD_PAGE,     /* (pages, bytes): a row with a number or a length that no page has */
    CUCKOO_EMPTY_PAGES,  /* (): deletes all pages and the header */
    CUCKOO_WATCH_SCHEMA, /* (): NULL; SQLite prepares it again when the schema has changed */
    CUCKOO_DRAIN,        /* (pointer): runs cf_drain as one statement (drain.c) */
    CUCKOO_READ_OWN,     /* (rowid): hash, n, rowid, tag of the rows of seen_log from there on */
    CUCKOO_WRITE_OWN,    /* (hash, n) */
    CUCKOO_EMPTY_OWN,    /* () */
    CUCKOO_READ_STAMP,   /* (): 1 if seen_log has the stamp (log.h) */
    CUCKOO_WRITE_STAMP,  /* () */
    /* The log of a synced filter; these are the last ones. */
    CUCKOO_READ_LOG,    /* (rowid): old, new, rowid, tag of the rows from there on */
    CUCKOO_READ_PAIRS,  /* the same, and old_row, new_row (rowids=on) */
    CUCKOO_READ_KEYS,   /* (): old, new of all rows */
    CUCKOO_LAST_LOGGED, /* (): rowid, tag of the last row, if there is one */
    CUCKOO_EMPTY_LOG,   /* () */
    CUCKOO_QUERIES
} cuckoo_query;

typedef struct cuckoo_shadow {
    sqlite3 *db;
    char *schema, *table; /* of the virtual table */
    bool rowids;          /* keys have rowids (rowids=on) */
    int64_t log;          /* the identity of the log (log.h); 0: no log, or not known yet */
    sqlite3_stmt *statement[CUCKOO_QUERIES];
    char *damage;   /* what is wrong with the tables (sqlite3_malloc), or NULL */
    bool stepped;   /* a statement has run since the last use began or ended (table.c) */
    unsigned holds; /* uses that keep CUCKOO_WATCH_SCHEMA on its row */
    bool busy;      /* a statement runs: triggers and views on these tables must not use the filter */
} cuckoo_shadow;

/* Copies the names. Call cuckoo_shadow_free even after SQLITE_NOMEM. */
int cuckoo_shadow_init(cuckoo_shadow *shadow, sqlite3 *db, const char *schema, const char *table);
void cuckoo_shadow_free(cuckoo_shadow *shadow);

/* Finalizes one statement, or all statements on the tables, which would prevent DROP TABLE. */
void cuckoo_shadow_let_go(cuckoo_shadow *shadow, cuckoo_query query);
void cuckoo_shadow_finalize(cuckoo_shadow *shadow);

/* Creates the tables. *page_bytes: the most data bytes of a row that fits on one database page. */
int cuckoo_shadow_create(cuckoo_shadow *shadow, uint32_t *page_bytes);

/* SQLITE_TOOBIG if rows of this many data bytes cannot be written (SQLITE_LIMIT_LENGTH). */
int cuckoo_shadow_fits(cuckoo_shadow *shadow, uint32_t page_bytes);

/* SQLITE_CORRUPT_VTAB if a table is missing or has no key, so that rows cannot be written. */
int cuckoo_shadow_check(cuckoo_shadow *shadow);

/* Renames the tables with their virtual table. */
int cuckoo_shadow_rename(cuckoo_shadow *shadow, const char *table);

/* Drops the tables, or views that have replaced them, if they exist. */
int cuckoo_shadow_drop(cuckoo_shadow *shadow);

/* Reads a row of seen_page and copies up to `bytes` bytes. *length is the length of the row; 0: there is
** no row. SQLITE_CORRUPT_VTAB: not a blob, or empty. */
int cuckoo_shadow_read(cuckoo_shadow *shadow, int64_t no, uint8_t *into, uint64_t bytes,
                       uint64_t *length);

/* Writes a row of seen_page. sqlite3_last_insert_rowid does not change. */
int cuckoo_shadow_write(cuckoo_shadow *shadow, int64_t no, const uint8_t *bytes, uint64_t length);

/* Notes that a row of seen_page is corrupt. Returns SQLITE_CORRUPT_VTAB or SQLITE_NOMEM. */
int cuckoo_shadow_bad_row(cuckoo_shadow *shadow, int64_t no);

/* The last message about corruption, or that the tables cannot be read. */
const char *cuckoo_shadow_why(const cuckoo_shadow *shadow);

/* Prepares a statement, or reuses the one that was prepared before, and binds its parameters to the
** integers `values`; NULL: the caller binds them. SQLITE_CORRUPT_VTAB: a table is missing or was
** changed. _step steps it, and _end resets it and returns `rc` or the error of the last step. */
int cuckoo_shadow_query(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                        sqlite3_stmt **statement);
int cuckoo_shadow_step(cuckoo_shadow *shadow, sqlite3_stmt *statement);
int cuckoo_shadow_end(cuckoo_shadow *shadow, sqlite3_stmt *statement, int rc);

/* Steps a statement that writes one row, and resets it. After an error nothing is written.
** SQLITE_CORRUPT_VTAB: a trigger has prevented the write. */
int cuckoo_shadow_write_one(cuckoo_shadow *shadow, sqlite3_stmt *statement);

/* Runs a statement; *found is the first value of its first row, and unchanged without a row. */
int cuckoo_shadow_run(cuckoo_shadow *shadow, cuckoo_query query);
int cuckoo_shadow_integer(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                          int64_t *found);

/* Opens a read transaction, which ends when each hold has been released. *prepared: how many times
** SQLite has prepared CUCKOO_WATCH_SCHEMA. While this number is the same, the schemas of this database
** and of temp have not changed, no schema was detached, and the authorizer is the same. After an error
** nothing is held. */
int cuckoo_shadow_hold(cuckoo_shadow *shadow, int *prepared);
void cuckoo_shadow_release(cuckoo_shadow *shadow);

/* True if the read transaction outlives our hold; otherwise it ends here. Release it in either case. */
bool cuckoo_shadow_is_within(cuckoo_shadow *shadow);

/* The number that cuckoo_shadow_hold sets, as far as it is known without reading the database; the same
** from the database, with nothing held; and true if it is still `prepared`. */
int cuckoo_shadow_prepared(const cuckoo_shadow *shadow);
int cuckoo_shadow_schema(cuckoo_shadow *shadow, int *prepared);
bool cuckoo_shadow_is_same_schema(cuckoo_shadow *shadow, int prepared);

/* True if the connection has a transaction, or a write transaction (`writing`), on this database. */
bool cuckoo_shadow_in_transaction(const cuckoo_shadow *shadow, bool writing);

/* SQLITE_FCNTL_DATA_VERSION of the database, which changes when other connections commit. It is known
** only within a read transaction. */
int cuckoo_shadow_version(const cuckoo_shadow *shadow, unsigned *version);

/* Sets the identity of the log, from the header or a new random one. */
void cuckoo_shadow_set_log(cuckoo_shadow *shadow, int64_t log);
void cuckoo_shadow_new_log(cuckoo_shadow *shadow);

/* The format of the name of a log; its argument is the identity. */
#define CUCKOO_LOG "cuckoo_log_%016llx"

#endif
