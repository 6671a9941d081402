/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../siphash_vectors.h"

static cf_geometry xxh3(int64_t seed)
{
    return (cf_geometry){.seed = seed};
}

static cf_geometry keyed(int64_t seed)
{
    return (cf_geometry){.seed = seed, .keyed = true};
}

/* Values of XXH3 from its own test suite pin the identity "1" of the format: the hash of nothing,
** and of one zero byte, without a seed. */
TEST(is_xxh3)
{
    const cf_geometry shape = xxh3(0);
    assert_true(cf_hash(&shape, "", 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(cf_hash(&shape, "\0", 1) == UINT64_C(0xc44bdff4074eecdb));
}

/* ---- SipHash ---- */

static void sip_round(uint64_t *v)
{
    static const unsigned half[4][3] = {{0, 1, 13}, {2, 3, 16}, {2, 1, 17}, {0, 3, 21}};
    for (unsigned i = 0; i < 4; i++) {
        uint64_t *a = &v[half[i][0]], *b = &v[half[i][1]];
        *a += *b;
        *b = (*b << half[i][2] | *b >> (64 - half[i][2])) ^ *a;
        if (i % 2 == 0)
            *a = *a << 32 | *a >> 32;
    }
}

/* SipHash-1-3, slowly, as its paper says it. */
static uint64_t siphash(uint64_t k0, uint64_t k1, const uint8_t *message, size_t n)
{
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    for (size_t at = 0; at <= n; at += 8) {
        uint64_t word = 0;
        for (size_t i = at; i < n && i < at + 8; i++)
            word |= (uint64_t)message[i] << 8 * (i - at);
        word |= n - at < 8 ? (uint64_t)n << 56 : 0;
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (unsigned i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

TEST(is_siphash)
{
    uint8_t message[64];
    for (uint8_t n = 0; n < 64; message[n] = n, n++) {
        uint64_t hash = siphash(UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908), message, n);
        char text[17];
        for (unsigned i = 0; i < 8; i++)
            sprintf(text + 2 * i, "%02x", (unsigned)(hash >> 8 * i & 255));
        assert_string_equal(text, siphash_1_3[n]);
    }
}

/* The key that hash.c describes. */
TEST(seed_makes_the_key)
{
    for (int i = 0; i < 1000; i++) {
        int64_t seed = i < 3 ? i - 1 : (int64_t)random64();
        uint64_t x = ((uint64_t)seed + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
        uint8_t message[64];
        size_t n = random64() % sizeof message;
        for (size_t k = 0; k < n; k++)
            message[k] = (uint8_t)random64();
        cf_geometry shape = keyed(seed);
        assert_true(cf_hash(&shape, message, n) == siphash((uint64_t)seed, x ^ x >> 32, message, n));
    }
}

/* Made once and never again: they pin the identity "2" of the format. */
TEST(is_the_keyed_hash)
{
    const cf_geometry zero = keyed(0), other = keyed(-7);
    assert_true(cf_hash(&zero, "", 0) == UINT64_C(0x43acd46c5e4e4753));
    assert_true(cf_hash(&zero, "key", 3) == UINT64_C(0xf6091cf7c16efc06));
    assert_true(cf_hash(&other, "key", 3) == UINT64_C(0xf8b814e00aec044c));
    assert_true(cf_hash_words(&other, 1, 42) == UINT64_C(0xb489996804de6ede));
}

/* ---- what holds for both ---- */

TEST(seed_and_identity_change_the_hash)
{
    const cf_geometry shapes[] = {xxh3(0), xxh3(1), xxh3(-1), keyed(0), keyed(1), keyed(-1)};
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            assert_int_equal(cf_hash(&shapes[i], "key", 3) == cf_hash(&shapes[j], "key", 3), i == j);
}

/* Around the length where the copy gives way to hashing in pieces, and around the lengths where
** the hashes change their method. */
TEST(prefixed_equals_joined)
{
    static const size_t lengths[] = {
        0,   1,   2,   3,   6,   7,   8,   9,   10,  11,   12,   13,   14,   15,   16,   17,    31,
        127, 128, 129, 239, 240, 241, 255, 256, 511, 1022, 1023, 1024, 1025, 1026, 4096, 65536, 100003};
    static const int64_t seeds[] = {0, 1, -5, INT64_MAX};
    uint8_t *joined = malloc(100004);
    for (size_t i = 0; i < 100004; i++)
        joined[i] = (uint8_t)random64();
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (size_t j = 0; j < 2 * sizeof seeds / sizeof seeds[0]; j++) {
            cf_geometry shape = {.seed = seeds[j / 2], .keyed = j % 2};
            assert_true(cf_hash(&shape, joined, lengths[i] + 1) ==
                        cf_hash_prefixed(&shape, joined[0], joined + 1, lengths[i]));
        }
    for (int k = 0; k < 2; k++) {
        cf_geometry shape = {.keyed = k};
        assert_true(cf_hash_prefixed(&shape, 7, NULL, 0) == cf_hash(&shape, "\7", 1));
    }
    free(joined);
}

TEST(words_are_sixteen_bytes)
{
    for (int i = 0; i < 1000; i++) {
        uint64_t a = random64(), b = random64();
        uint8_t bytes[16];
        cf_geometry shape = {.seed = -i / 2, .keyed = i % 2};
        for (unsigned k = 0; k < 8; k++) {
            bytes[k] = (uint8_t)(a >> (8 * k));
            bytes[8 + k] = (uint8_t)(b >> (8 * k));
        }
        assert_true(cf_hash_words(&shape, a, b) == cf_hash(&shape, bytes, 16));
    }
}

/* Nothing outside of a key counts, wherever it lies. */
TEST(only_the_key_counts)
{
    for (size_t n = 0; n < 40; n++)
        for (size_t at = 1; at < 10; at++) {
            uint8_t one[64], other[64];
            cf_geometry shape = {.seed = (int64_t)n, .keyed = at % 2};
            memset(one, 0, sizeof one);
            memset(other, 255, sizeof other);
            for (size_t k = 0; k < n; k++)
                one[at + k] = other[k + 10 - at] = (uint8_t)random64();
            assert_true(cf_hash(&shape, one + at, n) == cf_hash(&shape, other + 10 - at, n));
            assert_true(cf_hash_prefixed(&shape, 3, one + at, n) ==
                        cf_hash_prefixed(&shape, 3, other + 10 - at, n));
        }
}

/* ---- keys that are chosen without the seed ---- */

/*
** XXH3 takes the last 16 of 17 to 32 bytes as two words. It multiplies a = first ^ (p + seed) by
** b = second ^ (q - seed), where p and q are known, and adds the xor of the two halves of the product.
** The other key of the pair has the complements of both words, so it multiplies ~a by ~b. If b is ~a,
** that is the same product. This is so when (p + seed) ^ (q - seed) is D, the complement of
** first ^ second. The sum of these two terms does not depend on the seed, so their xor is far from
** random: for the D below only 18 of its bits have to fall right. Where one of these bits falls wrong,
** the halves still agree by a chance of one third. So the two keys share their hash under about
** (2/3)^18 of all seeds. In SQL they are blobs of 31 bytes: the type byte 4 goes before them.
*/
static void make_pair(uint8_t *one, uint8_t *other)
{
    enum { FREE = 15, WORDS = 16 };
    memset(one, 'x', FREE);
    memset(one + FREE, 0, 8);
    for (unsigned i = 0; i < 8; i++)
        one[FREE + 8 + i] = (uint8_t)(~UINT64_C(0xfafebbbb6dedeaae) >> 8 * i);
    memcpy(other, one, FREE);
    for (unsigned i = FREE; i < FREE + WORDS; i++)
        other[i] = (uint8_t)~one[i];
}

static unsigned collisions(bool with_key, unsigned seeds)
{
    uint8_t one[31], other[31];
    unsigned found = 0;
    make_pair(one, other);
    for (unsigned i = 0; i < seeds; i++) {
        cf_geometry shape = {.seed = (int64_t)random64(), .keyed = with_key};
        found += cf_hash_prefixed(&shape, 4, one, 31) == cf_hash_prefixed(&shape, 4, other, 31);
    }
    return found;
}

TEST(pair_that_collides_under_xxh3_does_not_under_a_key)
{
    unsigned found = collisions(false, 100000);
    assert_true(found >= 30 && found <= 120); /* 67 are expected */
    assert_int_equal(collisions(true, 100000), 0);
}
