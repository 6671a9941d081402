/*
** join.h - room in a crowded pair without growth: what is sticky takes fewer entries.
**
** A key that is there cap times is sticky for ever, and takes cap slots. Where such keys crowd a pair of buckets growth is no
** remedy: three of them need 9 slots of 8 (b = 4) until a level is reached that tells them apart, and entries
** that know nothing beyond their bucket go to both of its children, whenever it is split. But cap entries that say the
** same say it cap times:
**
** - *Folding.* A class (copies.h) that lies in a bucket of which it knows no more than the bucket itself becomes one
**   slot without terminator (bucket.h). It stands for the cap entries, is matched by the same keys, and moves only to
**   a bucket of which the same is true.
** - *Joining.* The cap entries of one class are cut to the bits that it has in common with another class of the pair; that
**   one's entries are not needed any more:
**
**       A A A B | B B C C   + C, A = ..0110, B = ..1010     ->     P P P . | . . C C,  P = ..10
**
**   The price is that more keys match the shorter entries, so the two with the longest common part are chosen, and only
**   when all buckets that entries of the pair can move to are full. (b = 4 and s = 6 have 32 pairs per bucket: if all keys
**   are sticky, three of them share one in a bucket of 5,000.)
** - *Rounding up and joining*, at any price, when growth is no remedy either: with counters, keys that have cap entries
**   of which not all are at their maximum are taken to be sticky, and made so. They are found for ever; that is better than to
**   refuse an add.
** - *Cutting and folding*, last of all: a class forgets all but its bucket, and is folded.
**   Where two buckets are full of classes of different pair bits there is nothing else. (As a rule it would be ruinous: what
**   is folded is in both children of a bucket, and crowds them again. Growing from 10 keys to 300,000, four copies
**   each, ended with an error rate of 18 %.)
**
** Sound, by the claim in growth.h: whoever an entry stands for that is taken out matches the class that stays, is found for
** ever, and deletes of it change nothing, as before. The entries that stay are cut no further than their buckets allow.
*/
#ifndef CF_JOIN_H
#define CF_JOIN_H

#include "bucket.h"
#include "copies.h"

/* The buckets that have changed, as they were. */
typedef struct cf_joined {
    uint64_t bucket[2];
    cf_record record[2];
    unsigned buckets;
    uint64_t occupied;
} cf_joined;

/* For an item whose pair has no room, in a filter that has grown: folds a class in one of the buckets that entries can
** be moved to from there, or joins two, so that a slot becomes empty, or the item is one of a class. False: there is none to fold or join; nothing has
** changed. Looks at no more than some dozen buckets, and leaves the spill list alone. */
bool cf_join_classes(cf_filter *filter, const cf_pair *pair, const cf_item *item, bool at_any_price,
                     cf_joined *joined);

/* Takes it back, when nothing has happened since. */
void cf_join_back(cf_filter *filter, const cf_joined *joined);

#endif
