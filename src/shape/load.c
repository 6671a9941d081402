/* SPDX-License-Identifier: MIT */
#include "load.h"

#include "../base/bits.h"
#include "load_table.h"

/* ---- what was measured ---- */

/* Rows of a bucket size: b = 1 has one; else six by fingerprint bits, then those of shapes that
** grow, by pair bits. */
enum { GROWING = 6 };

static unsigned first_row(unsigned b)
{
    return b == 1 ? 0 : b == 2 ? 1 : b == 4 ? 8 : 18;
}

/* Is all of the fingerprint pair bits? Else the shape may grow. */
static bool whole(const cf_geometry *shape)
{
    return shape->pair_bits >= shape->fingerprint_bits;
}

/* The row that was measured for this shape, or for the next fewer pair bits. */
static unsigned row_index(const cf_geometry *shape)
{
    unsigned b = shape->bucket_size, s = shape->pair_bits, last = b == 4 ? 7 : 6;
    if (b == 1)
        return 0;
    if (whole(shape))
        return first_row(b) + (s < 8 ? s - CF_PAIR_BITS_MIN : s < 12 ? 4 : 5);
    return first_row(b) + GROWING + (b == 2 ? 0 : (s < last ? s : last) - CF_PAIR_BITS_MIN);
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

/* The last size measured that is not above n, which is 2 or more (compilers do not see that). */
static unsigned index_of(uint64_t n)
{
    unsigned top = cf_floor_log2(n);
    if (n <= 2 * EVENS)
        return (unsigned)(n / 2 - (n > 1));
    if (top < OCTAVE_WHOLE)
        return EVENS + 4 * (top - OCTAVE_QUARTERS) + (unsigned)(n >> (top - 2) & 3);
    unsigned index = INDEX_WHOLE + top - OCTAVE_WHOLE;
    return index < CF_LOAD_SIZES ? index : CF_LOAD_SIZES - 1;
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

/* Up to 126 buckets each size has its own load. Up to 1024, that of the last size measured holds up to
** the next one, and where it is lower than the load before, a table takes what one of just that size
** took. For larger ones the keys are interpolated between that size and the next. */
static uint64_t keys_measured(const cf_geometry *shape)
{
    uint64_t b = shape->bucket_size, n = shape->buckets;
    const uint16_t *load = cf_load_table[row_index(shape)];
    unsigned i = index_of(n);
    if (n >> OCTAVE_WHOLE == 0) {
        uint64_t before = i > EVENS ? share(size_at(i) * b, load[i - 1]) : 0;
        uint64_t keys = share(n * b, load[i]);
        return keys > before ? keys : before;
    }
    uint64_t here = share(size_at(i) * b, load[i]);
    if (i + 1 == CF_LOAD_SIZES)
        return here;
    uint64_t next = share(2 * size_at(i) * b, load[i + 1]);
    return here + fraction(next - here, n - size_at(i), OCTAVE_WHOLE + i - INDEX_WHOLE);
}

/* ---- crowded pairs ---- */

uint64_t cf_log2_units(uint64_t x)
{
    unsigned top = cf_floor_log2(x);
    uint64_t units = top, mantissa = x << (63 - top); /* 1 <= mantissa / 2^63 < 2 */
    for (unsigned i = 0; i < CF_LOG_BITS; i++) {
        uint64_t high;
        cf_multiply(mantissa, mantissa, &high); /* in units of 2^62 */
        units = 2 * units + (high >> 63);
        mantissa = high >> 63 ? high : high << 1;
    }
    return units;
}

/* log2(1 * 2 * .. * n), rounded down. */
static uint64_t log2_factorial(unsigned n)
{
    enum { FITS = 20 };
    uint64_t product = 1, beyond = 0;
    for (unsigned i = 2; i <= n && i <= FITS; i++)
        product *= i;
    for (unsigned i = FITS + 1; i <= n; i++)
        beyond += cf_log2_units(i);
    return cf_log2_units(product) + beyond;
}

/* 2^-21.5, or 3.4e-7: in some tables two pair bits name the same alternate, which makes it two or
** three times that. */
enum { RARE = 5504 };

/* Keys that agree in pair bits and pair of buckets need more than its 2b slots more often than is
** allowed. Of n keys n^k / k! sets of k = 2b + 1 can be made; each meets with the probability
** pairs^(1 - k). */
static bool crowds(const cf_geometry *shape, uint64_t keys)
{
    unsigned most = 2 * shape->bucket_size;
    uint64_t pairs = cf_log2_units(shape->buckets) + ((shape->pair_bits - UINT64_C(1)) << CF_LOG_BITS);
    uint64_t ways = (most + 1) * (cf_log2_units(keys) + 1) + RARE;
    return ways > most * pairs + log2_factorial(most + 1);
}

/* Do classes of equal entries, n together, need more slots than the few buckets that they have?
** `groups` of n classes share buckets so; they are `mean` keys. Both are logarithms. */
static bool classes_crowd(const cf_geometry *shape, unsigned n, unsigned buckets, uint64_t groups)
{
    unsigned k = buckets * shape->bucket_size + 1, f = shape->fingerprint_bits;
    uint64_t keys = cf_log2_units(2 * n * shape->capacity) + 1;
    uint64_t classes = cf_log2_units(shape->buckets) + ((uint64_t)f << CF_LOG_BITS);
    return groups + k * keys + RARE > k * classes + log2_factorial(k);
}

/* There are buckets * 2^f / 2 classes, and 2 * 2^f others share one bucket with each. In small
** tables 2^(2f - 1) / buckets pairs of pair bits name the same alternate: each makes buckets / 2
** pairs of classes that share both. */
unsigned cf_load_copies(const cf_geometry *shape)
{
    unsigned b = shape->bucket_size;
    uint64_t buckets = cf_log2_units(shape->buckets),
             f = (uint64_t)shape->fingerprint_bits << CF_LOG_BITS;
    uint64_t same_pair = 2 * f - (2 << CF_LOG_BITS), in_three = buckets + 2 * f,
             in_four = in_three + f + (1 << CF_LOG_BITS);
    if (b == 1 || classes_crowd(shape, 2, 2, same_pair) || classes_crowd(shape, 3, 4, in_four))
        return b;
    return classes_crowd(shape, 2, 3, in_three) ? b + b / 2 : 2 * b;
}

bool cf_load_takes(const cf_geometry *shape, uint64_t keys)
{
    if (keys <= 2u * shape->bucket_size) /* two buckets are room enough for as many keys as slots */
        return true;
    return keys <= keys_measured(shape) && (whole(shape) || !crowds(shape, keys));
}

uint64_t cf_load_keys(const cf_geometry *shape)
{
    uint64_t low = 2u * shape->bucket_size, high = shape->buckets * shape->bucket_size + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (cf_load_takes(shape, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}
