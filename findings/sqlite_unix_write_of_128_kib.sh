#!/bin/sh
# SPDX-License-Identifier: MIT
# SQLite 3.54.1 (npm better-sqlite3 13.2.0; 3.40.1 does the same), VFS of Unix: xWrite of 128 KiB or more in one call returns
# SQLITE_FULL, with plenty of room on the disk. It writes the low 17 bits of the length, then 128 KiB that are taken as 0,
# and 0 bytes count as a full disk. SQLite itself never writes more than a page. An extension that keeps bytes in a temporary
# file of the VFS has to write smaller pieces.
# Needs a C compiler and npm. Exits with 1 when the behaviour is another one.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-audit --no-fund --ignore-scripts --loglevel=error --prefix "$folder" better-sqlite3@13.2.0 > /dev/null 2>&1
sources=node_modules/better-sqlite3/deps/sqlite3
[ -f "$sources/sqlite3.c" ] || (cd "$sources" && tar xf ./*.tar.gz)
cat > write.c <<'END'
#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const int lengths[] = {131071, 131072, 131073, 200000};
    sqlite3_initialize();
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    printf("%s %s\n", vfs->zName, sqlite3_libversion());
    for (int i = 0; i < 4; i++) {
        sqlite3_int64 size = -1;
        sqlite3_file *file = calloc(1, (size_t)vfs->szOsFile);
        char *bytes = calloc(1, (size_t)lengths[i]);
        if (vfs->xOpen(vfs, NULL, file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE |
                       SQLITE_OPEN_DELETEONCLOSE | SQLITE_OPEN_TEMP_DB, NULL) != SQLITE_OK)
            return 1;
        int rc = file->pMethods->xWrite(file, bytes, lengths[i], 0);
        file->pMethods->xFileSize(file, &size);
        printf("%d: %s, %lld bytes in the file\n", lengths[i], sqlite3_errstr(rc), size);
        file->pMethods->xClose(file);
    }
    return 0;
}
END
cc -O0 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -I"$sources" -o write write.c "$sources/sqlite3.c" -lm
./write | tee said
cat > expected <<'END'
unix 3.54.1
131071: not an error, 131071 bytes in the file
131072: database or disk is full, 0 bytes in the file
131073: database or disk is full, 0 bytes in the file
200000: database or disk is full, 68928 bytes in the file
END
diff expected said
