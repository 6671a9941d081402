/*
** follow.h - a persistent filter that follows a column of a table: its triggers, and whether they can be relied on.
**
** Three triggers, "seen_inserted", "seen_deleted" and "seen_updated", tell the filter of each row that changes. They
** write to hidden columns of the filter, which only notes what it is told (filter_change.c): what it holds then does
** not depend on the order in which triggers fire.
**
** The triggers themselves say which table and which column is followed: SQLite rewrites them when these are renamed.
** Whenever the schema may have changed (a kept statement has been prepared anew: SQLite does that for changes of this
** connection and of others, of TEMP triggers, and after a rollback) they are looked at before the next use:
**
** - all three are there, on one table, as they were made;
** - none that can make SQLite skip them fires before them. SQLite fires the newest first (a test checks that), and
**   TEMP triggers before all others. RAISE(IGNORE), RAISE(FAIL), OR FAIL and ON CONFLICT FAIL keep a row whose later triggers never run;
** - triggers are not switched off in this connection;
** - the column compares as it did;
** - the keys of some rows of the table are there: it may have been made anew, triggers and all.
**
** When one of these does not hold, every use of the filter is an error that says so. `rebuild` makes the triggers anew,
** as the newest, and reads the table again.
*/
#ifndef CUCKOO_FOLLOW_H
#define CUCKOO_FOLLOW_H

#include "shadow.h"

typedef struct cuckoo_follow {
    char *given_table, *given_column; /* of content='table(column)'; NULL: it follows nothing */
    char *table, *column;             /* as they are now; NULL: not looked at yet, or not known */
    char *fault;                      /* why the filter must not be used; NULL: it may be */
    bool saved;                       /* these names are in the database, in row -1 of the pages */
    bool looked;                      /* since the schema last changed */
    bool ruled;                       /* its column compares as the keys were hashed */
    bool sampled;                     /* rows of the table were asked for, since then */
    bool newer;        /* triggers of others fire before ours: harmless but under OR FAIL */
    sqlite3_stmt *row; /* asks for a row of the table; NULL: not yet */
    unsigned version;  /* of the database, when it was looked at */
    int prepared;      /* how often the kept statement was prepared anew */
} cuckoo_follow;

/* Takes over both texts (sqlite3_malloc), or NULL twice. */
void cuckoo_follow_init(cuckoo_follow *follow, char *table, char *column);
void cuckoo_follow_free(cuckoo_follow *follow);

/* Looks at the triggers, if the schema may have changed since it last did. `follow` follows something. An SQLite code;
** the verdict is in follow->fault. */
int cuckoo_follow_look(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* The same for lookups while this connection writes nothing: a change of the schema then comes with a commit, which changes
** `version` (fresh.h), or makes SQLite expire statements, as TEMP triggers do. That is cheaper to ask. */
int cuckoo_follow_look_quickly(cuckoo_follow *follow, cuckoo_shadow *shadow, unsigned version);

/* The same when a statement that writes begins. *refuse: it says OR FAIL, and a trigger fires before ours; the reason is in
** follow->fault until the next look. */
int cuckoo_follow_look_at_statement(cuckoo_follow *follow, cuckoo_shadow *shadow, bool *refuse);

/* Is a statement that writes running in this connection? Then the table may be ahead of its triggers. */
bool cuckoo_follow_writing(const cuckoo_shadow *shadow);

/* Are there two of them? Then one runs within another, which has been compiled before. */
bool cuckoo_follow_writing_within(const cuckoo_shadow *shadow);

/* A statement for all keys of the table (`most` < 0), or for some of its first and last rows. */
int cuckoo_follow_keys(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int most,
                       sqlite3_stmt **keys);

/* The key of the row of this rowid, until follow->row is reset; NULL: there is no such row. */
int cuckoo_follow_row(cuckoo_follow *follow, const cuckoo_shadow *shadow, int64_t row,
                      sqlite3_value **key);

/* Creates the triggers for follow->table and ->column, as the filter is called now. */
int cuckoo_follow_create(cuckoo_follow *follow, cuckoo_shadow *shadow, const char *filter);

/* Drops them; `any`: also triggers of these names that say something else. */
int cuckoo_follow_drop(const cuckoo_shadow *shadow, bool any);

/* Finds the table to follow: that of the triggers, or, when they are gone, the one that was last saved. */
int cuckoo_follow_find(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* Saves the names, for the case that the triggers will be gone. */
int cuckoo_follow_save(cuckoo_follow *follow, cuckoo_shadow *shadow);

/* The triggers: their names behind that of the filter; what SQLite keeps of each behind "CREATE TRIGGER "
** (sqlite3_malloc), for a filter of this name; and a column of its row of the schema (*text NULL: there is none). */
enum { CUCKOO_TRIGGERS = 3 };
extern const char *const cuckoo_follow_suffixes[CUCKOO_TRIGGERS];
int cuckoo_follow_text(const cuckoo_follow *follow, const cuckoo_shadow *shadow, int which,
                       const char *filter, char **text);
int cuckoo_follow_read(const cuckoo_shadow *shadow, const char *column, int which, char **text);

/* Is this the text of a trigger of a filter, and nothing else? */
bool cuckoo_follow_is_ours(const char *sql);

/* Can a trigger write to the filter, and so run its commands? */
int cuckoo_follow_is_written_by_triggers(const cuckoo_shadow *shadow, bool *is);

/* The fault is another one (memory of sqlite3_malloc, NULL: there was none). */
int cuckoo_follow_fail(cuckoo_follow *follow, char *fault);

#endif
