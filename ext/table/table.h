/* SPDX-License-Identifier: MIT */
/*
** table.h - one filter table as one connection sees it: the virtual table itself.
**
** There may be several tables of one name: if the schema is read again, the old one stays in the
** transaction until that ends, and in running statements, and the next statement connects another one.
** They share only the database.
**
** **A filter table is an image, which only drains and commands write (drain.c), and logs, which SQLite
** commits and rolls back (log.h).** A lookup adds the two. INSERT and DELETE on the filter write to its
** log. The memory of a table is a cache, which can be discarded at any time: README.md lists its states,
** and table.c has the rule that decides whether it is still valid.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_TABLE_H
#define CUCKOO_TABLE_H

#include "../follow/changes.h"
#include "../follow/follow.h"
#include "../keys/options.h"
#include "list.h"
#include "rows.h"

/* Rows of the logs. A drain waits for this many, so that fewer pages are written; a COMMIT drains at
** most CUCKOO_MOST_LOGGED, because more would hold the lock for seconds. */
enum { CUCKOO_SHORT_LOG = 1024, CUCKOO_LONG_LOG = 65536, CUCKOO_MOST_LOGGED = 1000000 };

typedef struct cuckoo_front cuckoo_front; /* front.h */

struct cuckoo_table {
    sqlite3_vtab base;
    cuckoo_registry *registry;
    cuckoo_paged paged;
    cuckoo_follow follow;
    cuckoo_net net;    /* of the logs */
    int64_t wrote;     /* the last row of a log that this transaction wrote; 1: unknown; 0: none */
    bool asks_content; /* in this use the filter is not trusted, and its table is queried (content.h) */
    cuckoo_options options; /* the options of CREATE, for planning a rebuild */
    char *later; /* the message if a later version made the table, which is then not used; or NULL */

    /* The last use, and what shows whether memory is still as it was then (table.c). */
    int64_t version; /* of the database (cuckoo_shadow_version); -1: something was uncommitted */
    unsigned events; /* of the connection (registry->events) */
    int changes;     /* sqlite3_total_changes */
    bool joined;     /* the table is in the transaction: SQLite reports rollbacks and the end */

    cuckoo_front *front;  /* it returns the rows of the content (front.h); or NULL */
    cf_affinity affinity; /* the key column as it was declared to SQLite */
    cf_collation collation;
    bool once;            /* adds=once: no DELETE, and INSERT OR IGNORE adds only new keys */
    bool returns_nothing; /* no INSERT INTO this table since the last savepoint opened has RETURNING */

    cuckoo_listed listed; /* list.h */
    char *called;         /* the name by which it was last found; NULL: it must be looked up */
    int called_at;        /* the number from cuckoo_shadow_hold then */
};

static inline cuckoo_table *cuckoo_table_of(sqlite3_vtab *base)
{
    return (cuckoo_table *)base;
}

/* The purpose of a use. */
typedef enum cuckoo_use {
    CUCKOO_ASK,     /* looks up keys; the table may be queried in place of the filter */
    CUCKOO_INSPECT, /* reads the filter itself */
    CUCKOO_TELL,    /* reads no row and no page, only what is cheap */
    CUCKOO_CHANGE,  /* changes rows */
    CUCKOO_REPAIR   /* works even if the filter cannot be in sync with its table */
} cuckoo_use;

static inline bool cuckoo_table_follows(const cuckoo_table *table)
{
    return table->follow.given_table != NULL;
}

/* Begins a use, within a statement. Afterwards table->paged.filter is as the database has it. After an
** error (cuckoo_table_damage has the message) the use has ended. */
int cuckoo_table_begin(cuckoo_table *table, cuckoo_use use);

/* True for SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_CORRUPT_VTAB and CUCKOO_NEWER. */
bool cuckoo_table_is_told(int rc);

/* True if another trigger may look up the row for which it runs before our trigger has logged it. Then
** "not there" is no answer. */
bool cuckoo_table_is_early(const cuckoo_table *table);

/* True if COMMIT has nothing to save about a synced filter: its triggers were checked since the schema
** last changed, they can be trusted, and the names are saved. */
bool cuckoo_table_is_seen(cuckoo_table *table);

/* The part of begin that does not check whether a synced filter can be trusted. */
int cuckoo_table_load(cuckoo_table *table);

/* The message for this code: what was found, for the codes of cuckoo_table_is_told and rows that are
** too long; otherwise SQLite's text. Valid until the next use. */
const char *cuckoo_table_damage(const cuckoo_table *table, int rc);

/* Ends a use, and discards changes that were made only in memory. Returns the first error of reading
** pages since it began: answers may be wrong. SQLITE_LOCKED: rows may be newer than memory (table.c). */
int cuckoo_table_end(cuckoo_table *table);

/* The same after work that has ended with this code, and with *message (sqlite3_malloc) if it had one.
** If pages were read with errors, or from two versions, the message of the work is wrong: then the error
** of reading is returned, without a message, unless the error of the work rolls back. */
int cuckoo_table_end_work(cuckoo_table *table, int rc, char **message);

/* ---- many uses in one read transaction ---- */

/* The result of a use stays valid during the same read transaction, as long as this connection writes
** nothing and its schema stays. So it is not computed again for each row of a SELECT. The caller holds
** the transaction. All zeros: nothing is known. */
typedef struct cuckoo_calm {
    bool is;
    bool asks_content;
    int changes; /* of the connection */
} cuckoo_calm;

/* Notes that a use has begun, if no statement writes. */
void cuckoo_table_calm(const cuckoo_table *table, cuckoo_calm *calm);

/* True if a transaction other than our own has been committed since the use began. With a shared cache
** it may be of another connection, otherwise only of this one. */
bool cuckoo_table_overtaken(const cuckoo_table *table);

/* True if the result is still valid: then another use has begun. A statement that writes is never calm.
** If another statement of the connection is writing, SQLite does not show whether this one sees its
** rows. This connection may have committed nothing, which matters only while pages are still unread. */
static inline bool cuckoo_table_is_calm(cuckoo_table *table, const cuckoo_calm *calm)
{
    sqlite3 *db = table->paged.shadow.db;
    bool is = calm->is && calm->changes == sqlite3_total_changes(db) && table->paged.loaded &&
              (table->paged.has_reader || !cuckoo_table_overtaken(table)) &&
              !cuckoo_compat_expired(table->paged.shadow.statement[CUCKOO_WATCH_SCHEMA]);
    table->asks_content = is ? calm->asks_content : table->asks_content;
    return is;
}

/* True if nothing has been read since the last use ended: cuckoo_table_end has nothing to do. */
static inline bool cuckoo_table_is_quiet(const cuckoo_table *table)
{
    return !table->paged.shadow.stepped && table->paged.rc == SQLITE_OK;
}

/* True if a lookup needs only pages, and all of them are in memory. */
static inline bool cuckoo_table_is_at_hand(const cuckoo_table *table)
{
    return table->paged.has_reader && table->net.current && cuckoo_net_is_empty(&table->net);
}

/* ---- the transaction ---- */

/* Methods: the table joins the transaction; the transaction is committed; it is rolled back. */
int cuckoo_table_joined(sqlite3_vtab *base);
int cuckoo_table_committed(sqlite3_vtab *base);
int cuckoo_table_rolled_back(sqlite3_vtab *base);

/* Another method: savepoint `number`, and each one within it, was rolled back. */
int cuckoo_table_rolled_back_to(sqlite3_vtab *base, int number);

/* The number of rows from which on a log is drained. */
int64_t cuckoo_table_due(const cuckoo_table *table);

/* xSync, before a commit: drains the logs, if that is due. */
int cuckoo_table_sync(cuckoo_table *table);

/* ---- between begin and end ---- */

/* Sets *has to true if the key is probably there, in the pages or by the logs; and *most to the most
** copies that it may have. */
int cuckoo_table_has_anew(cuckoo_table *table, uint64_t hash, bool *has);
static inline int cuckoo_table_has(cuckoo_table *table, uint64_t hash, bool *has)
{
    if (!cuckoo_table_is_at_hand(table))
        return cuckoo_table_has_anew(table, hash, has);
    *has = cf_contains(&table->paged.reader, hash);
    return SQLITE_OK;
}
int cuckoo_table_most(cuckoo_table *table, uint64_t hash, int64_t *most);

/* Sets *misses to true if the filter definitely lacks the key of a row of the synced table. `most`: how
** many of the first and of the last rows are checked. CUCKOO_ALL_ROWS: all rows, and whether the filter
** has fewer keys than there are rows. */
int cuckoo_table_misses(cuckoo_table *table, int most, bool *misses);

/* Brings the sums of the logs up to date. */
int cuckoo_table_net(cuckoo_table *table);

/* The number of keys, with those in the logs. */
int cuckoo_table_items(cuckoo_table *table, uint64_t *items);

/* The rule by which its keys are checked and hashed, with the types of keys in the logs. */
int cuckoo_table_rule(cuckoo_table *table, cf_geometry *rule);

/* Adds a key of these types (cf_key_types), or deletes it. *status is CF_FULL, and nothing has changed,
** if a filter that may not grow has as many keys as slots; otherwise CF_OK. (drain.c) */
int cuckoo_table_add(cuckoo_table *table, uint64_t hash, unsigned types, cf_status *status);
int cuckoo_table_delete(cuckoo_table *table, uint64_t hash);

/* ---- draining (drain.c) ---- */

/* Merges the logs into the pages. In a full filter only some keys are tried, unless `all` is set. After
** an error nothing has changed, unless SQLite has rolled the transaction back. */
int cuckoo_table_drain(cuckoo_table *table, bool all);

/* The same in memory only. *left, which the caller frees, has the changes that did not fit. Afterwards
** the pages must be written or discarded. */
int cuckoo_table_take_in(cuckoo_table *table, bool all, cuckoo_counts *left);

/* Ends a change in memory, with its error or SQLITE_OK: writes it, or discards it. `left`: the new
** contents of the log of hashed keys; the log of triggers is emptied. NULL: the logs stay. */
int cuckoo_table_finish(cuckoo_table *table, const cuckoo_counts *left, int rc);

/* At the end of a transaction that has written to the log and does not drain it: saves the names, and
** whether a trigger breaks the rules. */
int cuckoo_table_note_rows(cuckoo_table *table);

/* The code of COMMIT after a drain has failed. If SQLite has not rolled back, the logs are as they were,
** and a later drain merges them. Without memory SQLite reports a failed COMMIT, so it must fail. */
int cuckoo_table_gave_up(const cuckoo_table *table, int rc);

/* cf_drain, which the statement of a drain calls. */
void cuckoo_drain_function(sqlite3_context *context, int argc, sqlite3_value **argv);

/* ---- for the files of the table ---- */

/* Discards the memory. */
void cuckoo_table_forget(cuckoo_table *table);

#endif
