/* SPDX-License-Identifier: MIT */
/*
** follow.h - a synced filter table: its triggers, and whether they can be trusted.
**
** Three AFTER triggers, "cuckoo_4a3f.._inserted", .._deleted and .._updated, write each change of a key
** to the log (log.h). Their names have the identity of the log, so renaming the filter leaves them
** unchanged. They fire on every UPDATE, because a generated column may change with any other. Each ends
** with a RAISE that never runs. It makes SQLite prepare to roll back the whole statement: SQLite before
** 3.39.3 would otherwise keep a row if the expression of a later trigger fails.
**
** The triggers themselves name the table and the column: SQLite rewrites them when these are renamed.
** But the names in content= are a contract: if another table, view or column has one of them later, the
** filter belongs to that one, and `rebuild` moves it there.
**
** The filter checks the triggers again when SQLite has prepared a kept statement again, which it does
** after changes of the schema and of TEMP triggers, and after a rollback. These conditions must hold:
**
** - All triggers exist, on this table, as they were created; so does the log, without other triggers.
** - Other triggers cannot make the sum of the log wrong (rules.h).
** - Triggers are enabled in this connection.
** - The column compares as it did.
** - The filter has the keys of some rows of the table, which may have been recreated, triggers and all.
**   After a trigger that breaks the rules was found and has been dropped: the keys of all rows.
**
** If one of these does not hold, the filter is not trusted: a lookup queries the table itself, by an
** index on the column (content.h). Without an index it is an error, which says what is wrong. `rebuild`
** recreates the triggers, so that they are the newest, and reads the table again.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_FOLLOW_H
#define CUCKOO_FOLLOW_H

#include "content.h"
#include "log.h"

/* What has been checked since the schema last changed. Each step includes those before it. */
typedef enum cuckoo_trust {
    CUCKOO_UNKNOWN,
    CUCKOO_TRIGGERS, /* triggers and log are as they were created */
    CUCKOO_RULE,     /* the column compares as the keys were hashed */
    CUCKOO_ROWS,     /* the keys of some rows of the table were found */
    CUCKOO_FAULT     /* a condition does not hold: `fault` */
} cuckoo_trust;

typedef struct cuckoo_follow {
    char *given_table, *given_column; /* of content='table(column)'; NULL: not a synced table */
    char *table, *column;             /* their current names; NULL: not known yet */
    const char *rowid; /* with rowids=on: a name of the rowid that no column has; NULL: none */
    int64_t cookie;    /* of the schema when all rowids were last known to be right; 0: not known */
    char *fault;       /* why the filter must not be used; NULL: it may be used */
    cuckoo_trust trust;
    cuckoo_content content; /* queries the table in place of a filter with a fault */
    int sample;             /* how many of the first and of the last rows to look up; -1: all rows */
    bool lossy;    /* another trigger breaks the rules: writes of this connection may be logged wrong */
    bool preceded; /* other triggers may run after the change of a row and before ours */
    bool saved;    /* table and column are saved in row -1 of the pages */
    int64_t version; /* data version of the database at the last check without uncommitted writes */
    int prepared;    /* the number from cuckoo_shadow_schema at the last check */
} cuckoo_follow;

enum { CUCKOO_SAMPLE = 8 /* rows */, CUCKOO_ALL_ROWS = -1 };

void cuckoo_follow_free(cuckoo_follow *follow);

/* ---- the triggers ---- */

enum { CUCKOO_FOLLOWERS = 3 };

/* Creates the triggers for follow->table and ->column, which write to shadow->log. Drops triggers of
** other filters on the table whose log is gone. */
int cuckoo_follow_create(cuckoo_follow *follow, const cuckoo_shadow *shadow);

/* Drops the triggers of shadow->log, whatever their text. */
int cuckoo_follow_drop(const cuckoo_shadow *shadow);

/* The format of the name of a trigger, for shadow->log and one of the events. */
#define CUCKOO_TRIGGER "cuckoo_%016llx_%s"
extern const char *const cuckoo_trigger_events[CUCKOO_FOLLOWERS];

/* The text of trigger `which` in the schema (sqlite3_malloc; NULL: out of memory). */
char *cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which);

/* Reads a column of sqlite_master for trigger `which` (sqlite3_malloc). *text NULL: no such trigger. */
int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text);

/* The column in the text of trigger `which` (sqlite3_malloc). NULL: none, or *rc is SQLITE_NOMEM. */
char *cuckoo_follow_column(const char *trigger, int which, int *rc);

/* Sets *is to true if a trigger can write to the filter, and so run its commands. */
int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is);

/* ---- the table ---- */

/* Finds the synced table: the one with the name in content=, if it exists; otherwise the table of the
** triggers or, if they are gone, the table that was saved last. The same for the column. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Notes that the filter has all rowids of the table; unless these are an INTEGER PRIMARY KEY, the next
** save stamps the log (log.h). */
int cuckoo_follow_rowids_seen(cuckoo_follow *follow, const cuckoo_shadow *shadow);

/* Saves the names of table and column, and the identity of the log, in case triggers or header are
** lost. Stamps the log if the rowids are right. */
int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* SQLITE_OK if the saved row can be read, or does not exist. *log: the identity in it, or 0. */
int cuckoo_follow_check_saved(cuckoo_shadow *shadow, int64_t *log);

/* A statement for the keys, and with rowids=on the rowids, of the first and last `most` rows, or of all
** (`most` < 0). */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys);

/* ---- whether they can be trusted: follow->trust and ->fault (trigger_check.c) ---- */

/* Checks the triggers, if the schema may have changed since the last check. */
int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* SQLITE_ERROR if a filter cannot be in sync with this column: *message (sqlite3_malloc) names the
** trigger or the foreign key that prevents it. follow->table and ->column must be known. */
int cuckoo_follow_refuse(const cuckoo_follow *follow, const cuckoo_shadow *shadow, char **message);

/* Sets the fault to the message and the remedy, and the trust to CUCKOO_FAULT. */
int cuckoo_follow_fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format, ...);

#endif
