/* SPDX-License-Identifier: MIT */
/*
** answer.h - runs one SQL statement and writes down everything it said, to be compared.
**
** The memory here is malloc's, not SQLite's: an injected fault must not reach the test itself.
*/
#ifndef ANSWER_H
#define ANSWER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The result code, and the rows one after the other (type and bytes of each value) or, after an
** error, its message. */
typedef struct answer {
    int code;
    char *bytes;
    size_t used, room;
} answer;

static inline void answer_append(answer *a, const void *bytes, size_t n)
{
    if (a->used + n > a->room) {
        a->room = 2 * (a->used + n);
        a->bytes = realloc(a->bytes, a->room);
        if (a->bytes == NULL)
            abort();
    }
    if (n > 0)
        memcpy(a->bytes + a->used, bytes, n);
    a->used += n;
}

static inline void answer_free(answer *a)
{
    free(a->bytes);
    memset(a, 0, sizeof *a);
}

/* Text can need memory, to become UTF-8: false when there was none. */
static inline bool answer_value(answer *a, sqlite3_stmt *statement, int column)
{
    char type = (char)sqlite3_column_type(statement, column);
    const void *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(statement, column)
                                            : sqlite3_column_text(statement, column);
    int n = sqlite3_column_bytes(statement, column);
    if (bytes == NULL && type != SQLITE_NULL && !(type == SQLITE_BLOB && n == 0))
        return false;
    answer_append(a, &type, 1);
    answer_append(a, &n, sizeof n);
    answer_append(a, bytes, (size_t)n);
    return true;
}

static inline int answer_rows(answer *a, sqlite3_stmt *statement)
{
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            if (!answer_value(a, statement, i))
                return SQLITE_NOMEM;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* What the statement answers, from prepare to finalize. */
static inline answer answer_of(sqlite3 *db, const char *sql)
{
    answer a = {0, NULL, 0, 0};
    sqlite3_stmt *statement = NULL;
    a.code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (a.code == SQLITE_OK)
        a.code = answer_rows(&a, statement);
    if (a.code != SQLITE_OK) {
        const char *message = sqlite3_errmsg(db);
        a.used = 0;
        answer_append(&a, message, strlen(message));
    }
    sqlite3_finalize(statement);
    return a;
}

static inline bool answer_equal(const answer *a, const answer *b)
{
    return a->code == b->code && a->used == b->used && memcmp(a->bytes, b->bytes, a->used) == 0;
}

#endif
