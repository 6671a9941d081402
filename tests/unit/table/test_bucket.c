/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/table/bucket.h"

/* Changes the payload of a slot alone. */
static void set_payload(cf_filter *filter, uint64_t bucket, unsigned slot, uint64_t payload)
{
    cf_slot_set(filter, bucket, slot, cf_slot_get(filter, bucket, slot), payload);
}

static const unsigned bucket_sizes[] = {1, 2, 4, 8};
static const unsigned payloads[] = {0, 1, 7, 16};

enum { BUCKETS = 18 };

static cf_geometry shape_with(unsigned b, unsigned f, unsigned counter_bits)
{
    cf_geometry shape = shape_of(BUCKETS, b, f);
    shape.counter_bits = (uint8_t)counter_bits;
    return shape;
}

/* ---- slots ---- */

typedef struct expected_slots {
    uint64_t tag[BUCKETS * CF_BUCKET_MAX], payload[BUCKETS * CF_BUCKET_MAX];
} expected_slots;

static void write_slot(cf_filter *filter, uint64_t bucket, unsigned slot, expected_slots *expected)
{
    uint64_t at = bucket * filter->geometry.bucket_size + slot;
    expected->tag[at] = random64() & slot_mask_of(filter, bucket);
    expected->payload[at] = random64() & cf_low_bits(filter->view.form.payload_bits);
    cf_slot_set(filter, bucket, slot, expected->tag[at], expected->payload[at]);
}

static void check_slots(const cf_filter *filter, const expected_slots *expected)
{
    unsigned b = filter->geometry.bucket_size;
    for (uint64_t i = 0; i < filter->buckets; i++)
        for (unsigned slot = 0; slot < b; slot++) {
            assert_true(cf_slot_get(filter, i, slot) == expected->tag[i * b + slot]);
            assert_true(cf_payload_get(filter, i, slot) == expected->payload[i * b + slot]);
        }
}

/* Fills a table slot by slot with random tags, keeping them in an array beside it. */
static void check_writing(cf_geometry shape)
{
    static expected_slots expected;
    test_filter made = new_filter(shape);
    for (uint64_t i = 0; i < BUCKETS; i++)
        for (unsigned slot = 0; slot < shape.bucket_size; slot++)
            write_slot(&made.filter, i, slot, &expected);
    check_slots(&made.filter, &expected);
    for (int k = 0; k < 200; k++)
        write_slot(&made.filter, random_below(BUCKETS), (unsigned)random_below(shape.bucket_size),
                   &expected);
    check_slots(&made.filter, &expected);
    free_filter(&made);
}

/* Every width and bucket size; 17 buckets, so that records start at every bit of a byte. */
static void slots_keep_what_is_written(void **state)
{
    (void)state;
    for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned i = 0; i < 4; i++)
            for (unsigned p = 0; p < 4; p++)
                check_writing(shape_with(bucket_sizes[i], f, payloads[p]));
}

/* Values may be wider than counters. */
static void payloads_of_all_widths_are_kept(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits <= CF_VALUE_MAX; bits++)
        for (unsigned i = 0; i < 4; i++) {
            cf_geometry shape = shape_with(bucket_sizes[i], 4 + bits % 29, 0);
            shape.value_bits = (uint8_t)bits;
            check_writing(shape);
        }
}

/* Setting the payload alone leaves the slot, and the other payloads, as they are. */
static void payloads_are_set_alone(void **state)
{
    test_filter made = new_filter(shape_with(4, 11, 7));
    (void)state;
    for (unsigned slot = 0; slot < 4; slot++)
        cf_slot_set(&made.filter, 5, slot, 0x400 + slot, 100 + slot);
    set_payload(&made.filter, 5, 2, 127);
    for (unsigned slot = 0; slot < 4; slot++) {
        assert_int_equal(cf_slot_get(&made.filter, 5, slot), 0x400 + slot);
        assert_int_equal(cf_payload_get(&made.filter, 5, slot), slot == 2 ? 127 : 100 + slot);
    }
    free_filter(&made);
}

/* ---- matching ---- */

typedef bool slot_matches(const cf_filter *filter, uint64_t content, uint64_t tag);

static bool plain_matches(const cf_filter *filter, uint64_t content, uint64_t tag)
{
    (void)filter;
    return content == tag;
}

/* Bit by bit: all below the highest bit set, the pair bits at least. */
static bool grown_matches(const cf_filter *filter, uint64_t content, uint64_t tag)
{
    unsigned known = filter->geometry.pair_bits;
    for (unsigned i = known; i < filter->view.form.lanes.width; i++)
        if (content >> i & 1)
            known = i;
    for (unsigned i = 0; i < known; i++)
        if ((content >> i & 1) != (tag >> i & 1))
            return false;
    return content != 0;
}

/* The slots that the lanes say match, a bit each. */
static unsigned matching_slots(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    unsigned slots = 0;
    const cf_form *form = cf_form_of(filter, bucket);
    for (unsigned word = 0; word < form->lanes.words; word++) {
        uint64_t lanes = cf_matching_lanes(form, cf_word(filter, form, bucket, word), tag);
        for (; lanes != 0; lanes &= lanes - 1)
            slots |= 1u << cf_first_slot(&form->lanes, lanes, word);
    }
    return slots;
}

/* Looks at wide buckets of tables that have grown: semi-sorted or not, with a match or not, with an empty
** slot or not. */
static unsigned wide_looks[2][2][2];

/* A look at a bucket tells whether there is a match, and the first empty slot; so does the general way. */
static void check_look(const cf_filter *filter, uint64_t bucket, uint64_t tag, bool match, int free_slot)
{
    cf_place place = {bucket, tag, cf_home_of(filter, bucket).bits};
    int empty = -1, empty_any = -1;
    assert_int_equal(cf_look_any(filter, &place, &empty_any), match);
    assert_int_equal(cf_bucket_look(filter, &place, &empty), match);
    assert_int_equal(empty_any, free_slot);
    assert_int_equal(empty, free_slot);
    if (cf_has_halves(cf_form_of(filter, bucket)) && filter->view.grown)
        wide_looks[filter->geometry.semisorted][match][empty >= 0]++;
}

static void check_matching(const cf_filter *filter, uint64_t bucket, uint64_t tag, slot_matches *matches)
{
    unsigned expected = 0;
    int free_slot = -1;
    for (unsigned slot = filter->geometry.bucket_size; slot-- > 0;) {
        uint64_t content = cf_slot_get(filter, bucket, slot);
        expected |= (unsigned)matches(filter, content, tag) << slot;
        if (content == 0)
            free_slot = (int)slot;
        else if (filter->geometry.semisorted)
            free_slot = -1; /* empty ones come first, but for hostile bytes */
    }
    assert_int_equal(matching_slots(filter, bucket, tag), expected);
    assert_int_equal(cf_bucket_free_slot(filter, bucket), free_slot);
    check_look(filter, bucket, tag, expected != 0, free_slot);
}

static bool any_match(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    uint64_t found = 0;
    const cf_form *form = cf_form_of(filter, bucket);
    for (unsigned i = 0; i < form->lanes.words; i++)
        found |=
            cf_any_zero_lane(&form->lanes, cf_word(filter, form, bucket, i) ^ (tag * form->lanes.ones));
    return found != 0;
}

/* Comparing all lanes at once says what comparing slot by slot says; few different tags, and
** neighbours that differ in one bit, so that borrows between lanes would show. */
static void check_plain_matching(cf_geometry shape)
{
    test_filter made = new_filter(shape);
    uint64_t top = (uint64_t)1 << (shape.fingerprint_bits - 1), mask = made.filter.view.form.slot_mask;
    uint64_t pool[] = {0, 1, 2, 3, top, top - 1, top + 1, mask, mask - 1, 5 & mask};
    for (int k = 0; k < 400; k++) {
        uint64_t at = random_below(BUCKETS);
        cf_slot_set(&made.filter, at, (unsigned)random_below(shape.bucket_size), pool[random_below(10)],
                    random64() & cf_low_bits(shape.counter_bits));
        for (unsigned p = 0; p < 10; p++) {
            check_matching(&made.filter, at, pool[p], plain_matches);
            bool there = matching_slots(&made.filter, at, pool[p]) != 0;
            assert_int_equal(any_match(&made.filter, at, pool[p]), there);
        }
    }
    free_filter(&made);
}

static void matching_agrees_with_a_slot_loop(void **state)
{
    (void)state;
    for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned i = 0; i < 4; i++) {
            check_plain_matching(shape_with(bucket_sizes[i], f, 0));
            check_plain_matching(shape_with(bucket_sizes[i], f, payloads[1 + f % 3]));
        }
}

/* A slot that agrees with `tag` up to somewhere; one in four has no sense of its own: empty,
** without terminator, or any bits. */
static uint64_t slot_like(const cf_filter *filter, uint64_t tag)
{
    unsigned s = filter->geometry.pair_bits, width = filter->view.form.lanes.width;
    unsigned known = s + (unsigned)random_below(width - s);
    uint64_t content = (tag & cf_low_bits(known)) | (uint64_t)1 << known;
    uint64_t flip = (uint64_t)1 << random_below(width);
    switch (random_below(8)) {
    case 0:
        return random_below(2) ? 0 : tag & filter->view.pair_mask;
    case 1:
        return random64() & (random_below(2) ? filter->view.form.slot_mask : filter->view.pair_mask);
    case 2:
    case 3:
    case 4:
        return content ^ flip;
    default:
        return content;
    }
}

static uint64_t random_tag(const cf_filter *filter, uint64_t bucket)
{
    uint64_t mask = slot_mask_of(filter, bucket);
    switch (random_below(4)) {
    case 0:
        return 0;
    case 1:
        return mask;
    default:
        return random64() & mask;
    }
}

/* A table that has grown, of any kind but for what is given: with payloads, a spill list, or neither. */
static test_filter any_grown(unsigned f, unsigned s, unsigned b, bool semisorted)
{
    cf_geometry shape = shape_with(b, f, payloads[random_below(4)]);
    unsigned level = (unsigned)random_below(9);
    shape.buckets = 2 + 2 * random_below(5);
    shape.pair_bits = (uint8_t)s;
    shape.growth = true;
    shape.spill_bound = (uint16_t)random_below(2);
    shape.semisorted = semisorted && b == 4 && f > CF_FINGERPRINT_MIN;
    return filter_at_stage(shape, level, 1 + random_below(shape.buckets << level));
}

/* Slots like the tag; one bucket in four is hostile, any bits. */
static void fill_like(cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    const cf_form *form = cf_form_of(filter, bucket);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
        cf_slot_set(filter, bucket, slot, slot_like(filter, tag) & form->slot_mask,
                    random64() & cf_low_bits(form->payload_bits));
    for (unsigned at = 0; random_below(4) == 0 && at < form->tag_bits; at++)
        cf_store_bits(filter->view.writable, bucket * form->bucket_bits + at, 1, random64() & 1);
}

static void check_grown_matching(test_filter made)
{
    for (int k = 0; k < 30; k++) {
        uint64_t at = random_below(made.filter.buckets), tag = random_tag(&made.filter, at);
        uint64_t flip = (uint64_t)1 << random_below(cf_form_of(&made.filter, at)->lanes.width);
        fill_like(&made.filter, at, tag);
        check_matching(&made.filter, at, tag, grown_matches);
        check_matching(&made.filter, at, tag ^ flip, grown_matches);
        check_matching(&made.filter, at, random_tag(&made.filter, at), grown_matches);
    }
    free_filter(&made);
}

/* The same with terminators, for every number of pair bits and slots of many widths. */
static void agreeing_lanes_are_those_of_a_slot_loop(void **state)
{
    (void)state;
    for (unsigned f = CF_FINGERPRINT_MIN; f <= CF_FINGERPRINT_MAX; f++)
        for (unsigned s = CF_PAIR_BITS_MIN; s <= f; s++)
            for (unsigned i = 0; i < 5; i++)
                check_grown_matching(any_grown(f, s, bucket_sizes[i % 4 + i / 4 * 2], i == 4));
    for (unsigned kind = 0; kind < 8; kind++)
        assert_true(wide_looks[kind / 4][kind / 2 % 2][kind % 2] > 100);
}

/* What a slot says is what cf_tag_of wrote, cut where it does not fit, and empty slots are never
** written. */
static void tags_and_sides_follow_from_each_other(void **state)
{
    (void)state;
    for (int k = 0; k < 2000; k++) {
        cf_geometry shape = growing_shape(2 + 2 * random_below(10), 4, 8 + (unsigned)random_below(25));
        unsigned level = (unsigned)random_below(6);
        test_filter made =
            filter_at_stage(shape, level, level == 0 ? 1 : random_below((shape.buckets << level) + 1));
        cf_pair pair = cf_pair_of(&made.filter, random64());
        const cf_form *form = cf_form_of(&made.filter, pair.place[0].bucket);
        unsigned most = pair.place[0].extension + form->lanes.width - 1 - shape.pair_bits;
        for (unsigned length = pair.place[0].extension; length < most + 3; length++) {
            uint64_t tag = cf_tag_of(&made.filter, pair.place[0], length);
            cf_side side = cf_side_of(&made.filter, cf_home_of(&made.filter, pair.place[0].bucket), tag);
            assert_true(tag != 0 && tag <= form->slot_mask);
            assert_int_equal(side.length, length < most ? length : most);
            assert_true(side.base == pair.side[0].base);
            assert_true(side.bits == (pair.side[0].bits & cf_low_bits(shape.pair_bits + side.length)));
        }
        free_filter(&made);
    }
}

/* ---- moving ---- */

/* What the slot of an entry has to hold in its other bucket is what the side says that lies there.
** False: it cannot lie there. */
static bool check_tag_there(const cf_filter *filter, uint64_t bucket, uint64_t tag)
{
    cf_home home = cf_home_of(filter, bucket);
    cf_side other = cf_alternate(filter, cf_side_of(filter, home, tag));
    cf_place there = cf_locate(filter, &other);
    if (other.length < there.extension)
        return false;
    assert_true(cf_tag_there(filter, home, tag, there.bucket) == cf_tag_of(filter, there, other.length));
    return true;
}

/* A page that cannot be provided reads as zeros: whatever follows fits a slot. */
static void check_unreadable(cf_filter filter, uint64_t bucket, uint64_t to)
{
    static const cf_pages none;
    filter.pages = &none;
    assert_true(cf_tag_there(&filter, cf_home_of(&filter, bucket), 0, to) <= slot_mask_of(&filter, to));
}

/* Also void entries, and those without terminator. */
static void entries_say_the_same_in_their_other_bucket(void **state)
{
    unsigned voids = 0, stuck = 0;
    (void)state;
    for (unsigned i = 0; i < 29 * 40; i++) {
        unsigned f = CF_FINGERPRINT_MIN + i % 29, s = 4 + (unsigned)random_below(f - 3);
        test_filter made = any_grown(f, s, bucket_sizes[i / 29 % 4], random_below(2));
        for (unsigned k = 0; k < 50; k++) {
            uint64_t bucket = random_below(made.filter.buckets),
                     mask = slot_mask_of(&made.filter, bucket);
            uint64_t tag = slot_like(&made.filter, random64()) & mask;
            bool moves = check_tag_there(&made.filter, bucket, tag + (tag == 0));
            voids += moves && cf_is_void(&made.filter, tag);
            stuck += !moves;
            check_unreadable(made.filter, bucket, random_below(made.filter.buckets));
        }
        free_filter(&made);
    }
    assert_true(voids > 1000 && stuck > 100);
}

/* Before growth, and while some of the buckets are prepared for it. */
static void fingerprints_say_the_same_in_their_other_bucket(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 29 * 16; i++) {
        cf_geometry shape = shape_with(bucket_sizes[i % 4], CF_FINGERPRINT_MIN + i / 16, 0);
        shape.pair_bits = (uint8_t)(4 + random_below(i / 16 + 1));
        shape.growth = true;
        test_filter made = growing_filter(shape, UINT64_MAX);
        if (i & 4)
            assert_int_equal(cf_prepare_growth(&made.filter, random_below(BUCKETS + 1)), CF_OK);
        for (unsigned k = 0; k < 100; k++) {
            uint64_t bucket = random_below(BUCKETS);
            uint64_t tag = 1 + random_below(slot_mask_of(&made.filter, bucket));
            assert_true(check_tag_there(&made.filter, bucket, tag));
        }
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(slots_keep_what_is_written),
    cmocka_unit_test(payloads_of_all_widths_are_kept),
    cmocka_unit_test(payloads_are_set_alone),
    cmocka_unit_test(matching_agrees_with_a_slot_loop),
    cmocka_unit_test(agreeing_lanes_are_those_of_a_slot_loop),
    cmocka_unit_test(tags_and_sides_follow_from_each_other),
    cmocka_unit_test(entries_say_the_same_in_their_other_bucket),
    cmocka_unit_test(fingerprints_say_the_same_in_their_other_bucket),
};

RUN_TESTS(tests)
