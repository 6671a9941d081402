/* SPDX-License-Identifier: MIT */
/*
** bench_sql.c - sql.tsv: what a row costs in SQL, cf_contains in every formulation, beside a scan and
** beside a function that does nothing.
**
** Run it in the folder of the project; it loads build/cuckoo.so. An in-memory database holds a table
** of integers, small enough to leave room in the cache; filters of 12-bit fingerprints, about 1.5 and
** 16 MB, hold the same keys ("present"), or others ("absent"). Each statement goes through all rows;
** the statements take turns, three rounds (quick: one).
**
** "no-op" returns 1: the least that any extension function costs. Before SQLite 3.43 a filter that comes
** from a column or a subquery is copied for every row: those lines go through a few rows only, and are
** what cf_open is for. "table" is a persistent filter that holds what the small one does; "index" looks
** the same keys up in tables of their own.
*/
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "database.h"

enum { ROUNDS = 3, FEW = 200 /* rows */, LENDS_BLOBS = 3043000 /* SQLite version */ };

static const char extension[] = "build/cuckoo.so";
static int rows = 1000000;

enum filter_name { NO_FILTER, SMALL, SMALL_OTHER, EMPTY, LARGE, LARGE_OTHER, FILTERS };
static const char *const names[FILTERS] = {NULL,    "small", "small other",
                                           "empty", "large", "large other"};

typedef struct line {
    const char *title;      /* "16 MB": not in the quick form */
    const char *sql;        /* ?1 is the filter; up to row ?2, of which an old SQLite gets few */
    enum filter_name bound; /* what to bind to ?1 */
} line;

#define WHERE     "SELECT count(*) FROM keys WHERE "
#define SOME_ROWS "id <= ?2 AND "
#define SMALL_OF  "FROM filters WHERE name = 'small')"

static const line lines[] = {
    {"scan", WHERE "id <> 5", NO_FILTER},
    {"no-op, 1.5 MB bound", WHERE "noop(?1, id)", SMALL},
    {"1.5 MB bound, present", WHERE "cf_contains(?1, id)", SMALL},
    {"1.5 MB bound, absent", WHERE "cf_contains(?1, id)", SMALL_OTHER},
    {"1.5 MB bound, text, absent", "SELECT count(*) FROM words WHERE cf_contains(?1, word)", SMALL},
    {"1.5 MB handle", WHERE "cf_contains((SELECT cf_open(f) " SMALL_OF ", id)", NO_FILTER},
    {"1.5 MB subquery", WHERE SOME_ROWS "cf_contains((SELECT f " SMALL_OF ", id)", NO_FILTER},
    {"index of integers, present", WHERE "EXISTS (SELECT 1 FROM indexed AS i WHERE i.id = keys.id)",
     NO_FILTER},
    {"index of texts, present",
     "SELECT count(*) FROM words WHERE EXISTS (SELECT 1 FROM indexed AS i WHERE i.word = words.word)",
     NO_FILTER},
    {"table, cf_table_contains", WHERE "cf_table_contains('seen', id)", NO_FILTER},
    {"table, EXISTS", WHERE "EXISTS (SELECT 1 FROM seen WHERE seen.key = keys.id)", NO_FILTER},
    {"table, JOIN", "SELECT count(*) FROM keys CROSS JOIN seen ON seen.key = keys.id", NO_FILTER},
    {"16 MB bound, present", WHERE "cf_contains(?1, id)", LARGE},
    {"16 MB bound, absent", WHERE "cf_contains(?1, id)", LARGE_OTHER},
    {"16 MB handle", WHERE "cf_contains((SELECT cf_open(f) FROM filters WHERE name = 'large'), id)",
     NO_FILTER},
    {"cf_build, integers", "SELECT cf_build(id) FROM keys", NO_FILTER},
    {"cf_build, text", "SELECT cf_build(word) FROM words", NO_FILTER},
    {"cf_add_keys(bound, cf_keys(id))", "SELECT cf_add_keys(?1, cf_keys(id)) FROM keys", EMPTY},
};

enum { LINES = sizeof lines / sizeof lines[0], NOOP_LINE = 1 };

/* What becomes of a line. */
typedef struct run {
    sqlite3_stmt *statement; /* NULL: not in this form */
    int rows;
    bench_series ns;
} run;

static run runs[LINES];
static bench_blob filters[FILTERS];

/* ---- the database ---- */

static sqlite3 *open_database(void)
{
    sqlite3 *db = bench_open(":memory:", extension);
    bench_define(db, "noop", bench_noop);
    return db;
}

/* A filter of 12-bit fingerprints over an expression of `id`, with room for `capacity` keys. */
static void build(sqlite3 *db, const bench_call *call, const char *name, const char *key, int capacity)
{
    bench_run(db,
              "INSERT INTO filters SELECT %Q, cf_build(%s, 0.01, 'bucket_size=4"
              " fingerprint_bits=12 growth=off capacity=%d seed=%lld') FROM keys",
              name, key, capacity, (long long)call->seed);
}

static void fill_database(sqlite3 *db, const bench_call *call)
{
    bench_make_keys(db, rows);
    bench_run(db, "CREATE TABLE indexed(id INTEGER PRIMARY KEY, word TEXT UNIQUE);"
                  "CREATE VIRTUAL TABLE seen USING cuckoo_filter(capacity=1000);"
                  "BEGIN;"
                  "INSERT INTO indexed SELECT rowid, word FROM words;"
                  "INSERT INTO filters SELECT 'empty', cf_new(1100000)");
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

static void prepare_line(sqlite3 *db, const line *one, run *of)
{
    of->statement = bench_prepare(db, one->sql);
    bool limited = strstr(one->sql, "?2");
    of->rows = limited && sqlite3_libversion_number() < LENDS_BLOBS ? FEW : rows;
    if (one->bound != NO_FILTER)
        bench_check(db, sqlite3_bind_blob(of->statement, 1, filters[one->bound].bytes,
                                          filters[one->bound].length, SQLITE_STATIC));
    if (limited)
        bench_check(db, sqlite3_bind_int(of->statement, 2, of->rows));
}

static void run_line(sqlite3 *db, run *of)
{
    double start = bench_seconds();
    if (sqlite3_step(of->statement) != SQLITE_ROW)
        bench_fail(sqlite3_errmsg(db));
    bench_note(&of->ns, bench_ns_since(start, (uint64_t)of->rows));
    bench_check(db, sqlite3_reset(of->statement));
}

static void write_lines(const bench_call *call)
{
    FILE *out = bench_table(call->folder, "sql", "statement\trows\tns/row\t/ no-op");
    for (int i = 0; i < LINES; i++) {
        if (runs[i].statement == NULL)
            continue;
        fprintf(out, "%s\t%d", lines[i].title, runs[i].rows);
        bench_field(out, "%.2f", bench_median(&runs[i].ns));
        bench_field(out, "%.3f", bench_median_ratio(&runs[i].ns, &runs[NOOP_LINE].ns));
        fprintf(out, "\n");
    }
    fclose(out);
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    sqlite3 *db = open_database();
    if (call.quick)
        rows /= 20;
    fill_database(db, &call);
    for (int i = SMALL; i < (call.quick ? LARGE : FILTERS); i++)
        filters[i] = bench_read_filter(db, names[i]);
    for (int i = 0; i < LINES; i++)
        if (!call.quick || !strstr(lines[i].title, "16 MB"))
            prepare_line(db, &lines[i], &runs[i]);
    for (int round = 0; round < (call.quick ? 1 : ROUNDS); round++)
        for (int i = 0; i < LINES; i++)
            if (runs[i].statement)
                run_line(db, &runs[i]);
    write_lines(&call);
    for (int i = 0; i < LINES; i++)
        sqlite3_finalize(runs[i].statement);
    sqlite3_close(db);
    for (int i = 0; i < FILTERS; i++)
        free(filters[i].bytes);
    return 0;
}
