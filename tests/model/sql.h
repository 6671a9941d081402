/* SPDX-License-Identifier: MIT */
/*
** sql.h - any use of the functions in SQL, with any values.
**
** An input is read as a few statements: which shape, which functions with which arguments
** (functions again, columns, or values of a pool: numbers, texts, blobs, sound and mutated filters, the
** first value of the statement before). Nothing may crash, hang or leak; time and memory are bounded by
** a progress handler, SQLITE_LIMIT_LENGTH and a heap limit. Besides:
**
**      - no statement makes SQLite report a misuse or an internal error;
**      - an error, unless memory ran out, leaves the transaction as it was: open and writable.
*/
#ifndef CUCKOO_MODEL_SQL_H
#define CUCKOO_MODEL_SQL_H

#include <sqlite3.h>

#include "blobs.h"

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

enum {
    STATEMENTS = 4,
    ROWS = 300,
    DEPTH = 3,
    STEPS = 1000,            /* virtual machine instructions between two calls of the progress handler */
    CALLS = 200,             /* of the progress handler, until it interrupts */
    LONGEST_PART = 80,       /* characters of a statement */
    LONGEST_VALUE = 1 << 20, /* bytes of a value */
    HEAP = 64 << 20
};

/* ---- the statement ---- */

/* SQL under construction; what does not fit is cut off, and fails to parse. */
typedef struct sql_text {
    char sql[4096];
    size_t used;
    const char *column; /* a name that may be used in expressions, or NULL */
} sql_text;

static void put(sql_text *t, const char *words)
{
    size_t n = strlen(words);
    if (t->used + n < sizeof t->sql) {
        memcpy(t->sql + t->used, words, n + 1);
        t->used += n;
    }
}

/* A name, its arguments, and how many of the first should be filters. A semicolon ends each of a list. */
static const char scalars[] =
    "cf_new,1,0;cf_new,2,0;cf_new,3,0;cf_add,2,1;cf_add,2,1;cf_delete,2,1;cf_contains,2,1;"
    "cf_count,2,1;cf_merge,2,2;cf_merge,3,3;cf_clear,1,1;cf_info,1,1;cf_plan,1,0;cf_plan,2,0;"
    "cf_plan,3,0;cf_check,1,1;cf_key,1,0;cf_key,3,0;cf_version,0,0;zeroblob,1,0;quote,1,1;"
    "length,1,1;(SELECT cf_open,1,1;cf_get,2,1;cf_get,2,1;cf_add,3,1;cf_add,3,1;cf_delete,3,1;"
    "cf_add_keys,2,1;cf_delete_keys,2,1;cf_advance,1,1;cf_picture,1,1;";

static const char aggregates[] =
    "cf_build,1,0;cf_build,2,0;cf_build,3,0;cf_build,4,0;cf_merge,1,1;"
    "cf_keys,1,0;cf_keys,2,0;cf_keys,3,0;cf_build_exact,2,0;cf_build_exact,4,0;";

static const char sql_filters[] = "?2;?3;?4;?1;(SELECT cf_open(?2));(SELECT cf_open(?4));cf_new(?5);";

static const char sql_values[] =
    "?1;?2;?3;?3;?4;?4;?4;?5;?6;?7;?8;?9;NULL;1;3;0.01;'a';x'00';1e300;-9223372036854775808;10;"
    "'bucket_size=2, growth=off';'fingerprint_bits=4 growth=off seed=5';'capacity=100';"
    "'counter_bits=3';'value_bits=4, bucket_size=4';'epochs=3 growth=off';"
    "'bucket_size=4 fingerprint_bits=8';'counter_bits=16 growth=off';"
    "'layout=semisort, fingerprint_bits=9';'layout=plain stash=off';"
    "'growth=off stash=on max_kicks=0 stash_size=3';'stash=on layout=semisort growth=off';"
    "'bucket_size=2, growth=off, stash=on, max_kicks=255, stash_size=4096';zeroblob(500);"
    "(SELECT cf_keys(?1));(SELECT cf_keys(?2, ?1));(SELECT cf_keys(?3, NULL, 'seed=5'));";

static void any_of(const char *list, char one[LONGEST_PART])
{
    unsigned n = 0;
    for (const char *at = list; *at; at++)
        n += *at == ';';
    for (n = next_byte() % n; n > 0; n--)
        list = strchr(list, ';') + 1;
    snprintf(one, LONGEST_PART, "%.*s", (int)strcspn(list, ";"), list);
}

static void put_one_of(sql_text *t, const char *list)
{
    char one[LONGEST_PART];
    any_of(list, one);
    put(t, one);
}

static void put_expression(sql_text *t, unsigned depth);

/* Most of the time a filter or a handle, sound or not; else anything. */
static void put_filter(sql_text *t, unsigned depth)
{
    if (next_byte() % 4)
        put_one_of(t, sql_filters);
    else
        put_expression(t, depth);
}

/* Now and then with a wrong number of arguments. */
static void put_call(sql_text *t, const char *functions, unsigned depth)
{
    char function[LONGEST_PART], name[LONGEST_PART];
    unsigned arguments = 0, firsts = 0, code = next_byte();
    any_of(functions, function);
    REQUIRE(sscanf(function, "%79[^,],%u,%u", name, &arguments, &firsts) == 3);
    arguments = code < 250 ? arguments : code % 5;
    put(t, name);
    put(t, "(");
    for (unsigned i = 0; i < arguments; i++) {
        put(t, i > 0 ? "," : "");
        (i < firsts ? put_filter : put_expression)(t, depth - 1);
    }
    put(t, *name == '(' ? "))" : ")");
}

static void put_expression(sql_text *t, unsigned depth)
{
    unsigned code = next_byte();
    if (depth > 0 && code % 4 == 0)
        put_call(t, scalars, depth);
    else if (t->column && code % 4 == 1)
        put(t, t->column);
    else
        put_one_of(t, sql_values);
}

/* One scalar or, where there are rows, perhaps an aggregate. */
static void put_result(sql_text *t)
{
    unsigned code = next_byte();
    if (t->column && code % 2 == 0)
        put_call(t, aggregates, DEPTH);
    else
        put_call(t, scalars, DEPTH);
}

/* Conditions on the columns of cf_buckets. */
static void put_where(sql_text *t)
{
    static const char conditions[] = " = ; < ; >= ; <> ; IS ; > ;";
    put(t, " WHERE bucket");
    put_one_of(t, conditions);
    put_expression(t, 1);
    put(t, next_byte() % 2 ? " OR bucket" : " AND bucket");
    put_one_of(t, conditions);
    put_expression(t, 1);
    put_one_of(t, "; ORDER BY bucket, slot; ORDER BY bucket DESC; ORDER BY fingerprint, bucket;");
}

static void put_rows(sql_text *t)
{
    t->column = "c";
    put(t, "WITH RECURSIVE n(c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n LIMIT ?5 % 300) SELECT ");
    put_result(t);
    put(t, " FROM n");
    if (next_byte() % 3 == 0)
        put(t, " GROUP BY c % 3");
}

static void put_table(sql_text *t, bool explain)
{
    bool values = explain && next_byte() % 2;
    put(t, "SELECT *, ");
    t->column = values ? "value" : "bucket";
    put_result(t);
    t->column = NULL;
    put(t, values ? " FROM cf_values(" : explain ? " FROM cf_explain(" : " FROM cf_buckets(");
    put_filter(t, DEPTH);
    if (explain) {
        put(t, ",");
        put_expression(t, DEPTH);
    }
    put(t, ")");
    if (next_byte() % 2)
        put_where(t);
}

static void put_statement(sql_text *t)
{
    unsigned kind = next_byte() % 4;
    if (kind == 0) {
        put(t, "SELECT ");
        put_result(t);
    } else if (kind == 1) {
        put_rows(t);
    } else {
        put_table(t, next_byte() % 3 == 0);
    }
}

/* ---- the values ---- */

/* Twelve keys, or so many that it has grown; with counters, values or neither; semi-sorted or not; with
** a list that takes all that finds no slot at once, or without. Few shapes: two can often be merged. */
static cf_filter make_sql_filter(void)
{
    const char *why;
    cf_filter filter;
    cf_geometry shape;
    unsigned b = 1u << next_byte() % 4, code = next_byte(), payload = next_byte(), layout = next_byte();
    cf_options options = {.bucket_size = b, .fingerprint_bits = 12, .growth = code % 2 && b > 1};
    options.counter_bits = payload % 4 == 1 ? 1 + payload / 4 % 8 : 0;
    options.value_bits = payload % 4 == 2 ? 1 + payload / 4 % 8 : 0;
    options.layout = layout % 3 == 1 && b == 4 ? CF_LAYOUT_SEMISORT : CF_LAYOUT_AUTO;
    options.stash = layout / 4 % 2 && !options.growth;
    options.max_kicks = options.stash ? layout / 8 % 4 : 0;
    options.stash_size = options.stash ? 1 + layout / 32 : 0;
    REQUIRE(cf_plan(10 + next_byte() % 3 * 20, 0, &options, &shape, &why) == CF_OK);
    cf_create(&filter, &shape, model_need(malloc((size_t)cf_geometry_bytes(&shape))));
    filter.memory = (cf_memory){world_resize, LONGEST_VALUE, NULL};
    for (uint64_t i = 12 + code / 4 % 4 * 60; i > 0; i--)
        cf_add_value(&filter, cf_hash(&shape, &i, sizeof i), options.value_bits ? i % 2 : 0);
    cf_seal(&filter);
    return filter;
}

static void bind_filter(sqlite3_stmt *statement, int at, bool damaged)
{
    cf_filter filter = make_sql_filter();
    if (damaged)
        mutate(model_bytes(&filter), filter.length);
    sqlite3_bind_blob(statement, at, filter.bytes, (int)filter.length, free);
}

/* A run of the input as it stands. */
static void bind_bytes(sqlite3_stmt *statement, int at, bool as_text)
{
    size_t left = (size_t)(draws.end - draws.at), n = next_byte();
    const char *from = (const char *)draws.at;
    left -= left > 0;
    n = n < left ? n : left;
    if (as_text)
        sqlite3_bind_text(statement, at, from, (int)n, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(statement, at, from, (int)n, SQLITE_TRANSIENT);
}

static void bind_pool(sqlite3_stmt *statement, const sqlite3_value *last)
{
    uint64_t bits = next_number(8);
    double real;
    memcpy(&real, &bits, sizeof real);
    if (last)
        sqlite3_bind_value(statement, 1, last);
    bind_filter(statement, 2, false);
    bind_filter(statement, 3, false);
    bind_filter(statement, 4, true);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)next_byte());
    sqlite3_bind_double(statement, 6, real);
    sqlite3_bind_int64(statement, 7, (sqlite3_int64)bits);
    bind_bytes(statement, 8, true);
    bind_bytes(statement, 9, false);
}

/* ---- running ---- */

static int calls;

static int interrupt(void *unused)
{
    (void)unused;
    return ++calls > CALLS;
}

static sqlite3 *connection(void)
{
    static sqlite3 *db;
    char *message = NULL;
    if (db)
        return db;
    sqlite3_hard_heap_limit64(HEAP);
    REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK);
    REQUIRE(sqlite3_cuckoo_init(db, &message, NULL) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "CREATE TABLE diary(entry)", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    sqlite3_progress_handler(db, STEPS, interrupt, NULL);
    return db;
}

static int step_through(sqlite3_stmt *statement, sqlite3_value **last)
{
    int rc = SQLITE_ROW;
    for (unsigned rows = 0; rows < ROWS && (rc = sqlite3_step(statement)) == SQLITE_ROW; rows++)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            if (sqlite3_column_type(statement, i) == SQLITE_BLOB) {
                sqlite3_value_free(*last);
                *last = sqlite3_value_dup(sqlite3_column_value(statement, i));
            }
    return rc;
}

static void run_one(sqlite3 *db, sqlite3_value **last)
{
    sql_text t = {.used = 0};
    sqlite3_stmt *statement = NULL;
    put_statement(&t);
    calls = 0;
    int rc = sqlite3_prepare_v2(db, t.sql, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        bind_pool(statement, *last);
        rc = step_through(statement, last);
    }
    sqlite3_finalize(statement);
    REQUIRE(rc != SQLITE_MISUSE && rc != SQLITE_INTERNAL);
    calls = 0;
    bool excused = rc == SQLITE_NOMEM || rc == SQLITE_INTERRUPT;
    REQUIRE(excused || !sqlite3_get_autocommit(db));
    rc = sqlite3_exec(db, "INSERT INTO diary VALUES (1)", NULL, NULL, NULL);
    REQUIRE(excused || rc == SQLITE_OK);
}

static void fuzz_sql(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    sqlite3 *db = connection();
    sqlite3_value *last = NULL;
    for (unsigned n = 0; n < STATEMENTS && draws.at < draws.end; n++) {
        REQUIRE(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
        run_one(db, &last);
        sqlite3_exec(db, sqlite3_get_autocommit(db) ? "DELETE FROM diary" : "ROLLBACK", NULL, NULL,
                     NULL);
    }
    sqlite3_value_free(last);
}

#endif
