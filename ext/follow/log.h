/* SPDX-License-Identifier: MIT */
/*
** log.h - the log: how the changes of a column reach the filter that follows it.
**
**      CREATE TABLE "cuckoo_log_4a3f.."("row", "old", "new")
**
** Triggers on the table (follow.h) write a row here for each change of a key:
**
**      row    old    new
**      7      NULL   'a'     row 7 came, with the key 'a'
**      7      'a'    'b'     its key changed
**      7      'b'    NULL    it has gone, or its key is NULL now
**
** `row` is the rowid; NULL in a table without one. The log is an ordinary table, and its triggers
** are plain SQL: a program that writes the table does not need this extension. SQLite itself takes
** rows back: by rollback, savepoints, statements that fail, crashes. At COMMIT a connection that has the
** extension takes the rows into the pages of the filter, and empties the log (transaction.c).
**
** Until then a lookup counts a key as stored when a row of the log has it as `new`. (Keys that have
** gone again are found until the log is drained.) A connection reads the set of these keys once, and
** then from a *watermark* on: the last row that was read. That is right as long as the log was not
** drained, which makes another generation (pages.h), and as long as the row at the watermark is the one
** that was read. Otherwise it reads all again. What a rollback takes out of the log is not noticed here:
** the store forgets the set then.
**
** A log is named by its identity, a random number in the header row of the filter: renaming the
** filter leaves it alone. It is no shadow table: SQLite's defensive mode would keep the triggers of
** other programs from writing to it. It has no PRIMARY KEY: sessions leave such tables alone.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_LOG_H
#define CUCKOO_LOG_H

#include "../keys/sums.h"
#include "../pages/pages.h"
#include "schema.h"

/* A key as a row of a table has it. */
typedef struct cuckoo_row_key {
    bool is; /* false: NULL, which is no key */
    uint64_t hash;
} cuckoo_row_key;

/* Returns SQLITE_OK or SQLITE_NOMEM. */
int cuckoo_row_key_read(sqlite3_value *value, const cf_geometry *geometry, cuckoo_row_key *key);

/* Creates the log shadow->log. Drops this log, if it is there. */
int cuckoo_log_create(const cuckoo_shadow *shadow);
int cuckoo_log_drop(const cuckoo_shadow *shadow, int64_t log);

/* What is wrong with the log shadow->log. */
typedef enum cuckoo_log_fault {
    CUCKOO_LOG_SOUND,
    CUCKOO_LOG_MISSING,
    CUCKOO_LOG_CHANGED, /* another table has its name */
    CUCKOO_LOG_WATCHED  /* somebody's trigger fires when rows are written to it: it may take them out */
} cuckoo_log_fault;
int cuckoo_log_look(const cuckoo_shadow *shadow, cuckoo_log_fault *fault);

/* The log to which a trigger with this text writes; 0: to none. */
int64_t cuckoo_log_in(const char *trigger);

/* ---- what is not drained ---- */

/* The set of the keys in the log. All zeros: it was not read. */
typedef struct cuckoo_undrained {
    cuckoo_sums keys;    /* hashes of `new` */
    uint64_t rows, olds; /* rows read so far; how many of them have an old key */
    int64_t mark;        /* the watermark: a rowid, if there are rows */
    uint64_t digest;     /* of the row there */
    uint64_t generation; /* of the pages to which the set belongs */
    bool current;        /* nothing can have changed since it was read */
} cuckoo_undrained;

/* Reads what the log has more, unless the set is current. It is current then. */
int cuckoo_undrained_read(cuckoo_undrained *undrained, cuckoo_paged *paged);

/* Forgets the set. */
void cuckoo_undrained_forget(cuckoo_undrained *undrained);

#endif
