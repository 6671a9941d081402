/* SPDX-License-Identifier: MIT */
/*
** test.h - what the unit tests share: cmocka, a filter in memory of exactly its size (so that a
** sanitizer sees every step beyond it), memory that grows and fails as a test wants it, and random
** numbers from a printed seed. Only public headers: what no public call does is in ../probe.h.
**
** CUCKOO_TEST_SEED=n in the environment repeats a run. With CUCKOO_TEST_LIMIT=n a test that takes more than
** n seconds ends the program, and is named.
*/
#ifndef CUCKOO_TEST_H
#define CUCKOO_TEST_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef SIGALRM
#include <unistd.h>
#endif

#include <cmocka.h>
#undef stop /* a macro of cmocka 2, and a field of cf_watch */

#include "../../src/include/cuckoo_inspect.h"
#include "../../src/include/cuckoo_key.h"

/* A number in the environment, or this one. */
static inline uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *given = getenv(name);
    return given ? strtoull(given, NULL, 0) : otherwise;
}

/* CUCKOO_EVERY=n asks for every n-th of many cases only, for slow ways to run them; CUCKOO_SLICE says which. */
static inline bool is_asked_for(unsigned nth)
{
    return (nth + environment("CUCKOO_SLICE", 0)) % environment("CUCKOO_EVERY", 1) == 0;
}

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
    random_state = environment("CUCKOO_TEST_SEED", 20140214);
    fprintf(stderr, "random seed %llu\n", (unsigned long long)random_state);
}

/* ---- where a helper was called ---- */

/* What fails in a helper is reported at the line of the test that called it: its macro below sets the place.
** In this file MUST and MUST_EQUAL stand for cmocka's assert_true. */
typedef struct line_of_test {
    const char *file;
    int line;
} line_of_test;

static line_of_test called = {__FILE__, 0};

#define CALLED(call) (called = (line_of_test){__FILE__, __LINE__}, call)

#define MUST(condition) _assert_true((condition) ? 1 : 0, #condition, called.file, called.line)

static inline void must_equal(uint64_t a, uint64_t b, const char *what)
{
    char text[200];
    if (a == b)
        return;
    snprintf(text, sizeof text, "%s: %llu, %llu", what, (unsigned long long)a, (unsigned long long)b);
    _assert_true(0, text, called.file, called.line);
}

#define MUST_EQUAL(a, b) must_equal((uint64_t)(a), (uint64_t)(b), #a " == " #b)

static inline void must_be_ok(cf_status status, const char *why, const char *what)
{
    char text[200];
    if (status == CF_OK)
        return;
    snprintf(text, sizeof text, "%s: %s", what, why ? why : "no reason is given");
    _assert_true(0, text, called.file, called.line);
}

/* ---- filters in memory ---- */

/* A watch that says stop at question number `at`; 0: never. */
typedef struct asked {
    cf_watch watch;
    unsigned questions, at;
} asked;

static inline bool answer(void *context)
{
    asked *by = context;
    return ++by->questions == by->at;
}

/* A shape of a filter without growth; s and max_copies as the planner sets them. */
static inline cf_geometry shape_of(uint64_t buckets, unsigned b, unsigned f)
{
    cf_geometry shape = {.buckets = buckets,
                         .capacity = buckets * b,
                         .bucket_size = (uint8_t)b,
                         .fingerprint_bits = (uint8_t)f,
                         .pair_bits = (uint8_t)f,
                         .max_copies = (uint8_t)(b <= 2   ? b
                                                 : b == 4 ? 3
                                                          : 4)};
    return shape;
}

/* One that may grow; s as the planner sets it. */
static inline cf_geometry growing_shape(uint64_t buckets, unsigned b, unsigned f)
{
    cf_geometry shape = shape_of(buckets, b, f);
    unsigned s = f - 4;
    shape.growth = true;
    shape.pair_bits = (uint8_t)(b == 2 ? 8 : s < 4 ? 4 : s > 6 ? 6 : s);
    return shape;
}

/* The same shape in semi-sorted buckets (b = 4, f >= 5). */
static inline cf_geometry semisorted(cf_geometry shape)
{
    shape.semisorted = true;
    return shape;
}

/* The same shape with a stash, and so without growth. */
static inline cf_geometry stashing(cf_geometry shape, unsigned budget, unsigned bound)
{
    shape.growth = false;
    shape.budget = (uint8_t)budget;
    shape.stash_size = (uint16_t)bound;
    return shape;
}

typedef struct test_filter {
    cf_filter filter;
    uint8_t *bytes; /* as they were when it was made; when it grows they move, to filter.bytes */
} test_filter;

static inline test_filter new_filter(cf_geometry shape)
{
    test_filter made;
    const char *why = NULL;
    MUST_EQUAL(cf_geometry_check(&shape, &why), CF_OK);
    made.bytes = malloc(cf_geometry_bytes(&shape));
    MUST(made.bytes);
    cf_create(&made.filter, &shape, made.bytes);
    return made;
}

static uint64_t resizes_left = UINT64_MAX;

/* realloc, for as many times as resizes_left says; giving memory back is not counted, and never
** fails. */
static inline uint8_t *test_resize(void *context, uint8_t *bytes, uint64_t size)
{
    (void)context;
    if (size == 0) {
        free(bytes);
        return NULL;
    }
    if (resizes_left == 0)
        return NULL;
    resizes_left--;
    return realloc(bytes, size);
}

/* A filter in memory that grows to `most` bytes. */
static inline test_filter growing_filter(cf_geometry shape, uint64_t most)
{
    test_filter made = new_filter(shape);
    made.filter.memory = (cf_memory){test_resize, most, NULL};
    return made;
}

static inline test_filter planned_filter(uint64_t capacity, double fpr, cf_options options)
{
    cf_geometry shape;
    const char *why = "";
    cf_status status = cf_plan(capacity, fpr, &options, &shape, &why);
    must_be_ok(status, why, "cf_plan");
    return new_filter(shape);
}

/* The bytes of a filter that was made or opened for writing: they are the test's. */
static inline uint8_t *bytes_of(const cf_filter *filter)
{
    return (uint8_t *)(uintptr_t)filter->bytes;
}

static inline void free_filter(test_filter *made)
{
    free(bytes_of(&made->filter));
    made->bytes = NULL;
}

/* A filter and its bytes as they were. */
typedef struct snapshot {
    cf_filter filter;
    uint8_t *bytes;
} snapshot;

static inline snapshot remember(const cf_filter *filter)
{
    snapshot then = {*filter, malloc(filter->length)};
    MUST(then.bytes);
    memcpy(then.bytes, filter->bytes, filter->length);
    return then;
}

/* The bytes, the counts and the stage are those of then. */
static inline void assert_unchanged(const cf_filter *now, const snapshot *then)
{
    MUST_EQUAL(now->length, then->filter.length);
    MUST(memcmp(now->bytes, then->bytes, now->length) == 0);
    MUST(now->items == then->filter.items && now->occupied == then->filter.occupied);
    MUST_EQUAL(now->stashed, then->filter.stashed);
    MUST(now->level == then->filter.level && now->split == then->filter.split);
    MUST_EQUAL(now->buckets, then->filter.buckets);
}

/* A hash that an entry matches: its other bits are those of `hash`. */
static inline uint64_t hash_of_entry(const cf_filter *filter, const cf_entry *entry, uint64_t hash)
{
    uint64_t m0 = filter->geometry.buckets;
    uint64_t known = ((uint64_t)1 << (filter->geometry.pair_bits + entry->side.length)) - 1;
    hash = UINT64_MAX / m0 * entry->side.base + (hash >> 8) / m0;
    return (hash & ~known) | (entry->side.bits & known);
}

/* Every key is counted as then, those of entries and strangers: only the table may have grown. */
static inline void assert_same_answers(const cf_filter *now, const snapshot *then)
{
    cf_filter was = then->filter;
    cf_entry entry;
    cf_rebase(&was, then->bytes, NULL);
    MUST(was.geometry.epochs || now->items == was.items); /* splits drop the dead */
    for (uint64_t bucket = 0; bucket < was.buckets; bucket++)
        for (unsigned slot = 0; slot < was.geometry.bucket_size; slot++) {
            bool there = cf_entry_at(&was, bucket, slot, &entry);
            uint64_t hash = there ? hash_of_entry(&was, &entry, random64()) : random64();
            MUST_EQUAL(cf_count(now, hash), cf_count(&was, hash));
        }
}

static inline void assert_sound(const cf_filter *filter)
{
    const char *why = "";
    cf_status status = cf_check(filter, &why);
    must_be_ok(status, why, "cf_check");
}

/* ---- many keys ---- */

typedef struct keys {
    uint64_t *hash;
    size_t n;
} keys;

static inline keys random_keys(size_t n)
{
    keys made = {malloc((n + 1) * sizeof *made.hash), n};
    for (size_t i = 0; i < n; i++)
        made.hash[i] = random64();
    return made;
}

static inline void shuffle(keys *all)
{
    for (size_t i = all->n; i > 1; i--) {
        size_t j = random_below(i);
        uint64_t x = all->hash[i - 1];
        all->hash[i - 1] = all->hash[j];
        all->hash[j] = x;
    }
}

static inline int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline void sort_keys(keys *all)
{
    qsort(all->hash, all->n, sizeof *all->hash, compare_hashes);
}

static inline void add_all(cf_filter *filter, const keys *all)
{
    for (size_t i = 0; i < all->n; i++)
        MUST_EQUAL(cf_add(filter, all->hash[i]), CF_OK);
}

static inline void assert_all_found(const cf_filter *filter, const keys *all)
{
    for (size_t i = 0; i < all->n; i++)
        MUST(cf_contains(filter, all->hash[i]));
}

/* The first n of sorted keys are there, with as many copies at least as were added, and nothing is wrong
** inside. */
static inline void assert_holds(const cf_filter *filter, const keys *sorted, size_t n)
{
    unsigned bits = filter->geometry.counter_bits;
    uint64_t copies = 0, most = bits ? (uint64_t)1 << bits : filter->geometry.max_copies;
    MUST(filter->items == n);
    for (size_t i = 0; i < n; i++) {
        copies = i > 0 && sorted->hash[i - 1] == sorted->hash[i] ? copies + 1 : 1;
        MUST(cf_contains(filter, sorted->hash[i]));
        MUST(cf_count(filter, sorted->hash[i]) >= (copies < most ? copies : most));
    }
    assert_sound(filter);
}

#define new_filter(...)          CALLED(new_filter(__VA_ARGS__))
#define growing_filter(...)      CALLED(growing_filter(__VA_ARGS__))
#define planned_filter(...)      CALLED(planned_filter(__VA_ARGS__))
#define remember(...)            CALLED(remember(__VA_ARGS__))
#define assert_unchanged(...)    CALLED(assert_unchanged(__VA_ARGS__))
#define assert_same_answers(...) CALLED(assert_same_answers(__VA_ARGS__))
#define assert_sound(...)        CALLED(assert_sound(__VA_ARGS__))
#define add_all(...)             CALLED(add_all(__VA_ARGS__))
#define assert_all_found(...)    CALLED(assert_all_found(__VA_ARGS__))
#define assert_holds(...)        CALLED(assert_holds(__VA_ARGS__))

/* ---- tests ---- */

enum { MOST_TESTS = 64 };

static struct CMUnitTest test_list[MOST_TESTS];
static unsigned test_count;

#ifdef SIGALRM
static const char *volatile running;

/* Only calls that a signal handler may make. */
static inline void took_too_long(int signal)
{
    (void)signal;
    static const char words[] = "\nnot ok - took longer than CUCKOO_TEST_LIMIT: ";
    if (write(STDOUT_FILENO, words, sizeof words - 1) < 0 ||
        write(STDOUT_FILENO, running, strlen(running)) < 0 || write(STDOUT_FILENO, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}
#endif

static inline void begin_test(const char *name)
{
    called = (line_of_test){name, 0};
    printf("# running: %s\n", name);
    fflush(stdout);
#ifdef SIGALRM
    running = name;
    signal(SIGALRM, took_too_long);
    alarm((unsigned)environment("CUCKOO_TEST_LIMIT", 0));
#endif
}

/* TEST(a_sentence_that_is_true) { .. } stands for itself in the list of the program's tests. */
#define TEST(test)                                                                                      \
    static void test(void **state);                                                                     \
    static void begin_##test(void **state)                                                              \
    {                                                                                                   \
        begin_test(#test);                                                                              \
        test(state);                                                                                    \
    }                                                                                                   \
    __attribute__((constructor)) static void register_##test(void)                                      \
    {                                                                                                   \
        test_list[test_count] = (struct CMUnitTest)cmocka_unit_test(begin_##test);                      \
        test_list[test_count++].name = #test;                                                           \
    }                                                                                                   \
    static void test(void **state __attribute__((unused)))

int main(void)
{
    seed_random();
    return _cmocka_run_group_tests("tests", test_list, test_count, NULL, NULL);
}

#endif
