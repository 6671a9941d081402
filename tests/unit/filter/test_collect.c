/* SPDX-License-Identifier: MIT */
/* Keys that come one by one, with a temporary file and without: the same bytes as cf_build of an array. */
#include "../memory_file.h"

#include <string.h>

enum { RUN = 1 << 19 /* words, as in collect.c */, NEVER = -1 };

typedef struct test_case {
    unsigned kind;
    size_t n;
    cf_options options;
} test_case;

/* Random hashes; each one three times; low bits only; high bits only; ascending; one byte in front. */
static uint64_t hash_of(const test_case *c, size_t i)
{
    uint64_t hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    switch (c->kind) {
    case 0:
        return hash;
    case 1:
        return i % 3 * (c->n / 3) + i / 3 < c->n ? (i / 3 + 1) * UINT64_C(0x9e3779b97f4a7c15) : hash;
    case 2:
        return i;
    case 3:
        return (uint64_t)i << 40;
    case 4:
        return i * (UINT64_MAX / c->n);
    default:
        return hash >> 8 | UINT64_C(0x7f) << 56;
    }
}

static cf_status collect(const test_case *c, test_file *file, cf_filter *filter)
{
    const char *why;
    cf_collected list = {.memory = {test_resize, UINT64_MAX, NULL},
                         .file = file ? &file->file : NULL,
                         .valued = c->options.value_bits != 0,
                         .counts = c->options.counter_bits != 0};
    cf_status status = CF_OK;
    if (file)
        begin_file(file);
    for (size_t i = 0; i < c->n && status == CF_OK; i++)
        status = cf_collect(&list, hash_of(c, i), list.valued ? i % 8 : 0);
    filter->memory = list.memory;
    filter->watch = NULL;
    filter->bytes = NULL;
    if (status == CF_OK)
        status = cf_build_collected(filter, &list, 0, 0.01, &c->options, &why);
    assert_true((status == CF_OK) == (filter->bytes != NULL));
    cf_collected_free(&list);
    if (file)
        free(file->bytes);
    return status;
}

static cf_status build_array(const test_case *c, cf_filter *filter)
{
    const char *why;
    bool valued = c->options.value_bits != 0;
    uint64_t *words = malloc(c->n * (valued ? 16 : 8) + 1);
    for (size_t i = 0; i < c->n; i++) {
        words[valued ? 2 * i : i] = hash_of(c, i);
        if (valued)
            words[2 * i + 1] = i % 8;
    }
    filter->memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    filter->watch = NULL;
    cf_status status =
        valued ? cf_build_values(filter, (cf_valued *)words, c->n, 0, 0.01, &c->options, &why)
               : cf_build(filter, words, c->n, 0, 0.01, &c->options, &why);
    free(words);
    return status;
}

static void check_equal(const test_case *c, bool all)
{
    cf_filter expected, filter;
    cf_status status = build_array(c, &expected);
    for (unsigned way = all ? 0 : 1; way < (all ? 3 : 2); way++) {
        test_file file = {.fails_at = NEVER, .refuses = way == 2};
        assert_int_equal(collect(c, way ? &file : NULL, &filter), status);
        if (way == 1 && c->kind != 1)
            assert_true((file.length > 0) == (c->n * (c->options.value_bits ? 2 : 1) > RUN));
        if (status != CF_OK)
            continue;
        cf_seal(&filter);
        cf_seal(&expected);
        assert_true(filter.length == expected.length && filter.items == expected.items);
        assert_memory_equal(filter.bytes, expected.bytes, expected.length);
        test_resize(NULL, filter.writable, 0);
    }
    if (status == CF_OK)
        test_resize(NULL, expected.writable, 0);
}

TEST(a_list_gives_the_bytes_of_an_array)
{
    const cf_options options[] = {
        {.growth = true}, {.counter_bits = 4}, {.value_bits = 3}, {.bucket_size = 8}};
    for (unsigned kind = 0; kind < 6; kind++)
        for (unsigned o = 0; o < 4; o++)
            if (kind == 0 || (kind + o) % 4 == 0)
                check_equal(&(test_case){kind, RUN + 1 + random_below(RUN / 4), options[o]},
                            kind + o == 0);
}

TEST(what_a_build_says_of_its_list)
{
    for (unsigned counts = 0; counts < 2; counts++) {
        cf_filter filter = {.memory = {test_resize, UINT64_MAX, NULL}};
        cf_collected list = {.memory = filter.memory, .counts = counts != 0};
        for (unsigned i = 0; i < 6; i++) /* 7, 7, 7, 8, 8, 9 */
            assert_int_equal(cf_collect(&list, i < 3 ? 7 : i < 5 ? 8 : 9, 0), CF_OK);
        assert_int_equal(
            cf_build_collected(&filter, &list, 0, 0.01, &(cf_options){.counter_bits = 4 * counts}, NULL),
            CF_OK);
        assert_int_equal(list.n, counts ? 6 : 3);
        assert_int_equal(list.distinct, 3);
        assert_int_equal(list.most_alike, counts ? 3 : 1);
        cf_collected_free(&list);
        test_resize(NULL, filter.writable, 0);
    }
}

TEST(short_lists_need_no_file)
{
    for (size_t n = 0; n < 1200; n += n < 10 ? 1 : 97)
        for (unsigned kind = 0; kind < 6; kind++)
            check_equal(&(test_case){kind, n, {.growth = true}}, true);
    check_equal(&(test_case){0, RUN - 1, {.growth = true}}, false);
    check_equal(&(test_case){0, RUN, {.growth = true}}, false);
}

/* At each of the first calls, at some others, and at the last ones. */
TEST(a_file_that_fails_ends_the_build)
{
    test_case c = {0, RUN * 3 / 2, {.growth = true}};
    cf_filter filter;
    test_file all = {.fails_at = NEVER};
    assert_int_equal(collect(&c, &all, &filter), CF_OK);
    test_resize(NULL, filter.writable, 0);
    assert_true(all.calls > 1000);
    for (long at = 0; at < all.calls; at += at < 2 || at > all.calls - 3 ? 1 : all.calls / 4) {
        test_file file = {.fails_at = at};
        assert_int_equal(collect(&c, &file, &filter), CF_NO_MEMORY);
    }
}

TEST(memory_that_fails_ends_the_build)
{
    test_case c = {0, RUN * 3 / 2, {.growth = true}};
    cf_filter filter;
    cf_status status = CF_NO_MEMORY;
    for (unsigned at = 0; status != CF_OK; at += at < 16 ? 3 : 90) {
        test_file file = {.fails_at = NEVER};
        resizes_left = at;
        status = collect(&c, &file, &filter);
        resizes_left = UINT64_MAX;
        assert_true(at < 400 && (status == CF_OK || status == CF_NO_MEMORY));
    }
    test_resize(NULL, filter.writable, 0);
}

static bool stop_at_once(void *context)
{
    return ++*(unsigned *)context > 0;
}

TEST(a_watch_stops_it_and_a_limit_of_memory_is_an_error)
{
    unsigned times = 0;
    cf_watch watch = {stop_at_once, &times};
    cf_collected list = {.memory = {test_resize, UINT64_MAX, NULL}, .watch = &watch};
    cf_status status = CF_OK;
    for (uint64_t i = 0; status == CF_OK && i < 2 * RUN; i++)
        status = cf_collect(&list, i * UINT64_C(0x9e3779b97f4a7c15), 0);
    assert_true(status == CF_INTERRUPTED && times == 1);
    cf_collected_free(&list);
    list = (cf_collected){.memory = {test_resize, 8000, NULL}};
    status = CF_OK;
    for (uint64_t i = 0; status == CF_OK && i < 2000; i++)
        status = cf_collect(&list, i * UINT64_C(0x9e3779b97f4a7c15), 0);
    assert_int_equal(status, CF_TOO_BIG);
    cf_collected_free(&list);
}
