/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/open.h"

/* A reader answers as cf_open does, whatever it opened before. */
static void reader_opens_as_open_does(void **state)
{
    test_filter one = new_filter(shape_of(10, 4, 12)), two = new_filter(shape_of(10, 4, 12));
    cf_reader reader = {0};
    const char *why = "";
    (void)state;
    assert_int_equal(cf_reader_open(&reader, NULL, 0, &why), CF_DAMAGED);
    for (int i = 0; i < 20; i++) {
        uint64_t left = random64(), right = random64();
        cf_clear(&one.filter);
        cf_clear(&two.filter);
        cf_add(&one.filter, left);
        cf_add(&two.filter, right);
        cf_seal(&one.filter);
        cf_seal(&two.filter); /* equal headers, other contents */
        assert_int_equal(cf_reader_open(&reader, one.bytes, one.filter.length, &why), CF_OK);
        assert_true(cf_contains(&reader.filter, left));
        assert_int_equal(cf_reader_open(&reader, two.bytes, two.filter.length, &why), CF_OK);
        assert_true(cf_contains(&reader.filter, right));
        cf_add(&two.filter, left);
        cf_seal(&two.filter); /* another header at the same place */
        assert_int_equal(cf_reader_open(&reader, two.bytes, two.filter.length, &why), CF_OK);
        assert_int_equal(reader.filter.items, 2);
        assert_int_equal(cf_reader_open(&reader, two.bytes, two.filter.length - 1, &why), CF_DAMAGED);
        assert_int_equal(cf_reader_open(&reader, two.bytes, 0, &why), CF_DAMAGED);
        two.bytes[40] ^= 1;
        assert_int_equal(cf_reader_open(&reader, two.bytes, two.filter.length, &why), CF_DAMAGED);
        assert_int_equal(reader.filter.items, 2); /* unchanged on error */
    }
    free_filter(&one);
    free_filter(&two);
}

/* Of a filter that differs from the last one in its counts alone only these are read. They are validated
** all the same: the answer is that of cf_open. */
static void assert_opens_as_open_does(cf_reader *reader, const uint8_t *bytes, size_t length)
{
    cf_filter opened;
    const char *why = "", *said = "";
    uint64_t items = reader->filter.items;
    cf_status status = cf_open(&opened, bytes, length, &why);
    assert_int_equal(cf_reader_open(reader, bytes, length, &said), status);
    assert_string_equal(said, why);
    if (status != CF_OK) {
        assert_int_equal(reader->filter.items, items);
        return;
    }
    assert_int_equal(reader->filter.items, opened.items);
    assert_int_equal(reader->filter.occupied, opened.occupied);
    assert_int_equal(reader->filter.spilled, opened.spilled);
    assert_int_equal(reader->filter.buckets, opened.buckets);
    assert_int_equal(reader->filter.split, opened.split);
    assert_true(reader->filter.bytes == bytes && reader->filter.view.table == opened.view.table);
    assert_int_equal(reader->filter.view.lookup, opened.view.lookup);
    assert_int_equal(reader->filter.view.narrow_buckets, opened.view.narrow_buckets);
}

static void reader_reads_other_counts(void **state)
{
    const char *why = "";
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        cf_geometry shape = growing_shape(10, 4, 12);
        shape.spill_bound = round & 1 ? 8 : 0;
        test_filter made = growing_filter(shape, UINT64_MAX);
        cf_header header;
        cf_reader reader = {0};
        for (uint64_t n = random_below(100); n > 0; n--)
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        cf_seal(&made.filter);
        uint8_t *bytes = made.filter.view.writable - CF_HEADER_BYTES;
        assert_int_equal(cf_reader_open(&reader, bytes, made.filter.length, &why), CF_OK);
        assert_int_equal(cf_header_decode(bytes, made.filter.length, &header, &why), CF_OK);
        header.items = random_below(4) ? random_below(100) : random64() & CF_ITEMS_MAX;
        header.occupied = random_below(4) ? random_below(100) : random64() & CF_ITEMS_MAX;
        header.spilled = (unsigned)random_below(12);
        cf_header_encode(&header, bytes);
        if (random_below(8) == 0)
            bytes[random_below(CF_HEADER_BYTES)] ^= 1;
        assert_opens_as_open_does(&reader, bytes, made.filter.length);
        free_filter(&made);
    }
}

static void seal_keeps_the_counts(void **state)
{
    test_filter made = new_filter(shape_of(100, 4, 12));
    cf_filter opened;
    const char *why = "";
    (void)state;
    for (int i = 0; i < 5; i++)
        cf_add(&made.filter, 42);
    cf_seal(&made.filter);
    assert_int_equal(cf_open(&opened, made.bytes, made.filter.length, &why), CF_OK);
    assert_int_equal(opened.items, 5);
    assert_int_equal(opened.occupied, 3);
    assert_true(cf_contains(&opened, 42));
    assert_null(opened.view.writable);
    free_filter(&made);
}

/* ---- clearing ---- */

/* The filter is as new, whatever it was, and no byte behind the new end counts. */
static void assert_as_new(test_filter *made, cf_geometry shape)
{
    test_filter fresh = new_filter(shape);
    cf_filter opened;
    const char *why = "";
    cf_memory memory = made->filter.memory;
    cf_clear(&made->filter);
    snapshot then = remember(&fresh.filter);
    assert_unchanged(&made->filter, &then);
    assert_true(made->filter.memory.resize == memory.resize && made->filter.memory.most == memory.most);
    assert_int_equal(cf_open(&opened, made->filter.bytes, made->filter.length, &why), CF_OK);
    assert_sound(&opened);
    free(then.bytes);
    free_filter(&fresh);
}

static void clear_makes_it_as_new(void **state)
{
    cf_geometry shape = growing_shape(10, 4, 12);
    (void)state;
    shape.value_bits = 3;
    test_filter made = growing_filter(shape, UINT64_MAX);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100 << round; i++)
            assert_int_equal(cf_add_value(&made.filter, random64(), i & 7), CF_OK);
        assert_true(made.filter.level > 0);
        assert_as_new(&made, shape);
        assert_false(cf_contains(&made.filter, 5));
    }
    free_filter(&made);
}

/* What was reserved beyond the least is given back as well. */
static void clear_shortens_to_the_least(void **state)
{
    cf_geometry shape = shape_of(10, 4, 12);
    test_filter made = {.bytes = calloc(1, cf_geometry_bytes(&shape) + 12)};
    cf_header header = {.geometry = shape, .reserved = CF_RESERVED_MIN + 12};
    const char *why = "";
    (void)state;
    cf_header_encode(&header, made.bytes);
    assert_int_equal(cf_open_writable(&made.filter, made.bytes, cf_geometry_bytes(&shape) + 12, &why),
                     CF_OK);
    assert_int_equal(cf_add(&made.filter, 5), CF_OK);
    assert_as_new(&made, shape);
    assert_false(cf_contains(&made.filter, 5));
    free_filter(&made);
}

/* ---- grown filters ---- */

/* Opened anew at any moment of growth, a filter is the one that was sealed. */
static void grown_filters_reopen_as_they_were(void **state)
{
    const char *why = "";
    (void)state;
    for (unsigned payload = 0; payload <= 9; payload += 3) {
        cf_geometry shape = growing_shape(10, 8, 12);
        shape.counter_bits = (uint8_t)payload;
        test_filter made = growing_filter(shape, UINT64_MAX);
        for (int i = 0; i < 2000; i++) {
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
            cf_seal(&made.filter);
            snapshot then = remember(&made.filter);
            cf_filter opened;
            assert_int_equal(cf_open(&opened, made.filter.bytes, made.filter.length, &why), CF_OK);
            assert_unchanged(&opened, &then);
            assert_int_equal(opened.view.new_length, made.filter.view.new_length);
            assert_true(opened.view.form.payload_bits == made.filter.view.form.payload_bits);
            assert_true(opened.view.sticky_bit == made.filter.view.sticky_bit);
            assert_int_equal(opened.view.form.payload_bits, payload ? payload : opened.view.grown);
            free(then.bytes);
        }
        free_filter(&made);
    }
}

/* And goes on as the first one does: equal calls, equal bytes. */
static void grown_filters_go_on_as_they_were(void **state)
{
    const char *why = "";
    (void)state;
    for (int round = 0; round < 30; round++) {
        test_filter one = growing_filter(growing_shape(8 + 2 * random_below(5), 8, 12), UINT64_MAX);
        test_filter two;
        for (uint64_t n = random_below(500); n > 0; n--)
            assert_int_equal(cf_add(&one.filter, random64()), CF_OK);
        cf_seal(&one.filter);
        two.bytes = remember(&one.filter).bytes;
        assert_int_equal(cf_open_writable(&two.filter, two.bytes, one.filter.length, &why), CF_OK);
        assert_null(two.filter.memory.resize);
        two.filter.memory = one.filter.memory;
        for (int i = 0; i < 500; i++) {
            uint64_t hash = random64();
            assert_int_equal(cf_add(&one.filter, hash), cf_add(&two.filter, hash));
            assert_int_equal(cf_delete(&one.filter, ~hash), cf_delete(&two.filter, ~hash));
        }
        snapshot then = remember(&one.filter);
        cf_seal(&one.filter);
        cf_seal(&two.filter);
        memcpy(then.bytes, one.filter.bytes, CF_HEADER_BYTES);
        assert_unchanged(&two.filter, &then);
        free(then.bytes);
        free_filter(&one);
        free_filter(&two);
    }
}

/* The view of each stage is the one that opening a filter of that stage makes. */
static void stages_make_the_view_of_an_open_filter(void **state)
{
    (void)state;
    for (unsigned level = 0; level <= 5; level++)
        for (unsigned kind = 0; kind < 4; kind++) {
            cf_geometry shape = growing_shape(10, 4, 12);
            shape.value_bits = kind & 1 ? 7 : 0;
            shape.semisorted = kind & 2;
            test_filter made = new_filter(shape), there = filter_at_stage(shape, level, 7u << level);
            cf_view before = made.filter.view;
            cf_set_stage(&made.filter, level, 7u << level, true);
            cf_rebase(&made.filter, there.filter.bytes, NULL);
            made.filter.view.writable = there.filter.view.writable;
            assert_true(made.filter.buckets == there.filter.buckets);
            assert_memory_equal(&made.filter.view, &there.filter.view, sizeof(cf_view));
            cf_set_stage(&made.filter, 0, 0, false);
            cf_rebase(&made.filter, made.bytes, made.bytes);
            assert_memory_equal(&made.filter.view, &before, sizeof(cf_view));
            free_filter(&made);
            free_filter(&there);
        }
}

/* A view goes on with a copy of its bytes: reading what is there, or writing to it alone. */
static void views_go_on_with_copies(void **state)
{
    test_filter made = new_filter(growing_shape(10, 4, 12));
    cf_filter view = made.filter;
    (void)state;
    assert_int_equal(cf_add(&made.filter, 12345), CF_OK);
    view = made.filter;
    snapshot then = remember(&made.filter);
    cf_rebase(&view, then.bytes, NULL);
    assert_null(view.view.writable);
    assert_true(cf_contains(&view, 12345));
    cf_rebase(&view, then.bytes, then.bytes);
    assert_int_equal(cf_add(&view, 777), CF_OK);
    assert_true(cf_contains(&view, 777) && !cf_contains(&made.filter, 777));
    assert_sound(&view);
    assert_sound(&made.filter);
    free(then.bytes);
    free_filter(&made);
}

/* ---- for reading only ---- */

static cf_geometry shape_of_kind(unsigned kind)
{
    cf_geometry shape = kind & 1 ? growing_shape(100, 4, 12) : shape_of(100, kind == 2 ? 8 : 4, 12);
    shape.semisorted = kind == 4 || kind == 5;
    shape.counter_bits = kind == 6 ? 4 : 0;
    if (kind == 7)
        shape = spilling(shape, 0, 8);
    if (kind == 8) {
        shape.epochs = 3;
        shape.cap = 1;
    }
    return shape;
}

/* Each call that changes filters says that it may not, and no byte and no count is another one. */
static void readers_are_not_changed(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 9; kind++)
        for (unsigned keys = 0; keys <= 300; keys += 100) { /* empty, and up to a growing one's end */
            test_filter made = new_filter(shape_of_kind(kind)), other = new_filter(shape_of_kind(kind));
            const char *why = NULL;
            cf_filter reader;
            enum { MANY = 60 }; /* enough for an empty table to be filled at once */
            uint64_t hashes[MANY];
            size_t added = 7;
            for (unsigned i = 0; i < MANY; i++)
                hashes[i] = random64();
            for (unsigned i = 0; i < keys; i++)
                assert_int_equal(cf_add(&made.filter, i ? random64() : hashes[0]), CF_OK);
            assert_int_equal(cf_add(&other.filter, 12345), CF_OK);
            cf_seal(&made.filter);
            snapshot then = remember(&made.filter);
            assert_int_equal(cf_open(&reader, made.bytes, made.filter.length, &why), CF_OK);
            reader.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
            assert_int_equal(cf_add(&reader, hashes[1]), CF_BAD_ARGUMENT);
            assert_int_equal(cf_delete(&reader, hashes[0]), CF_STICKY);
            assert_int_equal(cf_settle(&reader), CF_BAD_ARGUMENT);
            assert_int_equal(cf_add_many(&reader, hashes, MANY, &added), CF_BAD_ARGUMENT);
            assert_int_equal(added, 0);
            assert_int_equal(cf_merge(&reader, &other.filter, &why), CF_BAD_ARGUMENT);
            assert_string_equal(why, "into: it is open for reading only");
            assert_int_equal(cf_shrink(&reader, &other.filter), CF_BAD_ARGUMENT);
            if (kind == 8)
                cf_advance(&reader);
            cf_clear(&reader);
            cf_seal(&reader);
            assert_unchanged(&reader, &then);
            free(then.bytes);
            free_filter(&made);
            free_filter(&other);
        }
}

/* A view that turns from reading to writing has the same ways as one that was opened for it. */
static void views_turn(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 9; kind++) {
        test_filter made = new_filter(shape_of_kind(kind));
        cf_filter view = made.filter;
        cf_rebase(&view, made.bytes, NULL);
        assert_int_equal(view.view.change, CF_FAST_NONE);
        assert_int_equal(view.view.lookup, made.filter.view.lookup);
        assert_int_equal(cf_add(&view, 12345), CF_BAD_ARGUMENT);
        cf_rebase(&view, made.bytes, made.bytes);
        assert_memory_equal(&view.view, &made.filter.view, sizeof(cf_view));
        assert_int_equal(cf_add(&view, 12345), CF_OK);
        free_filter(&made);
    }
}

/* In a header that is right otherwise, and of a blob of the length that it says. */
static void odd_numbers_of_buckets_are_refused(void **state)
{
    uint8_t bytes[1000] = {0};
    (void)state;
    for (uint64_t buckets = 0; buckets < 64; buckets++) {
        cf_header header = {.geometry = shape_of(buckets, 4, 12), .reserved = CF_RESERVED_MIN};
        cf_filter opened;
        const char *why = "";
        cf_header_encode(&header, bytes);
        cf_status status = cf_open(&opened, bytes, cf_geometry_bytes(&header.geometry), &why);
        assert_int_equal(status, buckets > 0 && buckets % 2 == 0 ? CF_OK : CF_DAMAGED);
        if (status != CF_OK)
            assert_string_equal(why, "the number of base buckets must be even, and at least 2");
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(odd_numbers_of_buckets_are_refused),
    cmocka_unit_test(stages_make_the_view_of_an_open_filter),
    cmocka_unit_test(views_go_on_with_copies),
    cmocka_unit_test(readers_are_not_changed),
    cmocka_unit_test(views_turn),
    cmocka_unit_test(reader_opens_as_open_does),
    cmocka_unit_test(reader_reads_other_counts),
    cmocka_unit_test(seal_keeps_the_counts),
    cmocka_unit_test(clear_makes_it_as_new),
    cmocka_unit_test(clear_shortens_to_the_least),
    cmocka_unit_test(grown_filters_reopen_as_they_were),
    cmocka_unit_test(grown_filters_go_on_as_they_were),
};

RUN_TESTS(tests)
