/* SPDX-License-Identifier: MIT */
/*
** blocked_bloom.c - a blocked Bloom filter: a small Bloom filter in every cache line; one line per
** key.
**
** Lines get different numbers of keys, so it errs more often than a standard one of the same size,
** and does best with fewer bits per key.
*/
#include <math.h>

#include "../../src/base/bits.h"
#include "kinds.h"
#include "touch.h"

enum {
    LINE = 64 /* bytes */,
    LINE_BITS = 8 * LINE,
    LINE_WORDS = LINE / 8,
    INDEX_BITS = 9,
    INDICES_IN_WORD = 7,
    PLACES_MAX = 14
};

typedef struct blocked_bloom {
    _Alignas(LINE) uint64_t lines;
    unsigned places;
    _Alignas(LINE) uint64_t table[];
} blocked_bloom;

/* The bits of a line that are set by j keys, as a share of all. */
static double share_set(double j, unsigned places)
{
    return -expm1(j * places * log1p(-1.0 / LINE_BITS));
}

/* The error rate: the mean over lines, which hold Poisson numbers of keys. */
static double error_rate(double keys_in_line, unsigned places)
{
    double sum = 0, chance = exp(-keys_in_line);
    for (int j = 0; j < 6 * keys_in_line + 30; j++) {
        sum += chance * pow(share_set(j, places), places);
        chance *= keys_in_line / (j + 1);
    }
    return sum;
}

static unsigned best_places(double keys_in_line)
{
    unsigned best = 1;
    for (unsigned places = 2; places <= PLACES_MAX; places++)
        if (error_rate(keys_in_line, places) < error_rate(keys_in_line, best))
            best = places;
    return best;
}

static void make(bench_filter *made, uint64_t bytes, unsigned bits)
{
    blocked_bloom *filter = bench_allocate_zeroed(sizeof *filter + bytes);
    filter->lines = bytes / LINE;
    filter->places = best_places((double)LINE_BITS / bits);
    made->state = filter;
    made->slots = filter->lines * LINE_BITS / bits;
    made->bytes = filter->lines * LINE;
}

/* The places of a key within its line, one after the other, from two products that depend on all
** bits of the hash; the line is chosen by its high bits. */
typedef struct walk {
    uint64_t word, next_word;
    unsigned used;
} walk;

static walk walk_of(uint64_t hash)
{
    return (walk){hash * UINT64_C(0x9fb21c651e98df25), hash * UINT64_C(0xd6e8feb86659fd93), 0};
}

static unsigned next_place(walk *at)
{
    unsigned place = (unsigned)(at->word >> (64 - INDEX_BITS));
    at->word <<= INDEX_BITS;
    if (++at->used == INDICES_IN_WORD)
        at->word = at->next_word;
    return place;
}

static bool add(void *state, uint64_t hash)
{
    blocked_bloom *filter = state;
    uint64_t *line = filter->table + LINE_WORDS * cf_scale(hash, filter->lines);
    walk at = walk_of(hash);
    for (unsigned i = 0; i < filter->places; i++) {
        unsigned place = next_place(&at);
        line[place / 64] |= (uint64_t)1 << place % 64;
    }
    return true;
}

/* All places are looked at: they cost less than a branch that cannot be predicted. */
static bool contains(const void *state, uint64_t hash)
{
    const blocked_bloom *filter = state;
    const uint64_t *line = filter->table + LINE_WORDS * cf_scale(hash, filter->lines);
    walk at = walk_of(hash);
    uint64_t all = 1;
    for (unsigned i = 0; i < filter->places; i++) {
        unsigned place = next_place(&at);
        bench_touch(line + place / 64, 1);
        all &= line[place / 64] >> place % 64;
    }
    return all;
}

static double expected(const void *state, uint64_t keys)
{
    const blocked_bloom *filter = state;
    return error_rate((double)keys / (double)filter->lines, filter->places);
}

const bench_kind bench_blocked_bloom = {
    .name = "blocked Bloom",
    .bits = 13,
    .full = 1,
    .make = make,
    .add = add,
    .contains = contains,
    .expected = expected,
};
