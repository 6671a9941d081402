/* SPDX-License-Identifier: MIT */
/*
** database.h - what the benchmarks of SQL share: a database with the extension, and calls that end
** the program when they fail.
*/
#ifndef CF_BENCH_DATABASE_H
#define CF_BENCH_DATABASE_H

#include <sqlite3.h>

/* Opens a database file (":memory:" for none) and loads the extension, `build/cuckoo.so`. */
sqlite3 *bench_open(const char *file, const char *extension);

/* Ends the program with the message of the database, unless rc is SQLITE_OK, _ROW or _DONE. */
void bench_check(sqlite3 *db, int rc);

/* Runs statements that answer nothing of interest: a format of sqlite3_mprintf. */
void bench_run(sqlite3 *db, const char *format, ...);

sqlite3_stmt *bench_prepare(sqlite3 *db, const char *format, ...);

/* Defines a deterministic function of two arguments. */
void bench_define(sqlite3 *db, const char *name,
                  void (*function)(sqlite3_context *, int, sqlite3_value **));

/* A function of two arguments that returns 1: the least that any function costs. */
void bench_noop(sqlite3_context *context, int argc, sqlite3_value **argv);

typedef struct bench_blob {
    void *bytes; /* free() gives them back */
    int length;
} bench_blob;

/* Makes tables keys(id), of 1 to `rows`, words(word), a text for each of these, and filters(name, f). */
void bench_make_keys(sqlite3 *db, int rows);

/* Copies a filter out of the table `filters`. */
bench_blob bench_read_filter(sqlite3 *db, const char *name);

#endif
