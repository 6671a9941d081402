/* SPDX-License-Identifier: MIT */
/*
** held.h - a table that is kept at some load, of the library or as published (walk.h), and the keys
** it holds.
*/
#ifndef CF_BENCH_HELD_H
#define CF_BENCH_HELD_H

#include "cuckoo.h"
#include "search_steps.h"

enum { HELD_FINGERPRINT_BITS = 12, HELD_KICKS = 500 };

typedef struct held_shape {
    uint64_t buckets; /* of four slots */
    bool library;     /* or a random walk */
    bool overflow;    /* bits; in the library with a list */
    unsigned list;    /* entries that the list of the library takes */
    unsigned kicks;   /* that a random walk takes at most */
    bool may_stay;    /* of a random walk (walk.h) */
} held_shape;

typedef struct held_table {
    cuckoo *filter; /* or */
    walk_table *walk;
    uint64_t *held;   /* the keys it holds, by number */
    uint64_t n, next; /* how many; the number of the next one */
    uint64_t draws, absent;
} held_table;

/* A table with room for `most` keys. Runs differ in all their random numbers. */
void held_open(held_table *t, const held_shape *of, uint64_t most, uint64_t run);

void held_close(held_table *t);

/* How many buckets (kicks of a walk) an insertion tries before it falls back on overflow bits. Ample:
** more than it needs. */
void held_set_budget(held_table *t, unsigned budget);
void held_set_ample_budget(held_table *t);

/* Of the table and the list. */
uint64_t held_bits(const held_table *t);

/* Entries without a slot. */
uint64_t held_spilled(const held_table *t);

bool held_contains(const held_table *t, uint64_t hash);

/* Adds a new key. */
bench_steps held_add(held_table *t);

void held_remove_random(held_table *t);

/* Ends the program when a key is not found. */
void held_look_for_all(const held_table *t);

/* Of so many absent keys, how many are answered "perhaps". */
uint64_t held_errors(held_table *t, uint64_t probes);

#endif
