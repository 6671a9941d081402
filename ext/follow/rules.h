/* SPDX-License-Identifier: MIT */
/*
** rules.h - which triggers of others can make the sum of the log wrong.
**
** Ours tell what a row held and what it holds now, and that is added up (log.h). Two rules say when
** triggers of others can make the sum wrong. They were found by random schemas beside an exact count
** (tests/python/follow/random_triggers.py), and compare words only.
**
** - A. A BEFORE UPDATE or BEFORE DELETE trigger on the table that writes anything, *and* something that
**   may change a key in the midst of such a change: a trigger of others that puts rows into the table,
**   deletes some, or sets the column or the primary key; or an action of a foreign key of these. (Of a
**   generated column, the columns that it is made of count.) SQLite then tells our triggers values that
**   were read before. So it is with a column that refers to its own table with an action. Such a column
**   is not followed.
** - B. A trigger that fires after the change of a row and before ours: it is newer, or TEMP. If it
**   writes, what it writes may fail under OR FAIL; RAISE(IGNORE) and RAISE(FAIL) do the same: the row
**   stays, and ours never hears of it. Then the filter is not trusted.
*/
#ifndef CUCKOO_RULES_H
#define CUCKOO_RULES_H

#include "../pages/shadow.h"

typedef struct cuckoo_rules {
    char *why;     /* what breaks a rule (sqlite3_malloc); NULL: nothing does */
    bool refuses;  /* that is rule A */
    bool preceded; /* some trigger of others fires after the change of a row and before ours */
} cuckoo_rules;

/* Looks at the triggers and foreign keys of others, for this column. After an error there is no text.
** Returns an SQLite code. */
int cuckoo_rules_look(cuckoo_rules *rules, const cuckoo_shadow *shadow, const char *table,
                      const char *column);

#endif
