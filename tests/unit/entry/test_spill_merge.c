/* SPDX-License-Identifier: MIT */
/* Merging filters with spill lists: what is spilled in either is in the sum, in a slot or
** spilled. */
#include "../spill_model.h"

static spill_model one, other;

/* ---- filters that do not grow: the sum is exact ---- */

/* Another layout, budget and bound: the rest of the shape is what must agree. */
static cf_geometry relaid(cf_geometry shape)
{
    shape = spilling(shape, (unsigned)random_below(4), 1 + (unsigned)random_below(20));
    shape.semisorted = shape.bucket_size == 4 && random_below(2);
    if (random_below(4) == 0)
        shape.budget = 0, shape.spill_bound = 0;
    return shape;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void add_models(spill_model *sum, const spill_model *more)
{
    for (size_t i = 0; i < MODEL_BUCKETS << MODEL_BITS; i++)
        for (unsigned v = 0; v < MODEL_VALUES; v++)
            sum->copies[i][v] = least(sum->copies[i][v] + more->copies[i][v], sum->most);
}

/* What was found is found, when there was no room for all of the other. */
static void assert_nothing_lost(spill_model *model)
{
    const cf_filter *filter = &model->made.filter;
    for (int i = 0; i < 200; i++) {
        uint64_t hash = any_model_hash(filter), sum = 0;
        for (unsigned v = 0; v < model->values; v++)
            sum += class_of(model, hash)[v];
        assert_true(cf_count(filter, hash) >= sum);
    }
}

static bool check_sum(void)
{
    const char *why = "";
    uint64_t items = one.made.filter.items + other.made.filter.items;
    snapshot then = remember(&other.made.filter);
    cf_status status = cf_merge(&one.made.filter, &other.made.filter, &why);
    assert_unchanged(&other.made.filter, &then);
    assert_list(&one.made.filter);
    assert_sound(&one.made.filter);
    free(then.bytes);
    if (status != CF_OK) {
        assert_int_equal(status, CF_FULL);
        assert_nothing_lost(&one);
        return false;
    }
    add_models(&one, &other);
    assert_all_answers(&one);
    assert_int_equal(one.made.filter.items, items);
    return true;
}

static void fill_in_part(spill_model *model)
{
    uint64_t slots = model->made.filter.buckets * model->made.filter.geometry.bucket_size;
    for (uint64_t n = random_below(slots + 4); n > 0; n--)
        model_add(model, any_model_hash(&model->made.filter), random_below(model->values));
}

static void sums_are_exact_with_lists(void **state)
{
    unsigned sums = 0, spilled = 0;
    (void)state;
    for (unsigned b = 2; b <= 8; b *= 2)
        for (int round = 0; round < 250; round++) {
            cf_geometry shape = model_shape(b, 0, 1 + (unsigned)random_below(20));
            new_model(&one, relaid(shape));
            new_model(&other, shape);
            fill_in_part(&one);
            fill_in_part(&other);
            unsigned before = one.made.filter.spilled + other.made.filter.spilled;
            bool sum = check_sum();
            sums += sum;
            spilled += sum && before > 0;
            free_model(&one);
            free_model(&other);
        }
    assert_true(sums > 200 && spilled > 100);
}

/* ---- filters that grow: every key is found ---- */

enum { KEYS = 600 };

typedef struct growing {
    test_filter made;
    uint64_t hash[KEYS];
    unsigned keys;
} growing;

static void new_growing(growing *g, cf_geometry shape)
{
    g->made = growing_filter(shape, UINT64_MAX);
    g->keys = (unsigned)random_below(KEYS);
    for (unsigned i = 0; i < g->keys; i++) {
        assert_int_equal(cf_add(&g->made.filter, g->hash[i] = random64()), CF_OK);
        if (random_below(100) == 0)
            cf_grow(&g->made.filter);
    }
}

static void assert_found(const cf_filter *filter, const growing *g)
{
    for (unsigned i = 0; i < g->keys; i++)
        assert_true(cf_contains(filter, g->hash[i]));
}

static void check_grown_sum(cf_geometry shape)
{
    static growing a, b;
    const char *why = "";
    new_growing(&a, relaid(shape));
    new_growing(&b, spilling(shape, 0, 16));
    assert_int_equal(cf_merge(&a.made.filter, &b.made.filter, &why), CF_OK);
    assert_found(&a.made.filter, &a);
    assert_found(&a.made.filter, &b);
    assert_list(&a.made.filter);
    assert_sound(&a.made.filter);
    assert_int_equal(a.made.filter.items, a.keys + b.keys);
    free_filter(&a.made);
    free_filter(&b.made);
}

static void check_grown_sums(unsigned b)
{
    for (int round = 0; round < 60; round++) {
        cf_geometry shape = growing_shape(8 + 2 * random_below(4), b, 12);
        if (random_below(3) == 0)
            shape.counter_bits = 3;
        check_grown_sum(shape);
    }
}

static void sums_of_grown_filters_hold_all_keys(void **state)
{
    (void)state;
    check_grown_sums(4);
    check_grown_sums(8);
}

/* Void entries of the list are copied by every split, and must not keep the sum from growing. */
static void sums_with_two_slots_to_a_bucket_grow(void **state)
{
    (void)state;
    check_grown_sums(2);
}

/* A sum leaves its list as short as ordinary searches can make it. */
static void sums_are_settled(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        const char *why = "";
        cf_geometry shape = spilling(shape_of(400, 4, 16), 0, 300);
        test_filter a = new_filter(shape), b = new_filter(shape);
        for (int i = 0; i < 700; i++) {
            assert_int_equal(cf_add(&a.filter, random64()), CF_OK);
            assert_int_equal(cf_add(&b.filter, random64()), CF_OK);
        }
        assert_int_equal(cf_merge(&a.filter, &b.filter, &why), CF_OK);
        assert_int_equal(a.filter.spilled, 0);
        assert_int_equal(a.filter.occupied, 1400);
        assert_sound(&a.filter);
        free_filter(&a);
        free_filter(&b);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sums_are_exact_with_lists),
    cmocka_unit_test(sums_of_grown_filters_hold_all_keys),
    cmocka_unit_test(sums_with_two_slots_to_a_bucket_grow),
    cmocka_unit_test(sums_are_settled),
};

RUN_TESTS(tests)
