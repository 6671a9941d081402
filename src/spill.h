/*
** spill.h - bounded insertion: overflow bits, and an exact list of the entries that found no slot.
**
** In a nearly full table the search for a path can be long. With a spill list it may look at `budget` buckets; then the
** entry goes to the list, and the insertion is over. Each bucket has an overflow bit, which says that some
** entry of the list has this bucket in its pair; together the bits are a Bloom filter (the Bloom-Cuckoo filter) of what
** was spilled. Only a lookup that finds the bits of both its buckets set asks the list, and the list is exact: the
** error rate does not rise.
**
**      | buckets | reserved zero bytes | entry 0 | entry 1 | ... | zeros up to spill_bound entries |
**      entry, 16 bytes:  bucket, 6 bytes | tag, 6 bytes | payload, 4 bytes       sorted in this order
**
** A spilled entry is one in every respect. It lies in one of the buckets where it would have a slot; the tag is what the
** slot would hold. It matches, counts, is cut, absorbs and is deleted as if it were there, and is split
** with its bucket. Room that appears in its pair (by a delete or a split) is taken at once, so that the bucket in
** which it would lie is full; and each delete looks for room for one spilled entry with an ordinary search (place.h), so
** that the list is there for the next burst. A list that is full means ordinary search, and then growth.
**
** Bytes that lie: an entry in a bucket that does not exist, or empty, is as good as not there.
*/
#ifndef CF_SPILL_H
#define CF_SPILL_H

#include "matches.h"

enum {
    CF_SPILL_ENTRY = 16, /* bytes */
    CF_SPILL_COPIES = 8  /* entries of the list that match one key: more than these are not spilled */
};

typedef struct cf_spilled {
    uint64_t bucket, tag, payload;
} cf_spilled;

/* Bytes of the list at the end of the blob, whether used or not. */
static inline uint64_t cf_spill_bytes(const cf_filter *filter)
{
    return (uint64_t)filter->geometry.spill_bound * CF_SPILL_ENTRY;
}

/* Entry 0 .. spilled-1. */
cf_spilled cf_spill_get(const cf_filter *filter, unsigned index);

/* The first entry that lies in this bucket, or where it would be: entries of one bucket stand together. */
unsigned cf_spill_first(const cf_filter *filter, uint64_t bucket);

/* Are both overflow bits of a pair set? Else no entry of the list matches a key of this pair. */
bool cf_may_be_spilled(const cf_filter *filter, const cf_pair *pair);

/* Entries of the list that match a key (or know no more than the pair). */
unsigned cf_spill_matching(const cf_filter *filter, const cf_pair *pair);

/* Puts an entry into the list, as one of pair->place[0]. False: no room, or enough like it are there. */
bool cf_spill_add(cf_filter *filter, const cf_pair *pair, unsigned length, uint64_t payload);

void cf_spill_remove(cf_filter *filter, unsigned index);

/* Makes an entry say something else. Others may have other numbers afterwards. */
void cf_spill_change(cf_filter *filter, unsigned index, uint64_t tag, uint64_t payload);

/* Moves spilled entries to the empty slots of a bucket. */
void cf_spill_drain(cf_filter *filter, uint64_t bucket);

/* ---- growth ---- */

/* Is there room for what the bucket at the split pointer has spilled, when it is split? */
bool cf_spill_can_split(const cf_filter *filter, uint64_t low);

/* Before bucket `low` is split: clears the bits of its spilled entries. False: its pair has none. */
bool cf_spill_prepare_split(cf_filter *filter, uint64_t low);

/* After it was split into itself and `high`: its spilled entries follow, and all bits are right again. */
void cf_spill_split(cf_filter *filter, uint64_t low, uint64_t high);

/* After slots got terminators. */
void cf_spill_recode(cf_filter *filter);

/* Clears the overflow bits of the entries in the list; sets them. */
void cf_spill_clear_bits(cf_filter *filter);
void cf_spill_set_bits(cf_filter *filter);

/* ---- looking inside ---- */

/* Is the list in order, and does it agree with the overflow bits? Time proportional to the part of the
** table that is in use, and to the square of the list. CF_OK; CF_DAMAGED and *why; CF_INTERRUPTED. */
cf_status cf_spill_check(const cf_filter *filter, const char **why);

#endif
