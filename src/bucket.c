#include "bucket.h"

#include "format.h"

/* Bit 0 of each of the most lanes of this width that a word holds: 8, 4, 2 or 1. A table, because
** opening a filter for every row of a query must not divide. */
static const uint64_t ones_of_width[CF_FINGERPRINT_MAX + 1] = {
    [4] = UINT64_C(0x11111111),
    [5] = UINT64_C(0x842108421),
    [6] = UINT64_C(0x41041041041),
    [7] = UINT64_C(0x2040810204081),
    [8] = UINT64_C(0x0101010101010101),
    [9] = UINT64_C(0x8040201),
    [10] = UINT64_C(0x40100401),
    [11] = UINT64_C(0x200400801),
    [12] = UINT64_C(0x1001001001),
    [13] = UINT64_C(0x8004002001),
    [14] = UINT64_C(0x40010004001),
    [15] = UINT64_C(0x200040008001),
    [16] = UINT64_C(0x0001000100010001),
    [17] = UINT64_C(0x20001),
    [18] = UINT64_C(0x40001),
    [19] = UINT64_C(0x80001),
    [20] = UINT64_C(0x100001),
    [21] = UINT64_C(0x200001),
    [22] = UINT64_C(0x400001),
    [23] = UINT64_C(0x800001),
    [24] = UINT64_C(0x1000001),
    [25] = UINT64_C(0x2000001),
    [26] = UINT64_C(0x4000001),
    [27] = UINT64_C(0x8000001),
    [28] = UINT64_C(0x10000001),
    [29] = UINT64_C(0x20000001),
    [30] = UINT64_C(0x40000001),
    [31] = UINT64_C(1),
    [32] = UINT64_C(0x100000001),
};

/* So many that a word lies within the 8 bytes it starts in: words of 58 bits start at bit 0, 2, 4 or 6 of a
** byte, those of 60 at bit 0 or 4, those of 64 at bit 0. Two lanes of 31 bits could end beyond. */
static unsigned lanes_in_word(unsigned width)
{
    return width <= 8 ? 8 : width <= 16 ? 4 : width != 31 ? 2 : 1;
}

void cf_lanes_set(cf_lanes *lanes, unsigned width, unsigned b)
{
    unsigned most = lanes_in_word(width);
    lanes->width = width;
    lanes->count = b < most ? b : most;
    lanes->words = b < most ? 1 : b / most;
    lanes->ones = ones_of_width[width] & cf_low_bits(width * lanes->count);
    lanes->highs = lanes->ones << (width - 1);
}
