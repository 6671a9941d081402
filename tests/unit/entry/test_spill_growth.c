/* SPDX-License-Identifier: MIT */
/* Spilled entries of filters that grow: they are split with their buckets, cut, counted and deleted
** as those in slots. */
#include "../spill_model.h"

#include "../../../src/table/open.h"
#include "../paged.h"

/* ---- what is there, seen slowly ---- */

/* Copies of a key, by a walk over its buckets and the whole list. */
static uint64_t slow_count(const cf_filter *filter, uint64_t hash)
{
    cf_pair pair = cf_candidates(filter, hash);
    cf_entry entry;
    uint64_t copies = 0;
    for (unsigned i = 0; i < pair.sides; i++) {
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, pair.place[i].bucket, slot, &entry) &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                copies += cf_entry_copies(filter, &entry);
        for (unsigned at = 0; at < filter->spilled; at++)
            if (cf_spilled_at(filter, at, &entry) && entry.bucket == pair.place[i].bucket &&
                cf_entry_matches(filter, &entry, &pair.side[i]))
                copies += cf_entry_copies(filter, &entry);
    }
    return copies_told(filter, copies);
}

static void assert_exact(const cf_filter *filter, uint64_t hash)
{
    uint64_t copies = slow_count(filter, hash);
    assert_int_equal(cf_count(filter, hash), copies);
    assert_int_equal(cf_contains(filter, hash), copies > 0);
}

/* ---- lives ---- */

enum { MOST_KEYS = 1500 };

typedef struct life {
    test_filter made;
    uint64_t hash[MOST_KEYS];
    unsigned keys;
    uint64_t spilled, voids; /* sums over the life */
} life;

static void add_key(life *l)
{
    uint64_t value = random64() & cf_low_bits(l->made.filter.geometry.value_bits);
    if (l->keys < MOST_KEYS &&
        cf_add_value(&l->made.filter, l->hash[l->keys] = random64(), value) == CF_OK)
        l->keys++;
}

/* Values are not remembered: only filters without them forget keys. */
static void delete_key(life *l)
{
    if (l->keys == 0 || l->made.filter.geometry.value_bits)
        return;
    unsigned at = (unsigned)random_below(l->keys);
    assert_int_not_equal(cf_delete(&l->made.filter, l->hash[at]), CF_ABSENT);
    l->hash[at] = l->hash[--l->keys];
}

static void check_life(life *l)
{
    assert_list(&l->made.filter);
    assert_sound(&l->made.filter);
    for (unsigned i = 0; i < l->keys; i++)
        assert_true(cf_contains(&l->made.filter, l->hash[i]));
    for (unsigned i = 0; i < 30; i++)
        assert_exact(&l->made.filter, i < l->keys && i % 2 ? l->hash[i] : random64());
    l->spilled += l->made.filter.spilled;
    l->voids += l->made.filter.level > 4;
}

static void live(life *l, cf_geometry shape, unsigned operations)
{
    l->made = growing_filter(shape, UINT64_MAX);
    l->keys = 0;
    for (unsigned i = 0; i < operations; i++) {
        if (random_below(5) == 0)
            delete_key(l);
        else
            add_key(l);
        if (random_below(60) == 0)
            cf_grow(&l->made.filter);
        if (i % 10 == 0)
            check_life(l);
    }
    free_filter(&l->made);
}

static cf_geometry living_shape(unsigned b, unsigned budget)
{
    cf_geometry shape = growing_shape(2 + 2 * random_below(5), b, 12 + (unsigned)random_below(4));
    shape = spilling(shape, budget, 1 + (unsigned)random_below(60));
    shape.semisorted = b == 4 && random_below(3) > 0;
    if (random_below(3) == 0)
        shape.pair_bits = (uint8_t)(4 + random_below(8));
    if (random_below(3) == 0)
        shape.counter_bits = (uint8_t)(1 + random_below(8));
    else if (random_below(3) == 0)
        shape.value_bits = (uint8_t)(1 + random_below(32));
    return shape;
}

static void keys_are_found_through_growth(void **state)
{
    static life l;
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned budget = 0; budget <= 4; budget += 2)
            for (int round = 0; round < 6; round++)
                live(&l, living_shape(b, budget), 1200);
    assert_true(l.spilled > 2000 && l.voids > 100);
}

/* Random keys into a filter that may grow, from few buckets. */
static void assert_never_full(unsigned b, unsigned budget, unsigned bound, unsigned keys)
{
    for (unsigned k = 0; k < 4; k++) {
        cf_geometry shape = spilling(growing_shape(8 + 2 * k, b, 12), budget, bound);
        shape.semisorted = b == 4 && k % 2;
        test_filter made = growing_filter(shape, UINT64_MAX);
        for (unsigned i = 0; i < keys; i++)
            if (cf_add(&made.filter, random64()) != CF_OK)
                fail_msg("b=%u bound=%u budget=%u full at key %u", b, bound, budget, i);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void random_keys_never_fill_it(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bound = 1; bound <= 16; bound *= 2)
            for (unsigned budget = 0; budget <= 10; budget += 5)
                assert_never_full(b, budget, bound, 3000);
}

/* However long the list is beside the table: neither entries that wait in it until they are void,
** nor their copies, keep the filter from growing. */
static void long_lists_do_not_keep_it_from_growing(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bound = 64; bound <= CF_SPILL_MAX; bound *= 8)
            for (unsigned budget = 0; budget <= 10; budget += 10)
                assert_never_full(b, budget, bound, 5000);
}

/* ---- one split ---- */

/* An entry, wherever it lies: as seen from the lower one of its sides. */
typedef struct known {
    uint64_t base, bits, length, payload;
} known;

static known known_of(const cf_filter *filter, cf_side side, uint64_t payload)
{
    cf_side other = cf_alternate(filter, side);
    if (other.base < side.base || (other.base == side.base && other.bits < side.bits))
        side = other;
    return (known){side.base, side.bits, side.length, payload};
}

typedef struct everything {
    known entry[4096];
    unsigned n, voids;
} everything;

/* What a split of bucket `low` makes of an entry: of a void one two. */
static void take(const cf_filter *filter, everything *all, const cf_entry *entry, bool splits)
{
    cf_side side = entry->side;
    unsigned extension = cf_locate(filter, &side).extension;
    if (splits && side.length == extension) {
        side.length++;
        all->entry[all->n++] = known_of(filter, side, entry->payload);
        side.bits |= (uint64_t)1 << (filter->geometry.pair_bits + extension);
        all->voids++;
    }
    all->entry[all->n++] = known_of(filter, side, entry->payload);
}

static int compare_known(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(known));
}

static void take_all(const cf_filter *filter, uint64_t low, everything *all)
{
    cf_entry entry;
    all->n = all->voids = 0;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, bucket, slot, &entry))
                take(filter, all, &entry, bucket == low);
    for (unsigned i = 0; i < filter->spilled; i++)
        if (cf_spilled_at(filter, i, &entry))
            take(filter, all, &entry, entry.bucket == low);
    qsort(all->entry, all->n, sizeof *all->entry, compare_known);
}

static uint64_t next_to_split(const cf_filter *filter)
{
    cf_filter at = *filter;
    bool next = filter->split == filter->geometry.buckets << filter->level;
    cf_set_stage(&at, filter->level + next, next ? 0 : filter->split, true);
    return cf_bucket_number(&at, at.split >> at.level, at.split & cf_low_bits(at.level));
}

/* Room in a bucket is taken at once by any spilled entry that has it in its pair. */
static void assert_room_is_taken(const cf_filter *filter, uint64_t here)
{
    cf_entry entry;
    for (unsigned i = 0; cf_bucket_free_slot(filter, here) >= 0 && i < filter->spilled; i++)
        if (cf_spilled_at(filter, i, &entry))
            assert_false(entry.bucket == here ||
                         (can_move(filter, &entry) && other_bucket(filter, &entry) == here));
}

/* Nothing is lost or made up, in slots or in the list, but that of a void entry there are two. */
static uint64_t check_steps(cf_geometry shape, unsigned level, uint64_t split)
{
    static everything before, after;
    test_filter made = filter_at_stage(shape, level, split);
    uint64_t listed = 0;
    made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    fill_any_lengths(&made.filter, shape.spill_bound / 4);
    for (int i = 0; i < 10; i++) {
        uint64_t low = next_to_split(&made.filter);
        take_all(&made.filter, low, &before);
        unsigned spilled = made.filter.spilled;
        if (cf_grow(&made.filter) != CF_OK)
            break;
        take_all(&made.filter, UINT64_MAX, &after);
        assert_int_equal(after.n, before.n);
        assert_memory_equal(after.entry, before.entry, after.n * sizeof *after.entry);
        assert_list(&made.filter);
        assert_room_is_taken(&made.filter, low);
        assert_room_is_taken(&made.filter, made.filter.buckets - 1);
        listed += spilled;
    }
    free_filter(&made);
    return listed;
}

static void splits_keep_every_entry(void **state)
{
    uint64_t listed = 0;
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned level = 0; level < 4; level++)
            for (int round = 0; round < 30; round++) {
                cf_geometry shape = spilling(growing_shape(2 + 2 * random_below(4), b, 24), 0, 60);
                shape.value_bits = 4;
                shape.semisorted = b == 4 && round % 2;
                listed += check_steps(shape, level, level ? random_below(shape.buckets << level) : 0);
            }
    assert_true(listed > 1000);
}

/* A void entry that is spilled needs room for its copy: without it the step fails, and changes
** nothing. */
static void voids_need_room_in_the_list(void **state)
{
    (void)state;
    for (unsigned bound = 1; bound <= 12; bound++)
        for (unsigned voids = 1; voids <= bound && voids <= CF_SPILL_COPIES; voids++) {
            cf_geometry shape = spilling(growing_shape(6, 4, 12), 0, bound);
            shape.value_bits = 8;
            shape.semisorted = bound % 2;
            test_filter made = filter_at_stage(shape, 2, 0);
            cf_side side = {0, 0x25, 2};
            cf_pair pair = cf_pair_from(&made.filter, side);
            made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
            for (unsigned i = 0; i < 4; i++) /* in the bucket that is split next */
                cf_slot_set(&made.filter, 0, (unsigned)cf_bucket_free_slot(&made.filter, 0),
                            cf_tag_of(&made.filter, pair.place[0], 2), i);
            made.filter.occupied = 4;
            for (unsigned i = 0; i < voids; i++)
                assert_true(spill_one(&made.filter, &pair, 2, 100 + i));
            snapshot then = remember(&made.filter);
            assert_int_equal(pair.place[0].bucket, 0);
            cf_status status = cf_grow(&made.filter);
            assert_int_equal(status, 2 * voids <= bound ? CF_OK : CF_FULL);
            if (status == CF_OK)
                assert_int_equal(made.filter.spilled, 2 * voids);
            else
                assert_unchanged(&made.filter, &then);
            assert_list(&made.filter);
            free(then.bytes);
            free_filter(&made);
        }
}

/* The list moves when the blob becomes longer. What the filter tells of lies within its length, and it
** does tell of all that it changes. */
static void the_pager_is_told_within_the_length(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        cf_geometry shape = spilling(growing_shape(8, 4, 12), round % 3, 4 + round);
        test_filter plain = growing_filter(shape, UINT64_MAX);
        paged p;
        paged_open(&p, plain.bytes, plain.filter.length, 16u << round % 4);
        uint8_t *source = memcpy(malloc(p.length), plain.bytes, p.length);
        p.source = source;
        for (unsigned i = 0; i < 200; i++) {
            uint64_t hash = random64();
            assert_int_equal(cf_add(&p.filter, hash), cf_add(&plain.filter, hash));
        }
        assert_true(p.filter.view.grown && p.filter.length > p.length);
        assert_int_equal(p.outside, 0);
        assert_int_equal(paged_untold(&p), 0);
        assert_true(p.filter.spilled == plain.filter.spilled);
        assert_true(paged_equals(&p, &plain.filter));
        paged_close(&p);
        free(source);
        free_filter(&plain);
    }
}

/* All of the fingerprint is pair bits: entries are void, and splitting doubles them. In a full list the
** copy of one entry needs the place of another that has found a slot. */
static void copies_of_void_entries_have_room(void **state)
{
    enum { ROUNDS = 1500, MOST = 400, COPIES = 2 };
    static uint64_t hash[MOST];
    static unsigned added[MOST];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned buckets = 2u << random_below(3), b = random_below(2) ? 4 : 8;
        unsigned budget = (unsigned)random_below(8), bound = 4 + (unsigned)random_below(3);
        cf_geometry shape = spilling(growing_shape(buckets, b, 10), budget, bound);
        unsigned n = 10 + (unsigned)random_below(buckets * b * 2);
        shape.pair_bits = 10;
        shape.cap = 6;
        test_filter made = growing_filter(shape, 1 << 20);
        for (unsigned i = 0; i < n; i++) {
            hash[i] = random64();
            added[i] = 0;
            if (i > 0 && random_below(3) == 0)
                hash[i] = (hash[random_below(i)] & 1023) | (hash[i] & ~UINT64_C(1023));
        }
        for (unsigned i = 0; i < n * COPIES; i++)
            added[i % n] += cf_add(&made.filter, hash[i % n]) == CF_OK;
        for (unsigned i = 0; i < n; i++)
            assert_true(cf_count(&made.filter, hash[i]) >= added[i]);
        free_filter(&made);
    }
}

/* Keys of one pair of buckets. The list has short entries that match several of them, and longer ones of
** each: none of the keys has too many. */
static void entries_of_several_keys_are_not_too_many(void **state)
{
    enum { ROUNDS = 200, KEYS = 3, VALUES = 80 };
    uint64_t key[KEYS];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == 0)
            random_state = UINT64_C(2027810258277478320); /* such a list, which is rare */
        cf_geometry shape = spilling(growing_shape(2u << random_below(3), 8, 8), 179, 1933);
        uint64_t pair = random64() & 63;
        shape.fingerprint_bits = 7;
        shape.pair_bits = 6;
        shape.cap = 12;
        shape.value_bits = 20;
        test_filter made = growing_filter(shape, 1 << 20);
        for (unsigned i = 0; i < KEYS; i++)
            key[i] = pair | random64() >> 6 << 6;
        for (unsigned i = 0; i < VALUES; i++) {
            uint64_t value = random_below(1 << 20);
            cf_add_value(&made.filter, key[random_below(KEYS)], value);
            assert_sound(&made.filter);
        }
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_pager_is_told_within_the_length),
    cmocka_unit_test(keys_are_found_through_growth),
    cmocka_unit_test(random_keys_never_fill_it),
    cmocka_unit_test(long_lists_do_not_keep_it_from_growing),
    cmocka_unit_test(splits_keep_every_entry),
    cmocka_unit_test(voids_need_room_in_the_list),
    cmocka_unit_test(copies_of_void_entries_have_room),
    cmocka_unit_test(entries_of_several_keys_are_not_too_many),
};

RUN_TESTS(tests)
