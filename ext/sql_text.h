/*
** sql_text.h - what SQL says, as far as words can tell.
*/
#ifndef CUCKOO_SQL_TEXT_H
#define CUCKOO_SQL_TEXT_H

#include "api.h"

/* Is this a word of it, in whatever case? Also within a text or a comment. */
bool cuckoo_sql_has_word(const char *sql, const char *word);

/* Does it say INTO this table? What cannot be read, a comment for one, is taken for a yes. */
bool cuckoo_sql_writes_into(const char *sql, const char *table);

#endif
