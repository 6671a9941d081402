/* SPDX-License-Identifier: MIT */
/*
** bench_sql.c - what a row costs in SQL: cf_contains in every formulation, beside a scan and beside
** a function that does nothing.
**
** Run it in the folder of the project; it loads build/cuckoo.so. An in-memory database holds a table
** of integers, small enough to leave room in the cache; filters of 12-bit fingerprints, about 1.5
** and 16 MB, hold the same keys, or others. Each line of sql.tsv is a statement that goes through all
** rows:
**
**   ns/row    the median over three rounds (quick: of one); the statements take turns
**   / no-op   the same divided by "no-op, 1.5 MB bound", a function of the same two arguments that returns
**             1: the least that any extension function costs (median of the ratios per round)
**
** "two reads" is the limit: a function that mixes the key and reads two random words of the bound
** filter. What it takes beyond the no-op is memory; what cf_contains takes beyond it is the
** extension. "present" and "absent" say whether the filter holds the keys. Before SQLite 3.43 a
** filter that comes from a column or a subquery is copied for every row: those lines go through a
** few rows only, and are what cf_open is for. "arguments read" asks for types and values of the arguments
** and does no more; "no-op, handle" is what SQLite takes to pass on what a subquery has given. "table" is a persistent filter that holds what the
** small one does; "index" looks the same keys up in tables of their own.
*/
#include "bench.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/bits.h"
#include "database.h"

enum { ROUNDS = 3, LENDS_BLOBS = 3043000 /* SQLite version */ };

static const char extension[] = "build/cuckoo.so";
static int rows = 1000000;

enum filter_name { SMALL, SMALL_OTHER, LARGE, LARGE_OTHER, EMPTY, NO_FILTER };

typedef struct line {
    const char *title;
    const char *sql;        /* ?1 is the filter */
    enum filter_name bound; /* what to bind to ?1 */
    bool large;             /* not in the quick form */
    int rows_before_3_43;   /* of the many that a later SQLite gets; 0: all */
    sqlite3_stmt *statement;
    int rows;
    bench_series ns;
} line;

#define COUNT_WHERE "SELECT count(*) FROM keys WHERE "
#define SOME_ROWS   "id <= ?2 AND "

static line lines[] = {
    {.title = "scan", .sql = COUNT_WHERE "id <> 5", .bound = NO_FILTER},
    {.title = "no-op, 1.5 MB bound", .sql = COUNT_WHERE "noop(?1, id)", .bound = SMALL},
    {.title = "arguments read, 1.5 MB bound", .sql = COUNT_WHERE "arguments(?1, id)", .bound = SMALL},
    {.title = "no-op, handle",
     .sql = COUNT_WHERE "noop((SELECT cf_open(f) FROM filters WHERE name = 'small'), id)",
     .bound = NO_FILTER},
    {.title = "two reads, 1.5 MB bound", .sql = COUNT_WHERE "two_reads(?1, id)", .bound = SMALL},
    {.title = "1.5 MB bound, present", .sql = COUNT_WHERE "cf_contains(?1, id)", .bound = SMALL},
    {.title = "1.5 MB bound, absent", .sql = COUNT_WHERE "cf_contains(?1, id)", .bound = SMALL_OTHER},
    {.title = "1.5 MB bound, text, absent",
     .sql = "SELECT count(*) FROM words WHERE cf_contains(?1, word)",
     .bound = SMALL},
    {.title = "1.5 MB handle",
     .sql = COUNT_WHERE "cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'small'), id)",
     .bound = NO_FILTER},
    {.title = "1.5 MB subquery",
     .sql = COUNT_WHERE SOME_ROWS "cf_contains((SELECT f FROM filters WHERE name = 'small'), id)",
     .bound = NO_FILTER,
     .rows_before_3_43 = 200},
    {.title = "index of integers, present",
     .sql = COUNT_WHERE "EXISTS (SELECT 1 FROM indexed AS i WHERE i.id = keys.id)",
     .bound = NO_FILTER},
    {.title = "index of texts, present",
     .sql = "SELECT count(*) FROM words WHERE EXISTS (SELECT 1 FROM indexed AS i WHERE i.word = "
            "words.word)",
     .bound = NO_FILTER},
    {.title = "table, cf_table_contains",
     .sql = COUNT_WHERE "cf_table_contains('seen', id)",
     .bound = NO_FILTER},
    {.title = "table, EXISTS",
     .sql = COUNT_WHERE "EXISTS (SELECT 1 FROM seen WHERE seen.key = keys.id)",
     .bound = NO_FILTER},
    {.title = "table, JOIN",
     .sql = "SELECT count(*) FROM keys CROSS JOIN seen ON seen.key = keys.id",
     .bound = NO_FILTER},
    {.title = "two reads, 16 MB bound",
     .sql = COUNT_WHERE "two_reads(?1, id)",
     .bound = LARGE,
     .large = true},
    {.title = "16 MB bound, present",
     .sql = COUNT_WHERE "cf_contains(?1, id)",
     .bound = LARGE,
     .large = true},
    {.title = "16 MB bound, absent",
     .sql = COUNT_WHERE "cf_contains(?1, id)",
     .bound = LARGE_OTHER,
     .large = true},
    {.title = "16 MB handle",
     .sql = COUNT_WHERE "cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'large'), id)",
     .bound = NO_FILTER,
     .large = true},
    {.title = "cf_build, integers", .sql = "SELECT cf_build(id) FROM keys", .bound = NO_FILTER},
    {.title = "cf_build, text", .sql = "SELECT cf_build(word) FROM words", .bound = NO_FILTER},
    {.title = "cf_add_all, empty filter bound",
     .sql = "SELECT cf_add_all(?1, id) FROM keys",
     .bound = EMPTY},
};

enum { LINES = sizeof lines / sizeof lines[0], NOOP_LINE = 1 };

static bench_blob filters[NO_FILTER];

/* ---- the database ---- */

static void two_reads(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const uint8_t *bytes = sqlite3_value_blob(argv[0]);
    uint64_t words = (uint64_t)sqlite3_value_bytes(argv[0]) / 8;
    uint64_t hash = bench_random((uint64_t)sqlite3_value_int64(argv[1]));
    uint64_t one = cf_scale(hash, words);
    uint64_t two = cf_scale(hash * UINT64_C(0xff51afd7ed558ccd), words);
    sqlite3_result_int(context, (cf_load64(bytes + 8 * one) ^ cf_load64(bytes + 8 * two)) != 1);
}

static void arguments(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    bool blob = sqlite3_value_type(argv[0]) == SQLITE_BLOB && sqlite3_value_blob(argv[0]);
    int length = sqlite3_value_bytes(argv[0]);
    bool integer = sqlite3_value_type(argv[1]) == SQLITE_INTEGER;
    sqlite3_result_int(context, blob + length + integer + (int)sqlite3_value_int64(argv[1]) != 0);
}

static sqlite3 *open_database(void)
{
    sqlite3 *db = bench_open(":memory:", extension);
    bench_define(db, "noop", bench_noop);
    bench_define(db, "two_reads", two_reads);
    bench_define(db, "arguments", arguments);
    return db;
}

/* A filter of 12-bit fingerprints over an expression of `id`, with room for `capacity` keys. */
static void build(sqlite3 *db, const bench_call *call, const char *name, const char *key, int capacity)
{
    bench_run_format(db,
                     "INSERT INTO filters SELECT %Q, cf_build(%s, 0.01, 'bucket_size=4"
                     " fingerprint_bits=12 growth=off capacity=%d seed=%lld') FROM keys",
                     name, key, capacity, (long long)call->seed);
}

static void fill_database(sqlite3 *db, const bench_call *call)
{
    bench_run(db, "CREATE TABLE keys(id INTEGER PRIMARY KEY);"
                  "CREATE TABLE words(word TEXT);"
                  "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);"
                  "CREATE TABLE indexed(id INTEGER PRIMARY KEY, word TEXT UNIQUE);"
                  "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000);"
                  "BEGIN");
    bench_run_format(db,
                     "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d)"
                     " INSERT INTO keys SELECT i FROM c",
                     rows);
    bench_run(db, "INSERT INTO words SELECT printf('user-%08x', id) FROM keys;"
                  "INSERT INTO indexed SELECT rowid, word FROM words");
    build(db, call, "small", "id", 1000000);
    build(db, call, "small other", "-id", 1000000);
    if (!call->quick) {
        build(db, call, "large", "id", 10150000);
        build(db, call, "large other", "-id", 10150000);
    }
    bench_run(db, "INSERT INTO seen(seen, key) SELECT 'import', f FROM filters WHERE name = 'small';"
                  "COMMIT");
}

/* ---- the statements ---- */

static void prepare_line(sqlite3 *db, line *one)
{
    one->statement = bench_prepare(db, one->sql);
    one->rows = rows;
    if (one->rows_before_3_43 > 0 && sqlite3_libversion_number() < LENDS_BLOBS)
        one->rows = one->rows_before_3_43;
    if (one->bound != NO_FILTER)
        bench_check(db, sqlite3_bind_blob(one->statement, 1, filters[one->bound].bytes,
                                          filters[one->bound].length, SQLITE_STATIC));
    if (strstr(one->sql, "?2"))
        bench_check(db, sqlite3_bind_int(one->statement, 2, one->rows));
}

static void run_line(sqlite3 *db, line *one)
{
    double start = bench_seconds();
    if (sqlite3_step(one->statement) != SQLITE_ROW)
        bench_fail(sqlite3_errmsg(db));
    bench_note(&one->ns, bench_ns_since(start, (uint64_t)one->rows));
    bench_check(db, sqlite3_reset(one->statement));
}

static void write_lines(const bench_call *call)
{
    FILE *out = bench_table(call->folder, "sql", "statement\trows\tns/row\t/ no-op");
    for (int i = 0; i < LINES; i++) {
        if (lines[i].statement == NULL)
            continue;
        fprintf(out, "%s\t%d", lines[i].title, lines[i].rows);
        bench_field(out, bench_median(&lines[i].ns), 2);
        bench_field(out, bench_median_ratio(&lines[i].ns, &lines[NOOP_LINE].ns), 3);
        fprintf(out, "\n");
    }
    fclose(out);
}

static void read_filters(sqlite3 *db, bool large)
{
    filters[SMALL] = bench_read_blob(db, "SELECT f FROM filters WHERE name = 'small'");
    filters[SMALL_OTHER] = bench_read_blob(db, "SELECT f FROM filters WHERE name = 'small other'");
    filters[EMPTY] = bench_read_blob(db, "SELECT cf_new(1100000)");
    if (large) {
        filters[LARGE] = bench_read_blob(db, "SELECT f FROM filters WHERE name = 'large'");
        filters[LARGE_OTHER] = bench_read_blob(db, "SELECT f FROM filters WHERE name = 'large other'");
    }
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    sqlite3 *db = open_database();
    if (call.quick)
        rows /= 20;
    fill_database(db, &call);
    read_filters(db, !call.quick);
    for (int i = 0; i < LINES; i++)
        if (!(lines[i].large && call.quick))
            prepare_line(db, &lines[i]);
    for (int round = 0; round < (call.quick ? 1 : ROUNDS); round++)
        for (int i = 0; i < LINES; i++)
            if (lines[i].statement)
                run_line(db, &lines[i]);
    write_lines(&call);
    for (int i = 0; i < LINES; i++)
        sqlite3_finalize(lines[i].statement);
    sqlite3_close(db);
    for (int i = 0; i < NO_FILTER; i++)
        free(filters[i].bytes);
    return 0;
}
