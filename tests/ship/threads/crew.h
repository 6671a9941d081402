/* SPDX-License-Identifier: MIT */
/*
** crew.h - runs the same work in several threads at once.
**
** The asserts of cmocka belong to the main thread. So a thread counts what went wrong, and keeps the
** first reason; the crew gives both to the main thread when all have ended.
*/
#ifndef THREADS_CREW_H
#define THREADS_CREW_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { CREW = 4 };

typedef struct crew_member {
    unsigned number; /* 0 .. CREW - 1 */
    void *context;   /* the same for all */
    unsigned wrong;  /* so many things */
    char first[300]; /* the first of them */
    void (*work)(struct crew_member *self);
    atomic_uint *ready;
    pthread_t thread;
} crew_member;

/* Notes that something is wrong, unless `right`. Returns `right`. */
static inline bool crew_expect(crew_member *self, bool right, const char *what, const char *detail)
{
    if (!right && self->wrong++ == 0)
        snprintf(self->first, sizeof self->first, "thread %u: %s: %s", self->number, what, detail);
    return right;
}

/* The count has no memory order on purpose: an order would hide races of what was done before. */
static inline void *crew_start(void *pointer)
{
    crew_member *self = pointer;
    atomic_fetch_add_explicit(self->ready, 1, memory_order_relaxed);
    while (atomic_load_explicit(self->ready, memory_order_relaxed) < CREW)
        sched_yield();
    self->work(self);
    return NULL;
}

/* Runs `work` in CREW threads; the test fails when one of them noted anything. */
static inline void crew_run(void (*work)(crew_member *self), void *context)
{
    crew_member crew[CREW];
    atomic_uint ready = 0;
    for (unsigned i = 0; i < CREW; i++) {
        crew[i] = (crew_member){.number = i, .context = context, .work = work, .ready = &ready};
        assert_int_equal(pthread_create(&crew[i].thread, NULL, crew_start, &crew[i]), 0);
    }
    for (unsigned i = 0; i < CREW; i++)
        assert_int_equal(pthread_join(crew[i].thread, NULL), 0);
    for (unsigned i = 0; i < CREW; i++)
        if (crew[i].wrong > 0)
            fail_msg("%s; %u in all", crew[i].first, crew[i].wrong);
}

#endif
