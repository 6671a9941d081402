/* SPDX-License-Identifier: MIT */
#include "relief.h"

#include "bucket.h"

enum { MOST_NODES = 256 };

/* A bucket as it is going to be after so many splits: what is left of it when all entries have gone
** that differ in the next bits. */
typedef struct cf_descendant {
    uint64_t bucket, bits;
    unsigned depth;
} cf_descendant;

typedef struct descent {
    cf_descendant node[MOST_NODES];
    unsigned nodes, levels;
    bool overrun; /* there are more than were looked at */
} descent;

/* What lies in this place, and knows so much of it, can be there after so many splits. While the
** table grows some buckets are split before others: an entry that knows too little for all splits
** may get there before the last ones. */
static void reach(const cf_filter *filter, const cf_side *side, cf_place place, descent *reached)
{
    unsigned beyond = side->length - place.extension;
    unsigned depth = beyond < reached->levels ? beyond : reached->levels;
    uint64_t bits = side->bits >> filter->geometry.pair_bits >> place.extension & cf_low_bits(depth);
    for (unsigned i = 0; i < reached->nodes; i++) {
        cf_descendant node = reached->node[i];
        if (node.bucket == place.bucket && node.bits == bits && node.depth == depth)
            return;
    }
    if (reached->nodes < MOST_NODES)
        reached->node[reached->nodes++] = (cf_descendant){place.bucket, bits, depth};
    else
        reached->overrun = true;
}

/* Does an entry go where these bits lead? One that knows fewer goes everywhere. */
static bool follows(const cf_filter *filter, cf_home home, const cf_side *side, cf_descendant at)
{
    unsigned known = side->length - home.bits;
    uint64_t behind = side->bits >> filter->geometry.pair_bits >> home.bits;
    return ((behind ^ at.bits) & cf_low_bits(known < at.depth ? known : at.depth)) == 0;
}

/* An entry as it is going to be there: one that knows fewer bits has learnt those of the bucket. */
static cf_side as_child(const cf_filter *filter, cf_home home, cf_side side, cf_descendant at)
{
    unsigned known = side.length - home.bits;
    if (known < at.depth) {
        side.bits |= (at.bits & ~cf_low_bits(known)) << (filter->geometry.pair_bits + home.bits);
        side.length = home.bits + at.depth;
    }
    return side;
}

/* Is this one full? Then the buckets are reached that its entries could move to. */
static bool is_full(const cf_filter *filter, cf_descendant at, descent *reached)
{
    cf_home home = cf_home_of(filter, at.bucket);
    uint64_t tag[CF_BUCKET_MAX];
    cf_tags_read(filter, at.bucket, tag);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        if (tag[slot] == 0)
            return false;
        cf_side side = cf_side_of(filter, home, tag[slot]);
        if (!follows(filter, home, &side, at))
            return false;
        cf_side other = cf_alternate(filter, as_child(filter, home, side, at));
        cf_place there = cf_locate(filter, &other);
        if (cf_can_lie(other.length, there))
            reach(filter, &other, there, reached);
    }
    return true;
}

bool cf_splitting_helps(const cf_filter *filter, const cf_pair *pair, unsigned levels)
{
    descent reached = {.nodes = 0, .levels = levels};
    if (pair->sides == 0)
        return false; /* an entry of another filter, which knows too little for both buckets */
    /* Both sides, even one that knows too little to lie anywhere: its bucket is split, too. */
    cf_side side[2] = {pair->side[0], cf_alternate(filter, pair->side[0])};
    for (unsigned i = 0; i < 2; i++) {
        cf_place place = cf_locate(filter, &side[i]);
        if (side[i].length < place.extension + levels)
            return true; /* an entry of another filter, which would be two */
        reach(filter, &side[i], place, &reached);
    }
    for (unsigned i = 0; i < reached.nodes && !reached.overrun; i++)
        if (!is_full(filter, reached.node[i], &reached))
            return true;
    return reached.overrun;
}
