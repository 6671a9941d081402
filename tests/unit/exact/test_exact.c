/* SPDX-License-Identifier: MIT */
#include "../memory_file.h"

#include <math.h>

#include "../../../src/include/cuckoo_exact.h"

/* A universe: hashes, the first ones of which are members. */
typedef struct universe {
    uint64_t *hash;
    size_t n, members;
    cf_options options;
    double fpr;
} universe;

static universe random_universe(size_t n, size_t members)
{
    universe u = {.hash = malloc((n + 1) * sizeof *u.hash), .n = n, .members = members};
    for (size_t i = 0; i < n; i++)
        u.hash[i] = random64();
    return u;
}

static cf_status make(const universe *u, const cf_watch *watch, uint64_t most, cf_exact_build *build,
                      const char **why)
{
    size_t others = u->n - u->members;
    *build = (cf_exact_build){.options = u->options,
                              .fpr = u->fpr,
                              .count = {others, u->members},
                              .memory = {test_resize, most, NULL},
                              .watch = watch};
    for (unsigned side = 0; side < 2; side++)
        build->hashes[side] = malloc((build->count[side] + 1) * sizeof(uint64_t));
    memcpy(build->hashes[1], u->hash, u->members * sizeof *u->hash);
    memcpy(build->hashes[0], u->hash + u->members, others * sizeof *u->hash);
    *why = "unset";
    cf_status status = cf_exact_make(build, why);
    free(build->hashes[0]);
    free(build->hashes[1]);
    assert_int_equal(build->bytes != NULL, status == CF_OK);
    return status;
}

static cf_exact *open_bytes(const uint8_t *bytes, size_t length)
{
    const char *why = "";
    cf_exact *exact = malloc(sizeof *exact);
    if (cf_exact_open(exact, bytes, length, &why) != CF_OK)
        fail_msg("cf_exact_open: %s", why);
    return exact;
}

static void assert_right(const universe *u, const cf_exact *exact)
{
    const char *why = "";
    for (size_t i = 0; i < u->n; i++)
        assert_int_equal(cf_exact_contains(exact, u->hash[i]), i < u->members);
    if (cf_exact_check(exact, NULL, &why) != CF_OK)
        fail_msg("cf_exact_check: %s", why);
}

/* Builds, opens, and asks for every key. The bytes are the caller's. */
static cf_exact_build built(const universe *u)
{
    const char *why;
    cf_exact_build build;
    cf_status status = make(u, NULL, UINT64_MAX, &build, &why);
    if (status != CF_OK)
        fail_msg("cf_exact_make of %zu of %zu: %s", u->members, u->n, why ? why : "no reason");
    cf_exact *exact = open_bytes(build.bytes, build.length);
    assert_true(exact->keys == u->n && exact->members == u->members && exact->length == build.length);
    assert_true(cf_is_exact(build.bytes, build.length));
    cf_filter other;
    assert_int_equal(cf_open(&other, build.bytes, build.length, &why), CF_DAMAGED);
    assert_string_equal(why, "an exact filter: open it with cf_exact_open");
    assert_right(u, exact);
    free(exact);
    return build;
}

TEST(edges)
{
    static const size_t sizes[][2] = {{0, 0},    {1, 0},       {1, 1},      {32, 32},   {33, 33},
                                      {64, 32},  {66, 33},     {5000, 0},   {5000, 32}, {5000, 33},
                                      {5000, 1}, {5000, 4999}, {5000, 5000}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        universe u = random_universe(sizes[i][0], sizes[i][1]);
        cf_exact_build build = built(&u);
        cf_exact *exact = open_bytes(build.bytes, build.length);
        assert_int_equal(exact->levels > 0, u.members > CF_EXACT_LIST);
        if (exact->levels == 0)
            assert_int_equal(build.length, 64 + 8 * u.members);
        if (u.members == 0)
            assert_false(cf_exact_contains(exact, random64()));
        free(exact);
        free(build.bytes);
        free(u.hash);
    }
}

TEST(a_hash_on_both_sides_is_an_error)
{
    static const size_t members[] = {1, 20, 32, 33, 1000, 4000};
    for (unsigned i = 0; i < 6; i++) {
        const char *why;
        cf_exact_build build;
        universe u = random_universe(5000, members[i]);
        u.hash[u.n - 1] = u.hash[random_below(u.members)];
        assert_int_equal(make(&u, NULL, UINT64_MAX, &build, &why), CF_BAD_ARGUMENT);
        assert_string_equal(
            why,
            "a key is both member and not; if none is, leave the affinity out, or try another seed");
        free(u.hash);
    }
}

/* All in few buckets; or all with one fingerprint, spread over the buckets. */
TEST(chosen_hashes_are_right_or_refused)
{
    const char *why;
    cf_exact_build build;
    universe u = random_universe(4000, 1500);
    for (size_t i = 0; i < u.n; i++)
        u.hash[i] = i;
    assert_int_equal(make(&u, NULL, UINT64_MAX, &build, &why), CF_FULL);
    assert_non_null(strstr(why, "keys belong to the same few buckets"));
    for (size_t i = 0; i < u.n; i++)
        u.hash[i] = (uint64_t)i << 52;
    free(built(&u).bytes);
    free(u.hash);
}

/* Builds it of lists in files, and with a file for the work. */
static cf_status make_in_files(const universe *u, test_file files[3], cf_exact_build *build)
{
    const char *why = NULL;
    cf_status status = CF_OK;
    cf_collected lists[2];
    for (unsigned i = 0; i < 3; i++)
        begin_file(&files[i]);
    *build = (cf_exact_build){.options = u->options,
                              .fpr = u->fpr,
                              .collected = {&lists[0], &lists[1]},
                              .file = &files[2].file,
                              .memory = {test_resize, UINT64_MAX, NULL}};
    for (unsigned side = 0; side < 2; side++)
        lists[side] = (cf_collected){.memory = build->memory, .file = &files[side].file};
    for (size_t i = 0; i < u->n && status == CF_OK; i++)
        status = cf_collect(&lists[i < u->members], u->hash[i], 0);
    status = status == CF_OK ? cf_exact_make(build, &why) : status;
    assert_true((build->bytes != NULL) == (status == CF_OK));
    for (unsigned i = 0; i < 3; i++) {
        if (i < 2)
            cf_collected_free(&lists[i]);
        free(files[i].bytes);
        files[i].bytes = NULL;
        files[i].length = 0;
    }
    return status;
}

TEST(lists_in_files_give_the_same_bytes)
{
    enum { RUN = 1 << 19 /* words, as in collect.c */ };
    static const size_t sizes[][2] = {{5000, 40}, {RUN + 9000, 7000}, {RUN + 9000, RUN + 2000}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        universe u = random_universe(sizes[i][0], sizes[i][1]);
        test_file files[3] = {{.fails_at = -1}, {.fails_at = -1}, {.fails_at = -1}};
        cf_exact_build plain = built(&u), build;
        assert_int_equal(make_in_files(&u, files, &build), CF_OK);
        assert_int_equal(build.length, plain.length);
        assert_memory_equal(build.bytes, plain.bytes, plain.length);
        assert_int_equal(files[1].calls > 0, u.members > RUN);
        assert_int_equal(files[2].calls > 0, u.members > RUN);
        free(build.bytes);
        free(plain.bytes);
        free(u.hash);
    }
}

TEST(a_file_that_fails_is_an_error)
{
    enum { RUN = 1 << 19, TRIED = 5 };
    universe u = random_universe(2 * RUN + 2000, RUN + 1000);
    test_file counted[3] = {{.fails_at = -1}, {.fails_at = -1}, {.fails_at = -1}};
    cf_exact_build build;
    assert_int_equal(make_in_files(&u, counted, &build), CF_OK);
    free(build.bytes);
    for (unsigned i = 0; i < TRIED; i++) {
        test_file files[3] = {{.fails_at = -1}, {.fails_at = -1}, {.fails_at = -1}};
        files[i % 3].fails_at = (long)random_below((size_t)counted[i % 3].calls);
        assert_int_equal(make_in_files(&u, files, &build), CF_NO_MEMORY);
    }
    free(u.hash);
}

static double bound_of(double n, double share)
{
    return n * -(share * log2(share) + (1 - share) * log2(1 - share)) / 8;
}

TEST(bytes_are_near_the_bound)
{
    static const double most[][2] = {{0.01, 1.85}, {0.1, 2.1}, {0.5, 3.1}};
    for (unsigned i = 0; i < 3; i++) {
        size_t n = 300000;
        universe u = random_universe(n, (size_t)(most[i][0] * (double)n));
        cf_exact_build build = built(&u);
        assert_true((double)build.length <= most[i][1] * bound_of((double)n, most[i][0]));
        free(build.bytes);
        free(u.hash);
    }
}

TEST(unknown_keys_err_as_asked_for)
{
    static const double rates[] = {0.05, 0.01, 0.001};
    enum { ASKED = 100000 };
    for (unsigned i = 0; i < 3; i++) {
        universe u = random_universe(20000, 5000);
        u.fpr = rates[i];
        cf_exact_build build = built(&u);
        cf_exact *exact = open_bytes(build.bytes, build.length);
        double yes = 0, expected = cf_exact_fpr(exact);
        for (unsigned k = 0; k < ASKED; k++)
            yes += cf_exact_contains(exact, random64());
        assert_true(expected <= u.fpr && expected > u.fpr / 3);
        assert_true(fabs(yes - expected * ASKED) < 6 * sqrt(expected * ASKED));
        free(exact);
        free(build.bytes);
        free(u.hash);
    }
}

TEST(a_rate_out_of_reach_is_an_error)
{
    static const double rates[] = {1e-12, -1, NAN};
    const char *why;
    cf_exact_build build;
    universe u = random_universe(1000, 500);
    for (unsigned i = 0; i < 3; i++) {
        u.fpr = rates[i];
        assert_int_equal(make(&u, NULL, UINT64_MAX, &build, &why), CF_BAD_ARGUMENT);
        assert_non_null(strstr(why, "fpr"));
    }
    free(u.hash);
}

/* ---- what fails ---- */

TEST(builds_can_be_interrupted_and_refused)
{
    const char *why;
    cf_exact_build build;
    asked by = {{answer, &by}, 0, 0};
    universe u = random_universe(50000, 20000);
    assert_int_equal(make(&u, &by.watch, UINT64_MAX, &build, &why), CF_OK);
    unsigned questions = by.questions;
    assert_true(questions > 80);
    cf_exact *exact = open_bytes(build.bytes, build.length);
    by = (asked){{answer, &by}, 0, 3};
    assert_int_equal(cf_exact_check(exact, &by.watch, &why), CF_INTERRUPTED);
    free(exact);
    free(build.bytes);
    for (unsigned at = 1; at <= questions; at += questions / 40) {
        by = (asked){{answer, &by}, 0, at};
        assert_int_equal(make(&u, &by.watch, UINT64_MAX, &build, &why), CF_INTERRUPTED);
        assert_string_equal(why, "interrupted");
    }
    assert_int_equal(make(&u, NULL, 1000, &build, &why), CF_TOO_BIG);
    assert_non_null(strstr(why, "longer than allowed"));
    resizes_left = 3;
    assert_int_equal(make(&u, NULL, UINT64_MAX, &build, &why), CF_NO_MEMORY);
    assert_string_equal(why, "out of memory");
    resizes_left = UINT64_MAX;
    free(u.hash);
}

/* Through their levels, too, nothing can be changed. */
TEST(levels_are_for_reading)
{
    const char *why;
    universe u = random_universe(3000, 1000);
    cf_exact_build build = built(&u);
    cf_exact *exact = open_bytes(build.bytes, build.length);
    uint8_t *before = malloc(build.length);
    memcpy(before, build.bytes, build.length);
    assert_true(exact->levels > 1);
    for (unsigned i = 0; i < exact->levels; i++) {
        cf_filter view = exact->level[i];
        uint64_t hash = 7;
        test_filter empty = new_filter(view.geometry);
        view.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
        assert_int_equal(cf_add(&view, 7), CF_READ_ONLY);
        assert_int_equal(cf_add_many(&view, &hash, 1, NULL), CF_READ_ONLY);
        assert_int_not_equal(cf_delete(&view, 7), CF_REMOVED);
        assert_int_equal(cf_merge(&view, &empty.filter, &why), CF_READ_ONLY);
        assert_int_equal(cf_shrink(&view, &empty.filter), CF_READ_ONLY);
        assert_int_equal(cf_settle(&view), CF_READ_ONLY);
        cf_clear(&view);
        cf_seal(&view);
        assert_sound(&view);
        free_filter(&empty);
    }
    assert_memory_equal(before, build.bytes, build.length);
    free(before);
    free(exact);
    free(build.bytes);
    free(u.hash);
}

/* ---- hostile bytes: any are tried by tests/model/exact.h, beside a second reader of the format ---- */

static void store(uint8_t *at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t load(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 8; i > 0; i--)
        value = value << 8 | at[i - 1];
    return value;
}

/* Makes the checksums right again: of a level at an offset (0: none), and of the whole. */
static void reseal(uint8_t *bytes, size_t length, size_t level)
{
    static const cf_geometry unseeded = {0};
    if (level)
        store(bytes + level + 60, 4, cf_checksum(bytes + level));
    store(bytes + 48, 8, cf_hash(&unseeded, bytes + 64, length - 64));
    store(bytes + 60, 4, cf_checksum(bytes));
}

/* In memory of exactly its length. Whatever it is: no step outside, an end, and the same answer. */
static cf_status try_bytes(const uint8_t *bytes, size_t length, const char **why)
{
    uint8_t *copy = malloc(length ? length : 1);
    cf_exact *exact = malloc(sizeof *exact);
    memcpy(copy, bytes, length);
    *why = NULL;
    cf_status status = cf_exact_open(exact, copy, length, why);
    assert_int_equal(status == CF_OK, *why == NULL);
    if (status == CF_OK) {
        for (unsigned i = 0; i < 50; i++) {
            uint64_t hash = random64();
            assert_int_equal(cf_exact_contains(exact, hash), cf_exact_depth(exact, hash) % 2);
            assert_true(cf_exact_depth(exact, hash) <= exact->levels + 1);
        }
        const char *found;
        cf_exact_check(exact, NULL, &found);
        assert_true(cf_exact_fpr(exact) <= 1);
    }
    free(exact);
    free(copy);
    return status;
}

static universe small_universe(void)
{
    return random_universe(900, 300);
}

TEST(a_changed_byte_is_noticed)
{
    const char *why;
    universe u = small_universe();
    cf_exact_build build = built(&u);
    for (size_t i = 0; i < build.length; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            build.bytes[i] ^= (uint8_t)(1u << bit);
            cf_status status = try_bytes(build.bytes, build.length, &why);
            assert_int_equal(status, i == 3 ? CF_NEWER : CF_DAMAGED);
            build.bytes[i] ^= (uint8_t)(1u << bit);
        }
    uint8_t *longer = calloc(1, build.length + 64);
    memcpy(longer, build.bytes, build.length);
    for (size_t length = 0; length < build.length + 64; length++)
        assert_int_equal(try_bytes(longer, length, &why), length == build.length ? CF_OK : CF_DAMAGED);
    free(longer);
    free(build.bytes);
    free(u.hash);
}

TEST(later_versions_are_told_apart)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } later[] = {{3, 2}, {4, 3}, {5, 4}, {6, 3}, {7, 1}};
    const char *why;
    universe u = small_universe();
    cf_exact_build build = built(&u);
    for (unsigned i = 0; i < 5; i++) {
        uint8_t was = build.bytes[later[i].at];
        build.bytes[later[i].at] = later[i].value;
        reseal(build.bytes, build.length, 0);
        assert_int_equal(try_bytes(build.bytes, build.length, &why), CF_NEWER);
        assert_non_null(strstr(why, "later version"));
        build.bytes[later[i].at] = was;
    }
    free(build.bytes);
    free(u.hash);
}

/* Where a level begins. */
static size_t level_at(const uint8_t *bytes, unsigned level)
{
    size_t at = 64 + 8 * (size_t)bytes[32];
    for (unsigned i = 0; i < level; i++)
        at += (size_t)load(bytes + 64 + 8 * i);
    return at;
}

/* What opening says of so many empty levels of a shape, the first of which is there `there` times, with some
** bytes behind them; and of a list of 1, 2 and so on. `at`: a byte of the header that is `value`. */
typedef struct crafted {
    cf_geometry shape;
    unsigned levels, there, more, listed, members;
    uint64_t stated; /* the length of the last level; 0: the right one */
    unsigned at, value;
} crafted;

static cf_status open_crafted(const crafted *c, const char **why)
{
    test_filter level = new_filter(c->shape);
    size_t bytes_of_one = (size_t)level.filter.length, at = 64 + 8 * c->levels;
    size_t length = at + c->there * bytes_of_one + c->more + 8 * c->listed;
    uint8_t *bytes = calloc(1, length);
    memcpy(bytes, "\xcf\x65\x78\1\1", 5);
    store(bytes + 16, 8, c->listed);
    store(bytes + 24, 8, c->members);
    store(bytes + 32, 8, c->levels | (uint64_t)c->listed << 8);
    cf_seal(&level.filter);
    for (unsigned i = 0; i < c->levels; i++)
        store(bytes + 64 + 8 * i, 8, i + 1 == c->levels && c->stated ? c->stated : bytes_of_one);
    for (unsigned i = 0; i < c->there; i++)
        memcpy(bytes + at + i * bytes_of_one, level.bytes, bytes_of_one);
    for (unsigned i = 0; i < c->listed; i++)
        store(bytes + length - 8 * (c->listed - i), 8, i + 1);
    if (c->at)
        bytes[c->at < 64 ? c->at : length - 8] = (uint8_t)c->value;
    reseal(bytes, length, 0);
    cf_status status = try_bytes(bytes, length, why);
    free(bytes);
    free_filter(&level);
    return status;
}

static void assert_crafted(crafted c, const char *expected)
{
    const char *why;
    assert_int_equal(open_crafted(&c, &why), expected ? CF_DAMAGED : CF_OK);
    if (expected)
        assert_string_equal(why, expected);
}

TEST(levels_have_nothing_but_fingerprints)
{
    cf_geometry shape = shape_of(10, 4, 12), wrong[5] = {shape, shape, shape, shape, shape};
    wrong[0].growth = true;
    wrong[1].stash_size = 4;
    wrong[2].counter_bits = 3;
    wrong[3].value_bits = 3;
    wrong[4].epochs = 3;
    wrong[4].max_copies = 1;
    assert_crafted((crafted){.shape = shape, .levels = 1, .there = 1}, NULL);
    for (unsigned i = 0; i < 5; i++)
        assert_crafted((crafted){.shape = wrong[i], .levels = 1, .there = 1},
                       "a level disagrees with the header");
}

TEST(headers_that_lie_are_refused)
{
    static const char header[] = "the header is corrupt", longer[] = "a level is longer than the filter",
                      list[] = "the numbers of keys do not match, or the list is not sorted";
    cf_geometry shape = shape_of(10, 4, 12);
    assert_crafted((crafted){.shape = shape, .levels = 32, .there = 32}, NULL);
    assert_crafted((crafted){.shape = shape, .levels = 33, .there = 33}, header);
    assert_crafted((crafted){.shape = shape, .levels = 1, .there = 1, .more = 8},
                   "bytes between the levels and the list");
    for (unsigned stated = 1; stated < 1000; stated += 111)
        assert_crafted((crafted){.shape = shape, .levels = 2, .there = 1, .stated = stated}, longer);
    for (unsigned at = 34; at < 48; at++)
        assert_crafted((crafted){.shape = shape, .at = at, .value = 1}, header);
    assert_crafted((crafted){.shape = shape, .listed = 32, .members = 32}, NULL);
    assert_crafted((crafted){.shape = shape, .listed = 33, .members = 33}, header);
    assert_crafted((crafted){.shape = shape, .listed = 4, .members = 4, .at = 33, .value = 5}, header);
    assert_crafted((crafted){.shape = shape, .listed = 4, .members = 4, .at = 32, .value = 5}, header);
    assert_crafted((crafted){.shape = shape, .listed = 4, .members = 4, .at = 16, .value = 3}, list);
    assert_crafted((crafted){.shape = shape, .listed = 4, .members = 3}, list);
    assert_crafted((crafted){.shape = shape, .listed = 4, .members = 4, .at = 64, .value = 3}, list);
    assert_crafted((crafted){.shape = shape, .listed = 4, .members = 4, .at = 64, .value = 2}, list);
}

/* Only the first level errs as rarely as is asked for, and none more often than it would. */
TEST(rates_are_those_of_the_first_level)
{
    universe u = random_universe(203000, 3000);
    cf_exact_build plain = built(&u), often, seldom;
    u.fpr = 0.9;
    often = built(&u);
    assert_int_equal(often.length, plain.length);
    assert_memory_equal(often.bytes, plain.bytes, plain.length);
    u.fpr = 1e-3;
    seldom = built(&u);
    uint8_t bits = seldom.bytes[level_at(seldom.bytes, 0) + 6];
    assert_true(seldom.bytes[32] > 1);
    for (unsigned i = 1; i < seldom.bytes[32]; i++)
        assert_true(seldom.bytes[level_at(seldom.bytes, i) + 6] < bits);
    free(plain.bytes);
    free(often.bytes);
    free(seldom.bytes);
    free(u.hash);
}

/* ---- the bytes ---- */

/* Of the keys "key0", "key1" and so on, as in SQL (type byte 3), each `every`th is a member. */
typedef struct vector {
    unsigned keys, every;
    const char *hex;
    cf_options options;
} vector;

static const vector vectors[] = {
#include "../exact_vectors.h"
};

static universe universe_of(const vector *v)
{
    cf_geometry rule = {.seed = v->options.seed, .keyed = cf_is_keyed(&v->options)};
    universe u = random_universe(v->keys, (v->keys + v->every - 1) / v->every);
    size_t member = 0, other = u.members;
    u.options = v->options;
    for (unsigned i = 0; i < v->keys; i++) {
        char text[20];
        int n = snprintf(text, sizeof text, "key%u", i);
        u.hash[i % v->every == 0 ? member++ : other++] = cf_hash_prefixed(&rule, 3, text, (size_t)n);
    }
    return u;
}

TEST(bytes_are_those_of_the_vectors)
{
    for (unsigned i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        universe u = universe_of(&vectors[i]);
        cf_exact_build build = built(&u);
        char *hex = malloc(2 * build.length + 1);
        for (uint64_t at = 0; at < build.length; at++)
            sprintf(hex + 2 * at, "%02x", build.bytes[at]);
        if (getenv("CUCKOO_PRINT_VECTORS"))
            printf("vector %s\n", hex);
        else
            assert_string_equal(hex, vectors[i].hex);
        free(hex);
        free(build.bytes);
        free(u.hash);
    }
}
