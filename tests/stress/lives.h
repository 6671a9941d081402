/* SPDX-License-Identifier: MIT */
/*
** lives.h - short lives of filters of any shape, stored in all ways and asked in all ways.
**
** A life has a shape that is drawn from all that cf_geometry_check takes, and a universe that is narrow
** or wide (shapes.h). It takes a few steps. A step stores, deletes, splits, merges, shrinks, reopens or
** clears, with memory and time enough or not. After each, all ways of asking are checked (asks.h). Now
** and then a step is taken twice, by a copy as well: then both are equal to the byte.
**
** Each life has a seed of its own, so that it can be lived again alone.
*/
#ifndef CUCKOO_STRESS_LIVES_H
#define CUCKOO_STRESS_LIVES_H

#include <signal.h>
#include <time.h>

#include "asks.h"
#include "shapes.h"

enum { MOST_STEPS = 9, MOST_BATCH = 6000, MOST_SHOWN = 10 };

/* ---- many at once ---- */

typedef struct batch {
    size_t n;
    pair_id *id;    /* by hash */
    uint64_t *hash; /* what is given to the filter */
} batch;

static const uint64_t *hashes_of_universe;
static uint32_t values_of_universe;

static int by_hash(const void *a, const void *b)
{
    uint64_t x = hashes_of_universe[*(const pair_id *)a / values_of_universe],
             y = hashes_of_universe[*(const pair_id *)b / values_of_universe];
    return (x > y) - (x < y);
}

static void shuffle(uint64_t *hash, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = random_below(i);
        uint64_t other = hash[j];
        hash[j] = hash[i - 1], hash[i - 1] = other;
    }
}

/* Each key once, or as many as the filter is planned for; or any number of any keys. Their value
** is 0. */
static batch new_batch(const subject *s)
{
    uint32_t keys = s->with->keys, values = values_of(s->with);
    bool once = one_in(2);
    uint64_t most = 1 + least(MOST_BATCH, one_in(2) ? s->with->shape.capacity : slots_of(s));
    batch made = {.n = !once       ? random_below(most)
                       : one_in(2) ? keys
                                   : least(keys, s->with->shape.capacity)};
    made.id = need(malloc((made.n + 1) * sizeof *made.id));
    made.hash = need(malloc((made.n + 1) * sizeof *made.hash));
    for (size_t i = 0; i < made.n; i++)
        made.id[i] = values * (pair_id)(once ? i : random_below(keys));
    hashes_of_universe = s->hash;
    values_of_universe = values;
    qsort(made.id, made.n, sizeof *made.id, by_hash);
    for (size_t i = 0; i < made.n; i++)
        made.hash[i] = hash_of(s, made.id[i]);
    if (!one_in(4))
        shuffle(made.hash, made.n);
    return made;
}

static void free_batch(batch *b)
{
    free(b->id);
    free(b->hash);
}

/* Those before `added` are in. */
static void check_batch(subject *s, const batch *b, cf_status status, size_t added, const snapshot *then)
{
    total.operations += b->n;
    if (status == CF_OK ? added != b->n : added > b->n)
        FAIL("cf_add_many: status %d, %zu of %zu added", (int)status, added, b->n);
    for (size_t i = 0; i < b->n && added > 0; i++)
        if (b->hash[i] != hash_of(s, b->id[i]))
            FAIL("cf_add_many left the hashes unsorted");
    for (size_t i = 0; i < added && !failed; i++)
        model_add(s, b->id[i], 1);
    s->items += added;
    if (status != CF_OK && added == 0)
        check_unchanged(s, then);
}

static void add_batch(subject *s)
{
    batch b = new_batch(s);
    for (unsigned times = one_in(4) ? 2 : 1; times > 0 && !failed; times--) {
        size_t added = 0;
        snapshot then = take_snapshot(s);
        cf_status status = cf_add_many(&s->filter, b.hash, b.n, &added);
        check_batch(s, &b, status, added, &then);
        free(then.bytes);
    }
    free_batch(&b);
}

/* ---- other steps ---- */

static pair_id any_pair(const setup *with)
{
    return (pair_id)random_below((uint64_t)with->keys * values_of(with));
}

static void add_some(subject *s)
{
    for (uint64_t n = random_below(2 + slots_of(s) / (one_in(2) ? 1 : 8)); n > 0 && !failed; n--)
        add(s, any_pair(s->with));
}

static void take_some(subject *s)
{
    uint64_t n = one_in(3) ? s->n : random_below(s->n + 1);
    for (; n > 0 && !failed; n--)
        take(s);
}

/* Adds one key after the other until most slots are in use, and deletes all of it: what is left is
** empty, as a rule, and not new. */
static void fill_and_empty(subject *s)
{
    uint64_t most = slots_of(s) * random_between(85, 97) / 100, first = random_below(s->with->keys);
    for (uint32_t i = 0; i < s->with->keys && s->filter.occupied < most && !failed; i++)
        add(s, (pair_id)((first + i) % s->with->keys * values_of(s->with)));
    while (s->n > 0 && !failed)
        take(s);
}

static void split_some(subject *s)
{
    if (s->filter.length < most_bytes(s->with) / 2)
        split(s, random_between(1, one_in(2) ? 3 : s->filter.buckets));
}

static void settle(subject *s)
{
    cf_settle(&s->filter);
}

static subject another_of(const subject *s)
{
    subject made = new_subject(s->with, s->hash);
    if (one_in(2))
        add_batch(&made);
    if (one_in(2))
        split_some(&made);
    if (one_in(2))
        add_some(&made);
    return made;
}

static void merge_one(subject *s)
{
    bool scarce = memory_is_scarce;
    const cf_watch *watch = s->filter.watch;
    cf_memory memory = s->filter.memory;
    memory_is_scarce = false;
    subject from = another_of(s);
    memory_is_scarce = scarce;
    s->filter.watch = watch;
    s->filter.memory = memory;
    merge(s, &from);
    free_subject(&from);
}

/* The same adds and deletes in a filter of which only pages are there: it is equal to the byte. */
static void work_by_pages(subject *s)
{
    cf_filter copy;
    paged p;
    if (s->with->scarce)
        return;
    open_copy(&s->filter, &copy);
    paged_open(&p, copy.bytes, copy.length, (uint64_t)16 << random_below(5));
    p.filter.memory.most = s->filter.memory.most;
    for (uint64_t n = random_below(40); n > 0 && !failed; n--) {
        bool adds = s->n == 0 || one_in(2);
        pair_id id = adds ? any_pair(s->with) : 0;
        uint32_t at = adds ? 0 : (uint32_t)random_below(s->n);
        id = adds ? id : s->present[at];
        adds ? add(s, id) : take_at(s, at);
        if (adds)
            cf_add_value(&p.filter, hash_of(s, id), value_of(s, id));
        else
            cf_delete_value(&p.filter, hash_of(s, id), value_of(s, id));
    }
    check_told(&p);
    if (!paged_equals(&p, &s->filter))
        FAIL("by pages it comes to other bytes");
    paged_close(&p);
    free(copy.view.writable - 64);
}

/* ---- a life ---- */

typedef struct step_kind {
    void (*take)(subject *s);
    unsigned weight;
    bool by_pages; /* it needs memory that grows, and no watch */
} step_kind;

static const step_kind kinds[] = {
    {add_batch, 5, false},  {add_some, 4, false},  {take_some, 4, false},   {fill_and_empty, 2, false},
    {split_some, 2, false}, {merge_one, 4, false}, {shrink, 2, false},      {reopen, 1, false},
    {settle, 1, false},     {clear, 1, false},     {work_by_pages, 3, true}};
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
    bool enough = kind->by_pages || one_in(2);
    cf_memory memory = s->filter.memory;
    memory_is_scarce = !enough && s->with->scarce && one_in(2);
    if (!enough && one_in(4))
        s->filter.memory.resize = NULL;
    questions_left = random_below(one_in(2) ? 3 : 60);
    s->filter.watch = !enough && one_in(3) ? &impatient : NULL;
    kind->take(s);
    memory_is_scarce = false;
    s->filter.memory = memory;
    s->filter.watch = NULL;
    total.steps++;
}

/* Equal calls give equal bytes: a copy takes the same step. */
static void take_step_twice(subject *s, const step_kind *kind)
{
    subject twin = copy_of(s);
    uint64_t then = random_state;
    twin.filter.memory = s->filter.memory;
    take_step(s, kind);
    random_state = then;
    take_step(&twin, kind);
    cf_seal(&s->filter);
    cf_seal(&twin.filter);
    if (twin.filter.length != s->filter.length || twin.n != s->n ||
        memcmp(twin.filter.bytes, s->filter.bytes, s->filter.length) != 0)
        FAIL("equal calls give different bytes");
    free_subject(&twin);
}

static void live_short(void)
{
    setup with = any_setup();
    uint64_t *hash = new_universe(&with);
    subject s = new_subject(&with, hash);
    running = &with;
    for (uint64_t steps = random_between(1, MOST_STEPS); steps > 0 && !failed; steps--) {
        const step_kind *kind = any_step();
        one_in(6) ? take_step_twice(&s, kind) : take_step(&s, kind);
        check_asking(&s);
    }
    running = NULL;
    free_subject(&s);
    free(hash);
    total.lives++;
}

/* ---- many lives ---- */

static uint64_t life_seed;

static void tell_life(void)
{
    fprintf(stderr, "  in this life: stress life %llu\n", (unsigned long long)life_seed);
}

static void tell_life_of_signal(int number)
{
    tell_life();
    signal(number, SIG_DFL);
    raise(number);
}

/* AddressSanitizer calls it. */
void __asan_on_error(void);
void __asan_on_error(void)
{
    tell_life();
}

static bool run_life_of(uint64_t seed)
{
    life_seed = random_state = seed;
    failed = false;
    live_short();
    if (failed)
        tell_life();
    return !failed;
}

static int run_shapes(double seconds)
{
    struct timespec now, begin;
    unsigned bad = 0;
    signal(SIGABRT, tell_life_of_signal);
    timespec_get(&begin, TIME_UTC);
    for (now = begin; bad < MOST_SHOWN && difftime(now.tv_sec, begin.tv_sec) < seconds;
         timespec_get(&now, TIME_UTC))
        bad += !run_life_of(random_seed + total.lives * UINT64_C(0xd1342543de82ef95));
    printf("%llu lives, %llu steps, %llu operations, %llu keys asked in all ways, %u failures\n",
           (unsigned long long)total.lives, (unsigned long long)total.steps,
           (unsigned long long)total.operations, (unsigned long long)total.asked, bad);
    printf("%llu passed, %u failed\n", (unsigned long long)total.lives - bad, bad);
    return bad > 0;
}

#endif
