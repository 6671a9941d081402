/* SPDX-License-Identifier: MIT */
/*
** shapes.h - filters of any shape that cf_geometry_check takes, and of those that cf_plan makes.
*/
#ifndef CUCKOO_MODEL_SHAPES_H
#define CUCKOO_MODEL_SHAPES_H

#include "world.h"

/* Tables of more than 1,024 buckets have other ways to begin to grow. */
enum { LARGE = 1024, MOST_VALUES = 8 };

static cf_geometry checked_shape(cf_geometry shape)
{
    const char *why = "";
    if (cf_geometry_check(&shape, &why) != CF_OK)
        model_fail("a shape is refused: %s", why);
    return shape;
}

static uint64_t any_buckets(void)
{
    return 2 * random_between(1, one_in(3) ? 150 : one_in(2) ? 20 : 3);
}

static void any_payload(cf_geometry *shape)
{
    if (one_in(3))
        shape->counter_bits = (uint8_t)random_between(1, one_in(3) ? CF_COUNTER_MAX : 3);
    else if (one_in(2))
        shape->value_bits = (uint8_t)random_between(1, one_in(2) ? 3 : CF_VALUE_MAX);
}

static void any_list(cf_geometry *shape)
{
    static const unsigned bounds[] = {1, 4, 40, CF_STASH_MAX};
    shape->growth = false;
    shape->stash_size = (uint16_t)random_between(1, bounds[random_below(4)]);
    shape->budget = (uint8_t)random_between(0, one_in(3) ? CF_BUDGET_MAX : 5);
}

static void make_ageing(cf_geometry *shape)
{
    shape->counter_bits = shape->value_bits = 0;
    shape->stash_size = shape->budget = 0;
    shape->epochs = (uint8_t)random_between(1, one_in(2) ? 4 : CF_EPOCHS_MAX);
    shape->max_copies = 1;
}

static void make_large(cf_geometry *shape)
{
    unsigned f = (unsigned)random_between(12, 32);
    shape->buckets = LARGE + 2 * random_between(1, 60);
    shape->fingerprint_bits = (uint8_t)f;
    shape->pair_bits = (uint8_t)random_between(8, f);
    shape->max_copies = (uint8_t)random_between(2, 2u * shape->bucket_size);
    shape->growth = !one_in(4);
    shape->stash_size = shape->budget = 0;
    shape->capacity = cf_geometry_slots(shape) * random_between(50, 95) / 100;
}

/* Any that is sound. Large numbers of buckets and long lists are rarer than small ones. */
static cf_geometry any_shape(void)
{
    cf_geometry shape = {.buckets = any_buckets(),
                         .seed = (int64_t)random64(),
                         .bucket_size = (uint8_t)(1u << random_below(4)),
                         .fingerprint_bits = (uint8_t)random_between(4, one_in(2) ? 13 : 32),
                         .growth = one_in(2),
                         .affinity = (uint8_t)random_below(4),
                         .collation = (uint8_t)random_below(3),
                         .key_types = (uint8_t)random_below(16),
                         .keyed = one_in(2)};
    unsigned f = shape.fingerprint_bits, b = shape.bucket_size;
    shape.pair_bits = (uint8_t)(one_in(3) ? f : random_between(4, f));
    shape.max_copies = (uint8_t)random_between(1, 2 * b);
    shape.capacity = random_between(1, 2 * shape.buckets * b);
    shape.semisorted = b == 4 && f > 4 && one_in(2);
    if (one_in(2))
        any_payload(&shape);
    if (one_in(3))
        any_list(&shape);
    if ((b == 2 || b == 4) && draws.at == NULL && one_in(30))
        make_large(&shape);
    if (shape.value_bits && shape.stash_size == 0 && one_in(3))
        shape.value_bits = (uint8_t)random_between(CF_VALUE_MAX + 1, CF_WIDE_VALUE_MAX);
    if (one_in(6))
        make_ageing(&shape);
    return checked_shape(shape);
}

/* A few buckets that grow, unless there is a list, with pair bits and max_copies as the planner has them or the fewest that are sound:
** entries may know nothing beyond their pair bits. */
static cf_geometry small_shape(bool usual)
{
    cf_geometry shape = {.bucket_size = (uint8_t)(2u << random_below(3)), .growth = true};
    unsigned b = shape.bucket_size,
             f = (unsigned)(usual ? random_between(8, 10) : random_between(4, 10));
    f = usual && b == 2 ? 12 : f;
    shape.fingerprint_bits = (uint8_t)f;
    shape.pair_bits = (uint8_t)(!usual ? random_between(4, f) : b == 2 ? 8 : f - 4);
    shape.buckets = one_in(3) ? 2 : 2 * random_between(1, 8);
    shape.capacity = shape.buckets * b;
    shape.max_copies = (uint8_t)(usual ? (b == 8 ? 4 : b / 2 + 1) : random_between(1, 2 * b));
    if (one_in(2))
        any_payload(&shape);
    shape.semisorted = b == 4 && f > 4 && one_in(2);
    if (one_in(3))
        any_list(&shape);
    if (one_in(8))
        make_ageing(&shape);
    return checked_shape(shape);
}

/* As cf_plan makes them. */
static cf_geometry planned_shape(void)
{
    static const double rates[] = {0.05, 0.01, 0.001, 1e-6};
    const char *why = "";
    cf_geometry shape;
    cf_options options = {.growth = one_in(2), .seed = (int64_t)random64()};
    if (one_in(3))
        options.layout = one_in(2) ? CF_LAYOUT_PLAIN : CF_LAYOUT_SEMISORT;
    if (one_in(4))
        options.counter_bits = (unsigned)random_between(1, 4);
    else if (one_in(4))
        options.value_bits = (unsigned)random_between(1, 8);
    else if (one_in(4))
        options.epochs = (unsigned)random_between(1, CF_EPOCHS_MAX);
    else if (one_in(4))
        options.stash = true, options.growth = false;
    uint64_t capacity = random_between(1, one_in(4) ? 3000 : 300);
    if (cf_plan(capacity, rates[random_below(4)], &options, &shape, &why) != CF_OK)
        model_fail("a plan is refused: %s", why);
    return checked_shape(shape);
}

static setup any_setup(void)
{
    setup with = {.planned = draws.at == NULL && one_in(8)};
    bool usual = one_in(2), small = one_in(2);
    with.shape = with.planned ? planned_shape() : small ? small_shape(usual) : any_shape();
    uint64_t slots = cf_geometry_slots(&with.shape);
    with.style = one_in(3) ? SCATTERED : (style)random_below(STYLES);
    with.keys = (uint32_t)(one_in(4)   ? random_between(2, 8)
                           : one_in(3) ? random_between(20, 100)
                                       : random_between(8, 8 + slots + slots / 4));
    if (with.shape.buckets > LARGE) {
        with.keys = (uint32_t)random_between(slots, slots + slots / 4);
        with.style = one_in(4) ? with.style : SCATTERED;
    }
    if (small && !with.planned)
        with.keys = (uint32_t)random_between(3, one_in(3) ? 400 : 60);
    with.scarce = one_in(5);
    with.values = UINT32_C(1) << (with.shape.value_bits < 3 ? with.shape.value_bits : 3);
    if (with.planned) {
        with.style = SCATTERED;
        with.scarce = false;
        with.values = 1;
        with.keys = (uint32_t)with.shape.capacity;
    }
    return with;
}

#endif
