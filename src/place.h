/*
** place.h - storing one item in a table of a given size.
*/
#ifndef CF_PLACE_H
#define CF_PLACE_H

#include "copies.h"

/* Stores the copies of an item that may lie in the places of `pair` (one at least), moving other entries when it
** must, along a path found among `budget` buckets (eviction.h). With a spill list it looks at fewer, and then spills
** (spill.h), unless the list is full. CF_OK: stored, spilled, counted, or absorbed (copies.h). CF_FULL: nothing has
** changed; of an item from another filter, item->payload + 1 copies are left, and entries may have been cut
** (copies.h). Counts `occupied`, not `items`. */
cf_status cf_store(cf_filter *filter, const cf_pair *pair, unsigned budget, cf_item *item);

/* Moves spilled entry `index` to a slot, moving others when it must, with an ordinary search. False: there is none, and
** nothing has changed. */
bool cf_settle_one(cf_filter *filter, unsigned index);

#endif
