/* SPDX-License-Identifier: MIT */
#include "semisort.h"

#ifdef CF_FILLS_NIBBLES
uint16_t cf_semisort_nibbles[4096];

/* Codes increase with the nibbles, the last one first. Codes of corrupt bytes have no nibbles. */
void cf_fill_nibbles(void)
{
    uint16_t *next = cf_semisort_nibbles;
    for (unsigned d = 0; d < 16; d++)
        for (unsigned c = 0; c <= d; c++)
            for (unsigned b = 0; b <= c; b++)
                for (unsigned a = 0; a <= b; a++)
                    *next++ = (uint16_t)(d << 12 | c << 8 | b << 4 | a);
}
#elif !defined(CUCKOO_SMALL)
/* The sorted nibbles of each code. CF_ONE_n: a smallest nibble of 0 .. n beside the nibbles of x.
** CF_TWO_n: a nibble of 0 .. n, each with the smallest ones that are not larger. CF_THREE_n: one
** more. */
/* clang-format off */
#define CF_ONE_0(x) (x) + 0,
#define CF_ONE_1(x) CF_ONE_0(x) (x) + 1,
#define CF_ONE_2(x) CF_ONE_1(x) (x) + 2,
#define CF_ONE_3(x) CF_ONE_2(x) (x) + 3,
#define CF_ONE_4(x) CF_ONE_3(x) (x) + 4,
#define CF_ONE_5(x) CF_ONE_4(x) (x) + 5,
#define CF_ONE_6(x) CF_ONE_5(x) (x) + 6,
#define CF_ONE_7(x) CF_ONE_6(x) (x) + 7,
#define CF_ONE_8(x) CF_ONE_7(x) (x) + 8,
#define CF_ONE_9(x) CF_ONE_8(x) (x) + 9,
#define CF_ONE_10(x) CF_ONE_9(x) (x) + 10,
#define CF_ONE_11(x) CF_ONE_10(x) (x) + 11,
#define CF_ONE_12(x) CF_ONE_11(x) (x) + 12,
#define CF_ONE_13(x) CF_ONE_12(x) (x) + 13,
#define CF_ONE_14(x) CF_ONE_13(x) (x) + 14,
#define CF_ONE_15(x) CF_ONE_14(x) (x) + 15,

#define CF_TWO_0(x) CF_ONE_0(x)
#define CF_TWO_1(x) CF_TWO_0(x) CF_ONE_1((x) + 0x10)
#define CF_TWO_2(x) CF_TWO_1(x) CF_ONE_2((x) + 0x20)
#define CF_TWO_3(x) CF_TWO_2(x) CF_ONE_3((x) + 0x30)
#define CF_TWO_4(x) CF_TWO_3(x) CF_ONE_4((x) + 0x40)
#define CF_TWO_5(x) CF_TWO_4(x) CF_ONE_5((x) + 0x50)
#define CF_TWO_6(x) CF_TWO_5(x) CF_ONE_6((x) + 0x60)
#define CF_TWO_7(x) CF_TWO_6(x) CF_ONE_7((x) + 0x70)
#define CF_TWO_8(x) CF_TWO_7(x) CF_ONE_8((x) + 0x80)
#define CF_TWO_9(x) CF_TWO_8(x) CF_ONE_9((x) + 0x90)
#define CF_TWO_10(x) CF_TWO_9(x) CF_ONE_10((x) + 0xa0)
#define CF_TWO_11(x) CF_TWO_10(x) CF_ONE_11((x) + 0xb0)
#define CF_TWO_12(x) CF_TWO_11(x) CF_ONE_12((x) + 0xc0)
#define CF_TWO_13(x) CF_TWO_12(x) CF_ONE_13((x) + 0xd0)
#define CF_TWO_14(x) CF_TWO_13(x) CF_ONE_14((x) + 0xe0)
#define CF_TWO_15(x) CF_TWO_14(x) CF_ONE_15((x) + 0xf0)

#define CF_THREE_0(x) CF_TWO_0(x)
#define CF_THREE_1(x) CF_THREE_0(x) CF_TWO_1((x) + 0x100)
#define CF_THREE_2(x) CF_THREE_1(x) CF_TWO_2((x) + 0x200)
#define CF_THREE_3(x) CF_THREE_2(x) CF_TWO_3((x) + 0x300)
#define CF_THREE_4(x) CF_THREE_3(x) CF_TWO_4((x) + 0x400)
#define CF_THREE_5(x) CF_THREE_4(x) CF_TWO_5((x) + 0x500)
#define CF_THREE_6(x) CF_THREE_5(x) CF_TWO_6((x) + 0x600)
#define CF_THREE_7(x) CF_THREE_6(x) CF_TWO_7((x) + 0x700)
#define CF_THREE_8(x) CF_THREE_7(x) CF_TWO_8((x) + 0x800)
#define CF_THREE_9(x) CF_THREE_8(x) CF_TWO_9((x) + 0x900)
#define CF_THREE_10(x) CF_THREE_9(x) CF_TWO_10((x) + 0xa00)
#define CF_THREE_11(x) CF_THREE_10(x) CF_TWO_11((x) + 0xb00)
#define CF_THREE_12(x) CF_THREE_11(x) CF_TWO_12((x) + 0xc00)
#define CF_THREE_13(x) CF_THREE_12(x) CF_TWO_13((x) + 0xd00)
#define CF_THREE_14(x) CF_THREE_13(x) CF_TWO_14((x) + 0xe00)
#define CF_THREE_15(x) CF_THREE_14(x) CF_TWO_15((x) + 0xf00)

const uint16_t cf_semisort_nibbles[4096] = {
    CF_THREE_0(0) CF_THREE_1(0x1000) CF_THREE_2(0x2000) CF_THREE_3(0x3000)
    CF_THREE_4(0x4000) CF_THREE_5(0x5000) CF_THREE_6(0x6000) CF_THREE_7(0x7000)
    CF_THREE_8(0x8000) CF_THREE_9(0x9000) CF_THREE_10(0xa000) CF_THREE_11(0xb000)
    CF_THREE_12(0xc000) CF_THREE_13(0xd000) CF_THREE_14(0xe000) CF_THREE_15(0xf000)
};
/* clang-format on */
#else
/* Codes increase with the nibbles, the last one first. Codes of corrupt bytes have no nibbles. */
uint64_t cf_nibbles_of(uint64_t bits)
{
    uint64_t code = bits & CF_CODE_MASK, nibbles = 0;
    for (unsigned bit = 1 << 15; bit > 0 && code < 3876; bit /= 2) /* codes */
        if (cf_code_of_nibbles(nibbles | bit) <= code)
            nibbles |= bit;
    return nibbles;
}
#endif

bool cf_semisort_in_order(uint64_t code, const uint64_t *tag)
{
    /* RULE: nibbles have only one code */
    if (cf_code_of_nibbles(cf_nibbles_of(code)) != code)
        return false;
    for (unsigned slot = 1; slot < CF_SEMISORT_SLOTS; slot++)
        if (cf_rank_of(tag[slot]) < cf_rank_of(tag[slot - 1]))
            return false;
    return true;
}
