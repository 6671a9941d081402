#include "load.h"

#include "load_table.h"

static unsigned size_index(unsigned b)
{
    return b == 1 ? 0 : b == 2 ? 1 : b == 4 ? 2 : 3;
}

/* The row that was measured for this shape, or the next worse one: fewer pair bits fill worse. */
static unsigned row_index(const cf_geometry *shape)
{
    unsigned s = shape->pair_bits;
    if (s < shape->fingerprint_bits)
        return s < 6 ? CF_LOAD_GROWING : CF_LOAD_GROWING + 1;
    return s < 6 ? 0 : s < 8 ? 1 : s < 12 ? 2 : 3;
}

static unsigned floor_log2(uint64_t n)
{
    return 63 - (unsigned)__builtin_clzll(n);
}

/* The sizes measured: 2, 4, .. 14, then quarters of an octave up to 1024, then powers of two. */
enum {
    EVENS = 7,
    OCTAVE_16 = 4,
    OCTAVE_DENSE = 10,
    INDEX_DENSE = EVENS + 4 * (OCTAVE_DENSE - OCTAVE_16)
};

static uint64_t size_at(unsigned index)
{
    if (index < EVENS)
        return 2 * ((uint64_t)index + 1);
    if (index >= INDEX_DENSE)
        return (uint64_t)1 << (OCTAVE_DENSE + index - INDEX_DENSE);
    unsigned quarter = index - EVENS;
    return (uint64_t)(4 + quarter % 4) << (OCTAVE_16 - 2 + quarter / 4);
}

/* The last size measured that is not above n, even and at least 2. */
static unsigned index_of(uint64_t n)
{
    unsigned top = floor_log2(n);
    if (n < 16)
        return (unsigned)(n / 2 - 1);
    if (top < OCTAVE_DENSE)
        return EVENS + 4 * (top - OCTAVE_16) + (unsigned)(n >> (top - 2) & 3);
    unsigned index = INDEX_DENSE + top - OCTAVE_DENSE;
    return index < CF_LOAD_SIZES ? index : CF_LOAD_SIZES - 1;
}

static uint64_t share(uint64_t slots, unsigned load)
{
    return slots / CF_LOAD_UNIT * load + slots % CF_LOAD_UNIT * load / CF_LOAD_UNIT;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t cf_load_keys(const cf_geometry *shape)
{
    unsigned b = shape->bucket_size;
    if (shape->buckets <= 1)
        return b * shape->buckets;
    uint64_t even = shape->buckets & ~(uint64_t)1;
    const uint16_t *load = cf_load_table[size_index(b)][row_index(shape)];
    unsigned i = index_of(even);
    uint64_t keys = share(even * b, load[i]);
    /* Where the load falls from one size to the next, a table takes what the smaller ones take. */
    if (i > 0)
        keys = larger(keys, share(size_at(i) * b, load[i - 1]));
    /* Two different buckets are always room enough for as many keys as they have slots. */
    return larger(keys, 2 * (uint64_t)b);
}
