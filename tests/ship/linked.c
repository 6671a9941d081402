/* SPDX-License-Identifier: MIT */
/*
** linked.c - a program with the extension linked in, as C and as C++. All connections have it.
*/
#include <cuckoo_filter.h>
#include <sqlite3.h>

#include <stdio.h>

static int print(void *context, int columns, char **value, char **name)
{
    (void)context, (void)columns, (void)name;
    printf("%s\n", value[0] ? value[0] : "NULL");
    return 0;
}

static const char sql[] = "CREATE TABLE t(a INTEGER UNIQUE);"
                          "CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity=100, content='t(a)');"
                          "INSERT INTO t VALUES (1), (2);"
                          "SELECT cf_contains(cf_build(a), 2) + cf_table_contains('f', 1) FROM t;"
                          "SELECT cf_version();";

int main(void)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    int rc = sqlite3_auto_extension((void (*)(void))sqlite3_cuckoo_init);
    if (rc == SQLITE_OK)
        rc = sqlite3_open(":memory:", &db);
    if (rc == SQLITE_OK)
        rc = sqlite3_cuckoo_init(db, &message, NULL); /* it is there already */
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql, print, NULL, &message);
    if (rc != SQLITE_OK)
        printf("not ok: %d %s\n", rc, message ? message : "");
    sqlite3_free(message);
    sqlite3_close(db);
    return rc;
}
