/* SPDX-License-Identifier: MIT */
/*
** log.h - the logs: how changes reach a filter table.
**
**      CREATE TABLE "cuckoo_log_4a3f.."("old", "new",
**          "tag" DEFAULT (randomblob('8 cuckoo_log_4a3f.. seen')))
**
** Triggers on the table (follow.h) write a row here for each change of a key:
**
**      old    new
**      NULL   'a'     a row came, with the key 'a'
**      'a'    'b'     its key changed
**      'b'    NULL    it has gone, or its key is NULL now
**
** The log is an ordinary table, and its triggers are plain SQL: a program that writes the table does not
** need this extension. SQLite itself takes rows back: by rollback, savepoints, statements that fail,
** crashes. At COMMIT a connection that has the extension may take the rows into the pages of the filter,
** and empty the log (drain.c).
**
** **What the triggers told is added up**: -1 for each `old`, 1 for each `new`, in any order. So nested
** changes, cascades and moved rows need no rule. This is the *net*. Until the log is drained, a lookup
** adds the net of its key to the copies in the pages. rules.h says when the sum can be wrong.
**
** A connection reads the log once, and then from a *mark* on: the last row that was read. That is right
** as long as the log was not drained, which makes another generation (pages.h), and as long as the row
** at the mark has its *tag*: a random number, which no other row has. Otherwise it reads all again.
** (The tag is a DEFAULT: an authorizer that does not know randomblob() must not make triggers fail. Its
** argument is for touch.h; "seen" is the name that the filter had when the log was created.)
**
** This log is named by its identity, a random number in the header row of the filter: renaming the
** filter leaves it alone. It is no shadow table: SQLite's defensive mode would keep the triggers of
** other programs from writing to it. It has no PRIMARY KEY: sessions leave such tables alone.
**
** **Any filter table has a log of hashed keys**, a shadow table (shadow.h), which is added up in the
** same way:
**
**      hash    n
**      4711    1      a key was added so many times, or has found no place in the pages
**      4711    -1     it was deleted
**
** With rowids=on the log of triggers has old_row and new_row as well, the sums are those of pairs of a key
** and a row, and the log of hashed keys has pairs that found no place: `n` is the rowid.
**
** In a table that ages `n` is the time of the add, and the latest one counts (ageing.h). A key of a type
** that the header of the filter does not yet note has its cf_key_types in `n` as well, from bit 50 on:
** so they come and go with the row, and no row more is written.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_LOG_H
#define CUCKOO_LOG_H

#include "../pages/pages.h"
#include "changes.h"

/* SQLite reads the argument of randomblob as the number before the name. */
#define CUCKOO_TAG_BYTES "8 "

/* Creates the log shadow->log. Drops it, if it is there. */
int cuckoo_log_create(const cuckoo_shadow *shadow);
int cuckoo_log_drop(const cuckoo_shadow *shadow);

/* What is wrong with the log shadow->log. Of CUCKOO_LOG_WATCHED *watcher is the name of the trigger,
** else NULL (sqlite3_malloc). */
typedef enum cuckoo_log_fault {
    CUCKOO_LOG_SOUND,
    CUCKOO_LOG_MISSING,
    CUCKOO_LOG_CHANGED, /* another table has its name */
    CUCKOO_LOG_WATCHED  /* somebody's trigger fires when rows are written to it: it may take them out */
} cuckoo_log_fault;
int cuckoo_log_look(const cuckoo_shadow *shadow, cuckoo_log_fault *fault, char **watcher);

/* ---- what they add up to ---- */

/* How far a log was read. */
typedef struct cuckoo_log_read {
    uint64_t rows;
    int64_t mark, tag; /* the last row that was read: its rowid and its tag, if there are rows */
} cuckoo_log_read;

/* All zeros: they were not read. */
typedef struct cuckoo_net {
    cuckoo_changes changes;
    int64_t more;                  /* the total of them; of times the latest one */
    cuckoo_log_read own, followed; /* the log of hashed keys, and that of triggers */
    uint64_t generation;           /* of the pages to which the net belongs */
    bool current;                  /* nothing can have changed since it was read */
} cuckoo_net;

/* Reads what the logs have more, unless the net is current. It is current then. `follows`: there is a
** log of triggers. SQLITE_CORRUPT_VTAB: a row has been changed. */
int cuckoo_net_read(cuckoo_net *net, cuckoo_paged *paged, bool follows);

void cuckoo_net_forget(cuckoo_net *net);

static inline bool cuckoo_net_is_empty(const cuckoo_net *net)
{
    return net->own.rows + net->followed.rows == 0;
}

/* Writes a row to the log of hashed keys. `types`: those of keys that have come; or 0. */
int cuckoo_log_write(cuckoo_shadow *shadow, uint64_t hash, int64_t n, unsigned types);

#endif
