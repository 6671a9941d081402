/* SPDX-License-Identifier: MIT */
/*
** real_data.h - the databases of real_queries.c: rows that are matched with keys.
**
** A database file has `keys(id, key UNIQUE, state)`, or for integers `keys(key PRIMARY KEY, state)`;
** a tenth of them has state 7. Of the rows in `rows_1(id, key)` one percent has a key of that table,
** of those in `rows_10` ten percent, of those in `rows_50` half. `filters(name, f)` holds a filter
** of all keys and one of those with state 7; `seen` and `chosen` are filter tables of the same. A
** second file has the table `keys` once more. `imported(id, key)` is empty. All of it is analysed.
*/
#ifndef CF_BENCH_REAL_DATA_H
#define CF_BENCH_REAL_DATA_H

#include <sqlite3.h>

enum { REAL_STATE = 7 };

typedef enum real_kind { REAL_INTEGERS, REAL_UUIDS, REAL_EMAILS, REAL_KINDS } real_kind;
extern const char *const real_kind_name[REAL_KINDS];

typedef struct real_sizes {
    int rows, keys;
} real_sizes;

/* Bytes in the file. */
typedef struct real_bytes {
    double blob, table, index;
} real_bytes;

/* Opens the database, with the file of the keys attached as `other`, and a page cache of
** `cache_kb` for each. */
sqlite3 *real_open(const char *extension, int cache_kb);

/* Makes both files, and says what the filter of all keys and an index of them take. */
real_bytes real_make(const char *extension, real_kind kind, real_sizes sizes);

/* Lets the operating system forget what it has of the files, as far as it does when asked. */
void real_forget(void);

void real_drop(void);

#endif
