/* SPDX-License-Identifier: MIT */
/*
** insert.h - storing one entry: a slot of its own, an eviction path, and the spill list or growth.
*/
#ifndef CF_INSERT_H
#define CF_INSERT_H

#include "../cuckoo_inspect.h"

/* Stores one copy of a key, or an entry of another filter (copies.h). Of the entry, `side`, `payload`
** and `sticky` are read. The filter grows before, by 16 buckets at most, when it is crowded; and by 64
** when there is no room, but for the first growth, and for values. CF_OK: stored, spilled, counted, or
** absorbed. CF_FULL, CF_TOO_BIG, CF_NO_MEMORY; CF_INTERRUPTED, in the first growth; CF_BAD_ARGUMENT: the
** entry, which comes from a filter that has grown less, knows too little for both of its buckets. Then
** no answer has changed, but the filter may have grown. Counts `occupied`, not `items`. */
cf_status cf_insert(cf_filter *filter, const cf_entry *entry);

#endif
