/* SPDX-License-Identifier: MIT */
/*
** log.h - the logs, in which changes wait until a drain merges them into the filter.
**
**      CREATE TABLE "cuckoo_log_4a3f.."("old", "new",
**          "tag" DEFAULT (randomblob('8 cuckoo_log_4a3f.. seen')))
**
** Triggers on the table (follow.h) write a row here for each change of a key:
**
**      old    new
**      NULL   'a'     a row with the key 'a' was inserted
**      'a'    'b'     its key changed
**      'b'    NULL    it was deleted, or its key is NULL now
**
** The log is an ordinary table, and its triggers are plain SQL: a program that writes the table does not
** need this extension. SQLite itself undoes rows: by rollback, savepoints, statements that fail,
** crashes. At COMMIT a connection with the extension may merge the rows into the pages of the filter,
** and empty the log (drain.c).
**
** **The rows are added up**: -1 for each `old`, 1 for each `new`, in any order. So nested changes,
** cascades and moved rows need no special rule. The sum is the *net*. Until the log is drained, a lookup
** adds the net of its key to the copies in the pages. rules.h says when the sum can be wrong.
**
** A connection reads the log once, and then from a *mark* on: the last row that was read. That is right
** as long as the log was not drained, which changes the generation (pages.h), and as long as the row at
** the mark has its *tag*: a random number, which no other row has. Otherwise it reads the whole log
** again. (The tag is a DEFAULT, because an authorizer that forbids randomblob() must not make triggers
** fail. Its argument is for touch.h; "seen" is the name of the filter when the log was created.)
**
** This log is named by its identity, a random number in the header row of the filter, so renaming the
** filter leaves it unchanged. It is not a shadow table: SQLite's defensive mode would keep the triggers
** of other programs from writing to it. It has no PRIMARY KEY, because sessions ignore such tables.
**
** **Every filter table has a log of hashed keys**, a shadow table (shadow.h), added up in the same way:
**
**      hash    n
**      4711    1      this many copies of a key were added, or found no slot in the pages
**      4711    -1     one was deleted
**
** With rowids=on the log of triggers has old_row and new_row as well, the sums are those of pairs of a
** key and a row, and the log of hashed keys has pairs that found no slot: `n` is the rowid. It also has
** a *stamp*, a row with rowid 0 and without hash: where VACUUM or a restored dump gives rows new rowids,
** this one gets another one, too.
**
** In a table with epochs `n` is the time of the add, and the latest one counts (ageing.h). If the header
** of the filter does not yet note the type of a key, `n` also has its cf_key_types, from bit 50 on: so
** the types are committed and rolled back with the row, and need no row of their own.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_LOG_H
#define CUCKOO_LOG_H

#include "../pages/pages.h"
#include "changes.h"

/* SQLite reads the argument of randomblob as the number before the name. */
#define CUCKOO_TAG_BYTES "8 "

/* Creates the log shadow->log, or drops it if it exists. */
int cuckoo_log_create(const cuckoo_shadow *shadow);
int cuckoo_log_drop(const cuckoo_shadow *shadow);

/* What is wrong with the log shadow->log. With CUCKOO_LOG_WATCHED *watcher is the name of the trigger
** (sqlite3_malloc), otherwise NULL. */
typedef enum cuckoo_log_fault {
    CUCKOO_LOG_SOUND,
    CUCKOO_LOG_MISSING,
    CUCKOO_LOG_CHANGED, /* its text is another one: probably another table has its name */
    CUCKOO_LOG_WATCHED  /* another trigger fires on it, and may remove rows */
} cuckoo_log_fault;
int cuckoo_log_look(const cuckoo_shadow *shadow, cuckoo_log_fault *fault, char **watcher);

/* ---- the net ---- */

/* The part of a log that was read. */
typedef struct cuckoo_log_read {
    uint64_t rows;
    int64_t mark, tag; /* rowid and tag of the last row that was read, if `rows` is not 0 */
} cuckoo_log_read;

/* All zeros: nothing was read. */
typedef struct cuckoo_net {
    cuckoo_changes changes;
    int64_t more;                  /* their total; with times the latest one */
    cuckoo_log_read own, followed; /* the log of hashed keys, with the stamp; the log of triggers */
    uint64_t generation;           /* of the pages that the net belongs to */
    bool current;                  /* nothing can have changed since it was read */
} cuckoo_net;

/* Reads the new rows of the logs, unless the net is current; afterwards it is. `follows`: there is a log
** of triggers. SQLITE_CORRUPT_VTAB: a row has been changed. */
int cuckoo_net_read(cuckoo_net *net, cuckoo_paged *paged, bool follows);

void cuckoo_net_forget(cuckoo_net *net);

static inline bool cuckoo_net_is_empty(const cuckoo_net *net)
{
    return net->own.rows + net->followed.rows == 0;
}

/* Empties the log of hashed keys, but for the stamp. *stamped: true if it has one. */
int cuckoo_log_empty_own(cuckoo_shadow *shadow);
int cuckoo_log_is_stamped(cuckoo_shadow *shadow, bool *stamped);

/* Writes a row to the log of hashed keys. `types`: the types of added keys, or 0. */
int cuckoo_log_write(cuckoo_shadow *shadow, uint64_t hash, int64_t n, unsigned types);

#endif
