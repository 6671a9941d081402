/* SPDX-License-Identifier: MIT */
/*
** content.h - queries the synced table in place of a filter that is not trusted.
**
**      SELECT 1 FROM "main"."users" AS t WHERE t."email" = ?1
**
** The answer is right, and as fast as an index on the column, so a migration that adds a trigger breaks
** no program. The comparison is the column's own. But a join may convert the values of a column without
** numeric affinity, texts to numbers or numbers to texts. So if the column has any text, a number that
** it does not have is "probably" there; and so is a text that looks like a number, if it has any number.
*/
#ifndef CUCKOO_CONTENT_H
#define CUCKOO_CONTENT_H

#include "../sqlite/api.h"

/* All zeros: it is not open. */
typedef struct cuckoo_content {
    sqlite3_stmt *has, *texts, *numbers;
    int prepared; /* how many times SQLite had prepared `has` when its plan was read */
    bool usable;  /* an index on the column can be used */
    bool numeric; /* the affinity of the column */
} cuckoo_content;

/* Prepares the queries for this column, unless that was done, and checks whether they use an index.
** `open` is false if they do not: the table would be read row by row. Returns an SQLite code. */
int cuckoo_content_open(cuckoo_content *content, sqlite3 *db, const char *schema, const char *table,
                        const char *column, bool *open);

/* Sets *has to true if the column probably has this key. Returns an SQLite code. */
int cuckoo_content_has(cuckoo_content *content, sqlite3_value *key, bool *has);

/* True if a join may find other rows than those that are equal to the key as a parameter. */
bool cuckoo_content_converts(const cuckoo_content *content, sqlite3_value *key);

void cuckoo_content_close(cuckoo_content *content);

#endif
