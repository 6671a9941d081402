/* SPDX-License-Identifier: MIT */
/*
** sql_text.h - what a piece of SQL says, as far as a look at its tokens can tell.
*/
#ifndef CUCKOO_SQL_TEXT_H
#define CUCKOO_SQL_TEXT_H

#include "../sqlite/api.h"

/* Can it stand in a name without quotes? */
bool cuckoo_sql_is_name_char(char c);

/* The first character that is no blank. */
const char *cuckoo_sql_skip_blanks(const char *at);

/* A copy (sqlite3_malloc) of the first n bytes of a text, without the blanks around it, and without
** its quotes, if it is quoted (inside, quotes are doubled). NULL: out of memory. */
char *cuckoo_sql_unquoted(const char *text, size_t n);

/* ---- tokens ---- */

typedef enum cuckoo_token_kind {
    CUCKOO_TOKEN_END,
    CUCKOO_TOKEN_WORD,   /* a keyword, a name or a number */
    CUCKOO_TOKEN_QUOTED, /* in '..', "..", `..` or [..]: SQLite takes each of them for a name */
    CUCKOO_TOKEN_OTHER   /* one character */
} cuckoo_token_kind;

typedef struct cuckoo_token {
    cuckoo_token_kind kind;
    const char *at;
    size_t n; /* bytes; those of a quoted token include its quotes */
} cuckoo_token;

/* The token at *sql, behind blanks and comments. *sql is then its end. What is not closed ends with
** the text. */
cuckoo_token cuckoo_sql_token(const char **sql);

/* Is it this word, without quotes, or this character? Is it this name, with or without quotes? Both in
** any case. */
bool cuckoo_token_is(cuckoo_token token, const char *word);
bool cuckoo_token_names(cuckoo_token token, const char *name);

/* ---- what a text says; a text in quotes or a comment says nothing ---- */

/* Does it contain this word, and behind it this name, which may stand behind its schema? */
bool cuckoo_sql_names(const char *sql, const char *word, const char *name);

/* Is this name in the expression of a generated column? */
bool cuckoo_sql_computes(const char *sql, const char *name);

#endif
