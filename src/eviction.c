#include "eviction.h"

#include "address.h"
#include "bucket.h"

/* Which buckets the search goes on from: a bit each, at the bucket number modulo the size of the set.
** Two buckets that share a bit cost the search one branch in many, and nothing else. */
enum { SEEN_BITS = 8192 };

typedef struct seen_set {
    uint64_t word[SEEN_BITS / 64];
} seen_set;

static bool seen_before(const seen_set *seen, uint64_t bucket)
{
    return seen->word[bucket % SEEN_BITS / 64] >> (bucket % 64) & 1;
}

/* Another bucket to go on from, unless the budget is spent. */
static void push(cf_search *search, seen_set *seen, cf_node node)
{
    if (search->nodes == CF_SEARCH_BUCKETS)
        return;
    search->node[search->nodes++] = node;
    seen->word[node.bucket % SEEN_BITS / 64] |= (uint64_t)1 << (node.bucket % 64);
}

/* The buckets that the entries of one bucket could move to; all of them are fetched before the first
** is looked at. */
static void alternates_of(const cf_filter *filter, uint64_t bucket, cf_side *to)
{
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        cf_side from = {bucket, cf_slot_get(filter, bucket, slot)};
        to[slot] = cf_alternate(filter, from);
        __builtin_prefetch(filter->table + to[slot].bucket * filter->bucket_bits / 8);
    }
}

/* Looks behind every slot of node `index`: an empty slot ends the search. */
static bool expand(const cf_filter *filter, cf_search *search, seen_set *seen, unsigned index)
{
    cf_side to[CF_BUCKET_MAX];
    alternates_of(filter, search->node[index].bucket, to);
    for (unsigned slot = 0; slot < filter->geometry.bucket_size; slot++) {
        cf_node node = {to[slot].bucket, (uint16_t)index, (uint8_t)slot};
        if (seen_before(seen, node.bucket))
            continue;
        int free_slot = cf_bucket_free_slot(filter, node.bucket);
        if (free_slot >= 0) {
            search->leaf = node;
            search->free_slot = (unsigned)free_slot;
            return true;
        }
        push(search, seen, node);
    }
    return false;
}

bool cf_eviction_search(const cf_filter *filter, const cf_pair *pair, cf_search *search)
{
    seen_set seen = {{0}};
    search->nodes = 0;
    for (unsigned i = 0; i < pair->sides; i++)
        push(search, &seen, (cf_node){pair->side[i].bucket, CF_NO_PARENT, 0});
    for (unsigned index = 0; index < search->nodes; index++)
        if (expand(filter, search, &seen, index))
            return true;
    return false;
}

unsigned cf_eviction_apply(cf_filter *filter, const cf_pair *pair, const cf_search *search)
{
    cf_node to = search->leaf;
    unsigned slot = search->free_slot, moves = 0;
    while (to.parent != CF_NO_PARENT) {
        cf_node from = search->node[to.parent];
        cf_side entry = {from.bucket, cf_slot_get(filter, from.bucket, to.slot)};
        cf_slot_set(filter, to.bucket, slot, cf_alternate(filter, entry).tag);
        slot = to.slot;
        to = from;
        moves++;
    }
    unsigned side = to.bucket == pair->side[0].bucket ? 0 : 1;
    cf_slot_set(filter, to.bucket, slot, pair->side[side].tag);
    return moves;
}
