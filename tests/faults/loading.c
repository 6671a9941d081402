/*
** loading.c - loading the extension while memory runs out.
**
** When the entry point fails, SQLite unmaps the library: a function or table left registered would then point
** into nothing. So each request for memory during the load is refused in turn, and after each failure using what
** the extension offers must not crash, and the connection must be in order. Unlike the other programs here this one loads
** the extension (build/cuckoo.so, or $CUCKOO_SO) as a user would.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fault_memory.h"

static int load_refusing(sqlite3 *db, long n, fault_kind kind, long *refused)
{
    const char *path = getenv("CUCKOO_SO");
    char *message = NULL;
    sqlite3_enable_load_extension(db, 1);
    fault_memory_arm(n, kind);
    int rc =
        sqlite3_load_extension(db, path ? path : "build/cuckoo.so", "sqlite3_cuckoo_init", &message);
    *refused = fault_memory_disarm();
    sqlite3_free(message);
    return rc;
}

/* Not found; or, when SQLite ran out of memory after the entry point had done its work, there and in order. */
static void expect_unknown_or_works(sqlite3 *db, const char *sql)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    assert_true(rc == SQLITE_ERROR || rc == SQLITE_OK);
}

static void expect_works(sqlite3 *db)
{
    assert_int_equal(sqlite3_exec(db, "SELECT cf_check(cf_new(10))", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT * FROM cf_buckets(cf_new(10))", NULL, NULL, NULL),
                     SQLITE_OK);
}

static long load_with_every_fault(fault_kind kind)
{
    for (long n = 0;; n++) {
        sqlite3 *db = NULL;
        long refused = 0;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        int rc = load_refusing(db, n, kind, &refused);
        if (rc == SQLITE_OK) {
            expect_works(db);
        } else {
            expect_unknown_or_works(db, "SELECT cf_new(10)");
            expect_unknown_or_works(db, "SELECT cf_plan(10, 0.1)");
            expect_unknown_or_works(db, "SELECT cf_build(1)");
            expect_unknown_or_works(db, "SELECT count(*) FROM cf_buckets((SELECT cf_new(10)))");
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        if (refused == 0)
            return n;
    }
}

static void test_each_request_refused(void **state)
{
    (void)state;
    assert_true(load_with_every_fault(FAULT_ONCE) > 20);
}

static void test_all_requests_refused_from_one_on(void **state)
{
    (void)state;
    assert_true(load_with_every_fault(FAULT_ONWARDS) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_request_refused),
        cmocka_unit_test(test_all_requests_refused_from_one_on),
    };
    if (fault_memory_install() != SQLITE_OK)
        return 1;
    return cmocka_run_group_tests_name("loading", tests, NULL, NULL);
}
