/* SPDX-License-Identifier: MIT */
/*
** walk.h - insertion by a random walk, as the cuckoo filter paper has it (algorithm 1), and bounded
** by overflow bits without a list: what the library's insertion is compared with.
**
** Buckets of four slots. A key whose buckets are full kicks out a random entry, which goes to its
** other bucket, where it may kick out another, and so on, up to a number of kicks. What then
** happens to the entry that is left over:
**   plain                 it is lost, and the insertion has failed
**   with overflow bits    the bits of both its buckets are set, and nothing else remembers it (Reviriego, Martinez,
**                         Pontarelli: "CFBF: Reducing the Insertion Time of Cuckoo Filters With an Integrated Bloom
**                         Filter", IEEE Communications Letters 23 (10), 2019). A lookup that finds the bits of both
**                         its buckets set answers "perhaps". Bits are never cleared.
*/
#ifndef CF_BENCH_WALK_H
#define CF_BENCH_WALK_H

#include <stdbool.h>
#include <stdint.h>

enum { WALK_SLOTS = 4 };

typedef struct walk_table {
    uint64_t buckets;
    unsigned fingerprint_bits; /* up to 16 */
    unsigned most_kicks;
    bool overflow_bits;
    uint64_t spilled; /* entries left over */
    uint64_t draws;   /* random numbers drawn */
    uint16_t *tag;    /* 0: empty */
    bool *overflow;   /* by bucket */
} walk_table;

/* What one insertion did. */
typedef struct bench_steps {
    unsigned written;  /* buckets that it wrote to; one that was written twice counts twice */
    unsigned examined; /* buckets that it looked at for an empty slot, those of the key included */
    bool refused;      /* it failed */
} bench_steps;

walk_table *walk_make(uint64_t buckets, unsigned fingerprint_bits, bool overflow_bits, uint64_t seed);

void walk_drop(walk_table *table);

/* The memory it stands for. */
uint64_t walk_bits(const walk_table *table);

bench_steps walk_add(walk_table *table, uint64_t hash);

bool walk_contains(const walk_table *table, uint64_t hash);

/* False: not found in any slot. */
bool walk_remove(walk_table *table, uint64_t hash);

#endif
