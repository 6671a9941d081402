#include "relief.h"

#include "bucket.h"

enum { MOST_NODES = 256 };

/* A bucket as it is going to be: what is left of it when all entries have gone that differ in the next bits. */
typedef struct cf_descendant {
    uint64_t bucket, bits;
} cf_descendant;

typedef struct descent {
    cf_descendant node[MOST_NODES];
    unsigned nodes, depth; /* splits of each bucket */
    bool overrun;          /* there are more than were looked at */
} descent;

static void reach(const cf_filter *filter, cf_place place, descent *reached)
{
    cf_descendant next = {place.bucket, place.tag >> filter->geometry.pair_bits & cf_low_bits(reached->depth)};
    for (unsigned i = 0; i < reached->nodes; i++)
        if (reached->node[i].bucket == next.bucket && reached->node[i].bits == next.bits)
            return;
    if (reached->nodes < MOST_NODES)
        reached->node[reached->nodes++] = next;
    else
        reached->overrun = true;
}

/* Does an entry go where these bits lead? One that knows fewer goes everywhere. */
static bool follows(const cf_filter *filter, uint64_t tag, unsigned length, uint64_t bits, unsigned depth)
{
    uint64_t known = cf_low_bits(length < depth ? length : depth);
    return tag != 0 && ((tag >> filter->geometry.pair_bits ^ bits) & known) == 0;
}

/* Is this one full? Then the buckets are reached that its entries could move to. */
static bool is_full(const cf_filter *filter, cf_descendant at, descent *reached)
{
    cf_home home = cf_home_of(filter, at.bucket);
    uint64_t tag[CF_BUCKET_MAX];
    cf_tags_read(filter, at.bucket, tag);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        cf_side side = cf_side_of(filter, home, tag[slot]), other = cf_alternate(filter, side);
        cf_place there = cf_locate(filter, &other);
        if (!follows(filter, tag[slot], side.length - home.bits, at.bits, reached->depth))
            return false;
        if (other.length >= there.extension + reached->depth)
            reach(filter, there, reached);
    }
    return true;
}

static bool helps_at(const cf_filter *filter, const cf_pair *pair, unsigned depth)
{
    descent reached = {.nodes = 0, .depth = depth};
    for (unsigned i = 0; i < pair->sides; i++) {
        if (pair->side[i].length < pair->place[i].extension + depth)
            return true; /* an entry of another filter, which would be two */
        reach(filter, pair->place[i], &reached);
    }
    for (unsigned i = 0; i < reached.nodes && !reached.overrun; i++)
        if (!is_full(filter, reached.node[i], &reached))
            return true;
    return reached.overrun;
}

bool cf_splitting_helps(const cf_filter *filter, const cf_pair *pair, unsigned levels)
{
    for (unsigned depth = 1; depth <= levels; depth++)
        if (helps_at(filter, pair, depth))
            return true;
    return false;
}
