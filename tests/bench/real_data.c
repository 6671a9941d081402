/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* posix_fadvise */

#include "real_data.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "database.h"

const char *const real_kind_name[REAL_KINDS] = {"integers", "UUIDs", "e-mail addresses"};

static const char *const files[] = {"build/bench/real.db", "build/bench/real_keys.db"};
enum { FILES = sizeof files / sizeof *files };

static real_kind kind_made;
static int keys_made;

/* ---- keys ---- */

static void make_integer(sqlite3_context *context, uint64_t random)
{
    sqlite3_result_int64(context, (sqlite3_int64)(random >> 16));
}

static void make_uuid(sqlite3_context *context, uint64_t random)
{
    char text[40];
    uint64_t more = bench_random(random);
    snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(random >> 32),
             (unsigned)(random >> 16) & 0xffff, (unsigned)random & 0xfff,
             0x8000 | ((unsigned)(more >> 48) & 0x3fff), (unsigned long long)(more & 0xffffffffffff));
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void make_email(sqlite3_context *context, uint64_t random)
{
    static const char *const names[] = {"maria", "jan", "fatima", "li",     "john", "sofia",
                                        "ivan",  "ana", "noor",   "david",  "eva",  "tom",
                                        "yuki",  "max", "olga",   "samuel", "zoe",  "ravi"};
    static const char *const hosts[] = {"mail.example.com", "example.org", "post.example.net",
                                        "company.example"};
    enum { NAMES = sizeof names / sizeof *names, HOSTS = sizeof hosts / sizeof *hosts };
    char text[80];
    snprintf(text, sizeof text, "%s.%llx@%s", names[random % NAMES],
             (unsigned long long)((random >> 8) & 0xffffffffff), hosts[(random >> 48) % HOSTS]);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void (*const makers[REAL_KINDS])(sqlite3_context *, uint64_t) = {make_integer, make_uuid,
                                                                        make_email};

/* real_key(percent, i): the key of row i, with probability `percent` one of table `keys`.
** real_key(NULL, i): key number i of that table. */
static void real_key(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    uint64_t percent = (uint64_t)sqlite3_value_int64(argv[0]);
    uint64_t i = (uint64_t)sqlite3_value_int64(argv[1]);
    const uint64_t absent = UINT64_C(1) << 40, choices = UINT64_C(1) << 50;
    if (sqlite3_value_type(argv[0]) != SQLITE_NULL) {
        uint64_t choice = bench_random(choices + (percent << 40) + i);
        i = choice % 100 < percent ? choice / 128 % (uint64_t)keys_made : absent + (percent << 40) + i;
    }
    makers[kind_made](context, bench_random(i));
}

/* ---- tables ---- */

static double file_bytes(sqlite3 *db)
{
    sqlite3_stmt *statement =
        bench_prepare(db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    bench_check(db, sqlite3_step(statement));
    double bytes = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return bytes;
}

#define COUNT_TO "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < %d - 1) "

/* The table of keys; returns what the index of them takes: of integers, the table itself. Keys come
** in random order, as they do when a table grows. */
static double make_keys(sqlite3 *db, const char *schema)
{
    double before = file_bytes(db);
    bool integers = kind_made == REAL_INTEGERS;
    bench_run_format(db, "CREATE TABLE %s.keys(%s, state INTEGER)", schema,
                     integers ? "key INTEGER PRIMARY KEY" : "id INTEGER PRIMARY KEY, key TEXT");
    bench_run_format(db,
                     COUNT_TO "INSERT INTO %s.keys(key, state) SELECT real_key(NULL, i), i %% 10 FROM c",
                     keys_made, schema);
    if (!integers) {
        before = file_bytes(db);
        bench_run_format(db, "CREATE UNIQUE INDEX %s.keys_by_key ON keys(key)", schema);
    }
    return file_bytes(db) - before;
}

static void make_rows(sqlite3 *db, int percent, int rows)
{
    bench_progress("%s: %d rows, %d %% matching", real_kind_name[kind_made], rows, percent);
    bench_run_format(db, "CREATE TABLE rows_%d(id INTEGER PRIMARY KEY, key %s)", percent,
                     kind_made == REAL_INTEGERS ? "INTEGER" : "TEXT");
    bench_run_format(db, COUNT_TO "INSERT INTO rows_%d SELECT i, real_key(%d, i) FROM c", rows, percent,
                     percent);
}

/* The filters; returns the bytes of the filter table of all keys. */
static double make_filters(sqlite3 *db)
{
    double before = file_bytes(db);
    bench_run_format(db, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=%d)", keys_made);
    bench_run(db, "INSERT INTO seen(key) SELECT key FROM main.keys");
    double bytes = file_bytes(db) - before;
    bench_run_format(db, "CREATE VIRTUAL TABLE chosen USING cuckoo_filter(capacity=%d);",
                     keys_made / 10);
    bench_run_format(db, "INSERT INTO chosen(key) SELECT key FROM main.keys WHERE state = %d",
                     REAL_STATE);
    bench_run(db, "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);"
                  "INSERT INTO filters SELECT 'seen', cf_build(key) FROM main.keys");
    bench_run_format(
        db, "INSERT INTO filters SELECT 'chosen', cf_build(key) FROM main.keys WHERE state = %d",
        REAL_STATE);
    return bytes;
}

real_bytes real_make(const char *extension, real_kind kind, real_sizes sizes)
{
    real_bytes bytes;
    kind_made = kind;
    keys_made = sizes.keys;
    real_drop();
    sqlite3 *db = real_open(extension, 500000);
    bench_run(db, "PRAGMA main.journal_mode = OFF; PRAGMA other.journal_mode = OFF;"
                  "PRAGMA main.synchronous = OFF; PRAGMA other.synchronous = OFF");
    bytes.index = make_keys(db, "main");
    make_keys(db, "other");
    bench_run(db, "CREATE TABLE imported(id INTEGER PRIMARY KEY, key)");
    bytes.table = make_filters(db);
    bench_blob blob = bench_read_blob(db, "SELECT f FROM filters WHERE name = 'seen'");
    bytes.blob = blob.length;
    free(blob.bytes);
    make_rows(db, 1, sizes.rows);
    make_rows(db, 10, sizes.rows);
    make_rows(db, 50, sizes.rows);
    bench_run(db, "ANALYZE");
    sqlite3_close(db);
    return bytes;
}

/* ---- files ---- */

sqlite3 *real_open(const char *extension, int cache_kb)
{
    sqlite3 *db = bench_open(files[0], extension);
    bench_define(db, "real_key", real_key);
    bench_run_format(db, "ATTACH %Q AS other", files[1]);
    bench_run_format(db, "PRAGMA main.cache_size = -%d; PRAGMA other.cache_size = -%d", cache_kb,
                     cache_kb);
    return db;
}

void real_forget(void)
{
    for (int i = 0; i < FILES; i++) {
        int file = open(files[i], O_RDONLY);
        if (file < 0)
            continue;
        fsync(file);
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        close(file);
    }
}

void real_drop(void)
{
    for (int i = 0; i < FILES; i++)
        unlink(files[i]);
}
