/* SPDX-License-Identifier: MIT */
#include "../test.h"

#include "../../../src/filter/ageing.h"
#include "../../../src/table/epochs.h"
#include "../../../src/table/open.h"

/* Keys, and the epoch in which each was added last. */
enum { KEYS = 6000, NEVER = 1 << 30 };

typedef struct stream {
    test_filter made;
    uint64_t hash[KEYS], added[KEYS];
} stream;

static cf_geometry ageing(cf_geometry shape, unsigned epochs)
{
    shape.epochs = (uint8_t)epochs;
    shape.cap = 1;
    return shape;
}

static stream *new_stream(cf_geometry shape)
{
    stream *made = calloc(1, sizeof *made);
    made->made = growing_filter(shape, UINT64_MAX);
    for (unsigned i = 0; i < KEYS; i++) {
        made->hash[i] = random64();
        made->added[i] = NEVER;
    }
    return made;
}

static void free_stream(stream *made)
{
    free_filter(&made->made);
    free(made);
}

/* What was added within so many epochs is found, whatever else happened; what is older is found as seldom as
** what was never added. */
static void assert_remembers(const stream *now, uint64_t epochs)
{
    const cf_filter *filter = &now->made.filter;
    unsigned found = 0, old = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        bool has = cf_contains(filter, now->hash[i]);
        bool young = now->added[i] != NEVER && filter->epoch - now->added[i] < epochs;
        if (young && !has)
            fail_msg("a key of %u epochs ago is missing", (unsigned)(filter->epoch - now->added[i]));
        old += !young;
        found += !young && has;
    }
    if (found > 5 + old / 500)
        fail_msg("%u of %u are found, though they are too old", found, old);
    assert_true(filter->items == filter->occupied);
    assert_sound(filter);
}

static void add_some(stream *to, unsigned n, unsigned among)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned key = (unsigned)random_below(among);
        if (cf_add(&to->made.filter, to->hash[key]) == CF_OK)
            to->added[key] = to->made.filter.epoch;
        else
            assert_false(to->made.filter.geometry.growth);
    }
}

/* No entry carries one of these numbers. */
static void assert_clean(const cf_filter *filter, uint32_t numbers)
{
    cf_entry entry;
    for (uint64_t bucket = 0; bucket < filter->buckets; bucket++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            assert_false(cf_entry_at(filter, bucket, slot, &entry) && numbers >> entry.payload & 1);
}

static const cf_geometry *shapes(unsigned *n)
{
    static cf_geometry all[9];
    unsigned at = 0;
    for (unsigned b = 2; b <= 8; b *= 2) {
        all[at++] = growing_shape(40, b, 16);
        all[at++] = growing_shape(4000 / b, b, 16);
    }
    all[at++] = semisorted(growing_shape(40, 4, 16));
    all[at++] = semisorted(growing_shape(1100, 4, 16));
    all[at++] = shape_of(2000, 4, 16);
    *n = at;
    return all;
}

static void keys_are_found_for_so_many_epochs(void **state)
{
    unsigned n;
    const cf_geometry *all = shapes(&n);
    (void)state;
    for (unsigned i = 0; i < n; i++)
        for (unsigned epochs = 1; epochs <= CF_EPOCHS_MAX; epochs += 1 + epochs / 2) {
            stream *now = new_stream(ageing(all[i], epochs));
            for (unsigned step = 0; step < 40; step++) {
                add_some(now, 600, step % 10 < 5 ? KEYS : 500);
                assert_remembers(now, epochs);
                for (uint64_t more = random_below(3); more > 0; more--)
                    cf_advance(&now->made.filter);
                assert_clean(&now->made.filter, ~now->made.filter.view.live);
            }
            for (unsigned step = 0; step < epochs; step++)
                cf_advance(&now->made.filter);
            assert_int_equal(now->made.filter.occupied, 0);
            free_stream(now);
        }
}

static void adding_again_makes_young(void **state)
{
    (void)state;
    test_filter made = new_filter(ageing(shape_of(100, 4, 16), 3));
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(cf_add(&made.filter, 7), CF_OK);
        assert_int_equal(cf_add(&made.filter, 7), CF_OK);
        assert_int_equal(made.filter.occupied, 1);
        assert_int_equal(cf_count(&made.filter, 7), 1);
        assert_int_equal(cf_delete(&made.filter, 7), CF_STICKY);
        cf_advance(&made.filter);
    }
    cf_advance(&made.filter);
    assert_true(cf_contains(&made.filter, 7));
    cf_advance(&made.filter);
    assert_false(cf_contains(&made.filter, 7));
    assert_int_equal(cf_delete(&made.filter, 7), CF_ABSENT);
    free_filter(&made);
}

/* Also one of which the number is used again. */
static void old_epochs_are_dead(void **state)
{
    (void)state;
    test_filter made = new_filter(ageing(shape_of(100, 4, 16), 4));
    for (unsigned i = 0; i < 40; i++)
        cf_advance(&made.filter);
    for (uint64_t epoch = 0; epoch <= 40; epoch++)
        assert_int_equal(cf_epoch_is_live(&made.filter, epoch), epoch > 36);
    free_filter(&made);
}

/* An earlier epoch does not make an entry older. */
static void entries_never_become_older(void **state)
{
    (void)state;
    test_filter made = new_filter(ageing(shape_of(100, 4, 16), 4));
    for (unsigned i = 0; i < 5; i++)
        cf_advance(&made.filter);
    assert_int_equal(cf_add_epoch(&made.filter, 8, 3), CF_OK);
    assert_int_equal(cf_add_epoch(&made.filter, 7, 5), CF_OK);
    assert_int_equal(cf_add_epoch(&made.filter, 7, 2), CF_OK);
    cf_advance(&made.filter);
    cf_advance(&made.filter);
    assert_true(cf_contains(&made.filter, 7));
    assert_false(cf_contains(&made.filter, 8));
    free_filter(&made);
}

/* ---- an owner that keeps time itself, as a filter table does ---- */

typedef struct owner {
    uint32_t clean, dead;
    uint64_t swept;
    unsigned lives; /* epochs */
} owner;

static uint32_t numbers_of(const cf_filter *filter, unsigned epochs)
{
    uint32_t numbers = 0;
    for (unsigned age = 0; age < epochs; age++)
        numbers |= 1u << cf_epoch_number(filter->epoch - age);
    return numbers;
}

static void sweep_some(stream *now, owner *by, uint64_t buckets)
{
    cf_filter *filter = &now->made.filter;
    if (by->dead == 0) {
        by->dead = 0xffff & ~(filter->view.live | by->clean);
        by->swept = 0;
    }
    by->swept = cf_sweep(filter, by->dead, by->swept, buckets);
    if (by->swept < filter->buckets)
        return;
    assert_clean(filter, by->dead);
    by->clean |= by->dead;
    by->dead = 0;
}

static void begin_epoch_if_clean(stream *now, owner *by)
{
    cf_filter *filter = &now->made.filter;
    uint32_t next = 1u << cf_epoch_number(filter->epoch + 1);
    if ((by->clean & next) == 0)
        return;
    assert_clean(filter, next);
    by->clean &= ~next;
    cf_begin_epoch(filter);
    cf_set_live(filter, numbers_of(filter, by->lives));
}

/* Numbers are swept while keys are added and the filter grows, in any number of steps; in between the
** bytes are opened anew, as another process does. */
static void numbers_are_clean_when_they_come_again(void **state)
{
    unsigned n;
    const char *why;
    const cf_geometry *all = shapes(&n);
    (void)state;
    for (unsigned i = 0; i < n; i++)
        for (unsigned round = 0; round < 4; round++) {
            stream *now = new_stream(ageing(all[i], CF_EPOCHS_MAX));
            cf_filter *filter = &now->made.filter;
            owner by = {.clean = 0xfffe, .lives = 1 + (unsigned)random_below(14)};
            for (unsigned step = 0; step < 300; step++) {
                cf_set_live(filter, numbers_of(filter, by.lives));
                add_some(now, (unsigned)random_below(60), random_below(2) ? KEYS : 300);
                sweep_some(now, &by, 1 + random_below(random_below(4) ? 100 : 2000));
                if (random_below(3) == 0)
                    begin_epoch_if_clean(now, &by);
                if (step % 20 == 0)
                    assert_remembers(now, by.lives);
                if (step % 30 == 0) {
                    cf_memory memory = filter->memory;
                    cf_seal(filter);
                    assert_int_equal(cf_open_writable(filter, filter->view.writable - CF_HEADER_BYTES,
                                                      filter->length, &why),
                                     CF_OK);
                    filter->memory = memory;
                }
            }
            free_stream(now);
        }
}

/* A table that is as full as it may be holds no more because of what is dead. */
static void the_dead_make_nothing_grow(void **state)
{
    (void)state;
    for (unsigned growing = 0; growing < 2; growing++) {
        cf_geometry shape = growing ? growing_shape(1000, 4, 16) : shape_of(1000, 4, 16);
        stream *now = new_stream(ageing(shape, CF_EPOCHS_MAX));
        cf_filter *filter = &now->made.filter;
        for (unsigned epoch = 0; epoch < 200; epoch++) {
            uint64_t least = filter->epoch * 1000;
            cf_set_live(filter, numbers_of(filter, 3));
            for (unsigned i = 0; i < 1000; i++) /* three epochs: three quarters of the slots */
                assert_int_equal(cf_add(filter, (least + i + 1) * UINT64_C(0x9e3779b97f4a7c15)), CF_OK);
            cf_set_epoch(filter, filter->epoch + 1);
            cf_sweep(filter, 1u << cf_epoch_number(filter->epoch), 0, filter->buckets);
        }
        assert_int_equal(filter->buckets, 1000);
        assert_sound(filter);
        free_stream(now);
    }
}

/* A split takes nothing along that is dead. */
static void splits_drop_the_dead(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        stream *now = new_stream(ageing(growing_shape(2000 / b, b, 16), 3));
        cf_filter *filter = &now->made.filter;
        add_some(now, 1000, KEYS);
        for (unsigned i = 0; i < 3; i++)
            cf_begin_epoch(filter);
        add_some(now, 100, KEYS);
        assert_true(filter->occupied > 800);
        for (uint64_t steps = filter->buckets; steps > 0; steps--)
            assert_int_equal(cf_grow(filter), CF_OK);
        assert_clean(filter, ~filter->view.live);
        filter->items = filter->occupied;
        assert_remembers(now, 3);
        free_stream(now);
    }
}

/* ---- merges ---- */

static void sums_keep_the_later_epoch(void **state)
{
    unsigned n;
    const char *why;
    const cf_geometry *all = shapes(&n);
    (void)state;
    for (unsigned i = 0; i < n; i++)
        for (unsigned ahead = 0; ahead < 40; ahead += 1 + ahead / 4) {
            stream *one = new_stream(ageing(all[i], 5)), *two = new_stream(ageing(all[i], 5));
            memcpy(two->hash, one->hash, sizeof one->hash);
            bool first = random_below(2);
            for (unsigned step = 0; step < 12; step++) {
                add_some(one, 50, 2000), add_some(two, 50, 2000);
                cf_advance(&one->made.filter), cf_advance(&two->made.filter);
            }
            for (unsigned step = 0; step < ahead; step++)
                cf_advance(first ? &one->made.filter : &two->made.filter);
            assert_int_equal(cf_merge(&one->made.filter, &two->made.filter, &why), CF_OK);
            for (unsigned key = 0; key < KEYS; key++)
                if (two->added[key] != NEVER &&
                    (one->added[key] == NEVER || one->added[key] < two->added[key]))
                    one->added[key] = two->added[key];
            assert_int_equal(one->made.filter.epoch, 12 + ahead);
            assert_remembers(one, 5);
            assert_clean(&one->made.filter, ~one->made.filter.view.live);
            cf_advance(&one->made.filter);
            assert_remembers(one, 5);
            free_stream(one), free_stream(two);
        }
}

static void shrinking_leaves_the_dead_behind(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        cf_geometry shape = ageing(growing_shape(40, b, 16), 6);
        stream *now = new_stream(shape);
        test_filter smaller = growing_filter(shape, UINT64_MAX);
        add_some(now, 8000, KEYS);
        for (unsigned i = 0; i < 5; i++) {
            cf_advance(&now->made.filter);
            add_some(now, i == 2 ? 50 : 0, KEYS);
        }
        add_some(now, 100, KEYS);
        cf_begin_epoch(&now->made.filter);
        cf_set_live(&now->made.filter, numbers_of(&now->made.filter, 2));
        cf_age_to(&smaller.filter, now->made.filter.epoch);
        assert_int_equal(cf_shrink(&smaller.filter, &now->made.filter), CF_OK);
        assert_true(smaller.filter.length < now->made.filter.length / 8);
        free_filter(&now->made);
        now->made = smaller;
        assert_clean(&smaller.filter, ~numbers_of(&smaller.filter, 2));
        assert_remembers(now, 2);
        free_stream(now);
    }
}

static void sums_must_agree_in_epochs(void **state)
{
    const char *why;
    (void)state;
    for (unsigned epochs = 0; epochs < 2; epochs++) {
        cf_geometry shape = ageing(shape_of(30, 4, 16), 3), other = ageing(shape, 3 * epochs + 1);
        if (epochs == 0) {
            other.epochs = 0;
            shape.cap = other.cap = 1;
        }
        test_filter one = new_filter(shape), two = new_filter(other);
        assert_int_equal(cf_merge(&one.filter, &two.filter, &why), CF_MISMATCH);
        assert_string_equal(why, "epochs");
        free_filter(&one), free_filter(&two);
    }
}

/* ---- limits ---- */

/* A refused key changes nothing, also where growth was tried. */
static void a_refused_key_changes_nothing(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2) {
        test_filter made = growing_filter(ageing(growing_shape(1200, b, 16), 4), UINT64_MAX);
        cf_status status = CF_OK;
        unsigned refused = 0;
        for (unsigned i = 0; i < 4800 * b; i++) {
            if (i % (1000 * b) == 0)
                cf_begin_epoch(&made.filter);
            snapshot before = remember(&made.filter);
            resizes_left = random_below(3);
            status = cf_add(&made.filter, random64());
            resizes_left = UINT64_MAX;
            if (status != CF_OK) {
                assert_unchanged(&made.filter, &before);
                refused++;
            }
            free(before.bytes);
        }
        assert_true(refused > 0);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* With half of the table dead, it is refused because of 2b live keys of one pair. */
static void too_many_of_one_pair_are_refused(void **state)
{
    (void)state;
    test_filter made = new_filter(ageing(shape_of(64, 2, 8), 3));
    unsigned taken = 0;
    for (uint64_t i = 1; i <= 20; i++)
        taken += cf_add(&made.filter, i) == CF_OK; /* base bucket 0 */
    assert_true(taken > 2 && made.filter.occupied == taken);
    for (unsigned i = 0; i < 3; i++)
        cf_begin_epoch(&made.filter);
    for (uint64_t i = 1; i <= taken; i++)
        assert_int_equal(cf_add(&made.filter, i), CF_OK);
    assert_int_equal(made.filter.occupied, taken);
    assert_sound(&made.filter);
    free_filter(&made);
}

static void plans_have_room_for_one_more_epoch(void **state)
{
    const char *why;
    (void)state;
    for (unsigned epochs = 1; epochs <= CF_EPOCHS_MAX; epochs++) {
        cf_options options = {.epochs = epochs, .growth = epochs % 2};
        cf_geometry shape, plain;
        assert_int_equal(cf_plan(24000, 0.001, &options, &shape, &why), CF_OK);
        options.epochs = 0;
        assert_int_equal(cf_plan(24000 + (24000 + epochs - 1) / epochs, 0.001, &options, &plain, &why),
                         CF_OK);
        assert_int_equal(shape.capacity, 24000);
        assert_int_equal(shape.cap, 1);
        assert_int_equal(shape.buckets * shape.bucket_size, plain.buckets * plain.bucket_size);
        test_filter made = new_filter(shape);
        for (unsigned i = 0; i < 24000 + 24000 / epochs; i++)
            assert_int_equal(cf_add(&made.filter, random64()), CF_OK);
        free_filter(&made);
    }
}

static void bad_options_are_refused(void **state)
{
    const char *why = "";
    cf_geometry shape;
    (void)state;
    const cf_options bad[] = {{.epochs = 16},
                              {.epochs = 3, .counter_bits = 1},
                              {.epochs = 3, .value_bits = 1},
                              {.epochs = 3, .overflow = true}};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(cf_plan(100, 0.01, &bad[i], &shape, &why), CF_BAD_ARGUMENT);
        assert_non_null(strstr(why, "epochs"));
    }
}

/* The header says all of it; the last epoch is followed by the first. */
static void epochs_are_kept(void **state)
{
    const char *why;
    cf_filter again;
    (void)state;
    test_filter made = new_filter(ageing(shape_of(30, 4, 16), 2));
    cf_set_epoch(&made.filter, ((uint64_t)1 << 48) - 1);
    cf_add(&made.filter, 5);
    for (unsigned i = 0; i < 3; i++) {
        cf_seal(&made.filter);
        assert_int_equal(cf_open(&again, made.filter.bytes, made.filter.length, &why), CF_OK);
        assert_int_equal(again.geometry.epochs, 2);
        assert_true(again.epoch == made.filter.epoch && again.view.live == made.filter.view.live);
        assert_int_equal(again.items, again.occupied);
        assert_int_equal(cf_contains(&again, 5), i < 2);
        cf_reader reader = {.filter = {.length = 0}};
        assert_int_equal(cf_reader_open(&reader, made.filter.bytes, made.filter.length, &why), CF_OK);
        cf_advance(&made.filter);
        cf_seal(&made.filter);
        assert_int_equal(cf_reader_open(&reader, made.filter.bytes, made.filter.length, &why), CF_OK);
        assert_true(reader.filter.epoch == made.filter.epoch);
        assert_int_equal(cf_contains(&reader.filter, 5), i < 1);
    }
    assert_int_equal(made.filter.epoch, 2);
    free_filter(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_found_for_so_many_epochs),
        cmocka_unit_test(adding_again_makes_young),
        cmocka_unit_test(old_epochs_are_dead),
        cmocka_unit_test(entries_never_become_older),
        cmocka_unit_test(numbers_are_clean_when_they_come_again),
        cmocka_unit_test(the_dead_make_nothing_grow),
        cmocka_unit_test(splits_drop_the_dead),
        cmocka_unit_test(sums_keep_the_later_epoch),
        cmocka_unit_test(shrinking_leaves_the_dead_behind),
        cmocka_unit_test(sums_must_agree_in_epochs),
        cmocka_unit_test(a_refused_key_changes_nothing),
        cmocka_unit_test(too_many_of_one_pair_are_refused),
        cmocka_unit_test(plans_have_room_for_one_more_epoch),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(epochs_are_kept),
    };
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
