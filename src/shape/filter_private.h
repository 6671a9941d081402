/* SPDX-License-Identifier: MIT */
/*
** filter_private.h - the library's own half of an open filter.
**
** All of it follows from the header of the filter, and from where its bytes are (open.c). Callers
** leave it alone.
*/
#ifndef CF_FILTER_PRIVATE_H
#define CF_FILTER_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* The two words of a wide bucket, with half of the lanes each (lanes.h). */
typedef struct cf_wide {
    uint64_t low, high;
} cf_wide;

/* Constants for moving up to four lanes of a word apart, in two steps (semisort.h): by how many
** bits, and which bits stay or move in each step. */
typedef struct cf_spread {
    uint64_t stay_two, move_two, stay, move;
    unsigned by_two, by;
} cf_spread;

/* The filters that are met most have quick ways of their own (fast_path.h). */
typedef enum cf_fast {
    CF_FAST_NONE,
    CF_FAST_PLAIN,
    CF_FAST_WHOLE, /* plain, and buckets are whole bytes; no pager */
    CF_FAST_SEMISORTED,
    CF_FAST_WIDE,       /* plain, and buckets are wide; no pager */
    CF_FAST_WIDE_WHOLE, /* they are whole bytes, too */
    CF_FAST_WIDE_SEMISORTED,
    CF_FAST_WIDE_PAGED, /* plain, and buckets are wide */
    CF_FAST_WIDE_LONG   /* the same with form.ninth */
} cf_fast;

/* How the record of a bucket is written down (bucket.h). */
typedef struct cf_form {
    unsigned payload_bits;                 /* of a slot, sticky bit included */
    uint64_t slot_mask;                    /* the bits of a tag */
    uint64_t bucket_bits;                  /* of a record */
    uint64_t bucket_bytes;                 /* its whole bytes */
    unsigned tag_bits;                     /* of them, those of the tags */
    unsigned payloads_at;                  /* those before the payloads: tags and overflow bit */
    cf_lanes lanes;                        /* of the tags */
    cf_lanes tops;                         /* semi-sorted: of the bits that are not sorted */
    cf_spread spread_tops, spread_nibbles; /* semi-sorted */
    bool is_short;                         /* semi-sorted: slots have short ranks (semisort.h) */
    unsigned lane_of;                      /* semi-sorted: see semisort.h; 0: not for this form */
    bool is_wide;                          /* not in one word, but in two */
    unsigned second, second_bit, ninth;    /* wide ones: see cf_wide_set */
    unsigned first_bit[2];                 /* plain wide ones: see cf_first_lane */
    uint64_t ones[2], tops_of[2]; /* wide ones: bit 0, and the top bit, of every lane, by word */
    uint64_t highs;               /* wide ones: the top bits where cf_same_lanes says them */
    uint64_t evens;               /* the first lane of both words, where cf_same_lanes would say it */
} cf_form;

typedef struct cf_view {
    const uint8_t *table; /* the buckets */
    uint8_t *writable;    /* == table when the filter may be changed, else NULL */
    bool grown;           /* entries know different numbers of bits (growth.h) */
    bool simple;          /* neither grown, nor with a spill list */
    cf_fast lookup;       /* the quick way of lookups */
    cf_fast change;       /* the quick way of adds and deletes */
    unsigned new_length;  /* remainder bits that a new entry knows */
    uint64_t sticky_bit;  /* of a payload; 0: the payload has none (copies.h) */
    uint32_t live;        /* of a filter that ages: a bit for each number of a live epoch (ageing.h) */
    uint64_t *left;       /* units of work that a merge may still do (watch.h); NULL: any number */
    uint64_t fingerprint_mask, level_mask, pair_mask; /* f, level and s low bits */
    cf_form form;                                     /* of the buckets */
    uint64_t most, most_of; /* the slots that may be occupied before a table of so many buckets grows */
} cf_view;

#ifdef __cplusplus
}
#endif

#endif
