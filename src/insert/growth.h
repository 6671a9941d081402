/* SPDX-License-Identifier: MIT */
/*
** growth.h - a filter grows without its keys, one bucket at a time.
**
** Linear hashing over remainder bits. A stage of growth is (level k, split pointer P): the buckets
** (j, e) with j * 2^k + e < P are split, their extensions have k + 1 bits; the others have k
** (address.h). The next step splits bucket P into itself and a new last bucket:
**
**      bucket (j, e), k bits                         (j, e), k+1 bits        (j, e + 2^k), k+1 bits
**      [ a: next bit 0 ][ b: next bit 1 ][ c: - ]  ->  [ a ][   ][ c ]        [   ][ b ][ c ]
**
** - Each entry goes to the child that its next remainder bit names. That bit leaves the slot and
**   lives on in the address. Nothing can overflow, and no hash is needed.
** - An entry that knows no further bit is *void*: it is copied into both children, with its
**   counter, value and saturated bit, and belongs to each.
** - An entry that moves to a bucket with a shorter extension takes the bit back into the slot. A
**   exhausted entry never moves to a longer one: it would have to be in both children there.
** - A key that is new at level k knows k + f - s + W remainder bits, W = 4: four more beyond its bucket
**   than before growth. So each doubling adds 2^-W of the error rate that the filter had when it was
**   first full: after k doublings it errs 1 + k / 16 times as often.
** - When all buckets of a level are split, the next step begins the next level.
**
** **A filter is plain, then grown.** Plain slots hold f bits. The first step gives each slot a
** terminator (tag.h) and room for four bits more, f + 5 in all, as many at every level: a split takes
** one bit of each entry, and new entries of the next level know one more. The first step takes time
** proportional to the table, some 15 ms for a million keys; the others split one bucket.
**
** **Deleting is safe.** Claim: as long as only keys are deleted that were added and not yet deleted,
** every present copy of a key has an entry of its own that matches the key, or the key is saturated
** (copies.h). Sketch. Adding stores a prefix of the key's bits, as seen from its side. Cutting makes
** prefixes shorter; moving and splitting keep them; of the two that an exhausted entry becomes exactly
** one is a prefix of its key. Now a copy of key K is deleted: D, the longest match of K, goes. If D is
** K's own, all others keep theirs. Else D belongs to some key K2, or to none, and K has another entry
** E, not longer than D. Both are prefixes of K's bits, so E is a prefix of D, which is a prefix of
** K2's: E matches K2, and becomes its own. With the shortest match instead, K2 would be left with an
** entry that it need not match.
**
**      K  = 0110..   deleted       D = 011  of K2       goes
**      K2 = 0111..                 E = 01   of K        matches K2, too: it is K2's now
**
** Nor does D make K2 saturated together with others: those match K as well, or are matched by a
** saturated entry that K matches, and then nothing is deleted. All of this needs each entry to lie in a
** bucket whose extension it knows: there every key looks that it matches. So exhausted entries do not
** move to longer extensions, and an entry is cut only as far as its bucket allows.
*/
#ifndef CF_GROWTH_H
#define CF_GROWTH_H

#include "../include/cuckoo_inspect.h"

/* The most bytes that memory may have. */
static inline uint64_t cf_most(const cf_memory *memory)
{
    return memory->most != 0 ? memory->most : UINT64_MAX;
}

/* Why there is no room: a filter that may grow, but has no memory, says so. */
static inline cf_status cf_full_or(const cf_filter *filter, cf_status status)
{
    bool lacks = filter->geometry.growth && filter->memory.resize == NULL;
    return status == CF_FULL && lacks ? CF_NEEDS_MEMORY : status;
}

/* Splits one bucket after the other until there are so many. CF_OK; CF_FULL: this filter does not grow,
** or cannot be longer in bits; CF_TOO_BIG, CF_NO_MEMORY: nor in bytes; CF_INTERRUPTED. Steps that were
** done stay; one that fails changes nothing but the length. */
cf_status cf_grow_to(cf_filter *filter, uint64_t buckets);

/* Makes the blob as long as asked for, and an eighth longer, so that most steps find room; but zeros
** must not take long. Nobody is told of them, for nothing was there (cf_pages). */
cf_status cf_make_longer(cf_filter *filter, uint64_t bytes);

/* May the table grow for an entry that finds no room? At least half of its slots are in use then, for
** keys may be chosen to crowd one place; and it has at most four for each item, for splitting makes two
** of exhausted entries. A small table has a few more. With values an eighth is enough: four values of a
** key fill half of its pair. The first growth may come at any time: without it there are no marks
** (copies.h). */
bool cf_may_split(const cf_filter *filter);

/* Is a table that has grown to split before an add: are so many of its slots in use? In a filter that
** ages they say nothing, for the dead take up no room. */
bool cf_is_crowded(cf_filter *filter);

/* Stores one copy of a key, or an entry of another filter (copies.h). Of the entry, `side`, `payload`
** and `saturated` are read. The filter grows before, by 16 buckets at most, when it is crowded; and by
** 64 when there is no room, but for the first growth, and for values. CF_OK: stored, stashed, counted,
** or absorbed. CF_FULL, CF_TOO_BIG, CF_NO_MEMORY; CF_INTERRUPTED, in the first growth; CF_BAD_ARGUMENT:
** the entry, which comes from a filter that has grown less, knows too little for both of its buckets.
** Then no answer has changed, but the filter may have grown. Counts `occupied`, not `items`. */
cf_status cf_insert(cf_filter *filter, const cf_entry *entry);

#endif
