/* SPDX-License-Identifier: MIT */
/*
** copies.h - how often a key is there: exact below max_copies, saturated at max_copies.
**
** Saturated is a property of an entry. A saturated entry stands for max_copies copies or more, of every
** key that it matches: such a key is found for ever, further adds are absorbed, and deletes change
** nothing. The mark is
**
**      with counters              a full counter: 2^counter_bits copies
**      without, once grown        the saturated bit of the slot (bucket.h)
**      without, before growth     there is none: max_copies equal entries in a pair say it
**
** A saturated entry *weighs* max_copies. Any other one weighs 1, or nothing when it counts its copies.
**
** - An add finds the entries that match the key. While they and the new copy weigh less than max_copies,
**   the copy is counted on one of them, or stored. Else entries are chosen, the longest first,
**   until they and the new copy weigh max_copies, one at least. The shortest of those becomes
**   saturated, the others go. Without marks the add is absorbed when the matches alone weigh max_copies.
** - A delete changes nothing when the matches weigh max_copies. Else it takes one copy off the longest
** match. - A merge adds an entry of another filter. Entries that know more than it, and agree with it,
** count as
**   matches, too, when that saves room; one that stays is cut to what the new entry knows.
** - Where no room can be made otherwise, entries *fold* before max_copies is reached: some that say the
** same
**   become one that is saturated, or counts their copies. An add that would be refused makes a key
**   saturated.
**
** "Longer" means all that is known, the extension included. Sound: the entry that stays is a prefix of
** each that goes, and of the new one. Whoever owned one of those matches it. It lies in a bucket whose
** extension it knows, so all of them look there. growth.h has the argument for deletes. With values all
** of this holds for each value by itself.
*/
#ifndef CF_COPIES_H
#define CF_COPIES_H

#include "../entry/entry.h"

/* Is a key with these matches saturated: do they weigh max_copies? */
bool cf_is_saturated(const cf_filter *filter, const cf_matches *found);

/* Absorbs a copy of a key, or an entry of another filter, or counts it. False: nothing has changed, and
** it needs a slot. Of the new entry, `side`, `payload` and `saturated` are read; the side is one of
** `pair`. In a filter that ages, the longest entry that matches it gets its epoch, when that is later;
** one that knows less only with `any`: it is often of another key, and strangers would match it for
** longer. */
bool cf_copies_add(cf_filter *filter, const cf_pair *pair, const cf_entry *added, bool any);

/* Folds entries in the buckets of a pair, both of them full, in the best way there is, and stores the
** new entry: `copies` of them at least become one, the new one included, or any number when that makes
** nothing saturated that is not. False: there are none, or nothing can be marked. */
bool cf_copies_fold(cf_filter *filter, const cf_pair *pair, const cf_entry *added, unsigned copies);

/* Takes one copy off the pair. */
cf_deleted cf_copies_remove(cf_filter *filter, const cf_pair *pair, uint64_t value);

#endif
