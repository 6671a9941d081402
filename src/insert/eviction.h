/* SPDX-License-Identifier: MIT */
/*
** eviction.h - frees a slot by the shortest eviction path.
**
** If both buckets of a key are full, entries can move to their own alternate buckets. The paper
** (algorithm 1) kicks random entries, up to 500, and writes as it goes, so a failure leaves a victim
** without a slot. Here the path is searched first, breadth first, and written only if it ends in an
** empty slot:
**
**      root: the two buckets of the key (full)
**        '- every slot of them -> its alternate bucket: done if it has an empty slot, else expand it
**
**      path:     root bucket     bucket        bucket with an empty slot
**                  slot --(move 2)--> slot --(move 1)--> slot
**                   ^ the new entry goes here last
**
** Moves are written from the empty slot backwards, so at every moment each entry is in at least one
** place. The search expands at most CF_SEARCH_BUCKETS buckets (128 if buckets have one slot), none
** twice, and uses no random numbers. Load factor at the first failure, f = 12, b = 4, 1 M slots: 0.967
** with 256 buckets, 0.973 with 512, 0.975 with 1,024; the time of a fill to 0.95 does not depend on it.
*/
#ifndef CF_EVICTION_H
#define CF_EVICTION_H

#include "../entry/entry.h"

enum { CF_SEARCH_BUCKETS = 1024 };
#define CF_ANY_NUMBER UINT32_MAX

/* Frees a slot of a key whose buckets are full, and stores an entry there. The search expands at most
** `nodes` buckets, and examines at most `examined` others for an empty slot. False: there is no path
** within these limits, and nothing has changed. */
bool cf_evict(cf_filter *filter, const cf_pair *pair, unsigned nodes, unsigned examined,
              const cf_entry *entry);

/* Moves stashed entry `index`, if it exists, to a slot; a search expands at most `nodes` buckets. False:
** no slot was found, and nothing has changed. */
bool cf_stash_place(cf_filter *filter, unsigned index, unsigned nodes);

#endif
