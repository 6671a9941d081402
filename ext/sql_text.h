/* SPDX-License-Identifier: MIT */
/*
** sql_text.h - what a piece of SQL says, as far as a look at its words can tell.
*/
#ifndef CUCKOO_SQL_TEXT_H
#define CUCKOO_SQL_TEXT_H

#include "api.h"

/* The first character that is no blank. */
const char *cuckoo_sql_skip_blanks(const char *at);

/* A copy (sqlite3_malloc) of the first n bytes of a text, without the blanks around it, and without
** its quotes, if it is quoted (inside, quotes are doubled). NULL: out of memory. */
char *cuckoo_sql_unquoted(const char *text, size_t n);

/* Does the SQL contain this word, in any case? A word inside a text or a comment counts, too. */
bool cuckoo_sql_has_word(const char *sql, const char *word);

/* Does the SQL say INTO this table? When the name cannot be read, as behind a comment: true. */
bool cuckoo_sql_writes_into(const char *sql, const char *table);

#endif
