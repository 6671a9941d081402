/*
** insert.h - storing one item in a filter that may grow for it.
*/
#ifndef CF_INSERT_H
#define CF_INSERT_H

#include "copies.h"

/*
** Stores an item (copies.h): a key, or an entry of another filter, whose payload fits in this one's. Grows before when
** the table is crowded, and up to twice its size when there is no room.
** CF_OK; else CF_FULL, CF_TOO_BIG or CF_NO_MEMORY. Then nothing has changed; of an entry of another filter,
** item->payload + 1 copies are left. CF_BAD_ARGUMENT: the item, which comes from a filter that has grown less, knows too
** little for both of its buckets as they are now; nothing is stored, the filter may have grown.
** Counts `occupied`, not `items`. What fails leaves the bytes of a sound filter (cf_check) as they were.
*/
cf_status cf_insert(cf_filter *filter, cf_item *item);

#endif
