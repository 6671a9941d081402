/* SPDX-License-Identifier: MIT */
/*
** subject.h - a filter of a life, in memory of its own, and its model.
*/
#ifndef CUCKOO_MODEL_SUBJECT_H
#define CUCKOO_MODEL_SUBJECT_H

#include "calls.h"
#include "universe.h"

typedef struct subject {
    model m;
    const setup *with;
} subject;

/* Bytes that no filter of a life becomes longer than. */
static uint64_t most_bytes(const setup *with)
{
    return (1 << 15) + 4 * cf_geometry_bytes(&with->shape);
}

static void give_memory(subject *s)
{
    cf_filter *filter = s->m.filter;
    bool bounded = s->with->scarce && one_in(2);
    uint64_t most = bounded ? filter->length + random_below(2 * filter->length) : most_bytes(s->with);
    filter->memory = (cf_memory){world_resize, most, NULL};
}

/* The same items for another filter. */
static model model_for(const model *of, cf_filter *filter)
{
    model m = *of;
    m.filter = filter;
    m.item = model_need(malloc(of->room * sizeof *m.item));
    m.first = model_need(malloc(of->room * sizeof *m.first));
    memcpy(m.item, of->item, of->n * sizeof *m.item);
    memcpy(m.first, of->first, of->room * sizeof *m.first);
    return m;
}

static subject new_subject(const setup *with, const model *universe)
{
    cf_filter *filter = model_need(malloc(sizeof *filter));
    cf_create(filter, &with->shape, model_need(malloc(cf_geometry_bytes(&with->shape))));
    subject s = {model_for(universe, filter), with};
    model_forget(&s.m);
    give_memory(&s);
    return s;
}

static void free_subject(subject *s)
{
    free(model_bytes(s->m.filter));
    free(s->m.filter);
    model_free(&s->m);
}

/* Sealed, copied to memory of exactly its length, and opened there. */
static void open_copy(const cf_filter *filter, cf_filter *copy)
{
    const char *why = "";
    cf_filter sealed = *filter;
    cf_seal(&sealed);
    if (cf_open_writable(copy, copy_of_bytes(filter->bytes, filter->length), filter->length, &why) !=
        CF_OK)
        model_fail("cf_open_writable: %s", why);
}

static subject copy_of(const subject *s)
{
    cf_filter *filter = model_need(malloc(sizeof *filter));
    open_copy(s->m.filter, filter);
    subject made = {model_for(&s->m, filter), s->with};
    give_memory(&made);
    return made;
}

static uint64_t slots_of(const subject *s)
{
    return s->m.filter->buckets * s->m.filter->geometry.bucket_size;
}

/* Any item; one that is present, if there is one. */
static uint32_t any_item(const subject *s)
{
    return (uint32_t)random_below(s->m.n);
}

static uint32_t any_present(const subject *s)
{
    uint32_t first = any_item(s);
    for (uint32_t i = 0; i < s->m.n; i++)
        if (model_copies(&s->m, (first + i) % s->m.n) > 0)
            return (first + i) % s->m.n;
    return first;
}

#endif
