/* SPDX-License-Identifier: MIT */
/*
** stash.h - bounded insertion: overflow bits, and an exact list of the entries that found no slot.
**
** In a nearly full table the search for a path can be long. With a stash it may look at `budget`
** buckets; then the entry goes to the list. When the list is full, too, the search goes on as ever. Each
** bucket has an overflow bit: some entry of the list has this bucket in its pair. Together the bits are
** a Bloom filter of what was stashed (the Bloom-Cuckoo filter). Only a lookup that finds the bits of
** both its buckets set asks the list, and the list is exact: the error rate does not rise.
**
**      | buckets | reserved zero bytes | entry 0 | entry 1 | ... | zeros up to stash_size entries |
**      entry, 16 bytes:  bucket, 6 bytes | tag, 6 bytes | value or counter, 4 bytes
**
** Entries are sorted by bucket, then tag, then payload. A stashed entry is one in every respect: it lies
** in one of the buckets where it would have a slot, matches, counts, and is deleted. That bucket is
** full: room that appears there is taken at once (copies.c). Each delete looks for room for one stashed
** entry with an ordinary search (eviction.h), so that the list is there for the next burst.
**
** A filter with a stash does not grow (geometry.c): its entries all know as much as each other. An
** entry that names no bucket, or is empty, which only bytes that lie have, is as good as not there.
*/
#ifndef CF_STASH_H
#define CF_STASH_H

#include "../include/cuckoo_inspect.h"
#include "../shape/geometry.h"

enum { CF_STASH_COPIES = 8 /* entries of the list that match one key: there are never more */ };

/* An entry as it is stored: its bucket, and tag and payload as a slot has them (bucket.h). */
typedef struct cf_record {
    uint64_t bucket, tag, payload;
} cf_record;

/* Entry 0 .. stashed-1. */
cf_record cf_stash_get(const cf_filter *filter, unsigned index);

/* The first entry that does not come before this one. */
unsigned cf_stash_position(const cf_filter *filter, const cf_record *entry);

/* Puts an entry into the list, which has room, and sets the overflow bits of its buckets. */
void cf_stash_add(cf_filter *filter, const cf_record *entry);

/* Takes an entry out of the list, and clears overflow bits that no other entry needs. */
void cf_stash_remove(cf_filter *filter, unsigned index);

/* What is wrong with the list, its order or its overflow bits; NULL: nothing. Time proportional to the
** square of the list. */
const char *cf_stash_fault(const cf_filter *filter);

/* The first entry that has a bucket in its pair; `stashed`: there is none. */
unsigned cf_stash_of_bucket(const cf_filter *filter, uint64_t bucket);

#endif
