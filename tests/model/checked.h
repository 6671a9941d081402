/* SPDX-License-Identifier: MIT */
/*
** checked.h - the calls of the library beside a model: an example becomes a test of all promises.
**
**      cf_filter *filter = begin_checked(&made.filter);    empty; its model is kept by this file
**      cf_add_checked(filter, hash);                       as cf_add, compared
**      cf_split_checked(filter);                           growth before there is need
**      end_checked(filter);                                asks for all keys once more
**
** cf_X_checked takes what cf_X takes and gives what it gives. A failure is one of the cmocka test that runs.
** A status that a test does not expect is its own to assert. What is added without the model is unknown to
** it, so a filter has either checked calls or others. Up to eight at a time; end_checked does not free.
*/
#ifndef CUCKOO_MODEL_CHECKED_H
#define CUCKOO_MODEL_CHECKED_H

#include "../unit/test.h"

#include "../probe.h"
#include "calls.h"

enum { CHECKED_MOST = 8 };

typedef struct checked {
    cf_filter *filter; /* NULL: free */
    cf_filter unborn;  /* of its shape, for classes */
    model m;
} checked;

static checked checked_now[CHECKED_MOST];

static inline void checked_failed(const char *text)
{
    _assert_true(0, text, called.file, called.line);
}

static inline checked *checked_of(const cf_filter *filter)
{
    for (unsigned i = 0; i < CHECKED_MOST; i++)
        if (checked_now[i].filter == filter)
            return &checked_now[i];
    checked_failed("no model of this filter: begin_checked comes first");
    return NULL;
}

static inline cf_filter *begin_checked(cf_filter *filter)
{
    checked *c = checked_of(NULL);
    model_on_failure = checked_failed;
    MUST(filter->items + filter->occupied == 0);
    cf_create(&c->unborn, &filter->geometry, model_need(malloc(cf_geometry_bytes(&filter->geometry))));
    c->filter = filter;
    c->m = model_new(filter);
    return filter;
}

static inline void check_all_checked(const cf_filter *filter)
{
    model *m = &checked_of(filter)->m;
    model_check_sound(m);
    model_check_some(m, UINT32_MAX);
}

static inline void end_checked(cf_filter *filter)
{
    checked *c = checked_of(filter);
    check_all_checked(filter);
    free(model_bytes(&c->unborn));
    model_free(&c->m);
    c->filter = NULL;
}

/* The number of a key and value: a new one when it is not known. */
static inline uint32_t item_checked(const cf_filter *filter, uint64_t hash, uint64_t value)
{
    checked *c = checked_of(filter);
    uint32_t id = model_find_item(&c->m, &c->unborn, hash, value);
    return id != MODEL_NONE ? id : model_new_item(&c->m, &c->unborn, hash, value);
}

static inline cf_status cf_add_value_checked(cf_filter *filter, uint64_t hash, uint64_t value)
{
    uint32_t id = item_checked(filter, hash, value);
    return model_add(&checked_of(filter)->m, id);
}

static inline cf_status cf_add_checked(cf_filter *filter, uint64_t hash)
{
    return cf_add_value_checked(filter, hash, 0);
}

static inline cf_deleted cf_delete_value_checked(cf_filter *filter, uint64_t hash, uint64_t value)
{
    uint32_t id = item_checked(filter, hash, value);
    model *m = &checked_of(filter)->m;
    if (!model_may_delete(m, id))
        checked_failed("a key is deleted that another one may lose by");
    return model_delete(m, id);
}

static inline cf_deleted cf_delete_checked(cf_filter *filter, uint64_t hash)
{
    return cf_delete_value_checked(filter, hash, 0);
}

/* Both then know the same keys. */
static inline cf_status cf_merge_checked(cf_filter *into, cf_filter *from)
{
    checked *a = checked_of(into), *b = checked_of(from);
    for (uint32_t id = 0; id < b->m.n; id++)
        item_checked(into, b->m.item[id].hash, b->m.item[id].value);
    model same = model_new(from);
    for (uint32_t id = 0; id < a->m.n; id++) {
        uint32_t other = item_checked(from, a->m.item[id].hash, a->m.item[id].value);
        model_new_item(&same, &b->unborn, a->m.item[id].hash, a->m.item[id].value);
        model_item *one = &same.item[id];
        one->copies = b->m.item[other].copies;
        one->stuck = b->m.item[other].stuck;
        one->stored = b->m.item[b->m.item[other].leader].stored;
    }
    same.items = b->m.items, same.exact = b->m.exact, same.unsure = b->m.unsure;
    same.shortest = b->m.shortest;
    cf_status status = model_merge(&a->m, &same);
    model_free(&same);
    check_all_checked(into);
    check_all_checked(from);
    return status;
}

static inline bool cf_split_checked(cf_filter *filter)
{
    bool done = probe_split(filter);
    model_note_stage(&checked_of(filter)->m);
    check_all_checked(filter);
    return done;
}

#define begin_checked(...)           CALLED(begin_checked(__VA_ARGS__))
#define end_checked(...)             CALLED(end_checked(__VA_ARGS__))
#define check_all_checked(...)       CALLED(check_all_checked(__VA_ARGS__))
#define cf_add_checked(...)          CALLED(cf_add_checked(__VA_ARGS__))
#define cf_add_value_checked(...)    CALLED(cf_add_value_checked(__VA_ARGS__))
#define cf_delete_checked(...)       CALLED(cf_delete_checked(__VA_ARGS__))
#define cf_delete_value_checked(...) CALLED(cf_delete_value_checked(__VA_ARGS__))
#define cf_merge_checked(...)        CALLED(cf_merge_checked(__VA_ARGS__))
#define cf_split_checked(...)        CALLED(cf_split_checked(__VA_ARGS__))

#endif
