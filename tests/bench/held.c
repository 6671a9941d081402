/* SPDX-License-Identifier: MIT */
#include "held.h"

#include <stdlib.h>

#include "bench.h"

/* The streams of bench_random, apart for every run. */
enum stream { KEYS_FROM, ABSENT_FROM, DRAWS_FROM };

static cf_geometry shape_of(const held_shape *of)
{
    cf_geometry shape = cuckoo_shape(of->buckets, WALK_SLOTS, HELD_FINGERPRINT_BITS);
    shape.spill_bound = (uint16_t)(of->overflow ? of->list : 0);
    return shape;
}

void held_open(held_table *t, const held_shape *of, uint64_t most, uint64_t run)
{
    uint64_t first = run << 44, apart = UINT64_C(1) << 40;
    cf_geometry shape = shape_of(of);
    t->filter = of->library ? cuckoo_make(&shape) : NULL;
    t->walk = of->library ? NULL : walk_make(of->buckets, HELD_FINGERPRINT_BITS, of->overflow, run);
    if (t->walk) {
        t->walk->most_kicks = t->walk->budget = of->kicks;
        t->walk->may_stay = of->may_stay;
    }
    t->held = bench_allocate(most * sizeof *t->held);
    t->n = 0;
    t->next = first + KEYS_FROM * apart;
    t->absent = first + ABSENT_FROM * apart;
    t->draws = first + DRAWS_FROM * apart;
}

void held_close(held_table *t)
{
    free(t->held);
    free(t->filter);
    if (t->walk)
        walk_drop(t->walk);
}

void held_set_budget(held_table *t, unsigned budget)
{
    if (t->walk)
        t->walk->budget = budget;
    else if (t->filter->filter.geometry.spill_bound)
        t->filter->filter.geometry.budget = (uint8_t)budget;
}

void held_set_ample_budget(held_table *t)
{
    held_set_budget(t, t->walk ? t->walk->most_kicks : CF_BUDGET_MAX);
}

uint64_t held_bits(const held_table *t)
{
    return t->walk ? walk_bits(t->walk) : 8 * t->filter->filter.length;
}

uint64_t held_spilled(const held_table *t)
{
    return t->walk ? t->walk->in_bits : t->filter->filter.spilled;
}

bool held_contains(const held_table *t, uint64_t hash)
{
    return t->walk ? walk_contains(t->walk, hash) : cf_contains(&t->filter->filter, hash);
}

bench_steps held_add(held_table *t)
{
    uint64_t hash = bench_random(t->next);
    bench_steps steps = t->walk ? walk_add(t->walk, hash) : search_add(&t->filter->filter, hash);
    t->held[t->n] = t->next++;
    t->n += !steps.refused;
    return steps;
}

void held_remove_random(held_table *t)
{
    uint64_t at = bench_random(t->draws++) % t->n, hash = bench_random(t->held[at]);
    bool found = t->walk ? walk_remove(t->walk, hash) : cf_delete(&t->filter->filter, hash) != CF_ABSENT;
    if (!found)
        bench_fail("a key that is there cannot be deleted");
    t->held[at] = t->held[--t->n];
}

void held_look_for_all(const held_table *t)
{
    for (uint64_t i = 0; i < t->n; i++)
        if (!held_contains(t, bench_random(t->held[i])))
            bench_fail("a key is not found");
}

uint64_t held_errors(held_table *t, uint64_t probes)
{
    uint64_t errors = 0;
    for (uint64_t i = 0; i < probes; i++)
        errors += held_contains(t, bench_random(t->absent++));
    return errors;
}
