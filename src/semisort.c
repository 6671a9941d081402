#include "semisort.h"

#include "semisort_table.h"

/* The rank of four sorted nibbles among all such, in colexicographic order: for each nibble, from
** the least on, how many there are of which it is the largest one that differs. That is C(n, 1),
** C(n + 1, 2), C(n + 2, 3), C(n + 3, 4). */
unsigned cf_semisort_code(unsigned nibbles)
{
    static const uint16_t third[16] = {0,   1,   4,   10,  20,  35,  56,  84,
                                       120, 165, 220, 286, 364, 455, 560, 680};
    static const uint16_t fourth[16] = {0,   1,   5,   15,   35,   70,   126,  210,
                                        330, 495, 715, 1001, 1365, 1820, 2380, 3060};
    unsigned b = nibbles >> 4 & 15;
    return (nibbles & 15) + b * (b + 1) / 2 + third[nibbles >> 8 & 15] + fourth[nibbles >> 12 & 15];
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

/* Four, two or one lane to a word, as whole slots fit. Tops start anywhere in a byte, but are so
** much shorter that they lie within 8 bytes where slots fit in a word. */
void cf_semisort_lanes_set(cf_filter *filter, unsigned width)
{
    unsigned count = CF_SEMISORT_SLOTS, s = filter->geometry.pair_bits, top = width - CF_NIBBLE_BITS;
    while (count > 1 && count * width > 64)
        count /= 2;
    cf_lanes_fill(&filter->view.lanes, width, count, CF_SEMISORT_SLOTS / count, s);
    cf_lanes_fill(&filter->view.tops, top, count, CF_SEMISORT_SLOTS / count, s - CF_NIBBLE_BITS);
    filter->view.spread_tops = spread_of(count, top, CF_NIBBLE_BITS);
    filter->view.spread_nibbles = spread_of(count, CF_NIBBLE_BITS, top);
    filter->view.lane_of = 0; /* tops of one bit: cf_any_zero_lane misses zero lanes above others */
    if (top > 1 && count == CF_SEMISORT_SLOTS &&
        cf_fits_word(filter->view.bucket_bits, filter->view.tag_bits))
        filter->view.lane_of = ((1u << CF_LANE_OF_SHIFT) + top - 1) / top;
}

/* A tag with its nibble first: in this order slots are sorted. */
static uint64_t nibble_first(uint64_t tag)
{
    return tag >> CF_NIBBLE_BITS | tag << (64 - CF_NIBBLE_BITS);
}

static uint64_t nibble_last(uint64_t rank)
{
    return rank << CF_NIBBLE_BITS | rank >> (64 - CF_NIBBLE_BITS);
}

/* Puts a pair of slots in order; without branches, for no processor could predict them. */
static inline void order(uint64_t *rank, unsigned i, unsigned j)
{
    /* RULE: slots of equal nibbles are sorted by the rest; equivalent < to <=: equal ones are the
    ** same */
    uint64_t less = rank[i] < rank[j] ? rank[i] : rank[j], more = rank[i] ^ rank[j] ^ less;
    rank[i] = less;
    rank[j] = more;
}

static inline void sort(uint64_t *rank)
{
    order(rank, 0, 1);
    order(rank, 2, 3);
    order(rank, 0, 2);
    order(rank, 1, 3);
    order(rank, 1, 2);
}

static void sort_with_payloads(uint64_t *rank, uint64_t *payload)
{
    for (unsigned i = 1; i < CF_SEMISORT_SLOTS; i++)
        for (unsigned j = i; j > 0; j--) {
            /* RULE: ties are broken by payloads; equivalent <= to <: equal ones may change
            ** places */
            if (rank[j - 1] < rank[j] || (rank[j - 1] == rank[j] && payload[j - 1] <= payload[j]))
                break;
            uint64_t tag = rank[j], with = payload[j];
            rank[j] = rank[j - 1], payload[j] = payload[j - 1];
            /* RULE: payloads go with their slots */
            rank[j - 1] = tag, payload[j - 1] = with;
        }
}

/* Writes the tops as far as they fit in one store, then the rest. */
static void write_tops(cf_filter *filter, uint64_t at, const uint64_t *tag)
{
    const cf_lanes *tops = &filter->view.tops;
    for (unsigned word = 0; word < tops->words; word++) {
        uint64_t bits = 0;
        unsigned width = tops->count * tops->width;
        for (unsigned i = 0; i < tops->count; i++)
            bits |= (tag[word * tops->count + i] >> CF_NIBBLE_BITS) << i * tops->width;
        cf_store_bits(filter, at + (uint64_t)word * width, cf_low_bits(width), bits);
    }
}

void cf_semisort_write(cf_filter *filter, uint64_t at, uint64_t *tag, uint64_t *payload)
{
    unsigned nibbles = 0;
    for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++)
        tag[i] = nibble_first(tag[i]);
    if (filter->view.payload_bits)
        sort_with_payloads(tag, payload);
    else
        sort(tag);
    for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++) {
        nibbles |= (unsigned)(tag[i] >> (64 - CF_NIBBLE_BITS)) << i * CF_NIBBLE_BITS;
        tag[i] = nibble_last(tag[i]);
    }
    cf_store_bits(filter, at, cf_low_bits(CF_CODE_BITS), cf_semisort_code(nibbles));
    write_tops(filter, at + CF_CODE_BITS, tag);
}

static inline uint64_t rank_in(const cf_filter *filter, uint64_t word, unsigned slot)
{
    return nibble_first(word >> slot * filter->view.lanes.width & filter->view.slot_mask);
}

static inline unsigned nibble_of(uint64_t rank, unsigned slot)
{
    return (unsigned)(rank >> (64 - CF_NIBBLE_BITS)) << slot * CF_NIBBLE_BITS;
}

/* Without loops: so the compiler keeps the four ranks in registers. */
void cf_semisort_word_write(cf_filter *filter, uint64_t at, uint64_t word)
{
    uint64_t rank[CF_SEMISORT_SLOTS] = {rank_in(filter, word, 0), rank_in(filter, word, 1),
                                        rank_in(filter, word, 2), rank_in(filter, word, 3)};
    unsigned top = filter->view.tops.width;
    uint64_t mask = cf_low_bits(top);
    assert(filter->view.lanes.words == 1 && filter->view.payload_bits == 0);
    sort(rank);
    unsigned nibbles =
        nibble_of(rank[0], 0) | nibble_of(rank[1], 1) | nibble_of(rank[2], 2) | nibble_of(rank[3], 3);
    uint64_t tops = (rank[0] & mask) | (rank[1] & mask) << top | (rank[2] & mask) << 2 * top |
                    (rank[3] & mask) << 3 * top;
    cf_store_bits(filter, at, cf_low_bits(CF_CODE_BITS), cf_semisort_code(nibbles));
    cf_store_bits(filter, at + CF_CODE_BITS, cf_low_bits(CF_SEMISORT_SLOTS * top), tops);
}

void cf_semisort_read(const cf_filter *filter, uint64_t at, uint64_t *tag)
{
    const cf_lanes *tops = &filter->view.tops;
    uint64_t nibbles = cf_nibbles_at(filter, at), mask = cf_low_bits(tops->width);
    for (unsigned word = 0; word < tops->words; word++) {
        uint64_t bits = cf_tops_at(filter, at, word);
        for (unsigned i = 0; i < tops->count; i++) {
            *tag++ = (bits & mask) << CF_NIBBLE_BITS | (nibbles & cf_low_bits(CF_NIBBLE_BITS));
            bits >>= tops->width;
            nibbles >>= CF_NIBBLE_BITS;
        }
    }
}

bool cf_semisort_in_order(const cf_filter *filter, uint64_t at)
{
    unsigned code = (unsigned)(cf_load_bits(filter->view.table, at) & cf_low_bits(CF_CODE_BITS));
    /* RULE: nibbles have one code */
    if (cf_semisort_code(cf_semisort_nibbles[code]) != code)
        return false;
    for (unsigned slot = 1; slot < CF_SEMISORT_SLOTS; slot++)
        if (nibble_first(cf_semisort_tag(filter, at, slot)) <
            nibble_first(cf_semisort_tag(filter, at, slot - 1)))
            return false;
    return true;
}
