/* SPDX-License-Identifier: MIT */
/*
** test.h - what the unit tests share: cmocka, a filter in memory of exactly its size (so that a
** sanitizer sees every step beyond it), memory that grows and fails as a test wants it, and random
** numbers from a printed seed.
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

#include "../../src/cuckoo_filter.h"
#include "../../src/growth/growth.h"
#include "../../src/shape/format.h"
#include "../../src/table/address.h"

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

/* The same shape with a spill list. */
static inline cf_geometry spilling(cf_geometry shape, unsigned budget, unsigned bound)
{
    shape.budget = (uint8_t)budget;
    shape.spill_bound = (uint16_t)bound;
    return shape;
}

typedef struct test_filter {
    cf_filter filter;
    uint8_t *bytes; /* as they were when it was made; when it grows they move, to filter.bytes */
} test_filter;

/* An empty filter at a stage of growth. */
static inline test_filter filter_at_stage(cf_geometry shape, unsigned level, uint64_t split)
{
    test_filter made;
    const char *why = "";
    cf_header header = {.geometry = shape, .level = level, .split = split, .reserved = CF_RESERVED_MIN};
    size_t length = cf_bytes_at(&shape, level, split, cf_is_grown(level, split));
    made.bytes = calloc(1, length);
    assert_non_null(made.bytes);
    cf_header_encode(&header, made.bytes);
    if (cf_open_writable(&made.filter, made.bytes, length, &why) != CF_OK)
        fail_msg("cf_open_writable: %s", why);
    return made;
}

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
    if (status != CF_OK)
        fail_msg("cf_plan(%llu, %g): %s", (unsigned long long)capacity, fpr, why);
    return new_filter(shape);
}

static inline void free_filter(test_filter *made)
{
    free(made->filter.view.writable - CF_HEADER_BYTES);
    made->bytes = NULL;
}

/* The key of a pair whose base side lies in a bucket split already, and its alternate side in one
** that is not. */
static inline uint64_t half_split_key(const cf_filter *filter)
{
    for (;;) {
        uint64_t hash = random64();
        cf_pair pair = cf_pair_of(filter, hash);
        if (pair.sides == 2 && pair.place[0].extension > pair.place[1].extension)
            return hash;
    }
}

/* A filter and its bytes as they were. */
typedef struct snapshot {
    cf_filter filter;
    uint8_t *bytes;
} snapshot;

static inline snapshot remember(const cf_filter *filter)
{
    snapshot then = {*filter, malloc(filter->length)};
    assert_non_null(then.bytes);
    memcpy(then.bytes, filter->bytes, filter->length);
    return then;
}

/* The bytes, the counts and the stage are those of then. */
static inline void assert_unchanged(const cf_filter *now, const snapshot *then)
{
    assert_int_equal(now->length, then->filter.length);
    assert_memory_equal(now->bytes, then->bytes, now->length);
    assert_true(now->items == then->filter.items && now->occupied == then->filter.occupied);
    assert_int_equal(now->spilled, then->filter.spilled);
    assert_true(now->level == then->filter.level && now->split == then->filter.split);
    assert_true(now->view.grown == then->filter.view.grown && now->buckets == then->filter.buckets);
    assert_true(now->view.form.bucket_bits == then->filter.view.form.bucket_bits);
    assert_true(now->view.form.slot_mask == then->filter.view.form.slot_mask);
    assert_int_equal(now->view.form.lanes.width, then->filter.view.form.lanes.width);
}

/* The bits of a tag in this bucket. */
static inline uint64_t slot_mask_of(const cf_filter *filter, uint64_t bucket)
{
    return cf_form_of(filter, bucket)->slot_mask;
}

/* The other bucket of an entry; can it lie there, too? */
static inline uint64_t other_bucket(const cf_filter *filter, const cf_entry *entry)
{
    bool movable;
    return cf_entry_alternate(filter, entry, &movable);
}

static inline bool can_move(const cf_filter *filter, const cf_entry *entry)
{
    bool movable;
    cf_entry_alternate(filter, entry, &movable);
    return movable;
}

/* What cf_count says of a key for which entries of so many copies are there. */
static inline uint64_t copies_told(const cf_filter *filter, uint64_t copies)
{
    bool exact = filter->geometry.counter_bits || filter->geometry.value_bits;
    return exact || copies < filter->geometry.cap ? copies : filter->geometry.cap;
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
