/* SPDX-License-Identifier: MIT */
/*
** eviction.h - making room: the shortest chain of moves that frees a slot.
**
** When both buckets of a key are full, entries can move to their own alternate buckets. The paper
** (algorithm 1) kicks random entries, up to 500, and writes as it goes: a failure leaves a victim
** without a place. Here the chain is searched first, breadth first, and written only when it ends in an
** empty slot:
**
**      root: the two buckets of the key (full)
**        '- every slot of them -> its alternate bucket: is there an empty slot? else go on from there
**
**      path:     root bucket     bucket        bucket with an empty slot
**                  slot --(move 2)--> slot --(move 1)--> slot
**                   ^ the new entry goes here last
**
** Moves are written from the empty slot backwards: at every moment each entry is in at least one place.
** The search goes on from CF_SEARCH_BUCKETS buckets at most, from 128 where a bucket has one slot, from
** none twice, and uses no random numbers. Load at the first failure, f = 12, b = 4, 1 M slots: 0.967
** with 256 buckets, 0.973 with 512, 0.975 with 1,024; the time of a fill to 0.95 does not depend on it.
*/
#ifndef CF_EVICTION_H
#define CF_EVICTION_H

#include "../entry/entry.h"

enum { CF_SEARCH_BUCKETS = 1024 };
#define CF_ANY_NUMBER UINT32_MAX

/* Frees a slot of a key whose buckets are full, and puts an entry there. The search goes on from `nodes`
** buckets at most, and looks at `examined` for an empty slot, besides those of the key. False: there is
** no path within these limits, and nothing has changed. */
bool cf_evict(cf_filter *filter, const cf_pair *pair, unsigned nodes, unsigned examined,
              const cf_entry *entry);

/* Moves stashed entry `index`, if there is one, to a slot; a search for one goes on from `nodes` buckets
** at most. False: there is none, and nothing has changed. */
bool cf_stash_place(cf_filter *filter, unsigned index, unsigned nodes);

#endif
