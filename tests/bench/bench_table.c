/* SPDX-License-Identifier: MIT */
/*
** bench_table.c - what the persistent table writes and costs, beside a filter kept as a blob in a
** row.
**
**      bench_table build/cuckoo.so [quick]      a minute; quick: a tenth of the keys
**
** A database file in WAL mode holds a table `seen USING cuckoo_filter(capacity=10000000)`, and
** beside it the same filter as a blob, at 50 % and at 95 % of the capacity. Single keys are
** inserted, each in a transaction of its own, and many in one:
**
**   WAL bytes     what one insertion appends to the write-ahead log, header of each page included
**   pages         the same in database pages
**   us            wall clock, PRAGMA synchronous = NORMAL, so that no insertion waits for the disk
**   peak MB       of the whole process that does it, SQLite's page cache included; a process of its own for each line
**
** Then a table grows from a tenth of the keys to all of them, and every insertion is timed: the
** longest one says how long a writer waits.
*/
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "bench.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "database.h"

enum { PAGE = 4096, FRAME = PAGE + 24 };

static const char *extension;
static const char file[] = "build/bench/table.db", log_file[] = "build/bench/table.db-wal";
static sqlite3_int64 capacity = 10000000;

/* ---- the database ---- */

static sqlite3 *open_database(void)
{
    sqlite3 *db = bench_open(file, extension);
    bench_run(db, "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                  "PRAGMA wal_autocheckpoint = 0");
    return db;
}

static void delete_database(void)
{
    unlink(file);
    unlink(log_file);
    unlink("build/bench/table.db-shm");
}

static void step_with(sqlite3 *db, sqlite3_stmt *statement, sqlite3_int64 key)
{
    bench_check(db, sqlite3_bind_int64(statement, 1, key));
    bench_check(db, sqlite3_step(statement));
    bench_check(db, sqlite3_reset(statement));
}

/* Keys from..to-1 into the table. */
static void fill(sqlite3 *db, sqlite3_int64 from, sqlite3_int64 to)
{
    sqlite3_stmt *statement = bench_prepare(db, "INSERT INTO seen(key) VALUES (?1)");
    bench_progress("keys %lld to %lld", (long long)from, (long long)to);
    bench_run(db, "BEGIN");
    for (sqlite3_int64 key = from; key < to; key++)
        step_with(db, statement, key);
    bench_run(db, "COMMIT");
    sqlite3_finalize(statement);
}

/* ---- writing ---- */

static double wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double log_bytes(void)
{
    struct stat about;
    return stat(log_file, &about) == 0 ? (double)about.st_size : 0;
}

typedef struct write_kind {
    const char *title, *sql;
    int times;  /* insertions */
    bool alone; /* each in a transaction of its own */
} write_kind;

static const write_kind kinds[] = {
    {"table, one insertion per transaction", "INSERT INTO seen(key) VALUES (?1)", 2000, true},
    {"table, 2,000 in one transaction", "INSERT INTO seen(key) VALUES (?1)", 2000, false},
    {"blob, one cf_add per transaction", "UPDATE filters SET f = cf_add(f, ?1)", 20, true},
};

/* In a process of its own, so that its memory can be told. */
static void write_keys(const write_kind *kind, sqlite3_int64 first)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *statement = bench_prepare(db, kind->sql);
    step_with(db, statement, first); /* reads what it needs */
    bench_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    double bytes = log_bytes(), start = wall_us();
    if (!kind->alone)
        bench_run(db, "BEGIN");
    for (int i = 1; i <= kind->times; i++)
        step_with(db, statement, first + i);
    if (!kind->alone)
        bench_run(db, "COMMIT");
    double us = (wall_us() - start) / kind->times;
    bytes = (log_bytes() - bytes) / kind->times;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%-40s%12.0f%10.1f%10.1f%10.0f\n", kind->title, bytes, bytes / FRAME, us,
           (double)used.ru_maxrss / 1024);
    fflush(stdout);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void in_child(const write_kind *kind, sqlite3_int64 first)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        write_keys(kind, first);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        bench_fail("a measurement failed");
}

static void measure_at(int percent, sqlite3_int64 *filled)
{
    sqlite3 *db = open_database();
    fill(db, *filled, capacity * percent / 100);
    *filled = capacity * percent / 100;
    bench_run(db, "DELETE FROM filters; INSERT INTO filters SELECT cf_export('seen')");
    bench_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_close(db);
    printf("\n%lld keys, %d %% of the capacity\n", (long long)*filled, percent);
    printf("%-40s%12s%10s%10s%10s\n", "", "WAL bytes", "pages", "us", "peak MB");
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        in_child(&kinds[i], *filled + 10000 * i);
    *filled += 30000;
}

static void measure_writes(void)
{
    sqlite3_int64 filled = 0;
    sqlite3 *db = open_database();
    bench_run_format(db,
                     "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%lld);"
                     "CREATE TABLE filters(f BLOB)",
                     capacity);
    sqlite3_close(db);
    measure_at(50, &filled);
    measure_at(95, &filled);
}

/* ---- growing ---- */

static void measure_growth(void)
{
    sqlite3 *db = open_database();
    double longest = 0, begin;
    sqlite3_int64 at = 0;
    bench_run_format(db, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%lld)", capacity / 10);
    sqlite3_stmt *statement = bench_prepare(db, "INSERT INTO seen(key) VALUES (?1)");
    bench_progress("growing to %lld keys", (long long)capacity);
    bench_run(db, "BEGIN");
    begin = wall_us();
    for (sqlite3_int64 key = 0; key < capacity; key++) {
        double start = wall_us();
        step_with(db, statement, key);
        double us = wall_us() - start;
        if (us > longest) {
            longest = us;
            at = key;
        }
    }
    double mean = (wall_us() - begin) / (double)capacity;
    bench_run(db, "COMMIT");
    printf(
        "\ngrowing from %lld to %lld keys in one transaction: %.1f us per insertion, the longest %.0f "
        "ms (key %lld)\n",
        (long long)capacity / 10, (long long)capacity, mean, longest / 1000, (long long)at);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        bench_fail("usage: bench_table build/cuckoo.so [quick]");
    extension = argv[1];
    if (argc > 2 && strcmp(argv[2], "quick") == 0)
        capacity /= 10;
    delete_database();
    measure_writes();
    delete_database();
    measure_growth();
    delete_database();
    return 0;
}
