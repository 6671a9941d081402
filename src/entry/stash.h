/* SPDX-License-Identifier: MIT */
/*
** stash.h - bounded insertion: overflow bits, and an exact list of the entries that found no slot.
**
** In a nearly full table the search for an eviction path can be long. With a stash it examines at most
** `budget` buckets; then the entry is stashed. If the stash is full, it searches as without a stash.
** Each bucket has an overflow bit: it is set if the bucket is in the pair of a stashed entry. Together
** these bits are a Bloom filter of the stashed entries (the Bloom-Cuckoo filter). A lookup searches the
** stash only if the bits of both its buckets are set, and adds no false positives: it is exact.
**
**      | buckets | reserved zero bytes | entry 0 | entry 1 | ... | zeros up to stash_size entries |
**      entry, 16 bytes:  bucket, 6 bytes | tag, 6 bytes | value or counter, 4 bytes
**
** Entries are sorted by bucket, then tag, then payload. A stashed entry behaves like any other: it
** belongs to one of the two buckets in which it could have a slot, matches, counts, and can be deleted.
** That bucket is full: a slot that becomes free is given to the entry at once (copies.c). Each delete
** also searches for a slot for one stashed entry (eviction.h), to empty the stash.
**
** A filter with a stash does not grow (geometry.c), so its entries all know the same number of bits.
** Entries with an invalid bucket or without a tag (corrupt input only) are ignored.
*/
#ifndef CF_STASH_H
#define CF_STASH_H

#include "../include/cuckoo_inspect.h"
#include "../shape/geometry.h"

enum { CF_STASH_COPIES = 8 /* stashed entries that match one key, at most */ };

/* A stored entry: its bucket, and its tag and payload in the form that slots have (lanes.h). */
typedef struct cf_record {
    uint64_t bucket, tag, payload;
} cf_record;

/* Entry 0 .. stashed-1. */
cf_record cf_stash_get(const cf_filter *filter, unsigned index);

/* The position of the first entry that is not less than `entry`. */
unsigned cf_stash_position(const cf_filter *filter, const cf_record *entry);

/* Adds an entry to the stash, which must not be full, and sets the overflow bits of its buckets. */
void cf_stash_add(cf_filter *filter, const cf_record *entry);

/* Removes an entry from the stash, and clears overflow bits that no other entry needs. */
void cf_stash_remove(cf_filter *filter, unsigned index);

/* What is wrong with the stash, its order or its overflow bits; NULL: nothing. Takes quadratic time. */
const char *cf_stash_fault(const cf_filter *filter);

/* The index of the first entry that has `bucket` in its pair; `stashed` if there is none. */
unsigned cf_stash_of_bucket(const cf_filter *filter, uint64_t bucket);

#endif
