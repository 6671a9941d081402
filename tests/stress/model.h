/* SPDX-License-Identifier: MIT */
/*
** model.h - a filter beside what it should hold: an exact multiset of (key, value).
**
** After any sequence of adds, deletes of what is present, splits and merges, for every (key, value)
** with n copies present
**
**      cf_contains is true, and the copies counted are at least min(n, cap), or with counters min(n, 2^counter_bits)
**
** which is more than promise 1 asks, and fails sooner. And of single calls: an add counts one copy
** more, or at least as many as a sticky key has; a delete of a present key is not "absent", removes
** one copy, and is "sticky" only when there are that many; a call that fails changes nothing.
**
** A delete that sticky keys do not carry out takes the copy out of the model all the same: the user
** has deleted it.
*/
#ifndef CUCKOO_STRESS_MODEL_H
#define CUCKOO_STRESS_MODEL_H

#include "universe.h"

/* A (key, value): key * values + value. */
typedef uint32_t pair_id;

typedef struct subject {
    cf_filter filter;
    const setup *with;
    const uint64_t *hash; /* of each key */
    uint32_t *copies;     /* of each (key, value) */
    pair_id *present;     /* one for each copy, in no order */
    uint32_t n, room;     /* of `present` */
    uint64_t items;       /* what the header should count */
    bool orphans;         /* there may be entries of no key: a sticky delete left them, or a merge */
    bool has_grown;       /* once: void entries may have become two */
} subject;

/* ---- life and death ---- */

static void give_memory(subject *s)
{
    bool bounded = s->with->scarce && one_in(2);
    uint64_t most =
        bounded ? s->filter.length + random_below(2 * s->filter.length) : most_bytes(s->with);
    s->filter.memory = (cf_memory){resize, most, NULL};
}

/* Of the values that there can be, so many are used: 8, from 0 to the largest. */
static uint32_t values_of(const setup *with)
{
    unsigned bits = with->shape.value_bits;
    return (uint32_t)1 << (bits < 3 ? bits : 3);
}

static subject new_subject(const setup *with, const uint64_t *hash)
{
    subject s = {.with = with, .hash = hash};
    s.copies = need(calloc((size_t)with->keys * values_of(with), sizeof *s.copies));
    cf_create(&s.filter, &with->shape, need(malloc(cf_geometry_bytes(&with->shape))));
    give_memory(&s);
    return s;
}

static uint8_t *bytes_of(const subject *s)
{
    return s->filter.view.writable - 64; /* the header */
}

/* Seals the filter, copies it to memory of exactly its length, and opens it there. */
static void open_copy(const cf_filter *filter, cf_filter *copy)
{
    const char *why = "";
    cf_filter sealed = *filter;
    uint8_t *bytes = need(malloc(filter->length));
    cf_seal(&sealed);
    memcpy(bytes, filter->bytes, filter->length);
    if (cf_open_writable(copy, bytes, filter->length, &why) != CF_OK)
        FAIL("cf_open_writable: %s", why);
}

static subject copy_of(const subject *s)
{
    subject made = *s;
    size_t copies = (size_t)s->with->keys * values_of(s->with) * sizeof *s->copies;
    made.copies = memcpy(need(malloc(copies)), s->copies, copies);
    made.present = need(malloc((s->room + 1) * sizeof *s->present));
    if (s->n > 0)
        memcpy(made.present, s->present, s->n * sizeof *s->present);
    open_copy(&s->filter, &made.filter);
    give_memory(&made);
    total.reopened++;
    return made;
}

static void free_subject(subject *s)
{
    free(bytes_of(s));
    free(s->copies);
    free(s->present);
}

static uint64_t slots_of(const subject *s)
{
    return s->filter.buckets * s->filter.geometry.bucket_size;
}

/* ---- asking ---- */

static uint64_t hash_of(const subject *s, pair_id id)
{
    return s->hash[id / values_of(s->with)];
}

static uint64_t value_of(const subject *s, pair_id id)
{
    uint64_t values = values_of(s->with), largest = cf_low_bits(s->with->shape.value_bits);
    return values == 1 ? 0 : id % values * (largest / (values - 1));
}

static uint64_t entries_with_value(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    uint64_t n = 0;
    cf_pair pair = cf_candidates(filter, hash);
    cf_entry entry;
    for (unsigned i = 0; i < pair.sides; i++)
        for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++)
            if (cf_entry_at(filter, pair.place[i].bucket, slot, &entry) &&
                cf_entry_matches(filter, &entry, &pair.side[i]) && entry.payload == value)
                n += cf_entry_copies(filter, &entry);
    for (unsigned at = 0; at < filter->spilled; at++)
        if (cf_spilled_at(filter, at, &entry) && entry.payload == value)
            for (unsigned i = 0; i < pair.sides; i++)
                if (entry.bucket == pair.place[i].bucket &&
                    cf_entry_matches(filter, &entry, &pair.side[i]))
                    n += cf_entry_copies(filter, &entry);
    return n;
}

/* Copies that the filter counts. */
static uint64_t counted(const subject *s, pair_id id)
{
    if (s->with->shape.value_bits)
        return entries_with_value(&s->filter, hash_of(s, id), value_of(s, id));
    return cf_count(&s->filter, hash_of(s, id));
}

/* Copies from which on a key may be sticky. */
static uint64_t sticky_from(const setup *with)
{
    unsigned counter = with->shape.counter_bits;
    return counter ? (uint64_t)1 << counter : with->shape.cap;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void check_present(const subject *s, pair_id id)
{
    uint64_t expected = least(s->copies[id], sticky_from(s->with)), found = counted(s, id);
    bool contained = cf_contains(&s->filter, hash_of(s, id));
    if (s->copies[id] > 0 && (!contained || found < expected))
        fail(&total.false_negatives, "key %u value %u: %u copies present, %s, %llu counted",
             id / values_of(s->with), id % values_of(s->with), s->copies[id],
             contained ? "found" : "NOT FOUND", (unsigned long long)found);
}

static void check_all_present(const subject *s)
{
    for (pair_id id = 0; id < s->with->keys * values_of(s->with) && !failed; id++)
        if (s->copies[id] > 0)
            check_present(s, id);
}

static void check_sound(const subject *s)
{
    const char *why = "";
    if (cf_check(&s->filter, &why) != CF_OK)
        FAIL("cf_check: %s", why);
    if (s->filter.items != s->items)
        FAIL("%llu items in the header, %llu expected", (unsigned long long)s->filter.items,
             (unsigned long long)s->items);
}

/* ---- the multiset ---- */

static void model_add(subject *s, pair_id id, uint32_t copies)
{
    s->copies[id] += copies;
    for (; copies > 0; copies--) {
        if (s->n == s->room) {
            s->room = 2 * s->room + 64;
            s->present = need(realloc(s->present, s->room * sizeof *s->present));
        }
        s->present[s->n++] = id;
    }
}

/* Takes out the copy at this index of `present`. */
static pair_id model_take(subject *s, uint32_t at)
{
    pair_id id = s->present[at];
    s->present[at] = s->present[--s->n];
    s->copies[id]--;
    return id;
}

/* ---- operations ---- */

/* What a failed call must leave as it was. */
typedef struct snapshot {
    cf_filter filter;
    uint8_t *bytes; /* NULL: not taken */
} snapshot;

static snapshot take_snapshot(const subject *s)
{
    snapshot then = {s->filter, NULL};
    if (!s->with->planned && (s->filter.length < 4096 || one_in(16))) {
        then.bytes = need(malloc(s->filter.length));
        memcpy(then.bytes, bytes_of(s), s->filter.length);
    }
    return then;
}

static void check_unchanged(const subject *s, const snapshot *then)
{
    const cf_filter *a = &s->filter, *b = &then->filter;
    if (a->length != b->length || a->level != b->level || a->split != b->split ||
        a->view.grown != b->view.grown || a->buckets != b->buckets || a->items != b->items ||
        a->occupied != b->occupied || a->view.new_length != b->view.new_length ||
        a->view.form.slot_mask != b->view.form.slot_mask)
        FAIL("a call that failed changed the counts");
    if (then->bytes && memcmp(then->bytes, bytes_of(s), b->length) != 0)
        FAIL("a call that failed changed the bytes");
    total.unchanged_compared += then->bytes != NULL;
}

static void check_refused(const subject *s, cf_status status, const snapshot *then)
{
    total.refused++;
    total.no_memory += status != CF_FULL;
    total.planned_refused += s->with->planned;
    check_unchanged(s, then);
}

static void check_added(subject *s, pair_id id, uint64_t before)
{
    model_add(s, id, 1);
    s->items++;
    if (counted(s, id) < least(before + 1, sticky_from(s->with)))
        FAIL("an add does not count");
}

static void add(subject *s, pair_id id)
{
    if (s->copies[id] == s->with->most_copies)
        return;
    uint64_t before = counted(s, id);
    snapshot then = take_snapshot(s);
    memory_is_scarce = s->with->scarce;
    cf_status status = cf_add_value(&s->filter, hash_of(s, id), value_of(s, id));
    memory_is_scarce = false;
    total.operations++;
    total.adds++;
    total.planned_adds += s->with->planned;
    if (status == CF_OK)
        check_added(s, id, before);
    else
        check_refused(s, status, &then);
    free(then.bytes);
}

static void check_delete(subject *s, pair_id id, cf_deleted answer, uint64_t before)
{
    if (answer == CF_ABSENT)
        fail(&total.lost_deletes, "key %u value %u is deleted, but it is absent",
             id / values_of(s->with), id % values_of(s->with));
    if (answer == CF_STICKY && before < sticky_from(s->with))
        FAIL("sticky, with %llu copies", (unsigned long long)before);
    if (answer == CF_REMOVED && counted(s, id) != before - 1)
        FAIL("a delete takes %llu copies down to %llu", (unsigned long long)before,
             (unsigned long long)counted(s, id));
}

/* Deletes a copy that is present. */
static void take_at(subject *s, uint32_t at)
{
    pair_id id = model_take(s, at);
    uint64_t before = counted(s, id);
    cf_deleted answer = cf_delete_value(&s->filter, hash_of(s, id), value_of(s, id));
    total.operations++;
    total.deletes++;
    s->items -= answer == CF_REMOVED;
    s->orphans |= answer == CF_STICKY;
    total.sticky += answer == CF_STICKY;
    check_delete(s, id, answer, before);
    check_present(s, id);
}

static void split(subject *s, uint64_t steps)
{
    while (steps-- > 0 && cf_grow(&s->filter) == CF_OK) {
        total.operations++;
        total.splits++;
    }
}

/* Any one; there is one. */
static void take(subject *s)
{
    take_at(s, (uint32_t)random_below(s->n));
}

/* Lets a copy take its place. */
static void reopen(subject *s)
{
    subject copy = copy_of(s);
    free_subject(s);
    *s = copy;
}

/* Lets a smaller filter take its place, if there can be one. */
static void shrink(subject *s)
{
    cf_filter smaller;
    cf_create(&smaller, &s->filter.geometry, need(malloc(cf_geometry_bytes(&s->filter.geometry))));
    smaller.memory = (cf_memory){resize, most_bytes(s->with), NULL};
    smaller.watch = s->filter.watch;
    cf_status status = cf_shrink(&smaller, &s->filter);
    total.operations++;
    if (status != CF_OK) {
        free(smaller.view.writable - 64);
        return;
    }
    free(bytes_of(s));
    s->filter = smaller;
    s->filter.watch = NULL;
    give_memory(s);
    s->has_grown = true;
    total.shrunk++;
    check_all_present(s);
    check_sound(s);
}

static void clear(subject *s)
{
    cf_clear(&s->filter);
    memset(s->copies, 0, (size_t)s->with->keys * values_of(s->with) * sizeof *s->copies);
    s->n = 0;
    s->items = 0;
    s->orphans = s->has_grown = false;
    total.cleared++;
}

/* The sum in `into`, or, when that is refused, what there was; without memory for a copy all that `into`
** held, and what else there is is nobody's. */
static void merge(subject *into, const subject *from)
{
    const char *why = "";
    uint64_t buckets = into->filter.buckets;
    bool copied = into->filter.memory.resize != NULL;
    snapshot then = take_snapshot(into);
    cf_status status = cf_merge(&into->filter, &from->filter, &why);
    into->filter.watch = NULL;
    if (status != CF_OK && copied)
        check_unchanged(into, &then);
    free(then.bytes);
    total.operations++;
    total.merges += status == CF_OK;
    total.merges_refused += status != CF_OK;
    total.splits += into->filter.buckets - buckets;
    for (pair_id id = 0; status == CF_OK && id < into->with->keys * values_of(into->with); id++)
        model_add(into, id, from->copies[id]);
    into->items = status == CF_OK ? into->items + from->items : into->filter.items;
    into->orphans |= status == CF_OK ? from->orphans : !copied;
    into->has_grown |= from->has_grown;
    check_all_present(into);
    check_sound(into);
}

#endif
