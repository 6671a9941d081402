/* SPDX-License-Identifier: MIT */
/*
** copies.h - the copies of a key: their number is exact below max_copies, and saturated at max_copies.
**
** Entries are saturated, and with them the keys that match. A saturated entry stands for max_copies or
** more copies of every key that it matches: such a key is found forever, further adds are absorbed, and
** deletes change nothing. The mark is
**
**      with counters              a full counter: 2^counter_bits copies
**      without, once grown        the saturated bit of the slot (lanes.h)
**      without, before growth     none: max_copies equal entries in a pair are saturated
**
** A saturated entry *weighs* max_copies. Any other entry weighs 1, or 0 if it has a counter.
**
** - An add finds the entries that match the key. While they and the new copy weigh less than max_copies,
**   the copy is counted in one of them, or stored. Otherwise entries are chosen, the longest first and
**   at least one, until they and the new copy weigh max_copies. The shortest of those becomes saturated,
**   the others are removed. Without marks the add is absorbed if the matches alone weigh max_copies.
** - A delete changes nothing if the matches weigh max_copies. Otherwise it removes one copy from the
**   longest match.
** - A merge adds an entry of another filter. Entries that know more than it, and agree with it, also
**   count as matches if that saves a slot; the one that stays is cut to what the new entry knows.
** - If there is no other way to free a slot, entries *fold* before max_copies is reached: equal ones
**   become one that is saturated or counts their copies. So an add saturates a key instead of failing.
**
** The length of an entry includes the extension. This is sound: the entry that stays is a prefix of each
** one that is removed, and of the new one, so every key that they stood for matches it. It is in a
** bucket whose extension it knows, so all these keys look there. growth.h has the argument for deletes.
** In a filter with values all of this holds for each value separately.
*/
#ifndef CF_COPIES_H
#define CF_COPIES_H

#include "../entry/entry.h"

/* True if a key with these matches is saturated: they weigh max_copies. */
bool cf_is_saturated(const cf_filter *filter, const cf_matches *found);

/* Absorbs or counts a copy of a key, or an entry of another filter. False: nothing has changed, and it
** needs a slot. `side`, which is one of `pair`, `payload` and `saturated` of the new entry are read. In
** a filter with epochs the longest match gets the epoch of the new entry, if that is later; a match that
** knows less only with `any`: it often belongs to another key, which would then expire later. */
bool cf_copies_add(cf_filter *filter, const cf_pair *pair, const cf_entry *added, bool any);

/* Folds entries in the full buckets of a pair in the best way there is, and stores the new entry. At
** least `copies` entries are united, the new one included, or any number if that saturates no
** unsaturated entry. False: there are none, or nothing can be marked. */
bool cf_copies_fold(cf_filter *filter, const cf_pair *pair, const cf_entry *added, unsigned copies);

/* Deletes one copy from a pair. */
cf_deleted cf_copies_remove(cf_filter *filter, const cf_pair *pair, uint64_t value);

#endif
