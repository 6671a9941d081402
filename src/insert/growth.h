/* SPDX-License-Identifier: MIT */
/*
** growth.h - a filter grows without its keys, one bucket at a time.
**
** This is linear hashing over remainder bits. A stage of growth is (level k, split pointer P): buckets
** (j, e) with j * 2^k + e < P are split, and their extensions have k + 1 bits; the extensions of the
** others have k (address.h). The next step splits bucket P into itself and a new last bucket:
**
**      bucket (j, e), k bits                         (j, e), k+1 bits        (j, e + 2^k), k+1 bits
**      [ a: next bit 0 ][ b: next bit 1 ][ c: - ]  ->  [ a ][   ][ c ]        [   ][ b ][ c ]
**
** - Each entry goes to the child that its next remainder bit names. That bit leaves the slot and is from
**   then on implied by the bucket. Nothing can overflow, and no hash is needed.
** - An entry that knows no further bit is *exhausted*: it is copied into both children, with its
**   counter, value and saturated bit, and belongs to each.
** - An entry that moves to a bucket with a shorter extension takes the bit back into the slot. An
**   exhausted entry never moves to a longer one: it would have to be in both children there.
** - A key that is new at level k knows k + f - s + W remainder bits, W = 4: four more beyond its bucket
**   than before growth. So each doubling adds 2^-W of the false-positive rate that the filter had when
**   it was first full: after k doublings the rate is 1 + k / 16 times as high.
** - When all buckets of a level are split, the next step begins the next level.
**
** **A filter is plain, then grown.** Plain slots have f bits. The first step gives each slot a
** terminator (tag.h) and four bits more, f + 5 in all, the same at every level: a split takes one bit
** from each entry, and new entries of the next level know one more. The first step takes time
** proportional to the table, some 15 ms for a million keys; the others split one bucket.
**
** **Deleting is safe.** Claim: as long as only keys are deleted that were added and not yet deleted,
** every present copy of a key has an entry of its own that matches the key, or the key is saturated
** (copies.h). Sketch. Adding stores a prefix of the key's bits, as seen from its side. Cutting makes
** prefixes shorter; moving and splitting keep them; of the two copies of an exhausted entry exactly one
** is a prefix of its key. Now a copy of key K is deleted: D, the longest match of K, is removed. If D is
** K's own, all others keep theirs. Otherwise D belongs to some key K2, or to none, and K has another
** entry E, not longer than D. Both are prefixes of K's bits, so E is a prefix of D, which is a prefix of
** K2's: E matches K2, and becomes its own. With the shortest match instead, K2 would be left with an
** entry that may not match it.
**
**      K  = 0110..   deleted       D = 011  of K2       is removed
**      K2 = 0111..                 E = 01   of K        matches K2, and is now its own
**
** D cannot have helped to saturate K2 either: every other entry that did so also matches K, or is
** matched by a saturated entry that K matches, and then nothing is deleted. All of this requires that
** each entry is in a bucket whose extension it knows, because every key that it matches looks there. So
** exhausted entries do not move to longer extensions, and no entry is cut below its extension.
*/
#ifndef CF_GROWTH_H
#define CF_GROWTH_H

#include "../include/cuckoo_inspect.h"

/* The maximum number of bytes of `memory`. */
static inline uint64_t cf_most(const cf_memory *memory)
{
    return memory->most != 0 ? memory->most : UINT64_MAX;
}

/* The status, or CF_NEEDS_MEMORY if a filter that may grow is full because it has no memory. */
static inline cf_status cf_full_or(const cf_filter *filter, cf_status status)
{
    bool lacks = filter->geometry.growth && filter->memory.resize == NULL;
    return status == CF_FULL && lacks ? CF_NEEDS_MEMORY : status;
}

/* Splits one bucket after the other until there are `buckets` buckets. CF_OK; CF_FULL: this filter does
** not grow, or has no more bits to split on; CF_TOO_BIG, CF_NO_MEMORY: the bytes; CF_INTERRUPTED. Steps
** that were done stay; a step that fails changes only the length. */
cf_status cf_grow_to(cf_filter *filter, uint64_t buckets);

/* Makes the blob at least `bytes` long, and an eighth longer, so that most steps need no memory; but not
** much longer, because zeroing takes time. The pager is not called: nothing was there (cf_pages). */
cf_status cf_make_longer(cf_filter *filter, uint64_t bytes);

/* True if the table may grow for an entry that finds no slot. At least half of its slots must be in use,
** because keys may be chosen to crowd one bucket; and it may have at most four slots per item, because
** splitting doubles exhausted entries. A small table may have a few more. With values an eighth of the
** slots suffices: four values of a key fill half of its pair. The first growth is always allowed:
** without it nothing can be marked as saturated (copies.h). */
bool cf_may_split(const cf_filter *filter);

/* True if a grown table should split before an add, because most of its slots are in use. Always false
** with epochs, where occupied slots include slots of expired entries. */
bool cf_is_crowded(cf_filter *filter);

/* Stores one copy of a key, or an entry of another filter (copies.h). `side`, `payload` and `saturated`
** of the entry are read. If the table is crowded, it first grows, by at most 16 buckets; and by 64 if
** there is no slot (by more in the first growth, and with values). CF_OK: stored, stashed, counted, or
** absorbed. CF_FULL, CF_TOO_BIG, CF_NO_MEMORY; CF_INTERRUPTED, in the first growth; CF_BAD_ARGUMENT: the
** entry comes from a filter that has grown less, and knows too few bits for either bucket. On error no
** answer has changed, but the filter may have grown. Counts `occupied`, not `items`. */
cf_status cf_insert(cf_filter *filter, const cf_entry *entry);

#endif
