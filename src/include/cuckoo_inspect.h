/* SPDX-License-Identifier: MIT */
/*
** cuckoo_inspect.h - looking inside a filter, which changes nothing. Threads and errors: cuckoo_view.h.
*/
#ifndef CF_CUCKOO_INSPECT_H
#define CF_CUCKOO_INSPECT_H

#include "cuckoo_filter.h"

/* A fingerprint, or all the bits of a hash, as seen from one of its two sides. */
typedef struct cf_side {
    uint64_t base;   /* base bucket, 0 .. m0-1 */
    uint64_t bits;   /* pair bits lowest, then the remainder bits known, then zeros */
    unsigned length; /* remainder bits known */
} cf_side;

/* Where a side lies, or would lie. */
typedef struct cf_place {
    uint64_t bucket;    /* number of the bucket */
    uint64_t tag;       /* what slots are compared with: pair bits, remainder behind the extension */
    unsigned extension; /* remainder bits that the number of the bucket stands for */
} cf_place;

/* The places where a key or an entry can lie, in different buckets. */
typedef struct cf_pair {
    cf_side side[2]; /* base, alternate */
    cf_place place[2];
    unsigned sides; /* so many: 2 of a key, fewer of an entry that knows too little */
} cf_pair;

/* The candidate places of a key. */
cf_pair cf_candidates(const cf_filter *filter, uint64_t hash);

/* An entry: what a slot or a line of the stash holds. */
typedef struct cf_entry {
    cf_side side;     /* what it knows, seen from its bucket */
    uint64_t payload; /* its value; the copies beyond the first; or its epoch modulo 16 */
    bool saturated;   /* it stands for max_copies copies, or with counters for 2^counter_bits, or more */
    uint64_t bucket;  /* where it lies */
    unsigned slot;    /* there; or CF_IN_LIST and its number in the stash */
    unsigned extension; /* remainder bits that the number of its bucket stands for */
} cf_entry;

enum { CF_IN_LIST = CF_BUCKET_MAX };

/* What lies in a slot of a bucket: 0 .. buckets-1, 0 .. b-1. False: nothing. */
bool cf_entry_at(const cf_filter *filter, uint64_t bucket, unsigned slot, cf_entry *entry);

/* Entry 0 .. stashed-1 of the stash. False: hostile bytes, and no entry. */
bool cf_stashed_at(const cf_filter *filter, unsigned index, cf_entry *entry);

/* The other bucket of an entry. *movable: can it lie there, too? */
uint64_t cf_entry_alternate(const cf_filter *filter, const cf_entry *entry, bool *movable);

/* The number of copies that an entry represents; a lower bound when it is saturated. */
uint64_t cf_entry_copies(const cf_filter *filter, const cf_entry *entry);

/* The overflow bit of a bucket: is it in the pair of a stashed entry? */
bool cf_overflows(const cf_filter *filter, uint64_t bucket);

/* Does an entry in the bucket of a key's side match the key? One that is too old matches none. */
bool cf_entry_matches(const cf_filter *filter, const cf_entry *entry, const cf_side *key);

/* The fingerprint that the key would get now: pair bits and so many remainder bits. */
cf_side cf_new_fingerprint(const cf_filter *filter, const cf_side *key);

/* What a full walk over the buckets finds. */
typedef struct cf_census {
    cf_status status;   /* CF_OK; CF_INTERRUPTED: the rest counts a part of the filter */
    uint64_t occupied;  /* slots in use */
    uint64_t copies;    /* that entries stand for */
    uint64_t saturated; /* saturated fingerprints: deletes do not change them */
    uint64_t exhausted; /* entries that know no bit beyond their bucket: they double when it splits */
    unsigned shortest;  /* remainder bits of the entry that knows least; UINT_MAX: there is none */
    double fpr; /* the share of all hashes that some entry matches: the current false-positive rate */
} cf_census;

/* Counts, in time proportional to the part of the table that is in use. */
cf_census cf_take_census(const cf_filter *filter);

/* Checks the form, which opening does not, but no fingerprint (cf_open): the counts against the buckets,
** the entries against the rules, unused bits zero. CF_OK; CF_DAMAGED and *why; CF_INTERRUPTED, and
** nothing is known. Time as cf_take_census. */
cf_status cf_check(const cf_filter *filter, const char **why);

#endif
