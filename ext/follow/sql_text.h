/* SPDX-License-Identifier: MIT */
/*
** sql_text.h - the tokens of SQL, and searching for words and names in it.
*/
#ifndef CUCKOO_SQL_TEXT_H
#define CUCKOO_SQL_TEXT_H

#include "../sqlite/api.h"

/* True if the character may be part of a name without quotes. */
bool cuckoo_sql_is_name_char(char c);

/* The first character that is not whitespace. */
const char *cuckoo_sql_skip_blanks(const char *at);

/* A copy (sqlite3_malloc) of the first n bytes of a text, without the whitespace around it and without
** its quotes, if it is quoted (doubled quotes inside become single). NULL: out of memory. */
char *cuckoo_sql_unquoted(const char *text, size_t n);

/* ---- tokens ---- */

typedef enum cuckoo_token_kind {
    CUCKOO_TOKEN_END,
    CUCKOO_TOKEN_WORD,   /* a keyword, a name or a number */
    CUCKOO_TOKEN_QUOTED, /* in '..', "..", `..` or [..]: SQLite accepts each as a name */
    CUCKOO_TOKEN_OTHER   /* one character */
} cuckoo_token_kind;

typedef struct cuckoo_token {
    cuckoo_token_kind kind;
    const char *at;
    size_t n; /* bytes, with the quotes of a quoted token */
} cuckoo_token;

/* The token at *sql, after whitespace and comments. *sql is then its end. An unclosed quote or comment
** ends with the text. */
cuckoo_token cuckoo_sql_token(const char **sql);

/* True if the token is this word, without quotes, or this character; or this name, with or without
** quotes. Both ignore case. */
bool cuckoo_token_is(cuckoo_token token, const char *word);
bool cuckoo_token_names(cuckoo_token token, const char *name);

/* ---- searching a text; quoted texts and comments do not count ---- */

/* True if it contains this word followed by this name, which may follow its schema. */
bool cuckoo_sql_names(const char *sql, const char *word, const char *name);

/* True if this name is in the expression of a generated column. */
bool cuckoo_sql_computes(const char *sql, const char *name);

#endif
