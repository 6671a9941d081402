/* SPDX-License-Identifier: MIT */
/*
** follow.h - a filter table that follows a column of a table: its triggers, and whether they can be
** relied on.
**
** Four triggers, "seen_inserted", "seen_deleted", "seen_updated" and "seen_moved", write each change
** of a key to the log (log.h). The last one fires for an update that changes the rowid; a table
** without rowid does not have it. They fire for every UPDATE: a generated column changes with others.
** Each ends with a RAISE that never happens. It makes SQLite ready to take the whole statement back:
** SQLite before 3.39.3 would keep a row when the expression of a later trigger fails.
**
** The triggers themselves say which table and which column is followed: SQLite rewrites them when
** these are renamed. The filter looks at them again when a kept statement was prepared anew: SQLite
** does that after changes of the schema and of TEMP triggers, and after a rollback. These must hold:
**
** - All triggers are there, on one table, as they were made; so is the log, without triggers of
**   others.
** - No trigger that can make SQLite skip them fires before them. SQLite fires the newest trigger
**   first, and TEMP triggers before all others. A row stays, and its later triggers never run, after
**   RAISE(IGNORE) in such a trigger; and after RAISE(FAIL), OR FAIL and ON CONFLICT FAIL in it or in
**   what it sets off. OR FAIL in any statement that changes the table holds for what the trigger does,
**   too. So no such trigger may change rows where that can violate a constraint.
** - Triggers are not switched off in this connection.
** - The column compares as it did.
** - The keys of some rows of the table are there: it may have been made anew, triggers and all. After
**   a trigger of others that is not allowed was seen and has gone, the keys of all rows.
**
** When one of these does not hold, every lookup is an error that says so. `rebuild` makes the
** triggers anew, as the newest, and reads the table again.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_FOLLOW_H
#define CUCKOO_FOLLOW_H

#include "log.h"

/* How much has been looked at since the schema last changed. Each includes those before it. */
typedef enum cuckoo_trust {
    CUCKOO_UNKNOWN,
    CUCKOO_TRIGGERS, /* triggers and log are as they should be */
    CUCKOO_RULE,     /* the column compares as the keys were hashed */
    CUCKOO_ROWS,     /* some rows of the table were asked for */
    CUCKOO_FAULT     /* something is wrong: `fault` says what */
} cuckoo_trust;

/* Which rows of the log are believed: log_net.h says what that means, and follow.c when. A BEFORE
** trigger may change a row after a statement has read it and before the statement writes it. AFTER
** triggers are then told the old values that were read: old values lie. */
typedef enum cuckoo_belief {
    CUCKOO_BELIEVE_ALL,
    CUCKOO_BELIEVE_MANY,
    CUCKOO_BELIEVE_FITS,
    CUCKOO_BELIEVE_NESTED,
    CUCKOO_BELIEVE_ENDS,
    CUCKOO_BELIEVE_CHAINS,
    CUCKOO_BELIEVE_NEW
} cuckoo_belief;

typedef struct cuckoo_follow {
    char *given_table, *given_column; /* of content='table(column)'; NULL: it follows nothing */
    char *table, *column;             /* as they are named now; NULL: not looked at, or not known */
    char *rowid; /* a name of the rowid, or NULL; that of an INTEGER PRIMARY KEY is in quotes */
    char *fault; /* why the filter must not be used; NULL: it may be used */
    cuckoo_trust trust;
    cuckoo_belief belief; /* as of the last look */
    sqlite3_stmt
        *steps;       /* reads the log in the order of rows (log_net.c); NULL: not since the last look */
    int sample;       /* of so many of the first and of the last rows to ask for; -1: of all */
    bool preceded;    /* triggers of others may run after the change of a row and before ours */
    bool saved;       /* table and column are in the database, in row -1 of the pages */
    unsigned version; /* of the database, at the last look */
    int prepared;     /* how often the kept statement was prepared anew */
} cuckoo_follow;

enum { CUCKOO_SAMPLE = 100 /* rows */, CUCKOO_ALL_ROWS = -1 };

void cuckoo_follow_free(cuckoo_follow *follow);

/* ---- the triggers ---- */

/* Their names are that of the filter and these suffixes. */
enum { CUCKOO_FOLLOWERS = 4 };
extern const char *const cuckoo_follow_suffixes[CUCKOO_FOLLOWERS];

/* Creates the triggers for follow->table and ->column, which write to shadow->log, for a
** filter that has, or will have, this name. */
int cuckoo_follow_create(cuckoo_follow *follow, cuckoo_shadow *shadow, const char *filter);

/* Drops triggers that have the names of ours; `logs`: and the logs to which they write. Otherwise the
** log to which those of this filter wrote becomes shadow->log: the header may have named another. */
typedef enum cuckoo_which {
    CUCKOO_ORPHANS, /* of an earlier filter of this name: they are as we make them */
    CUCKOO_OWN,     /* the same, and all that name the filter, which could not fire without it */
    CUCKOO_ANY      /* whatever they say */
} cuckoo_which;
int cuckoo_follow_drop(cuckoo_shadow *shadow, cuckoo_which which, bool logs);

/* Does another filter, by triggers of other names, write to this log? */
int cuckoo_follow_shares_log(const cuckoo_shadow *shadow, int64_t log, bool *is);

/* The text of a trigger, as SQLite keeps it behind "CREATE TRIGGER " (sqlite3_malloc). *text NULL:
** the table does not need it. */
int cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which,
                       const char *filter, char **text);

/* What sqlite_master has in this column for trigger `which` (sqlite3_malloc). *text NULL: there is no
** such trigger. */
int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text);

/* Can another trigger write to the filter, and so run its commands? */
int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is);

/* ---- the table ---- */

/* Finds the table to follow: that of the triggers, or, if they are gone, the one that was last saved. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Saves the names of table and column, for the time when the triggers are gone. */
int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Can the saved names be read, if there are any? */
int cuckoo_follow_check_names(cuckoo_shadow *shadow);

/* A statement for the keys of the first and the last `most` rows, or of all rows (`most` < 0). */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys);

/* Finds out what the rowids of the table are like, for follow->rowid and ->belief. `lies`: a trigger may
** make old values lie; `nested`: changes within a change may be told before it. */
int cuckoo_follow_find_belief(cuckoo_follow *follow, const cuckoo_shadow *shadow, bool lies,
                              bool nested);

/* ---- can they be relied on? The verdict is in follow->trust and ->fault ---- */

/* Looks at the triggers, if the schema may have changed since the last look. */
int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* The same for lookups while this connection writes nothing. Then a change of the schema comes with a
** commit, which changes `version` (state.h), or makes SQLite expire statements, as TEMP triggers do.
** That is cheaper to ask. */
int cuckoo_follow_look_quickly(cuckoo_follow *follow, cuckoo_shadow *shadow, unsigned version);

/* Sets the fault: the message, and how to rebuild the filter. */
int cuckoo_follow_fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format, ...);

#endif
