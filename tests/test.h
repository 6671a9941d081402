/*
** test.h - what the unit tests share: cmocka, a filter in memory of exactly its size (so that a sanitizer
** sees every step beyond it), and random numbers from a printed seed.
**
** CUCKOO_TEST_SEED=n in the environment repeats a run.
*/
#ifndef CUCKOO_TEST_H
#define CUCKOO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../src/cuckoo_filter.h"
#include "../src/format.h"

static uint64_t random_state;

/* splitmix64: the numbers of a seed are the same on every machine. */
static inline uint64_t random64(void)
{
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t n)
{
    return random64() % n;
}

/* A fixed seed unless the environment gives one: a failure must be repeatable. */
static inline void seed_random(void)
{
    const char *given = getenv("CUCKOO_TEST_SEED");
    random_state = given ? strtoull(given, NULL, 0) : 20140214;
    fprintf(stderr, "random seed %llu\n", (unsigned long long)random_state);
}

/* A shape of a filter without growth; s and cap as the planner sets them. */
static inline cf_geometry shape_of(uint64_t buckets, unsigned b, unsigned f)
{
    cf_geometry shape = {.buckets = buckets,
                         .capacity = buckets * b,
                         .bucket_size = (uint8_t)b,
                         .fingerprint_bits = (uint8_t)f,
                         .pair_bits = (uint8_t)f,
                         .cap = (uint8_t)(b <= 2   ? b
                                          : b == 4 ? 3
                                                   : 4)};
    return shape;
}

typedef struct test_filter {
    cf_filter filter;
    uint8_t *bytes;
} test_filter;

static inline test_filter new_filter(cf_geometry shape)
{
    test_filter made;
    const char *why = NULL;
    assert_int_equal(cf_geometry_check(&shape, &why), CF_OK);
    made.bytes = malloc(cf_geometry_bytes(&shape));
    assert_non_null(made.bytes);
    cf_create(&made.filter, &shape, made.bytes);
    return made;
}

static inline test_filter planned_filter(uint64_t capacity, double fpr, cf_options options)
{
    cf_geometry shape;
    const char *why = "";
    cf_status status = cf_plan(capacity, fpr, &options, &shape, &why);
    if (status != CF_OK)
        fail_msg("cf_plan(%llu, %g): %s", (unsigned long long)capacity, fpr, why);
    return new_filter(shape);
}

static inline void free_filter(test_filter *made)
{
    free(made->bytes);
    made->bytes = NULL;
}

static inline void assert_sound(const cf_filter *filter)
{
    const char *why = "";
    if (cf_check(filter, &why) != CF_OK)
        fail_msg("cf_check: %s", why);
}

/* All the source of a test program but its tests. */
#define RUN_TESTS(tests)                                                                                \
    int main(void)                                                                                      \
    {                                                                                                   \
        seed_random();                                                                                  \
        return cmocka_run_group_tests(tests, NULL, NULL);                                               \
    }

#endif
