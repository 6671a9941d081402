#include "semisort.h"

#include "semisort_table.h"

/* The rank of four sorted nibbles among all such, in colexicographic order: how many there are whose largest that
** differs is smaller. C(n, k) things of n, k at a time. */
unsigned cf_semisort_code(unsigned nibbles)
{
    unsigned a = nibbles & 15, b = (nibbles >> 4 & 15) + 1, c = (nibbles >> 8 & 15) + 2,
             d = (nibbles >> 12 & 15) + 3;
    return a + b * (b - 1) / 2 + c * (c - 1) * (c - 2) / 6 + d * (d - 1) * (d - 2) * (d - 3) / 24;
}

/* Four, two or one lane to a word, as whole slots fit. Tops start anywhere in a byte, but are so much shorter that
** they lie within 8 bytes where slots fit in a word. */
void cf_semisort_lanes_set(cf_lanes *lanes, cf_lanes *tops, unsigned width, unsigned pair_bits)
{
    unsigned count = CF_SEMISORT_SLOTS;
    while (count > 1 && count * width > 64)
        count /= 2;
    cf_lanes_fill(lanes, width, count, CF_SEMISORT_SLOTS / count, pair_bits);
    cf_lanes_fill(tops, width - CF_NIBBLE_BITS, count, CF_SEMISORT_SLOTS / count,
                  pair_bits - CF_NIBBLE_BITS);
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
static void order(uint64_t *rank, uint64_t *payload, unsigned i, unsigned j)
{
    uint64_t swap = 0 - (uint64_t)(rank[j] < rank[i] || (rank[j] == rank[i] && payload[j] < payload[i]));
    uint64_t ranks = (rank[i] ^ rank[j]) & swap, payloads = (payload[i] ^ payload[j]) & swap;
    rank[i] ^= ranks;
    rank[j] ^= ranks;
    payload[i] ^= payloads;
    payload[j] ^= payloads;
}

static void sort(uint64_t *rank, uint64_t *payload)
{
    order(rank, payload, 0, 1);
    order(rank, payload, 2, 3);
    order(rank, payload, 0, 2);
    order(rank, payload, 1, 3);
    order(rank, payload, 1, 2);
}

/* Writes the tops as far as they fit in one store, then the rest. */
static void write_tops(cf_filter *filter, uint64_t at, const uint64_t *tag)
{
    const cf_lanes *tops = &filter->tops;
    for (unsigned word = 0; word < tops->words; word++) {
        uint64_t bits = 0;
        unsigned width = tops->count * tops->width;
        for (unsigned i = 0; i < tops->count; i++)
            bits |= (tag[word * tops->count + i] >> CF_NIBBLE_BITS) << i * tops->width;
        cf_store_bits(filter->writable, at + (uint64_t)word * width, cf_low_bits(width), bits);
    }
}

void cf_semisort_write(cf_filter *filter, uint64_t at, uint64_t *tag, uint64_t *payload)
{
    unsigned nibbles = 0;
    for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++)
        tag[i] = nibble_first(tag[i]);
    sort(tag, payload);
    for (unsigned i = 0; i < CF_SEMISORT_SLOTS; i++) {
        nibbles |= (unsigned)(tag[i] >> (64 - CF_NIBBLE_BITS)) << i * CF_NIBBLE_BITS;
        tag[i] = nibble_last(tag[i]);
    }
    cf_store_bits(filter->writable, at, cf_low_bits(CF_CODE_BITS), cf_semisort_code(nibbles));
    write_tops(filter, at + CF_CODE_BITS, tag);
}

bool cf_semisort_in_order(const cf_filter *filter, uint64_t at)
{
    unsigned code = (unsigned)(cf_load_bits(filter->table, at) & cf_low_bits(CF_CODE_BITS));
    if (cf_semisort_code(cf_semisort_nibbles[code]) != code)
        return false;
    for (unsigned slot = 1; slot < CF_SEMISORT_SLOTS; slot++)
        if (nibble_first(cf_semisort_tag(filter, at, slot)) <
            nibble_first(cf_semisort_tag(filter, at, slot - 1)))
            return false;
    return true;
}
