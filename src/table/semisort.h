/* SPDX-License-Identifier: MIT */
/*
** semisort.h - buckets of four slots that take one bit per slot less (paper, section 5.2).
**
**      [ code, 12 bits ][ top 0 ][ top 1 ][ top 2 ][ top 3 ][ overflow ][ payload 0 ] .. [ payload 3 ]
**
** The order of the slots of a bucket has no meaning, so they are sorted by their low nibbles. Four
** sorted nibbles are one of 3,876 values, whose number takes 12 bits instead of 16. The other bits of
** each slot, its top, follow in that order; slots with equal nibbles are sorted by their tops, then by
** their payloads, so that equal contents are equal bytes. An empty slot is 0, and so comes first. A
** terminator is always in the top. Codes from 3,876 on (corrupt input only) read as four zero nibbles.
**
** A *rank* is a tag with its nibble moved to the highest bits of a word: slots are sorted by their
** ranks. The low bits of a rank are the top, so ranks can be written as lanes.
*/
#ifndef CF_SEMISORT_H
#define CF_SEMISORT_H

#include "../base/bits.h"
#include "../shape/geometry.h"

enum { CF_NIBBLE_BITS = 4, CF_CODE_BITS = 12, CF_SEMISORT_SLOTS = 4 };
enum { CF_NIBBLE_MASK = (1 << CF_NIBBLE_BITS) - 1, CF_CODE_MASK = (1 << CF_CODE_BITS) - 1 };
enum { CF_RANK_SHIFT = 64 - CF_NIBBLE_BITS };
_Static_assert(CF_SEMISORT_SAVES == CF_NIBBLE_BITS * CF_SEMISORT_SLOTS - CF_CODE_BITS,
               "what a code saves");

/* ---- codes ---- */

/* The four sorted nibbles of the code in the lowest bits; the smallest nibble is lowest.
** CF_FILLS_NIBBLES: looked up in a table that the program fills when it starts. */
#ifdef CF_FILLS_NIBBLES
extern uint16_t cf_semisort_nibbles[1 << CF_CODE_BITS];
void cf_fill_nibbles(void);
#elif !defined(CUCKOO_SMALL)
extern const uint16_t cf_semisort_nibbles[1 << CF_CODE_BITS];
#endif
#if defined(CUCKOO_SMALL) && !defined(CF_FILLS_NIBBLES)
uint64_t cf_nibbles_of(uint64_t bits);
#else
static inline uint64_t cf_nibbles_of(uint64_t bits)
{
    return cf_semisort_nibbles[bits & CF_CODE_MASK];
}
#endif

/* The number of four sorted nibbles a, b, c, d, in colexicographic order, is the sum of C(a, 1),
** C(b + 1, 2), C(c + 2, 3) and C(d + 3, 4). These tables have the last two. */
static const uint16_t cf_third[16] = {0,   1,   4,   10,  20,  35,  56,  84,
                                      120, 165, 220, 286, 364, 455, 560, 680};
static const uint16_t cf_fourth[16] = {0,   1,   5,   15,   35,   70,   126,  210,
                                       330, 495, 715, 1001, 1365, 1820, 2380, 3060};

static inline uint64_t cf_code_of_nibbles(uint64_t nibbles)
{
    uint64_t b = nibbles >> 4 & CF_NIBBLE_MASK, c = nibbles >> 8 & CF_NIBBLE_MASK;
    return (nibbles & CF_NIBBLE_MASK) + b * (b + 1) / 2 + cf_third[c] + cf_fourth[nibbles >> 12];
}

static inline uint64_t cf_code_of_ranks(const uint64_t *rank)
{
    uint64_t b = rank[1] >> CF_RANK_SHIFT, c = rank[2] >> CF_RANK_SHIFT, d = rank[3] >> CF_RANK_SHIFT;
    return (rank[0] >> CF_RANK_SHIFT) + b * (b + 1) / 2 + cf_third[c] + cf_fourth[d];
}

/* ---- tags and ranks ---- */

static inline uint64_t cf_rank_of(uint64_t tag)
{
    return tag >> CF_NIBBLE_BITS | tag << CF_RANK_SHIFT;
}

static inline uint64_t cf_tag_of_rank(uint64_t rank)
{
    return rank << CF_NIBBLE_BITS | rank >> CF_RANK_SHIFT;
}

/* ---- sorting ---- */

/* Orders the payloads of two slots by their ranks or, if these are equal, by the payloads themselves.
** True if they were swapped. */
CF_FORCED bool cf_order_payloads(const uint64_t *rank, uint64_t *payload, unsigned i, unsigned j)
{
    bool swap = rank[j] < rank[i];
    swap |= (rank[j] == rank[i]) & (payload[j] < payload[i]);
    uint64_t x = (payload[i] ^ payload[j]) & (0 - (uint64_t)swap);
    payload[i] ^= x;
    payload[j] ^= x;
    return swap;
}

/* Orders two slots. No branch: it would be unpredictable. `payload` may be NULL. */
CF_FORCED void cf_order(uint64_t *rank, uint64_t *payload, unsigned i, unsigned j)
{
    bool swap = payload ? cf_order_payloads(rank, payload, i, j) : rank[j] < rank[i];
    uint64_t x = (rank[i] ^ rank[j]) & (0 - (uint64_t)swap);
    rank[i] ^= x;
    rank[j] ^= x;
}

/* Sorts four tags, which become ranks, and their payloads unless that is NULL. */
CF_FORCED void cf_semisort(uint64_t *tag, uint64_t *payload)
{
    tag[0] = cf_rank_of(tag[0]);
    tag[1] = cf_rank_of(tag[1]);
    tag[2] = cf_rank_of(tag[2]);
    tag[3] = cf_rank_of(tag[3]);
    cf_order(tag, payload, 0, 1);
    cf_order(tag, payload, 2, 3);
    cf_order(tag, payload, 0, 2);
    cf_order(tag, payload, 1, 3);
    cf_order(tag, payload, 1, 2);
}

/* ---- one slot of four sorted ones ---- */

/* Moves x[0] .. x[i - 1] up by one, over x[i], and stores `first` in x[0]. */
CF_FORCED void cf_exchange(uint64_t *x, unsigned i, uint64_t first)
{
    x[3] = i >= 3 ? x[2] : x[3];
    x[2] = i >= 2 ? x[1] : x[2];
    x[1] = i >= 1 ? x[0] : x[1];
    x[0] = first;
}

/* Replaces the tag and payload of a slot. Tag 0 has no payload, even in corrupt bytes. */
CF_FORCED void cf_semisort_replace(uint64_t *rank, uint64_t *payload, unsigned slot, uint64_t tag,
                                   uint64_t with)
{
    cf_exchange(rank, slot, cf_rank_of(tag));
    if (payload != NULL)
        cf_exchange(payload, slot, tag == 0 ? 0 : with);
    if (tag == 0)
        return;
    cf_order(rank, payload, 0, 1);
    cf_order(rank, payload, 1, 2);
    cf_order(rank, payload, 2, 3);
}

/* The same for lanes in one word, with tag 0: the lanes below lane i move up, and lane 0 is empty. */
static inline uint64_t cf_without_lane(uint64_t lanes, unsigned width, unsigned i)
{
    uint64_t from = ~(uint64_t)0 << i * width; /* lane i and all above */
    return (lanes & ~from) << width | (lanes & from << width);
}

/* True if a bucket with this code and these tags is in order; payloads are ignored. */
bool cf_semisort_in_order(uint64_t code, const uint64_t *tag);

#endif
