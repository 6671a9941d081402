/*
** copies.h - how often a key is there: exact below cap, sticky at cap.
**
** The entries that match a key lie in its pair and agree with it in every bit they know. With counters an entry
** stands for several copies (payload + 1 of them); it is *at its maximum* when it cannot stand for more, and
** without counters every entry is.
**
** - An add is absorbed when cap entries that match are at their maximum and can be cut to one length: then they say
**   the same, whoever matches one of them matches all, and finds the key sticky for ever. Cutting is sound when
**   each still knows the extension of its own bucket: an entry that lies in a bucket not yet split may know
**   too little to be made equal to one in a bucket that is. An entry of another filter, in a merge, may itself know less
**   than those that are there: then these are cut to what it knows.
** - A delete changes nothing when cap entries that match are at their maximum. Else it takes one copy off the longest
**   match (growth.h says why the longest).
*/
#ifndef CF_COPIES_H
#define CF_COPIES_H

#include "matches.h"

/* A key, or an entry of another filter, to be stored. */
typedef struct cf_item {
    cf_side side;     /* either of its sides */
    uint64_t payload; /* the value; or the number of copies less one */
} cf_item;

/* The largest payload of an entry: 0 without counters. */
uint64_t cf_most_further_copies(const cf_geometry *shape);

/* Can it stand for no more copies? */
bool cf_at_maximum(const cf_filter *filter, const cf_match *match);

/* Are there cap matches at their maximum? */
bool cf_matches_sticky(const cf_filter *filter, const cf_matches *found);

/* Finds room for a copy among the entries that match: absorbs it, or counts it. On return item->payload is
** what is left to store, when it returns false. Cannot fail. */
bool cf_copies_absorb(cf_filter *filter, const cf_pair *pair, cf_item *item);

/* Takes one copy off the pair. */
cf_deleted cf_copies_remove(cf_filter *filter, const cf_pair *pair, uint64_t value);

#endif
