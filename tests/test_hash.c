/* SPDX-License-Identifier: MIT */
#include "test.h"

/* Values of XXH3 from its own test suite pin the identity "1" of the format: the hash of nothing,
** and of one zero byte, without a seed. */
static void is_xxh3(void **state)
{
    (void)state;
    assert_true(cf_hash("", 0, 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(cf_hash("\0", 1, 0) == UINT64_C(0xc44bdff4074eecdb));
}

static void seed_changes_the_hash(void **state)
{
    (void)state;
    assert_true(cf_hash("key", 3, 0) != cf_hash("key", 3, 1));
    assert_true(cf_hash("key", 3, 1) != cf_hash("key", 3, -1));
    assert_true(cf_hash("key", 3, INT64_MIN) == cf_hash("key", 3, INT64_MIN));
}

/* Around the length where the copy gives way to hashing in pieces, and around the lengths where
** XXH3 changes its method. */
static void prefixed_equals_joined(void **state)
{
    static const size_t lengths[] = {0,    1,    2,    3,    7,    8,    9,     15,    16,
                                     17,   31,   127,  128,  129,  239,  240,   241,   511,
                                     1022, 1023, 1024, 1025, 1026, 4096, 65536, 100003};
    static const int64_t seeds[] = {0, 1, -5, INT64_MAX};
    uint8_t *joined = malloc(100004);
    (void)state;
    for (size_t i = 0; i < 100004; i++)
        joined[i] = (uint8_t)random64();
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (size_t j = 0; j < sizeof seeds / sizeof seeds[0]; j++)
            assert_true(cf_hash(joined, lengths[i] + 1, seeds[j]) ==
                        cf_hash_prefixed(joined[0], joined + 1, lengths[i], seeds[j]));
    assert_true(cf_hash_prefixed(7, NULL, 0, 0) == cf_hash("\7", 1, 0));
    free(joined);
}

static void words_are_sixteen_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t a = random64(), b = random64();
        uint8_t bytes[16];
        for (unsigned k = 0; k < 8; k++) {
            bytes[k] = (uint8_t)(a >> (8 * k));
            bytes[8 + k] = (uint8_t)(b >> (8 * k));
        }
        assert_true(cf_hash_words(a, b, 0) == cf_hash(bytes, 16, 0));
        assert_true(cf_hash_words(a, b, -i) == cf_hash(bytes, 16, -i));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(is_xxh3),
    cmocka_unit_test(seed_changes_the_hash),
    cmocka_unit_test(prefixed_equals_joined),
    cmocka_unit_test(words_are_sixteen_bytes),
};

RUN_TESTS(tests)
