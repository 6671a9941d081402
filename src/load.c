#include "load.h"

#include "bits.h"
#include "load_table.h"

static unsigned size_index(unsigned b)
{
    return b == 1 ? 0 : b == 2 ? 1 : b == 4 ? 2 : 3;
}

/* The row that was measured for this shape, or for the next fewer pair bits. */
static unsigned row_index(const cf_geometry *shape)
{
    unsigned s = shape->pair_bits;
    if (s < shape->fingerprint_bits)
        return s < 6 ? CF_LOAD_GROWING : CF_LOAD_GROWING + 1;
    return s < 8 ? s - CF_PAIR_BITS_MIN : s < 12 ? 4 : 5;
}

/* The sizes measured: 2, 4, .. 126, then quarters of an octave up to 1024, then powers of two. */
enum {
    EVENS = 63,
    OCTAVE_QUARTERS = 7,
    OCTAVE_WHOLE = 10,
    INDEX_WHOLE = EVENS + 4 * (OCTAVE_WHOLE - OCTAVE_QUARTERS)
};

/* For an index of EVENS or more. */
static uint64_t size_at(unsigned index)
{
    if (index >= INDEX_WHOLE)
        return (uint64_t)1 << (OCTAVE_WHOLE + index - INDEX_WHOLE);
    unsigned quarter = index - EVENS;
    return (uint64_t)(4 + quarter % 4) << (OCTAVE_QUARTERS - 2 + quarter / 4);
}

/* The last size measured that is not above n, even and at least 2. */
static unsigned index_of(uint64_t n)
{
    unsigned top = cf_floor_log2(n);
    if (n <= 2 * EVENS)
        return (unsigned)(n / 2 - 1);
    if (top < OCTAVE_WHOLE)
        return EVENS + 4 * (top - OCTAVE_QUARTERS) + (unsigned)(n >> (top - 2) & 3);
    unsigned index = INDEX_WHOLE + top - OCTAVE_WHOLE;
    return index < CF_LOAD_SIZES ? index : CF_LOAD_SIZES - 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t share(uint64_t slots, unsigned load)
{
    return slots / CF_LOAD_UNIT * load + slots % CF_LOAD_UNIT * load / CF_LOAD_UNIT;
}

/* whole * part / 2^bits, for bits from 1 to 63. */
static uint64_t fraction(uint64_t whole, uint64_t part, unsigned bits)
{
    uint64_t high, low = cf_multiply(whole, part, &high);
    return high << (64 - bits) | low >> bits;
}

/* Up to 126 buckets each size has its own load; then that of the last size measured holds up to the next one,
** and where it is lower than the load before, a table takes what one of just that size took. */
static uint64_t keys_in_small(uint64_t b, const uint16_t *load, uint64_t buckets)
{
    unsigned i = index_of(buckets);
    uint64_t before = i > EVENS ? share(size_at(i) * b, load[i - 1]) : 0;
    return larger(before, share(buckets * b, load[i]));
}

/* For large ones the keys are interpolated between that size and the next. */
static uint64_t keys_in_large(uint64_t b, const uint16_t *load, uint64_t buckets)
{
    unsigned i = index_of(buckets), bits = OCTAVE_WHOLE + i - INDEX_WHOLE;
    uint64_t here = share(size_at(i) * b, load[i]);
    if (i + 1 == CF_LOAD_SIZES)
        return here;
    uint64_t next = share(2 * size_at(i) * b, load[i + 1]);
    return here + fraction(next - here, buckets - size_at(i), bits);
}

uint64_t cf_load_keys(const cf_geometry *shape)
{
    uint64_t b = shape->bucket_size, even = shape->buckets & ~(uint64_t)1;
    const uint16_t *load = cf_load_table[size_index(shape->bucket_size)][row_index(shape)];
    if (shape->buckets <= 1)
        return b * shape->buckets;
    uint64_t keys = even >> OCTAVE_WHOLE ? keys_in_large(b, load, even) : keys_in_small(b, load, even);
    /* Two different buckets are always room enough for as many keys as they have slots. */
    return larger(keys, 2 * b);
}
