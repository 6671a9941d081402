/* SPDX-License-Identifier: MIT */
/*
** follow.h - a filter table that follows a column of a table: its triggers, and whether they can be
** relied on.
**
** Three AFTER triggers, "cuckoo_4a3f.._inserted", .._deleted and .._updated, write each change of a key
** to the log (log.h). They are named by the identity of the log: renaming the filter leaves them alone.
** They fire for every UPDATE: a generated column changes with others. Each ends with a RAISE that never
** happens. It makes SQLite ready to take the whole statement back: SQLite before 3.39.3 would keep a
** row when the expression of a later trigger fails.
**
** The triggers themselves say which table and which column is followed: SQLite rewrites them when
** these are renamed. But the names in content= are a contract: when another table, view or column has
** one of them later, the filter belongs to that one, and `rebuild` moves it there.
** The filter looks at the triggers again when a kept statement was prepared anew: SQLite
** does that after changes of the schema and of TEMP triggers, and after a rollback. These must hold:
**
** - All triggers are there, on this table, as they were made; so is the log, without triggers of
**   others.
** - Triggers of others cannot make the sum of the log wrong (rules.h).
** - Triggers are not switched off in this connection.
** - The column compares as it did.
** - The keys of some rows of the table are there: it may have been made anew, triggers and all. After
**   a trigger of others that is not allowed was seen and has gone, the keys of all rows.
**
** When one of these does not hold, the filter is not trusted: a lookup asks the table itself, by an
** index of the column (content.h). Without an index it is an error that says what is wrong. `rebuild`
** makes the triggers anew, as the newest, and reads the table again.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_FOLLOW_H
#define CUCKOO_FOLLOW_H

#include "content.h"
#include "log.h"

/* How much has been looked at since the schema last changed. Each includes those before it. */
typedef enum cuckoo_trust {
    CUCKOO_UNKNOWN,
    CUCKOO_TRIGGERS, /* triggers and log are as they should be */
    CUCKOO_RULE,     /* the column compares as the keys were hashed */
    CUCKOO_ROWS,     /* some rows of the table were asked for */
    CUCKOO_FAULT     /* something is wrong: `fault` says what */
} cuckoo_trust;

typedef struct cuckoo_follow {
    char *given_table, *given_column; /* of content='table(column)'; NULL: it follows nothing */
    char *table, *column;             /* as they are named now; NULL: not looked at, or not known */
    const char *rowid; /* with rowids=on: a name of the rowid that is no column; NULL: there is none */
    int64_t cookie;    /* of the schema when each rowid was known to be right; 0: not known */
    char *fault;       /* why the filter must not be used; NULL: it may be used */
    cuckoo_trust trust;
    cuckoo_content content; /* asks the table in place of a filter with a fault */
    int sample;             /* of so many of the first and of the last rows to ask for; -1: of all */
    bool lossy;             /* the rules are broken: what this connection writes may be told wrong */
    bool preceded;          /* triggers of others may run after the change of a row and before ours */
    bool saved;             /* table and column are in the database, in row -1 of the pages */
    int64_t version;        /* of the database, at the last look while nothing was written */
    int prepared;           /* how often the kept statement was prepared anew */
} cuckoo_follow;

enum { CUCKOO_SAMPLE = 8 /* rows */, CUCKOO_ALL_ROWS = -1 };

void cuckoo_follow_free(cuckoo_follow *follow);

/* ---- the triggers ---- */

enum { CUCKOO_FOLLOWERS = 3 };

/* Creates the triggers for follow->table and ->column, which write to shadow->log. */
int cuckoo_follow_create(cuckoo_follow *follow, const cuckoo_shadow *shadow);

/* Drops the triggers of shadow->log, whatever they say. */
int cuckoo_follow_drop(const cuckoo_shadow *shadow);

/* The format of the name of a trigger, for shadow->log and one of the events. */
#define CUCKOO_TRIGGER "cuckoo_%016llx_%s"
extern const char *const cuckoo_trigger_events[CUCKOO_FOLLOWERS];

/* The text of trigger `which` in the schema (sqlite3_malloc; NULL: out of memory). */
char *cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which);

/* What sqlite_master has in this column for trigger `which` (sqlite3_malloc). *text NULL: there is no
** such trigger. */
int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text);

/* The column that the text of trigger `which` names (sqlite3_malloc). NULL: it names none, or *rc is
** SQLITE_NOMEM. */
char *cuckoo_follow_column(const char *trigger, int which, int *rc);

/* Can a trigger write to the filter, and so run its commands? */
int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is);

/* ---- the table ---- */

/* Finds the table to follow: the one with the name in content=, if there is one; else that of the
** triggers, or, if they are gone, the one that was last saved. The same for the column. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* The cookie of the schema, which each change of it raises, VACUUM included. */
int cuckoo_follow_cookie(const cuckoo_shadow *shadow, int64_t *cookie);

/* Saves the names of table and column, for the time when the triggers are gone, and the identity of the
** log, for the time when the header is. */
int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Can what was saved be read, if anything was? *log: the identity that was saved, or 0. */
int cuckoo_follow_check_saved(cuckoo_shadow *shadow, int64_t *log);

/* A statement for the keys, and with rowids=on the rowids, of the first and the last `most` rows, or of
** all rows (`most` < 0). */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys);

/* ---- can they be relied on? The verdict is in follow->trust and ->fault (trigger_check.c) ---- */

/* Looks at the triggers, if the schema may have changed since the last look. */
int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Can the column be followed at all? SQLITE_ERROR: *message (sqlite3_malloc) names the trigger or the
** key that is in the way. follow->table and ->column are known. */
int cuckoo_follow_refuse(const cuckoo_follow *follow, const cuckoo_shadow *shadow, char **message);

/* Sets the fault: the message, and how to rebuild the filter; and the verdict. */
int cuckoo_follow_fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format, ...);

#endif
