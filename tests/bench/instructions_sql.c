/* SPDX-License-Identifier: MIT */
/*
** instructions_sql.c - the paths through SQL whose instructions are counted.
**
** What a row costs is counted less what a function costs that does nothing; what single statements
** cost is counted whole.
*/
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "database.h"
#include "instructions.h"

enum { ROWS = 10000, STATEMENTS = 500, INSERTS = 3000 };

static const char file[] = "build/bench/instructions.db";

/* A database file, and filters of 10,000 keys in it: of `keys`, of others, and one with room for a
** thousand more keys than it holds. */
static sqlite3 *fill(const char *extension)
{
    unlink(file);
    sqlite3 *db = bench_open(file, extension);
    bench_define(db, "noop", bench_noop);
    bench_run(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    bench_make_keys(db, ROWS);
    bench_run(db, "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=20000, seed=1);"
                  "CREATE VIRTUAL TABLE grown USING cuckoo_filter(capacity=500, seed=1);"
                  "CREATE TABLE followed(id INTEGER PRIMARY KEY, word TEXT UNIQUE);"
                  "INSERT INTO seen(key) SELECT id FROM keys;"
                  "INSERT INTO filters SELECT 'present', cf_build(id) FROM keys;"
                  "INSERT INTO filters SELECT 'absent', cf_build(-id) FROM keys;"
                  "INSERT INTO filters SELECT 'keyed', cf_build(-id, 0.01, 'seed=1') FROM keys;"
                  "INSERT INTO filters SELECT 'roomy', cf_add_keys(cf_new(11000), cf_keys(id)) FROM keys;"
                  "INSERT INTO filters SELECT 'empty', cf_new(11000);"
                  "CREATE VIRTUAL TABLE follower USING"
                  " cuckoo_filter(capacity=20000, seed=1, content='followed(word)')");
    return db;
}

/* ---- statements that go through a table ---- */

typedef struct scan {
    const char *name, *sql; /* ?1 is the filter */
    const char *filter;     /* NULL: none */
    const char *less;
} scan;

#define INTEGERS "a no-op function, integers"
#define TEXTS    "a no-op function, texts"
#define COUNT    "SELECT count(*) FROM "

static const scan scans[] = {
    {INTEGERS, COUNT "keys WHERE noop(?1, id)", "present", ""},
    {TEXTS, COUNT "words WHERE noop(?1, word)", "present", ""},
    {"cf_contains, bound, hit", COUNT "keys WHERE cf_contains(?1, id)", "present", INTEGERS},
    {"cf_contains, bound, miss", COUNT "keys WHERE cf_contains(?1, id)", "absent", INTEGERS},
    {"cf_contains, bound, text, miss", COUNT "words WHERE cf_contains(?1, word)", "absent", TEXTS},
    {"cf_contains, bound, keyed, miss", COUNT "keys WHERE cf_contains(?1, id)", "keyed", INTEGERS},
    {"cf_contains, bound, keyed, text, miss", COUNT "words WHERE cf_contains(?1, word)", "keyed", TEXTS},
    {"cf_contains, handle, hit",
     COUNT "keys WHERE cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'present'), id)", NULL,
     INTEGERS},
    {"cf_table_contains, hit", COUNT "keys WHERE cf_table_contains('seen', id)", NULL, INTEGERS},
    {"EXISTS on a filter table, hit",
     COUNT "keys WHERE EXISTS (SELECT 1 FROM seen WHERE seen.key = keys.id)", NULL, INTEGERS},
    {"cf_build, integers", "SELECT cf_build(id) FROM keys", NULL, INTEGERS},
    {"cf_build, texts", "SELECT cf_build(word) FROM words", NULL, TEXTS},
    {"cf_add_keys of cf_keys, integers", "SELECT cf_add_keys(?1, cf_keys(id)) FROM keys", "empty", INTEGERS},
};

static void count_scan(sqlite3 *db, const scan *one)
{
    sqlite3_stmt *statement = bench_prepare(db, one->sql);
    bench_blob filter = {0};
    if (one->filter) {
        filter = bench_read_filter(db, one->filter);
        bench_check(db, sqlite3_bind_blob(statement, 1, filter.bytes, filter.length, SQLITE_STATIC));
    }
    count_begin();
    bench_check(db, sqlite3_step(statement));
    bench_check(db, sqlite3_reset(statement));
    count_end_less(one->name, ROWS, one->less);
    sqlite3_finalize(statement);
    free(filter.bytes);
}

/* ---- single statements ---- */

/* The first question of a connection finds the table by its name, and reads pages. */
static void count_first(sqlite3 *db)
{
    count_begin();
    bench_run(db, "SELECT cf_table_contains('seen', 1)");
    count_end("cf_table_contains, first of a connection", 1);
}

/* `times` statements in one transaction; ?2 is a new key each time. */
static void count_statements(sqlite3 *db, const char *name, const char *sql, const bench_blob *filter,
                             int times)
{
    sqlite3_stmt *statement = bench_prepare(db, sql);
    if (filter)
        bench_check(db, sqlite3_bind_blob(statement, 1, filter->bytes, filter->length, SQLITE_STATIC));
    bench_run(db, "BEGIN");
    count_begin();
    for (int i = 0; i < times; i++) {
        bench_check(db, sqlite3_bind_int(statement, 2, ROWS / 2 + i));
        bench_check(db, sqlite3_step(statement));
        bench_check(db, sqlite3_reset(statement));
    }
    bench_run(db, "COMMIT");
    count_end(name, (uint64_t)times);
    sqlite3_finalize(statement);
}

void count_sql(const char *extension)
{
    sqlite3 *db = fill(extension);
    count_first(db);
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++)
        count_scan(db, &scans[i]);
    bench_blob roomy = bench_read_filter(db, "roomy");
    count_statements(db, "cf_add, 13 KB", "SELECT cf_add(?1, -?2)", &roomy, STATEMENTS);
    count_statements(db, "cf_delete, 13 KB", "SELECT cf_delete(?1, ?2)", &roomy, STATEMENTS);
    count_statements(db, "insertion into a filter table", "INSERT INTO seen(key) VALUES (-?2)", NULL,
                     INSERTS);
    count_statements(db, "deletion from a filter table", "DELETE FROM seen WHERE key = ?2", NULL,
                     INSERTS);
    count_statements(db, "insertion into a growing filter table", "INSERT INTO grown(key) VALUES (?2)",
                     NULL, INSERTS);
    count_statements(db, "insertion into a followed table",
                     "INSERT INTO followed(word) VALUES (printf('user-%%08x', ?2))", NULL, INSERTS);
    free(roomy.bytes);
    sqlite3_close(db);
    unlink(file);
}
