/* SPDX-License-Identifier: MIT */
/*
** temporary.h - a private temporary file, where SQLite would create one.
*/
#ifndef CUCKOO_TEMPORARY_H
#define CUCKOO_TEMPORARY_H

#include "api.h"

/* All zeros: closed. */
typedef struct cuckoo_temporary {
    cf_temporary file; /* its functions for src, which open it when first used */
    sqlite3 *db;
    sqlite3_file *opened; /* NULL: not open */
    int rc;               /* the first error */
} cuckoo_temporary;

/* What is said of sqlite3_errstr(rc). */
#define CUCKOO_TEMPORARY_FAILED                                                                         \
    "the temporary file cannot be written or read (%s); make room in the directory for temporary "      \
    "files, or PRAGMA temp_store = memory"

/* There is no file, and `move` returns false, if temporary tables of this connection are in memory
** (PRAGMA temp_store), or if SQLite cannot create one. *temporary must not move afterwards. */
void cuckoo_temporary_begin(cuckoo_temporary *temporary, sqlite3 *db);

/* Closes and deletes it. */
void cuckoo_temporary_close(cuckoo_temporary *temporary);

#endif
