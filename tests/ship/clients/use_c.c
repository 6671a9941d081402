/* SPDX-License-Identifier: MIT */
/* C. The program may have a locale of its own. */
#include <locale.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static sqlite3 *db;
static sqlite3_stmt *made, *asked, *table;

static int answer(sqlite3_stmt *statement)
{
    int found = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_reset(statement);
    return found;
}

static int ask_id(sqlite3_int64 key)
{
    sqlite3_bind_int64(asked, 2, key);
    return answer(asked);
}

static int ask_text(sqlite3_stmt *statement, const char *key)
{
    sqlite3_bind_text(statement, 2, key, -1, SQLITE_TRANSIENT);
    return answer(statement);
}

/* Makes a filter of a column, and binds it. */
static void use(const char *build)
{
    sqlite3_prepare_v2(db, build, -1, &made, NULL);
    sqlite3_step(made);
    sqlite3_bind_blob(asked, 1, sqlite3_column_blob(made, 0), sqlite3_column_bytes(made, 0),
                      SQLITE_TRANSIENT);
    sqlite3_finalize(made);
}

int main(void)
{
    char *error = NULL;
    setlocale(LC_ALL, "");
    sqlite3_open(":memory:", &db);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, "build/cuckoo", NULL, &error) != SQLITE_OK)
        return fprintf(stderr, "%s\n", error), EXIT_FAILURE;
    sqlite3_exec(db,
                 "CREATE TABLE users(id INTEGER, email TEXT);"
                 "INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd');"
                 "CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)');"
                 "INSERT INTO users VALUES (4, 'dan')",
                 NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "SELECT cf_contains(?1, ?2)", -1, &asked, NULL);
    sqlite3_prepare_v2(db, "SELECT cf_table_contains('known', ?2)", -1, &table, NULL);
    use("SELECT cf_build(id, 0.000001) FROM users");
    printf("ids %d %d %d", ask_id(1), ask_id(3), ask_text(asked, "one"));
    printf(" %d %d", ask_id(9007199254740993), ask_id(9007199254740992));
    use("SELECT cf_build(email, 0.000001) FROM users");
    printf(", texts %d %d", ask_text(asked, "bob"), ask_text(asked, "zoe"));
    printf(", table %d %d\n", ask_text(table, "dan"), ask_text(table, "eve"));
    sqlite3_finalize(asked);
    sqlite3_finalize(table);
    return sqlite3_close(db);
}
