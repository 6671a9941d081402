/* SPDX-License-Identifier: MIT */
#include "../test.h"

static void assert_same_shape(const cf_geometry *a, const cf_geometry *b)
{
    assert_true(a->buckets == b->buckets && a->capacity == b->capacity && a->seed == b->seed);
    assert_int_equal(a->keyed, b->keyed);
    assert_int_equal(a->bucket_size, b->bucket_size);
    assert_int_equal(a->fingerprint_bits, b->fingerprint_bits);
    assert_int_equal(a->pair_bits, b->pair_bits);
    assert_int_equal(a->cap, b->cap);
    assert_int_equal(a->counter_bits, b->counter_bits);
    assert_int_equal(a->value_bits, b->value_bits);
    assert_int_equal(a->growth, b->growth);
    assert_int_equal(a->semisorted, b->semisorted);
    assert_int_equal(a->budget, b->budget);
    assert_int_equal(a->spill_bound, b->spill_bound);
    assert_int_equal(a->affinity, b->affinity);
    assert_int_equal(a->collation, b->collation);
}

/* A header of extremes comes back as it was. */
static void header_survives_the_round_trip(void **state)
{
    cf_header in = {.geometry = {.buckets = UINT64_C(0x123456789a),
                                 .capacity = UINT64_C(0xfedcba987654),
                                 .seed = INT64_MIN + 3,
                                 .keyed = true,
                                 .bucket_size = 8,
                                 .fingerprint_bits = 17,
                                 .pair_bits = 6,
                                 .cap = 4,
                                 .value_bits = 29,
                                 .growth = true},
                    .level = 3,
                    .split = UINT64_C(0x91a2b3c4d0),
                    .items = UINT64_C(0xffffffffffff),
                    .occupied = UINT64_C(0x91a2b3c4d0),
                    .reserved = UINT32_MAX};
    uint8_t bytes[CF_HEADER_BYTES];
    cf_header out;
    const char *why = "";
    (void)state;
    cf_header_encode(&in, bytes);
    uint64_t length = cf_bytes_at(&in.geometry, 3, in.split, true) - CF_RESERVED_MIN + in.reserved;
    assert_int_equal(cf_header_decode(bytes, length, &out, &why), CF_OK);
    assert_same_shape(&out.geometry, &in.geometry);
    assert_true(out.level == 3 && out.split == in.split);
    assert_true(out.items == in.items && out.occupied == in.occupied);
    assert_true(out.reserved == in.reserved);
}

static cf_status decode_prepared(cf_geometry shape, uint64_t prepared, uint64_t length, const char **why)
{
    cf_header out, in = {.geometry = shape, .prepared = prepared, .reserved = CF_RESERVED_MIN};
    uint8_t bytes[CF_HEADER_BYTES];
    cf_header_encode(&in, bytes);
    cf_status status = cf_header_decode(bytes, length, &out, why);
    if (status == CF_OK)
        assert_true(out.prepared == prepared && out.split == 0 && out.level == 0);
    return status;
}

/* A filter that is prepared for growth is as long as one that has grown. */
static void prepared_buckets_survive_the_round_trip(void **state)
{
    static const char cannot_be[] = "prepared for growth, though it cannot be";
    cf_geometry shape = growing_shape(10, 4, 12), fixed = shape_of(10, 4, 12);
    uint64_t length = cf_bytes_at(&shape, 0, 0, true);
    const char *why = "";
    (void)state;
    for (uint64_t prepared = 1; prepared <= 10; prepared++)
        assert_int_equal(decode_prepared(shape, prepared, length, &why), CF_OK);
    assert_int_equal(decode_prepared(shape, 11, length, &why), CF_DAMAGED);
    assert_string_equal(why, cannot_be);
    assert_int_equal(decode_prepared(fixed, 1, length, &why), CF_DAMAGED);
    assert_string_equal(why, cannot_be);
    cf_geometry listed = spilling(shape, 1, 3);
    assert_int_equal(decode_prepared(listed, 1, cf_bytes_at(&listed, 0, 0, true), &why), CF_DAMAGED);
    assert_string_equal(why, cannot_be);
    cf_geometry last = growing_shape((uint64_t)1 << 32, 4, 32); /* that can be split once */
    last.pair_bits = 30;
    assert_int_equal(decode_prepared(last, 1, cf_bytes_at(&last, 0, 0, true), &why), CF_OK);
    assert_int_equal(decode_prepared(shape, 1, cf_bytes_at(&shape, 0, 0, false), &why), CF_DAMAGED);
    assert_string_equal(why, "the length does not match the header: cut off, or not one filter");
}

/* The fields of semi-sorted buckets and of the spill list, each at its end. */
static void layout_and_list_survive_the_round_trip(void **state)
{
    (void)state;
    for (unsigned bound = 1; bound <= CF_SPILL_MAX; bound = 2 * bound + bound % 3)
        for (unsigned budget = 0; budget <= CF_BUDGET_MAX; budget += 51) {
            cf_header out, in = {.geometry = spilling(semisorted(shape_of(10, 4, 12)), budget, bound),
                                 .spilled = (unsigned)random_below(bound + 1),
                                 .reserved = CF_RESERVED_MIN};
            uint8_t bytes[CF_HEADER_BYTES];
            const char *why = "";
            size_t length = cf_bytes_at(&in.geometry, 0, 0, false);
            cf_header_encode(&in, bytes);
            assert_int_equal(cf_header_decode(bytes, length, &out, &why), CF_OK);
            assert_same_shape(&out.geometry, &in.geometry);
            assert_int_equal(out.spilled, in.spilled);
            assert_int_equal(cf_header_decode(bytes, length - CF_RESERVED_MIN, &out, &why), CF_DAMAGED);
        }
}

/* A shape with a key rule. */
static cf_geometry ruled(cf_geometry shape, unsigned affinity, unsigned collation)
{
    shape.affinity = (uint8_t)affinity;
    shape.collation = (uint8_t)collation;
    return shape;
}

/* The key rule takes bits 3 to 6 of the flags and nothing else; clearing keeps it. */
static void key_rule_survives_the_round_trip(void **state)
{
    (void)state;
    for (unsigned affinity = CF_AFFINITY_NONE; affinity <= CF_AFFINITY_REAL; affinity++)
        for (unsigned collation = CF_COLLATION_BINARY; collation <= CF_COLLATION_RTRIM; collation++) {
            test_filter made = new_filter(ruled(shape_of(10, 4, 12), affinity, collation));
            cf_filter opened;
            const char *why = "";
            cf_clear(&made.filter);
            assert_int_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_OK);
            assert_same_shape(&opened.geometry, &made.filter.geometry);
            assert_int_equal(opened.geometry.affinity, affinity);
            assert_int_equal(opened.geometry.collation, collation);
            assert_int_equal(made.bytes[12], affinity << 3 | collation << 5);
            free_filter(&made);
        }
}

/* ---- hostile headers ---- */

static void make_checksum_right(uint8_t *bytes)
{
    uint64_t sum = cf_checksum(bytes);
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
        {0, 3, 0, CF_DAMAGED},      {3, 1, 2, CF_NEWER},     {3, 1, 0, CF_NEWER},
        {4, 1, 3, CF_NEWER},        {5, 1, 0, CF_DAMAGED},   {5, 1, 3, CF_DAMAGED},
        {5, 1, 8, CF_DAMAGED},      {5, 1, 255, CF_DAMAGED}, {6, 1, 13, CF_DAMAGED},
        {6, 2, 0x0803, CF_DAMAGED}, {7, 1, 3, CF_DAMAGED},   {7, 1, 13, CF_DAMAGED},
        {8, 1, 0, CF_DAMAGED},      {8, 1, 9, CF_DAMAGED},   {9, 1, 20, CF_DAMAGED},
        {10, 1, 1, CF_DAMAGED},     {11, 1, 8, CF_DAMAGED},  {11, 1, 255, CF_DAMAGED},
        {12, 1, 2, CF_DAMAGED},     {12, 1, 4, CF_DAMAGED},  {12, 1, 96, CF_NEWER},
        {12, 1, 255, CF_NEWER},     {13, 1, 1, CF_DAMAGED},  {14, 2, 1, CF_DAMAGED},
        {14, 2, 4097, CF_DAMAGED},  {16, 2, 1, CF_DAMAGED},  {18, 6, 0, CF_DAMAGED},
        {18, 6, 9, CF_DAMAGED},     {18, 6, 11, CF_DAMAGED}, {18, 6, 0xffffffffffff, CF_DAMAGED},
        {32, 6, 1, CF_DAMAGED},     {44, 6, 41, CF_DAMAGED}, {44, 6, 0xffffffffffff, CF_DAMAGED},
        {56, 4, 0, CF_DAMAGED},     {56, 4, 7, CF_DAMAGED},  {56, 4, 0xffffffff, CF_DAMAGED},
        {12, 1, 0x80, CF_DAMAGED},  {12, 1, 0x82, CF_NEWER}, {4, 1, 0, CF_NEWER},
        {4, 1, 255, CF_NEWER},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(status_with(cases[i].offset, cases[i].width, cases[i].value, true),
                         cases[i].expected);
}

/* Whoever builds such a filter anew has lost its keys: the reason names the only remedy. */
static void a_later_version_names_the_remedy(void **state)
{
    static const struct {
        unsigned offset;
        uint8_t value;
        const char *what;
    } cases[] = {{3, 2, "format version"},
                 {3, 255, "format version"},
                 {4, 200, "hash"},
                 {12, 0x60, "flag"},
                 {12, 0x82, "flag"}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_filter made = new_filter(shape_of(10, 4, 12));
        cf_filter opened;
        const char *why = "";
        made.bytes[cases[i].offset] = cases[i].value;
        make_checksum_right(made.bytes);
        assert_int_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_NEWER);
        assert_non_null(strstr(why, "made by a later version (unknown "));
        assert_non_null(strstr(why, cases[i].what));
        assert_non_null(strstr(why, "; use the version that wrote it"));
        free_filter(&made);
    }
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

/* One field of a grown filter with counters changed: what opening says of it. */
static void assert_reason(unsigned offset, unsigned width, uint64_t value, const char *expected)
{
    cf_geometry shape = growing_shape(10, 4, 12);
    cf_filter opened;
    const char *why = "";
    shape.counter_bits = 5;
    test_filter made = filter_at_stage(shape, 1, 3);
    for (unsigned i = 0; i < width; i++)
        made.bytes[offset + i] = (uint8_t)(value >> (8 * i));
    make_checksum_right(made.bytes);
    cf_status status = cf_open(&opened, made.bytes, made.filter.length, &why);
    assert_int_equal(status, *expected ? CF_DAMAGED : CF_OK);
    assert_string_equal(why, expected);
    free_filter(&made);
}

/* Level 1, split pointer 3, slots of 12 + 2 + 2 bits, payload of 5. */
static void stages_of_growth_are_checked(void **state)
{
    static const char length[] = "the length does not match the header: cut off, or not one filter";
    static const char width[] = "the width of slots does not follow from the level of growth";
    static const char numbers[] = "more buckets than the format has numbers for";
    (void)state;
    assert_reason(9, 1, 16, "");
    assert_reason(9, 1, 15, width);
    assert_reason(9, 1, 17, width);
    assert_reason(9, 1, 0, width);
    assert_reason(9, 1, 255, width);
    assert_reason(10, 1, 0, length); /* slots of 16 bits, too */
    assert_reason(10, 1, 2, width);
    assert_reason(9, 2, 0x0211, length);
    assert_reason(10, 1, 40, numbers);
    assert_reason(10, 1, 255, numbers);
    assert_reason(32, 6, 2, length);
    assert_reason(32, 6, 4, length);
    assert_reason(32, 6, 21, "the split pointer is beyond the level");
    assert_reason(32, 6, 0xffffffffffff, "the split pointer is beyond the level");
    assert_reason(12, 1, 0, "grown, though it must not grow");
    assert_reason(44, 6, 92, "");
    assert_reason(44, 6, 93, "the header counts more occupied slots than there are");
}

static void payload_fields_are_checked(void **state)
{
    static const char length[] = "the length does not match the header: cut off, or not one filter";
    (void)state;
    assert_reason(11, 1, 4, length);
    assert_reason(11, 1, 6, length);
    assert_reason(11, 1, 0, length);
    assert_reason(11, 1, 17, "counter_bits must be from 0 to 16");
    assert_reason(11, 1, 255, "counter_bits must be from 0 to 16");
    assert_reason(12, 1, 3, length);  /* values of 5 bits, and a sticky bit with each */
    assert_reason(11, 2, 0x0304, ""); /* values of 4 bits: as wide as a counter of 5 */
    assert_reason(11, 2, 0x0300, "values of no bits");
    assert_reason(11, 2, 0x0321, "value_bits must be from 0 to 32");
    assert_reason(11, 2, 0x03ff, "value_bits must be from 0 to 32");
}

static void fields_of_filters_that_age_are_checked(void **state)
{
    static const char bits[] = "it ages, but not by epochs of 4 bits";
    static const struct {
        unsigned offset, value;
        const char *expected;
    } cases[] = {{11, 4, ""},     {11, 0, bits}, {11, 3, bits},
                 {11, 255, bits}, {13, 15, ""},  {13, 0, bits}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_geometry shape = shape_of(10, 4, 12);
        cf_filter opened;
        const char *why = "";
        shape.epochs = 3;
        shape.cap = 1;
        test_filter made = new_filter(shape);
        made.bytes[cases[i].offset] = (uint8_t)cases[i].value;
        make_checksum_right(made.bytes);
        cf_status status = cf_open(&opened, made.bytes, made.filter.length, &why);
        assert_int_equal(status, *cases[i].expected ? CF_DAMAGED : CF_OK);
        assert_string_equal(why, cases[i].expected);
        free_filter(&made);
    }
}

/* The limit of the bits of the hash, on a header alone: no such filter is in memory. */
static void stages_beyond_the_hash_are_refused(void **state)
{
    cf_header in = {.geometry = growing_shape((uint64_t)1 << 32, 4, 32), .level = 2}, out;
    uint8_t bytes[CF_HEADER_BYTES];
    const char *why = "";
    (void)state;
    in.geometry.pair_bits = 28; /* 4 remainder bits */
    for (in.level = 2; in.level <= 3; in.level++) {
        uint64_t length = cf_bytes_at(&in.geometry, in.level, 0, true);
        in.reserved = CF_RESERVED_MIN;
        cf_header_encode(&in, bytes);
        assert_int_equal(cf_header_decode(bytes, length, &out, &why),
                         in.level == 2 ? CF_OK : CF_DAMAGED);
    }
    assert_string_equal(why, "more buckets than the hash has bits for");
}

static void every_header_bit_of_grown_filters_is_guarded(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 8 * CF_HEADER_BYTES; bit++) {
        test_filter made = filter_at_stage(growing_shape(10, 4, 12), 2, 3);
        cf_filter opened;
        const char *why;
        made.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_OK);
        free_filter(&made);
    }
}

static void fields_without_bounds_are_taken(void **state)
{
    (void)state;
    assert_int_equal(status_with(24, 8, UINT64_MAX, true), CF_OK);     /* seed */
    assert_int_equal(status_with(50, 6, 0xffffffffffff, true), CF_OK); /* capacity */
    assert_int_equal(status_with(12, 1, 1, true), CF_OK);              /* growth */
    assert_int_equal(status_with(4, 1, 2, true), CF_OK);               /* the other hash */
    assert_int_equal(status_with(24, 8, 1, false), CF_DAMAGED);        /* but not by accident */
}

/* How many items the entries stand for is seen by cf_check; that there is no entry at all is seen
** at once. */
static void items_need_entries(void **state)
{
    cf_header header = {.geometry = spilling(shape_of(10, 4, 12), 1, 3),
                        .items = CF_ITEMS_MAX,
                        .reserved = CF_RESERVED_MIN};
    uint8_t bytes[1024];
    const char *why = "";
    cf_header decoded;
    size_t length = cf_geometry_bytes(&header.geometry);
    (void)state;
    cf_header_encode(&header, bytes);
    assert_int_equal(cf_header_decode(bytes, length, &decoded, &why), CF_DAMAGED);
    assert_string_equal(why, "the header counts items, but neither occupied slots nor spilled entries");
    header.occupied = 1;
    cf_header_encode(&header, bytes);
    assert_int_equal(cf_header_decode(bytes, length, &decoded, &why), CF_OK);
    header.occupied = 0;
    header.spilled = 1;
    cf_header_encode(&header, bytes);
    assert_int_equal(cf_header_decode(bytes, length, &decoded, &why), CF_OK);
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

/* Fewer would let a read of a whole word pass the end. */
static void fewer_reserved_bytes_are_refused(void **state)
{
    test_filter made = new_filter(shape_of(10, 4, 12));
    cf_filter opened;
    const char *why = "";
    (void)state;
    made.bytes[56] = CF_RESERVED_MIN - 1;
    make_checksum_right(made.bytes);
    assert_int_equal(cf_open(&opened, made.bytes, made.filter.length - 1, &why), CF_DAMAGED);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(header_survives_the_round_trip),
    cmocka_unit_test(prepared_buckets_survive_the_round_trip),
    cmocka_unit_test(layout_and_list_survive_the_round_trip),
    cmocka_unit_test(key_rule_survives_the_round_trip),
    cmocka_unit_test(every_header_bit_is_guarded),
    cmocka_unit_test(extreme_fields_are_refused),
    cmocka_unit_test(a_later_version_names_the_remedy),
    cmocka_unit_test(fingerprint_range_is_checked),
    cmocka_unit_test(stages_of_growth_are_checked),
    cmocka_unit_test(payload_fields_are_checked),
    cmocka_unit_test(fields_of_filters_that_age_are_checked),
    cmocka_unit_test(stages_beyond_the_hash_are_refused),
    cmocka_unit_test(every_header_bit_of_grown_filters_is_guarded),
    cmocka_unit_test(fields_without_bounds_are_taken),
    cmocka_unit_test(items_need_entries),
    cmocka_unit_test(every_other_length_is_refused),
    cmocka_unit_test(more_reserved_bytes_are_taken),
    cmocka_unit_test(fewer_reserved_bytes_are_refused),
};

RUN_TESTS(tests)
