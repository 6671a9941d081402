/* SPDX-License-Identifier: MIT */
/*
** content.h - asking the table that a filter follows, in place of a filter that is not trusted.
**
**      SELECT 1 FROM "main"."users" AS t WHERE t."email" = ?1
**
** The answer is right, at the speed of an index of the column. So a migration that adds a trigger
** breaks nobody. The comparison is the column's own. But a join may convert what a column without
** numeric affinity holds: texts to numbers, or numbers to texts. So where there is any text, a number
** that the column does not have is "perhaps" there; and so is a text that looks like a number, where
** there is any number.
*/
#ifndef CUCKOO_CONTENT_H
#define CUCKOO_CONTENT_H

#include "../sqlite/api.h"

/* All zeros: it is not open. */
typedef struct cuckoo_content {
    sqlite3_stmt *has, *texts, *numbers;
    int prepared; /* how often SQLite had prepared `has` when its plan was looked at */
    bool usable;  /* an index of the column serves */
    bool numeric; /* the affinity of the column */
} cuckoo_content;

/* Prepares the question for this column, unless that was done, and looks whether an index serves.
** `open` is false if none does: the table would be read row by row. Returns an SQLite code. */
int cuckoo_content_open(cuckoo_content *content, sqlite3 *db, const char *schema, const char *table,
                        const char *column, bool *open);

/* Has the column this key, perhaps? Returns an SQLite code. */
int cuckoo_content_has(cuckoo_content *content, sqlite3_value *key, bool *has);

/* May a join find other rows than those that are equal to the key as a parameter? */
bool cuckoo_content_converts(const cuckoo_content *content, sqlite3_value *key);

void cuckoo_content_close(cuckoo_content *content);

#endif
