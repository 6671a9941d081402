/* SPDX-License-Identifier: MIT */
/*
** real_queries.c - whole queries with and without a filter: joins, anti-joins, imports.
**
**      real_queries quick FOLDER [SEED]     100,000 UUIDs as rows against 10,000; three seconds
**      real_queries full FOLDER [SEED]      10 M rows against 1 M keys; three quarters of an hour, 2 GB of disk
**
** Run it in the folder of the project; it loads build/cuckoo.so. real_data.h describes the
** databases. Each query has these forms, which must give the same answer:
**
**   SQLite alone        its own plan after ANALYZE; where there are several ways to write the query, the fastest
**   bound, handle       a filter in memory of the program; one in a row of a table, by cf_open
**   cf_table_contains   a filter table, asked by function
**   EXISTS, JOIN        the same as a table of the query
**
** A filter only comes first: what it lets through is still looked up in the table of the keys.
**
** Page caches:
**   all     of the database fits into the page cache of SQLite, and is there
**   2 MB    SQLite's default. The operating system holds the files: a page that SQLite reads costs a
**           system call and a copy, and no wait for a disk
**   cold    the same, after the operating system was asked to forget the files (posix_fadvise)
**
** Time is processor time of this process, and wall clock for "cold". Pages are those that SQLite
** reads from the files (SQLITE_DBSTATUS_CACHE_MISS).
**
** Tables: real_queries.tsv (seconds), real_pages.tsv (pages), real_bytes.tsv (sizes), real_plans.tsv
** (the plans that SQLite chose alone).
*/
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "database.h"
#include "real_data.h"

static const char extension[] = "build/cuckoo.so";

/* ---- the queries ---- */

typedef enum page_cache { ALL, SMALL, COLD, CACHES } page_cache;
static const struct {
    const char *name;
    int kb;
} caches[CACHES] = {{"all", 4000000}, {"2 MB", 2000}, {"cold", 2000}};

enum { ALONE_MOST = 3, WAYS = 5, FORMS = 1 + WAYS + ALONE_MOST };

/* In the text: {rows} the table of rows, {keys} that of keys, {filter} the name of the filter,
** {perhaps} whether the filter says "perhaps", {tenth} the number of the first row of the last nine
** tenths. */
typedef struct real_query {
    const char *title;
    const char *alone[ALONE_MOST]; /* ways to write it without a filter */
    const char *filtered;          /* with {perhaps} */
    const char *joined;            /* with the filter table in FROM; may be NULL */
    const char *filter, *keys;
    unsigned matching[CACHES]; /* the shares of matching rows that are measured */
} real_query;

enum { P1 = 1, P10 = 2, P50 = 4 };
static const int percents[] = {1, 10, 50};

#define ROWS_COUNTED "SELECT count(*), total(r.id) FROM {rows} AS r "
#define JOINED       "SELECT count(*), total(r.id + k.state) FROM {rows} AS r "
#define WITH_KEYS    "JOIN {keys} AS k ON k.key = r.key "
#define WITH_FILTER  "CROSS JOIN {filter} AS f ON f.key = r.key "
#define NO_KEY       "NOT EXISTS (SELECT 1 FROM {keys} AS k WHERE k.key = r.key) "
#define NO_FILTER    "LEFT JOIN {filter} AS f ON f.key = r.key WHERE (f.key IS NULL OR " NO_KEY ") "
#define PERHAPS_NOT  "WHERE (NOT {perhaps} OR " NO_KEY ") "
#define APPEND       "INSERT INTO imported SELECT r.id, r.key FROM {rows} AS r "
#define ADD          "INSERT OR IGNORE INTO {keys}(key, state) SELECT r.key, 0 FROM {rows} AS r "

static const real_query queries[] = {
    {.title = "join",
     .alone = {JOINED WITH_KEYS},
     .filtered = JOINED "CROSS " WITH_KEYS "WHERE {perhaps}",
     .joined = JOINED WITH_FILTER "CROSS " WITH_KEYS,
     .filter = "seen",
     .keys = "main.keys",
     .matching = {[ALL] = P1 | P10 | P50, [SMALL] = P1 | P10 | P50, [COLD] = P1}},
    {.title = "join, condition on the keys",
     .alone = {JOINED WITH_KEYS "WHERE k.state = 7"},
     .filtered = JOINED "CROSS " WITH_KEYS "WHERE k.state = 7 AND {perhaps}",
     .joined = JOINED WITH_FILTER "CROSS " WITH_KEYS "WHERE k.state = 7",
     .filter = "chosen",
     .keys = "main.keys",
     .matching = {[ALL] = P1 | P50, [SMALL] = P1 | P50}},
    {.title = "join, keys in another file",
     .alone = {JOINED WITH_KEYS},
     .filtered = JOINED "CROSS " WITH_KEYS "WHERE {perhaps}",
     .joined = JOINED WITH_FILTER "CROSS " WITH_KEYS,
     .filter = "seen",
     .keys = "other.keys",
     .matching = {[SMALL] = P1 | P10}},
    {.title = "anti-join",
     .alone = {ROWS_COUNTED "WHERE " NO_KEY, ROWS_COUNTED "WHERE r.key NOT IN (SELECT key FROM {keys})",
               ROWS_COUNTED "LEFT " WITH_KEYS "WHERE k.key IS NULL"},
     .filtered = ROWS_COUNTED PERHAPS_NOT,
     .joined = ROWS_COUNTED NO_FILTER,
     .filter = "seen",
     .keys = "main.keys",
     .matching = {[ALL] = P1 | P50, [SMALL] = P1 | P50}},
    {.title = "import, new rows to a table of their own",
     .alone = {APPEND "WHERE " NO_KEY, APPEND "LEFT " WITH_KEYS "WHERE k.key IS NULL"},
     .filtered = APPEND PERHAPS_NOT,
     .joined = APPEND NO_FILTER,
     .filter = "seen",
     .keys = "main.keys",
     .matching = {[SMALL] = P1 | P50}},
    {.title = "import of a tenth into the table of keys",
     .alone = {ADD "WHERE r.id < {tenth}"},
     .filtered = ADD PERHAPS_NOT "AND r.id < {tenth}",
     .joined = ADD NO_FILTER "AND r.id < {tenth}",
     .filter = "seen",
     .keys = "main.keys",
     .matching = {[SMALL] = P1 | P50}},
};

enum { QUERIES = sizeof queries / sizeof *queries };

/* The forms: a scan for comparison, the ways to use a filter, and SQLite alone. */
enum { SCAN, BOUND, HANDLE, FUNCTION, EXISTS, JOIN, ALONE };
static const char *const perhaps[ALONE] = {
    [BOUND] = "cf_contains(?1, r.key)",
    [HANDLE] = "cf_contains((SELECT cf_open(f) FROM filters WHERE name = '{filter}'), r.key)",
    [FUNCTION] = "cf_table_contains('{filter}', r.key)",
    [EXISTS] = "EXISTS (SELECT 1 FROM {filter} AS f WHERE f.key = r.key)",
};

/* ---- one query on one table of rows ---- */

typedef struct figures {
    sqlite3_stmt *statement; /* NULL: there is none */
    bench_series seconds, pages;
} figures;

typedef struct cell {
    const real_query *query;
    real_kind kind;
    page_cache cache;
    int percent;
    sqlite3 *db;
    bench_blob filter;
    figures forms[FORMS];
} cell;

static real_sizes sizes = {10000000, 1000000};
static bool quick;

/* The text with all of `mark` replaced; gives `sql` back. */
static char *replace(char *sql, const char *mark, const char *with)
{
    for (char *at = strstr(sql, mark); at; at = strstr(sql, mark)) {
        char *longer = sqlite3_mprintf("%.*s%s%s", (int)(at - sql), sql, with, at + strlen(mark));
        sqlite3_free(sql);
        sql = longer;
    }
    return sql;
}

static void prepare(cell *one, int number, const char *text)
{
    char value[40];
    char *sql = sqlite3_mprintf("%s", text);
    if (number < ALONE && perhaps[number])
        sql = replace(sql, "{perhaps}", perhaps[number]);
    sql = replace(sql, "{filter}", one->query->filter);
    sql = replace(sql, "{keys}", one->query->keys);
    snprintf(value, sizeof value, "main.rows_%d", one->percent);
    sql = replace(sql, "{rows}", value);
    snprintf(value, sizeof value, "%d", sizes.rows / 10);
    sql = replace(sql, "{tenth}", value);
    one->forms[number].statement = bench_prepare(one->db, sql);
    sqlite3_free(sql);
}

static void open_cell(cell *one)
{
    one->db = real_open(extension, caches[one->cache].kb);
    char *sql = sqlite3_mprintf("SELECT f FROM filters WHERE name = %Q", one->query->filter);
    one->filter = bench_read_blob(one->db, sql);
    sqlite3_free(sql);
    prepare(one, SCAN, ROWS_COUNTED "WHERE r.key IS NOT NULL");
    for (int i = BOUND; i <= EXISTS; i++)
        prepare(one, i, one->query->filtered);
    bench_check(one->db, sqlite3_bind_blob(one->forms[BOUND].statement, 1, one->filter.bytes,
                                           one->filter.length, SQLITE_STATIC));
    if (one->query->joined)
        prepare(one, JOIN, one->query->joined);
    for (int i = 0; i < ALONE_MOST && one->query->alone[i]; i++)
        prepare(one, ALONE + i, one->query->alone[i]);
    if (one->cache == ALL)
        bench_run_format(one->db,
                         "SELECT count(*), total(id), max(key) FROM rows_%d;"
                         "SELECT total(state) FROM keys; SELECT count(key) FROM keys WHERE key > 0",
                         one->percent);
}

static void close_cell(cell *one)
{
    for (int i = 0; i < FORMS; i++)
        sqlite3_finalize(one->forms[i].statement);
    sqlite3_close(one->db);
    free(one->filter.bytes);
}

static double now(const cell *one)
{
    struct timespec time;
    if (one->cache != COLD)
        return bench_seconds();
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double pages_read(sqlite3 *db)
{
    int pages = 0, highest = 0;
    sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &pages, &highest, 1);
    return pages;
}

typedef struct answer {
    sqlite3_int64 count;
    double total;
} answer;

/* Runs it, and undoes it. */
static answer run(cell *one, figures *form)
{
    answer got = {0, 0};
    int before = sqlite3_total_changes(one->db);
    if (one->cache == COLD)
        real_forget();
    bench_run(one->db, "BEGIN");
    pages_read(one->db);
    double start = now(one);
    int rc = sqlite3_step(form->statement);
    bench_note(&form->seconds, now(one) - start);
    bench_note(&form->pages, pages_read(one->db));
    bench_check(one->db, rc);
    got.count = sqlite3_total_changes(one->db) - before;
    if (rc == SQLITE_ROW) {
        got.count = sqlite3_column_int64(form->statement, 0);
        got.total = sqlite3_column_double(form->statement, 1);
    }
    bench_check(one->db, sqlite3_reset(form->statement));
    bench_run(one->db, "ROLLBACK");
    return got;
}

static void run_all(cell *one)
{
    answer right = run(one, &one->forms[ALONE]);
    run(one, &one->forms[SCAN]);
    for (int i = BOUND; i < FORMS; i++) {
        if (i == ALONE || one->forms[i].statement == NULL)
            continue;
        answer got = run(one, &one->forms[i]);
        if (got.count != right.count || got.total != right.total)
            bench_fail("two forms of a query have different answers");
    }
}

/* ---- results ---- */

static FILE *seconds_table, *pages_table, *plans_table;

static double seconds_of(const cell *one, int form)
{
    return bench_median(&one->forms[form].seconds);
}

/* Of several ways to write it, the fastest. */
static int best_alone(const cell *one)
{
    int best = ALONE;
    for (int i = ALONE + 1; i < FORMS; i++)
        if (seconds_of(one, i) < seconds_of(one, best))
            best = i;
    return best;
}

/* Writes the plan of a form; does SQLite make a Bloom filter? */
static bool write_plan(const cell *one, int form)
{
    bool bloom = false;
    char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sqlite3_sql(one->forms[form].statement));
    sqlite3_stmt *plan = bench_prepare(one->db, sql);
    sqlite3_free(sql);
    fprintf(plans_table, "%s\t%s\t%d\t%s\t", one->query->title, real_kind_name[one->kind], one->percent,
            caches[one->cache].name);
    for (int n = 0; sqlite3_step(plan) == SQLITE_ROW; n++) {
        const char *step = (const char *)sqlite3_column_text(plan, 3);
        bloom |= strstr(step, "BLOOM") != NULL;
        fprintf(plans_table, "%s%s", n > 0 ? "; " : "", step);
    }
    fprintf(plans_table, "\n");
    sqlite3_finalize(plan);
    return bloom;
}

static void write_cell(const cell *one)
{
    int alone = best_alone(one);
    bool bloom = write_plan(one, alone);
    double fastest = seconds_of(one, BOUND);
    int digits = sizes.rows < 10000000 ? 4 : 2; /* of seconds: the quick form takes few */
    for (FILE *table = seconds_table; table; table = table == seconds_table ? pages_table : NULL)
        fprintf(table, "%s\t%s\t%d\t%s", one->query->title, real_kind_name[one->kind], one->percent,
                caches[one->cache].name);
    bench_field(seconds_table, seconds_of(one, SCAN), digits);
    bench_field(seconds_table, seconds_of(one, alone), digits);
    fprintf(seconds_table, "\t%s", bloom ? "yes" : "no");
    bench_field(pages_table, bench_median(&one->forms[SCAN].pages), 0);
    bench_field(pages_table, bench_median(&one->forms[alone].pages), 0);
    for (int i = BOUND; i <= JOIN; i++) {
        bench_field(seconds_table, seconds_of(one, i), digits);
        bench_field(pages_table, bench_median(&one->forms[i].pages), 0);
        fastest = fmin(fastest, seconds_of(one, i));
    }
    bench_field(seconds_table, seconds_of(one, alone) / fastest, 1);
    fprintf(seconds_table, "\n");
    fprintf(pages_table, "\n");
    fflush(seconds_table);
}

static void measure(const real_query *query, real_kind kind, page_cache cache, int percent)
{
    cell one = {.query = query, .kind = kind, .cache = cache, .percent = percent};
    bench_progress("%s, %s, %d %%, %s", query->title, real_kind_name[kind], percent, caches[cache].name);
    open_cell(&one);
    run_all(&one);
    write_cell(&one);
    close_cell(&one);
}

/* Is it among what is measured? With e-mail addresses the join in the cache. In the quick form each
** query has one page cache, and 1 % matching; the join has 50 %, too. */
static bool is_measured(const real_query *query, real_kind kind, page_cache cache, int p)
{
    bool first = cache == ALL || query->matching[ALL] == 0, is_join = query == queries;
    if (!(query->matching[cache] >> p & 1) || (kind == REAL_EMAILS && !(first && is_join)))
        return false;
    return !quick || (first && (percents[p] == 1 || (percents[p] == 50 && is_join)));
}

static void measure_query(const real_query *query, real_kind kind)
{
    for (page_cache cache = ALL; cache < CACHES; cache++)
        for (int p = 0; p < 3; p++)
            if (is_measured(query, kind, cache, p))
                measure(query, kind, cache, percents[p]);
}

static void measure_kind(real_kind kind, FILE *bytes_table)
{
    real_bytes bytes = real_make(extension, kind, sizes);
    fprintf(bytes_table, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.1f\n", real_kind_name[kind], sizes.keys,
            bytes.blob, bytes.table, bytes.index, bytes.index / bytes.blob);
    for (int i = 0; i < QUERIES; i++)
        measure_query(&queries[i], kind);
    real_drop();
}

int main(int argc, char **argv)
{
    bench_call call = bench_read_call(argc, argv);
    quick = call.quick;
    if (quick)
        sizes = (real_sizes){100000, 10000};
    seconds_table =
        bench_table(call.folder, "real_queries",
                    "query\tkeys\tmatching %\tpage cache\tscan\tSQLite alone\tits Bloom filter\t"
                    "bound\thandle\tcf_table_contains\tEXISTS\tJOIN\talone / best");
    pages_table = bench_table(call.folder, "real_pages",
                              "query\tkeys\tmatching %\tpage cache\tscan\tSQLite alone\tbound\thandle\t"
                              "cf_table_contains\tEXISTS\tJOIN");
    plans_table = bench_table(call.folder, "real_plans", "query\tkeys\tmatching %\tpage cache\tplan");
    FILE *bytes_table =
        bench_table(call.folder, "real_bytes", "keys\tnumber\tblob\tfilter table\tindex\tindex / blob");
    for (real_kind kind = 0; kind < REAL_KINDS; kind++)
        if (!quick || kind == REAL_UUIDS)
            measure_kind(kind, bytes_table);
    fclose(bytes_table);
    fclose(seconds_table);
    fclose(pages_table);
    fclose(plans_table);
    return 0;
}
