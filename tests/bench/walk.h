/* SPDX-License-Identifier: MIT */
/*
** walk.h - insertion by a random walk, as published: what the library's insertion is compared with.
**
** Buckets of four slots. A key whose buckets are full kicks out a random entry, which goes to its
** other bucket, where it may kick out another, and so on.
**   plain                 the cuckoo filter paper, algorithm 1: after most_kicks the entry that is left
**                         over is lost, and the insertion has failed
**   with overflow bits    the Bloom-Cuckoo filter, algorithms 1 and 2 (first: P. Reviriego, J.
**                         Martinez, S. Pontarelli: "CFBF: Reducing the Insertion Time of Cuckoo Filters
**                         With an Integrated Bloom Filter", IEEE Communications Letters 23 (10), 2019):
**                         from kick number `budget` on, when the bits of both buckets of the entry that
**                         is left over are zero, both are set, and nothing else remembers it. When one
**                         of them is set, the walk goes on. A lookup that finds both bits of its key
**                         set answers "perhaps". A delete that finds no fingerprint clears both. As
**                         printed there (lines 21 and 37), each kick takes place in either bucket of
**                         the entry
*/
#ifndef CF_BENCH_WALK_H
#define CF_BENCH_WALK_H

#include <stdbool.h>
#include <stdint.h>

enum { WALK_SLOTS = 4 };

/* An entry and the bucket where it is, or wants to be. */
typedef struct walk_entry {
    uint64_t bucket;
    uint16_t tag;
} walk_entry;

typedef struct walk_table {
    uint64_t buckets;
    unsigned fingerprint_bits; /* up to 16 */
    unsigned most_kicks;
    unsigned budget; /* t: so many kicks before the overflow bits are thought of */
    bool overflow_bits;
    uint64_t in_bits;  /* entries that only overflow bits stand for */
    uint64_t draws;    /* random numbers drawn */
    uint16_t *tag;     /* 0: empty */
    bool *overflow;    /* by bucket */
    walk_entry *noted; /* those in_bits entries, in any order; no lookup reads them */
} walk_table;

/* What one insertion did. */
typedef struct bench_steps {
    unsigned examined; /* buckets that it looked at for an empty slot, those of the key included */
    bool refused;      /* it failed */
} bench_steps;

walk_table *walk_make(uint64_t buckets, unsigned fingerprint_bits, bool overflow_bits, uint64_t seed);

void walk_drop(walk_table *table);

/* The memory that lookups read. */
uint64_t walk_bits(const walk_table *table);

bench_steps walk_add(walk_table *table, uint64_t hash);

bool walk_contains(const walk_table *table, uint64_t hash);

/* False: it is certainly not there. */
bool walk_remove(walk_table *table, uint64_t hash);

#endif
