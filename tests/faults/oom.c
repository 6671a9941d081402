/* SPDX-License-Identifier: MIT */
/*
** oom.c - out of memory at every single request for memory.
**
** Each statement below runs once without faults, which gives its right answer, and then over and
** over with request number 0, 1, 2 ... for memory refused, until a run asks for no more than that:
** first only that request, then that one and all later ones. Together the statements call every
** function, aggregate and table of the extension, on its good paths and on its errors, with filters
** that grow. After each run:
**
**      - the answer is "out of memory" or, where SQLite can do without the memory, the right one;
**      - the same connection, with memory again, gives the right answer;
**      - closing the connection gives back every byte.
**
** CUCKOO_EVERY=n: that one and all later ones only at every n-th request; CUCKOO_SLICE says which.
** One test per statement. All of it takes half a minute with sanitizers. To run:
**
**      cc -std=c11 -DSQLITE_CORE tests/faults/oom.c $(find src ext -name '*.c')
**          -lcmocka -lsqlite3 -lm -o oom && ./oom
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "answer.h"
#include "fault_memory.h"

struct sqlite3_api_routines;
int sqlite3_cuckoo_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

/* ---- the statements ---- */

/* What the statements find in the database: two filters of one shape, one of another, and words. */
static const char setup[] =
    "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);"
    "INSERT INTO filters VALUES"
    "  ('a', cf_add(cf_add(cf_new(20), 'one'), 2)),"
    "  ('b', cf_add(cf_add(cf_new(20), 'three'), 4.5)),"
    "  ('other', cf_new(1000)),"
    "  ('tiny', cf_new(1, NULL, 'bucket_size=1 fingerprint_bits=8 growth=off')),"
    "  ('counted', cf_add(cf_add(cf_new(8, 0.01, 'counter_bits=2'), 'one'), 'one')),"
    "  ('valued', cf_add(cf_add(cf_new(8, 0.01, 'value_bits=4'), 'one', 1), 2, 15));"
    "CREATE TABLE digits(d); INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9),(10);"
    "CREATE TABLE words(w TEXT);"
    "INSERT INTO words VALUES ('one'), ('zwölf'), ('άλφα'), (''),"
    "  (hex(zeroblob(700)) || 'longer than the short way of hashing'), (NULL);"
    /* One that is about to grow, and what it grows to. */
    "INSERT INTO filters SELECT 'packed', cf_add_keys(cf_new(8), cf_keys(x.d * 11 + y.d)) FROM digits x, digits y "
    "WHERE x.d < 3;"
    "INSERT INTO filters SELECT 'forgets', cf_advance(cf_advance(cf_add_keys(cf_new(8, 0.01, "
    "'epochs=3'), cf_keys(d)))) "
    "FROM digits;"
    "INSERT INTO filters SELECT 'older', cf_add_keys(cf_advance(cf_new(8, 0.01, 'epochs=3')), cf_keys(d + 5)) "
    "FROM digits;"
    "INSERT INTO filters SELECT 'grown', cf_add_keys(f, cf_keys(x.d * 11 + y.d)) FROM filters, digits x, digits y "
    "  WHERE name = 'packed';";

typedef struct oom_case {
    const char *name;
    const char *sql;
} oom_case;

/* Some are asked of a database of this encoding. */
static bool is_utf16(const oom_case *c)
{
    return strstr(c->name, "UTF-16") != NULL;
}

#define A          "(SELECT f FROM filters WHERE name = 'a')"
#define B          "(SELECT f FROM filters WHERE name = 'b')"
#define OTHER      "(SELECT f FROM filters WHERE name = 'other')"
#define TINY       "(SELECT f FROM filters WHERE name = 'tiny')"
#define BRIM       "(SELECT f FROM filters WHERE name = 'packed')"
#define GROWN      "(SELECT f FROM filters WHERE name = 'grown')"
#define COUNTED    "(SELECT f FROM filters WHERE name = 'counted')"
#define VALUED     "(SELECT f FROM filters WHERE name = 'valued')"
#define AGED       "(SELECT f FROM filters WHERE name = 'forgets')"
#define OLDER      "(SELECT f FROM filters WHERE name = 'older')"
#define HANDLE     "(SELECT cf_open(f) FROM filters WHERE name = 'a')"
#define TINY_EXACT /* of the member 1 */                                                                \
    "CF6578010100000000000000000000000100000000000000010000000000000000010000"                          \
    "00000000000000000000000047C701077AF419B900000000CD10CF28A62858E178F9A76C"
#define FORTY   "(SELECT x.d * 4 + y.d AS i FROM digits x, digits y WHERE y.d < 4)"          /* 44 */
#define NUMBERS "(SELECT x.d * 121 + y.d * 11 + z.d AS i FROM digits x, digits y, digits z)" /* 1331 */

/* What a filter that a query made has to say. Not its bytes: where there was no memory to grow when
** it was crowded, it may have grown a few keys later. */
#define TOLD(query)                                                                                     \
    "SELECT cf_check(g), json_extract(cf_info(g), '$.items'), (SELECT sum(cf_contains(g, i)) "          \
    "FROM " FORTY ") FROM (" query ")"

static const oom_case cases[] = {
    {"cf_new", "SELECT cf_new(100), cf_new(7, 0.001), cf_new(7, NULL, 'seed=3, growth=off')"},
    {"cf_add", "SELECT cf_add(f, w) FROM filters, words WHERE name = 'a'"},
    {"cf_delete", "SELECT cf_delete(f, w) FROM filters, words WHERE name = 'a'"},
    {"cf_contains", "SELECT cf_contains(" A ", w), cf_contains(" A ", 7) FROM words"},
    {"cf_count", "SELECT cf_count(" A ", w), cf_count(" A ", 2.0) FROM words"},
    {"cf_open", "SELECT cf_contains(" HANDLE ", w) FROM words"},
    {"handle in place of a blob",
     "SELECT cf_add(" HANDLE ", 7), cf_add(" HANDLE ", NULL), cf_delete(" HANDLE ", 'one'), "
     "cf_merge(" HANDLE ", " B "), cf_clear(" HANDLE "), cf_check(" HANDLE ")"},
    {"cf_merge", "SELECT cf_merge(" A ", " B ", " A ")"},
    {"cf_merge over rows", "SELECT cf_merge(f) FROM filters WHERE name < 'c'"},
    {"cf_clear", "SELECT cf_clear(f) FROM filters"},
    {"cf_advance", "SELECT cf_advance(cf_add(cf_new(9, 0.01, 'epochs=3'), w)) FROM words"},
    {"cf_info", "SELECT cf_info(f) FROM filters"},
    {"cf_plan", "SELECT cf_plan(10), cf_plan(10, 0.5), cf_plan(10, NULL, 'seed=1')"},
    {"cf_check", "SELECT cf_check(f), cf_check(x'00'), cf_check(zeroblob(80)) FROM filters"},
    {"cf_key", "SELECT cf_key(1, 2.5, w, zeroblob(100)), cf_key(w, NULL) FROM words"},
    {"cf_version", "SELECT cf_version()"},
    {"cf_build, growing", "SELECT cf_build(i) FROM " NUMBERS},
    {"cf_build, repeated keys", "SELECT cf_build(i % 300) FROM " NUMBERS},
    {"cf_build, options", "SELECT cf_build(w, 0.001, 'capacity=90 seed=-1') FROM words"},
    {"cf_build, groups", "SELECT cf_build(d) FROM digits GROUP BY d % 3"},
    {"cf_build, no rows", "SELECT cf_build(w) FROM words WHERE 0"},
    {"cf_build_exact", "SELECT cf_build_exact(i, i % 3 = 0, 0.1, 'seed=2') FROM " NUMBERS},
    {"cf_build_exact, no rows", "SELECT cf_build_exact(w, 1) FROM words WHERE 0"},
    {"cf_build_exact, levels", "SELECT cf_build_exact(i, i % 2) FROM " NUMBERS},
    {"cf_build_exact, groups", "SELECT cf_build_exact(i, i % 3 = 0) FROM " NUMBERS " GROUP BY i % 2"},
    {"error: cf_build_exact", "SELECT cf_build_exact(i % 300, i < 400) FROM " NUMBERS},
    {"exact: all that reads it",
     "SELECT cf_contains(e, d), cf_info(e), cf_check(e), cf_contains((SELECT cf_open(e)), d) FROM "
     "digits, "
     "(SELECT cf_build_exact(i, i % 3 = 0) AS e FROM " NUMBERS ")"},
    {"exact: a literal", "SELECT cf_contains(x'" TINY_EXACT "', d) FROM digits"},
    {"exact: cf_explain", "SELECT x.* FROM (SELECT cf_build_exact(i, i % 3 = 0) AS e FROM " NUMBERS
                          ") f, cf_explain(f.e, 6) x"},
    {"cf_keys", "SELECT cf_keys(i) FROM " NUMBERS},
    {"cf_keys, no rows", "SELECT cf_keys(w) FROM words WHERE 0"},
    {"cf_keys, values and options", "SELECT cf_keys(w, 3, 'seed=9') FROM words"},
    {"cf_add_keys", "SELECT cf_add_keys(" A ", (SELECT cf_keys(w) FROM words))"},
    {"cf_delete_keys", "SELECT cf_delete_keys(" A ", (SELECT cf_keys(w) FROM words))"},
    {"cf_add_keys, handle", "SELECT cf_add_keys(" HANDLE ", cf_keys(w)) FROM words"},
    {"cf_buckets", "SELECT b.* FROM filters, cf_buckets(f) b WHERE name = 'a'"},
    {"cf_buckets, columns and bounds",
     "SELECT rowid, cuckoo_filter, * FROM cf_buckets(" HANDLE ") WHERE bucket >= 1 AND bucket <= 2"},
    {"cf_buckets, in order",
     "SELECT * FROM cf_buckets(" A ") WHERE bucket IN (0, 3) ORDER BY fingerprint"},
    {"cf_explain", "SELECT e.*, e.cuckoo_key, e.cuckoo_filter FROM words, cf_explain(" A ", w) e"},
    {"cf_explain, handle", "SELECT * FROM cf_explain(" HANDLE ", 'one')"},
    {"cf_lines", "SELECT rowid, line, cuckoo_text FROM cf_lines('a' || char(13, 10, 10) || 'b')"},
    {"cf_lines, zeroblob", "SELECT count(line) FROM words, cf_lines(zeroblob(300))"},
    {"zeroblob for a key", "SELECT cf_contains(cf_add(cf_new(9), zeroblob(9)), zeroblob(3000)), cf_key(zeroblob(0))"},

    {"growing: cf_add until it does",
     "WITH RECURSIVE n(i, g) AS (SELECT 0, " BRIM " UNION ALL SELECT i + 1, cf_add(g, 'k' || i) FROM n "
     "WHERE i < 12) SELECT i, g FROM n"},
    {"growing: cf_add_keys", "SELECT cf_add_keys(" BRIM ", (SELECT cf_keys(d + 1000) FROM digits))"},
    {"growing: cf_add_keys over several levels", TOLD("SELECT cf_add_keys(" BRIM ", cf_keys(i)) AS g FROM " FORTY)},
    {"growing: cf_add_keys to a handle",
     TOLD("SELECT cf_add_keys((SELECT cf_open(f) FROM filters WHERE name = 'packed'), cf_keys(i)) AS g "
          "FROM " FORTY)},
    {"growing: cf_merge", "SELECT cf_merge(" BRIM ", " GROWN "), cf_merge(" GROWN ", " BRIM ")"},
    {"growing: cf_merge over rows", "SELECT cf_merge(f) FROM filters WHERE name IN ('packed', 'grown')"},
    {"growing: stored in the table",
     "UPDATE filters SET f = (SELECT cf_add_keys(" BRIM ", cf_keys(x.d * 11 + y.d)) FROM digits x, digits y) "
     "WHERE name = 'other' RETURNING json_extract(cf_info(f), '$.items')"},
    {"grown: all that reads it", "SELECT cf_contains(" GROWN ", 5), cf_count(" GROWN
                                 ", 5), cf_info(" GROWN "), cf_check(" GROWN "), "
                                 "cf_clear(" GROWN "), cf_delete(" GROWN ", 5)"},
    {"grown: tables", "SELECT b.* FROM cf_buckets(" GROWN ") b, cf_explain(" GROWN ", 7) e LIMIT 40"},
    {"counters: cf_add, cf_delete",
     "SELECT cf_add(" COUNTED ", w), cf_delete(" COUNTED ", w) FROM words"},
    {"counters: cf_add_keys", TOLD("SELECT cf_add_keys(" COUNTED ", cf_keys(i % 40)) AS g FROM " FORTY)},
    {"counters: cf_delete_keys", "SELECT cf_delete_keys(" COUNTED ", cf_keys(w)) FROM words"},
    {"counters: cf_merge", "SELECT cf_merge(" COUNTED ", " COUNTED "), cf_info(" COUNTED ")"},
    {"counters: cf_build", "SELECT cf_build(i % 300, 0.01, 'counter_bits=3') FROM " NUMBERS},
    {"values: cf_add, cf_delete, cf_get",
     "SELECT cf_add(" VALUED ", w, 3), cf_delete(" VALUED ", w, 1), cf_get(" VALUED ", w) FROM words"},
    {"values: cf_add_keys",
     TOLD("SELECT cf_add_keys(" VALUED ", (SELECT cf_keys(i, i % 16) FROM " FORTY ")) AS g")},
    {"values: cf_build", "SELECT cf_build(i, 0.01, 'value_bits=4', i % 16) FROM " NUMBERS},
    {"values: cf_values", "SELECT v.*, v.cuckoo_key, v.cuckoo_filter FROM words, cf_values(" VALUED ", w) v"},
    {"values: cf_delete_keys", "SELECT cf_delete_keys(" VALUED ", cf_keys(w, 1)) FROM words"},
    {"values: cf_merge, tables",
     "SELECT cf_merge(" VALUED ", " VALUED "), e.* FROM cf_explain(" VALUED ", 2) e"},

    {"epochs: cf_add, cf_contains", "SELECT cf_add(" AGED ", w), cf_contains(" AGED ", 3), cf_info(" AGED
                                    "), cf_check(" AGED ") FROM words"},
    {"epochs: cf_advance, cf_clear",
     "SELECT cf_advance(f), cf_advance(cf_advance(f)), cf_clear(f) FROM filters WHERE name IN "
     "('forgets', "
     "'older')"},
    {"epochs: cf_merge", "SELECT cf_merge(" AGED ", " OLDER "), cf_merge(" OLDER ", " AGED ")"},
    {"epochs: cf_merge over rows", "SELECT cf_merge(f) FROM filters WHERE name IN ('forgets', 'older')"},
    {"epochs: growing", TOLD("SELECT cf_add_keys(" AGED ", cf_keys(i)) AS g FROM " FORTY)},
    {"epochs: merge, growing",
     TOLD("SELECT cf_merge(" AGED ", (SELECT cf_add_keys(" OLDER ", cf_keys(i)) FROM " FORTY ")) AS g")},
    {"epochs: cf_build", TOLD("SELECT cf_build(i % 50, 0.01, 'epochs=5') AS g FROM " FORTY)},
    {"epochs: tables", "SELECT b.* FROM cf_buckets(" AGED ") b"},
    {"error: epochs: cf_delete", "SELECT cf_delete(" AGED ", 3)"},
    {"error: epochs: mismatch", "SELECT cf_merge(" AGED ", " A ")"},

    {"UTF-16: cf_add", "SELECT cf_add(f, w) FROM filters, words WHERE name = 'a'"},
    {"UTF-16: cf_contains", "SELECT cf_contains(" HANDLE ", w) FROM words"},
    {"UTF-16: cf_key", "SELECT cf_key(w, name) FROM words, filters"},
    {"UTF-16: cf_build", "SELECT cf_build(w, 0.01, 'seed=9') FROM words"},
    {"UTF-16: cf_keys", "SELECT cf_keys(w, NULL, 'seed=9') FROM words"},
    {"UTF-16: cf_add_keys", "SELECT cf_add_keys(" A ", cf_keys(w)) FROM words"},
    {"UTF-16: cf_explain", "SELECT * FROM words, cf_explain(" A ", w)"},
    {"UTF-16: cf_info", "SELECT cf_info(f) || cf_check(f) || cf_version() FROM filters"},

    {"error: unknown option", "SELECT cf_new(10, 0.01, 'colour=red')"},
    {"error: bad value, UTF-16", "SELECT cf_new(10, 0.01, 'seed=red')"},
    {"error: bad fpr", "SELECT cf_build(w, 2) FROM words"},
    {"error: bad capacity", "SELECT cf_plan(-1)"},
    {"error: too big", "SELECT cf_new(1000000000000)"},
    {"error: NULL filter", "SELECT cf_contains(NULL, 1)"},
    {"error: not a blob", "SELECT cf_add('text', 1)"},
    {"error: damaged", "SELECT cf_info(zeroblob(100))"},
    {"error: full", "SELECT cf_add(cf_add(cf_add(" TINY ", 1), 2), 3)"},
    {"error: full over rows", "SELECT cf_add_keys(" TINY ", cf_keys(d)) FROM digits"},
    {"error: too long to grow", "SELECT cf_add_keys(" BRIM ", cf_keys(i)) FROM " NUMBERS},
    {"error: value out of range", "SELECT cf_add(" VALUED ", 1, 16)"},
    {"error: no list", "SELECT cf_add_keys(" A ", x'00')"},
    {"error: list of another rule",
     "SELECT cf_add_keys(" A ", (SELECT cf_keys(w, NULL, 'seed=1') FROM words))"},
    {"error: no values", "SELECT * FROM cf_values(" A ", 1)"},
    {"error: too many values", "SELECT cf_build(1, 0.01, 'value_bits=9', i) FROM " NUMBERS},
    {"error: no value", "SELECT cf_add_keys(" VALUED ", cf_keys(d)) FROM digits"},
    {"error: value where none is kept", "SELECT cf_add(" A ", 1, 1)"},
    {"error: no values to get", "SELECT cf_get(" A ", 1)"},
    {"error: build with values", "SELECT cf_build(d, 0.01, 'value_bits=4') FROM digits"},
    {"error: counters and values", "SELECT cf_new(5, 0.01, 'value_bits=4 counter_bits=1')"},
    {"error: mismatch", "SELECT cf_merge(" A ", " OTHER ")"},
    {"error: mismatch over rows", "SELECT cf_merge(f) FROM filters"},
    {"error: options that change", "SELECT cf_build(w, d / 20.0) FROM words, digits WHERE d > 0"},
    {"error: no rows", "SELECT cf_delete_keys(f, cf_keys(1)) FROM filters WHERE 0"},
    {"error: table of a damaged filter", "SELECT * FROM cf_buckets(x'00')"},
    {"error: table without arguments", "SELECT * FROM cf_explain"},
};

/* ---- one run ---- */

/* The database that all statements find, by encoding. Made once: reading a copy is quicker. */
static struct image {
    unsigned char *bytes;
    sqlite3_int64 n;
} images[2];

static sqlite3 *connect_empty(void)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_cuckoo_init(db, &message, NULL), SQLITE_OK);
    return db;
}

static void make_image(bool utf16)
{
    struct image *image = &images[utf16];
    sqlite3 *db = connect_empty();
    char *message = NULL;
    if (utf16)
        assert_int_equal(sqlite3_exec(db, "PRAGMA encoding = 'UTF-16le'", NULL, NULL, NULL), SQLITE_OK);
    if (sqlite3_exec(db, setup, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("setup: %s", message);
    unsigned char *bytes = sqlite3_serialize(db, "main", &image->n, 0);
    image->bytes = malloc((size_t)image->n);
    memcpy(image->bytes, bytes, (size_t)image->n);
    sqlite3_free(bytes);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int make_images(void **state)
{
    (void)state;
    make_image(false);
    make_image(true);
    return 0;
}

static int free_images(void **state)
{
    (void)state;
    free(images[0].bytes);
    free(images[1].bytes);
    return 0;
}

static sqlite3 *connect_plainly(const oom_case *c)
{
    enum { FLAGS = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE };
    const struct image *image = &images[is_utf16(c)];
    sqlite3 *db = connect_empty();
    unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)image->n);
    memcpy(copy, image->bytes, (size_t)image->n);
    assert_int_equal(sqlite3_deserialize(db, "main", copy, image->n, image->n, FLAGS), SQLITE_OK);
    if (strstr(c->name, "too long"))
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 400);
    return db;
}

static answer answer_without_faults(const oom_case *c)
{
    sqlite3 *db = connect_plainly(c);
    answer a = answer_of(db, c->sql);
    bool error_expected = strncmp(c->name, "error:", 6) == 0;
    if ((a.code != SQLITE_OK) != error_expected)
        fail_msg("%s answers %d: %.*s", c->sql, a.code, (int)a.used, a.bytes);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return a;
}

/* Out of memory, or right; SQLite may also keep the code of an error and lose its message. */
static bool acceptable(const answer *faulty, const answer *right)
{
    if (faulty->code == SQLITE_NOMEM || answer_equal(faulty, right))
        return true;
    const char *plain = sqlite3_errstr(right->code);
    return right->code != SQLITE_OK && faulty->code == right->code && faulty->used == strlen(plain) &&
           memcmp(faulty->bytes, plain, faulty->used) == 0;
}

/* Runs the statement with a fault at request n; false when it did not ask that often. */
static bool run_with_fault(const oom_case *c, const answer *right, long n, fault_kind kind)
{
    sqlite3_int64 before = sqlite3_memory_used();
    sqlite3 *db = connect_plainly(c);
    fault_memory_arm(n, kind);
    answer faulty = answer_of(db, c->sql);
    long refused = fault_memory_disarm();
    answer again = answer_of(db, c->sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);

    if (!acceptable(&faulty, right))
        fail_msg("request %ld refused: wrong answer %d: %.*s", n, faulty.code, (int)faulty.used,
                 faulty.bytes);
    if (!answer_equal(&again, right))
        fail_msg("request %ld refused: the connection is broken afterwards: %d: %.*s", n, again.code,
                 (int)again.used, again.bytes);
    if (sqlite3_memory_used() != before)
        fail_msg("request %ld refused: %lld bytes are lost", n, sqlite3_memory_used() - before);
    answer_free(&faulty);
    answer_free(&again);
    return refused > 0;
}

static long environment(const char *name, long otherwise)
{
    const char *given = getenv(name);
    return given ? atol(given) : otherwise;
}

static long runs;

static void test_statement(void **state)
{
    const oom_case *c = *state;
    answer right = answer_without_faults(c);
    for (fault_kind kind = FAULT_ONCE; kind <= FAULT_ONWARDS; kind++) {
        long every = environment("CUCKOO_EVERY", 1);
        if (kind == FAULT_ONCE) /* finds more */
            every = (every + 7) / 8;
        long n = environment("CUCKOO_SLICE", 0) % every, first = runs;
        for (; run_with_fault(c, &right, n, kind); n += every)
            runs++;
        assert_true(runs > first || every > 1);
    }
    answer_free(&right);
}

/* ---- opening and registering ---- */

/* SQLite may keep a connection that it could not open to the end, to hold the error. */
static int open_and_register(sqlite3 **db)
{
    char *message = NULL;
    int rc = sqlite3_open(":memory:", db);
    if (rc == SQLITE_OK)
        rc = sqlite3_cuckoo_init(*db, &message, NULL);
    sqlite3_free(message);
    return rc;
}

static void test_registration(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    for (fault_kind kind = FAULT_ONCE; kind <= FAULT_ONWARDS; kind++)
        for (long n = 0, refused = 1; refused > 0; n++) {
            sqlite3 *db = NULL;
            fault_memory_arm(n, kind);
            int rc = open_and_register(&db);
            refused = fault_memory_disarm();
            assert_true(rc == SQLITE_NOMEM || rc == SQLITE_OK);
            assert_true(rc == SQLITE_OK || refused > 0);
            assert_int_equal(sqlite3_close(db), SQLITE_OK);
            assert_int_equal(sqlite3_memory_used(), before);
        }
}

/* ---- all of it ---- */

enum { CASES = sizeof cases / sizeof cases[0] };

int main(void)
{
    struct CMUnitTest tests[CASES + 1] = {{"opening and registering", test_registration, 0, 0, 0}};
    for (int i = 0; i < CASES; i++)
        tests[i + 1] =
            (struct CMUnitTest){cases[i].name, test_statement, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    if (fault_memory_install() != SQLITE_OK) {
        fputs("the allocator could not be installed\n", stderr);
        return 1;
    }
    int failed = cmocka_run_group_tests_name("out of memory", tests, make_images, free_images);
    printf("# %ld runs\n", runs);
    sqlite3_shutdown();
    if (sqlite3_memory_used() != 0) {
        fputs("memory is lost after sqlite3_shutdown\n", stderr);
        return 1;
    }
    return failed;
}
