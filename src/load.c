#include "load.h"

#include "load_table.h"

static unsigned size_row(unsigned b)
{
    return b == 1 ? 0 : b == 2 ? 1 : b == 4 ? 2 : 3;
}

/* Fewer pair bits than measured would fill worse, so the row at or below s counts. */
static unsigned pair_row(unsigned s)
{
    return s < 6 ? 0 : s < 8 ? 1 : 2;
}

static uint64_t floor_log2(uint64_t n)
{
    return 63 - (uint64_t)__builtin_clzll(n);
}

/* The last size measured that is not above n: 2, 4, .. 14, then quarters of an octave up to
** CF_LOAD_DENSE buckets, then powers of two. `n` is even and at least 2. */
static unsigned grid_index(uint64_t n)
{
    const uint64_t last = sizeof cf_load_table[0][0] / sizeof cf_load_table[0][0][0] - 1;
    const uint64_t first = 7; /* index of 16 */
    uint64_t top = floor_log2(n), dense = floor_log2(CF_LOAD_DENSE), index;
    if (n < 16)
        index = n / 2 - 1;
    else if (top < dense)
        index = first + (top - 4) * 4 + (n - ((uint64_t)1 << top)) / ((uint64_t)1 << (top - 2));
    else
        index = first + (dense - 4) * 4 + (top - dense);
    return (unsigned)(index < last ? index : last);
}

uint64_t cf_load_keys(unsigned b, unsigned s, uint64_t buckets)
{
    if (buckets <= 1)
        return b * buckets;
    uint64_t even = buckets & ~(uint64_t)1;
    unsigned load = cf_load_table[size_row(b)][pair_row(s)][grid_index(even)];
    uint64_t keys = even * b / CF_LOAD_UNIT * load + even * b % CF_LOAD_UNIT * load / CF_LOAD_UNIT;
    /* Two different buckets are always room enough for as many keys as they have slots. */
    return keys < 2 * (uint64_t)b ? 2 * (uint64_t)b : keys;
}
