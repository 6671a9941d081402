/* SPDX-License-Identifier: MIT */
/*
** insert.h - storing one entry: a slot of its own, an eviction path, the spill list, or growth.
*/
#ifndef CF_INSERT_H
#define CF_INSERT_H

#include "../cuckoo_inspect.h"

/*
** Stores one copy of a key, or an entry of another filter (copies.h). Of the item, `side`,
** `payload` and `sticky` are read. The filter grows before when it is crowded, and up to twice its
** size when there is no room. CF_OK: stored, spilled, counted, or absorbed. CF_FULL, CF_TOO_BIG,
** CF_NO_MEMORY; CF_INTERRUPTED, while it grows; CF_BAD_ARGUMENT: the item, which comes from a filter
** that has grown less, knows too little for both of its buckets, as they are or as they would have to
** be. Then nothing has changed. Counts `occupied`, not `items`.
*/
cf_status cf_insert(cf_filter *filter, const cf_entry *item);

/* Moves spilled entry `index` to a slot, moving others when it must, with an ordinary search.
** False: there is none, and nothing has changed. */
bool cf_settle_one(cf_filter *filter, unsigned index);

#endif
