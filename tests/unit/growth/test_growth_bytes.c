/* SPDX-License-Identifier: MIT */
/* What growth does to the bytes: nothing, when it fails. */
#include "../test.h"

#include "../../../src/table/address.h"
#include "../../../src/table/bucket.h"

/* ---- filters of any content ---- */

/* Entries of all lengths that may be there at this stage, void ones among them, in six slots of
** ten. */
static void fill_with_any_lengths(cf_filter *filter)
{
    unsigned b = filter->geometry.bucket_size;
    while (filter->occupied * 10 < filter->buckets * b * 6) {
        cf_pair pair = cf_pair_of(filter, random64());
        int slot = cf_bucket_free_slot(filter, pair.place[0].bucket);
        unsigned least = pair.place[0].extension;
        unsigned length = least + (unsigned)random_below(filter->view.new_length - least + 1);
        uint64_t payload = random64() & cf_low_bits(filter->view.form.payload_bits);
        if (slot < 0)
            continue;
        cf_slot_set(filter, pair.place[0].bucket, (unsigned)slot,
                    cf_tag_of(filter, pair.place[0], random_below(3) ? length : least), payload);
        filter->occupied++;
        filter->items += 1 + (filter->geometry.counter_bits ? payload : 0);
    }
}

static test_filter filled_filter(cf_geometry shape, unsigned level, uint64_t split)
{
    test_filter made = filter_at_stage(shape, level, split);
    made.filter.memory = (cf_memory){test_resize, UINT64_MAX, NULL};
    fill_with_any_lengths(&made.filter);
    for (uint64_t steps = random_below(3); steps > 0; steps--) /* and bytes to spare, now and then */
        assert_int_equal(cf_grow(&made.filter), CF_OK);
    assert_sound(&made.filter);
    return made;
}

/* Keys of one pair of buckets, which agree in all but six of the bits that an entry knows. When
** these are among the last, they are of one pair still when the table has grown to 2^14 buckets.
** When these are among the first behind the level, growth parts the keys. */
enum { CROWD = 64, LAST = 20, FIRST = 10 };

static uint64_t crowding_key(uint64_t hash, unsigned i, unsigned at)
{
    return (hash & ~(cf_low_bits(6) << at)) | (uint64_t)i << at;
}

static void assert_full_status(cf_status status)
{
    assert_true(status == CF_FULL || status == CF_TOO_BIG || status == CF_NO_MEMORY);
}

/* Adds until it fails; then all is as before. */
static cf_status crowd(cf_filter *filter, unsigned at)
{
    uint64_t hash = random64();
    while (cf_contains(filter, hash)) /* not where void entries would absorb every key */
        hash = random64();
    for (unsigned i = 0; i < CROWD; i++) {
        snapshot then = remember(filter);
        cf_status status = cf_add(filter, crowding_key(hash, i, at));
        if (status != CF_OK) {
            assert_full_status(status);
            assert_unchanged(filter, &then);
        }
        free(then.bytes);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

/* ---- failing adds ---- */

static void check_full(cf_geometry shape, unsigned level, uint64_t split)
{
    test_filter made = filled_filter(shape, level, split);
    assert_int_equal(crowd(&made.filter, LAST), CF_FULL);
    assert_sound(&made.filter);
    assert_int_equal(crowd(&made.filter, LAST), CF_FULL); /* what is left of it works as before */
    free_filter(&made);
}

/* Semi-sorted or not, counters or not, a short spill list or none. */
static cf_geometry any_shape(uint64_t buckets, unsigned b)
{
    cf_geometry shape = growing_shape(buckets, b, 28);
    shape.pair_bits = 6;
    shape.semisorted = b == 4 && random_below(2);
    if (random_below(3) == 0)
        shape.counter_bits = (uint8_t)(1 + random_below(16));
    return random_below(3) ? shape
                           : spilling(shape, (unsigned)random_below(2), 1 + (unsigned)random_below(4));
}

/* Calls `check` for all stages of a few shapes. */
static void at_all_stages(void (*check)(cf_geometry shape, unsigned level, uint64_t split))
{
    static const uint64_t bases[] = {2, 4, 6};
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned i = 0; i < 3; i++)
            for (unsigned level = 0; level <= 3; level++)
                for (uint64_t split = 0; split <= bases[i] << level; split++)
                    check(any_shape(bases[i], b), level, split);
}

/* Growing does not help keys that agree in so many bits. */
static void full_filters_are_as_before(void **state)
{
    (void)state;
    at_all_stages(check_full);
}

static void check_no_memory(cf_geometry shape, unsigned level, uint64_t split)
{
    for (uint64_t given = 0; given < 3; given++) {
        test_filter made = filled_filter(shape, level, split);
        resizes_left = given;
        cf_status status = crowd(&made.filter, FIRST);
        resizes_left = UINT64_MAX;
        assert_true(status == CF_NO_MEMORY || given > 0);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void without_memory_all_is_as_before(void **state)
{
    (void)state;
    at_all_stages(check_no_memory);
}

static void check_too_big(cf_geometry shape, unsigned level, uint64_t split)
{
    test_filter made = filled_filter(shape, level, split);
    uint64_t more = random_below(60), most = made.filter.length + (random_below(3) ? more : 0);
    made.filter.memory.most = most;
    cf_status status = crowd(&made.filter, FIRST);
    /* a list may be too full for its bucket to be split */
    assert_true(status == CF_TOO_BIG || (status == CF_FULL && shape.spill_bound > 0));
    assert_true(made.filter.length <= most);
    assert_sound(&made.filter);
    free_filter(&made);
}

static void no_filter_becomes_longer_than_allowed(void **state)
{
    (void)state;
    at_all_stages(check_too_big);
}

/* Random keys up to a most: every byte of it may be used, none beyond. */
static void most_is_a_limit(void **state)
{
    (void)state;
    for (uint64_t most = 200; most < 3000; most += 97) {
        test_filter made = growing_filter(growing_shape(4, 4, 12), most);
        cf_status status;
        while ((status = cf_add(&made.filter, random64())) == CF_OK)
            assert_true(made.filter.length <= most);
        assert_int_equal(status, CF_TOO_BIG);
        uint64_t next =
            cf_bytes_at(&made.filter.geometry, made.filter.level, made.filter.split + 1, true);
        assert_true(next + 200 > most); /* it has used what it could, but for the rest of a level */
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

static void who_may_not_grow_is_full(void **state)
{
    cf_geometry fixed = shape_of(20, 4, 12);
    (void)state;
    for (int k = 0; k < 2; k++) {
        test_filter made = growing_filter(k ? fixed : growing_shape(20, 4, 12), UINT64_MAX);
        cf_status status = CF_OK;
        if (k == 0)
            made.filter.memory.resize = NULL;
        while (status == CF_OK) {
            snapshot then = remember(&made.filter);
            assert_int_equal(cf_grow(&made.filter), CF_FULL);
            assert_unchanged(&made.filter, &then);
            status = cf_add(&made.filter, random64());
            if (status != CF_OK)
                assert_unchanged(&made.filter, &then);
            free(then.bytes);
        }
        assert_int_equal(status, CF_FULL);
        assert_sound(&made.filter);
        free_filter(&made);
    }
}

/* ---- single steps ---- */

static void a_failed_step_changes_nothing(void **state)
{
    (void)state;
    for (unsigned level = 0; level <= 3; level++)
        for (uint64_t split = 0; split <= 4u << level; split++) {
            test_filter made = filter_at_stage(growing_shape(4, 4, 12), level, split);
            fill_with_any_lengths(&made.filter);
            snapshot then = remember(&made.filter);
            assert_int_equal(cf_grow(&made.filter), CF_FULL);
            made.filter.memory = (cf_memory){test_resize, made.filter.length, NULL};
            assert_int_equal(cf_grow(&made.filter), CF_TOO_BIG);
            made.filter.memory.most = UINT64_MAX;
            resizes_left = 0;
            assert_int_equal(cf_grow(&made.filter), CF_NO_MEMORY);
            resizes_left = UINT64_MAX;
            assert_unchanged(&made.filter, &then);
            free(then.bytes);
            free_filter(&made);
        }
}

/* A hash has no more bits than it has: then growing ends, and nothing has changed. */
static void growing_ends_with_the_bits_of_the_hash(void **state)
{
    cf_geometry shape = growing_shape(2, 1, 32);
    (void)state;
    shape.pair_bits = 32; /* 31 remainder bits */
    test_filter made = growing_filter(shape, UINT64_MAX);
    while (made.filter.level < 10)
        assert_int_equal(cf_grow(&made.filter), CF_OK);
    free_filter(&made);
    const char *why = "";
    assert_int_equal(cf_stage_check(&shape, 29, 1, &why), CF_OK);
    assert_int_equal(cf_stage_check(&shape, 30, 0, &why), CF_TOO_BIG);
}

/* Room is made in steps of an eighth: few steps need memory, and what is spare is zero. */
static void most_steps_find_room(void **state)
{
    test_filter made = growing_filter(growing_shape(100, 4, 12), UINT64_MAX);
    unsigned resizes = 0;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        const uint64_t before = resizes_left;
        assert_int_equal(cf_grow(&made.filter), CF_OK);
        resizes += before != resizes_left;
        uint64_t needed = cf_bytes_at(&made.filter.geometry, made.filter.level, made.filter.split, true);
        assert_true(made.filter.length >= needed && made.filter.length <= needed + needed / 8);
    }
    assert_true(resizes > 20 && resizes < 60);
    assert_sound(&made.filter);
    free_filter(&made);
}

/* ---- equal calls, equal bytes ---- */

/* Opening anew leaves no trace, nor where the memory is. */
static void reopen(test_filter *made)
{
    const char *why = "";
    cf_memory memory = made->filter.memory;
    uint64_t length = made->filter.length;
    cf_seal(&made->filter);
    uint8_t *bytes = remember(&made->filter).bytes;
    free_filter(made);
    assert_int_equal(cf_open_writable(&made->filter, bytes, length, &why), CF_OK);
    made->filter.memory = memory;
}

static void bytes_follow_from_the_calls(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        cf_geometry shape = any_shape(4, 2u << round % 3);
        shape.counter_bits = 0;
        test_filter one = growing_filter(shape, UINT64_MAX), two = growing_filter(shape, UINT64_MAX);
        for (int i = 0; i < 600; i++) {
            uint64_t hash = random64();
            assert_int_equal(cf_add(&one.filter, hash), CF_OK);
            assert_int_equal(cf_add(&two.filter, hash), CF_OK);
            if (random_below(4) == 0)
                reopen(&two);
        }
        cf_seal(&one.filter);
        cf_seal(&two.filter);
        snapshot then = remember(&one.filter);
        assert_unchanged(&two.filter, &then);
        free(then.bytes);
        free_filter(&one);
        free_filter(&two);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(full_filters_are_as_before),
    cmocka_unit_test(without_memory_all_is_as_before),
    cmocka_unit_test(no_filter_becomes_longer_than_allowed),
    cmocka_unit_test(most_is_a_limit),
    cmocka_unit_test(who_may_not_grow_is_full),
    cmocka_unit_test(a_failed_step_changes_nothing),
    cmocka_unit_test(growing_ends_with_the_bits_of_the_hash),
    cmocka_unit_test(most_steps_find_room),
    cmocka_unit_test(bytes_follow_from_the_calls),
};

RUN_TESTS(tests)
