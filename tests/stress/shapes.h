/* SPDX-License-Identifier: MIT */
/*
** shapes.h - filters of any shape that cf_geometry_check takes, and keys for them.
*/
#ifndef CUCKOO_STRESS_SHAPES_H
#define CUCKOO_STRESS_SHAPES_H

#include "stress.h"

/* Tables of more than 1,024 buckets are prepared for growth (growth.h). */
enum { LARGE = 1024 };

static uint64_t any_buckets(void)
{
    return 2 * random_between(1, one_in(3) ? 150 : one_in(2) ? 20 : 3);
}

static void any_payload(cf_geometry *shape)
{
    if (one_in(3))
        shape->counter_bits = (uint8_t)random_between(1, one_in(2) ? 3 : CF_COUNTER_MAX);
    else if (one_in(2))
        shape->value_bits = (uint8_t)random_between(1, one_in(2) ? 3 : CF_VALUE_MAX);
}

static void any_list(cf_geometry *shape)
{
    static const unsigned bounds[] = {1, 4, 40, CF_SPILL_MAX};
    shape->spill_bound = (uint16_t)random_between(1, bounds[random_below(4)]);
    shape->budget = (uint8_t)random_between(0, one_in(3) ? CF_BUDGET_MAX : 5);
}

/* One that comes to be prepared, as a rule. */
static void make_large(cf_geometry *shape)
{
    unsigned f = (unsigned)random_between(12, 32);
    shape->buckets = LARGE + 2 * random_between(1, 60);
    shape->fingerprint_bits = (uint8_t)f;
    shape->pair_bits = (uint8_t)random_between(8, f);
    shape->cap = (uint8_t)random_between(2, 2 * shape->bucket_size);
    shape->growth = !one_in(4);
    shape->spill_bound = shape->budget = 0;
    shape->capacity = cf_geometry_slots(shape) * random_between(50, 95) / 100;
}

/* Any that is sound. Large numbers of buckets and long lists are rarer than small ones. */
static cf_geometry any_shape(void)
{
    const char *why = "";
    cf_geometry shape = {.buckets = any_buckets(),
                         .seed = (int64_t)random64(),
                         .bucket_size = (uint8_t)(1u << random_below(4)),
                         .fingerprint_bits = (uint8_t)random_between(4, one_in(2) ? 13 : 32),
                         .growth = one_in(2),
                         .affinity = (uint8_t)random_below(4),
                         .collation = (uint8_t)random_below(3)};
    unsigned f = shape.fingerprint_bits, b = shape.bucket_size;
    shape.pair_bits = (uint8_t)(one_in(3) ? f : random_between(4, f));
    shape.cap = (uint8_t)random_between(1, 2 * b);
    shape.capacity = random_between(1, 2 * shape.buckets * b);
    shape.semisorted = b == 4 && f > 4 && one_in(2);
    if (one_in(2))
        any_payload(&shape);
    if (one_in(3))
        any_list(&shape);
    if ((b == 2 || b == 4) && one_in(20))
        make_large(&shape);
    if (cf_geometry_check(&shape, &why) != CF_OK)
        FAIL("any_shape: %s", why);
    return shape;
}

static setup any_setup(void)
{
    setup with = {.shape = any_shape(), .most_copies = UINT32_MAX, .split_one_in = UINT32_MAX};
    uint64_t slots = cf_geometry_slots(&with.shape);
    with.style = one_in(3) ? SCATTERED : (style)random_below(STYLES);
    with.keys = (uint32_t)(one_in(4)   ? random_between(2, 8)
                           : one_in(3) ? random_between(20, 100)
                                       : random_between(8, 8 + slots + slots / 4));
    if (with.shape.buckets > LARGE) {
        with.keys = (uint32_t)random_between(slots, slots + slots / 4);
        with.style = one_in(4) ? with.style : SCATTERED;
    }
    with.scarce = one_in(4);
    return with;
}

#endif
