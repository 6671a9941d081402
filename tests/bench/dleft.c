/* SPDX-License-Identifier: MIT */
/*
** dleft.c - a d-left counting Bloom filter (Bonomi, Mitzenmacher, Panigrahy, Singh, Varghese,
** 2006): d = 4 tables of buckets of 8 cells; a cell is a remainder and a counter of 2 bits.
**
** A key has one bucket in every table and goes to the emptiest of them, the leftmost of equals. Its
** fingerprint is permuted for each table into (bucket, remainder): so two keys that look alike in
** one table look alike in all of them, and a key that looks like a stored one is counted there.
** Therefore a delete finds one cell, the right one. Filled to 6 cells of 8 on the average, it
** practically never overflows. A counter that has reached 3 stays there.
*/
#include <math.h>

#include "kinds.h"
#include "packed.h"

enum { TABLES = 4, CELLS = 8, COUNTER_BITS = 2, STUCK = 3, REMAINDER_MAX = 30 };

typedef struct dleft {
    unsigned bucket_bits, remainder_bits;
    uint8_t table[];
} dleft;

/* The bucket of a key in one table, by its first cell, and its remainder there. */
typedef struct place {
    uint64_t first, remainder;
} place;

static bool fits(unsigned bits)
{
    return bits >= 1 && bits <= REMAINDER_MAX;
}

static void *make(uint64_t bytes, unsigned bits)
{
    uint64_t buckets = 8 * bytes / (bits + COUNTER_BITS) / CELLS / TABLES;
    dleft *filter = bench_allocate_zeroed(sizeof *filter + bytes + PACKED_SPARE);
    filter->bucket_bits = cf_floor_log2(buckets);
    filter->remainder_bits = bits;
    return filter;
}

/* The places of a key in all tables, which are fetched. Multiplying by an odd number permutes the
** fingerprints; the numbers are arbitrary. */
static void find_places(const dleft *filter, uint64_t hash, place *places)
{
    static const uint64_t odd[TABLES] = {1, UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f),
                                         UINT64_C(0xff51afd7ed558ccd)};
    unsigned width = filter->bucket_bits + filter->remainder_bits;
    for (unsigned table = 0; table < TABLES; table++) {
        uint64_t permuted = (hash >> (64 - width)) * odd[table] & cf_low_bits(width);
        uint64_t bucket = (uint64_t)table << filter->bucket_bits | permuted >> filter->remainder_bits;
        places[table] = (place){bucket * CELLS, permuted & cf_low_bits(filter->remainder_bits)};
        __builtin_prefetch(filter->table +
                           places[table].first * (filter->remainder_bits + COUNTER_BITS) / 8);
    }
}

static uint64_t get(const dleft *filter, uint64_t cell)
{
    return packed_get(filter->table, filter->remainder_bits + COUNTER_BITS, cell);
}

static void set(dleft *filter, uint64_t cell, uint64_t content)
{
    packed_set(filter->table, filter->remainder_bits + COUNTER_BITS, cell, content);
}

/* What a look at one bucket finds. An empty cell is 0 altogether. */
typedef struct look {
    bool found;
    uint64_t match; /* the cell that holds the remainder */
    unsigned empty; /* cells */
    uint64_t last_empty;
} look;

static inline look look_at(const dleft *filter, place there)
{
    look seen = {.found = false};
    for (uint64_t cell = there.first; cell < there.first + CELLS; cell++) {
        uint64_t content = get(filter, cell);
        if (content == 0) {
            seen.empty++;
            seen.last_empty = cell;
        } else if (content >> COUNTER_BITS == there.remainder) {
            seen.found = true;
            seen.match = cell;
        }
    }
    return seen;
}

/* Adds 1 or -1 to the counter of a cell that is in use. */
static void count(dleft *filter, uint64_t cell, int step)
{
    uint64_t content = get(filter, cell), copies = content & STUCK;
    if (copies == STUCK)
        return;
    copies += (uint64_t)step;
    set(filter, cell, copies ? (content & ~(uint64_t)STUCK) | copies : 0);
}

static bool add(void *state, uint64_t hash)
{
    dleft *filter = state;
    place places[TABLES];
    look best = {.empty = 0};
    uint64_t remainder = 0;
    find_places(filter, hash, places);
    for (unsigned table = 0; table < TABLES; table++) {
        look seen = look_at(filter, places[table]);
        if (seen.found) {
            count(filter, seen.match, 1);
            return true;
        }
        if (seen.empty > best.empty) {
            best = seen;
            remainder = places[table].remainder;
        }
    }
    if (best.empty > 0)
        set(filter, best.last_empty, remainder << COUNTER_BITS | 1);
    return best.empty > 0;
}

/* The cell that holds a key. */
static bool find(const dleft *filter, uint64_t hash, uint64_t *cell)
{
    place places[TABLES];
    find_places(filter, hash, places);
    for (unsigned table = 0; table < TABLES; table++) {
        look seen = look_at(filter, places[table]);
        *cell = seen.match;
        if (seen.found)
            return true;
    }
    return false;
}

static bool contains(const void *state, uint64_t hash)
{
    uint64_t cell;
    return find(state, hash, &cell);
}

static bool take_away(void *state, uint64_t hash)
{
    uint64_t cell;
    bool found = find(state, hash, &cell);
    if (found)
        count(state, cell, -1);
    return found;
}

static uint64_t slots(const void *state)
{
    return (uint64_t)TABLES * CELLS << ((const dleft *)state)->bucket_bits;
}

static uint64_t bytes(const void *state)
{
    const dleft *filter = state;
    return slots(state) * (filter->remainder_bits + COUNTER_BITS) / 8;
}

/* A key errs when its whole fingerprint is there. */
static double expected(const void *state, uint64_t keys)
{
    const dleft *filter = state;
    return -expm1(-ldexp((double)keys, -(int)(filter->bucket_bits + filter->remainder_bits)));
}

const bench_kind bench_dleft = {
    .name = "d-left counting",
    .bits = 10,
    .full = 0.75,
    .fits = fits,
    .make = make,
    .add = add,
    .contains = contains,
    .remove = take_away,
    .slots = slots,
    .bytes = bytes,
    .expected = expected,
};
