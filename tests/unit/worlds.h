/* SPDX-License-Identifier: MIT */
/*
** worlds.h - filters of every kind, through every kind of view, with the keys that must be found.
*/
#ifndef CUCKOO_TEST_WORLDS_H
#define CUCKOO_TEST_WORLDS_H

#include "../paged.h"
#include "test.h"

#include "../probe.h"

/* ---- kinds of filters ---- */

typedef struct filter_kind {
    const char *name;
    cf_geometry shape;
    unsigned keys;   /* that are added; two thirds of them twice, where copies count */
    unsigned left;   /* all others are deleted, or are too old; 0: all are left */
    unsigned steps;  /* of growth, more than were needed */
    unsigned epochs; /* that have begun while keys were added */
    bool dead;       /* entries that are too old have not been taken out */
} filter_kind;

static inline cf_geometry with(cf_geometry shape, unsigned counter, unsigned value, unsigned epochs)
{
    shape.counter_bits = (uint8_t)counter;
    shape.value_bits = (uint8_t)value;
    shape.epochs = (uint8_t)epochs;
    shape.cap = epochs ? 1 : shape.cap;
    return shape;
}

enum { KINDS = 27, MOST_KEYS = 2200, STRANGERS = 120 };

static inline const filter_kind *kinds(void)
{
    static filter_kind all[KINDS];
    cf_geometry fixed = shape_of(60, 4, 16), small = growing_shape(10, 4, 12),
                large = growing_shape(1100, 2, 12), two = growing_shape(12, 2, 16);
    filter_kind made[KINDS] = {
        {"empty", small, 0, 0, 0, 0, false},
        {"plain", fixed, 100, 0, 0, 0, false},
        {"nearly full", fixed, 232, 0, 0, 0, false},
        {"semi-sorted", semisorted(fixed), 100, 90, 0, 0, false},
        {"counters", with(fixed, 3, 0, 0), 100, 90, 0, 0, false},
        {"values", with(fixed, 0, 5, 0), 100, 90, 0, 0, false},
        {"overflow", spilling(fixed, 3, 30), 225, 0, 0, 0, false},
        {"may grow", small, 20, 0, 0, 0, false},
        {"prepared", large, 1960, 0, 0, 0, false},
        {"split once", small, 20, 0, 1, 0, false},
        {"grown", small, 400, 0, 0, 0, false},
        {"grown, emptied", small, 400, 40, 0, 0, false},
        {"grown, semi-sorted", semisorted(small), 400, 40, 0, 0, false},
        {"grown, b = 2", two, 400, 60, 0, 0, false},
        {"grown, b = 8", growing_shape(10, 8, 12), 400, 150, 0, 0, false},
        {"grown, counters", with(small, 3, 0, 0), 400, 40, 0, 0, false},
        {"grown, values", with(small, 0, 5, 0), 400, 40, 0, 0, false},
        {"grown, overflow", spilling(small, 3, 30), 400, 40, 0, 0, false},
        {"ageing", with(fixed, 0, 0, 3), 100, 0, 0, 0, false},
        {"ageing, later", with(fixed, 0, 0, 3), 150, 0, 0, 7, false},
        {"ageing, dead", with(fixed, 0, 0, 3), 150, 0, 0, 7, true},
        {"ageing, full", with(fixed, 0, 0, 3), 238, 0, 0, 1, false},
        {"ageing, wrapped", with(fixed, 0, 0, 15), 200, 0, 0, 40, false},
        {"ageing, grown", with(small, 0, 0, 3), 400, 0, 0, 0, false},
        {"ageing, grown, later", with(small, 0, 0, 3), 400, 0, 90, 7, false},
        {"ageing, grown, dead", with(small, 0, 0, 2), 400, 0, 0, 9, true},
        {"ageing, grown, semi-sorted", with(semisorted(small), 0, 0, 2), 400, 0, 0, 9, false}};
    memcpy(all, made, sizeof all);
    return all;
}

/* ---- ways to look at one ---- */

typedef enum way { WRITABLE, FIXED, TIGHT, POOR, POORER, WATCHED, PAGED, READ_ONLY, VIEWS } way;

static const char *const views[VIEWS] = {"in memory",   "without memory", "no longer", "no more memory",
                                         "memory once", "interrupted",    "by pages",  "for reading"};

enum { MOST = MOST_KEYS + 200 };

typedef struct world {
    way look;
    test_filter made;
    paged pages;
    asked asked;
    cf_filter *filter; /* the one that is looked at: of the three above, or `other` */
    test_filter other; /* that calls with two filters make; bytes == NULL: none */
    struct {
        uint64_t hash, value, epoch;
    } key[MOST]; /* that must be found */
    unsigned n, before;
    bool partly;       /* the call was refused, and may have done a part */
    const char *wrong; /* what a call has found; NULL: nothing */
} world;

/* Is it too old to be found? */
static inline bool is_old(const cf_filter *filter, uint64_t epoch)
{
    return filter->geometry.epochs && filter->epoch >= epoch + filter->geometry.epochs;
}

static inline void forget(world *w, unsigned i)
{
    w->key[i] = w->key[--w->n];
}

static inline void forget_old(world *w)
{
    for (unsigned i = w->n; i > 0; i--)
        if (is_old(w->filter, w->key[i - 1].epoch))
            forget(w, i - 1);
}

static inline void note_key(world *w, const cf_filter *filter, uint64_t hash, uint64_t value)
{
    assert_true(w->n < MOST);
    w->key[w->n].value = value;
    w->key[w->n].epoch = filter->epoch;
    w->key[w->n++].hash = hash;
}

static inline cf_status add_key(world *w, cf_filter *filter, uint64_t hash)
{
    uint64_t value = hash & (((uint64_t)1 << filter->geometry.value_bits) - 1);
    cf_status status = cf_add_value(filter, hash, value);
    if (status == CF_OK)
        note_key(w, filter, hash, value);
    return status;
}

static inline cf_status delete_key(world *w, unsigned i)
{
    cf_deleted deleted = w->filter->geometry.value_bits
                             ? cf_delete_value(w->filter, w->key[i].hash, w->key[i].value)
                             : cf_delete(w->filter, w->key[i].hash);
    bool writes = w->look != READ_ONLY, ages = w->filter->geometry.epochs != 0;
    assert_int_not_equal(deleted, CF_ABSENT);
    assert_true(deleted == CF_STICKY || (writes && !ages));
    if (writes && !ages)
        forget(w, i);
    return writes ? CF_OK : CF_BAD_ARGUMENT;
}

static inline void fill(world *w, const filter_kind *kind)
{
    cf_filter *filter = &w->made.filter;
    w->filter = filter;
    for (unsigned i = 0; i < kind->keys; i++) {
        if (i * kind->epochs / (kind->keys + 1) != (i + 1) * kind->epochs / (kind->keys + 1))
            (kind->dead ? probe_begin_epoch : cf_advance)(filter);
        add_key(w, filter, i % 10 == 9 && w->n > 8 ? w->key[w->n - 8].hash : random64());
    }
    while (kind->left > 0 && w->n > kind->left)
        delete_key(w, (unsigned)random_below(w->n));
    for (unsigned i = 0; i < kind->steps; i++)
        assert_true(probe_split(filter));
    forget_old(w);
    cf_seal(filter);
}

static inline world *new_world(const filter_kind *kind, way view)
{
    const char *why;
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->made = growing_filter(kind->shape, UINT64_MAX);
    fill(w, kind);
    w->look = view;
    cf_filter *filter = w->filter;
    w->made.bytes = bytes_of(filter);
    w->asked = (asked){{answer, &w->asked}, 0, 1};
    if (view == FIXED)
        filter->memory = (cf_memory){NULL, 0, NULL};
    if (view == TIGHT)
        filter->memory.most = filter->length;
    if (view == WATCHED)
        filter->watch = &w->asked.watch;
    if (view == READ_ONLY)
        assert_int_equal(cf_open(filter, w->made.bytes, filter->length, &why), CF_OK);
    if (view == PAGED) {
        paged_open(&w->pages, w->made.bytes, filter->length, 100);
        w->filter = &w->pages.filter;
    }
    return w;
}

/* From now on there is as much memory as this view has. */
static inline void begin_poverty(way view)
{
    resizes_left = view == POOR ? 0 : view == POORER ? 1 : UINT64_MAX;
}

static inline void free_world(world *w)
{
    if (w->other.bytes)
        free_filter(&w->other);
    if (w->look == PAGED)
        paged_close(&w->pages);
    free_filter(&w->made);
    free(w);
}

#endif
