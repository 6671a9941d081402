/* SPDX-License-Identifier: MIT */
/*
** rules.h - which other triggers can make the sum of the log wrong.
**
** Our triggers log the old and the new key of a row, and these are added up (log.h). Two rules say when
** other triggers can make the sum wrong. They were found by comparing random schemas with an exact count
** (tests/python/follow/random_triggers.py), and examine only the tokens of a trigger.
**
** - A. A BEFORE UPDATE or BEFORE DELETE trigger on the table writes anything, *and* something else may
**   change a key during such a change: another trigger inserts rows into the table, deletes rows, or
**   sets the column or the primary key; or a foreign key of these columns has an action. (For a
**   generated column, the columns that it is computed from count.) SQLite then passes values to our
**   triggers that were read before. The same happens if the column refers to its own table with an
**   action. A filter cannot be in sync with such a column.
** - B. A trigger fires after the change of a row and before ours, because it is newer or TEMP. If it
**   writes, the write may fail under OR FAIL; RAISE(IGNORE) and RAISE(FAIL) have the same effect: the
**   row stays, and our triggers do not run for it. Then the filter is not trusted.
*/
#ifndef CUCKOO_RULES_H
#define CUCKOO_RULES_H

#include "../pages/shadow.h"

typedef struct cuckoo_rules {
    char *why;     /* the violation (sqlite3_malloc); NULL: none */
    bool refuses;  /* it violates rule A */
    bool preceded; /* some other trigger fires after the change of a row and before ours */
} cuckoo_rules;

/* Checks other triggers and foreign keys, for this column. Returns an SQLite code; on error `why` is
** NULL. */
int cuckoo_rules_look(cuckoo_rules *rules, const cuckoo_shadow *shadow, const char *table,
                      const char *column);

#endif
