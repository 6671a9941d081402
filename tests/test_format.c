#include "test.h"

#include "../src/bits.h"

/* Small filters in hex, made once and never again: they fix the format, the hash, the addresses and the
** order of insertion on every machine. The keys are the texts key0, key1, ... as in SQL (type byte 3). */
typedef struct vector {
    cf_geometry shape;
    unsigned keys;
    const char *hex;
} vector;

#define SHAPE(m, n, k, b, f, s, c, g)                                                                   \
    {                                                                                                   \
        .buckets = m, .capacity = n, .seed = k, .bucket_size = b, .fingerprint_bits = f,                \
        .pair_bits = s, .cap = c, .growth = g                                                           \
    }

static const vector vectors[] = {
#include "format_vectors.h"
};
enum { VECTORS = sizeof vectors / sizeof vectors[0] };

static uint64_t key_hash(unsigned i, int64_t seed)
{
    char text[20];
    int n = snprintf(text, sizeof text, "key%u", i);
    return cf_hash_prefixed(3, text, (size_t)n, seed);
}

static test_filter filter_of(const vector *v)
{
    test_filter made = new_filter(v->shape);
    for (unsigned i = 0; i < v->keys; i++)
        assert_int_equal(cf_add(&made.filter, key_hash(i, v->shape.seed)), CF_OK);
    cf_seal(&made.filter);
    return made;
}

static char *hex_of(const test_filter *made)
{
    char *hex = malloc(2 * made->filter.length + 1);
    for (uint64_t i = 0; i < made->filter.length; i++)
        sprintf(hex + 2 * i, "%02x", made->bytes[i]);
    return hex;
}

static void bytes_are_those_of_the_vectors(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VECTORS; i++) {
        test_filter made = filter_of(&vectors[i]);
        char *hex = hex_of(&made);
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

static void vectors_open_and_know_their_keys(void **state)
{
    uint8_t bytes[2000];
    (void)state;
    for (unsigned i = 0; i < VECTORS; i++) {
        cf_filter filter;
        const char *why = "";
        size_t length = bytes_of_hex(vectors[i].hex, bytes);
        assert_int_equal(cf_open(&filter, bytes, length, &why), CF_OK);
        assert_sound(&filter);
        assert_int_equal(filter.items, vectors[i].keys);
        assert_memory_equal(&filter.geometry.seed, &vectors[i].shape.seed, 8);
        for (unsigned k = 0; k < vectors[i].keys; k++)
            assert_true(cf_contains(&filter, key_hash(k, filter.geometry.seed)));
    }
}

/* A header of extremes comes back as it was. */
static void header_survives_the_round_trip(void **state)
{
    cf_header in = {.geometry = {.buckets = UINT64_C(0x123456789a),
                                 .capacity = UINT64_C(0xfedcba987654),
                                 .seed = INT64_MIN + 3,
                                 .bucket_size = 8,
                                 .fingerprint_bits = 17,
                                 .pair_bits = 6,
                                 .cap = 4,
                                 .growth = true},
                    .items = UINT64_C(0xffffffffffff),
                    .occupied = UINT64_C(0x91a2b3c4d0),
                    .reserved = UINT32_MAX};
    uint8_t bytes[CF_HEADER_BYTES];
    cf_header out;
    const char *why = "";
    (void)state;
    cf_header_encode(&in, bytes);
    size_t length = cf_geometry_bytes(&in.geometry) - CF_RESERVED_MIN + in.reserved;
    assert_int_equal(cf_header_decode(bytes, length, &out, &why), CF_OK);
    assert_true(out.geometry.buckets == in.geometry.buckets);
    assert_true(out.geometry.capacity == in.geometry.capacity);
    assert_true(out.geometry.seed == in.geometry.seed);
    assert_int_equal(out.geometry.bucket_size, 8);
    assert_int_equal(out.geometry.fingerprint_bits, 17);
    assert_int_equal(out.geometry.pair_bits, 6);
    assert_int_equal(out.geometry.cap, 4);
    assert_true(out.geometry.growth);
    assert_true(out.items == in.items && out.occupied == in.occupied);
    assert_true(out.reserved == in.reserved);
}

/* ---- hostile headers ---- */

static void make_checksum_right(uint8_t *bytes)
{
    uint64_t sum = cf_hash(bytes, 60, 0);
    for (unsigned i = 0; i < 4; i++)
        bytes[60 + i] = (uint8_t)(sum >> (8 * i));
}

/* What opening says of a small sound filter after `change` bytes at `offset` are set to `value`. */
static cf_status status_with(unsigned offset, unsigned width, uint64_t value, bool right_checksum)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    cf_filter opened;
    const char *why = NULL;
    for (unsigned i = 0; i < width; i++)
        made.bytes[offset + i] = (uint8_t)(value >> (8 * i));
    if (right_checksum)
        make_checksum_right(made.bytes);
    cf_status status = cf_open(&opened, made.bytes, made.filter.length, &why);
    if (status != CF_OK)
        assert_non_null(why);
    free_filter(&made);
    return status;
}

static void every_header_bit_is_guarded(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 8 * CF_HEADER_BYTES; bit++) {
        test_filter made = new_filter(shape_of(10, 4, 12));
        cf_filter opened;
        const char *why;
        made.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_OK);
        free_filter(&made);
    }
}

static void extreme_fields_are_refused(void **state)
{
    static const struct {
        unsigned offset, width;
        uint64_t value;
        cf_status expected;
    } cases[] = {
        {0, 3, 0, CF_DAMAGED},
        {3, 1, 2, CF_NEWER},
        {3, 1, 0, CF_NEWER},
        {4, 1, 2, CF_NEWER},
        {5, 1, 0, CF_DAMAGED},
        {5, 1, 3, CF_DAMAGED},
        {5, 1, 8, CF_DAMAGED},
        {5, 1, 255, CF_DAMAGED},
        {6, 1, 13, CF_NEWER},
        {6, 2, 0x0803, CF_NEWER},
        {7, 1, 3, CF_DAMAGED},
        {7, 1, 13, CF_DAMAGED},
        {8, 1, 0, CF_DAMAGED},
        {8, 1, 5, CF_DAMAGED},
        {9, 1, 20, CF_NEWER},
        {10, 1, 1, CF_NEWER},
        {11, 1, 8, CF_NEWER},
        {12, 1, 2, CF_NEWER},
        {12, 1, 255, CF_NEWER},
        {13, 1, 1, CF_NEWER},
        {14, 2, 1, CF_NEWER},
        {16, 2, 1, CF_NEWER},
        {18, 6, 0, CF_DAMAGED},
        {18, 6, 9, CF_DAMAGED},
        {18, 6, 11, CF_DAMAGED},
        {18, 6, 0xffffffffffff, CF_DAMAGED},
        {32, 6, 1, CF_NEWER},
        {44, 6, 41, CF_DAMAGED},
        {44, 6, 0xffffffffffff, CF_DAMAGED},
        {56, 4, 0, CF_DAMAGED},
        {56, 4, 7, CF_DAMAGED},
        {56, 4, 0xffffffff, CF_DAMAGED},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(status_with(cases[i].offset, cases[i].width, cases[i].value, true),
                         cases[i].expected);
}

/* Both the fingerprint and the slot width out of range, so that only the range check can see it. */
static void fingerprint_range_is_checked(void **state)
{
    static const uint8_t widths[] = {0, 3, 33, 255};
    (void)state;
    for (unsigned i = 0; i < sizeof widths; i++) {
        test_filter made = new_filter(shape_of(10, 4, 12));
        cf_filter opened;
        const char *why;
        made.bytes[6] = made.bytes[9] = widths[i];
        make_checksum_right(made.bytes);
        assert_int_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_DAMAGED);
        free_filter(&made);
    }
}

static void fields_without_bounds_are_taken(void **state)
{
    (void)state;
    assert_int_equal(status_with(24, 8, UINT64_MAX, true), CF_OK);     /* seed */
    assert_int_equal(status_with(38, 6, 0xffffffffffff, true), CF_OK); /* items: for cf_check */
    assert_int_equal(status_with(50, 6, 0xffffffffffff, true), CF_OK); /* capacity */
    assert_int_equal(status_with(12, 1, 1, true), CF_OK);              /* growth */
    assert_int_equal(status_with(24, 8, 1, false), CF_DAMAGED);        /* but not by accident */
}

static void every_other_length_is_refused(void **state)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    (void)state;
    for (size_t length = 0; length < made.filter.length; length++) {
        uint8_t *cut = malloc(length ? length : 1);
        cf_filter opened;
        const char *why;
        memcpy(cut, made.bytes, length);
        assert_int_equal(cf_open(&opened, cut, length, &why), CF_DAMAGED);
        free(cut);
    }
    uint8_t *longer = calloc(1, made.filter.length + 1);
    cf_filter opened;
    const char *why;
    memcpy(longer, made.bytes, made.filter.length);
    assert_int_equal(cf_open(&opened, longer, made.filter.length + 1, &why), CF_DAMAGED);
    free(longer);
    free_filter(&made);
}

/* More reserved bytes than the least are a sound filter: later versions reserve room to grow. */
static void more_reserved_bytes_are_taken(void **state)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    uint8_t *longer = calloc(1, made.filter.length + 100);
    cf_filter opened;
    const char *why = "";
    (void)state;
    memcpy(longer, made.bytes, made.filter.length);
    longer[56] = CF_RESERVED_MIN + 100;
    make_checksum_right(longer);
    assert_int_equal(cf_open_writable(&opened, longer, made.filter.length + 100, &why), CF_OK);
    assert_int_equal(cf_add(&opened, 12345), CF_OK);
    cf_seal(&opened);
    assert_int_equal(cf_open(&opened, longer, made.filter.length + 100, &why), CF_OK);
    assert_sound(&opened);
    free(longer);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bytes_are_those_of_the_vectors),
    cmocka_unit_test(vectors_open_and_know_their_keys),
    cmocka_unit_test(header_survives_the_round_trip),
    cmocka_unit_test(every_header_bit_is_guarded),
    cmocka_unit_test(extreme_fields_are_refused),
    cmocka_unit_test(fingerprint_range_is_checked),
    cmocka_unit_test(fields_without_bounds_are_taken),
    cmocka_unit_test(every_other_length_is_refused),
    cmocka_unit_test(more_reserved_bytes_are_taken),
};

RUN_TESTS(tests)
