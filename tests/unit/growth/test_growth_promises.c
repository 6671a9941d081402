/* SPDX-License-Identifier: MIT */
/* What a filter that grows promises of its keys, over long random sequences of calls on keys that
** are hard to tell apart: one that is there is found; deleting it finds something; nothing that
** fails changes anything. */
#include "../test.h"

#include "../../../src/entry/copies.h"
#include "../../../src/table/address.h"

enum { KEYS = 200 };

typedef struct world {
    test_filter made;
    uint64_t hash[KEYS];
    unsigned copies[KEYS]; /* added and not deleted */
} world;

/* Hashes that differ from one of a few others in a bit or two of the lowest 30, or in all. */
static void choose_keys(world *w)
{
    uint64_t root[8];
    for (unsigned i = 0; i < 8; i++)
        root[i] = random64();
    for (unsigned i = 0; i < KEYS; i++) {
        w->copies[i] = 0;
        w->hash[i] = root[random_below(8)];
        for (uint64_t flips = random_below(3); flips > 0; flips--)
            w->hash[i] ^= (uint64_t)1 << random_below(30);
        if (random_below(2))
            w->hash[i] = random64();
    }
}

/* The value of a key: alike for some keys that are alike. */
static uint64_t value_of(const world *w, unsigned key)
{
    return key & cf_low_bits(w->made.filter.geometry.value_bits);
}

static bool is_there(const world *w, unsigned key)
{
    const cf_filter *filter = &w->made.filter;
    cf_pair pair = cf_pair_of(filter, w->hash[key]);
    cf_matches found;
    cf_find_matches(filter, &pair, value_of(w, key), &found);
    assert_true(cf_contains(filter, w->hash[key]) || found.n == 0);
    return found.n > 0;
}

static void add(world *w, unsigned key)
{
    snapshot then = remember(&w->made.filter);
    if (cf_add_value(&w->made.filter, w->hash[key], value_of(w, key)) == CF_OK) {
        w->copies[key]++;
        assert_true(is_there(w, key));
    } else {
        assert_unchanged(&w->made.filter, &then);
    }
    free(then.bytes);
}

static void take(world *w, unsigned key)
{
    if (w->copies[key] == 0)
        return;
    snapshot then = remember(&w->made.filter);
    cf_deleted result = cf_delete_value(&w->made.filter, w->hash[key], value_of(w, key));
    assert_int_not_equal(result, CF_ABSENT);
    if (result == CF_STICKY)
        assert_unchanged(&w->made.filter, &then);
    w->copies[key]--;
    free(then.bytes);
}

static void assert_promises(const world *w)
{
    for (unsigned i = 0; i < KEYS; i++)
        if (w->copies[i] > 0)
            assert_true(is_there(w, i));
    assert_sound(&w->made.filter);
}

/* Phases in which adds prevail alternate with phases in which deletes do. */
static void run(cf_geometry shape, int calls, uint64_t most_buckets)
{
    static world w;
    w.made = growing_filter(shape, 20000); /* where nothing but pair bits is known, all entries double */
    choose_keys(&w);
    for (int i = 0; i < calls; i++) {
        unsigned key = (unsigned)random_below(KEYS);
        bool adding = i / 500 % 2 == 0;
        if (random_below(10) < (adding ? 7u : 3u))
            add(&w, key);
        else
            take(&w, key);
        if (random_below(40) == 0 && w.made.filter.buckets < most_buckets)
            assert_int_equal(cf_grow(&w.made.filter), CF_OK);
        if (i % 50 == 0)
            assert_promises(&w);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        while (w.copies[i] > 0)
            take(&w, i);
        if (i % 10 == 0)
            assert_promises(&w);
    }
    free_filter(&w.made);
}

static void promises_hold(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (uint64_t m = 2; m <= 10; m += 2 + m / 6 * 2)
            for (unsigned f = b == 2 ? 12 : 8; f <= 20; f += 4)
                run(growing_shape(m, b, f), 1500, 300);
}

static void promises_hold_with_counters(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bits = 1; bits <= 16; bits += 1 + bits) {
            cf_geometry shape = growing_shape(4 + bits % 2 * 2, b, 12);
            shape.counter_bits = (uint8_t)bits;
            run(shape, 2000, 200);
        }
}

static void promises_hold_with_values(void **state)
{
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (unsigned bits = 1; bits <= 8; bits += 1 + bits) {
            cf_geometry shape = growing_shape(4 + bits % 3 * 2, b, 12);
            shape.value_bits = (uint8_t)bits;
            run(shape, 2000, 200);
        }
}

static void promises_hold_for_any_pair_bits_and_cap(void **state)
{
    (void)state;
    for (unsigned s = 4; s <= 10; s++)
        for (unsigned cap = 1; cap <= 8; cap++) {
            cf_geometry shape = growing_shape(6, 8, 10);
            shape.pair_bits = (uint8_t)s;
            shape.cap = (uint8_t)cap;
            run(shape, 1000, 200);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(promises_hold),
    cmocka_unit_test(promises_hold_with_counters),
    cmocka_unit_test(promises_hold_with_values),
    cmocka_unit_test(promises_hold_for_any_pair_bits_and_cap),
};

RUN_TESTS(tests)
