/* SPDX-License-Identifier: MIT */
/*
** model.h - a filter beside what it should hold: an exact multiset of (key, value), or of a filter that
** ages the epoch in which each was added last. Public headers only.
**
** After any sequence of calls, of which only present keys are deleted, for every (key, value) with n
** copies present:
**
**      always            it is found, and at least min(n, most) copies are counted; most is max_copies, or with
**                        counters 2^counter_bits, from where on a key is saturated
**      before growth     keys of one fingerprint and pair are one class. Its copies are exact below most
**                        and stay there; so all answers, and what each delete does, are known exactly
**      after growth      so are those of a key that no entry of another key can match, as long as no
**                        entry is saturated
**
** And a call that is refused changes no answer; in a filter that does not grow, no byte. A delete that a
** saturated key does not carry out takes the copy out of the model all the same: the user has deleted it.
**
** world.h has random lives for it; checked.h lets any test do its calls beside it.
*/
#ifndef CUCKOO_MODEL_H
#define CUCKOO_MODEL_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look.h"

#define MODEL_NONE UINT32_MAX
enum { MODEL_HEADER = 64 };

/* A (key, value). */
typedef struct model_item {
    uint64_t hash, value;
    uint64_t copies; /* added and not deleted; or 1 + the epoch of the last add */
    uint64_t stored; /* of the first of its class: copies that the filter knows of; or 1 + an epoch */
    uint32_t leader; /* the first of its class with its value */
    uint32_t next;   /* of its class, of any value */
    bool stuck;      /* it was saturated once */
    cf_side side[2];
    cf_place place; /* of the class */
} model_item;

typedef struct model {
    cf_filter *filter;
    model_item *item;
    uint32_t n, room;
    uint32_t *first;   /* of the classes with a number, modulo `room` */
    uint64_t items;    /* what the header should count */
    bool exact;        /* it has not grown since it was new */
    bool unsure;       /* there may be entries of no key */
    uint32_t turn;     /* of the items, the next to be asked */
    unsigned shortest; /* remainder bits: no entry knows less */
} model;

/* ---- failures, memory ---- */

static void (*model_on_failure)(const char *text);

static inline void model_fail(const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    model_on_failure(text);
}

static inline void *model_need(void *memory)
{
    if (memory == NULL) {
        fputs("no memory for a model\n", stderr);
        exit(2);
    }
    return memory;
}

/* The bytes of a filter that was made or opened for writing: they are the caller's. */
static inline uint8_t *model_bytes(const cf_filter *filter)
{
    return (uint8_t *)(uintptr_t)filter->bytes;
}

static inline uint64_t model_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t model_ones(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* ---- classes ---- */

static inline uint32_t *model_first(const model *m, const cf_place *place)
{
    uint64_t z = (place->bucket << 32 ^ place->tag) * UINT64_C(0x9e3779b97f4a7c15);
    return &m->first[(z >> 32) % m->room];
}

static inline bool model_same_place(const cf_place *a, const cf_place *b)
{
    return a->bucket == b->bucket && a->tag == b->tag;
}

/* Finds its class, or begins one. */
static inline void model_link(model *m, uint32_t id)
{
    model_item *one = &m->item[id];
    uint32_t *at = model_first(m, &one->place);
    one->leader = id;
    one->next = *at;
    *at = id;
    for (uint32_t other = one->next; other != MODEL_NONE; other = m->item[other].next)
        if (model_same_place(&m->item[other].place, &one->place) && m->item[other].value == one->value)
            one->leader = m->item[other].leader;
}

static inline void model_make_room(model *m)
{
    m->room = m->room ? 2 * m->room : 64;
    m->item = model_need(realloc(m->item, m->room * sizeof *m->item));
    m->first = model_need(realloc(m->first, m->room * sizeof *m->first));
    for (uint32_t i = 0; i < m->room; i++)
        m->first[i] = MODEL_NONE;
    for (uint32_t id = 0; id < m->n; id++)
        model_link(m, id);
}

/* Of a class, in `unborn`, which has the shape and has not grown. */
static inline cf_place model_place(const cf_pair *pair)
{
    return pair->place[pair->sides == 2 && pair->place[1].bucket < pair->place[0].bucket];
}

/* MODEL_NONE: there is none. */
static inline uint32_t model_find_item(const model *m, const cf_filter *unborn, uint64_t hash,
                                       uint64_t value)
{
    cf_pair pair = cf_candidates(unborn, hash);
    cf_place place = model_place(&pair);
    uint32_t at = m->n > 0 ? *model_first(m, &place) : MODEL_NONE;
    while (at != MODEL_NONE && (m->item[at].hash != hash || m->item[at].value != value))
        at = m->item[at].next;
    return at;
}

/* One more. */
static inline uint32_t model_new_item(model *m, const cf_filter *unborn, uint64_t hash, uint64_t value)
{
    cf_pair pair = cf_candidates(unborn, hash);
    if (m->n == m->room)
        model_make_room(m);
    model_item *one = &m->item[m->n];
    *one = (model_item){.hash = hash, .value = value, .side = {pair.side[0], pair.side[1]}};
    one->place = model_place(&pair);
    model_link(m, m->n);
    return m->n++;
}

/* ---- what is known ---- */

static inline const cf_geometry *model_shape(const model *m)
{
    return &m->filter->geometry;
}

static inline bool model_has_grown(const cf_filter *filter)
{
    return filter->level > 0 || filter->split > 0;
}

/* Copies from which on a key may be saturated. */
static inline uint64_t model_most(const model *m)
{
    const cf_geometry *shape = model_shape(m);
    return shape->counter_bits ? UINT64_C(1) << shape->counter_bits : shape->max_copies;
}

/* The copies that a number of the model stands for. */
static inline uint64_t model_known(const model *m, uint64_t number)
{
    unsigned epochs = model_shape(m)->epochs;
    return epochs ? number != 0 && number + epochs > m->filter->epoch + 1 : number;
}

static inline uint64_t model_copies(const model *m, uint32_t id)
{
    return model_known(m, m->item[id].copies);
}

static inline uint64_t model_stored(const model *m, uint32_t id)
{
    return model_known(m, m->item[m->item[id].leader].stored);
}

static inline void model_keep_shortest(model *m, unsigned length)
{
    m->shortest = length < m->shortest ? length : m->shortest;
}

/* A model of an empty filter without items. */
static inline model model_new(cf_filter *filter)
{
    model m = {.filter = filter, .exact = !model_has_grown(filter), .shortest = UINT_MAX};
    return m;
}

static inline void model_free(model *m)
{
    free(m->item);
    free(m->first);
}

/* The filter is as it was when it was new. */
static inline void model_forget(model *m)
{
    for (uint32_t id = 0; id < m->n; id++)
        m->item[id].copies = m->item[id].stored = m->item[id].stuck = 0;
    m->items = 0;
    m->exact = !model_has_grown(m->filter);
    m->unsure = false;
    m->shortest = UINT_MAX;
}

/* Copies that the filter counts. */
static inline uint64_t model_counted(const model *m, uint32_t id)
{
    const model_item *one = &m->item[id];
    if (model_shape(m)->value_bits)
        return model_look_for(m->filter, one->hash, one->value).copies_of;
    return cf_count(m->filter, one->hash);
}

/* ---- what must be so ---- */

static inline void model_check_present(const model *m, uint32_t id)
{
    const model_item *one = &m->item[id];
    uint64_t copies = model_copies(m, id);
    if (copies == 0)
        return;
    uint64_t found = model_counted(m, id), expected = model_least(copies, model_most(m));
    if (!cf_contains(m->filter, one->hash) || found < expected)
        model_fail("FALSE NEGATIVE: key %llx value %llu: %llu copies present, %llu counted",
                   (unsigned long long)one->hash, (unsigned long long)one->value,
                   (unsigned long long)copies, (unsigned long long)found);
}

/* The copies of all of a class; *told: has one of them this value? */
static inline uint64_t model_sum(const model *m, uint32_t id, uint64_t value, bool *told)
{
    uint64_t sum = 0;
    *told = false;
    for (uint32_t at = *model_first(m, &m->item[id].place); at != MODEL_NONE; at = m->item[at].next)
        if (m->item[at].leader == at && model_same_place(&m->item[at].place, &m->item[id].place)) {
            sum += model_stored(m, at);
            *told |= m->item[at].value == value && model_stored(m, at) > 0;
        }
    return sum;
}

/* Before growth. */
static inline void model_check_class(const model *m, uint32_t id)
{
    const cf_geometry *shape = model_shape(m);
    const model_item *one = &m->item[id];
    uint64_t value = 0, stored = model_stored(m, id);
    bool told, got = cf_get(m->filter, one->hash, &value);
    uint64_t sum = model_sum(m, id, value, &told);
    if (cf_count(m->filter, one->hash) != sum || cf_contains(m->filter, one->hash) != (sum > 0))
        model_fail("%llu copies before growth, but %llu are counted", (unsigned long long)sum,
                   (unsigned long long)cf_count(m->filter, one->hash));
    if (got != (sum > 0 && shape->value_bits != 0) || (got && !told))
        model_fail("cf_get tells value %llu, which is not there", (unsigned long long)value);
    if (shape->value_bits && model_look_for(m->filter, one->hash, one->value).matches != stored)
        model_fail("not %llu copies of value %llu", (unsigned long long)stored,
                   (unsigned long long)one->value);
}

/* Can an entry of one be taken for the other? */
static inline bool model_alike(const model *m, const model_item *one, const model_item *other)
{
    unsigned known = m->shortest == UINT_MAX ? 64 : m->shortest + model_shape(m)->pair_bits;
    for (unsigned i = 0; i < 2; i++)
        if (one->side[0].base == other->side[i].base &&
            ((one->side[0].bits ^ other->side[i].bits) & model_ones(known)) == 0)
            return true;
    return false;
}

/* After growth, when no entry is saturated: of a key that is like no other. */
static inline void model_check_alone(const model *m, uint32_t id)
{
    const model_item *one = &m->item[id];
    uint64_t copies = 0, found = cf_count(m->filter, one->hash);
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->item[i].hash != one->hash && model_alike(m, one, &m->item[i]))
            return;
        if (m->item[i].hash == one->hash && m->item[i].stuck)
            return;
        copies += m->item[i].hash == one->hash ? model_copies(m, i) : 0;
    }
    if (found != copies)
        model_fail("%llu copies of a key that is like no other, but %llu are counted",
                   (unsigned long long)copies, (unsigned long long)found);
}

/* Of one key all that is known of it. */
static inline void model_check_item(const model *m, uint32_t id)
{
    model_check_present(m, id);
    if (m->exact && !m->unsure)
        model_check_class(m, id);
}

static inline uint64_t model_items(const model *m)
{
    return model_shape(m)->epochs ? m->filter->occupied : m->items;
}

/* A view that nobody interrupts. */
static inline cf_filter model_patient(const model *m)
{
    cf_filter patient = *m->filter;
    patient.watch = NULL;
    return patient;
}

static inline void model_check_census(const model *m)
{
    const cf_geometry *shape = model_shape(m);
    cf_filter patient = model_patient(m);
    cf_census census = cf_take_census(&patient);
    uint64_t copies = 0;
    for (uint32_t id = 0; id < m->n; id++)
        copies += m->item[id].leader == id ? model_stored(m, id) : 0;
    if (census.status != CF_OK || census.occupied > m->filter->occupied ||
        (census.occupied < m->filter->occupied && !shape->epochs))
        model_fail("the census finds %llu slots of %llu", (unsigned long long)census.occupied,
                   (unsigned long long)m->filter->occupied);
    if (!m->exact || m->unsure)
        return;
    if (census.copies != copies || (shape->epochs && m->filter->occupied < copies))
        model_fail("the census finds %llu copies of %llu", (unsigned long long)census.copies,
                   (unsigned long long)copies);
    if (!shape->counter_bits && !shape->epochs && m->filter->occupied + m->filter->stashed != copies)
        model_fail("%llu copies in %llu slots", (unsigned long long)copies,
                   (unsigned long long)m->filter->occupied);
}

/* Form and counts. */
static inline void model_check_sound(const model *m)
{
    const char *why = "";
    cf_filter patient = model_patient(m);
    if (cf_check(&patient, &why) != CF_OK)
        model_fail("cf_check: %s", why);
    if (m->filter->items != model_items(m))
        model_fail("%llu items in the header, %llu expected", (unsigned long long)m->filter->items,
                   (unsigned long long)model_items(m));
    model_check_census(m);
}

/* Of so many, in turn. */
static inline void model_check_some(model *m, uint32_t most)
{
    for (uint32_t i = 0; i < m->n && i < most; i++)
        model_check_item(m, m->turn++ % m->n);
}

/* The form, and many of the keys: all, if they are few. */
static inline void model_check_all(model *m)
{
    enum { MANY = 128 };
    model_check_sound(m);
    model_check_some(m, MANY);
}

#endif
