#!/bin/sh
# SPDX-License-Identifier: MIT
# SQLite 3.54.1 (npm better-sqlite3 13.2.0) asks an authorizer for the function in the DEFAULT of a column when an INSERT leaves the
# column out, and for one with constant arguments also when a SELECT reads the column, although no row takes the DEFAULT then. It
# takes SQLITE_IGNORE for a denial: both are errors. 3.48.0 (better-sqlite3 11.8.1) does not ask. For a function that a
# SELECT calls both ask, and SQLITE_IGNORE makes it NULL. An extension whose tables have functions in a DEFAULT has to say so
# to programs with an authorizer.
# Needs a C compiler and npm. Exits with 1 when the behaviour is another one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > ask.c <<'END'
#include "sqlite3.h"
#include <stdio.h>
#include <string.h>
static int ignore_abs(void *context, int action, const char *one, const char *two, const char *schema, const char *source)
{
    (void)context, (void)one, (void)schema, (void)source;
    return action == SQLITE_FUNCTION && strcmp(two, "abs") == 0 ? SQLITE_IGNORE : SQLITE_OK;
}
static int print(void *context, int n, char **values, char **names)
{
    (void)context, (void)n, (void)names;
    printf("  %s\n", values[0] ? values[0] : "NULL");
    return 0;
}
int main(void)
{
    const char *statements[] = {"SELECT abs(-5)", "INSERT INTO t(x) VALUES (1)", "SELECT k FROM t"};
    sqlite3 *db;
    sqlite3_open(":memory:", &db);
    sqlite3_exec(db, "CREATE TABLE t(k DEFAULT (abs(-5)), x)", NULL, NULL, NULL);
    sqlite3_set_authorizer(db, ignore_abs, NULL);
    printf("%s\n", sqlite3_libversion());
    for (int i = 0; i < 3; i++) {
        printf("%s\n", statements[i]);
        if (sqlite3_exec(db, statements[i], print, NULL, NULL) != SQLITE_OK)
            printf("  %s\n", sqlite3_errmsg(db));
    }
    return sqlite3_close(db);
}
END
for package in 13.2.0 11.8.1; do
    npm install --no-audit --no-fund --ignore-scripts --loglevel=error --prefix "$folder/$package" "better-sqlite3@$package" > /dev/null 2>&1
    sources=$package/node_modules/better-sqlite3/deps/sqlite3
    [ -f "$sources/sqlite3.c" ] || (cd "$sources" && tar xf ./*.tar.gz)
    cc -O0 -I"$sources" -o ask ask.c "$sources/sqlite3.c" -lm -ldl -lpthread
    ./ask
done | tee said
cat > expected <<'END'
3.54.1
SELECT abs(-5)
  NULL
INSERT INTO t(x) VALUES (1)
  not authorized to use function: abs
SELECT k FROM t
  not authorized to use function: abs
3.48.0
SELECT abs(-5)
  NULL
INSERT INTO t(x) VALUES (1)
SELECT k FROM t
  5
END
diff expected said
