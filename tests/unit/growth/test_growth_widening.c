/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/entry/walk.h"
#include "../../../src/growth/growth_undo.h"
#include "../../../src/growth/insert.h"
#include "../../../src/table/bucket.h"

enum { KEYS = 30000 };
static uint64_t key[KEYS];

static void make_keys(void)
{
    for (unsigned i = 0; i < KEYS; i++)
        key[i] = random64();
}

static void assert_found(const cf_filter *filter, unsigned keys)
{
    for (unsigned i = 0; i < keys; i++)
        assert_true(cf_contains(filter, key[i]) && cf_count(filter, key[i]) > 0);
}

/* Sealed and opened again it is the same filter. */
static void assert_opens(cf_filter *filter)
{
    const char *why = "";
    cf_filter again;
    cf_seal(filter);
    if (cf_open(&again, filter->bytes, filter->length, &why) != CF_OK)
        fail_msg("cf_open: %s", why);
    assert_true(again.level == filter->level && again.split == filter->split);
    assert_true(again.view.grown == filter->view.grown);
    assert_true(again.view.form.grown == filter->view.form.grown);
    assert_true(again.view.narrow_buckets == filter->view.narrow_buckets);
    assert_true(again.view.form.bucket_bits == filter->view.form.bucket_bits);
    assert_sound(&again);
}

/* Bytes that differ, of those that both have. */
static uint64_t bytes_changed(const cf_filter *now, const snapshot *then)
{
    uint64_t changed = 0;
    for (uint64_t i = CF_HEADER_BYTES; i < then->filter.length; i++)
        changed += now->bytes[i] != then->bytes[i];
    return changed;
}

static cf_geometry any_shape(unsigned kind, uint64_t buckets)
{
    cf_geometry shape = growing_shape(buckets, kind & 1 ? 4 : 8u >> kind % 3, 12);
    shape.value_bits = kind & 2 ? 5 : 0;
    shape.counter_bits = kind & 4 && !(kind & 2) ? 3 : 0;
    shape.semisorted = shape.bucket_size == 4 && kind & 8;
    return shape;
}

/* ---- levels that widen slots ---- */

/* A step changes the bucket that is split, its new one, and the one that is widened. */
static void a_step_changes_three_buckets(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        test_filter made = growing_filter(any_shape(kind, 20), 0);
        unsigned keys = 0, widened = 0;
        while (keys < 30 && cf_add(&made.filter, key[keys]) == CF_OK)
            keys++; /* up to one for which it would have to grow */
        made.filter.memory.most = UINT64_MAX;
        assert_int_equal(cf_grow(&made.filter), CF_OK);
        while (made.filter.level < 4) {
            snapshot then = remember(&made.filter);
            uint64_t narrow = made.filter.view.narrow_buckets;
            assert_int_equal(cf_grow(&made.filter), CF_OK);
            assert_true(bytes_changed(&made.filter, &then) <=
                        4 * (made.filter.view.form.bucket_bits / 8 + 2));
            assert_true(narrow == 0 || made.filter.view.narrow_buckets == narrow - 1);
            widened += narrow > 0;
            if (random_below(20) == 0)
                assert_opens(&made.filter);
            assert_found(&made.filter, keys);
            free(then.bytes);
        }
        assert_int_equal(made.filter.view.narrow_buckets, 0);
        assert_int_equal(widened, 20 * (1 + 4 + 8) - 3); /* the first of each level has none yet */
        free_filter(&made);
    }
}

/* In a narrow bucket a new entry knows as much as in a wide one. */
static void narrow_slots_hold_new_entries(void **state)
{
    unsigned narrow = 0;
    (void)state;
    for (unsigned level = 0; level < 12; level++)
        for (int round = 0; round < 20; round++) {
            uint64_t split = 1 + random_below((20u << level) - 1), hash = random64();
            test_filter made = filter_at_stage(growing_shape(20, 4, 12), level, split);
            cf_pair pair = cf_pair_of(&made.filter, hash);
            cf_entry entry;
            assert_int_equal(cf_add(&made.filter, hash), CF_OK);
            assert_true(cf_entry_at(&made.filter, pair.place[0].bucket, 0, &entry));
            assert_int_equal(entry.side.length, made.filter.view.new_length);
            narrow += pair.place[0].bucket < made.filter.view.narrow_buckets;
            assert_int_equal(cf_delete(&made.filter, hash), CF_REMOVED);
            free_filter(&made);
        }
    assert_true(narrow > 20);
}

/* What all entries know, whichever of their buckets they lie in: a sum that does not depend on their
** order. */
static uint64_t knowledge(const cf_filter *filter)
{
    uint64_t sum = 0;
    cf_entry entry;
    cf_walk walk = cf_walk_begin(filter, 1);
    while (cf_walk_entry(&walk, &entry)) {
        cf_side other = cf_alternate(filter, entry.side);
        cf_side one = other.base < entry.side.base ? other : entry.side;
        uint64_t mixed = (one.base << 40 ^ one.bits << 8 ^ one.length) * UINT64_C(0x9e3779b97f4a7c15);
        sum += mixed ^ mixed >> 29;
    }
    return sum;
}

/* In all moves: an insertion adds what its key knows, nothing else changes. */
static void what_is_moved_keeps_what_it_knows(void **state)
{
    unsigned moved = 0;
    (void)state;
    for (int round = 0; round < 60; round++) {
        cf_geometry shape = spilling(growing_shape(20, 4, 14), 2, 40);
        test_filter made = filter_at_stage(shape, 2, 5 + random_below(70));
        cf_filter *filter = &made.filter;
        for (unsigned i = 0; i < 700; i++) {
            uint64_t hash = random64(), before = knowledge(filter), count = cf_count(filter, hash);
            uint64_t occupied = filter->occupied + filter->spilled;
            if (count > 0 || cf_add(filter, hash) != CF_OK)
                continue;
            assert_true(filter->occupied + filter->spilled == occupied + 1);
            assert_int_equal(cf_delete(filter, hash), CF_REMOVED); /* after it one entry is settled */
            assert_true(knowledge(filter) == before);
            assert_int_equal(cf_add(filter, hash), CF_OK);
            before = knowledge(filter);
            assert_int_equal(cf_settle(filter), CF_OK);
            assert_true(knowledge(filter) == before);
            moved += filter->spilled > 0;
        }
        assert_sound(filter);
        free_filter(&made);
    }
    assert_true(moved > 100);
}

/* A bit between narrow buckets and others is seen. */
static void gaps_are_zero(void **state)
{
    test_filter made = filter_at_stage(growing_shape(20, 4, 12), 2, 30);
    const cf_view *view = &made.filter.view;
    uint64_t narrow = view->narrow_buckets;
    const char *why = "";
    (void)state;
    assert_sound(&made.filter);
    for (uint64_t at = narrow * view->narrow.bucket_bits; at < narrow * view->form.bucket_bits; at++) {
        view->writable[at / 8] ^= (uint8_t)(1 << at % 8);
        assert_int_equal(cf_check(&made.filter, &why), CF_DAMAGED);
        assert_string_equal(why, "the bits behind the last narrow bucket are not zero");
        view->writable[at / 8] ^= (uint8_t)(1 << at % 8);
    }
    assert_sound(&made.filter);
    free_filter(&made);
}

/* ---- before the first growth ---- */

/* A table that is large enough, planned for so many of 100 slots. */
static cf_geometry large_shape(unsigned kind, unsigned percent)
{
    cf_geometry shape = any_shape(kind, 1100);
    shape.capacity = shape.buckets * shape.bucket_size * percent / 100;
    return shape;
}

static bool is_preparing(const cf_filter *filter)
{
    return filter->view.form.grown && !filter->view.grown;
}

/* No insertion rewrites more than its share; all keys are there all the time; what was deleted is
** gone. */
static void large_tables_are_prepared_bit_by_bit(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        test_filter made = growing_filter(large_shape(kind, 85), UINT64_MAX);
        cf_filter *filter = &made.filter;
        unsigned keys = 0, preparing = 0;
        while (filter->occupied < filter->geometry.capacity)
            assert_int_equal(cf_add(filter, key[keys++]), CF_OK);
        for (; !filter->view.grown; keys++) {
            snapshot then = remember(filter);
            assert_int_equal(cf_add(filter, key[keys]), CF_OK);
            if (is_preparing(filter)) {
                assert_true(bytes_changed(filter, &then) <=
                            300 * (filter->view.form.bucket_bits / 8 + 2));
                assert_opens(filter);
                preparing++;
            }
            assert_true(preparing == 0 || filter->view.grown || is_preparing(filter));
            free(then.bytes);
        }
        assert_true(preparing >= 9);
        assert_found(filter, keys);
        assert_opens(filter);
        free_filter(&made);
    }
}

/* A filter that is being prepared, and its keys. */
static test_filter half_prepared(unsigned kind, unsigned *keys)
{
    test_filter made = growing_filter(large_shape(kind, 85), UINT64_MAX);
    *keys = 0;
    while (!is_preparing(&made.filter) || made.filter.view.narrow_buckets > 500)
        assert_int_equal(cf_add(&made.filter, key[(*keys)++]), CF_OK);
    return made;
}

static void prepared_filters_are_used_as_others(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        unsigned keys;
        test_filter made = half_prepared(kind, &keys);
        assert_true(made.filter.view.narrow_buckets > 0);
        assert_found(&made.filter, keys);
        for (unsigned i = 0; i < keys; i++)
            assert_int_equal(cf_delete(&made.filter, key[i]) == CF_ABSENT, false);
        assert_sound(&made.filter);
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(cf_add(&made.filter, key[i]), CF_OK);
        assert_found(&made.filter, 100);
        assert_sound(&made.filter);
        cf_clear(&made.filter);
        assert_false(is_preparing(&made.filter));
        free_filter(&made);
    }
}

/* In a prepared bucket a terminator stands where it must. */
static void prepared_entries_are_checked(void **state)
{
    unsigned keys;
    test_filter made = half_prepared(0, &keys);
    cf_filter *filter = &made.filter;
    uint64_t bucket = filter->buckets - 1, tag = cf_slot_get(filter, bucket, 0);
    const char *why = "";
    (void)state;
    assert_true(tag >> filter->geometry.fingerprint_bits == 1);
    cf_slot_set(filter, bucket, 0, tag | (uint64_t)2 << filter->geometry.fingerprint_bits, 0);
    assert_int_equal(cf_check(filter, &why), CF_DAMAGED);
    assert_string_equal(why, "an entry prepared for growth does not end where it should");
    cf_slot_set(filter, bucket, 0, tag, 0);
    assert_sound(filter);
    free_filter(&made);
}

static void preparations_are_taken_back(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        unsigned keys;
        test_filter made = half_prepared(kind, &keys);
        for (unsigned steps = 0; steps < 5; steps++) {
            cf_undo undo;
            snapshot then = remember(&made.filter);
            cf_undo_begin(&undo, &made.filter);
            assert_int_equal(cf_prepare_growth(&made.filter, random_below(1200)), CF_OK);
            for (unsigned i = 0; i < steps; i++)
                assert_int_equal(cf_grow_noted(&made.filter, &undo), CF_OK);
            cf_grow_back(&made.filter, &undo);
            cf_undo_end(&made.filter, &undo);
            assert_unchanged(&made.filter, &then);
            assert_true(made.filter.view.narrow_buckets == then.filter.view.narrow_buckets);
            assert_sound(&made.filter);
            free(then.bytes);
        }
        free_filter(&made);
    }
}

/* Without memory nothing changes; where the filter may not become longer it is used to the end. */
static void refused_insertions_leave_no_preparation(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++)
        for (unsigned short_of = 0; short_of < 2; short_of++) {
            test_filter made = growing_filter(large_shape(kind, 85), UINT64_MAX);
            cf_filter *filter = &made.filter;
            uint64_t once_longer = cf_bytes_at(&filter->geometry, 0, 0, true);
            unsigned keys = 0, refused = 0;
            filter->memory.most = short_of ? filter->length : once_longer;
            while (filter->occupied < filter->geometry.capacity)
                assert_int_equal(cf_add(filter, key[keys++]), CF_OK);
            for (; refused < 5 && keys < KEYS; keys++) {
                snapshot then = remember(filter);
                cf_status status = cf_add(filter, key[keys]);
                if (status != CF_OK) {
                    assert_unchanged(filter, &then);
                    assert_true(filter->view.narrow_buckets == then.filter.view.narrow_buckets);
                    refused++;
                }
                free(then.bytes);
            }
            assert_true(is_preparing(filter) == !short_of);
            assert_sound(filter);
            free_filter(&made);
        }
}

/* Keys of one pair; each fills a slot. */
static uint64_t of_one_pair(const cf_filter *filter, unsigned i)
{
    unsigned s = filter->geometry.pair_bits, f = filter->geometry.fingerprint_bits;
    uint64_t rest = cf_low_bits(f - s) << s;
    return (key[0] & ~rest) | (uint64_t)(i + 1) << s;
}

/* They have taken all slots of their pair; one more is refused, and what it has prepared becomes
** narrow again. */
static void keys_that_crowd_a_pair_leave_no_preparation(void **state)
{
    unsigned refused = 0;
    (void)state;
    for (unsigned kind = 0; kind < 16; kind++) {
        cf_geometry shape = large_shape(kind, 80);
        unsigned keys = 1, slots = 2u * shape.bucket_size;
        shape.fingerprint_bits = 14;
        /* room to prepare, none to split */
        test_filter made = growing_filter(shape, cf_bytes_at(&shape, 0, 0, true));
        cf_filter *filter = &made.filter;
        for (unsigned i = 0; i < slots; i++)
            assert_int_equal(cf_add(filter, of_one_pair(filter, i)), CF_OK);
        while (!is_preparing(filter))
            (void)cf_add(filter, key[keys++]); /* one that needs this pair is refused */
        for (unsigned i = slots; i < slots + 3; i++, refused++) {
            snapshot then = remember(filter);
            assert_int_not_equal(cf_add(filter, of_one_pair(filter, i)), CF_OK);
            assert_true(filter->view.narrow_buckets > 0);
            assert_true(filter->view.narrow_buckets == then.filter.view.narrow_buckets);
            assert_unchanged(filter, &then);
            free(then.bytes);
        }
        free_filter(&made);
    }
    assert_int_equal(refused, 3 * 16);
}

static void without_memory_nothing_is_prepared(void **state)
{
    test_filter made = growing_filter(large_shape(9, 85), UINT64_MAX);
    unsigned keys = 0;
    cf_status status = CF_OK;
    (void)state;
    resizes_left = 0;
    while (status == CF_OK) {
        snapshot then = remember(&made.filter);
        status = cf_add(&made.filter, key[keys++]);
        if (status != CF_OK)
            assert_unchanged(&made.filter, &then);
        free(then.bytes);
    }
    assert_int_equal(status, CF_NO_MEMORY);
    assert_false(is_preparing(&made.filter));
    resizes_left = UINT64_MAX;
    assert_int_equal(cf_add(&made.filter, key[keys - 1]), CF_OK);
    free_filter(&made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_step_changes_three_buckets),
    cmocka_unit_test(narrow_slots_hold_new_entries),
    cmocka_unit_test(what_is_moved_keeps_what_it_knows),
    cmocka_unit_test(gaps_are_zero),
    cmocka_unit_test(large_tables_are_prepared_bit_by_bit),
    cmocka_unit_test(prepared_filters_are_used_as_others),
    cmocka_unit_test(prepared_entries_are_checked),
    cmocka_unit_test(preparations_are_taken_back),
    cmocka_unit_test(refused_insertions_leave_no_preparation),
    cmocka_unit_test(keys_that_crowd_a_pair_leave_no_preparation),
    cmocka_unit_test(without_memory_nothing_is_prepared),
};

int main(void)
{
    seed_random();
    make_keys();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
