/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../probe.h"

/* Small filters in hex, made once and never again: they fix the format, the hash, the addresses and
** the order of insertion on every machine. tests/unit/format_vectors.py writes what they would be now.
** The keys are the texts key0, key1, ... as in SQL (type byte 3). With counters, key i is added 1 +
** i % 5 times; with values, its value is 37 i. With epochs the next one begins before each 8th key. A
** grown one is split `steps` times when half of the keys are in. In the end key 1 is added `again` times. */
typedef struct vector {
    cf_geometry shape;
    unsigned keys;
    unsigned steps;
    const char *hex;
    unsigned again;
} vector;

#define FIELDS(m, n, k, b, f, s, c, g, counter, value)                                                  \
    .buckets = m, .capacity = n, .seed = k, .bucket_size = b, .fingerprint_bits = f, .pair_bits = s,    \
    .max_copies = c, .counter_bits = counter, .value_bits = value, .growth = g

#define SHAPE(m, n, k, b, f, s, c, g, counter, value)                                                   \
    {                                                                                                   \
        FIELDS(m, n, k, b, f, s, c, g, counter, value)                                                  \
    }

/* The same under the keyed hash. */
#define KEYED(m, n, k, b, f, s, c, g, counter, value)                                                   \
    {                                                                                                   \
        FIELDS(m, n, k, b, f, s, c, g, counter, value), .keyed = true                                   \
    }

/* The same semi-sorted or not, and with a stash or, when its bound is 0, without. */
#define LISTED(m, n, k, b, f, s, c, g, counter, value, sorted, t, bound)                                \
    {                                                                                                   \
        FIELDS(m, n, k, b, f, s, c, g, counter, value), .semisorted = sorted, .budget = t,              \
                                                        .stash_size = bound                             \
    }

/* The same with epochs; one begins before each 8th key. */
#define AGEING(m, n, k, b, f, s, c, g, counter, value, sorted, e)                                       \
    {                                                                                                   \
        FIELDS(m, n, k, b, f, s, c, g, counter, value), .semisorted = sorted, .epochs = e               \
    }

static const vector vectors[] = {
#include "../format_vectors.h"
};
enum { VECTORS = sizeof vectors / sizeof vectors[0] };

static uint64_t key_hash(unsigned i, const cf_geometry *shape)
{
    char text[20];
    int n = snprintf(text, sizeof text, "key%u", i);
    return cf_hash_prefixed(shape, 3, text, (size_t)n);
}

static unsigned copies_of(const vector *v, unsigned key)
{
    return v->shape.counter_bits ? 1 + key % 5 : 1;
}

/* What the filter can tell of them. */
static unsigned told_of(const vector *v, unsigned key)
{
    unsigned copies = copies_of(v, key), most = v->shape.counter_bits ? 1u << v->shape.counter_bits : 1;
    if (v->again > 0 && key == 1)
        return v->shape.max_copies;
    return copies < most ? copies : most;
}

static uint64_t value_of(const vector *v, unsigned key)
{
    return 37 * key & (((uint64_t)1 << v->shape.value_bits) - 1);
}

static void split(cf_filter *filter, unsigned steps)
{
    filter->memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    for (; steps > 0; steps--)
        assert_true(probe_split(filter));
    filter->memory.resize = NULL;
}

static test_filter filter_of(const vector *v)
{
    test_filter made = new_filter(v->shape);
    for (unsigned i = 0; i < v->keys; i++) {
        if (i == v->keys / 2)
            split(&made.filter, v->steps);
        if (v->shape.epochs && i > 0 && i % 8 == 0)
            cf_advance(&made.filter);
        for (unsigned n = copies_of(v, i); n > 0; n--)
            assert_int_equal(cf_add_value(&made.filter, key_hash(i, &v->shape), value_of(v, i)), CF_OK);
    }
    for (unsigned n = v->again; n > 0; n--)
        assert_int_equal(cf_add_value(&made.filter, key_hash(1, &v->shape), value_of(v, 1)), CF_OK);
    cf_seal(&made.filter);
    return made;
}

static char *hex_of(const test_filter *made)
{
    char *hex = malloc(2 * made->filter.length + 1);
    for (uint64_t i = 0; i < made->filter.length; i++)
        sprintf(hex + 2 * i, "%02x", made->filter.bytes[i]);
    return hex;
}

TEST(bytes_are_those_of_the_vectors)
{
    for (unsigned i = 0; i < VECTORS; i++) {
        test_filter made = filter_of(&vectors[i]);
        char *hex = hex_of(&made);
        if (getenv("CUCKOO_PRINT_VECTORS"))
            printf("vector %s\n", hex);
        else
            assert_string_equal(hex, vectors[i].hex);
        free(hex);
        free_filter(&made);
    }
}

static size_t bytes_of_hex(const char *hex, uint8_t *bytes)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return n;
}

/* The stage that the steps lead to. */
static void assert_stage(const cf_filter *filter, const vector *v)
{
    assert_true(filter->buckets == v->shape.buckets + v->steps);
    if (filter->level >= 2)
        assert_true(cf_take_census(filter).exhausted > 0);
    assert_int_equal(filter->geometry.semisorted, v->shape.semisorted);
    assert_int_equal(filter->geometry.stash_size, v->shape.stash_size);
    assert_int_equal(filter->geometry.budget, v->shape.budget);
    assert_int_equal(filter->stashed > 0, v->shape.stash_size > 0);
}

/* Key 1 is saturated: no delete takes it away. */
static void assert_saturated(const uint8_t *bytes, size_t length, const vector *v)
{
    uint8_t copy[2000];
    cf_filter filter;
    const char *why = "";
    uint64_t hash = key_hash(1, &v->shape);
    memcpy(copy, bytes, length);
    assert_int_equal(cf_open_writable(&filter, copy, length, &why), CF_OK);
    assert_int_equal(cf_count(&filter, hash), v->shape.max_copies);
    assert_int_equal(cf_delete_value(&filter, hash, value_of(v, 1)), CF_SATURATED);
}

TEST(vectors_open_and_know_their_keys)
{
    uint8_t bytes[2000];
    for (unsigned i = 0; i < VECTORS; i++) {
        const vector *v = &vectors[i];
        cf_filter filter;
        const char *why = "";
        uint64_t items = 0, value = 0;
        size_t length = bytes_of_hex(v->hex, bytes);
        assert_int_equal(cf_open(&filter, bytes, length, &why), CF_OK);
        assert_sound(&filter);
        assert_stage(&filter, v);
        assert_memory_equal(&filter.geometry.seed, &v->shape.seed, 8);
        assert_int_equal(filter.geometry.keyed, v->shape.keyed);
        assert_int_equal(filter.geometry.counter_bits, v->shape.counter_bits);
        assert_int_equal(filter.geometry.epochs, v->shape.epochs);
        assert_int_equal(filter.epoch, v->shape.epochs ? (v->keys - 1) / 8 : 0);
        assert_int_equal(filter.geometry.value_bits, v->shape.value_bits);
        for (unsigned k = 0; k < v->keys; items += copies_of(v, k++)) {
            assert_int_equal(cf_get(&filter, key_hash(k, &v->shape), &value), v->shape.value_bits != 0);
            assert_true(cf_count(&filter, key_hash(k, &v->shape)) >= told_of(v, k));
            if (v->shape.value_bits)
                assert_int_equal(value, value_of(v, k));
        }
        assert_int_equal(filter.items, items + v->again);
        if (v->again > 0)
            assert_saturated(bytes, length, v);
    }
}
