/*
** view.h - the library's own half of an open filter.
**
** All of it follows from the header of the filter, and from where its bytes are (open.c). Callers
** leave it alone.
*/
#ifndef CF_VIEW_H
#define CF_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* Constants for comparing all the tags of a word at once (lanes.h). */
typedef struct cf_lanes {
    uint64_t ones;        /* bit 0 of every lane */
    uint64_t highs;       /* the top bit of every lane */
    uint64_t all;         /* all bits of the lanes */
    uint64_t terminators; /* the lowest bit that can be a terminator, of every lane */
    unsigned width;       /* bits of a lane: the width of a slot */
    unsigned count;       /* lanes in a word */
    unsigned words;       /* words in a bucket */
} cf_lanes;

/* Constants for moving up to four lanes of a word apart, in two steps (semisort.h): by how many
** bits, and which bits stay or move in each step. */
typedef struct cf_spread {
    uint64_t stay_two, move_two, stay, move;
    unsigned by_two, by;
} cf_spread;

/* How a key is looked for: there are short ways for the most frequent kinds of filters
** (filter.c). */
typedef enum cf_lookup { CF_LOOKUP_ANY, CF_LOOKUP_PLAIN, CF_LOOKUP_SEMISORTED } cf_lookup;

typedef struct cf_view {
    const uint8_t *table;  /* the buckets */
    uint8_t *writable;     /* == table when the filter may be changed, else NULL */
    bool grown;            /* tags have terminators (bucket.h) */
    bool simple;           /* neither grown, nor with a spill list */
    cf_lookup lookup;      /* how cf_contains reads buckets */
    unsigned new_length;   /* remainder bits that a new entry knows */
    unsigned payload_bits; /* of a slot, sticky bit included */
    uint64_t sticky_bit;   /* of a payload; 0: the payload has none (copies.h) */
    uint64_t fingerprint_mask, level_mask, pair_mask; /* f, level and s low bits */
    uint64_t slot_mask;                               /* the bits of a tag */
    uint64_t bucket_bits;                             /* bits of one bucket record */
    unsigned tag_bits;                                /* of them, those of the tags */
    uint64_t odd_pairs;                               /* 1 when m0 is even: see address.h */
    cf_lanes lanes;                                   /* of the tags */
    cf_lanes tops;                                    /* semi-sorted: of the bits that are not sorted */
    cf_spread spread_tops, spread_nibbles;            /* semi-sorted */
    unsigned lane_of; /* semi-sorted: see semisort.h; 0: not for this filter */
} cf_view;

#endif
