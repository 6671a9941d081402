/* SPDX-License-Identifier: MIT */
#include "statements.h"

#include "sql_text.h"

static bool is_writing(sqlite3_stmt *statement)
{
    return sqlite3_stmt_busy(statement) && !sqlite3_stmt_readonly(statement);
}

sqlite3_stmt *cuckoo_statements_next(sqlite3 *db, sqlite3_stmt *at)
{
    do
        at = sqlite3_next_stmt(db, at);
    while (at && !is_writing(at));
    return at;
}

bool cuckoo_statements_nested(sqlite3 *db)
{
    sqlite3_stmt *one = cuckoo_statements_next(db, NULL);
    return one && cuckoo_statements_next(db, one) != NULL;
}

bool cuckoo_statements_change_rows(sqlite3 *db)
{
    enum { MOST = 64 /* statements to look at: a connection may keep hundreds */ };
    sqlite3_stmt *at = NULL;
    int seen = 0;
    do
        at = sqlite3_next_stmt(db, at);
    while (at && !is_writing(at) && ++seen < MOST);
    return at && is_writing(at) && sqlite3_sql(at) && cuckoo_sql_changes_rows(sqlite3_sql(at));
}
