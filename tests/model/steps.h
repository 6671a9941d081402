/* SPDX-License-Identifier: MIT */
/*
** steps.h - what a life does with a filter: each step a few calls, or many.
*/
#ifndef CUCKOO_MODEL_STEPS_H
#define CUCKOO_MODEL_STEPS_H

#include "../probe.h"
#include "asks.h"

enum { MOST_BATCH = 6000 };

/* ---- one at a time ---- */

/* Have so many more keys room? As many distinct ones as were planned for; copies of a few may crowd. */
static bool must_fit(const subject *s, uint64_t more)
{
    bool fits = s->with->planned && s->m.items + more <= s->with->shape.capacity;
    for (uint32_t id = 0; id < s->m.n && !s->with->shape.epochs; id++)
        fits = fits && s->m.item[id].copies <= 1;
    return fits;
}

/* Is there a slot, empty or with an entry that has died, to which entries can move out of the way of a key?
** Some millionths of the filters that are full as planned have none. */
static bool has_room(const cf_filter *filter, uint64_t hash)
{
    cf_entry entry;
    bool movable, room = false, ages = filter->geometry.epochs != 0;
    uint64_t *queue = model_need(malloc(filter->buckets * sizeof *queue)), n = 0;
    bool *seen = model_need(calloc(filter->buckets, 1));
    cf_pair pair = cf_candidates(filter, hash);
    for (unsigned i = 0; i < pair.sides; i++)
        seen[queue[n++] = pair.place[i].bucket] = true;
    for (uint64_t at = 0; at < n && !room; at++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
            room |= !cf_entry_at(filter, queue[at], slot, &entry) ||
                    (ages && (filter->live >> entry.payload & 1) == 0);
            uint64_t to = room ? queue[at] : cf_entry_alternate(filter, &entry, &movable);
            if (!seen[to] && movable)
                seen[queue[n++] = to] = true;
        }
    free(seen);
    free(queue);
    return room;
}

static void add(subject *s, uint32_t id)
{
    memory_is_scarce |= s->with->scarce && one_in(4);
    cf_status status = model_add(&s->m, id);
    memory_is_scarce = false;
    if (status != CF_OK && s->m.item[id].copies == 0 && must_fit(s, 1) &&
        has_room(s->m.filter, s->m.item[id].hash))
        model_fail("a key is refused before the capacity: %s", cf_status_text(status));
}

static void take(subject *s, uint32_t id)
{
    if (model_may_delete(&s->m, id))
        model_delete(&s->m, id);
}

static void add_some(subject *s)
{
    uint64_t n = random_below(2 + slots_of(s) / (one_in(2) ? 1 : 8));
    for (; n > 0 && !failed; n--)
        add(s, any_item(s));
}

/* A few items are used often. */
static void mixed_ops(subject *s)
{
    uint64_t percent = random_between(25, 75), few = random_between(1, 8);
    for (uint64_t n = random_between(10, one_in(4) ? 900 : 150); n > 0 && !failed && !draws.over; n--) {
        bool often = one_in(6);
        uint32_t id = (uint32_t)random_below(often ? model_least(few, s->m.n) : s->m.n);
        if (random_below(100) < percent)
            add(s, id);
        else
            take(s, one_in(8) ? id : any_present(s));
        if (one_in(40))
            model_check_all(&s->m);
    }
}

static void take_some(subject *s)
{
    uint64_t n = random_below((one_in(3) ? 2 : 1) * s->m.items % 20000 + 1);
    for (; n > 0 && !failed && !draws.over; n--)
        take(s, any_present(s));
}

/* All that is present: what is left is empty, as a rule, and not new. */
static void take_all(subject *s)
{
    uint32_t first = any_item(s);
    for (uint32_t i = 0; i < s->m.n && !failed && !s->m.filter->geometry.epochs; i++)
        while (model_copies(&s->m, (first + i) % s->m.n) > 0 && !failed)
            take(s, (first + i) % s->m.n);
}

/* One key after the other until most slots are in use, and then deletes all of it. */
static void fill_and_empty(subject *s)
{
    uint64_t most = slots_of(s) * random_between(85, 97) / 100, first = random_below(s->m.n);
    for (uint32_t i = 0; i < s->m.n && s->m.filter->occupied < most && !failed; i++)
        add(s, (uint32_t)((first + i) % s->m.n));
    take_all(s);
}

/* ---- many at once ---- */

typedef struct batch {
    size_t n;
    uint32_t *id;   /* by hash */
    uint64_t *hash; /* what is given to the filter */
} batch;

static const model *sorted_by;

static int by_hash(const void *a, const void *b)
{
    uint64_t x = sorted_by->item[*(const uint32_t *)a].hash,
             y = sorted_by->item[*(const uint32_t *)b].hash;
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

/* Each key once, or as many as the filter is planned for; or any number of any keys, of value 0. */
static batch new_batch(const subject *s)
{
    uint32_t keys = s->with->keys, values = s->with->values;
    bool once = one_in(2);
    uint64_t most = 1 + model_least(MOST_BATCH, one_in(2) ? s->with->shape.capacity : slots_of(s));
    batch made = {.n = !once       ? random_below(most)
                       : one_in(2) ? keys
                                   : model_least(keys, s->with->shape.capacity)};
    made.id = model_need(malloc((made.n + 1) * sizeof *made.id));
    made.hash = model_need(malloc((made.n + 1) * sizeof *made.hash));
    for (size_t i = 0; i < made.n; i++)
        made.id[i] = values * (uint32_t)(once ? i : random_below(keys));
    sorted_by = &s->m;
    qsort(made.id, made.n, sizeof *made.id, by_hash);
    for (size_t i = 0; i < made.n; i++)
        made.hash[i] = s->m.item[made.id[i]].hash;
    if (!one_in(4))
        shuffle(made.hash, made.n);
    return made;
}

static void free_batch(batch *b)
{
    free(b->id);
    free(b->hash);
}

/* Brings the keys into the order in which cf_add_many has left their hashes: equal ones stand together. */
static void follow_order(subject *s, batch *b)
{
    uint32_t *id = model_need(malloc(b->n * sizeof *id));
    memcpy(id, b->id, b->n * sizeof *id);
    sorted_by = &s->m;
    qsort(id, b->n, sizeof *id, by_hash);
    for (size_t i = 0, again = 0; i < b->n; i++) {
        size_t low = 0, high = b->n;
        again = i > 0 && b->hash[i] == b->hash[i - 1] ? again + 1 : 0;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (s->m.item[id[middle]].hash < b->hash[i])
                low = middle + 1;
            else
                high = middle;
        }
        if (low + again >= b->n || s->m.item[id[low + again]].hash != b->hash[i]) {
            model_fail("cf_add_many has changed the hashes");
            break;
        }
        b->id[i] = id[low + again];
        if (!s->m.filter->geometry.growth && low + again != i)
            model_fail("cf_add_many left the hashes unsorted");
    }
    free(id);
}

/* Those before `added` are in. */
static void check_batch(subject *s, batch *b, cf_status status, size_t added, const model_then *then)
{
    if (status == CF_OK ? added != b->n : added > b->n)
        model_fail("cf_add_many: status %d, %zu of %zu added", (int)status, added, b->n);
    if (added > 0)
        follow_order(s, b);
    for (size_t i = 0; i < added && !failed; i++)
        model_put(&s->m, b->id[i], 1);
    if (status != CF_OK && added == 0)
        model_check_unchanged(&s->m, then);
    bool apart = status != CF_OK;
    for (size_t i = added; i < b->n; i++)
        apart = apart && s->m.item[b->id[i]].copies == 0 && (i == 0 || b->id[i] != b->id[i - 1]);
    if (apart && must_fit(s, b->n - added) && has_room(s->m.filter, b->hash[added]))
        model_fail("cf_add_many of no more than the capacity: %s", cf_status_text(status));
}

static void add_batch(subject *s)
{
    batch b = new_batch(s);
    for (unsigned times = one_in(4) ? 2 : 1; times > 0 && !failed; times--) {
        size_t added = 0;
        model_note_stage(&s->m);
        model_then then = model_remember(&s->m);
        cf_status status = cf_add_many(s->m.filter, b.hash, b.n, &added);
        model_note_stage(&s->m);
        check_batch(s, &b, status, added, &then);
        model_let_go(&then);
    }
    free_batch(&b);
}

/* ---- growth ---- */

static void split_some(subject *s)
{
    uint64_t steps = random_between(1, one_in(2) ? 3 : s->m.filter->buckets);
    while (steps-- > 0 && s->m.filter->length < most_bytes(s->with) / 2 && probe_split(s->m.filter))
        model_note_stage(&s->m);
    if (s->with->shape.epochs)
        s->m.filter->items = s->m.filter->occupied; /* as whoever adds does: splits drop the dead */
}

/* Lets a smaller filter take its place, if there can be one. */
static void shrink(subject *s)
{
    cf_filter smaller, *filter = s->m.filter;
    cf_create(&smaller, &filter->geometry, model_need(malloc(cf_geometry_bytes(&filter->geometry))));
    smaller.memory = (cf_memory){world_resize, most_bytes(s->with), NULL};
    smaller.watch = filter->watch;
    while (smaller.epoch != filter->epoch)
        cf_advance(&smaller);
    model_note_length(&s->m, &smaller); /* it has not grown yet */
    cf_status status = cf_shrink(&smaller, filter);
    if (status != CF_OK) {
        free(model_bytes(&smaller));
        return;
    }
    REQUIRE(smaller.length < filter->length && smaller.epoch == filter->epoch);
    free(model_bytes(filter));
    *filter = smaller;
    filter->watch = NULL;
    give_memory(s);
    s->m.exact = false;
    model_note_stage(&s->m);
}

/* ---- other steps ---- */

/* Lets a copy take its place. */
static void reopen(subject *s)
{
    cf_filter copy, *filter = s->m.filter;
    cf_memory memory = filter->memory;
    open_copy(filter, &copy);
    check_same_counts(&copy, filter);
    free(model_bytes(filter));
    *filter = copy;
    filter->memory = memory;
}

static void settle(subject *s)
{
    unsigned stashed = s->m.filter->stashed;
    cf_settle(s->m.filter);
    REQUIRE(s->m.filter->stashed <= stashed);
}

static void clear(subject *s)
{
    cf_filter *filter = s->m.filter;
    cf_clear(filter);
    REQUIRE(filter->length == cf_geometry_bytes(&filter->geometry) && filter->items == 0);
    REQUIRE(filter->occupied == 0 && filter->stashed == 0 && filter->epoch == 0);
    model_forget(&s->m);
}

static subject another_of(const subject *s)
{
    subject made = new_subject(s->with, &s->m);
    if (one_in(2))
        add_batch(&made);
    if (one_in(2))
        split_some(&made);
    if (one_in(2))
        add_some(&made);
    for (uint64_t n = random_below(one_in(4) ? 20 : 3); n > 0 && s->with->shape.epochs; n--)
        cf_advance(made.m.filter);
    return made;
}

/* The same shape with one field changed, if that is one: then the two cannot be merged. */
static void merge_mismatch(subject *s)
{
    const char *why = NULL, *name;
    unsigned at = 0;
    cf_filter other;
    cf_geometry shape = s->m.filter->geometry;
    uint64_t field = random_below(5);
    shape.seed += field == 0;
    shape.buckets += field == 1 ? 2 : 0;
    shape.affinity = (uint8_t)((shape.affinity + (field == 2)) % 4);
    shape.keyed ^= field == 3;
    shape.fingerprint_bits = (uint8_t)(shape.fingerprint_bits + (field == 4));
    if (cf_geometry_check(&shape, &why) != CF_OK)
        return;
    cf_create(&other, &shape, model_need(malloc(cf_geometry_bytes(&shape))));
    model_then then = model_remember(&s->m);
    REQUIRE(cf_merge(s->m.filter, &other, &why) == CF_MISMATCH && why != NULL);
    name = cf_difference(s->m.filter, &other, &at);
    REQUIRE(name != NULL && strcmp(name, why) == 0);
    model_check_unchanged(&s->m, &then);
    model_let_go(&then);
    free(model_bytes(&other));
}

static void merge_one(subject *s)
{
    bool scarce = memory_is_scarce;
    cf_filter *filter = s->m.filter;
    cf_memory memory = filter->memory;
    memory_is_scarce = false;
    subject from = another_of(s);
    memory_is_scarce = scarce;
    filter->memory = memory;
    merge_mismatch(s);
    if (!failed)
        model_merge(&s->m, &from.m);
    filter->watch = NULL;
    free_subject(&from);
}

/* Work that a pager sees. */
static void work_once(subject *s, cf_filter *other, uint32_t id, bool adds)
{
    const model_item *one = &s->m.item[id];
    if (adds)
        add(s, id);
    else if (model_may_delete(&s->m, id))
        model_delete(&s->m, id);
    else
        return;
    if (adds)
        cf_add_value(other, one->hash, one->value);
    else
        cf_delete_value(other, one->hash, one->value);
}

/* The same adds and deletes in a filter of which only pages are there: it is equal to the byte. */
static void work_by_pages(subject *s)
{
    cf_filter copy;
    paged p;
    if (s->with->scarce)
        return;
    open_copy(s->m.filter, &copy);
    paged_open(&p, copy.bytes, copy.length, UINT64_C(16) << random_below(5));
    p.filter.memory.most = s->m.filter->memory.most;
    for (uint64_t n = random_below(40); n > 0 && !failed; n--) {
        bool adds = one_in(2);
        work_once(s, &p.filter, adds ? any_item(s) : any_present(s), adds);
    }
    if (s->with->shape.epochs && one_in(2))
        cf_advance(s->m.filter), cf_advance(&p.filter);
    check_told(&p);
    if (!paged_equals(&p, s->m.filter))
        model_fail("by pages it comes to other bytes");
    paged_close(&p);
    free(model_bytes(&copy));
}

#endif
