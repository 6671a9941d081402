/* SPDX-License-Identifier: MIT */
/*
** follow.h - a filter table that follows a column of a table: its triggers, and whether they
** can be relied on.
**
** Three triggers, "seen_inserted", "seen_deleted" and "seen_updated", tell the filter of each row
** that changes. They write to hidden columns of the filter, which only notes what it is told
** (table_change.c). So what it holds does not depend on the order in which triggers fire.
**
** The triggers themselves say which table and which column is followed: SQLite rewrites them when
** these are renamed. They are looked at before the next use whenever the schema may have changed. A
** kept statement tells that: SQLite prepares it anew after changes of the schema by this connection
** or by others, after changes of TEMP triggers, and after a rollback. These must hold:
**
** - All three triggers are there, on one table, as they were made.
** - No trigger that can make SQLite skip them fires before them. SQLite fires the newest trigger
**   first (a test checks that), and TEMP triggers before all others. A row stays, and its later
**   triggers never run, after RAISE(IGNORE) in such a trigger; and after RAISE(FAIL), OR FAIL and ON
**   CONFLICT FAIL in it or in what it sets off. OR FAIL in a statement that changes the table holds
**   for what the trigger does, too. OR IGNORE only leaves out what the trigger would have changed.
** - Triggers are not switched off in this connection.
** - The column compares as it did.
** - The keys of some rows of the table are there: it may have been made anew, triggers and all.
**
** When one of these does not hold, every use of the filter is an error that says so. `rebuild`
** makes the triggers anew, as the newest, and reads the table again.
**
** Functions return SQLite codes.
*/
#ifndef CUCKOO_FOLLOW_H
#define CUCKOO_FOLLOW_H

#include "shadow.h"

/* What triggers of others do that fire after the change of a row, and before ours. */
typedef enum cuckoo_others {
    CUCKOO_OTHERS_NONE,  /* nothing, or they only read */
    CUCKOO_OTHERS_WRITE, /* they are harmful under OR FAIL */
    CUCKOO_OTHERS_HARM   /* they can keep rows without our triggers */
} cuckoo_others;

typedef struct cuckoo_follow {
    char *given_table, *given_column; /* of content='table(column)'; NULL: it follows nothing */
    char *table, *column;             /* as they are named now; NULL: not looked at, or not known */
    char *fault;                      /* why the filter must not be used; NULL: it may be used */

    bool saved;   /* table and column are in the database, in row -1 of the pages */
    bool looked;  /* at the triggers, since the schema last changed */
    bool current; /* looked when the statement that runs began */
    bool ruled;   /* the column compares as the keys were hashed */
    bool sampled; /* some rows of the table were asked for, since the look */
    bool may_lie; /* old values that triggers tell may not be true (schema.h) */
    cuckoo_others others;
    int refused; /* a statement that must not change the table runs; its savepoint + 1; 0: none does */
    sqlite3_stmt *row; /* asks for a row of the table; NULL: not prepared */
    unsigned version;  /* of the database, at the last look */
    int prepared;      /* how often the kept statement was prepared anew */
} cuckoo_follow;

/* Takes over both texts (sqlite3_malloc), or NULL twice. */
void cuckoo_follow_init(cuckoo_follow *follow, char *table, char *column);
void cuckoo_follow_free(cuckoo_follow *follow);

/* ---- the triggers ---- */

/* Their names are that of the filter and these suffixes. */
enum { CUCKOO_TRIGGERS = 3 };
extern const char *const cuckoo_follow_suffixes[CUCKOO_TRIGGERS];

/* Creates the triggers for follow->table and ->column, for a
** filter that has, or will have, this name. */
int cuckoo_follow_create(cuckoo_follow *follow, cuckoo_shadow *shadow, const char *filter);

/* Drops triggers that have the names of ours. */
typedef enum cuckoo_which {
    CUCKOO_ORPHANS, /* of an earlier filter of this name: they are as we make them */
    CUCKOO_OWN,     /* the same, and all that name the filter, which could not fire without it */
    CUCKOO_ANY      /* whatever they say */
} cuckoo_which;
int cuckoo_follow_drop(const cuckoo_shadow *shadow, cuckoo_which which);

/* The text of a trigger, as SQLite keeps it behind "CREATE TRIGGER " (sqlite3_malloc). */
int cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which,
                       const char *filter, char **text);

/* A column of the row of a trigger in the schema (sqlite3_malloc). *text NULL: there is none. */
int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text);

/* Can another trigger write to the filter, and so run its commands? */
int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is);

/* ---- the table ---- */

/* Finds the table to follow: the one of the triggers, or, if they are gone, the one that was last
** saved. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Saves the names of table and column, for the time when the triggers are gone. */
int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Can the saved names be read, if there are any? */
int cuckoo_follow_check_names(cuckoo_shadow *shadow);

/* A statement for the keys of the first and the last `most` rows, or of all rows (`most` < 0). */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys);

/* The key of the row of this rowid. It lives until follow->row
** is reset. NULL: there is no such row, or rows have no rowid. */
int cuckoo_follow_row(cuckoo_follow *follow, const cuckoo_shadow *shadow, int64_t row,
                      sqlite3_value **key);

/* Finalizes follow->row. */
void cuckoo_follow_end_row(cuckoo_follow *follow);

/* ---- can they be relied on? The verdict is in follow->fault ---- */

/* Looks at the triggers, if the schema may have changed since the last look. */
int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* The same for lookups while this connection writes nothing. Then a change of
** the schema comes with a commit, which changes `version` (fresh.h), or makes
** SQLite expire statements, as TEMP triggers do. That is cheaper to ask. */
int cuckoo_follow_look_quickly(cuckoo_follow *follow, cuckoo_shadow *shadow, unsigned version);

/* The same when a statement that writes begins. *refuse: it may keep a row of the table for which
** our triggers do not fire. The reason is in follow->fault until the next look. */
int cuckoo_follow_look_at_statement(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *refuse);

/* Sets the fault again for such a statement. */
int cuckoo_follow_refuse(cuckoo_follow *follow, const cuckoo_shadow *shadow);

/* Sets the fault: the message, and how to rebuild the filter. */
int cuckoo_follow_fail(cuckoo_follow *follow, const cuckoo_shadow *shadow, const char *format, ...);

#endif
