/* SPDX-License-Identifier: MIT */
/* The header of a filter: what is written is read again, and what cannot be is refused with a reason. */
#include "../../probe.h"
#include "../test.h"

enum { HEADER = 64 };

static uint64_t number_at(const uint8_t *bytes, unsigned offset, unsigned width)
{
    uint64_t n = 0;
    while (width > 0)
        n = n << 8 | bytes[offset + --width];
    return n;
}

/* Writes a field. */
static void patch(uint8_t *bytes, unsigned offset, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        bytes[offset + i] = (uint8_t)(value >> (8 * i));
}

static void make_checksum_right(uint8_t *bytes)
{
    patch(bytes, 60, 4, cf_checksum(bytes));
}

static cf_status status_of(const uint8_t *bytes, uint64_t length, const char **why)
{
    cf_filter opened = {.buckets = 77};
    *why = "";
    cf_status status = cf_open(&opened, bytes, (size_t)length, why);
    assert_int_equal(status == CF_OK, **why == 0);
    assert_int_equal(status == CF_OK, opened.buckets != 77); /* unchanged on error */
    return status;
}

/* ---- what is written is read ---- */

static void assert_same_shape(const cf_geometry *a, const cf_geometry *b)
{
    assert_true(a->buckets == b->buckets && a->capacity == b->capacity << 16 >> 16 &&
                a->seed == b->seed);
    assert_true(a->keyed == b->keyed && a->growth == b->growth && a->semisorted == b->semisorted);
    assert_true(a->bucket_size == b->bucket_size && a->fingerprint_bits == b->fingerprint_bits);
    assert_true(a->pair_bits == b->pair_bits && a->max_copies == b->max_copies &&
                a->epochs == b->epochs);
    assert_true(a->counter_bits == b->counter_bits && a->value_bits == b->value_bits);
    assert_true(a->budget == b->budget && a->stash_size == b->stash_size);
    assert_true(a->affinity == b->affinity && a->collation == b->collation);
    assert_int_equal(a->key_types, b->key_types);
}

static cf_geometry any_shape(void)
{
    unsigned f = 5 + (unsigned)random_below(28), payload = (unsigned)random_below(4);
    cf_geometry shape = {.buckets = 2 + 2 * random_below(40),
                         .capacity = random64() >> 16 * random_below(2), /* six bytes are stored */
                         .seed = (int64_t)random64(),
                         .keyed = random_below(2),
                         .bucket_size = (uint8_t)(1u << random_below(4)),
                         .fingerprint_bits = (uint8_t)f,
                         .pair_bits = (uint8_t)(4 + random_below(f - 3)),
                         .growth = random_below(2),
                         .affinity = (uint8_t)random_below(4),
                         .collation = (uint8_t)random_below(3),
                         .key_types = (uint8_t)random_below(16)};
    shape.max_copies = (uint8_t)(1 + random_below(2u * shape.bucket_size));
    shape.semisorted = shape.bucket_size == 4 && random_below(2);
    shape.counter_bits = (uint8_t)(payload == 1 ? 1 + random_below(CF_COUNTER_MAX) : 0);
    shape.value_bits = (uint8_t)(payload == 2 ? 1 + random_below(CF_WIDE_VALUE_MAX) : 0);
    if (payload == 3) {
        shape.epochs = (uint8_t)(1 + random_below(CF_EPOCHS_MAX));
        shape.max_copies = 1;
    } else if (shape.value_bits <= CF_VALUE_MAX && random_below(2)) {
        shape = stashing(shape, (unsigned)random_below(256), 1 + (unsigned)random_below(CF_STASH_MAX));
    }
    return shape;
}

/* At any stage of growth, with any counts. */
TEST(headers_survive_the_round_trip)
{
    const char *why = "";
    for (unsigned round = 0; round < 1000; round++) {
        cf_geometry shape = any_shape();
        test_filter made = growing_filter(shape, UINT64_MAX);
        cf_filter *filter = &made.filter, opened;
        for (uint64_t n = shape.growth ? random_below(60) : 0; n > 0; n--)
            probe_split(filter);
        for (uint64_t n = random_below(40); n > 0; n--)
            cf_add(filter, random64());
        for (uint64_t n = shape.epochs ? random_below(20) : 0; n > 0; n--)
            cf_advance(filter);
        cf_seal(filter);
        assert_int_equal(cf_open(&opened, filter->bytes, filter->length, &why), CF_OK);
        assert_same_shape(&opened.geometry, &shape);
        assert_true(opened.level == filter->level && opened.split == filter->split);
        assert_true(opened.items == filter->items && opened.occupied == filter->occupied);
        assert_true(opened.epoch == filter->epoch && opened.stashed == filter->stashed);
        assert_true(opened.buckets == filter->buckets && opened.length == filter->length);
        free_filter(&made);
    }
}

/* Where format.h says that they are. */
TEST(fields_have_their_places)
{
    for (unsigned round = 0; round < 200; round++) {
        cf_geometry shape = any_shape();
        test_filter made = new_filter(shape);
        const uint8_t *bytes = made.bytes;
        unsigned payload = shape.epochs ? 4u : shape.counter_bits + shape.value_bits;
        assert_int_equal(number_at(bytes, 0, 4), 0x026b63cf);
        assert_true(bytes[4] == ((1 + shape.keyed) | shape.key_types << 4) &&
                    bytes[5] == shape.bucket_size);
        assert_true(bytes[6] == shape.fingerprint_bits && bytes[7] == shape.pair_bits);
        assert_true(bytes[8] == shape.max_copies && bytes[9] == shape.fingerprint_bits &&
                    bytes[10] == 0);
        assert_int_equal(bytes[11], payload);
        assert_int_equal(bytes[12], shape.growth | (shape.value_bits > 0) << 1 | shape.semisorted << 2 |
                                        shape.affinity << 3 | shape.collation << 5 |
                                        (shape.epochs > 0) << 7);
        assert_int_equal(bytes[13], shape.epochs ? shape.epochs : shape.budget);
        assert_true(number_at(bytes, 14, 2) == shape.stash_size && number_at(bytes, 16, 2) == 0);
        assert_true(number_at(bytes, 18, 6) == shape.buckets);
        assert_true(number_at(bytes, 24, 8) == (uint64_t)shape.seed);
        assert_true(number_at(bytes, 50, 6) == shape.capacity << 16 >> 16 &&
                    number_at(bytes, 56, 4) == 8);
        assert_int_equal(number_at(bytes, 60, 4), cf_checksum(bytes));
        free_filter(&made);
    }
}

/* ---- what cannot be ---- */

static const char length[] = "the length does not match the header: cut off, or not one filter";
static const char width[] = "the width of slots is not that of its stage of growth";
static const char numbers[] = "more buckets than the format has numbers for";
static const char beyond[] = "the split pointer is beyond the level";
static const char counter[] = "counter_bits must be from 0 to 16";
static const char value[] = "value_bits must be from 0 to 62";
static const char forbidden[] = "it has grown, although growth is off";
static const char both[] = "a filter with a stash does not grow";
static const char ages[] = "it has epochs, but not of 4 bits";

typedef enum kind { PLAIN, GROWN, AGEING, LISTED, MAY_GROW } kind;

/* GROWN: level 1, split pointer 3, slots of 12 + 5 bits, counters of 5. */
static test_filter of_kind(kind which)
{
    cf_geometry shape =
        which == PLAIN || which == AGEING ? shape_of(10, 4, 12) : growing_shape(10, 4, 12);
    shape.counter_bits = which == GROWN ? 5 : 0;
    if (which == AGEING)
        shape.epochs = 3, shape.max_copies = 1;
    test_filter made = growing_filter(which == LISTED ? stashing(shape, 1, 3) : shape, UINT64_MAX);
    for (unsigned i = 0; i < 13 && which == GROWN; i++)
        assert_true(probe_split(&made.filter));
    cf_seal(&made.filter);
    return made;
}

/* One field changed, and the checksum made right. */
static const struct {
    kind of;
    unsigned offset, width;
    uint64_t value;
    cf_status expected;
    const char *why; /* NULL: any */
} changes[] = {
    {PLAIN, 0, 3, 0, CF_DAMAGED, NULL},
    {PLAIN, 3, 1, 3, CF_NEWER, "format version"},
    {PLAIN, 3, 1, 255, CF_NEWER, "format version"},
    {PLAIN, 3, 1, 0, CF_DAMAGED, "an earlier format, which is not supported"},
    {PLAIN, 3, 1, 1, CF_DAMAGED, "an earlier format, which is not supported"},
    {PLAIN, 4, 1, 0, CF_NEWER, "hash"},
    {PLAIN, 4, 1, 3, CF_NEWER, "hash"},
    {PLAIN, 4, 1, 200, CF_NEWER, "hash"},
    {PLAIN, 4, 1, 255, CF_NEWER, "hash"},
    {PLAIN, 5, 1, 0, CF_DAMAGED, NULL},
    {PLAIN, 5, 1, 3, CF_DAMAGED, NULL},
    {PLAIN, 5, 1, 8, CF_DAMAGED, NULL},
    {PLAIN, 5, 1, 255, CF_DAMAGED, NULL},
    {PLAIN, 6, 1, 13, CF_DAMAGED, NULL},
    {PLAIN, 6, 2, 0x0803, CF_DAMAGED, NULL},
    {PLAIN, 7, 1, 3, CF_DAMAGED, NULL},
    {PLAIN, 7, 1, 13, CF_DAMAGED, NULL},
    {PLAIN, 8, 1, 0, CF_DAMAGED, NULL},
    {PLAIN, 8, 1, 9, CF_DAMAGED, NULL},
    {PLAIN, 9, 1, 20, CF_DAMAGED, NULL},
    {PLAIN, 10, 1, 1, CF_DAMAGED, NULL},
    {PLAIN, 11, 1, 8, CF_DAMAGED, NULL},
    {PLAIN, 11, 1, 255, CF_DAMAGED, NULL},
    {PLAIN, 12, 1, 2, CF_DAMAGED, NULL},
    {PLAIN, 12, 1, 4, CF_DAMAGED, NULL},
    {PLAIN, 12, 1, 0x60, CF_NEWER, "flag"},
    {PLAIN, 12, 1, 0x82, CF_NEWER, "flag"},
    {PLAIN, 12, 1, 255, CF_NEWER, "flag"},
    {PLAIN, 12, 1, 0x80, CF_DAMAGED, NULL},
    {PLAIN, 13, 1, 1, CF_DAMAGED, NULL},
    {PLAIN, 14, 2, 1, CF_DAMAGED, NULL},
    {PLAIN, 14, 2, 4097, CF_DAMAGED, NULL},
    {PLAIN, 16, 2, 1, CF_DAMAGED, NULL},
    {PLAIN, 18, 6, 0, CF_DAMAGED, "the number of base buckets must be even, and at least 2"},
    {PLAIN, 18, 6, 9, CF_DAMAGED, "the number of base buckets must be even, and at least 2"},
    {PLAIN, 18, 6, 12, CF_DAMAGED, length},
    {PLAIN, 18, 6, 0xffffffffffff, CF_DAMAGED, NULL},
    {PLAIN, 32, 6, 1, CF_DAMAGED, forbidden},
    {PLAIN, 38, 6, 1, CF_DAMAGED,
     "the header counts items, but neither occupied slots nor stashed entries"},
    {PLAIN, 44, 6, 40, CF_OK, ""},
    {PLAIN, 44, 6, 41, CF_DAMAGED, "the header counts more occupied slots than there are"},
    {PLAIN, 44, 6, 0xffffffffffff, CF_DAMAGED, NULL},
    {PLAIN, 56, 4, 0, CF_DAMAGED, NULL},
    {PLAIN, 56, 4, 7, CF_DAMAGED, NULL},
    {PLAIN, 56, 4, 0xffffffff, CF_DAMAGED, NULL},
    {PLAIN, 24, 8, UINT64_MAX, CF_OK, ""},     /* seed */
    {PLAIN, 50, 6, 0xffffffffffff, CF_OK, ""}, /* capacity */
    {PLAIN, 12, 1, 1, CF_OK, ""},              /* growth */
    {PLAIN, 4, 1, 2, CF_OK, ""},               /* the other hash */
    {PLAIN, 4, 1, 0xf1, CF_OK, ""},            /* keys of every type */
    {MAY_GROW, 32, 6, 11, CF_DAMAGED, beyond},
    {MAY_GROW, 32, 6, 1, CF_DAMAGED, width},
    {MAY_GROW, 10, 1, 1, CF_DAMAGED, width},
    {MAY_GROW, 9, 1, 17, CF_DAMAGED, width},
    {LISTED, 14, 2, 2, CF_DAMAGED, length},
    {LISTED, 32, 6, 1, CF_DAMAGED, forbidden},
    {LISTED, 12, 1, 1, CF_DAMAGED, both},
    {MAY_GROW, 14, 2, 3, CF_DAMAGED, both},
    {GROWN, 14, 2, 3, CF_DAMAGED, both},
    {LISTED, 16, 2, 3, CF_OK, ""},
    {LISTED, 16, 2, 4, CF_DAMAGED, NULL},
    {GROWN, 9, 1, 17, CF_OK, ""},
    {GROWN, 9, 1, 16, CF_DAMAGED, width},
    {GROWN, 9, 1, 18, CF_DAMAGED, width},
    {GROWN, 9, 1, 12, CF_DAMAGED, width},
    {GROWN, 9, 1, 0, CF_DAMAGED, width},
    {GROWN, 9, 1, 255, CF_DAMAGED, width},
    {GROWN, 10, 1, 0, CF_DAMAGED, length},
    {GROWN, 10, 1, 2, CF_DAMAGED, length},
    {GROWN, 10, 1, 40, CF_DAMAGED, numbers},
    {GROWN, 10, 1, 255, CF_DAMAGED, numbers},
    {GROWN, 32, 6, 2, CF_DAMAGED, length},
    {GROWN, 32, 6, 4, CF_DAMAGED, length},
    {GROWN, 32, 6, 21, CF_DAMAGED, beyond},
    {GROWN, 32, 6, 0xffffffffffff, CF_DAMAGED, beyond},
    {GROWN, 12, 1, 0, CF_DAMAGED, forbidden},
    {GROWN, 44, 6, 92, CF_OK, ""},
    {GROWN, 44, 6, 93, CF_DAMAGED, "the header counts more occupied slots than there are"},
    {GROWN, 11, 1, 4, CF_DAMAGED, length},
    {GROWN, 11, 1, 6, CF_DAMAGED, length},
    {GROWN, 11, 1, 0, CF_DAMAGED, length},
    {GROWN, 11, 1, 17, CF_DAMAGED, counter},
    {GROWN, 11, 1, 255, CF_DAMAGED, counter},
    {GROWN, 12, 1, 3, CF_DAMAGED, length}, /* values of 5 bits, and a saturated bit with each */
    {GROWN, 11, 2, 0x0304, CF_OK, ""},     /* values of 4 bits: as wide as a counter of 5 */
    {GROWN, 11, 2, 0x0300, CF_DAMAGED, "values of zero bits"},
    {GROWN, 11, 2, 0x033f, CF_DAMAGED, value},
    {GROWN, 11, 2, 0x03ff, CF_DAMAGED, value},
    {AGEING, 11, 1, 4, CF_OK, ""},
    {AGEING, 11, 1, 0, CF_DAMAGED, ages},
    {AGEING, 11, 1, 3, CF_DAMAGED, ages},
    {AGEING, 11, 1, 255, CF_DAMAGED, ages},
    {AGEING, 13, 1, 15, CF_OK, ""},
    {AGEING, 13, 1, 0, CF_DAMAGED, ages},
};

/* Whoever builds a filter of a later version anew has lost its keys: the reason names the only remedy. */
TEST(each_field_is_checked)
{
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        test_filter made = of_kind(changes[i].of);
        const char *why, *expected = changes[i].why;
        patch(bytes_of(&made.filter), changes[i].offset, changes[i].width, changes[i].value);
        make_checksum_right(bytes_of(&made.filter));
        cf_status status = status_of(made.filter.bytes, made.filter.length, &why);
        bool later = status == CF_NEWER;
        if (status != changes[i].expected || (expected && !later && strcmp(why, expected) != 0))
            fail_msg("change %u: %s, %s", i, cf_status_text(status), why);
        if (later) {
            assert_non_null(strstr(why, "made by a later version (unknown "));
            assert_non_null(strstr(why, expected));
            assert_non_null(strstr(why, "; use the version that wrote it"));
        }
        free_filter(&made);
    }
}

/* Both the fingerprint and the slot width out of range, so that only the range check can see it; and more
** buckets than hashes have bits for. */
TEST(two_fields_are_checked)
{
    static const uint8_t widths[] = {0, 3, 33, 255};
    const char *why;
    test_filter made = of_kind(PLAIN);
    for (unsigned i = 0; i < sizeof widths; i++) {
        made.bytes[6] = made.bytes[9] = widths[i];
        make_checksum_right(made.bytes);
        assert_int_equal(status_of(made.bytes, made.filter.length, &why), CF_DAMAGED);
    }
    free_filter(&made);
    made = of_kind(LISTED); /* an item that lies in the list */
    made.bytes[38] = made.bytes[16] = 1;
    make_checksum_right(made.bytes);
    assert_int_equal(status_of(made.bytes, made.filter.length, &why), CF_OK);
    free_filter(&made);
    made = of_kind(MAY_GROW); /* 32 + 28 bits of the base bucket and the pair, 2 of new entries */
    patch(made.bytes, 18, 6, (uint64_t)1 << 32);
    patch(made.bytes, 6, 2, 28 << 8 | 32);
    patch(made.bytes, 9, 2, 3 << 8 | 37); /* level 3 */
    make_checksum_right(made.bytes);
    assert_int_equal(status_of(made.bytes, made.filter.length, &why), CF_DAMAGED);
    assert_string_equal(why, "more buckets than the hash has bits for");
    patch(made.bytes, 9, 2, 2 << 8 | 37);
    make_checksum_right(made.bytes);
    assert_int_equal(status_of(made.bytes, made.filter.length, &why), CF_DAMAGED);
    assert_string_equal(why, length);
    free_filter(&made);
}

TEST(every_bit_is_guarded)
{
    const char *why;
    for (kind which = PLAIN; which <= MAY_GROW; which++) {
        test_filter made = of_kind(which);
        uint8_t *bytes = bytes_of(&made.filter);
        for (unsigned bit = 0; bit < 8 * HEADER; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_int_not_equal(status_of(bytes, made.filter.length, &why), CF_OK);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        free_filter(&made);
    }
}

/* Any other length, in memory of exactly that length. More reserved bytes than the least are a sound
** filter: later versions reserve room to grow. Fewer would let a read of a whole word pass the end. */
TEST(lengths_are_checked)
{
    enum { MORE = 100 };
    const char *why;
    test_filter made = of_kind(PLAIN);
    size_t right = made.filter.length;
    for (size_t n = 0; n <= right + 1; n++) {
        uint8_t *bytes = calloc(1, n ? n : 1);
        memcpy(bytes, made.bytes, n < right ? n : right);
        assert_int_equal(status_of(bytes, n, &why), n == right ? CF_OK : CF_DAMAGED);
        free(bytes);
    }
    uint8_t *longer = calloc(1, right + MORE);
    cf_filter opened;
    memcpy(longer, made.bytes, right);
    patch(longer, 56, 4, 8 + MORE);
    make_checksum_right(longer);
    assert_int_equal(cf_open_writable(&opened, longer, right + MORE, &why), CF_OK);
    assert_int_equal(cf_add(&opened, 12345), CF_OK);
    cf_seal(&opened);
    assert_int_equal(status_of(longer, right + MORE, &why), CF_OK);
    assert_sound(&opened);
    cf_clear(&opened); /* which gives back what was reserved beyond the least */
    assert_true(opened.length == right && memcmp(longer, made.bytes, right) == 0);
    patch(longer, 56, 4, 7);
    make_checksum_right(longer);
    assert_int_equal(status_of(longer, right - 1, &why), CF_DAMAGED);
    free(longer);
    free_filter(&made);
}
