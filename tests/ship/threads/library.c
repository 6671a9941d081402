/* SPDX-License-Identifier: MIT */
/*
** library.c - the rules for threads in cuckoo_filter.h, under ThreadSanitizer.
**
** All threads read one filter, through one view and through views of their own, by every call that
** takes a const filter. Meanwhile each changes filters that only it uses. The answers are those that
** one thread got.
*/
#define _POSIX_C_SOURCE 200809L
#include "crew.h"

#include "../../../src/include/cuckoo_inspect.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 600, ASKED = 2 * KEYS, OWN = 75, ROUNDS = 2 };

/* The forms of buckets and ways of lookups. `times`: how often the capacity is added. It grows then. */
typedef struct filter_form {
    const char *name;
    double fpr;
    cf_options options;
    unsigned times;
} filter_form;

static const filter_form forms[] = {
    {"plain", 0.01, {.layout = CF_LAYOUT_PLAIN}, 1},
    {"semi-sorted", 0.001, {.layout = CF_LAYOUT_SEMISORT}, 1},
    {"grown", 0.01, {.growth = true}, 6},
    {"grown, semi-sorted", 0.01, {.growth = true, .layout = CF_LAYOUT_SEMISORT, .bucket_size = 4}, 6},
    {"with a stash", 0.01, {.stash = true, .max_kicks = 1}, 1},
    {"with counters", 0.01, {.counter_bits = 4}, 1},
    {"with values", 0.01, {.value_bits = 7, .growth = true}, 3},
    {"buckets of two", 0.001, {.bucket_size = 2}, 1},
    {"buckets of eight", 0.01, {.bucket_size = 8}, 1},
};

typedef struct shared {
    const filter_form *form;
    cf_filter filter; /* holds the first half of the hashes */
    uint64_t hashes[ASKED], copies[ASKED], values[ASKED];
    bool there[ASKED];
} shared;

static cf_filter new_filter(const filter_form *form)
{
    cf_geometry shape;
    const char *why = NULL;
    cf_filter filter;
    if (cf_plan(KEYS / form->times, form->fpr, &form->options, &shape, &why) != CF_OK)
        fail_msg("%s: %s", form->name, why);
    cf_create(&filter, &shape, malloc(cf_geometry_bytes(&shape)));
    filter.memory = (cf_memory){cf_realloc, UINT64_C(1) << 30, NULL};
    return filter;
}

static uint64_t value_of(const shared *all, size_t i)
{
    return all->form->options.value_bits ? i % 100 : 0;
}

/* What one thread finds is what all have to find. */
static void prepare(shared *all, const filter_form *form)
{
    all->form = form;
    all->filter = new_filter(form);
    for (uint64_t i = 0; i < ASKED; i++)
        all->hashes[i] = cf_hash(&(cf_geometry){.seed = 0}, &i, sizeof i);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(cf_add_value(&all->filter, all->hashes[i], value_of(all, i)), CF_OK);
    cf_seal(&all->filter);
    for (size_t i = 0; i < ASKED; i++) {
        all->there[i] = cf_contains(&all->filter, all->hashes[i]);
        all->copies[i] = cf_count(&all->filter, all->hashes[i]);
        cf_get(&all->filter, all->hashes[i], &all->values[i]);
        assert_true(all->there[i] || i >= KEYS);
    }
}

/* What threads do with a filter that they share, through a view of all or one of their own: read it. */
static void read_shared(crew_member *self, const shared *all, const cf_filter *filter)
{
    bool answers[ASKED], same = true;
    for (size_t i = 0; i < ASKED; i++) {
        uint64_t value = all->values[i], values[CF_VALUES_MAX], hash = all->hashes[i];
        cf_get(filter, hash, &value);
        same &= cf_contains(filter, hash) == all->there[i] && cf_count(filter, hash) == all->copies[i] &&
                value == all->values[i] &&
                (cf_get_all(filter, hash, values) > 0) ==
                    (all->there[i] && filter->geometry.value_bits != 0);
    }
    cf_contains_many(filter, all->hashes, ASKED, answers);
    same &= memcmp(answers, all->there, sizeof answers) == 0;
    const char *why = "";
    crew_expect(self, same, all->form->name, "an answer differs");
    crew_expect(self, cf_check(filter, &why) == CF_OK, "cf_check", why);
    crew_expect(self, cf_take_census(filter).occupied > 0, "cf_take_census", "occupied");
}

/* Of filters of its own each may change everything. This one merges what all share, and starts anew. */
static void change_own(crew_member *self, const shared *all)
{
    cf_filter own = new_filter(all->form);
    const char *why = "";
    unsigned lost = 0;
    uint64_t hashes[KEYS];
    size_t added = 0;
    for (size_t i = ASKED - OWN; i < ASKED; i++)
        lost += cf_add_value(&own, all->hashes[i], value_of(all, i)) != CF_OK;
    if (cf_merge(&own, &all->filter, &why) == CF_OK)
        lost += !cf_contains(&own, all->hashes[self->number]);
    for (size_t i = ASKED - OWN; i < ASKED; i++)
        lost += cf_delete_value(&own, all->hashes[i], value_of(all, i)) == CF_ABSENT;
    cf_clear(&own);
    cf_shrink(&own, &all->filter);
    memcpy(hashes, all->hashes, sizeof hashes);
    if (all->form->options.value_bits == 0)
        lost += cf_add_many(&own, hashes, KEYS, &added) != CF_OK || !cf_contains(&own, all->hashes[0]);
    cf_seal(&own);
    crew_expect(self, lost == 0, all->form->name, "a filter of its own has lost a key");
    crew_expect(self, cf_check(&own, &why) == CF_OK, "cf_check of its own", why);
    free((void *)(uintptr_t)own.bytes);
}

static void work(crew_member *self)
{
    const shared *all = self->context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        cf_filter view;
        const char *why = "";
        read_shared(self, all, &all->filter);
        change_own(self, all);
        cf_status status = cf_open(&view, all->filter.bytes, (size_t)all->filter.length, &why);
        if (crew_expect(self, status == CF_OK, "cf_open", why))
            read_shared(self, all, &view);
    }
}

static void test_one_filter_many_threads(void **state)
{
    (void)state;
    static shared all;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        prepare(&all, &forms[i]);
        crew_run(work, &all);
        free((void *)(uintptr_t)all.filter.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_filter_many_threads),
    };
    return cmocka_run_group_tests_name("threads: the library", tests, NULL, NULL);
}
