/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/address.h"
#include "../../../src/table/bucket.h"
#include "../../../src/table/open.h"

enum {
    SLOTS = CF_SEMISORT_SLOTS,
    CODES = 3876,
    BUCKETS = 17 /* so that records start at every bit of a byte */
};

static const unsigned levels[] = {0, 1, 2, 3, 5, 7, 10, 15, 22, 31, 39};
enum { LEVELS = sizeof levels / sizeof levels[0] };

/* ---- codes ---- */

/* In colexicographic order, the largest nibble outermost: each has the next code. */
static void codes_number_the_sorted_nibbles(void **state)
{
    unsigned code = 0;
    (void)state;
    for (unsigned d = 0; d < 16; d++)
        for (unsigned c = 0; c <= d; c++)
            for (unsigned b = 0; b <= c; b++)
                for (unsigned a = 0; a <= b; a++, code++) {
                    unsigned nibbles = a | b << 4 | c << 8 | d << 12;
                    assert_int_equal(cf_semisort_code(nibbles), code);
                    assert_int_equal(cf_nibbles_of(code), nibbles);
                }
    assert_int_equal(code, CODES);
    for (; code < 1 << CF_CODE_BITS; code++)
        assert_int_equal(cf_nibbles_of(code), 0);
}

/* ---- buckets ---- */

/* A view of 17 buckets with slots as wide as at this level, in memory that ends where it may. */
static cf_filter view_at(cf_geometry shape, unsigned level, bool grown)
{
    test_filter made = new_filter(shape);
    cf_filter view = made.filter;
    cf_set_stage(&view, level, 0, grown);
    view.view.narrow_buckets = 0;
    view.view.writable = calloc(1, (BUCKETS * view.view.form.bucket_bits + 7) / 8 + CF_RESERVED_MIN);
    assert_non_null(view.view.writable);
    view.view.table = view.view.writable;
    free_filter(&made);
    return view;
}

/* Payloads of any kind, an overflow bit or none. */
static cf_geometry any_shape(unsigned f)
{
    cf_geometry shape = semisorted(shape_of(2, 4, f));
    shape.pair_bits = (uint8_t)(4 + random_below(f - 3));
    shape.growth = true;
    shape.spill_bound = (uint16_t)random_below(2);
    if (random_below(2))
        shape.counter_bits = (uint8_t)random_below(17);
    else
        shape.value_bits = (uint8_t)random_below(33);
    return shape;
}

typedef void view_check(cf_filter *view);

/* Slots of every width from 5 bits to 44. */
static void at_every_width(view_check *check)
{
    uint64_t widths = 0;
    for (unsigned f = 5; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned i = 0; i <= LEVELS; i++) {
            cf_filter view = view_at(any_shape(f), i < LEVELS ? levels[i] : 0, i < LEVELS);
            check(&view);
            widths |= (uint64_t)1 << view.view.form.lanes.width;
            free(view.view.writable);
        }
    assert_true(widths == (cf_low_bits(45) & ~cf_low_bits(5)));
}

/* What the buckets should hold. */
typedef struct contents {
    cf_record record[BUCKETS];
    bool overflow[BUCKETS];
} contents;

/* Few different tags and payloads now and then, so that there are ties; an empty slot has no
** payload. */
static void random_entry(const cf_filter *view, uint64_t *tag, uint64_t *payload)
{
    uint64_t few = random_below(2) ? UINT64_MAX : 0x33;
    *tag = random64() & few & view->view.form.slot_mask;
    *payload = *tag ? random64() & few & cf_low_bits(view->view.form.payload_bits) : 0;
}

static uint64_t rotated(uint64_t tag)
{
    return tag >> 4 | tag << 60;
}

static bool comes_before(const cf_record *record, unsigned i, unsigned j)
{
    uint64_t a = rotated(record->tag[i]), b = rotated(record->tag[j]);
    return a != b ? a < b : record->payload[i] < record->payload[j];
}

static void swap(uint64_t *list, unsigned i, unsigned j)
{
    uint64_t kept = list[i];
    list[i] = list[j];
    list[j] = kept;
}

static void swap_slots(cf_record *record, unsigned i, unsigned j)
{
    swap(record->tag, i, j);
    swap(record->payload, i, j);
}

/* By nibble, top and payload. */
static void sort_record(cf_record *record)
{
    for (unsigned i = 0; i < SLOTS; i++)
        for (unsigned j = i + 1; j < SLOTS; j++)
            if (comes_before(record, j, i))
                swap_slots(record, i, j);
}

static void shuffle(cf_record *record)
{
    for (unsigned i = SLOTS; i > 1; i--)
        swap_slots(record, i - 1, (unsigned)random_below(i));
}

/* The words of a bucket are those of a plain one with the same slots. */
static void assert_words(const cf_filter *view, uint64_t bucket, const uint64_t *tag)
{
    const cf_form *form = cf_form_of(view, bucket);
    for (unsigned word = 0; word < form->lanes.words; word++) {
        uint64_t expected = 0;
        for (unsigned i = 0; i < form->lanes.count; i++)
            expected |= *tag++ << i * form->lanes.width;
        assert_true(cf_word(view, form, bucket, word) == expected);
    }
}

static void assert_bucket(const cf_filter *view, uint64_t bucket, const cf_record *expected)
{
    cf_record read;
    bool empty = false;
    const cf_form *form = cf_form_of(view, bucket);
    cf_record_read(view, bucket, &read);
    for (unsigned i = 0; i < SLOTS; i++) {
        assert_true(read.tag[i] == expected->tag[i] && cf_slot_get(view, bucket, i) == expected->tag[i]);
        assert_true(read.payload[i] == expected->payload[i]);
        empty |= expected->tag[i] == 0;
    }
    assert_words(view, bucket, expected->tag);
    assert_true(cf_semisort_in_order(view, form, cf_record_at(view, form, bucket)));
    assert_int_equal(cf_bucket_free_slot(view, bucket), empty ? 0 : -1);
}

static void assert_contents(const cf_filter *view, const contents *expected)
{
    for (uint64_t bucket = 0; bucket < BUCKETS; bucket++) {
        assert_bucket(view, bucket, &expected->record[bucket]);
        assert_int_equal(cf_overflow_get(view, bucket), expected->overflow[bucket]);
    }
}

static void write_bucket(cf_filter *view, uint64_t bucket, contents *expected)
{
    cf_record *record = &expected->record[bucket];
    for (unsigned i = 0; i < SLOTS; i++)
        random_entry(view, &record->tag[i], &record->payload[i]);
    cf_record_write(view, bucket, record);
    sort_record(record);
}

static void write_slot(cf_filter *view, uint64_t bucket, contents *expected)
{
    cf_record *record = &expected->record[bucket];
    unsigned slot = (unsigned)random_below(SLOTS);
    random_entry(view, &record->tag[slot], &record->payload[slot]);
    uint64_t payload = record->payload[slot];
    if (record->tag[slot] == 0 && cf_form_of(view, bucket)->is_short)
        payload = random64() & cf_low_bits(cf_form_of(view, bucket)->payload_bits); /* is not kept */
    cf_slot_set(view, bucket, slot, record->tag[slot], payload);
    sort_record(record);
}

static void write_overflow(cf_filter *view, uint64_t bucket, contents *expected)
{
    if (view->geometry.spill_bound)
        cf_overflow_set(view, bucket, expected->overflow[bucket] = random_below(2));
}

/* Whole buckets, single slots and overflow bits in turn: each changes what it should, and no
** neighbour. */
static void check_writing(cf_filter *view)
{
    static void (*const writes[])(cf_filter *, uint64_t, contents *) = {write_bucket, write_slot,
                                                                        write_overflow};
    contents expected;
    memset(&expected, 0, sizeof expected);
    for (int k = 0; k < 120; k++) {
        writes[random_below(3)](view, random_below(BUCKETS), &expected);
        if (k % 8 == 0)
            assert_contents(view, &expected);
    }
    assert_contents(view, &expected);
}

static void buckets_keep_what_is_written_in_order(void **state)
{
    (void)state;
    at_every_width(check_writing);
}

/* Whatever the order in which they come: the same bytes. */
static void check_canonical(cf_filter *view)
{
    uint64_t length = (BUCKETS * view->view.form.bucket_bits + 7) / 8;
    uint8_t *first = malloc(length);
    for (int k = 0; k < 10; k++) {
        uint64_t bucket = random_below(BUCKETS);
        contents unused;
        write_bucket(view, bucket, &unused);
        cf_record record = unused.record[bucket];
        memcpy(first, view->view.table, length);
        for (int round = 0; round < 24; round++) {
            shuffle(&record);
            cf_record_write(view, bucket, &record);
            assert_memory_equal(view->view.table, first, length);
        }
    }
    free(first);
}

static void equal_contents_are_equal_bytes(void **state)
{
    (void)state;
    at_every_width(check_canonical);
}

/* Slot by slot in any order, as adds come. */
static void order_of_adding_leaves_no_trace(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        cf_filter view = view_at(any_shape(5 + (unsigned)random_below(28)), 0, false);
        uint64_t length = (BUCKETS * view.view.form.bucket_bits + 7) / 8;
        uint8_t *first = malloc(length);
        contents one;
        write_bucket(&view, 5, &one);
        memcpy(first, view.view.table, length);
        cf_record_write(&view, 5, &(cf_record){{0}, {0}});
        shuffle(&one.record[5]);
        for (unsigned i = 0; i < SLOTS; i++) /* the first slot is empty, or becomes so when all are */
            if (one.record[5].tag[i] != 0)
                cf_slot_set(&view, 5, 0, one.record[5].tag[i], one.record[5].payload[i]);
        assert_memory_equal(view.view.table, first, length);
        free(first);
        free(view.view.writable);
    }
}

/* ---- hostile codes ---- */

static void assert_out_of_order(const cf_filter *filter)
{
    const char *why = "";
    assert_int_equal(cf_check(filter, &why), CF_DAMAGED);
    assert_string_equal(why, "a semi-sorted bucket is not in order");
}

static void codes_beyond_the_last_read_as_zero_nibbles(void **state)
{
    (void)state;
    for (unsigned code = CODES; code < 1 << CF_CODE_BITS; code++) {
        test_filter made = new_filter(semisorted(shape_of(BUCKETS + 1, 4, 5 + code % 28)));
        uint64_t bucket = code % BUCKETS;
        uint64_t at = cf_record_at(&made.filter, &made.filter.view.form, bucket);
        contents expected;
        write_bucket(&made.filter, bucket, &expected);
        cf_tags_read(&made.filter, bucket, expected.record[bucket].tag);
        cf_store_bits(made.filter.view.writable, at, cf_low_bits(CF_CODE_BITS), code);
        for (unsigned i = 0; i < SLOTS; i++) {
            uint64_t top = expected.record[bucket].tag[i] & ~(uint64_t)15;
            assert_true(cf_slot_get(&made.filter, bucket, i) == top);
        }
        assert_out_of_order(&made.filter);
        free_filter(&made);
    }
}

/* Slots of equal nibbles whose tops are not in order. */
static void tops_out_of_order_are_found(void **state)
{
    (void)state;
    for (unsigned f = 6; f <= CF_FINGERPRINT_MAX; f++) {
        test_filter made = new_filter(semisorted(shape_of(BUCKETS + 1, 4, f)));
        cf_record record = {.tag = {0x17, 0x17, 0x17, 0x27}};
        uint64_t top = cf_record_at(&made.filter, &made.filter.view.form, 3) + CF_CODE_BITS;
        made.filter.occupied = made.filter.items = SLOTS;
        cf_record_write(&made.filter, 3, &record);
        assert_sound(&made.filter);
        cf_store_bits(made.filter.view.writable, top, cf_low_bits(f - 4), 3);
        assert_out_of_order(&made.filter);
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(codes_number_the_sorted_nibbles),
    cmocka_unit_test(buckets_keep_what_is_written_in_order),
    cmocka_unit_test(equal_contents_are_equal_bytes),
    cmocka_unit_test(order_of_adding_leaves_no_trace),
    cmocka_unit_test(codes_beyond_the_last_read_as_zero_nibbles),
    cmocka_unit_test(tops_out_of_order_are_found),
};

RUN_TESTS(tests)
