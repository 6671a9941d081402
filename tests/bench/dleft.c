/* SPDX-License-Identifier: MIT */
/*
** dleft.c - a d-left counting Bloom filter (Bonomi, Mitzenmacher, Panigrahy, Singh, Varghese,
** 2006), as the cuckoo filter paper has it (section 7): d = 4 tables of buckets of 4 cells of 12
** bits.
**
** A key has one bucket in every table and goes to the emptiest of them, the leftmost of equals. Its
** fingerprint is permuted for each table into (bucket, remainder): so two keys that look alike in
** one table look alike in all of them, and a key that looks like a stored one is counted there.
** Therefore a delete finds a cell that it may take, whichever matches.
**
** A cell is a remainder and a counter. The paper does not say how its 12 bits are divided. Here they
** are 11 and 1: a cell stands for one key or for two that look alike, and a third takes another
** cell. So deletes are exact. (10 and 2 would err twice as often for the same bits.)
**
** Remainders are never 0, so that a cell of zeros is empty. A bucket is read in one word (two when
** cells have more than 15 bits) and its cells are compared at once.
*/
#include <math.h>

#include "kinds.h"
#include "packed.h"

enum {
    TABLES = 4,
    CELLS = 4,
    COUNTER_BITS = 1,
    WIDTH_ONE_WORD = 15 /* buckets begin at multiples of 4 bits: 4 * 15 + 4 = 64 */
};

typedef struct dleft {
    unsigned bucket_bits, remainder_bits;
    unsigned width;      /* of a cell */
    unsigned in_word;    /* cells of a word: 4 or 2 */
    uint64_t ones, tops; /* the lowest and the highest bit of each of them */
    uint8_t table[];
} dleft;

/* The bucket of a key in one table, by its first cell, and what its cell would hold there. */
typedef struct place {
    uint64_t first, content;
} place;

/* bits: 2 .. 28 */
static void make(bench_filter *made, uint64_t bytes, unsigned bits)
{
    uint64_t buckets = 8 * bytes / (bits + COUNTER_BITS) / CELLS / TABLES;
    dleft *filter = bench_allocate_zeroed(sizeof *filter + bytes + PACKED_SPARE);
    filter->bucket_bits = cf_floor_log2(buckets);
    filter->remainder_bits = bits;
    filter->width = bits + COUNTER_BITS;
    filter->in_word = filter->width <= WIDTH_ONE_WORD ? CELLS : CELLS / 2;
    for (unsigned i = 0; i < filter->in_word; i++)
        filter->ones |= (uint64_t)1 << i * filter->width;
    filter->tops = filter->ones << (filter->width - 1);
    made->state = filter;
    made->slots = (uint64_t)TABLES * CELLS << filter->bucket_bits;
    made->bytes = made->slots * filter->width / 8;
}

/* The places of a key in all tables, which are fetched. Multiplying by an odd number permutes the
** fingerprints, and those among them whose remainder is not 0; the numbers are arbitrary. */
static inline void find_places(const dleft *filter, uint64_t hash, place *places)
{
    static const uint64_t odd[TABLES] = {1, UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f),
                                         UINT64_C(0xff51afd7ed558ccd)};
    unsigned width = filter->bucket_bits + filter->remainder_bits;
    uint64_t low = cf_low_bits(filter->remainder_bits), fingerprint = hash >> (64 - width);
    fingerprint |= (fingerprint & low) == 0;
    for (unsigned table = 0; table < TABLES; table++) {
        uint64_t permuted = fingerprint * odd[table] & cf_low_bits(width);
        uint64_t bucket = (uint64_t)table << filter->bucket_bits | permuted >> filter->remainder_bits;
        places[table] = (place){bucket * CELLS, (permuted & low) << COUNTER_BITS};
        __builtin_prefetch(filter->table + places[table].first * filter->width / 8);
    }
}

static uint64_t get(const dleft *filter, uint64_t cell)
{
    return packed_get(filter->table, filter->width, cell);
}

static void set(dleft *filter, uint64_t cell, uint64_t content)
{
    packed_set(filter->table, filter->width, cell, content);
}

/* ---- a word of cells ---- */

/* So many cells from `cell` on; what lies behind them is left in the word. */
static inline uint64_t word_at(const dleft *filter, uint64_t cell)
{
    uint64_t at = cell * filter->width;
    bench_touch(filter->table + at / 8, sizeof at);
    return cf_load64(filter->table + at / 8) >> at % 8;
}

/* The highest bits of those cells of a word that are 0 throughout. */
static inline uint64_t zeros(const dleft *filter, uint64_t word)
{
    uint64_t rest = filter->tops - filter->ones; /* all other bits of the cells */
    return ~(((word & rest) + rest) | word) & filter->tops;
}

/* The same for cells with a remainder, whatever they count. */
static inline uint64_t matches(const dleft *filter, uint64_t word, uint64_t content)
{
    return zeros(filter, (word ^ content * filter->ones) & ~filter->ones);
}

static unsigned cell_of(const dleft *filter, uint64_t top)
{
    return (unsigned)__builtin_ctzll(top) / filter->width;
}

/* Empty cells of a bucket: the product adds up the cells of a word in its last one. */
static inline unsigned empty_cells(const dleft *filter, uint64_t first)
{
    unsigned empty = 0, last = (filter->in_word - 1) * filter->width;
    for (unsigned i = 0; i < CELLS; i += filter->in_word) {
        uint64_t tops = zeros(filter, word_at(filter, first + i));
        empty += (unsigned)((tops >> (filter->width - 1)) * filter->ones >> last & 7);
    }
    return empty;
}

/* One of the empty cells of a bucket that has some. */
static uint64_t empty_cell(const dleft *filter, uint64_t first)
{
    uint64_t empty = zeros(filter, word_at(filter, first));
    while (empty == 0)
        empty = zeros(filter, word_at(filter, first += filter->in_word));
    return first + cell_of(filter, empty);
}

static inline bool is_in(const dleft *filter, const place *places)
{
    uint64_t found = 0;
    for (unsigned table = 0; table < TABLES; table++)
        for (unsigned i = 0; i < CELLS; i += filter->in_word)
            found |= matches(filter, word_at(filter, places[table].first + i), places[table].content);
    return found != 0;
}

/* A cell of the key; one that counts a single key rather than two. False: there is none. */
static bool find(const dleft *filter, const place *places, uint64_t *cell)
{
    bool found = false;
    for (unsigned i = 0; i < TABLES * CELLS; i += filter->in_word) {
        const place *at = &places[i / CELLS];
        uint64_t first = at->first + i % CELLS;
        uint64_t match = matches(filter, word_at(filter, first), at->content);
        for (; match; match &= match - 1) {
            uint64_t here = first + cell_of(filter, match);
            if (!found || get(filter, here) == at->content)
                *cell = here;
            found = true;
        }
    }
    return found;
}

/* ---- the kind ---- */

static bool contains(const void *state, uint64_t hash)
{
    place places[TABLES];
    find_places(state, hash, places);
    return is_in(state, places);
}

/* The table whose bucket has the most empty cells, the leftmost of equals; -1: all are full. No
** branch: which it is cannot be predicted. */
static inline int emptiest(const dleft *filter, const place *places)
{
    unsigned best = 0;
    for (unsigned table = 0; table < TABLES; table++) {
        unsigned rank = empty_cells(filter, places[table].first) * TABLES + (TABLES - 1 - table);
        best = rank > best ? rank : best;
    }
    return best < TABLES ? -1 : (int)(TABLES - 1 - best % TABLES);
}

static bool add(void *state, uint64_t hash)
{
    dleft *filter = state;
    place places[TABLES];
    uint64_t cell;
    find_places(filter, hash, places);
    if (is_in(filter, places) && find(filter, places, &cell) && !(get(filter, cell) & 1)) {
        set(filter, cell, get(filter, cell) | 1);
        return true;
    }
    int best = emptiest(filter, places);
    if (best >= 0)
        set(filter, empty_cell(filter, places[best].first), places[best].content);
    return best >= 0;
}

static bool take_away(void *state, uint64_t hash)
{
    dleft *filter = state;
    place places[TABLES];
    uint64_t cell;
    find_places(filter, hash, places);
    if (!find(filter, places, &cell))
        return false;
    uint64_t content = get(filter, cell);
    set(filter, cell, content & 1 ? content - 1 : 0);
    return true;
}

/* A key errs when its whole fingerprint is there. */
static double expected(const void *state, uint64_t keys)
{
    const dleft *filter = state;
    return -expm1(-ldexp((double)keys, -(int)(filter->bucket_bits + filter->remainder_bits)));
}

const bench_kind bench_dleft = {
    .name = "d-left counting",
    .bits = 11,
    .full = 0.78,
    .make = make,
    .add = add,
    .contains = contains,
    .remove = take_away,
    .expected = expected,
};
