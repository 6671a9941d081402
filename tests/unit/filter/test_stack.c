/* SPDX-License-Identifier: MIT */
/* No call takes 13 KB of stack, as cuckoo_filter.h says: with -O2 cf_exact_make took 12,040 bytes, with -flto 9.5 KB, as
** compiled for tests 8.7. Calls are made on a thread whose stack was painted. CUCKOO_STACK=1 in the environment prints
** what each took. */
#define _XOPEN_SOURCE 700 /* pthread_attr_setstack */
#include "../test.h"

#include <pthread.h>

#include "../../../src/include/cuckoo_exact.h"

enum { STACK = 1 << 18, MOST = 13312, KEYS = 6000, SOME = KEYS / 6, PAINT = 0xa5 };

/* All that calls work on: the stack that is measured has nothing of it. */
static struct {
    void (*work)(void);
    cf_options options;
    cf_filter filter, other;
    cf_reader reader;
    cf_exact exact;
    cf_exact_build build;
    uint64_t hash[KEYS], copy[KEYS];
    bool answer[KEYS];
    const char *why;
} it;

static void *run(void *unused)
{
    it.work();
    return unused;
}

/* Bytes that a thread touches. The second run counts: in the first one functions are looked up by name. */
static size_t touched(void (*work)(void))
{
    uint8_t *stack = aligned_alloc(1 << 16, STACK);
    size_t untouched = 0;
    it.work = work;
    for (int round = 0; round < 2; round++) {
        pthread_attr_t attributes;
        pthread_t thread;
        memset(stack, PAINT, STACK);
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK), 0);
        assert_int_equal(pthread_create(&thread, &attributes, run, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pthread_attr_destroy(&attributes);
        for (untouched = 0; stack[untouched] == PAINT; untouched++)
            ;
    }
    free(stack);
    return STACK - untouched;
}

static void do_nothing(void) {}

static size_t stack_of(void (*work)(void))
{
    return touched(work) - touched(do_nothing);
}

/* The end of a thread takes up to 4 KB of its own, which does not count. */
static void take_too_much(void)
{
    volatile uint8_t much[MOST + 4096];
    for (unsigned i = 0; i < sizeof much; i++)
        much[i] = 0;
    it.answer[0] = much[MOST / 2];
}

/* Sanitizers make frames wider. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

TEST(too_much_would_be_noticed)
{
    size_t used = stack_of(take_too_much);
    assert_true(SANITIZED || (used >= MOST && used < MOST + 5120));
}

/* ---- what is measured ---- */

static void make(cf_filter *filter)
{
    cf_geometry shape;
    if (cf_plan(SOME, 0.9, &it.options, &shape, &it.why) != CF_OK)
        abort();
    cf_create(filter, &shape, malloc(cf_geometry_bytes(&shape)));
    filter->memory = (cf_memory){test_resize, 1 << 24, NULL};
}

static void destroy(cf_filter *filter)
{
    free(bytes_of(filter));
}

/* Some keys come often. Ends when the filter is full: one that grows holds them all. */
static void add(void)
{
    make(&it.filter);
    for (unsigned i = 0; i < KEYS && cf_add(&it.filter, it.hash[i % 11 ? i : i % 7]) == CF_OK; i++)
        if (it.options.epochs && i % 512 == 0)
            cf_advance(&it.filter);
    destroy(&it.filter);
}

static void delete (void)
{
    make(&it.filter);
    for (unsigned i = 0; i < KEYS && cf_add(&it.filter, it.hash[i]) == CF_OK; i++)
        ;
    for (unsigned i = 0; i < KEYS; i++)
        cf_delete(&it.filter, it.hash[i]);
    cf_settle(&it.filter);
    cf_clear(&it.filter);
    destroy(&it.filter);
}

/* At once into an empty filter, and in turn into that one. */
static void add_many(void)
{
    make(&it.filter);
    memcpy(it.copy, it.hash, sizeof it.copy);
    cf_add_many(&it.filter, it.copy, SOME, NULL);
    cf_add_many(&it.filter, it.copy + SOME, KEYS - SOME, NULL);
    destroy(&it.filter);
}

static void build(void)
{
    memcpy(it.copy, it.hash, sizeof it.copy);
    it.filter = (cf_filter){.memory = {test_resize, 1 << 24, NULL}};
    if (cf_build(&it.filter, it.copy, KEYS, 0, 0.9, &it.options, &it.why) == CF_OK)
        destroy(&it.filter);
}

/* Into a smaller one, and into a larger one; and back after deletes. */
static void merge(void)
{
    make(&it.filter);
    make(&it.other);
    for (unsigned i = 0; i < KEYS && cf_add(&it.other, it.hash[i]) == CF_OK; i++)
        ;
    cf_merge(&it.filter, &it.other, &it.why);
    cf_merge(&it.other, &it.filter, &it.why);
    for (unsigned i = 0; i < KEYS; i++)
        cf_delete(&it.filter, it.hash[i]);
    cf_clear(&it.other);
    cf_shrink(&it.other, &it.filter);
    destroy(&it.filter);
    destroy(&it.other);
}

static void look(void)
{
    uint64_t value;
    make(&it.filter);
    for (unsigned i = 0; i < KEYS && cf_add(&it.filter, it.hash[i]) == CF_OK; i++)
        ;
    for (unsigned i = 0; i < KEYS; i++) {
        cf_contains(&it.filter, cf_hash(&it.filter.geometry, &it.hash[i], i % 8 ? 8 : 2000));
        cf_count(&it.filter, it.hash[i]);
        cf_get(&it.filter, it.hash[i], &value);
        cf_get_all(&it.filter, it.hash[i], it.copy);
    }
    cf_contains_many(&it.filter, it.hash, KEYS, it.answer);
    cf_seal(&it.filter);
    cf_reader_open(&it.reader, it.filter.bytes, (size_t)it.filter.length, &it.why);
    cf_check(&it.filter, &it.why);
    cf_take_census(&it.filter);
    destroy(&it.filter);
}

static void exact(void)
{
    memcpy(it.copy, it.hash, sizeof it.copy);
    it.build = (cf_exact_build){.hashes = {it.copy, it.copy + KEYS / 2},
                                .count = {KEYS / 2, KEYS / 2},
                                .memory = {test_resize, 1 << 24, NULL}};
    if (cf_exact_make(&it.build, &it.why) != CF_OK)
        return;
    cf_exact_open(&it.exact, it.build.bytes, (size_t)it.build.length, &it.why);
    for (unsigned i = 0; i < KEYS; i++)
        cf_exact_contains(&it.exact, it.hash[i]);
    cf_exact_check(&it.exact, NULL, &it.why);
    free(it.build.bytes);
}

/* In place: there is no memory. */
static void sort(void)
{
    memcpy(it.copy, it.hash, sizeof it.copy);
    cf_sort(it.copy, KEYS, NULL);
}

static const struct {
    const char *name;
    void (*work)(void);
} calls[] = {{"add", add},
             {"delete", delete},
             {"add many", add_many},
             {"build", build},
             {"merge, shrink", merge},
             {"look", look},
             {"exact", exact},
             {"sort", sort}};

static const struct {
    const char *name;
    cf_options options;
} kinds[] = {
    {"plain", {.layout = CF_LAYOUT_PLAIN}},
    {"1 slot", {.bucket_size = 1}},
    {"2 slots", {.bucket_size = 2, .fingerprint_bits = 12}},
    {"8 slots", {.bucket_size = 8, .fingerprint_bits = 12}},
    {"semi-sorted", {.layout = CF_LAYOUT_SEMISORT}},
    {"stash", {.stash = true}},
    {"counters", {.counter_bits = 4}},
    {"values", {.value_bits = 32, .growth = true}},
    {"growth", {.growth = true, .fingerprint_bits = 12}},
    {"growth, 2 slots", {.growth = true, .bucket_size = 2, .fingerprint_bits = 12}},
    {"growth, semi-sorted", {.growth = true, .layout = CF_LAYOUT_SEMISORT}},
    {"ageing", {.epochs = 6}},
    {"ageing, growth", {.epochs = 6, .growth = true}},
};

TEST(no_call_takes_13_KB)
{
    for (unsigned i = 0; i < KEYS; i++)
        it.hash[i] = random64();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            it.options = kinds[k].options;
            size_t used = stack_of(calls[i].work);
            if (getenv("CUCKOO_STACK"))
                print_message("%6zu %s, %s\n", used, calls[i].name, kinds[k].name);
            if (used >= MOST && !SANITIZED)
                fail_msg("%s, %s: %zu bytes of stack", calls[i].name, kinds[k].name, used);
        }
}
