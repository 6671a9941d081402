/* SPDX-License-Identifier: MIT */
/*
** eviction.h - making room: the shortest chain of moves that frees a slot.
**
** When both buckets of a key are full, entries can move to their own alternate buckets. The paper
** (algorithm 1) kicks a random entry, then the one in its way, up to 500 times, writing as it goes:
** a failure leaves a victim without a place. Here the chain is searched first, breadth first, and
** written only when it is known to end in an empty slot:
**
**      root: the two buckets of the key (full)
**        '- every slot of them -> its alternate bucket: is there an empty slot? else go on from there
**
**      path:     root bucket     bucket        bucket with an empty slot
**                  slot --(move 2)--> slot --(move 1)--> slot
**                   ^ the new entry goes here last
**
** The moves are written from the empty slot backwards, so that at every moment each entry is in at
** least one place. The search goes on from CF_SEARCH_BUCKETS buckets at most, from CF_SEARCH_KEPT where
** a bucket has one slot, from none of them twice, and uses no random numbers. Shortest paths matter
** most where a moved entry costs a page write. Load at the first failure, f = 12, b = 4, 1 M slots:
** 0.967 with 256 buckets, 0.973 with 512, 0.975 with 1,024; the time of a fill to 0.95 does not depend
** on it.
*/
#ifndef CF_EVICTION_H
#define CF_EVICTION_H

#include "entry.h"

enum { CF_SEARCH_BUCKETS = 1024, CF_SEARCH_KEPT = 128 };

/* A bucket that the search reached: from slot `slot` of the bucket of node `parent`. */
typedef struct cf_node {
    uint64_t bucket;
    uint16_t parent; /* index, or CF_NO_PARENT for the buckets of the key itself */
    uint8_t slot;
} cf_node;

enum { CF_NO_PARENT = CF_SEARCH_BUCKETS };

/* How far a search goes. */
typedef struct cf_search_budget {
    unsigned nodes;    /* buckets that it goes on from: up to CF_SEARCH_BUCKETS */
    unsigned examined; /* buckets that it looks at for an empty slot, besides those of the key */
} cf_search_budget;

#define CF_ANY_NUMBER UINT32_MAX

/* The search and, when it succeeded, the path: `leaf` is where it ends. Stacks are small: a node is its
** parent * CF_BUCKET_MAX + slot, and only the first nodes keep their buckets. */
typedef struct cf_search {
    uint64_t kept[CF_SEARCH_KEPT];
    uint16_t from[CF_SEARCH_BUCKETS];
    unsigned nodes;
    cf_search_budget left;
    cf_node leaf;       /* the bucket with the empty slot, and how it was reached */
    unsigned free_slot; /* in that bucket */
} cf_search;

/* Looks for a path for a key whose buckets are full. False: there is none within the budget.
** Changes nothing but *search. */
bool cf_eviction_search(const cf_filter *filter, const cf_pair *pair, cf_search_budget budget,
                        cf_search *search);

/* Moves the entries along the path found, puts the new one into the slot set free, and returns the
** number of entries moved. Cannot fail. */
unsigned cf_eviction_apply(cf_filter *filter, const cf_pair *pair, const cf_search *search,
                           const cf_entry *entry);

#endif
