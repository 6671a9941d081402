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
** are plain SQL: so a program that writes the table needs neither this extension nor to know of it.
** SQLite itself takes rows back: by rollback, savepoints, statements that fail, crashes. Lookups count
** what the log says (undrained.h). At COMMIT a connection that has the extension takes the rows into the
** pages of the filter, and empties the log (drain.h).
**
** A log is named by its identity, a random number in the header row of the filter. So a filter that
** is renamed keeps its log. It is no shadow table: SQLite's defensive mode would keep the triggers of
** other programs from writing to it. It has no PRIMARY KEY: sessions leave such tables alone.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_LOG_H
#define CUCKOO_LOG_H

#include "schema.h"
#include "shadow.h"

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

#endif
