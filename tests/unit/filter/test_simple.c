/* SPDX-License-Identifier: MIT */
/* cuckoo_simple.h: filters that are made, grow, are stored and opened, with keys as SQL hashes them. In C++: tests/ship/
** library.c; beside SQL: tests/unit/ext/linked.c. */
#include "../test.h"

#include "../../../src/include/cuckoo_simple.h"

enum { PLANNED = 100, KEYS = 3000 };

static size_t key_of(unsigned i, char *text)
{
    return (size_t)sprintf(text, "key %u", i);
}

TEST(lines_are_kept_once)
{
    char text[40];
    const char *why = NULL;
    cf_filter seen, other;
    size_t length, n;
    unsigned first = 0;
    assert_int_equal(cf_make(&seen, PLANNED, 0.001, NULL, &why), CF_OK);
    for (unsigned i = 0; i < 2 * KEYS; i++) {
        n = key_of(i % KEYS, text);
        if (cf_contains_key(&seen, text, n))
            continue;
        assert_true(i < KEYS);
        assert_int_equal(cf_add_key(&seen, text, n), CF_OK);
        first++;
    }
    assert_true(first > KEYS * 99 / 100);
    assert_true(seen.geometry.key_types == CF_TYPE_TEXT && seen.geometry.capacity == PLANNED);
    const uint8_t *bytes = cf_finish(&seen, &length);
    assert_int_equal(cf_open(&other, bytes, length, &why), CF_OK);
    for (unsigned i = 0; i < KEYS; i++)
        assert_true(cf_contains_key(&other, text, key_of(i, text)));
    n = key_of(7, text);
    assert_int_equal(cf_add_key(&other, text, n), CF_READ_ONLY);
    assert_int_equal(cf_delete_key(&seen, text, n), CF_REMOVED);
    assert_int_equal(cf_delete_key(&seen, text, n), CF_ABSENT);
    assert_false(cf_contains_key(&seen, text, n));
    assert_int_equal(cf_check(&seen, &why), CF_OK);
    cf_free(&seen);
}

/* A key with or without a NUL in it, or of no bytes, is a key. */
TEST(any_bytes_are_a_key)
{
    cf_filter filter;
    assert_int_equal(cf_make(&filter, 10, 0.0001, NULL, NULL), CF_OK);
    assert_int_equal(cf_add_key(&filter, "a\0b", 3), CF_OK);
    assert_int_equal(cf_add_key(&filter, "", 0), CF_OK);
    assert_true(cf_contains_key(&filter, "a\0b", 3) && cf_contains_key(&filter, "", 0));
    assert_false(cf_contains_key(&filter, "a", 1));
    assert_true(cf_contains(&filter, cf_hash_prefixed(&filter.geometry, CF_KEY_TEXT, "a\0b", 3)));
    cf_free(&filter);
}

TEST(key_rules_hold)
{
    static char text[2000];
    cf_filter filter;
    cf_options nocase = {.collation = CF_COLLATION_NOCASE};
    cf_options numeric = {.affinity = CF_AFFINITY_NUMERIC};
    assert_int_equal(cf_make(&filter, 10, 0.0001, &nocase, NULL), CF_OK);
    assert_int_equal(cf_add_key(&filter, "Ada", 3), CF_OK);
    assert_true(cf_contains_key(&filter, "aDA", 3));
    memset(text, 'x', sizeof text);
    assert_int_equal(cf_add_key(&filter, text, 1000), CF_OK);
    assert_false(cf_contains_key(&filter, text, 999));
    assert_int_equal(cf_add_key(&filter, text, 1001), CF_TOO_BIG);
    assert_int_equal(cf_delete_key(&filter, text, 1001), CF_TOO_BIG);
    assert_true(cf_contains_key(&filter, text, 1001)); /* probably: nothing is known */
    cf_free(&filter);
    assert_int_equal(cf_make(&filter, 10, 0.0001, &numeric, NULL), CF_OK);
    assert_int_equal(cf_add_key(&filter, "7.0", 3), CF_OK);
    assert_true(cf_contains_key(&filter, " 07", 3) &&
                cf_contains(&filter, cf_hash_words(&filter.geometry, CF_KEY_INTEGER, 7)));
    assert_false(cf_contains_key(&filter, "8", 1));
    const char *inexact = "0.1234567890123456789";
    assert_true(cf_contains_key(&filter, inexact, strlen(inexact)));
    assert_false(filter.geometry.key_types & CF_TYPE_INEXACT);
    assert_int_equal(cf_add_key(&filter, inexact, strlen(inexact)), CF_OK);
    assert_true(filter.geometry.key_types & CF_TYPE_INEXACT);
    cf_free(&filter);
}

TEST(errors_are_those_of_the_plan)
{
    const char *why = NULL;
    cf_filter filter;
    cf_options stash = {.stash = true};
    assert_int_equal(cf_make(&filter, 10, 0, NULL, &why), CF_BAD_ARGUMENT);
    assert_string_equal(why, "fpr must be above 0, or fingerprint_bits given in its place");
    cf_free(&filter);
    assert_int_equal(cf_make(&filter, UINT64_MAX, 0.01, NULL, NULL), CF_TOO_BIG);
    cf_free(&filter);
    assert_int_equal(cf_make(&filter, 10, 0.01, &stash, &why), CF_OK);
    assert_false(filter.geometry.growth);
    assert_int_equal(filter.geometry.stash_size, 16);
    cf_free(&filter);
}

/* Sanitizers abort where malloc would return NULL. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* More than any machine has; and a filter with values, which a key without one is not added to. */
TEST(errors_say_why)
{
    const uint64_t capacities[] = {UINT64_C(1) << 39, UINT64_C(1) << 45, UINT64_MAX, 0};
    for (unsigned i = SANITIZED ? 1 : 0; i < sizeof capacities / sizeof *capacities;
         i++) { /* sanitizers abort */
        cf_filter filter;
        const char *why = NULL;
        cf_status status = cf_make(&filter, capacities[i], 0.01, NULL, &why);
        assert_true((status == CF_OK) == (why == NULL));
        cf_free(&filter);
        assert_int_equal(cf_make(&filter, capacities[i], 0.01, NULL, NULL), status);
        cf_free(&filter);
    }
    cf_filter filter;
    const char *why;
    uint64_t hash = 0, found[CF_VALUES_MAX] = {0};
    unsigned types;
    assert_int_equal(cf_make(&filter, 100, 0.01, &(cf_options){.value_bits = 11}, &why), CF_OK);
    assert_int_equal(cf_add_key(&filter, "ada", 3), CF_BAD_ARGUMENT);
    assert_int_equal(cf_add_key_value(&filter, "ada", 3, 2048), CF_BAD_ARGUMENT);
    assert_int_equal(cf_add_key_value(&filter, "ada", 3, 42), CF_OK);
    assert_int_equal(cf_hash_text(&filter, "ada", 3, &hash, &types), CF_OK);
    assert_int_equal(cf_get_all(&filter, hash, found), 1);
    assert_int_equal(found[0], 42);
    assert_int_equal(cf_delete_key(&filter, "ada", 3), CF_BAD_ARGUMENT);
    assert_int_equal(cf_delete_key_value(&filter, "ada", 3, 41), CF_ABSENT);
    assert_int_equal(cf_delete_key_value(&filter, "ada", 3, 42), CF_REMOVED);
    assert_false(cf_contains_key(&filter, "ada", 3));
    cf_free(&filter);
}
