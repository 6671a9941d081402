/* SPDX-License-Identifier: MIT */
#include "eviction.h"

#include "../table/epochs.h"

/* ---- the search ---- */

enum {
    KEPT = 128,        /* nodes whose buckets are stored */
    FAR = 16,          /* steps from these to other nodes, at most */
    SHORT_SEARCH = 64, /* nodes */
    SEEN_FEW_LOG2 = 10,
    SEEN_LOG2 = 13
};

/* How a node was reached: the number of its parent * CF_BUCKET_MAX + the slot there; or ROOT, for the
** buckets of the key itself. */
enum { ROOT = CF_SEARCH_BUCKETS * CF_BUCKET_MAX };

/* The nodes of a search are the buckets that it expands; a search that succeeded has its end as well.
** Stacks are small, so only the first nodes store their buckets. */
typedef struct search {
    uint64_t kept[KEPT];
    uint16_t from[CF_SEARCH_BUCKETS];
    unsigned nodes, most_nodes;
    unsigned examined_left;
    unsigned leaf_from, free_slot; /* of the bucket with the empty slot */
    uint64_t leaf;
    /* One bit for each bucket that was noted; few bits while the search is short. If two buckets share a
    ** bit, the search loses a branch (was_seen). */
    uint64_t seen[(1 << SEEN_LOG2) / 64];
    unsigned seen_log2;
} search;

/* Notes a bucket. True if it was noted before. Bits are scattered: grown pairs may be 2^k apart. */
static inline bool note(search *way, uint64_t bucket)
{
    unsigned bit = (unsigned)(bucket * UINT64_C(0x9e3779b97f4a7c15) >> (64 - way->seen_log2));
    uint64_t *word = &way->seen[bit / 64], before = *word >> bit % 64 & 1;
    *word |= (uint64_t)1 << bit % 64;
    return before;
}

/* Notes the buckets of all nodes, in the number of bits that is in use from now on. */
static void note_nodes(search *way)
{
    way->seen_log2 = way->nodes < SHORT_SEARCH ? SEEN_FEW_LOG2 : SEEN_LOG2;
    for (unsigned i = 0; i < (1 << SEEN_FEW_LOG2) / 64; i++) /* a few stores instead of a call */
        way->seen[i] = 0;
    if (way->nodes >= SHORT_SEARCH)
        memset(way->seen, 0, sizeof way->seen);
    for (unsigned i = 0; i < way->nodes; i++)
        note(way, way->kept[i]);
}

/* Notes a bucket. True if the search already has it as a node. */
static inline bool was_seen(search *way, unsigned bucket_size, uint64_t bucket)
{
    bool perhaps = note(way, bucket);
    /* RULE: with one slot in a bucket there is only one branch; equivalent never: that is slow */
    if (bucket_size > 1)
        return perhaps;
    for (unsigned i = 0; i < way->nodes; i++)
        if (way->kept[i] == bucket)
            return true;
    return false;
}

/* Adds a node, unless there are enough, or its bucket would take too many steps to find again. */
static inline void push_node(search *way, uint64_t bucket, unsigned from)
{
    unsigned steps = 0;
    if (way->nodes == way->most_nodes)
        return;
    if (way->nodes >= KEPT)
        for (unsigned i = from / CF_BUCKET_MAX; i >= KEPT; i = way->from[i] / CF_BUCKET_MAX)
            steps++;
    if (steps == FAR) /* RULE: no node is far */
        return;
    if (way->nodes < KEPT)
        way->kept[way->nodes] = bucket;
    way->from[way->nodes++] = (uint16_t)from;
    if (way->nodes == SHORT_SEARCH)
        note_nodes(way);
}

/* The other bucket of an entry that cannot move. */
#define NOWHERE UINT64_MAX

/* The other bucket of the entry in a slot. Before growth it depends on the pair bits alone. In a grown
** table an entry that is not exhausted knows the bits of either extension, whatever its length. */
CF_FORCED uint64_t other_bucket(const cf_filter *filter, bool grown, cf_address address, uint64_t tag)
{
    uint64_t mix = cf_pair_mix(tag & filter->view.pair_mask);
    uint64_t base = cf_alternate_base(filter->geometry.buckets, address.base, mix);
    if (!grown)
        return base;
    /* and the terminator above it */
    uint64_t remainder = tag >> filter->geometry.pair_bits << address.bits | address.extension;
    cf_address there = cf_address_in(filter, base, remainder ^ cf_turn_of(mix));
    /* RULE: an entry moves only to a bucket whose extension it knows */
    if (CF_UNLIKELY(cf_is_exhausted(filter, tag)) && there.bits > address.bits)
        return NOWHERE;
    return cf_bucket_number(filter, base, there.extension);
}

/* The bucket of a node. If it is not stored, it follows from the entries, still in place, of the at most
** FAR nodes that lead to it. */
static uint64_t bucket_of(const cf_filter *filter, const search *way, unsigned node)
{
    if (node < KEPT)
        return way->kept[node];
    unsigned from = way->from[node];
    uint64_t bucket = bucket_of(filter, way, from / CF_BUCKET_MAX);
    return other_bucket(filter, filter->view.form.grown, cf_address_of(filter, bucket),
                        cf_slot_get(filter, bucket, from % CF_BUCKET_MAX));
}

/* The contents of the bucket of a node. */
typedef struct bucket_seen {
    cf_address address;
    uint64_t tag[CF_BUCKET_MAX];
    uint64_t to[CF_BUCKET_MAX]; /* before growth: the other buckets of its entries */
} bucket_seen;

/* After growth finding the other buckets takes longer than reading them, so they are not prefetched. */
CF_FORCED void look_into(cf_kind kind, const cf_filter *filter, uint64_t bucket, bucket_seen *from)
{
    from->address = kind.grown ? cf_address_of(filter, bucket) : (cf_address){bucket, 0, 0};
    cf_tags_by(kind, filter, cf_bucket_at(filter, bucket), from->tag);
    if (!kind.grown)
        cf_others_of(filter, bucket, from->tag, from->to);
}

/* Examines the other bucket of every slot of a node. True: one has a free slot: the end. */
CF_FORCED bool expand(cf_kind kind, const cf_filter *filter, search *way, unsigned node,
                      const bucket_seen *from)
{
    unsigned bucket_size = filter->geometry.bucket_size;
    for (unsigned slot = 0; slot < bucket_size; slot++) {
        uint64_t to =
            kind.grown ? other_bucket(filter, true, from->address, from->tag[slot]) : from->to[slot];
        if (kind.grown && to == NOWHERE)
            continue;
        /* RULE: a search examines no more buckets than its budget */
        if (way->examined_left == 0)
            return false;
        way->examined_left--;
        int free_slot = cf_usable_by(kind, filter, to);
        if (free_slot >= 0) {
            way->leaf = to;
            way->leaf_from = node * CF_BUCKET_MAX + slot;
            way->free_slot = (unsigned)free_slot;
            return true;
        }
        if (!was_seen(way, bucket_size, to))
            push_node(way, to, node * CF_BUCKET_MAX + slot);
    }
    return false;
}

/* Before growth the other buckets of the next node are fetched before those of this node are read. */
CF_FORCED bool search_by(cf_kind kind, const cf_filter *filter, search *way)
{
    bucket_seen from[2];
    unsigned known = 0, ahead = kind.grown ? 1 : 2;
    for (unsigned node = 0; node < way->nodes && way->examined_left > 0; node++) {
        for (; known < node + ahead && known < way->nodes; known++)
            look_into(kind, filter, bucket_of(filter, way, known), &from[known % 2]);
        if (expand(kind, filter, way, node, &from[node % 2]))
            return true;
    }
    return false;
}

/* ---- the moves ---- */

/* Moves an entry to a slot of its other bucket, `to`. The old slot is not emptied but overwritten
** next. */
static void move_entry(cf_filter *filter, uint64_t from, unsigned from_slot, uint64_t to,
                       unsigned to_slot)
{
    uint64_t tag = cf_slot_get(filter, from, from_slot);
    cf_side side = cf_alternate(filter, cf_side_of(filter, cf_address_of(filter, from), tag));
    cf_place there = cf_locate(filter, &side);
    CF_ASSERT_CONTENT(filter, to == there.bucket && side.length >= there.extension);
    /* RULE: a move keeps the payload */
    cf_bucket_set(filter, to, to_slot, cf_tag_of(filter, there, side.length),
                  cf_payload_get(filter, from, from_slot));
}

CF_NEVER_INLINE bool cf_evict(cf_filter *filter, const cf_pair *pair, unsigned nodes, unsigned examined,
                              const cf_entry *entry)
{
    search way;
    bool all_asked = filter->geometry.bucket_size == 1 && nodes > KEPT; /* was_seen */
    way.nodes = 0;
    way.most_nodes = all_asked ? KEPT : nodes;
    way.examined_left = examined;
    for (unsigned i = 0; i < pair->sides; i++)
        push_node(&way, pair->place[i].bucket, ROOT);
    note_nodes(&way);
    bool found = CF_BY_FORM(&filter->view.form, search_by, filter, &way);
    cf_work(filter, way.nodes);
    if (!found)
        return false;
    uint64_t to = way.leaf;
    unsigned slot = way.free_slot, from = way.leaf_from;
    cf_slot_claim(filter, to, slot);
    while (from != ROOT) {
        unsigned node = from / CF_BUCKET_MAX;
        uint64_t bucket = bucket_of(filter, &way, node);
        move_entry(filter, bucket, from % CF_BUCKET_MAX, to, slot);
        slot = from % CF_BUCKET_MAX;
        to = bucket;
        from = way.from[node];
    }
    cf_entry_put(filter, pair->place[to == pair->place[0].bucket ? 0 : 1], slot, entry);
    return true;
}

bool cf_stash_place(cf_filter *filter, unsigned index, unsigned nodes)
{
    cf_entry entry;
    if (index == filter->stashed || !cf_stashed_at(filter, index, &entry))
        return false;
    cf_pair pair = cf_pair_from(filter, entry.side);
    if (!cf_entry_place(filter, &pair, &entry) &&
        (nodes == 0 || !cf_evict(filter, &pair, nodes, CF_ANY_NUMBER, &entry)))
        return false;
    cf_stash_remove(filter, index);
    return true;
}
