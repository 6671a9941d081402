/* SPDX-License-Identifier: MIT */
/*
** table.h - one filter table as one connection sees it: the virtual table itself.
**
** There may be several of one name: when the schema is read anew, the old one stays in the transaction
** until that ends, and in statements that run, and the next statement connects another one. They share
** nothing but the database.
**
** **A filter table is an image, which only drains and commands write (drain.c), and logs, which SQLite
** commits and rolls back (log.h).** A lookup adds the two up. INSERT and DELETE on the filter write to its
** log at once. What a table has in memory is a cache, which can be forgotten at any time: README.md lists
** its states, and table.c has the rule that says whether it is still true.
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

/* Rows of the logs: so many may wait, so that fewer pages are written; a COMMIT drains no more than so
** many, which would hold the lock for seconds. */
enum { CUCKOO_SHORT_LOG = 1024, CUCKOO_LONG_LOG = 65536, CUCKOO_MOST_LOGGED = 1000000 };

typedef struct cuckoo_front cuckoo_front; /* front.h */

struct cuckoo_table {
    sqlite3_vtab base;
    cuckoo_registry *registry;
    cuckoo_paged paged;
    cuckoo_follow follow;
    cuckoo_net net;    /* of the logs */
    int64_t wrote;     /* the last row of a log that this transaction has written; 1: unknown; 0: none */
    bool asks_content; /* in this use the filter is not trusted, and its table is asked (content.h) */
    cuckoo_options options; /* as CREATE gave them: for the plan of a filter that is made anew */
    char *later;            /* a later version made the table, and this says so: never used. NULL: no */

    /* The last use, and what tells whether memory is still as it was then (table.c). */
    int64_t version; /* of the database (cuckoo_shadow_version); -1: something was uncommitted */
    unsigned events; /* of the connection (registry->events) */
    int changes;     /* sqlite3_total_changes */
    bool joined;     /* the table is in the transaction: SQLite reports rollbacks and the end */

    cuckoo_front *front;  /* it shows the rows of the content (front.h); NULL: it does not */
    cf_affinity affinity; /* what SQLite was told of the key column when it read the schema */
    cf_collation collation;
    bool has_text;        /* and that is TEXT */
    bool once;            /* no DELETE: INSERT OR IGNORE adds a key if it is new */
    bool returns_nothing; /* no INSERT INTO this table since a savepoint opened last has RETURNING */

    cuckoo_listed listed; /* list.h */
    char *called;         /* the name by which it was found last; NULL: it has to be looked for */
    int called_at;        /* what cuckoo_shadow_hold said then */
};

static inline cuckoo_table *cuckoo_table_of(sqlite3_vtab *base)
{
    return (cuckoo_table *)base;
}

/* What a use does. */
typedef enum cuckoo_use {
    CUCKOO_ASK,     /* looks keys up; the table may be asked in place of the filter */
    CUCKOO_INSPECT, /* looks into the filter itself */
    CUCKOO_TELL,    /* asks for no row and no page: what is cheap to know */
    CUCKOO_CHANGE,  /* changes rows */
    CUCKOO_REPAIR   /* works also on a filter that cannot follow its table */
} cuckoo_use;

static inline bool cuckoo_table_follows(const cuckoo_table *table)
{
    return table->follow.given_table != NULL;
}

/* Begins a use, within a statement. Afterwards table->paged.filter is as the database has it. After an
** error, of which cuckoo_table_damage says more, the use has ended. */
int cuckoo_table_begin(cuckoo_table *table, cuckoo_use use);

/* Is it SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_CORRUPT_VTAB or CUCKOO_NEWER? */
bool cuckoo_table_is_told(int rc);

/* May a trigger ask for the row for which it runs, before ours has told of it? Then "not there" is no
** answer. */
bool cuckoo_table_is_early(const cuckoo_table *table);

/* True if COMMIT has nothing to save about a synced filter: its triggers were looked at since the schema
** last changed, they can be relied on, and the names are saved. */
bool cuckoo_table_is_seen(cuckoo_table *table);

/* The part of begin that does not ask whether a filter that follows a table may be believed. */
int cuckoo_table_load(cuckoo_table *table);

/* What is wrong after this code: of one of the three what was found, of others what SQLite calls it. It
** stays until the next use. */
const char *cuckoo_table_damage(const cuckoo_table *table, int rc);

/* Ends a use. What it has changed in memory alone is forgotten. Returns the first error of reading pages
** since it began: answers may be wrong. SQLITE_LOCKED: what was read may not fit what was in memory
** (table.c). */
int cuckoo_table_end(cuckoo_table *table);

/* The same after work that has ended with this code, and with *message (sqlite3_malloc) if it had one.
** What has read pages wrong, or of two times, is wrong about what it says: then the error of reading
** counts, without a message, unless the one of the work rolls back. */
int cuckoo_table_end_work(cuckoo_table *table, int rc, char **message);

/* ---- many uses in one read transaction ---- */

/* What a use has found holds as long as the read transaction goes on in which it was found, and as long
** as this connection writes nothing and its schema stays. So it is not looked for again for each row of
** a SELECT. The caller holds the transaction. All zeros: nothing is known. */
typedef struct cuckoo_calm {
    bool is;
    bool asks_content;
    int changes; /* of the connection */
} cuckoo_calm;

/* Notes that a use has begun, if nobody writes. */
void cuckoo_table_calm(const cuckoo_table *table, cuckoo_calm *calm);

/* Has a transaction been committed since the use began, outside of our own one? With a shared cache by
** another connection, else by this one. */
bool cuckoo_table_overtaken(const cuckoo_table *table);

/* True if it still holds: then another use has begun. A statement that writes is never calm. Where another
** statement of the connection is writing, and has not ended, SQLite does not say whether this one sees its
** rows. This connection may have committed nothing, which counts only while pages are still to be read. */
static inline bool cuckoo_table_is_calm(cuckoo_table *table, const cuckoo_calm *calm)
{
    sqlite3 *db = table->paged.shadow.db;
    bool is = calm->is && calm->changes == sqlite3_total_changes(db) && table->paged.loaded &&
              (table->paged.has_reader || !cuckoo_table_overtaken(table)) &&
              !cuckoo_compat_expired(table->paged.shadow.statement[CUCKOO_WATCH_SCHEMA]);
    table->asks_content = is ? calm->asks_content : table->asks_content;
    return is;
}

/* Has nothing been read, without an error, since a use ended last? Then cuckoo_table_end has nothing to
** do. */
static inline bool cuckoo_table_is_quiet(const cuckoo_table *table)
{
    return !table->paged.shadow.stepped && table->paged.rc == SQLITE_OK;
}

/* Is all that a lookup needs in memory, and in the pages alone? */
static inline bool cuckoo_table_is_at_hand(const cuckoo_table *table)
{
    return table->paged.has_reader && table->net.current && cuckoo_net_is_empty(&table->net);
}

/* ---- the transaction ---- */

/* Methods: the table joins the transaction; that is committed; it is rolled back. */
int cuckoo_table_joined(sqlite3_vtab *base);
int cuckoo_table_committed(sqlite3_vtab *base);
int cuckoo_table_rolled_back(sqlite3_vtab *base);

/* A method, too: savepoint `number`, and each one within it, was rolled back. */
int cuckoo_table_rolled_back_to(sqlite3_vtab *base, int number);

/* The number of rows from which on a log is drained. */
int64_t cuckoo_table_due(const cuckoo_table *table);

/* The transaction is about to end: drains the logs, if that is due. */
int cuckoo_table_sync(cuckoo_table *table);

/* ---- between begin and end ---- */

/* Is the key perhaps there: in the pages, or by the logs? How many copies are there, at most? */
int cuckoo_table_has_anew(cuckoo_table *table, uint64_t hash, bool *has);
static inline int cuckoo_table_has(cuckoo_table *table, uint64_t hash, bool *has)
{
    if (!cuckoo_table_is_at_hand(table))
        return cuckoo_table_has_anew(table, hash, has);
    *has = cf_contains(&table->paged.reader, hash);
    return SQLITE_OK;
}
int cuckoo_table_most(cuckoo_table *table, uint64_t hash, int64_t *most);

/* Is the key of some row of the table that it follows certainly not there? `most`: of how many of the
** first and of the last rows. CUCKOO_ALL_ROWS: of all; and does the filter have fewer keys than they? */
int cuckoo_table_misses(cuckoo_table *table, int most, bool *misses);

/* Brings up to date what the logs add up to. How many keys there are, with what is in the logs. */
int cuckoo_table_net(cuckoo_table *table);
int cuckoo_table_items(cuckoo_table *table, uint64_t *items);

/* The rule by which its keys are checked and hashed, with the types of keys in the logs. */
int cuckoo_table_rule(cuckoo_table *table, cf_geometry *rule);

/* Adds a key of these types (cf_key_types), or deletes it. *status is CF_FULL, and nothing has changed,
** when as many keys are in a filter that may not grow as it has slots. Otherwise it is CF_OK.
** (drain.c) */
int cuckoo_table_add(cuckoo_table *table, uint64_t hash, unsigned types, cf_status *status);
int cuckoo_table_delete(cuckoo_table *table, uint64_t hash);

/* ---- draining (drain.c) ---- */

/* Merges the logs into the pages. In a full filter only some keys are tried, unless
** `all` are to be. After an error nothing has changed, unless SQLite has rolled the transaction back. */
int cuckoo_table_drain(cuckoo_table *table, bool all);

/* The same in memory only. *left, which the caller frees, has what has found no place. Afterwards the
** pages are to be written, or to be forgotten. */
int cuckoo_table_take_in(cuckoo_table *table, bool all, cuckoo_counts *left);

/* The end of a change in memory, with its error or SQLITE_OK: writes it, or forgets it. `left`: what the
** log of hashed keys is to hold afterwards; the log of triggers is emptied. NULL: the logs stay. */
int cuckoo_table_finish(cuckoo_table *table, const cuckoo_counts *left, int rc);

/* At the end of a transaction that has written to the log, and does not drain it: saves what is to be
** known of that. */
int cuckoo_table_note_rows(cuckoo_table *table);

/* The code of COMMIT, when a drain has failed: without a rollback by SQLite the logs are as they were,
** and a later drain takes them. Without memory SQLite says so of COMMIT in any case, which has to be
** true. */
int cuckoo_table_gave_up(const cuckoo_table *table, int rc);

/* cf_drain, which the statement of a drain calls. */
void cuckoo_drain_function(sqlite3_context *context, int argc, sqlite3_value **argv);

/* ---- for the files of the table ---- */

/* Forgets what is in memory. */
void cuckoo_table_forget(cuckoo_table *table);

#endif
