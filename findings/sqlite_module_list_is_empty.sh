#!/bin/sh
# SPDX-License-Identifier: MIT
# SQLite 3.54.1 (npm better-sqlite3 13.2.0; 3.52.0 does the same, 3.48.0 does not), compiled without options: PRAGMA module_list
# returns no row on a new connection, and json_each once a statement has used it: its module is registered on first use. So an
# empty list does not prove that an authorizer hides it, and a module that is not listed may work. An extension that looks
# there whether it is loaded must not take an empty list for an error.
# Needs a C compiler and npm. Exits with 1 when the behaviour is another one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-audit --no-fund --ignore-scripts --loglevel=error --prefix "$folder" better-sqlite3@13.2.0 > /dev/null 2>&1
sources=node_modules/better-sqlite3/deps/sqlite3
[ -f "$sources/sqlite3.c" ] || (cd "$sources" && tar xf ./*.tar.gz)
cat > modules.c <<'END'
#include "sqlite3.h"
#include <stdio.h>
static int count;
static int print(void *context, int n, char **values, char **names)
{
    (void)context, (void)n, (void)names;
    printf(" %s", values[0]);
    return count++, 0;
}
static void list(sqlite3 *db, const char *sql)
{
    count = 0;
    printf("%s:", sql);
    sqlite3_exec(db, sql, print, NULL, NULL);
    printf(" (%d)\n", count);
}
int main(void)
{
    sqlite3 *db;
    sqlite3_open(":memory:", &db);
    printf("%s\n", sqlite3_libversion());
    list(db, "PRAGMA module_list");
    list(db, "SELECT value FROM json_each('[7]')");
    list(db, "PRAGMA module_list");
    return sqlite3_close(db);
}
END
cc -O0 -I"$sources" -o modules modules.c "$sources/sqlite3.c" -lm -ldl -lpthread
./modules | tee said
cat > expected <<'END'
3.54.1
PRAGMA module_list: (0)
SELECT value FROM json_each('[7]'): 7 (1)
PRAGMA module_list: json_each (1)
END
diff expected said
