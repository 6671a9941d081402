/* SPDX-License-Identifier: MIT */
/*
** shadow.h - the shadow tables of a filter table, here of one named seen.
**
**      CREATE TABLE "seen_page"(no INTEGER PRIMARY KEY, data BLOB)
**              numbered rows of bytes (pages.h; row -1: follow.h)
**      CREATE TABLE "seen_log"(hash, n, tag DEFAULT (random()))
**              changes of hashed keys that are not in the pages yet (log.h)
**
** A filter that follows a table also has a log of raw keys (log.h), which is no shadow table.
**
** Rows and tables may be damaged: nothing that stands in them is believed (pages.h).
**
** Functions return SQLite codes. After SQLITE_CORRUPT_VTAB cuckoo_shadow_why says what is wrong.
*/
#ifndef CUCKOO_SHADOW_H
#define CUCKOO_SHADOW_H

#include "../sqlite/api.h"

/* The statements on the shadow tables: (parameters): columns. */
typedef enum cuckoo_query {
    CUCKOO_READ_PAGE,    /* (no): data */
    CUCKOO_WRITE_PAGE,   /* (no, data) */
    CUCKOO_NEXT_PAGE,    /* (no): the first number of a row from there on */
    CUCKOO_ODD_PAGE,     /* (pages, bytes): a row of a page that is not one of so many, or not so long */
    CUCKOO_EMPTY_PAGES,  /* (): all of them, and the header */
    CUCKOO_WATCH_SCHEMA, /* (): NULL; SQLite prepares it anew when the schema has changed */
    CUCKOO_DRAIN,        /* (pointer): what cf_drain does is one statement (drain.c) */
    CUCKOO_READ_OWN,     /* (rowid): hash, n, rowid, tag of the rows of seen_log from there on */
    CUCKOO_WRITE_OWN,    /* (hash, n) */
    CUCKOO_EMPTY_OWN,    /* () */
    /* On the log of a filter that follows a table: these are the last ones. */
    CUCKOO_READ_LOG,    /* (rowid): old, new, rowid, tag of the rows from there on */
    CUCKOO_READ_KEYS,   /* (): old, new of all rows */
    CUCKOO_LAST_LOGGED, /* (): rowid, tag of the last row, if there is one */
    CUCKOO_EMPTY_LOG,   /* () */
    CUCKOO_QUERIES
} cuckoo_query;

typedef struct cuckoo_shadow {
    sqlite3 *db;
    char *schema, *table; /* of the virtual table */
    int64_t log;          /* the identity of the log (log.h); 0: there is none, or not known yet */
    sqlite3_stmt *statement[CUCKOO_QUERIES];
    char *damage;   /* what was wrong with the tables (sqlite3_malloc); NULL: nothing */
    bool stepped;   /* one of these statements, since a use began or ended (fresh.c) */
    unsigned holds; /* uses that go on, for which CUCKOO_WATCH_SCHEMA may stay on its row */
    bool busy;      /* a statement runs: a trigger or a view on these tables must not use the filter */
} cuckoo_shadow;

/* Texts are copied. SQLITE_OK or SQLITE_NOMEM; cuckoo_shadow_free is called for after an error, too. */
int cuckoo_shadow_init(cuckoo_shadow *shadow, sqlite3 *db, const char *schema, const char *table);
void cuckoo_shadow_free(cuckoo_shadow *shadow);

/* Finalizes all statements on the tables: they would be in the way of DROP TABLE. */
void cuckoo_shadow_finalize(cuckoo_shadow *shadow);

/* The same for one: it is not kept. */
void cuckoo_shadow_let_go(cuckoo_shadow *shadow, cuckoo_query query);

/* Creates the tables; *page_bytes is the most bytes of data for which a row fits on one page of the
** database. Checks if rows can be written to both tables; SQLITE_CORRUPT_VTAB: one is missing, or has no
** key. Renames the tables with their virtual table. Drops them, or what stands in their place, if they
** are there. */
int cuckoo_shadow_create(cuckoo_shadow *shadow, uint32_t *page_bytes);
int cuckoo_shadow_check(cuckoo_shadow *shadow);
int cuckoo_shadow_rename(cuckoo_shadow *shadow, const char *table);
int cuckoo_shadow_drop(cuckoo_shadow *shadow);

/* Reads a row of seen_page, and copies up to `bytes` bytes of it. *length is that of the row; 0: there
** is none. SQLITE_CORRUPT_VTAB: it is no blob, or it is empty. */
int cuckoo_shadow_read(cuckoo_shadow *shadow, int64_t no, uint8_t *into, uint64_t bytes,
                       uint64_t *length);

/* Writes a row of seen_page. sqlite3_last_insert_rowid stays as it is. */
int cuckoo_shadow_write(cuckoo_shadow *shadow, int64_t no, const uint8_t *bytes, uint64_t length);

/* Notes in shadow->damage that a row of seen_page is damaged. Returns SQLITE_CORRUPT_VTAB, or
** SQLITE_NOMEM. */
int cuckoo_shadow_bad_row(cuckoo_shadow *shadow, int64_t no);

/* What was noted, until more is; or that the tables cannot be read. */
const char *cuckoo_shadow_why(const cuckoo_shadow *shadow);

/* A statement, one at a time of each kind; it is kept. `values` are its parameters, which are integers;
** NULL: it has none, or the caller binds them. SQLITE_CORRUPT_VTAB: a shadow table is missing, or not
** as it was created. Then it is stepped, as by sqlite3_step, and reset, NULL too: that returns the
** first error, `rc` or that of the last step. */
int cuckoo_shadow_query(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                        sqlite3_stmt **statement);
int cuckoo_shadow_step(cuckoo_shadow *shadow, sqlite3_stmt *statement);
int cuckoo_shadow_end(cuckoo_shadow *shadow, sqlite3_stmt *statement, int rc);

/* Steps a statement that writes one row, and resets it. After an error nothing is written.
** SQLITE_CORRUPT_VTAB: a trigger has kept it from writing. */
int cuckoo_shadow_write_one(cuckoo_shadow *shadow, sqlite3_stmt *statement);

/* Runs a statement. *found is the first value of its first row, and unchanged when there is none. */
int cuckoo_shadow_run(cuckoo_shadow *shadow, cuckoo_query query);
int cuckoo_shadow_integer(cuckoo_shadow *shadow, cuckoo_query query, const int64_t *values,
                          int64_t *found);

/* Opens a read transaction, which stays open until it is released as often. *prepared: how often SQLite
** has prepared CUCKOO_WATCH_SCHEMA. As long as this number stays, neither the schema of this database
** nor that of temp has changed, no schema was detached, and the authorizer is the same. After an error
** nothing is held. */
int cuckoo_shadow_hold(cuckoo_shadow *shadow, int *prepared);
void cuckoo_shadow_release(cuckoo_shadow *shadow);

/* Has the connection this read transaction for another reason, too? If not, it ends; what was held is
** still to be released. */
bool cuckoo_shadow_is_within(cuckoo_shadow *shadow);

/* The same number, as it is known now: without a look at the database. */
int cuckoo_shadow_prepared(const cuckoo_shadow *shadow);

/* The same number, with nothing held. And: is it still this one? */
int cuckoo_shadow_schema(cuckoo_shadow *shadow, int *prepared);
bool cuckoo_shadow_is_same_schema(cuckoo_shadow *shadow, int prepared);

/* Has this connection a transaction open on the database of the table (`writing`: that writes)? */
bool cuckoo_shadow_in_transaction(const cuckoo_shadow *shadow, bool writing);

/* SQLITE_FCNTL_DATA_VERSION of the database: others have committed if it is not what it was. It is known
** within a read transaction only. Returns an SQLite code. */
int cuckoo_shadow_version(const cuckoo_shadow *shadow, unsigned *version);

/* The header says that this is the log; or a random identity is chosen. */
void cuckoo_shadow_set_log(cuckoo_shadow *shadow, int64_t log);
void cuckoo_shadow_new_log(cuckoo_shadow *shadow);

/* The format of the name of a log, for its identity. */
#define CUCKOO_LOG "cuckoo_log_%016llx"

#endif
