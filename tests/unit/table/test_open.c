/* SPDX-License-Identifier: MIT */
/* Opening, sealing, clearing; views of the same bytes, and what they may do. */
#include "../../probe.h"
#include "../test.h"

static cf_geometry shape_of_kind(unsigned kind)
{
    cf_geometry shape = kind & 1 ? growing_shape(100, 4, 12) : shape_of(100, kind == 2 ? 8 : 4, 12);
    shape.semisorted = kind == 4 || kind == 5;
    shape.counter_bits = kind == 6 ? 4 : 0;
    if (kind == 7)
        shape = stashing(shape, 0, 8);
    if (kind == 8)
        shape.epochs = 3, shape.max_copies = 1;
    return shape;
}
enum { SHAPES = 9 };

/* ---- readers ---- */

/* A reader answers as cf_open does, whatever it opened before. */
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
    assert_true(reader->filter.items == opened.items && reader->filter.bytes == bytes);
    assert_true(reader->filter.occupied == opened.occupied && reader->filter.epoch == opened.epoch);
    assert_true(reader->filter.stashed == opened.stashed && reader->filter.split == opened.split);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t hash = random_below(200);
        assert_int_equal(cf_contains(&reader->filter, hash), cf_contains(&opened, hash));
    }
}

/* Of filters that are the same but for their counts, for one byte, or not at all. */
TEST(readers_open_one_after_the_other)
{
    cf_reader reader = {0};
    const char *why = "";
    assert_int_equal(cf_reader_open(&reader, NULL, 0, &why), CF_DAMAGED);
    test_filter made = growing_filter(shape_of_kind(0), UINT64_MAX);
    for (unsigned round = 0; round < 3000; round++) {
        if (random_below(4) == 0) {
            free_filter(&made);
            made = growing_filter(shape_of_kind((unsigned)random_below(SHAPES)), UINT64_MAX);
        }
        for (uint64_t n = random_below(3) ? random_below(4) : random_below(500); n > 0; n--)
            cf_add(&made.filter, random_below(200) + (random_below(2) ? random64() : 0));
        if (made.filter.geometry.epochs && random_below(3) == 0)
            cf_advance(&made.filter);
        cf_seal(&made.filter);
        uint8_t *bytes = bytes_of(&made.filter);
        size_t length = made.filter.length, at = random_below(64);
        assert_opens_as_open_does(&reader, bytes, length);
        uint8_t was = bytes[at];
        bytes[at] ^= (uint8_t)(1u << random_below(8));
        assert_opens_as_open_does(&reader, bytes, length);
        uint64_t sum = cf_checksum(bytes);
        for (unsigned i = 0; i < 4 && random_below(2); i++)
            bytes[60 + i] = (uint8_t)(sum >> (8 * i));
        assert_opens_as_open_does(&reader, bytes, random_below(8) ? length : random_below(length));
        bytes[at] = was;
        cf_seal(&made.filter);
    }
    free_filter(&made);
}

/* ---- labels behind a filter ---- */

/* A label is 1 to 255 bytes of text, their number and three bytes; nothing else is one. A filter may end in
** the same way, and is opened as it is. */
TEST(labels_are_no_part_of_a_filter)
{
    for (unsigned kind = 0; kind < SHAPES; kind++) {
        test_filter made = new_filter(shape_of_kind(kind));
        size_t own = (size_t)made.filter.length;
        cf_filter opened;
        const char *why = NULL;
        for (unsigned n = 0; n < 256; n++) {
            size_t length = own + n + 4;
            uint8_t *bytes = calloc(1, length); /* a sanitizer sees what is read beyond it */
            memcpy(bytes, made.bytes, own);
            memcpy(bytes + own + n, (const uint8_t[]){(uint8_t)n, 0xcf, 0x6c, 0x62}, 4);
            assert_int_equal(cf_without_label(bytes, length), n ? own : length);
            assert_int_equal(cf_open(&opened, bytes, length, &why), CF_DAMAGED);
            bytes[own + n + random_below(4)] ^= 0x80;
            size_t changed = cf_without_label(bytes, length);
            assert_true(changed == length || cf_open(&opened, bytes, changed, &why) == CF_DAMAGED);
            free(bytes);
        }
        assert_int_equal(cf_without_label(made.bytes, own), own);
        memcpy(made.bytes + own - 4, (const uint8_t[]){1, 0xcf, 0x6c, 0x62}, 4);
        assert_int_equal(cf_without_label(made.bytes, own), own);
        for (size_t length = 0; length <= CF_HEADER_BYTES + 4; length++)
            assert_int_equal(cf_without_label(made.bytes + own - length, length), length);
        free_filter(&made);
    }
    assert_int_equal(cf_without_label(NULL, 0), 0);
}

/* ---- sealing, clearing ---- */

/* In bytes that are zeros already, the same. */
TEST(zeros_become_the_same_filter)
{
    for (unsigned kind = 0; kind < SHAPES; kind++) {
        cf_geometry shape = shape_of_kind(kind);
        test_filter made = new_filter(shape);
        snapshot then = remember(&made.filter);
        cf_filter other;
        uint8_t *zeros = calloc(1, cf_geometry_bytes(&shape));
        cf_create_in_zeros(&other, &shape, zeros);
        assert_unchanged(&other, &then);
        assert_int_equal(cf_add(&other, 5), CF_OK);
        assert_true(cf_contains(&other, 5));
        free(zeros);
        free(then.bytes);
        free_filter(&made);
    }
}

/* ---- going on ---- */

/* A view goes on with a copy of its bytes: reading what is there, or writing to it alone. */
static bool never(void *context)
{
    (void)context;
    return false;
}

TEST(clearing_keeps_what_the_caller_has_set)
{
    test_filter made = growing_filter(growing_shape(100, 4, 12), 0);
    const cf_memory memory = made.filter.memory;
    cf_watch watch = {.stop = never};
    made.filter.watch = &watch;
    assert_int_equal(cf_clear(&made.filter), CF_OK);
    assert_ptr_equal(made.filter.watch, &watch);
    assert_memory_equal(&made.filter.memory, &memory, sizeof memory);
    free_filter(&made);
}

TEST(views_go_on_with_copies)
{
    for (unsigned kind = 0; kind < SHAPES; kind++) {
        test_filter made = new_filter(shape_of_kind(kind));
        assert_int_equal(cf_add(&made.filter, 12345), CF_OK);
        cf_filter view = made.filter;
        snapshot then = remember(&made.filter);
        cf_rebase(&view, then.bytes, NULL);
        assert_int_equal(cf_add(&view, 777), CF_READ_ONLY);
        assert_true(cf_contains(&view, 12345));
        cf_rebase(&view, then.bytes, then.bytes);
        assert_int_equal(cf_add(&view, 777), CF_OK);
        assert_true(cf_contains(&view, 777) && !cf_contains(&made.filter, 777));
        assert_sound(&view);
        assert_sound(&made.filter);
        free(then.bytes);
        free_filter(&made);
    }
}

/* ---- for reading only ---- */

/* Each call that changes filters says that it may not, and no byte and no count is another one. */
TEST(readers_are_not_changed)
{
    enum { MANY = 60 }; /* enough for an empty table to be filled at once */
    for (unsigned kind = 0; kind < SHAPES; kind++)
        for (unsigned n = 0; n <= 300; n += 100) {
            test_filter made = new_filter(shape_of_kind(kind)), other = new_filter(shape_of_kind(kind));
            const char *why = NULL;
            cf_filter reader;
            size_t added = 7;
            keys all = random_keys(MANY);
            for (unsigned i = 0; i < n; i++)
                assert_int_equal(cf_add(&made.filter, i ? random64() : all.hash[0]), CF_OK);
            assert_int_equal(cf_add(&other.filter, 12345), CF_OK);
            cf_seal(&made.filter);
            snapshot then = remember(&made.filter);
            assert_int_equal(cf_open(&reader, made.bytes, made.filter.length, &why), CF_OK);
            reader.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
            assert_int_equal(cf_add(&reader, all.hash[1]), CF_READ_ONLY);
            assert_int_equal(cf_delete(&reader, all.hash[0]), CF_READ_ONLY);
            assert_int_equal(cf_settle(&reader), CF_READ_ONLY);
            assert_int_equal(cf_add_many(&reader, all.hash, MANY, &added), CF_READ_ONLY);
            assert_int_equal(added, 0);
            assert_int_equal(cf_merge(&reader, &other.filter, &why), CF_READ_ONLY);
            assert_string_equal(why, "into: it is read-only");
            assert_int_equal(cf_shrink(&reader, &other.filter), CF_READ_ONLY);
            if (kind == 8)
                cf_advance(&reader);
            cf_clear(&reader);
            cf_seal(&reader);
            assert_unchanged(&reader, &then);
            free(then.bytes);
            free(all.hash);
            free_filter(&made);
            free_filter(&other);
        }
}
