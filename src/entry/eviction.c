/* SPDX-License-Identifier: MIT */
#include "eviction.h"

#include "../base/watch.h"
#include "../table/epochs.h"

/* Which buckets the search goes on from: a bit each, few of them while it is short. Two buckets that
** share one cost the search one branch in many, but see was_seen. Numbers are scattered, for in a
** grown table the two buckets of a pair may be 2^k apart. */
enum { SEEN_FEW_LOG2 = 10, SEEN_LOG2 = 13, SHORT_SEARCH = 64 };

typedef struct seen_set {
    uint64_t word[(1 << SEEN_LOG2) / 64]; /* the first 2^bits_log2 bits are in use */
    unsigned bits_log2;
} seen_set;

/* Notes a bucket. Was it noted before? */
static CF_ALWAYS_INLINE bool note(seen_set *seen, uint64_t bucket)
{
    unsigned bit = (unsigned)(bucket * UINT64_C(0x9e3779b97f4a7c15) >> (64 - seen->bits_log2));
    uint64_t *word = &seen->word[bit / 64], before = *word >> bit % 64 & 1;
    *word |= (uint64_t)1 << bit % 64;
    return before;
}

/* Notes the buckets of a search in so many bits. */
static void note_all(seen_set *seen, unsigned bits_log2, const cf_search *search)
{
    for (unsigned i = 0; i < (1 << SEEN_FEW_LOG2) / 64; i++) /* so many stores, and no call */
        seen->word[i] = 0;
    if (bits_log2 != SEEN_FEW_LOG2)
        memset(seen->word, 0, sizeof seen->word);
    seen->bits_log2 = bits_log2;
    for (unsigned i = 0; i < search->nodes; i++)
        note(seen, search->kept[i]);
}

/* Notes a bucket. Does the search go on from it already? */
static CF_ALWAYS_INLINE bool was_seen(seen_set *seen, const cf_search *search, unsigned bucket_size,
                                      uint64_t bucket)
{
    bool perhaps = note(seen, bucket);
    /* RULE: with one slot in a bucket there is one branch only; equivalent never: asking all is slow */
    if (bucket_size > 1)
        return perhaps;
    for (unsigned i = 0; i < search->nodes; i++)
        if (search->kept[i] == bucket)
            return true;
    return false;
}

enum { FAR = 16 };

/* The slots that lead to a node from one whose bucket is kept, the last first: how many. *index: that
** node. */
static inline unsigned line_to(const cf_search *search, unsigned *index, unsigned char *slot)
{
    unsigned steps = 0;
    for (; *index >= CF_SEARCH_KEPT; *index = search->from[*index] / CF_BUCKET_MAX)
        slot[steps++] = search->from[*index] % CF_BUCKET_MAX;
    return steps;
}

/* Another bucket to go on from, which is noted, unless the budget is spent, or its bucket would be far
** to find. */
static inline void push_node(cf_search *search, seen_set *seen, cf_node node)
{
    unsigned index = search->nodes, parent = node.parent;
    unsigned char slot[FAR];
    /* RULE: none is far; equivalent without 4, >= to >: parents of the first nodes are kept */
    if (search->left.nodes == 0 || (index >= CF_SEARCH_KEPT && line_to(search, &parent, slot) == FAR))
        return;
    search->left.nodes--;
    search->nodes++;
    search->from[index] = (uint16_t)(node.parent * CF_BUCKET_MAX + node.slot);
    if (index < CF_SEARCH_KEPT)
        search->kept[index] = node.bucket;
    if (search->nodes == SHORT_SEARCH)
        note_all(seen, SEEN_LOG2, search);
}

/* Where an entry goes that cannot move. */
#define NOWHERE UINT64_MAX

/* The other bucket of the entry in a slot, by the mix of its pair bits. Before growth they say it, and
** every entry can lie there. Later any entry knows what the number of a bucket stands for, if it is not
** void: where its bits end need not be known. */
static CF_ALWAYS_INLINE uint64_t other_bucket(const cf_filter *filter, bool grown, cf_address address,
                                              uint64_t tag)
{
    uint64_t mix = cf_pair_mix(tag & filter->view.pair_mask);
    uint64_t base = cf_alternate_base(filter, address.base, mix);
    if (!grown)
        return base;
    /* and the terminator above it */
    uint64_t remainder = tag >> filter->geometry.pair_bits << address.bits | address.extension;
    cf_address there = cf_address_in(filter, base, remainder ^ cf_turn_of(mix));
    /* RULE: an entry moves only to a bucket whose extension it knows */
    if (CF_UNLIKELY(cf_is_void(filter, tag)) && there.bits > address.bits)
        return NOWHERE;
    return cf_bucket_number(filter, base, there.extension);
}

/* The bucket of a node that is not kept. */
static CF_NEVER_INLINE uint64_t bucket_again(const cf_filter *filter, const cf_search *search,
                                             unsigned index)
{
    unsigned char slot[FAR];
    unsigned steps = line_to(search, &index, slot);
    uint64_t bucket = search->kept[index];
    while (steps > 0)
        bucket = other_bucket(filter, filter->view.form.grown, cf_address_of(filter, bucket),
                              cf_slot_get(filter, bucket, slot[--steps]));
    return bucket;
}

static inline uint64_t bucket_of(const cf_filter *filter, const cf_search *search, unsigned index)
{
    return index < CF_SEARCH_KEPT ? search->kept[index] : bucket_again(filter, search, index);
}

/* Node number `index`. The bucket of a later one follows from what lies in that of its parent, as long
** as nothing has changed there. */
static cf_node node_at(const cf_filter *filter, const cf_search *search, unsigned index)
{
    unsigned from = search->from[index];
    return (cf_node){bucket_of(filter, search, index), (uint16_t)(from / CF_BUCKET_MAX),
                     (uint8_t)(from % CF_BUCKET_MAX)};
}

/* What lies in a bucket that the search goes on from. */
typedef struct bucket_seen {
    cf_address address;
    uint64_t tag[CF_BUCKET_MAX];
    uint64_t to[CF_BUCKET_MAX]; /* before growth: where it could move */
} bucket_seen;

/* After growth it takes longer to know the other buckets than to look: one after the other. */
static CF_ALWAYS_INLINE void look_into(cf_kind kind, const cf_filter *filter, uint64_t bucket,
                                       bucket_seen *from)
{
    from->address = kind.grown ? cf_address_of(filter, bucket) : (cf_address){bucket, 0, 0};
    cf_tags_by(kind, filter, cf_bucket_at(filter, bucket), from->tag);
    if (!kind.grown)
        cf_others_of(filter, bucket, from->tag, from->to);
}

/* Looks behind every slot of node `index`: an empty slot ends the search. */
static CF_ALWAYS_INLINE bool expand(cf_kind kind, const cf_filter *filter, cf_search *search,
                                    seen_set *seen, unsigned index, const bucket_seen *from)
{
    unsigned bucket_size = filter->geometry.bucket_size;
    for (unsigned slot = 0; slot < bucket_size; slot++) {
        uint64_t to =
            kind.grown ? other_bucket(filter, true, from->address, from->tag[slot]) : from->to[slot];
        cf_node node = {to, (uint16_t)index, (uint8_t)slot};
        if (kind.grown && to == NOWHERE)
            continue;
        /* RULE: a search examines no more buckets than its budget */
        if (search->left.examined == 0)
            return false;
        search->left.examined--;
        int free_slot = cf_usable_by(kind, filter, to);
        if (free_slot >= 0) {
            search->leaf = node;
            search->free_slot = (unsigned)free_slot;
            return true;
        }
        if (!was_seen(seen, search, bucket_size, to))
            push_node(search, seen, node);
    }
    return false;
}

/* Before growth the buckets behind the next node are on their way when those behind this one are looked
** at. */
static CF_ALWAYS_INLINE bool search_by(cf_kind kind, const cf_filter *filter, cf_search *search,
                                       seen_set *seen)
{
    bucket_seen from[2];
    unsigned known = 0, ahead = kind.grown ? 1 : 2;
    for (unsigned index = 0; index < search->nodes && search->left.examined > 0; index++) {
        for (; known < index + ahead && known < search->nodes; known++)
            look_into(kind, filter, bucket_of(filter, search, known), &from[known % 2]);
        if (expand(kind, filter, search, seen, index, &from[index % 2]))
            return true;
    }
    return false;
}

bool cf_eviction_search(const cf_filter *filter, const cf_pair *pair, cf_search_budget budget,
                        cf_search *search)
{
    seen_set seen;
    search->nodes = 0;
    search->left = budget;
    if (filter->geometry.bucket_size == 1 && budget.nodes > CF_SEARCH_KEPT)
        search->left.nodes = CF_SEARCH_KEPT; /* all are asked */
    for (unsigned i = 0; i < pair->sides; i++)
        push_node(search, &seen, (cf_node){pair->place[i].bucket, CF_NO_PARENT, 0});
    note_all(&seen, SEEN_FEW_LOG2, search);
    bool found = CF_BY_FORM(&filter->view.form, search_by, filter, search, &seen);
    cf_work(filter, search->nodes);
    return found;
}

/* Moves an entry to a slot of its other bucket, `to`. Its old slot is left as it is, to be
** overwritten. */
static void move_entry(cf_filter *filter, cf_node from, unsigned from_slot, uint64_t to,
                       unsigned to_slot)
{
    uint64_t tag = cf_slot_get(filter, from.bucket, from_slot);
    cf_side side = cf_side_of(filter, cf_address_of(filter, from.bucket), tag);
    side = cf_alternate(filter, side);
    cf_place there = cf_locate(filter, &side);
    CF_ASSERT_CONTENT(filter, to == there.bucket && side.length >= there.extension);
    /* RULE: a move keeps the payload */
    cf_bucket_set(filter, to, to_slot, cf_tag_of(filter, there, side.length),
                  cf_payload_get(filter, from.bucket, from_slot));
}

unsigned cf_eviction_apply(cf_filter *filter, const cf_pair *pair, const cf_search *search,
                           const cf_entry *entry)
{
    cf_node to = search->leaf;
    unsigned slot = search->free_slot, moves = 0;
    cf_slot_claim(filter, to.bucket, slot);
    while (to.parent != CF_NO_PARENT) {
        cf_node from = node_at(filter, search, to.parent);
        move_entry(filter, from, to.slot, to.bucket, slot);
        slot = to.slot;
        to = from;
        moves++;
    }
    cf_place place = pair->place[to.bucket == pair->place[0].bucket ? 0 : 1];
    cf_entry_put(filter, place, slot, entry);
    return moves;
}
