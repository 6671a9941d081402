/*
** insert.h - storing one item in a filter that may grow for it.
*/
#ifndef CF_INSERT_H
#define CF_INSERT_H

#include "copies.h"

/*
** Stores an item (copies.h), growing before when the table is crowded, and as far as to twice its size when there
** is no room. CF_OK; else CF_FULL, CF_TOO_BIG or CF_NO_MEMORY: nothing has changed, or, of an item of several
** copies, item->payload + 1 are left. CF_BAD_ARGUMENT: the item, which comes from a filter that has grown less,
** knows too little for both of its buckets as they are now; nothing is stored, the filter may have grown.
** Counts `occupied`, not `items`.
*/
cf_status cf_insert(cf_filter *filter, cf_item *item);

#endif
