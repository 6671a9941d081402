/* SPDX-License-Identifier: MIT */
/* Growth is written down, and taken back to the byte: plain and semi-sorted, with spilled entries,
** over any number of levels, and when memory ends at any moment. */
#include "../spill_model.h"

#include "../../../src/entry/entry.h"
#include "../../../src/growth/growth_undo.h"
#include "../../../src/growth/insert.h"

/* ---- memory that is counted ---- */

static int blocks; /* that are lent */

static uint8_t *counted_resize(void *context, uint8_t *bytes, uint64_t size)
{
    uint8_t *given = test_resize(context, bytes, size);
    blocks += bytes == NULL && given != NULL;
    blocks -= size == 0;
    return given;
}

/* ---- filters of any content ---- */

static cf_geometry any_shape(unsigned b)
{
    cf_geometry shape = growing_shape(2 + 2 * random_below(4), b, 28);
    shape.pair_bits = 6;
    shape.semisorted = b == 4 && random_below(3) > 0;
    if (random_below(3) == 0)
        shape.counter_bits = (uint8_t)(1 + random_below(16));
    else if (random_below(3) == 0)
        shape.value_bits = (uint8_t)(1 + random_below(32));
    if (random_below(3) > 0)
        shape = spilling(shape, (unsigned)random_below(3), 60);
    return shape;
}

static test_filter filled_filter(cf_geometry shape, unsigned level, uint64_t split, unsigned spilled)
{
    test_filter made = filter_at_stage(shape, level, split);
    made.filter.memory = (cf_memory){counted_resize, UINT64_MAX, NULL};
    fill_any_lengths(&made.filter, spilled);
    blocks = 1;
    return made;
}

/* Calls `check` for stages of many shapes, the ends of levels among them. */
static void at_many_stages(void (*check)(test_filter *made))
{
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned level = 0; level <= 3; level++)
            for (int round = 0; round < 12; round++) {
                cf_geometry shape = any_shape(b);
                uint64_t most = shape.buckets << level;
                uint64_t split = round == 0 ? 0 : round == 1 ? most : random_below(most + 1);
                test_filter made = filled_filter(shape, level, split, (unsigned)random_below(40));
                check(&made);
                assert_int_equal(blocks, 1);
                free_filter(&made);
            }
}

/* ---- taking growth back ---- */

/* As many steps as are asked for, or as can be done. */
static cf_status grow(cf_filter *filter, unsigned steps, cf_undo *undo)
{
    cf_status status = CF_OK;
    for (; steps > 0 && status == CF_OK; steps--) {
        status = cf_grow_noted(filter, undo);
        cf_spill_follow(filter, &undo->steps);
    }
    return status;
}

static unsigned any_number_of_steps(const cf_filter *filter)
{
    uint64_t most = random_below(2) ? 3 : 5 * filter->buckets;
    return 1 + (unsigned)random_below(most);
}

static unsigned levels_crossed, entries_spilled;

static void check_taking_back(test_filter *made)
{
    cf_undo undo;
    cf_filter *filter = &made->filter;
    snapshot then = remember(filter);
    unsigned steps = any_number_of_steps(filter);
    cf_undo_begin(&undo, filter);
    grow(filter, steps, &undo);
    levels_crossed += filter->level - then.filter.level;
    entries_spilled += filter->spilled;
    snapshot grown = remember(filter);
    cf_grow_back(filter, &undo);
    cf_undo_end(filter, &undo);
    assert_unchanged(filter, &then);
    assert_int_equal(filter->view.new_length, then.filter.view.new_length);
    assert_sound(filter);
    assert_list(filter);
    while (steps-- > 0 && cf_grow(filter) == CF_OK) /* as if nothing had been: the same bytes */
        continue;
    assert_int_equal(filter->spilled, grown.filter.spilled);
    assert_true(filter->occupied == grown.filter.occupied && filter->buckets == grown.filter.buckets);
    assert_memory_equal(
        filter->view.writable, grown.bytes + CF_HEADER_BYTES,
        (cf_table_bits(&filter->geometry, filter->level, filter->split, filter->view.grown) + 7) / 8);
    free(grown.bytes);
    free(then.bytes);
}

static void growth_is_taken_back_to_the_byte(void **state)
{
    (void)state;
    levels_crossed = entries_spilled = 0;
    for (int round = 0; round < 6; round++)
        at_many_stages(check_taking_back);
    assert_true(levels_crossed > 200 && entries_spilled > 1000);
}

/* What comes after the notes began anew is taken back, and nothing before. */
static void check_taking_back_a_part(test_filter *made)
{
    cf_undo undo;
    cf_filter *filter = &made->filter;
    cf_undo_begin(&undo, filter);
    grow(filter, any_number_of_steps(filter), &undo);
    cf_undo_end(filter, &undo);
    snapshot then = remember(filter);
    grow(filter, any_number_of_steps(filter), &undo);
    cf_grow_back(filter, &undo);
    assert_unchanged(filter, &then);
    cf_grow_back(filter, &undo); /* nothing is left to be taken back */
    assert_unchanged(filter, &then);
    cf_undo_end(filter, &undo);
    free(then.bytes);
}

static void notes_begin_anew(void **state)
{
    (void)state;
    at_many_stages(check_taking_back_a_part);
}

/* ---- memory ends ---- */

/* Memory for `given` blocks: as far as it goes, and back. */
static cf_status check_ending(test_filter *made, uint64_t given, unsigned steps)
{
    cf_undo undo;
    snapshot then = remember(&made->filter);
    resizes_left = given;
    cf_undo_begin(&undo, &made->filter);
    cf_status status = grow(&made->filter, steps, &undo);
    cf_grow_back(&made->filter, &undo);
    cf_undo_end(&made->filter, &undo);
    resizes_left = UINT64_MAX;
    assert_true(status == CF_OK || status == CF_FULL || status == CF_NO_MEMORY);
    assert_unchanged(&made->filter, &then);
    free(then.bytes);
    return status;
}

static void check_every_ending(test_filter *made)
{
    for (uint64_t given = 0; check_ending(made, given, 100) == CF_NO_MEMORY; given++)
        continue;
}

static void growth_without_memory_is_taken_back(void **state)
{
    (void)state;
    at_many_stages(check_every_ending);
}

/* One step more, without memory for it, or for its notes: nothing has changed, the length
** included. */
static void a_step_without_memory_changes_nothing(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        cf_undo undo;
        cf_geometry shape = spilling(any_shape(2u << random_below(3)), 0, 60);
        unsigned level = (unsigned)random_below(3);
        test_filter made = filled_filter(shape, level, random_below((shape.buckets << level) + 1),
                                         20 + (unsigned)random_below(20));
        cf_undo_begin(&undo, &made.filter);
        for (uint64_t given = 0; given < 2; given++) {
            snapshot then = remember(&made.filter);
            resizes_left = given;
            cf_status status = grow(&made.filter, 1, &undo);
            resizes_left = UINT64_MAX;
            if (status != CF_OK)
                assert_unchanged(&made.filter, &then);
            free(then.bytes);
        }
        cf_undo_end(&made.filter, &undo);
        assert_int_equal(blocks, 1);
        free_filter(&made);
    }
}

/* ---- failing calls ---- */

/* A key, a key with a value, or an entry of another filter, marked or with a counter, which knows
** as much as it likes. */
static cf_status add_any(cf_filter *filter)
{
    uint64_t value = random64() & cf_low_bits(filter->geometry.value_bits);
    if (random_below(2))
        return cf_add_value(filter, random64(), value);
    cf_entry item = {.side = cf_base(filter, random64()), .payload = value};
    unsigned least = filter->level > 0 ? filter->level - 1 : 0;
    item.side.length = least + (unsigned)random_below(filter->view.new_length - least + 1);
    item.side.bits &= cf_low_bits(filter->geometry.pair_bits + item.side.length);
    if (filter->geometry.counter_bits)
        item.payload = random64() & cf_low_bits(filter->geometry.counter_bits);
    item.sticky = filter->geometry.counter_bits ? item.payload == cf_payload_max(&filter->geometry)
                                                : random_below(4) == 0;
    cf_status status = cf_insert(filter, &item);
    filter->items += status == CF_OK ? cf_entry_copies(filter, &item) : 0;
    return status;
}

/* Adds until one fails for lack of memory, or of room: whatever failed has changed nothing. */
static cf_status check_add(test_filter *made, uint64_t given)
{
    cf_status status = CF_OK;
    while ((status == CF_OK || status == CF_BAD_ARGUMENT) && made->filter.level < 6) {
        snapshot then = remember(&made->filter);
        resizes_left = given;
        status = add_any(&made->filter);
        resizes_left = UINT64_MAX;
        if (status != CF_OK)
            assert_unchanged(&made->filter, &then);
        free(then.bytes);
        assert_int_equal(blocks, 1);
    }
    assert_sound(&made->filter);
    return status;
}

static void adds_without_memory_change_nothing(void **state)
{
    unsigned failed = 0;
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 40; round++) {
            cf_geometry shape = any_shape(b);
            if (round % 4)
                shape = spilling(shape, 0, 20 + (unsigned)random_below(30));
            for (uint64_t given = 0; given < 4; given++) {
                test_filter made = filled_filter(shape, 1 + (unsigned)random_below(3),
                                                 random_below(shape.buckets), shape.spill_bound / 2u);
                failed += check_add(&made, given) == CF_NO_MEMORY;
                free_filter(&made);
            }
        }
    assert_true(failed > 100);
}

/* The same where the blob may not become longer than `most`, at any byte of it. */
static void adds_beyond_the_most_change_nothing(void **state)
{
    unsigned failed = 0;
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 60; round++) {
            test_filter made = filled_filter(any_shape(b), 1 + (unsigned)random_below(3), 0, 10);
            made.filter.memory.most = made.filter.length + random_below(made.filter.length / 2);
            cf_status status = check_add(&made, UINT64_MAX);
            failed += status == CF_TOO_BIG || status == CF_FULL;
            free_filter(&made);
        }
    assert_true(failed > 100);
}

/* Slots of two widths, of which only the wider ones lie in one word: growth that is taken back comes to
** the narrow ones again. */
static void lookups_after_growth_in_vain_find_all(void **state)
{
    enum { ROUNDS = 600, KEYS = 3, ADDS = 40 };
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t key[KEYS] = {random64()};
        bool added[KEYS] = {false};
        cf_geometry shape = growing_shape(88, 2, 28);
        shape.pair_bits = 18;
        shape.cap = 2;
        shape.value_bits = 3;
        test_filter made = growing_filter(shape, 1 << 20);
        for (unsigned i = 1; i < KEYS; i++)
            key[i] = key[0] ^ UINT64_C(1) << (18 + random_below(40));
        for (unsigned i = 0; i < ADDS; i++) {
            uint64_t k = random_below(KEYS);
            added[k] |= cf_add_value(&made.filter, key[k], random_below(8)) == CF_OK;
            for (unsigned j = 0; j < KEYS; j++)
                assert_true(!added[j] || cf_contains(&made.filter, key[j]));
        }
        free_filter(&made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(growth_is_taken_back_to_the_byte),
    cmocka_unit_test(notes_begin_anew),
    cmocka_unit_test(growth_without_memory_is_taken_back),
    cmocka_unit_test(a_step_without_memory_changes_nothing),
    cmocka_unit_test(adds_without_memory_change_nothing),
    cmocka_unit_test(adds_beyond_the_most_change_nothing),
    cmocka_unit_test(lookups_after_growth_in_vain_find_all),
};

RUN_TESTS(tests)
