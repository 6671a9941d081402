/* SPDX-License-Identifier: MIT */
/*
** cuckoo_inspect.h - looks inside a filter. Threads and errors: as in cuckoo_filter.h.
*/
#ifndef CF_CUCKOO_INSPECT_H
#define CF_CUCKOO_INSPECT_H

#include "cuckoo_filter.h"

/* A fingerprint, or all bits of a hash, seen from one of its two sides. */
typedef struct cf_side {
    uint64_t base;   /* base bucket, 0 .. m0-1 */
    uint64_t bits;   /* pair bits lowest, then the remainder bits known, then zeros */
    unsigned length; /* remainder bits known */
} cf_side;

/* The place of a side in the table. */
typedef struct cf_place {
    uint64_t bucket;    /* number of the bucket */
    uint64_t tag;       /* compared with slots: pair bits, remainder bits behind the extension */
    unsigned extension; /* remainder bits implied by the number of the bucket */
} cf_place;

/* The possible places of a key or an entry, in different buckets. */
typedef struct cf_pair {
    cf_side side[2]; /* base, alternate */
    cf_place place[2];
    unsigned sides; /* 2 for a key; fewer for an entry that knows too few bits */
} cf_pair;

/* The candidate places of a key. */
cf_pair cf_candidates(const cf_filter *filter, uint64_t hash);

/* An entry, in a slot or in the stash. */
typedef struct cf_entry {
    cf_side side;     /* the bits that it knows, seen from its bucket */
    uint64_t payload; /* its value; the copies beyond the first; or its epoch modulo 16 */
    bool saturated;   /* it stands for max_copies copies, or with counters for 2^counter_bits, or more */
    uint64_t bucket;  /* where it is */
    unsigned slot;    /* slot in the bucket; or CF_IN_LIST + its index in the stash */
    unsigned extension; /* remainder bits implied by the number of its bucket */
} cf_entry;

enum { CF_IN_LIST = CF_BUCKET_MAX };

/* Reads a slot of a bucket: 0 .. buckets-1, 0 .. b-1. False: it is empty. */
bool cf_entry_at(const cf_filter *filter, uint64_t bucket, unsigned slot, cf_entry *entry);

/* Reads entry 0 .. stashed-1 of the stash. False: it is invalid (corrupt input only). */
bool cf_stashed_at(const cf_filter *filter, unsigned index, cf_entry *entry);

/* The other bucket of an entry. *movable: true if the entry could move there. */
uint64_t cf_entry_alternate(const cf_filter *filter, const cf_entry *entry, bool *movable);

/* The number of copies that an entry represents; a lower bound when it is saturated. */
uint64_t cf_entry_copies(const cf_filter *filter, const cf_entry *entry);

/* The overflow bit: true if the bucket is in the pair of a stashed entry. */
bool cf_overflows(const cf_filter *filter, uint64_t bucket);

/* True if an entry in the bucket of a key's side matches the key. Expired entries match no key. */
bool cf_entry_matches(const cf_filter *filter, const cf_entry *entry, const cf_side *key);

/* The fingerprint that the key would get now: its pair bits and remainder bits. */
cf_side cf_new_fingerprint(const cf_filter *filter, const cf_side *key);

/* The result of a full walk over the buckets. */
typedef struct cf_census {
    cf_status status;   /* CF_OK; CF_INTERRUPTED: only a part of the filter was counted */
    uint64_t occupied;  /* slots in use */
    uint64_t copies;    /* copies in all entries */
    uint64_t saturated; /* saturated fingerprints, which deletes do not change */
    uint64_t exhausted; /* entries without a further bit: they double when their bucket splits */
    unsigned shortest;  /* fewest remainder bits of an entry; UINT_MAX: there is none */
    double fpr;    /* the share of all hashes that some entry matches: the current false-positive rate */
    unsigned most; /* entries of the key that has the most: its values, in a filter with values */
} cf_census;

/* Counts, in time proportional to the part of the table that is in use. */
cf_census cf_take_census(const cf_filter *filter);

/* Checks the structure, which opening does not, but no fingerprint (cf_open): counts, entries and unused
** bits. CF_OK; CF_DAMAGED and *why; CF_INTERRUPTED: the result is unknown. Time as cf_take_census. */
cf_status cf_check(const cf_filter *filter, const char **why);

#endif
