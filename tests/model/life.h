/* SPDX-License-Identifier: MIT */
/*
** life.h - short lives of filters of any shape: drawn steps, and after each all that is asked.
*/
#ifndef CUCKOO_MODEL_LIFE_H
#define CUCKOO_MODEL_LIFE_H

#include "ages.h"
#include "exact.h"

enum { MOST_STEPS = 9 };

typedef struct step_kind {
    const char *name;
    void (*take)(subject *s);
    unsigned weight;
    bool undisturbed; /* it needs memory that grows, and no watch */
} step_kind;

static const step_kind kinds[] = {
    {"add_batch", add_batch, 5, false},
    {"add_some", add_some, 4, false},
    {"mixed_ops", mixed_ops, 9, false},
    {"take_some", take_some, 3, false},
    {"fill_and_empty", fill_and_empty, 2, false},
    {"split_some", split_some, 3, false},
    {"merge_one", merge_one, 5, false},
    {"shrink", shrink, 2, false},
    {"reopen", reopen, 1, false},
    {"settle", settle, 1, false},
    {"clear", clear, 1, false},
    {"advance", advance, 3, false},
    {"owner", owner, 2, true},
    {"work_by_pages", work_by_pages, 3, true},
    {"exact_of", exact_of, 1, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const step_kind *any_step(void)
{
    unsigned at = 0, all = 0;
    for (unsigned i = 0; i < KINDS; i++)
        all += kinds[i].weight;
    uint64_t drawn = random_below(all);
    while (drawn >= kinds[at].weight)
        drawn -= kinds[at++].weight;
    return &kinds[at];
}

/* With memory and time enough, or not. */
static void take_step(subject *s, const step_kind *kind)
{
    bool enough = kind->undisturbed || s->with->planned || one_in(2);
    cf_filter *filter = s->m.filter;
    cf_memory memory = filter->memory;
    memory_is_scarce = !enough && s->with->scarce && one_in(2);
    if (!enough && one_in(4))
        filter->memory.resize = NULL;
    questions_left = random_below(one_in(2) ? 3 : 60);
    filter->watch = !enough && one_in(3) ? &impatient : NULL;
    last_step = kind->name;
    kind->take(s);
    memory_is_scarce = false;
    filter->memory = memory;
    filter->watch = NULL;
}

/* Equal calls give equal bytes: a copy takes the same step. */
static void take_step_twice(subject *s, const step_kind *kind)
{
    subject twin = copy_of(s);
    source then = draws;
    cf_filter *a = s->m.filter, *b = twin.m.filter;
    b->memory = a->memory;
    take_step(s, kind);
    draws = then;
    take_step(&twin, kind);
    cf_seal(a);
    cf_seal(b);
    if (a->length != b->length || memcmp(a->bytes, b->bytes, a->length) != 0)
        model_fail("equal calls give different bytes");
    free_subject(&twin);
}

/* Everything is deleted: what stays are entries of saturated keys, and halves of those that were split. */
static void die(subject *s)
{
    bool stuck = !s->m.exact || s->m.unsure;
    for (uint32_t id = 0; id < s->m.n; id++)
        stuck |= s->m.item[id].stuck || s->m.item[id].stored >= model_most(&s->m);
    take_all(s);
    if (!stuck && !s->with->shape.epochs)
        REQUIRE(s->m.filter->occupied == 0 && s->m.filter->items == 0);
}

static void live(const setup *with, uint64_t steps)
{
    subject s = begin_life(with);
    for (; steps > 0 && !failed && !draws.over; steps--) {
        const step_kind *kind = any_step();
        one_in(6) ? take_step_twice(&s, kind) : take_step(&s, kind);
        if (!failed)
            check_asking(&s);
    }
    if (!failed && one_in(3))
        die(&s);
    end_life(&s);
}

#endif
