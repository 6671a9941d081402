/* SPDX-License-Identifier: MIT */
/*
** cmocka.h - stands for cmocka where a platform has no package of it: the part that the tests use.
**
** The first assertion that does not hold ends its test. As with CMOCKA_MESSAGE_OUTPUT=tap, each test
** prints "ok" or "not ok" at the start of a line.
*/
#ifndef PLATFORM_CMOCKA_H
#define PLATFORM_CMOCKA_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*cmocka_step)(void **state);

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    cmocka_step set_up, tear_down;
};

static jmp_buf cmocka_end_of_test;

#define cmocka_unit_test_setup_teardown(test, set_up, tear_down)                                        \
    {                                                                                                   \
#test, test, set_up, tear_down                                                                  \
    }
#define cmocka_unit_test(test) cmocka_unit_test_setup_teardown(test, NULL, NULL)

#define fail_msg(...)                                                                                   \
    (printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), cmocka_fail())

#define print_message printf
#define print_error   printf

#define _assert_true(c, what, file, line)                                                               \
    ((c) ? (void)0 : (printf("# %s:%d: %s\n", file, line, what), cmocka_fail()))

#define assert_true(c)         ((c) ? (void)0 : fail_msg("%s", #c))
#define assert_false(c)        assert_true(!(c))
#define assert_null(p)         assert_true((p) == NULL)
#define assert_non_null(p)     assert_true((p) != NULL)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))

#define assert_int_equal(a, b)                                                                          \
    cmocka_compare((uintmax_t)(a), (uintmax_t)(b), 1, #a " == " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                                      \
    cmocka_compare((uintmax_t)(a), (uintmax_t)(b), 0, #a " != " #b, __FILE__, __LINE__)
#define assert_string_equal(a, b)        assert_int_equal(strcmp(a, b), 0)
#define assert_string_not_equal(a, b)    assert_int_not_equal(strcmp(a, b), 0)
#define assert_memory_equal(a, b, n)     assert_int_equal(memcmp(a, b, n), 0)
#define assert_memory_not_equal(a, b, n) assert_int_not_equal(memcmp(a, b, n), 0)

static inline void cmocka_fail(void)
{
    longjmp(cmocka_end_of_test, 1);
}

static inline void cmocka_compare(uintmax_t a, uintmax_t b, int equal, const char *what,
                                  const char *file, int line)
{
    if ((a == b) == equal)
        return;
    printf("# %s:%d: %s: %llu, %llu\n", file, line, what, (unsigned long long)a, (unsigned long long)b);
    cmocka_fail();
}

/* 0: the step is done, or there is none. */
static inline int cmocka_take_step(cmocka_step step, void **state)
{
    return step ? step(state) : 0;
}

static inline int cmocka_run(const struct CMUnitTest *test, void **state)
{
    volatile int failed = cmocka_take_step(test->set_up, state);
    if (!failed && setjmp(cmocka_end_of_test) == 0)
        test->test(state);
    else
        failed = 1;
    failed |= cmocka_take_step(test->tear_down, state);
    printf("%s - %s\n", failed ? "not ok" : "ok", test->name);
    fflush(stdout);
    return failed;
}

static inline int cmocka_run_tests(const struct CMUnitTest *tests, size_t n, cmocka_step set_up,
                                   cmocka_step tear_down)
{
    void *common = NULL;
    int failed = cmocka_take_step(set_up, &common);
    for (size_t i = 0; i < n; i++) {
        void *state = common;
        failed += cmocka_run(&tests[i], &state);
    }
    return failed + cmocka_take_step(tear_down, &common);
}

#define _cmocka_run_group_tests(name, tests, n, set_up, tear_down)                                      \
    cmocka_run_tests(tests, n, set_up, tear_down)
#define cmocka_run_group_tests(tests, set_up, tear_down)                                                \
    cmocka_run_tests(tests, sizeof tests / sizeof tests[0], set_up, tear_down)
#define cmocka_run_group_tests_name(name, tests, set_up, tear_down)                                     \
    cmocka_run_group_tests(tests, set_up, tear_down)

#endif
