/* SPDX-License-Identifier: MIT */
#include "../paged.h"
#include "../test.h"

#include "../../../src/entry/entry.h"
#include "../../../src/entry/eviction.h"
#include "../../../src/table/bucket.h"

/* The next remainder bit of a tag. */
static unsigned next_bit(const cf_filter *filter, uint64_t tag)
{
    return tag >> filter->geometry.pair_bits & 1;
}

/* ---- crowded places made by hand ---- */

/* Of two buckets that are split equally often. */
static cf_pair two_sided_pair(const cf_filter *filter, uint64_t *hash)
{
    cf_pair pair;
    do {
        *hash = random64();
        pair = cf_pair_of(filter, *hash);
    } while (pair.sides < 2 || pair.place[0].extension != pair.place[1].extension);
    return pair;
}

/* Puts an entry that knows `length` bits of a side into the first empty slot there. */
static void put(cf_filter *filter, const cf_pair *pair, unsigned i, uint64_t flip, unsigned length)
{
    unsigned s = filter->geometry.pair_bits;
    cf_entry entry = {.side = pair->side[i]};
    cf_place place = pair->place[i];
    place.tag ^= flip << s & filter->view.form.slot_mask;
    entry.side.length = length;
    cf_entry_put(filter, place, (unsigned)cf_bucket_free_slot(filter, place.bucket), &entry);
    filter->items++;
}

/* All slots of a pair hold copies of its key; `flip` changes further bits of the last one. */
static void crowd(cf_filter *filter, const cf_pair *pair, uint64_t flip, unsigned length)
{
    unsigned b = filter->geometry.bucket_size;
    for (unsigned i = 0; i < 2 * b; i++)
        put(filter, pair, i / b, i == 2 * b - 1 ? flip : 0, length);
}

static cf_geometry crowded_shape(unsigned kind)
{
    cf_geometry shape = growing_shape(50, 2u << kind % 3, 24);
    shape.semisorted = kind % 3 == 1 && kind & 1;
    shape.pair_bits = 6;
    return shape;
}

static test_filter at_any_stage(unsigned kind, unsigned *level)
{
    cf_geometry shape = crowded_shape(kind);
    *level = (unsigned)random_below(5);
    return filter_at_stage(shape, *level, *level ? random_below((50u << *level) + 1) : 1);
}

/* Entries that agree in all their bits stay together; one that differs in bit n is parted by n + 1
** levels. */
static void entries_part_where_they_differ(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 300; kind++)
        for (unsigned differs = 0; differs <= 5; differs++) {
            unsigned level;
            uint64_t hash;
            test_filter made = at_any_stage(kind, &level);
            cf_pair pair = two_sided_pair(&made.filter, &hash);
            crowd(&made.filter, &pair, differs < 5 ? (uint64_t)1 << differs : 0,
                  made.filter.view.new_length);
            for (unsigned levels = 1; levels <= 5; levels++)
                assert_int_equal(cf_splitting_helps(&made.filter, &pair, levels),
                                 differs < 5 && levels > differs);
            free_filter(&made);
        }
}

static void an_empty_slot_is_seen(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 100; kind++) {
        unsigned level;
        uint64_t hash;
        test_filter made = at_any_stage(kind, &level);
        cf_pair pair = two_sided_pair(&made.filter, &hash);
        crowd(&made.filter, &pair, 0, made.filter.view.new_length);
        cf_slot_set(&made.filter, pair.place[random_below(2)].bucket, 0, 0, 0);
        assert_true(cf_splitting_helps(&made.filter, &pair, 1));
        free_filter(&made);
    }
}

/* Entries that know nothing beyond their bucket are in both children: they never part. */
static void void_entries_do_not_part(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 100; kind++) {
        uint64_t hash;
        test_filter made = filter_at_stage(crowded_shape(kind), 2, 0);
        cf_pair pair = two_sided_pair(&made.filter, &hash);
        crowd(&made.filter, &pair, 0, 2);
        for (unsigned levels = 1; levels <= 5; levels++)
            assert_false(cf_splitting_helps(&made.filter, &pair, levels));
        free_filter(&made);
    }
}

/* An entry of another filter that knows no bit of the next level becomes two: nothing is known
** then. */
static void short_items_may_be_helped(void **state)
{
    uint64_t hash;
    (void)state;
    test_filter made = filter_at_stage(crowded_shape(1), 2, 0);
    cf_pair pair = two_sided_pair(&made.filter, &hash);
    crowd(&made.filter, &pair, 0, made.filter.view.new_length);
    pair.side[0].length = pair.side[1].length = 2;
    assert_true(cf_splitting_helps(&made.filter, &pair, 1));
    pair.side[0].length = pair.side[1].length = 4;
    assert_false(cf_splitting_helps(&made.filter, &pair, 2));
    assert_true(cf_splitting_helps(&made.filter, &pair, 3));
    pair.sides = 0; /* it has no place at all */
    assert_false(cf_splitting_helps(&made.filter, &pair, 3));
    free_filter(&made);
}

/* With more full buckets in reach than are looked at, nothing is known. */
static void what_is_too_far_may_help(void **state)
{
    test_filter made = filter_at_stage(growing_shape(2000, 4, 16), 1, 0);
    cf_filter *filter = &made.filter;
    uint64_t hash, s = filter->geometry.pair_bits;
    (void)state;
    cf_pair pair = two_sided_pair(filter, &hash);
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < 4; slot++) /* void ones, which never part */
            cf_slot_set(filter, bucket, slot, (uint64_t)1 << s | random_below((uint64_t)1 << s), 0);
    assert_true(cf_splitting_helps(filter, &pair, 1));
    free_filter(&made);
}

/* Fills one bucket with copies of a key that lies there, seen from the side that is not `from`;
** returns that key's pair. */
static cf_pair chain_on(cf_filter *filter, const cf_pair *from, unsigned slots)
{
    for (;;) {
        uint64_t hash;
        cf_pair next = two_sided_pair(filter, &hash);
        uint64_t there = from->place[1].bucket;
        unsigned i = next.place[0].bucket == there ? 0 : 1;
        if (next.place[i].bucket != there ||
            next_bit(filter, next.place[i].tag) != next_bit(filter, from->place[1].tag) ||
            cf_bucket_free_slot(filter, next.place[1 - i].bucket) != 0)
            continue;
        for (unsigned slot = 0; slot < slots; slot++)
            put(filter, &next, i, 0, filter->view.new_length);
        if (i == 1)
            next = (cf_pair){{next.side[1], next.side[0]}, {next.place[1], next.place[0]}, 2};
        return next;
    }
}

/* The crowd of the pair could move on to a third bucket, that one's entries to a fourth, and so on:
** only the last one tells. */
static void chains_are_followed(void **state)
{
    (void)state;
    for (unsigned length = 1; length <= 6; length++)
        for (unsigned last = 0; last < 2; last++) {
            uint64_t hash;
            test_filter made = filter_at_stage(growing_shape(50, 4, 16), 1, 30);
            cf_filter *filter = &made.filter;
            cf_pair pair = two_sided_pair(filter, &hash), next = pair;
            for (unsigned i = 0; i < 4; i++)
                put(filter, &pair, 0, 0, filter->view.new_length);
            for (unsigned i = 0; i < length; i++)
                next = chain_on(filter, &next, 4);
            for (unsigned i = 0; i < 4 - last; i++)
                put(filter, &next, 1, 0, filter->view.new_length);
            assert_int_equal(cf_splitting_helps(filter, &pair, 1), last);
            free_filter(&made);
        }
}

/* ---- beside the truth ---- */

enum { TRUTH_BASES = 6 };

/* Hashes that agree in most of what can be told, so that small tables are crowded with them. */
static uint64_t narrow_hash(const cf_geometry *shape)
{
    unsigned s = shape->pair_bits;
    uint64_t hash = random64() & ~(cf_low_bits(20) << s);
    hash = (hash & ~cf_low_bits(s)) | (0x15 + random_below(3));
    return hash | random_below(4) << (s + (random_below(8) ? 4 : 0) + random_below(4));
}

/* Small tables, mostly full, of entries of all lengths. */
static test_filter crowded_filter(void)
{
    cf_geometry shape =
        growing_shape(2 + 2 * random_below(TRUTH_BASES), 1u << (1 + random_below(2)), 12);
    shape.semisorted = shape.bucket_size == 4 && random_below(2);
    shape.pair_bits = 5;
    unsigned level = (unsigned)random_below(3);
    uint64_t most = shape.buckets << level;
    test_filter made =
        filter_at_stage(shape, level, level ? random_below(most + 1) : 1 + random_below(most));
    cf_filter *filter = &made.filter;
    for (unsigned i = 0, tries = 40 * (unsigned)filter->buckets; i < tries; i++) {
        cf_pair pair = cf_pair_of(filter, narrow_hash(&shape));
        unsigned side = (unsigned)random_below(pair.sides), least = pair.place[side].extension;
        unsigned length = least + (unsigned)random_below(filter->view.new_length - least + 1);
        if (cf_bucket_free_slot(filter, pair.place[side].bucket) >= 0)
            put(filter, &pair, side, 0, random_below(3) ? length : least);
    }
    return made;
}

static bool finds_room(const cf_filter *filter, uint64_t hash)
{
    static const cf_search_budget all = {CF_SEARCH_BUCKETS, CF_ANY_NUMBER};
    cf_pair pair = cf_pair_of(filter, hash);
    cf_search search;
    for (unsigned i = 0; i < pair.sides; i++)
        if (cf_bucket_free_slot(filter, pair.place[i].bucket) >= 0)
            return true;
    return cf_eviction_search(filter, &pair, all, &search);
}

/* Does growing make room, at any step until no bucket would be split more than `levels` times? */
static bool growing_makes_room(const cf_filter *filter, uint64_t hash, unsigned levels)
{
    uint8_t *bytes = malloc(filter->length);
    cf_filter copy = *filter;
    bool room = false;
    memcpy(bytes, filter->bytes, filter->length);
    cf_rebase(&copy, bytes, bytes);
    copy.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    while (!room && cf_grow(&copy) == CF_OK && copy.level < filter->level + levels)
        room = finds_room(&copy, hash);
    free(copy.view.writable - CF_HEADER_BYTES);
    return room;
}

/* "No" is certain: then no step of growth makes room for the key. */
static void no_is_never_wrong(void **state)
{
    unsigned no = 0, yes = 0, room = 0;
    (void)state;
    for (int round = 0; round < 4000; round++) {
        test_filter made = crowded_filter();
        for (int i = 0; i < 5; i++) {
            uint64_t hash = narrow_hash(&made.filter.geometry);
            cf_pair pair = cf_pair_of(&made.filter, hash);
            unsigned levels = 1 + (unsigned)random_below(3);
            if (finds_room(&made.filter, hash))
                continue;
            bool helps = cf_splitting_helps(&made.filter, &pair, levels);
            bool truth = growing_makes_room(&made.filter, hash, levels);
            assert_true(helps || !truth);
            no += !helps;
            yes += helps;
            room += truth;
        }
        free_filter(&made);
    }
    assert_true(no > 1000 && room * 10 > yes * 7); /* "perhaps" is worth a try */
}

/* By pages a table that has grown takes the same keys to the same slots: its bytes are equal. */
static void pages_change_no_path(void **state)
{
    enum { KEYS = 12000 };
    (void)state;
    for (unsigned kind = 0; kind < 6; kind++) {
        cf_geometry shape = growing_shape(500, 2u << kind % 3, 12 + 9 * (kind & 1));
        shape.semisorted = kind == 4;
        test_filter plain = growing_filter(shape, UINT64_MAX);
        paged p;
        uint64_t length = plain.filter.length;
        uint8_t *source = memcpy(malloc(length), plain.bytes, length);
        paged_open(&p, source, length, 1024);
        for (unsigned i = 0; i < KEYS; i++) {
            uint64_t hash = random64();
            assert_int_equal(cf_add(&p.filter, hash), cf_add(&plain.filter, hash));
        }
        assert_true(p.filter.view.grown);
        assert_true(paged_equals(&p, &plain.filter));
        paged_close(&p);
        free(source);
        free_filter(&plain);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(entries_part_where_they_differ),
    cmocka_unit_test(an_empty_slot_is_seen),
    cmocka_unit_test(void_entries_do_not_part),
    cmocka_unit_test(short_items_may_be_helped),
    cmocka_unit_test(what_is_too_far_may_help),
    cmocka_unit_test(chains_are_followed),
    cmocka_unit_test(no_is_never_wrong),
    cmocka_unit_test(pages_change_no_path),
};

RUN_TESTS(tests)
