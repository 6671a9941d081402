/* SPDX-License-Identifier: MIT */
/* However few keys come together, with however many copies and values: a merge that succeeds finds
** all of them and counts them right; one that fails says why, and changes nothing. */
#include "../../../src/entry/entry.h"
#include "../spill_model.h"

enum { KEYS = 6, VALUES = 32, SPLITS = 40 };

/* A filter, and what it must hold: copies of each key and value. */
typedef struct life {
    test_filter made;
    unsigned copies[KEYS][VALUES];
} life;

static uint64_t hash_of[KEYS];
static bool related; /* keys agree in base bucket and pair bits, and in some of what entries know */

static void choose_keys(void)
{
    related = random_below(2);
    for (unsigned i = 0; i < KEYS; i++)
        hash_of[i] = related && i > 0 ? hash_of[0] ^ UINT64_C(1) << (6 + random_below(30)) : random64();
}

/* Fingerprints so long that keys that are not related have nothing in common, whatever the level. */
static cf_geometry narrow_shape(void)
{
    unsigned b = 1u << (1 + random_below(3));
    cf_geometry shape = growing_shape(2 * (1 + random_below(8)), b, 26);
    shape.cap = (uint8_t)(1 + random_below(2 * b));
    shape.value_bits = random_below(4) ? 5 : 0;
    shape.counter_bits = shape.value_bits || random_below(2) ? 0 : (uint8_t)(1 + random_below(4));
    shape.semisorted = b == 4 && random_below(2);
    shape.growth = random_below(8) > 0;
    return shape;
}

/* What may differ in a merge: the layout, and the list. */
static cf_geometry with_list_or_without(cf_geometry shape)
{
    static const unsigned bounds[] = {1, 7, 8, 9, 24, 4096};
    return random_below(4) ? spilling(shape, (unsigned)random_below(4), bounds[random_below(6)]) : shape;
}

static void add_some(life *l, uint64_t hash_index, unsigned value)
{
    cf_filter *filter = &l->made.filter;
    snapshot then = remember(filter);
    cf_status status = cf_add_value(filter, hash_of[hash_index], value);
    if (status == CF_OK)
        l->copies[hash_index][value]++;
    else
        assert_unchanged(filter, &then);
    free(then.bytes);
}

static void delete_one(life *l, uint64_t hash_index, unsigned value)
{
    unsigned *copies = &l->copies[hash_index][value];
    if (*copies > 0)
        *copies -= cf_delete_value(&l->made.filter, hash_of[hash_index], value) == CF_REMOVED;
}

static void live(life *l, cf_geometry shape)
{
    unsigned values = shape.value_bits ? 1 + (unsigned)random_below(VALUES) : 1;
    unsigned keys = 1 + (unsigned)random_below(KEYS), level = (unsigned)random_below(4);
    memset(l, 0, sizeof *l);
    l->made = new_filter(shape);
    l->made.filter.memory = (cf_memory){test_resize, 1 << 20, NULL};
    for (uint64_t n = random_below(level ? SPLITS : 1); n > 0; n--)
        cf_grow(&l->made.filter);
    for (uint64_t n = random_below(60); n > 0; n--) {
        uint64_t key = random_below(keys);
        unsigned value = (unsigned)random_below(values);
        if (random_below(6))
            add_some(l, key, value);
        else
            delete_one(l, key, value);
        if (random_below(16) == 0)
            cf_grow(&l->made.filter);
    }
}

static bool has_value(const uint64_t *values, unsigned n, uint64_t value)
{
    unsigned i = 0;
    while (i < n && values[i] != value)
        i++;
    return i < n;
}

/* `exact`: no key is sticky, which would have any number of copies; none matches entries of another. */
static void check_key(const life *l, unsigned key, bool exact)
{
    const cf_filter *filter = &l->made.filter;
    uint64_t values[CF_VALUES_MAX], total = 0, hash = hash_of[key], most = filter->geometry.cap;
    unsigned n = cf_get_all(filter, hash, values);
    for (unsigned value = 0; value < VALUES; value++) {
        total += l->copies[key][value];
        if (filter->geometry.value_bits && l->copies[key][value])
            assert_true(has_value(values, n, value));
    }
    most = filter->geometry.counter_bits ? UINT64_C(1) << filter->geometry.counter_bits : most;
    if (filter->geometry.value_bits == 0 && total > most)
        total = most;
    uint64_t count = cf_count(filter, hash);
    if (filter->geometry.counter_bits && count > most)
        count = most;
    assert_true(cf_contains(filter, hash) || total == 0);
    if (exact)
        assert_int_equal(count, total);
    else
        assert_true(count >= total || filter->geometry.value_bits);
}

static void check_life(const life *l)
{
    cf_census census = cf_take_census(&l->made.filter);
    assert_sound(&l->made.filter);
    for (unsigned key = 0; key < KEYS; key++)
        check_key(l, key, !related && census.sticky == 0);
}

static bool refused_for_a_key;

static bool merge(life *sum, const life *more)
{
    const char *why = "";
    snapshot into = remember(&sum->made.filter), from = remember(&more->made.filter);
    cf_status status = cf_merge(&sum->made.filter, &more->made.filter, &why);
    assert_unchanged(&more->made.filter, &from);
    if (status == CF_OK) {
        for (unsigned key = 0; key < KEYS; key++)
            for (unsigned value = 0; value < VALUES; value++)
                sum->copies[key][value] += more->copies[key][value];
        check_life(sum);
    } else if (status == CF_MISMATCH) {
        assert_string_equal(why, "growth");
    } else {
        assert_unchanged(&sum->made.filter, &into);
        assert_true(status == CF_FULL || status == CF_TOO_BIG);
        refused_for_a_key |= why != NULL;
    }
    free(into.bytes);
    free(from.bytes);
    return status == CF_OK;
}

/* The same keys in a smaller filter, if it can be. */
static void shrink(life *l)
{
    life small = *l;
    small.made = new_filter(l->made.filter.geometry);
    small.made.filter.memory = l->made.filter.memory;
    if (cf_shrink(&small.made.filter, &l->made.filter) == CF_OK)
        check_life(&small);
    free_filter(&small.made);
}

static unsigned sums;

static void merge_lives(void)
{
    static life one, more;
    cf_geometry shape = narrow_shape();
    choose_keys();
    live(&one, with_list_or_without(shape));
    check_life(&one);
    for (uint64_t n = 1 + random_below(3); n > 0; n--) {
        live(&more, with_list_or_without(shape));
        check_life(&more);
        sums += merge(&one, &more);
        free_filter(&more.made);
    }
    shrink(&one);
    for (uint64_t n = random_below(SPLITS); n > 0; n--) {
        cf_grow(&one.made.filter);
        check_life(&one);
    }
    free_filter(&one.made);
}

static void what_was_merged_is_found(void **state)
{
    enum { ROUNDS = 1000 };
    (void)state;
    for (int round = 0; round < ROUNDS; round++)
        merge_lives();
    assert_true(sums > ROUNDS / 2 && refused_for_a_key);
}

/* Twenty values of a key in a filter that has grown, eight in one that has not. */
static void make_values(life *one, life *more)
{
    cf_geometry shape = spilling(growing_shape(4, 8, 13), 0, 4096);
    shape.value_bits = 5;
    memset(one, 0, sizeof *one);
    memset(more, 0, sizeof *more);
    one->made = growing_filter(shape, 1 << 20);
    more->made = growing_filter(shape, 1 << 20);
    for (int i = 0; i < 6; i++)
        assert_int_equal(cf_grow(&one->made.filter), CF_OK);
    for (unsigned value = 0; value < 28; value++)
        add_some(value < 20 ? one : more, 0, value);
}

/* 28 are more than two buckets and eight lines of the list can say. */
static void more_values_than_are_found_are_refused(void **state)
{
    static life one, more;
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        const char *why = "";
        make_values(&one, &more);
        life *into = way ? &more : &one, *from = way ? &one : &more;
        snapshot then = remember(&into->made.filter);
        assert_int_equal(cf_merge(&into->made.filter, &from->made.filter, &why), CF_FULL);
        assert_string_equal(why, "a key would have more entries than can be found: two buckets full, and some spilled");
        assert_unchanged(&into->made.filter, &then);
        free(then.bytes);
        free_filter(&one.made);
        free_filter(&more.made);
    }
}

/* Some filters refuse one of the twenty values. Then the sum may be made, and has them all. */
static void sums_of_many_values_have_them_all(void **state)
{
    enum { ROUNDS = 60 };
    static life one, more;
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        choose_keys();
        make_values(&one, &more);
        merge(round % 2 ? &more : &one, round % 2 ? &one : &more);
        free_filter(&one.made);
        free_filter(&more.made);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_was_merged_is_found),
    cmocka_unit_test(more_values_than_are_found_are_refused),
    cmocka_unit_test(sums_of_many_values_have_them_all),
};

RUN_TESTS(tests)
