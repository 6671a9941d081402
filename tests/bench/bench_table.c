/* SPDX-License-Identifier: MIT */
/*
** bench_table.c - what the persistent table writes and costs, beside a filter kept as a blob in a row.
**
** Run it in the folder of the project; it loads build/cuckoo.so, and keeps its database, in WAL mode,
** in FOLDER while it runs. filter_table.tsv: a table for ten million keys and the same filter as a
** blob, at 50 % and at 95 % of the capacity; single keys are inserted, each in a transaction of its
** own, and many in one. WAL bytes include the header of each page; us is processor time, PRAGMA
** synchronous = NORMAL, so that no insertion waits for the disk; peak MB is that of a process of its
** own for each line, SQLite's page cache included.
**
** filter_table_growth.tsv: a table grows from a tenth of the keys to all of them, and every insertion
** is timed: the longest one says how long a writer waits (the clock takes part of the mean).
*/
#define _POSIX_C_SOURCE 200809L /* fork, stat */

#include "bench.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database.h"

enum { PAGE = 4096, FRAME = PAGE + 24 };

static const char extension[] = "build/cuckoo.so";
static char file[1024], log_file[1024], shared_file[1024];
static sqlite3_int64 capacity = 10000000, first_key;

/* ---- the database ---- */

static sqlite3 *open_database(void)
{
    sqlite3 *db = bench_open(file, extension);
    bench_run(db, "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                  "PRAGMA wal_autocheckpoint = 0");
    return db;
}

static void name_files(const char *folder)
{
    snprintf(file, sizeof file, "%s/table.db", folder);
    snprintf(log_file, sizeof log_file, "%s/table.db-wal", folder);
    snprintf(shared_file, sizeof shared_file, "%s/table.db-shm", folder);
}

static void delete_database(void)
{
    unlink(file);
    unlink(log_file);
    unlink(shared_file);
}

static void step_with(sqlite3 *db, sqlite3_stmt *statement, sqlite3_int64 key)
{
    bench_check(db, sqlite3_bind_int64(statement, 1, first_key + key));
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

static double log_bytes(void)
{
    struct stat about;
    return stat(log_file, &about) == 0 ? (double)about.st_size : 0;
}

typedef struct write_kind {
    const char *title, *sql;
    int times;  /* insertions; 0: from drain to drain, or more */
    bool alone; /* each in a transaction of its own */
} write_kind;

static const write_kind kinds[] = {
    {"table, one insertion per transaction", "INSERT INTO seen(key) VALUES (?1)", 0, true},
    {"table, 40,000 in one transaction", "INSERT INTO seen(key) VALUES (?1)", 0, false},
    {"blob, one cf_add per transaction", "UPDATE filters SET f = cf_add(f, ?1)", 20, true},
};

/* In a process of its own, so that its memory can be told. */
static void write_keys(FILE *out, const write_kind *kind, sqlite3_int64 first)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *statement = bench_prepare(db, kind->sql);
    step_with(db, statement, first); /* reads what it needs */
    bench_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    int times = kind->times ? kind->times : (int)capacity / 250;
    double bytes = log_bytes(), start = 1e6 * bench_seconds();
    if (!kind->alone)
        bench_run(db, "BEGIN");
    for (int i = 1; i <= times; i++)
        step_with(db, statement, first + i);
    if (!kind->alone)
        bench_run(db, "COMMIT");
    double us = (1e6 * bench_seconds() - start) / times;
    bytes = (log_bytes() - bytes) / times;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(out, "%s\t%.0f\t%.2f\t%.2f\t%.1f\n", kind->title, bytes, bytes / FRAME, us,
            (double)used.ru_maxrss / 1024);
    fflush(out);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void in_child(FILE *out, const write_kind *kind, sqlite3_int64 first)
{
    int status = 1;
    fflush(out);
    pid_t child = fork();
    if (child == 0) {
        write_keys(out, kind, first);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        bench_fail("a measurement failed");
}

static void measure_at(FILE *out, int percent, sqlite3_int64 *filled)
{
    sqlite3 *db = open_database();
    fill(db, *filled, capacity * percent / 100);
    *filled = capacity * percent / 100;
    bench_run(db, "DELETE FROM filters; INSERT INTO filters SELECT cf_export('seen')");
    bench_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_close(db);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        fprintf(out, "%d\t", percent);
        in_child(out, &kinds[i], *filled + capacity / 200 * i);
    }
    *filled += capacity / 200 * 3;
}

static void measure_writes(const bench_call *call)
{
    FILE *out = bench_table(call->folder, "filter_table", "full %\tway\tWAL bytes\tpages\tus\tpeak MB");
    sqlite3_int64 filled = 0;
    sqlite3 *db = open_database();
    bench_run(db,
              "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%lld);"
              "CREATE TABLE filters(f BLOB)",
              capacity);
    sqlite3_close(db);
    measure_at(out, 50, &filled);
    measure_at(out, 95, &filled);
    fclose(out);
}

/* ---- growing ---- */

static void measure_growth(const bench_call *call)
{
    FILE *out = bench_table(call->folder, "filter_table_growth", "from keys\tto keys\tus\tlongest, ms");
    sqlite3 *db = open_database();
    double longest = 0, begin, before;
    bench_run(db, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%lld)", capacity / 10);
    sqlite3_stmt *statement = bench_prepare(db, "INSERT INTO seen(key) VALUES (?1)");
    bench_progress("growing to %lld keys", (long long)capacity);
    bench_run(db, "BEGIN");
    begin = before = bench_seconds();
    for (sqlite3_int64 key = 0; key < capacity; key++) {
        step_with(db, statement, key);
        double now = bench_seconds();
        longest = now - before > longest ? now - before : longest;
        before = now;
    }
    fprintf(out, "%lld\t%lld\t%.3f\t%.3f\n", (long long)capacity / 10, (long long)capacity,
            (before - begin) * 1e6 / (double)capacity, longest * 1e3);
    bench_run(db, "COMMIT");
    fclose(out);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    if (call.quick)
        capacity /= 100;
    first_key = (sqlite3_int64)call.seed << 32;
    name_files(call.folder);
    delete_database();
    measure_writes(&call);
    delete_database();
    measure_growth(&call);
    delete_database();
    return 0;
}
