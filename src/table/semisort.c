/* SPDX-License-Identifier: MIT */
#include "semisort.h"

/* ---- codes ---- */

#ifndef CUCKOO_SMALL
/* The sorted nibbles of each code. CF_ONE_n: a least nibble of 0 .. n beside those of x. CF_TWO_n: a
** nibble of 0 .. n, and beside each the least ones that are not larger. CF_THREE_n: one more. */
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
/* Codes rise with the nibbles, the last one first. Those of hostile bytes only have no nibbles. */
uint64_t cf_nibbles_of(uint64_t bits)
{
    unsigned code = (unsigned)(bits & CF_CODE_MASK), nibbles = 0;
    for (unsigned bit = 1 << 15; bit > 0 && code < 3876; bit /= 2) /* codes */
        if (cf_semisort_code(nibbles | bit) <= code)
            nibbles |= bit;
    return nibbles;
}
#endif

enum { RANK_SHIFT = 64 - CF_NIBBLE_BITS };

/* The rank of four sorted nibbles among all such, in colexicographic order: for each nibble, from
** the least on, how many there are of which it is the largest one that differs. That is C(n, 1),
** C(n + 1, 2), C(n + 2, 3), C(n + 3, 4). */
static inline unsigned code_of(unsigned a, unsigned b, unsigned c, unsigned d)
{
    static const uint16_t third[16] = {0,   1,   4,   10,  20,  35,  56,  84,
                                       120, 165, 220, 286, 364, 455, 560, 680};
    static const uint16_t fourth[16] = {0,   1,   5,   15,   35,   70,   126,  210,
                                        330, 495, 715, 1001, 1365, 1820, 2380, 3060};
    return a + b * (b + 1) / 2 + third[c] + fourth[d];
}

unsigned cf_semisort_code(unsigned nibbles)
{
    return code_of(nibbles & CF_NIBBLE_MASK, nibbles >> 4 & CF_NIBBLE_MASK,
                   nibbles >> 8 & CF_NIBBLE_MASK, nibbles >> 12 & CF_NIBBLE_MASK);
}

/* For `count` lanes of `width` bits, which get `more` zero bits above each. */
static cf_spread spread_of(unsigned count, unsigned width, unsigned more)
{
    uint64_t lane = cf_low_bits(width), two = cf_low_bits(2 * width);
    cf_spread spread = {.stay_two = count == 4 ? two : UINT64_MAX, .stay = lane};
    if (count == 4) {
        spread.by_two = 2 * more;
        spread.move_two = two << 2 * width;
        spread.stay |= lane << 2 * (width + more);
    }
    if (count > 1) {
        spread.by = more;
        spread.move = spread.stay << width;
    }
    return spread;
}

/* Are the tags of this form a word, wherever a bucket starts? */
static inline bool is_word(const cf_form *form)
{
    return form->tag_bits <= 64 && !form->is_wide;
}

/* Four, two or one lane to a word, as whole slots fit. Tops start anywhere in a byte, but are so
** much shorter that they lie within 8 bytes where slots fit in a word; often all four do where slots
** do not. */
void cf_semisort_lanes_set(cf_form *form, unsigned width, unsigned pair_bits)
{
    unsigned count = CF_SEMISORT_SLOTS, s = pair_bits, top = width - CF_NIBBLE_BITS;
    while (count > 1 && count * width > 64)
        count /= 2;
    unsigned tops = CF_SEMISORT_SLOTS * top <= CF_STORE_BITS ? CF_SEMISORT_SLOTS : count;
    cf_lanes_fill(&form->lanes, width, count, CF_SEMISORT_SLOTS / count, s);
    cf_lanes_fill(&form->tops, top, tops, CF_SEMISORT_SLOTS / tops, s - CF_NIBBLE_BITS);
    form->spread_tops = spread_of(count, top, CF_NIBBLE_BITS);
    form->spread_nibbles = spread_of(count, CF_NIBBLE_BITS, top);
    form->is_short = CF_SEMISORT_SLOTS * form->payload_bits <= CF_STORE_BITS &&
                     top + form->payload_bits <= RANK_SHIFT;
    cf_wide_set(form, CF_CODE_BITS, top, CF_SEMISORT_SLOTS);
    form->lane_of = 0; /* tops of one bit: cf_any_zero_lane misses zero lanes above others */
    if (!CF_IS_SMALL && top > 1 && (form->is_wide || is_word(form)))
        form->lane_of = ((1u << CF_LANE_OF_SHIFT) + top - 1) / top;
}

/* A tag with its nibble first: in this order slots are sorted. Tops have at most 60 bits. */
static uint64_t rank_of(uint64_t tag)
{
    return tag >> CF_NIBBLE_BITS | tag << RANK_SHIFT;
}

static inline void exchange_if(bool swap, uint64_t *a, uint64_t *b)
{
    uint64_t x = (*a ^ *b) & (0 - (uint64_t)swap);
    *a ^= x;
    *b ^= x;
}

/* Puts a pair of slots in order; without branches, because no processor could predict them. */
static CF_ALWAYS_INLINE void order(uint64_t *rank, uint64_t *payload, unsigned i, unsigned j)
{
    /* RULE: slots of equal nibbles are sorted by the rest; equivalent < to <=: equal ones are the
    ** same, or fall to their payloads */
    bool swap = rank[j] < rank[i];
    if (payload != NULL) {
        /* RULE: ties are broken by payloads; equivalent < to <=: equal ones may change places */
        swap |= (rank[j] == rank[i]) & (payload[j] < payload[i]);
        exchange_if(swap, &payload[i], &payload[j]); /* RULE: payloads go with their slots */
    }
    exchange_if(swap, &rank[i], &rank[j]);
}

/* The payloads may be NULL: there are none. */
static CF_ALWAYS_INLINE void sort(uint64_t *rank, uint64_t *payload)
{
    order(rank, payload, 0, 1);
    order(rank, payload, 2, 3);
    order(rank, payload, 0, 2);
    order(rank, payload, 1, 3);
    order(rank, payload, 1, 2);
}

/* ---- writing ---- */

/* Writes four ranks at bit `at`, without the `more` bits of their payloads. With one store where the
** tags are a word, or with two. */
static CF_ALWAYS_INLINE void write_ranks(cf_filter *filter, const cf_form *form, uint64_t at, bool word,
                                         const uint64_t *rank, unsigned more)
{
    unsigned top = form->tops.width;
    uint64_t mask = cf_ones(top);
    uint64_t code = code_of((unsigned)(rank[0] >> RANK_SHIFT), (unsigned)(rank[1] >> RANK_SHIFT),
                            (unsigned)(rank[2] >> RANK_SHIFT), (unsigned)(rank[3] >> RANK_SHIFT));
    uint64_t tops[] = {rank[0] >> more & mask, rank[1] >> more & mask, rank[2] >> more & mask,
                       rank[3] >> more & mask};
    if (word) {
        uint64_t bits = tops[0] | tops[1] << top | tops[2] << 2 * top | tops[3] << 3 * top;
        cf_store_bits(filter->view.writable, at, cf_low_bits(form->tag_bits),
                      code | bits << CF_CODE_BITS);
    } else if (form->is_wide) {
        cf_wide low = cf_wide_of(tops[0] | tops[1] << top, CF_CODE_BITS);
        cf_wide high = cf_wide_of(tops[2] | tops[3] << top, CF_CODE_BITS + 2 * top);
        cf_store_wide(filter->view.writable, at, form->tag_bits,
                      (cf_wide){code | low.low | high.low, low.high | high.high});
    } else {
        cf_store_bits(filter->view.writable, at, CF_CODE_MASK, code);
        at += CF_CODE_BITS;
        for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++, at += top)
            cf_store_bits(filter->view.writable, at, mask, tops[i]);
    }
}

void cf_semisort_write(cf_filter *filter, const cf_form *form, uint64_t at, const uint64_t *tag,
                       uint64_t *payload)
{
    uint64_t rank[CF_SEMISORT_SLOTS];
    for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++)
        rank[i] = rank_of(tag[i]);
    sort(rank, payload);
    write_ranks(filter, form, at, is_word(form), rank, 0);
}

static inline uint64_t rank_in(const cf_form *form, uint64_t word, unsigned slot)
{
    return rank_of(word >> slot * form->lanes.width & form->slot_mask);
}

/* Without loops: so the compiler keeps the four ranks in registers. */
void cf_semisort_word_write(cf_filter *filter, const cf_form *form, uint64_t at, uint64_t word)
{
    uint64_t rank[CF_SEMISORT_SLOTS] = {rank_in(form, word, 0), rank_in(form, word, 1),
                                        rank_in(form, word, 2), rank_in(form, word, 3)};
    assert(form->lanes.words == 1 && form->payload_bits == 0);
    sort(rank, NULL);
    write_ranks(filter, form, at, is_word(form), rank, 0);
}

/* ---- changing one slot of a bucket ---- */

/* How the tags of a bucket are read and written. */
typedef enum tags_in {
    IN_ONE_WORD,
    IN_TWO_WORDS, /* of a wide form */
    IN_ANY_BITS
} tags_in;

/* Reads the tops of four slots, and above them whatever follows. `how` is a constant. */
static CF_ALWAYS_INLINE void read_tops(const cf_filter *filter, const cf_form *form, uint64_t at,
                                       tags_in how, uint64_t *top)
{
    unsigned size = form->tops.width;
    if (how == IN_ANY_BITS) {
        for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++)
            top[i] = cf_tops_at(filter, form, at, i);
        return;
    }
    top[0] = cf_tops_at(filter, form, at, 0);
    top[1] = top[0] >> size;
    top[2] = how == IN_TWO_WORDS ? cf_tops_at(filter, form, at, 2) : top[1] >> size;
    top[3] = top[2] >> size;
}

/* Reads the ranks of four slots, with their payloads, of `more` bits, below their tops. Without a
** loop, as above. */
static CF_ALWAYS_INLINE void read_ranks(const cf_filter *filter, const cf_form *form, uint64_t at,
                                        tags_in how, unsigned more, uint64_t *rank)
{
    uint64_t nibbles = cf_nibbles_at(filter, at), mask = cf_ones(form->tops.width);
    uint64_t top[CF_SEMISORT_SLOTS];
    read_tops(filter, form, at, how, top);
    rank[0] = nibbles << RANK_SHIFT | (top[0] & mask) << more;
    rank[1] = nibbles >> CF_NIBBLE_BITS << RANK_SHIFT | (top[1] & mask) << more;
    rank[2] = nibbles >> 2 * CF_NIBBLE_BITS << RANK_SHIFT | (top[2] & mask) << more;
    rank[3] = nibbles >> 3 * CF_NIBBLE_BITS << RANK_SHIFT | (top[3] & mask) << more;
    if (more == 0)
        return;
    uint64_t payloads = cf_load_bits(filter->view.table, at + form->payloads_at);
    rank[0] |= payloads & cf_ones(more);
    rank[1] |= payloads >> more & cf_ones(more);
    rank[2] |= payloads >> 2 * more & cf_ones(more);
    rank[3] |= payloads >> 3 * more & cf_ones(more);
}

/* Puts another rank in the place of a slot. The other ones are sorted already. No branch: slots cannot
** be predicted. */
static CF_ALWAYS_INLINE void replace_rank(uint64_t *rank, unsigned slot, uint64_t by)
{
    rank[3] = cf_choose(slot >= 3, rank[2], rank[3]);
    rank[2] = cf_choose(slot >= 2, rank[1], rank[2]);
    rank[1] = cf_choose(slot >= 1, rank[0], rank[1]);
    rank[0] = by;
    if (by == 0)
        return;
    order(rank, NULL, 0, 1);
    order(rank, NULL, 1, 2);
    order(rank, NULL, 2, 3);
}

/* Lanes of `width` bits without lane i: those below it move up, and lane 0 is empty. */
static inline uint64_t take_lane(uint64_t lanes, unsigned width, unsigned i)
{
    uint64_t from = ~(uint64_t)0 << i * width; /* this lane and all above */
    return (lanes & ~from) << width | (lanes & from << width);
}

/* Empties a slot where all tops are loaded together. `word`: so are all tags; `more`: payload bits. */
static CF_ALWAYS_INLINE void empty_slot(cf_filter *filter, const cf_form *form, uint64_t at, bool word,
                                        unsigned more, unsigned slot)
{
    uint8_t *table = filter->view.writable;
    uint64_t all = cf_ones(CF_SEMISORT_SLOTS * more),
             mask = cf_ones(CF_SEMISORT_SLOTS * form->tops.width);
    uint64_t bits = cf_load_bits(table, at), tops = bits >> CF_CODE_BITS;
    uint64_t nibbles = take_lane(cf_nibbles_of(bits), CF_NIBBLE_BITS, slot);
    tops = take_lane((word ? tops : cf_tops_at(filter, form, at, 0)) & mask, form->tops.width, slot);
    uint64_t code = cf_semisort_code((unsigned)nibbles);
    if (word) {
        cf_store_bits(table, at, cf_low_bits(form->tag_bits), code | tops << CF_CODE_BITS);
    } else {
        cf_store_bits(table, at, CF_CODE_MASK, code);
        cf_store_bits(table, at + CF_CODE_BITS, mask, tops);
    }
    if (more != 0)
        cf_store_bits(table, at + form->payloads_at, all,
                      take_lane(cf_load_bits(table, at + form->payloads_at), more, slot) & all);
}

static inline void write_payloads(cf_filter *filter, const cf_form *form, uint64_t at,
                                  const uint64_t *rank)
{
    unsigned more = form->payload_bits;
    uint64_t mask = cf_ones(more), all = cf_ones(CF_SEMISORT_SLOTS * more);
    cf_store_bits(filter->view.writable, at + form->payloads_at, all,
                  (rank[0] & mask) | (rank[1] & mask) << more | (rank[2] & mask) << 2 * more |
                      (rank[3] & mask) << 3 * more);
}

/* `more`: form->payload_bits, or the constant 0. */
static CF_ALWAYS_INLINE void set_slot(cf_filter *filter, const cf_form *form, uint64_t at, tags_in how,
                                      unsigned more, unsigned slot, uint64_t tag, uint64_t payload)
{
    uint64_t rank[CF_SEMISORT_SLOTS];
    read_ranks(filter, form, at, how, more, rank);
    /* RULE: ties are broken by payloads, and payloads go with their slots; equivalent never: an empty
    ** slot is written without a payload */
    replace_rank(rank, slot, tag == 0 ? 0 : tag >> CF_NIBBLE_BITS << more | payload | tag << RANK_SHIFT);
    write_ranks(filter, form, at, how == IN_ONE_WORD, rank, more);
    if (more != 0)
        write_payloads(filter, form, at, rank);
}

static CF_NEVER_INLINE void set_otherwise(cf_filter *filter, const cf_form *form, uint64_t at,
                                          unsigned slot, uint64_t tag, uint64_t payload)
{
    unsigned more = cf_payloads_at(filter, form, at, payload);
    if (!CF_IS_SMALL && tag == 0 && form->tops.words == 1)
        empty_slot(filter, form, at, is_word(form), more, slot);
    else if (is_word(form))
        set_slot(filter, form, at, IN_ONE_WORD, more, slot, tag, payload);
    else if (form->is_wide)
        set_slot(filter, form, at, IN_TWO_WORDS, more, slot, tag, payload);
    else
        set_slot(filter, form, at, IN_ANY_BITS, more, slot, tag, payload);
}

void cf_semisort_set(cf_filter *filter, const cf_form *form, uint64_t at, unsigned slot, uint64_t tag,
                     uint64_t payload)
{
    assert(form->is_short && slot < CF_SEMISORT_SLOTS);
    if (form->payload_bits != 0 || !is_word(form))
        set_otherwise(filter, form, at, slot, tag, payload);
    else if (!CF_IS_SMALL && tag == 0)
        empty_slot(filter, form, at, true, 0, slot);
    else
        set_slot(filter, form, at, IN_ONE_WORD, 0, slot, tag, 0);
}

void cf_semisort_read(const cf_filter *filter, const cf_form *form, uint64_t at, uint64_t *tag)
{
    if (is_word(form))
        read_ranks(filter, form, at, IN_ONE_WORD, 0, tag);
    else if (form->is_wide)
        read_ranks(filter, form, at, IN_TWO_WORDS, 0, tag);
    else
        read_ranks(filter, form, at, IN_ANY_BITS, 0, tag);
    for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++)
        tag[i] = tag[i] << CF_NIBBLE_BITS | tag[i] >> RANK_SHIFT;
}

bool cf_semisort_in_order(const cf_filter *filter, const cf_form *form, uint64_t at)
{
    unsigned code = (unsigned)(cf_load_bits(filter->view.table, at) & CF_CODE_MASK);
    /* RULE: nibbles have one code */
    if (cf_semisort_code((unsigned)cf_nibbles_of(code)) != code)
        return false;
    for (unsigned slot = 1; slot < CF_SEMISORT_SLOTS; slot++)
        if (rank_of(cf_semisort_tag(filter, form, at, slot)) <
            rank_of(cf_semisort_tag(filter, form, at, slot - 1)))
            return false;
    return true;
}
